"""AdaBoost with 100 stumps and bagging with 50 full trees against scikit-learn, and scikit-learn-intelex's forest with all
features.

Fits take turns in one process, two threads for everybody (scikit-learn's AdaBoost has none).  Errors are on the test part:
the same within two standard errors, or the comparison means nothing.  Predictions are of the test part, from arrays.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.core import limits, objective

SETS = ("ijcnn1", "covtype", "spambase")
ROWS = 100_000  # of covtype


def run(folder: Path, sets: list[str], say: Callable[[str], None]) -> None:
    for name in SETS:
        if name != "spambase" and name not in sets:
            continue
        parts = _load(folder, name)
        for task, models in (("AdaBoost, 100 stumps", _boosters()), ("bagging, 50 trees", _baggers())):
            row = _duel(parts, models)
            ours = row["gapless"]
            ratios = ", ".join(
                f"{who} {found['fit'] / ours['fit']:.1f} and {found['predict'] / ours['predict']:.1f} times"
                for who, found in row.items()
                if who != "gapless"
            )
            say(f"{task}, {name}: fit and prediction, {ratios}")
            objective.keep("ensembles.json", f"{name} {task}", {"data": name, "task": task, "who": row})


def _load(folder: Path, name: str) -> tuple[Any, ...]:
    with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
        if name == "ijcnn1":
            return tuple(file[key] for key in ("X_train", "y_train", "X_test", "y_test"))
        X, y = file["X"].astype(np.float32), file["y"]
    order = np.random.default_rng(0).permutation(y.size)
    n = ROWS if name == "covtype" else 3000
    train, test = order[:n], order[n : n + ROWS]
    return X[train], y[train], X[test], y[test]


def _boosters() -> dict[str, Callable[[int], Any]]:
    from sklearn.ensemble import AdaBoostClassifier as Peer

    from gapless import AdaBoostClassifier

    return {
        "gapless": lambda seed: AdaBoostClassifier(n_estimators=100, n_jobs=2),
        "sklearn": lambda seed: Peer(n_estimators=100, random_state=seed),
    }


def _baggers() -> dict[str, Callable[[int], Any]]:
    from sklearn.ensemble import BaggingClassifier as Peer

    from gapless import BaggingClassifier

    models: dict[str, Callable[[int], Any]] = {
        "gapless": lambda seed: BaggingClassifier(n_estimators=50, n_jobs=2, random_state=seed),
        "sklearn": lambda seed: Peer(n_estimators=50, n_jobs=2, random_state=seed),
    }
    try:
        from sklearnex.ensemble import RandomForestClassifier as Forest
    except ImportError:
        return models
    models["intelex"] = lambda seed: Forest(n_estimators=50, max_features=None, n_jobs=2, random_state=seed)
    return models


def _duel(parts: tuple[Any, ...], models: dict[str, Callable[[int], Any]]) -> dict[str, dict[str, float]]:
    X, y, fresh, truth = parts
    for make in models.values():
        make(0).fit(X[:2000], y[:2000]).predict(fresh[:2000])  # loads and compiles
    fits: dict[str, list[float]] = {who: [] for who in models}
    predictions: dict[str, list[float]] = {who: [] for who in models}
    errors = {}
    for turn in range(limits.REPEATS):
        for who, make in models.items():
            if fits[who] and statistics.median(fits[who]) > 10.0 and turn >= (1 if fits[who][0] > 30.0 else 3):
                continue
            start = time.perf_counter()
            model = make(turn).fit(X, y)
            fits[who].append(time.perf_counter() - start)
            start = time.perf_counter()
            answer = model.predict(fresh)
            predictions[who].append(time.perf_counter() - start)
            errors[who] = float(np.mean(answer != truth))
    return {
        who: {
            "fit": statistics.median(fits[who]),
            "predict": statistics.median(predictions[who]),
            "error": errors[who],
            "standard_error": float(np.sqrt(errors[who] * (1.0 - errors[who]) / truth.size)),
        }
        for who in models
    }
