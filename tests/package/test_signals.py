"""A handler of a signal that raises inside a fit is as harmless as Ctrl-C: its exception comes out, and the next fit is right.

Python runs handlers in the main thread between any two steps. One that raised while numba compiled left numba's types half
made, and every later fit of the process failed or crashed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gapless

SOURCE = Path(gapless.__file__).resolve().parent.parent

CHILD = """
import json, random, signal, sys, time, warnings
import numpy as np
import gapless

kinds, seed, wanted, cold = json.loads(sys.argv[1])
random = random.Random(seed)
draws = np.random.default_rng(seed)
rows = 60 if cold else 1500
X = draws.normal(size=(rows, 5))
target = X[:, 0] + 0.5 * draws.normal(size=rows)
labels = (target > 0).astype(int)


class Alarm(Exception):
    pass


def ring(number, frame):
    raise Alarm


def fit(kind):
    y = target if kind in ("Ridge", "SVR", "DecisionTreeRegressor", "AdaBoostRegressor") else labels
    model = getattr(gapless, kind)()
    with gapless.config_context(backend="numba"):  # kernels, also for few rows
        return model.fit(X, y), y


for kind in kinds:  # a module whose import was cut short is Python's own affair
    getattr(gapless, kind)()
gapless.verify
import pandas

signal.signal(signal.SIGALRM, ring)
warnings.simplefilter("ignore")
heard, other = 0, []
for kind in kinds:
    longest = 0.15  # a compile of one kernel takes as long
    if not cold:
        took = []
        for _ in range(6):
            started = time.perf_counter()
            fit(kind)
            took.append(time.perf_counter() - started)
        longest = sorted(took)[2]  # one fit may have waited for the machine, and the alarms would come after the others
    for attempt in range(wanted):
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + random.random() * longest)
                fit(kind)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
        except Alarm:
            heard += 1
        except BaseException as error:
            other.append(f"{kind}: {type(error).__name__}: {error}")
    model, y = fit(kind)
    if not gapless.verify(model, X, y):
        other.append(f"{kind}: the next fit is wrong")
print(json.dumps([heard, other]))
"""


def alarms(kinds: list[str], seed: int, wanted: int, cache: Path | None = None) -> int:
    """How many alarms rang inside fits; nothing but their own exception came out, and the next fit was right."""
    known = {key: value for key, value in os.environ.items() if not key.startswith(("GAPLESS", "NUMBA"))}
    if cache is not None:  # little optimised: most of a compile is then numba's own, in Python
        known |= {"GAPLESS_CACHE": os.fspath(cache), "NUMBA_OPT": "0"}
    path = os.pathsep.join(filter(None, (os.fspath(SOURCE), known.get("PYTHONPATH"))))
    asked = json.dumps([kinds, seed, wanted, cache is not None])
    done = subprocess.run(
        [sys.executable, "-c", CHILD, asked],
        env={**known, "PYTHONPATH": path, "GAPLESS_QUIET": "1"},
        capture_output=True,
        text=True,
        timeout=550,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    heard, other = json.loads(done.stdout.splitlines()[-1])
    assert other == []
    return heard


def test_alarms_inside_trees_and_rounds():
    """A handler runs as soon as a kernel has ended. A tree's kernel gave Python arrays, which numba made by a Python function:
    every third alarm in a tree was a SystemError. AdaBoost took an alarm in a round for a failure of its base learner."""
    assert alarms(["DecisionTreeClassifier", "DecisionTreeRegressor", "AdaBoostRegressor"], 5, 40) >= 40


def test_alarms_while_kernels_are_compiled(tmp_path):
    assert alarms(["Ridge"], 0, 60, tmp_path) >= 3


@pytest.mark.cold
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "kinds", [["LinearSVC", "SVC"], ["LogisticRegression"], ["Ridge", "Perceptron"], ["DecisionTreeClassifier", "SVR"]]
)
def test_alarms_of_cold_fits(kinds, seed, tmp_path):
    assert alarms(kinds, seed, 60, tmp_path) >= 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        "LinearSVC", "LogisticRegression", "SVC", "SVR", "Ridge", "Perceptron", "DecisionTreeClassifier",
        "DecisionTreeRegressor", "BaggingClassifier", "LinearDiscriminantAnalysis", "AdaBoostClassifier", "AdaBoostRegressor",
    ],
)  # fmt: skip
def test_alarms_of_warm_fits(kind):
    assert alarms([kind], 7, 100) >= 30
