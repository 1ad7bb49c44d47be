"""New processes with caches of their own, for tests of what is compiled when."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import gapless

SOURCE = Path(gapless.__file__).resolve().parent.parent

#: Counts what numba compiles of gapless's own kernels, and all that it compiles with them.
COUNT = """
import atexit, json, sys
from numba.core import event

class Count(event.Listener):
    kernels, all = [], 0

    def on_start(self, happening):
        Count.all += 1
        dispatcher = happening.data["dispatcher"]
        if type(dispatcher._cache).__module__ == "gapless._compile.kernel_cache":
            Count.kernels.append(f"{dispatcher.py_func.__module__}.{dispatcher.__name__}{happening.data['args']}")

    def on_end(self, happening):
        pass

event.register("numba:compile", Count())
"""

#: A few kernels instead of a dozen: the mean loss of theta = 0, and the hashes of rows.
FEW = """
import numpy as np
import gapless
from gapless.rows.hashes import row_hashes

kernels = gapless.config_context(backend="numba")  # they are what is looked at
kernels.__enter__()
X, y = np.arange(24.0).reshape(12, 2), np.arange(12) % 2
primal = gapless.linear_risk(X, y, loss="squared_hinge", lam=1.0).value(np.zeros(3))
hashes = row_hashes(X)
"""

TELL = """
from gapless._compile import jit as _jit
from gapless._compile import kernel_store as _kernel_store
print(json.dumps({
    "primal": float(primal), "kernels": Count.kernels, "all": Count.all, "folder": str(_jit.cache_folder()),
    "level": _kernel_store.level(),
}))
"""


def environment(source: Path = SOURCE, **changes: str) -> dict[str, str]:
    """This environment with ``source`` first on the path, bytecode allowed, and nothing of ours set."""
    known = {k: v for k, v in os.environ.items() if not k.startswith(("GAPLESS", "NUMBA"))}
    known.pop("PYTHONDONTWRITEBYTECODE", None)
    path = [str(source), *filter(None, [known.get("PYTHONPATH")])]
    return {**known, "PYTHONPATH": os.pathsep.join(path), **changes}


def start(code: str, env: dict[str, str], *arguments: str, prefix: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*prefix, sys.executable, "-c", code, *arguments],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tempfile.gettempdir(),
    )


def answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The JSON object of a process's last line, and what it said on stderr."""
    out, said = process.communicate(timeout=500)
    assert process.returncode == 0, said
    return {**json.loads(out.splitlines()[-1]), "said": said}


def few(env: dict[str, str], *, prefix: tuple[str, ...] = ()) -> dict[str, Any]:
    """What a new process with a few kernels says of them."""
    return answer(start(COUNT + FEW + TELL, env, prefix=prefix))
