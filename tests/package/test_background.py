"""The second process that compiles while a command runs."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from gapless._runtime.threads import available_cores
from tests.package.processes import COUNT, FEW, TELL, answer, environment, start

pytestmark = pytest.mark.skipif(
    os.name != "posix" or available_cores() < 2, reason="needs a second core, and locks among processes"
)

#: A wish for least squares, a few kernels of another kind, and then least squares here too.
COMMAND = """
import os, time
from gapless import _background
from gapless._compile import kernel_cache as _kernel_cache
names = []
with _background.beside("LinearRegression"):
    child = lambda: _background._running and _background._running.process
    assert not child()
{few}
    second = child()
    if second:
        names.append(second.pid)
        deadline = time.monotonic() + 300
        folder = _kernel_cache.store.cache_folder()
        while time.monotonic() < deadline and not list(folder.glob("*moments*/*.nbc")):
            time.sleep(0.1)
    from gapless import LinearRegression
    LinearRegression().fit(np.random.default_rng(0).normal(size=(120, 5)), np.arange(120.0))
names.append(_background._running is None)
primal = primal if names else 0.0
print(json.dumps(names))
"""
COMMAND = COMMAND.replace("{few}", "".join(f"    {line}\n" for line in FEW.splitlines()))


def ended(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
            return True
        time.sleep(0.1)
    return False


@pytest.mark.cold
def test_a_second_process_compiles_and_ends(tmp_path):
    env = environment(GAPLESS_CACHE=str(tmp_path))
    first = start(COUNT + COMMAND + TELL, env)
    out, said = first.communicate(timeout=500)
    assert first.returncode == 0, said
    pid, closed = json.loads(out.splitlines()[0])
    assert closed
    assert ended(pid)
    told = json.loads(out.splitlines()[-1])
    assert told["primal"] == 1.0
    # Not one kernel was compiled twice: the moments were compiled beside, and found on disk.
    assert not [name for name in told["kernels"] if ".moments." in name]
    assert len(list(tmp_path.rglob("*.nbc"))) >= len(told["kernels"]) + 1
    assert "compiling kernels in two processes, once" in said
    assert "kernels of LinearRegression" in said
    # With everything on disk there is no second process.
    again = start(COUNT + COMMAND + TELL, env)
    out, said = again.communicate(timeout=500)
    assert again.returncode == 0, said
    assert json.loads(out.splitlines()[0]) == [True]
    assert json.loads(out.splitlines()[-1])["all"] == 0
    assert said == ""


@pytest.mark.cold
def test_it_can_be_switched_off(tmp_path):
    env = environment(GAPLESS_CACHE=str(tmp_path), GAPLESS_BACKGROUND="off")
    code = "from gapless import _background\nwith _background.beside('SVC'):\n    assert _background._running is None\n"
    assert answer(start(COUNT + code + FEW + TELL, env))["kernels"]


@pytest.mark.cold
def test_it_ends_with_a_command_that_is_killed(tmp_path):
    env = environment(GAPLESS_CACHE=str(tmp_path))
    code = (
        "from gapless import _background\nimport time\n_background._running = _background._Second()\n"
        "_background.wish('BaggingClassifier')\n_background._running.start()\n"
        "print(_background._running.process.pid, flush=True)\ntime.sleep(300)"
    )
    command = start(code, env)
    pid = int(command.stdout.readline())
    time.sleep(2.0)
    assert not ended_now(pid)
    command.kill()
    command.communicate()
    assert ended(pid)


def ended_now(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False
