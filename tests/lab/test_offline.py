"""Nothing leaves the machine: the server runs where there is no network but its own loopback, and so does the browser."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.offline_visit import FLAGS, chromium

pytest.importorskip("uvicorn", reason="the lab is an extra: starlette, uvicorn, websockets")

ALONE = ["unshare", "--net", "--map-root-user", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


def _cannot_be_alone() -> str:
    """Why a network of its own cannot be had here, or nothing."""
    if not (shutil.which("unshare") and shutil.which("ip")):
        return "unshare (util-linux) and ip (iproute2) are not both here"
    tried = subprocess.run([*ALONE, "true"], capture_output=True, text=True)
    return "" if tried.returncode == 0 else f"unshare --net is not permitted here: {tried.stderr.strip()}"


def _alone(*arguments, seconds=600):
    if why := _cannot_be_alone():
        pytest.skip(why)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])}
    command = [*ALONE, sys.executable, "-m", "tests.lab.offline_visit", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.browser
def test_the_lab_needs_no_network():
    """The page, its files and a drawing, over the sockets of a machine that has no other."""
    found = _alone("socket")
    assert found["interfaces"] == ["lo"]
    assert found["outside"] == "unreachable"
    assert found["page"] == 200
    assert found["numbers"]


@pytest.mark.browser
def test_every_scene_opens_without_a_network_and_asks_this_server_alone():
    pytest.importorskip("playwright", reason="pip install playwright")
    if not chromium():
        pytest.skip("there is no Chromium here: apt install chromium")
    assert FLAGS
    found = _alone("browser")
    assert found["interfaces"] == ["lo"]
    assert found["outside"] == "unreachable"
    assert found["console"] == []
    assert found["foreign"] == []
    assert found["asked"] > 4  # the page, its style, its two modules, its socket
    from gapless.lab.scenes import NAMES

    assert found["opened"] == list(NAMES)
