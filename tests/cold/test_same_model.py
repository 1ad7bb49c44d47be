"""What a new process without compiled kernels gives is what a warm one gives, to the bit, whatever compiling takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gapless
from tests.cold.first_contact import CASES, WITHOUT_KERNELS

SCRIPT = Path(__file__).with_name("first_contact.py")
SOURCE = Path(gapless.__file__).resolve().parent.parent
#: A limit of work that no case needs, and that its first compile exceeds.
SECONDS = "5"
#: The cases of the default run: linear, of blocks, and several processes. Those of trees compile for 9 s.
DEFAULT = ("LinearSVC", "SVC", "gapless train")


def call(case: str, *limit: str, cache: Path | None = None) -> list[str]:
    """The digest that the script prints, with the kernels of ``cache``, else with those that are there."""
    known = {key: value for key, value in os.environ.items() if not key.startswith(("GAPLESS", "NUMBA"))}
    if cache is not None:
        known["GAPLESS_CACHE"] = os.fspath(cache)
    path = os.pathsep.join(filter(None, (os.fspath(SOURCE), known.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, os.fspath(SCRIPT), case, *limit],
        env={**known, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("case", DEFAULT)
def test_first_contact(case, tmp_path):
    """A limit that compiling would exceed does not bind."""
    assert call(case, SECONDS, cache=tmp_path / "kernels") == call(case)
    assert case in WITHOUT_KERNELS or any((tmp_path / "kernels").rglob("*.nbc"))  # it was cold: something was compiled


@pytest.mark.cold
@pytest.mark.parametrize("case", CASES)
def test_cold_is_warm(case, tmp_path):
    warm = call(case)
    assert call(case, cache=tmp_path / "without limit") == warm
    assert any((tmp_path / "without limit").rglob("*.nbc")) == (case not in WITHOUT_KERNELS)
    assert call(case, SECONDS, cache=tmp_path / "with a limit") == warm
    assert case in WITHOUT_KERNELS or any((tmp_path / "with a limit").rglob("*.nbc"))
