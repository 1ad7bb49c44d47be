"""SVC where people use it: at the best cell of a cross-validated grid and at its neighbours, so that nothing is tuned to C = 1.

The grid has C = 1/4 ... 256 and gamma = 1/16 ... 16 times 1/d, in steps of 4; three folds of 4,000 rows choose the cell.
Around it C and gamma go up and down by 2, on all rows, against scikit-learn-intelex in single precision, the fastest peer on
these sets (`kernel_machines`).  Ours gets the largest tol with which its gap is no wider.  Best of two runs each, in turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.core import limits, objective
from benchmarks.studies.kernel import CACHE, load, peers, relative_gap

SETS = ("cod-rna", "ijcnn1", "a9a")
STEPS = ((1.0, 1.0), (2.0, 1.0), (0.5, 1.0), (1.0, 2.0), (1.0, 0.5))


def best_cell(X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """C and gamma with the fewest errors in three folds of some rows."""
    from sklearn.model_selection import GridSearchCV

    from gapless import SVC

    some = np.random.default_rng(2).permutation(len(y))[:4000]
    grid = {"C": [4.0**k for k in range(-1, 5)], "gamma": [4.0**k / X.shape[1] for k in range(-2, 3)]}
    found = GridSearchCV(SVC(cache_size=CACHE, n_jobs=limits.THREADS), grid, cv=3, refit=False).fit(X[some], y[some])
    return found.best_params_["C"], found.best_params_["gamma"]


def run(folder: Path, say: Callable[[str], None]) -> None:
    if "sklearnex float32" not in peers():
        say("grid: scikit-learn-intelex is not here, left out")
        return
    for name in SETS:
        X, y, _ = load(name, folder)
        C, gamma = best_cell(X, y)
        say(f"{name}: the best cell is C = {C:g}, gamma = {gamma:.4g}")
        for c, g in STEPS:
            row = {"data": name, "C": C * c, "gamma": gamma * g, **_cell(X, y, C * c, gamma * g)}
            objective.keep("kernel_grid.json", f"{name} {c} {g}", row)
            ours, peer = row["gapless"], row["sklearnex"]
            ratio = peer["seconds"] / ours["seconds"]
            say(f"{name}: C = {C * c:g}, gamma = {gamma * g:.4g}: {ours}, {peer}, ratio {ratio:.2f}")


def _cell(X: np.ndarray, y: np.ndarray, C: float, gamma: float) -> dict[str, Any]:
    from gapless import SVC

    other = peers()["sklearnex float32"](X, y, C, gamma)
    seconds: dict[str, float] = {}
    start = time.perf_counter()
    model = other()[0]
    seconds["sklearnex"] = time.perf_counter() - start
    theirs = relative_gap(model, X, y, C, gamma)
    tol = 1e-2
    while True:
        start = time.perf_counter()
        ours = SVC(C=C, gamma=gamma, cache_size=CACHE, tol=tol, n_jobs=limits.THREADS).fit(X, y)
        seconds["gapless"] = time.perf_counter() - start
        gap = relative_gap(ours, X, y, C, gamma)
        if gap <= theirs or tol < 1e-9:
            break
        tol /= np.sqrt(10.0)
    time.sleep(limits.PAUSE)
    start = time.perf_counter()
    SVC(C=C, gamma=gamma, cache_size=CACHE, tol=tol, n_jobs=limits.THREADS).fit(X, y)
    seconds["gapless"] = min(seconds["gapless"], time.perf_counter() - start)
    if seconds["sklearnex"] < 10.0:
        start = time.perf_counter()
        other()
        seconds["sklearnex"] = min(seconds["sklearnex"], time.perf_counter() - start)
    return {
        "support": len(ours.support_),
        "gapless": {"seconds": seconds["gapless"], "gap": gap, "tol": tol},
        "sklearnex": {"seconds": seconds["sklearnex"], "gap": theirs},
    }
