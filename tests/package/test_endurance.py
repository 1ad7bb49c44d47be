"""Many fits in one process, at once in threads, after a fork, in loky, short of memory, and Ctrl-C twice while kernels load.

`make test-endurance` runs the large numbers; the environment variables say how many.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.package.processes import environment

ROOT = Path(__file__).resolve().parents[2]
LINUX = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc to know its own size")


def run(what: str, number: int) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.package.endurance", what, str(number)],
        env=environment(GAPLESS_QUIET="1"), cwd=ROOT, capture_output=True, text=True, timeout=7000, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-3000:]}"
    return json.loads(done.stdout.splitlines()[-1])


def number_of(name: str, few: int) -> int:
    return int(os.environ.get(name, few))


@LINUX
def test_a_few():
    """One after another in one process, as in a program that does all of it."""
    assert run("few", 0)["wrong"] == []


def test_ctrl_c_twice_while_kernels_load():
    for seed in range(2):
        assert run("twice", seed)["wrong"] == []


# -- the target ------------------------------------------------------------------------------------------------


def told(what: str, found: dict[str, Any], more: str = "") -> None:
    print(f"\n{what}: {found['done']}, {len(found['wrong'])} wrong{more}")
    assert found["wrong"] == []


@LINUX
@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_many_fits_in_one_process():
    found = run("fits", number_of("GAPLESS_FITS", 20_000))
    more = f"; grown by {found['grown'] / 2**20:.1f} MiB after the first quarter, {found['threads']} threads at the end"
    told("fits in one process", found, more)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["threads", "fork", "loky"])
def test_thirty_two_fits(what):
    names = {"threads": "fits at once in threads", "fork": "fits in forks", "loky": "fits in loky"}
    told(names[what], run(what, number_of("GAPLESS_AT_ONCE", 32)))


@LINUX
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_limits_of_memory():
    found = run("memory", number_of("GAPLESS_LIMITS", 96))
    told("fits under RLIMIT_AS", found, f"; {found['refused']} MemoryErrors, {found['fitted']} models")
    assert found["refused"] > 0.2 * found["done"]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_ctrl_c_twice_at_many_moments_of_loading():
    number = number_of("GAPLESS_TWICE", 40)
    with ThreadPoolExecutor(max(1, min(8, (os.cpu_count() or 1) // 2))) as pool:
        each = list(pool.map(lambda seed: run("twice", seed), range(100, 100 + number)))
    found = {"done": number, "wrong": [wrong for one in each for wrong in one["wrong"]]}
    heard = sum(one["done"] for one in each)
    told("second Ctrl-C while a kernel loads", found, f"; {heard} came before the end of the fit")
    assert heard >= 0.3 * number
