"""numba is imported when a kernel is asked for, and not before; afterwards a kernel is numba's dispatcher."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from gapless._compile import on_demand
from tests.package.processes import environment

NAMES = """
import sys
import gapless
for name in gapless.__all__:
    getattr(gapless, name)
import gapless.cli.app
loaded = [name for name in ("numba", "llvmlite") if name in sys.modules]
assert not loaded, loaded
"""

AWAKE = """
import sys
from gapless.problems import linear_sums, linear
from gapless._compile.on_demand import Asleep, awake, wake
light = linear_sums.add_mass_below
assert type(light) is Asleep and light.__name__ == "add_mass_below" and light.__doc__ == "sum c where t < end"
"""

CALLS = (
    AWAKE
    + """
import numpy as np
t, out = np.arange(4.0), np.zeros(1)
light(t, np.ones(4), 2.0, out, 0, 1)
assert out[0] == 2.0 and awake()
import numba
kernel = linear_sums.add_mass_below
assert isinstance(kernel, numba.core.dispatcher.Dispatcher) and kernel is light.awake()
left = [name for room, module in list(sys.modules.items()) if room.startswith("gapless.")
        for name, value in vars(module).items() if type(value) is Asleep]
assert not left, left
assert light.overloads is kernel.overloads  # questions are handed on
"""
)

PICKLED = (
    AWAKE
    + """
import copy, pickle
before = pickle.loads(pickle.dumps(light))
assert before is light
written = pickle.dumps(light)
wake()
assert pickle.loads(written) is linear_sums.add_mass_below
assert pickle.loads(pickle.dumps(light)) is linear_sums.add_mass_below
"""
)

#: A kernel that still names the light object of another: what another thread's import may leave.
LEFT = (
    AWAKE
    + """
import numpy as np
wake()

def twice(t, c, end, out):
    light(t, c, end, out, 0, 1)
    light(t, c, end, out, 0, 1)

import numba
out = np.zeros(1)
numba.njit(twice)(np.arange(4.0), np.ones(4), 3.0, out)
assert out[0] == 3.0
"""
)

THREADS = (
    AWAKE
    + """
import threading
import numpy as np
barrier, found = threading.Barrier(8), []
def ask():
    out = np.zeros(1)
    barrier.wait()
    linear_sums.add_mass_below(np.arange(4.0), np.ones(4), 2.0, out, 0, 1)
    found.append(out[0])
threads = [threading.Thread(target=ask) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert found == [2.0] * 8, found
"""
)

#: The alarm comes while numba is imported; its handler raises in the main thread, as that of Ctrl-C does.
STOPPED = (
    AWAKE
    + """
import signal, time
import numpy as np

class Stop(Exception):
    pass

def stop(number, frame):
    raise Stop

signal.signal(signal.SIGALRM, stop)
out, stopped = np.zeros(1), 0
for delay in (0.02, 0.05, 0.1):
    signal.setitimer(signal.ITIMER_REAL, delay)
    try:
        wake()
    except Stop:
        stopped += 1
    signal.setitimer(signal.ITIMER_REAL, 0.0)
assert stopped
linear_sums.add_mass_below(np.arange(4.0), np.ones(4), 2.0, out, 0, 1)
assert out[0] == 2.0
"""
)

INTERPRETED = (
    AWAKE
    + """
import types
wake()
assert isinstance(linear_sums.add_mass_below, types.FunctionType)
"""
)


def run(code: str, *arguments: str, **changes: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environment(**changes),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


#: Each in a copy of a process that has imported gapless, and not numba: an import of gapless takes longer than any of them.
COPIES = """
import json, os, sys
codes = json.loads(sys.argv[1])
import gapless.problems.linear
for number, code in enumerate(codes):
    child = os.fork()
    if child == 0:
        try:
            exec(code, {})
        except BaseException:
            import traceback
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, number
"""


def test_the_names_do_not_import_numba():
    run(NAMES, GAPLESS_QUIET="1")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a copy of a process")
def test_numba_on_demand():
    run(COPIES, json.dumps([CALLS, PICKLED, LEFT, THREADS, STOPPED]), GAPLESS_QUIET="1")


def test_where_nothing_is_compiled_a_kernel_is_its_function():
    run(INTERPRETED, NUMBA_DISABLE_JIT="1")


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("libllvmlite.so: failed to map segment from shared object", MemoryError),
        ("libllvmlite.so: cannot open shared object file: No such file or directory", OSError),
    ],
)
def test_want_of_memory_for_numbas_library_is_called_so(monkeypatch, words, kind):
    def load(name):
        try:
            raise OSError(words)
        except OSError:
            raise OSError("Could not find/load shared object file")  # noqa: B904 - as llvmlite does

    monkeypatch.setattr(on_demand, "import_module", load)
    with pytest.raises(kind) as caught:
        on_demand._import_numba()
    assert type(caught.value) is kind
