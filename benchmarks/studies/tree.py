"""One deep tree: fits and predictions against scikit-learn and scikit-learn-intelex, in turns, in one process.

Every tree is grown until its leaves are pure. scikit-learn-intelex has no tree of its own: a forest of one tree on all rows and
features stands for it (its thresholds lie between 256 bins). The test errors stand beside the seconds: trees that break ties
in another way differ by a standard error or so.
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
COVTYPE_ROWS = 100_000


def load(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X and y to train on and to test on, float32."""
    with np.load(folder / f"{name}.npz") as file:
        if "X_train" in file:
            parts = [file[key] for key in ("X_train", "y_train", "X_test", "y_test")]
            return parts[0].astype(np.float32), parts[1], parts[2].astype(np.float32), parts[3]
        X, y = file["X"].astype(np.float32), file["y"]
    order = np.random.default_rng(0).permutation(y.size)
    cut = COVTYPE_ROWS if name == "covtype" else 3 * y.size // 4
    train, test = order[:cut], order[cut : 2 * cut]
    return X[train], y[train], X[test], y[test]


def models() -> dict[str, Callable[[], Any]]:
    from sklearn.tree import DecisionTreeClassifier as Peer

    from gapless import DecisionTreeClassifier

    found: dict[str, Callable[[], Any]] = {
        "gapless": lambda: DecisionTreeClassifier(n_jobs=limits.THREADS),
        "sklearn": lambda: Peer(random_state=0),
    }
    try:
        from sklearnex.ensemble import RandomForestClassifier as Forest
    except ImportError:
        return found
    found["sklearnex"] = lambda: Forest(
        n_estimators=1, bootstrap=False, max_features=None, random_state=0, n_jobs=limits.THREADS
    )
    return found


def run(folder: Path, say: Callable[[str], None]) -> None:
    makers = models()
    for name in SETS:
        X, y, X_test, y_test = load(name, folder)
        for make in makers.values():
            make().fit(X[:2000], y[:2000]).predict(X_test[:100])  # loads and compiles
        fits: dict[str, list[float]] = {key: [] for key in makers}
        walks: dict[str, list[float]] = {key: [] for key in makers}
        errors: dict[str, float] = {}
        for _ in range(limits.REPEATS):
            for key, make in makers.items():
                time.sleep(limits.PAUSE)
                start = time.perf_counter()
                model = make().fit(X, y)
                fits[key].append(time.perf_counter() - start)
                model.predict(X_test)
                for _ in range(3):
                    start = time.perf_counter()
                    labels = model.predict(X_test)
                    walks[key].append(time.perf_counter() - start)
                errors[key] = float(np.mean(labels != y_test))
        fit, walk = ({key: statistics.median(taken[key]) for key in makers} for taken in (fits, walks))
        say(
            f"tree, {name}: fit {fit['sklearn'] / fit['gapless']:.2f}, predict {walk['sklearn'] / walk['gapless']:.2f} times"
        )
        row = {
            "data": name,
            "rows": int(y.size),
            "tested": int(y_test.size),
            "fit": fit,
            "predict": walk,
            "error": errors,
        }
        objective.keep("trees.json", name, row)
