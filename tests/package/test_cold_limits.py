"""A limit is of work: a first fit, which has to compile its kernels, ends where a later one does, to the bit.

The limit of each case is shorter than its compiling and longer than its work.  The first process has no kernel on disk and the
limit, the second process has the kernels of the first and no limit.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gapless

PACKAGE = Path(gapless.__file__).resolve().parent
SECONDS = 2.0

FIT = """
import hashlib, json, sys, warnings
import numpy as np
import gapless
from gapless import *
from gapless import _clock

limit = json.loads(sys.argv[2])
random = np.random.default_rng(0)
X = random.normal(size=(240, 6))
score = X[:, 0] - 0.5 * X[:, 1] + 0.6 * random.normal(size=240)
classes = (score > 0).astype(int)
values = score + 0.1


def timeless(document):
    if isinstance(document, dict):
        skipped = ("seconds", "compile_seconds", "time_limit")
        return {key: timeless(value) for key, value in document.items() if key not in skipped}
    return [timeless(value) for value in document] if isinstance(document, list) else document


def digest(model):
    proof = model.certificate_
    text = json.dumps(timeless(proof.document()), sort_keys=True).encode()
    parts = [text] + [name.encode() + np.ascontiguousarray(a).tobytes() for name, a in sorted(proof.arrays.items())]
    return hashlib.sha256(b"|".join(parts + [np.asarray(model.predict(X)).tobytes()])).hexdigest()


began = _clock.Stopwatch()
with warnings.catch_warnings():
    warnings.simplefilter("error")
    models = eval(sys.argv[1])
print(json.dumps({
    "digests": [digest(model) for model in models],
    "statuses": [model.certificate_.status for model in models],
    "compiling": began.compile_seconds,
    "work": began.seconds,
}))
"""

MODELS = {
    "LinearSVC": "[LinearSVC(time_limit=limit).fit(X, classes)]",
    "LinearSVC, hinge, threads": "[LinearSVC(loss='hinge', time_limit=limit, n_jobs=2).fit(X, np.digitize(score, [-0.5, 0.5]))]",
    "LogisticRegression": "[LogisticRegression(time_limit=limit).fit(X, classes)]",
    "LogisticRegression, no penalty": "[LogisticRegression(C=np.inf, time_limit=limit).fit(X, classes)]",
    "SVC": "[SVC(time_limit=limit).fit(X, classes)]",
    "SVR": "[SVR(time_limit=limit).fit(X, values)]",
    "OneClassSVM": "[OneClassSVM(time_limit=limit).fit(X)]",
    "Perceptron": "[Perceptron(time_limit=limit, tol=None).fit(X, (X[:, 0] > 0.1).astype(int))]",
    "Ridge": "[Ridge(time_limit=limit).fit(X, values)]",
    "DecisionTreeClassifier": "[DecisionTreeClassifier(random_state=0).fit(X, classes)]",
    "BaggingClassifier": "[BaggingClassifier(n_estimators=5, random_state=0).fit(X, classes)]",
    "AdaBoostClassifier": "[AdaBoostClassifier(n_estimators=20, time_limit=limit).fit(X, classes)]",
    "tune": "[tune(SVC(), X, classes, {'C': [1.0, 10.0], 'gamma': [0.1, 0.3]}, cv=3, time_limit=limit)]",
    "path": "[path(LinearSVC(time_limit=limit), X, classes, [0.1, 1.0], between=np.inf).model_at(C) for C in (0.1, 1.0)]",
}
USUAL = ("LinearSVC",)


def run(folder: Path, fit: str, limit: float | None) -> dict:
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "GAPLESS_QUIET": "1",
        "XDG_CACHE_HOME": str(folder / "none"),
    }
    command = [sys.executable, "-c", FIT, fit, json.dumps(limit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=550, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in USUAL else pytest.mark.cold) for name in MODELS]
)
def test_a_cold_fit_with_a_limit_is_the_warm_fit_without_one(name, tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "gapless", ignore=shutil.ignore_patterns("__pycache__"))
    cold, warm = run(tmp_path, MODELS[name], SECONDS), run(tmp_path, MODELS[name], None)
    assert cold["compiling"] > 0.0 == warm["compiling"], (cold, warm)
    assert set(cold["statuses"]) == {"converged"}
    assert cold["digests"] == warm["digests"], (cold, warm)
