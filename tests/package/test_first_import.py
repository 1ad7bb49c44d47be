"""The first import may come from several threads at once: every one of them gets whole modules."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import gapless

SOURCE = Path(gapless.__file__).parent

#: Threads that ask for different rooms at one moment, as a web server's workers do after a start.
RACE = """
import operator, threading, warnings
warnings.simplefilter("error")
import gapless
names = ["LinearSVC", "SVC", "Perceptron", "separability", "DecisionTreeClassifier", "linear_risk", "read_data", "verify",
         "plots.MarginDisplay", "theory.entropy"]
barrier, failed = threading.Barrier(len(names)), []
def ask(name):
    barrier.wait()
    try:
        operator.attrgetter(name)(gapless)
    except BaseException as error:
        failed.append(f"{name}: {error!r}")
threads = [threading.Thread(target=ask, args=(name,)) for name in names]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not failed, failed
"""


def _numba_imports(path: Path) -> list[tuple[int, str]]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "numba":
            found.append((node.lineno, str(node.module)))
        elif isinstance(node, ast.Import):
            found += [(node.lineno, name.name) for name in node.names if name.name.split(".")[0] == "numba"]
    return sorted(found)


def test_numba_is_imported_whole_before_its_parts():
    # ``from numba.core import x`` does not wait for another thread that is in the middle of ``import numba``.
    wrong = {
        path.name: imports[0]
        for path in sorted(SOURCE.rglob("*.py"))
        if (imports := _numba_imports(path)) and imports[0][1] != "numba"
    }
    assert not wrong


def test_a_planted_part_of_numba_is_found(tmp_path):
    planted = tmp_path / "planted.py"
    planted.write_text("from numba.core import types\nimport numba\n")
    assert _numba_imports(planted)[0] == (1, "numba.core")


@pytest.mark.parametrize("repeat", range(2))
def test_threads_that_import_at_once(repeat):
    done = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
