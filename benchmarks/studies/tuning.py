"""Tuning an SVC with a Gaussian kernel: 10,000 rows, 6 x 6 values of C and gamma, 5 folds; gapless.tune against GridSearchCV over
scikit-learn's SVC with n_jobs=2.

Both get the same rows, the same folds and the same grid around scikit-learn's gamma="scale", the tolerance that each has by
default, and two cores; the last fit on all rows is included.  The peer is run once, ours before and after it, and the slower of
the two counts.  Scores of all 36 cells are compared: the search is the same if they differ by a few rows at most.

    python -m benchmarks.studies.tuning [a9a magic ...] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.core import datasets, limits, objective

ROWS = 10_000
C = tuple(2.0**k for k in (-3, -1, 1, 3, 5, 7))
#: Times gamma="scale" of all rows.
WIDTHS = tuple(2.0**k for k in (-4, -3, -2, -1, 0, 1))
SETS = ("a9a", "magic", "cod-rna")


def load(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = datasets.read(folder, name)
    X = X.toarray() if sparse.issparse(X) else X
    rows = np.random.default_rng(0).permutation(len(y))[:ROWS]
    X, y = X[rows], np.where(y[rows] > 0, 1, -1)
    if name != "a9a":  # columns of 0 and 1 stay
        deviation = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)
    return np.ascontiguousarray(X), y


def run(folder: Path, sets: list[str], say: Callable[[str], None]) -> None:
    for name in sets:
        row = duel(*load(folder, name))
        say(
            f"tuning, {name}: gapless {row['gapless']:.1f} s, GridSearchCV {row['sklearn']:.1f} s, "
            f"{row['sklearn'] / row['gapless']:.1f} times; cells differ by {row['apart']:.2g} at most, "
            f"best {row['best']:.4f} and {row['best_peer']:.4f}"
        )
        objective.keep("tuning.json", name, {"data": name, **row})


def duel(X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.svm import SVC as Peer

    from gapless import SVC, tune

    scale = 1.0 / (X.shape[1] * X.var())
    grid = {"C": list(C), "gamma": [width * scale for width in WIDTHS]}
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    tune(SVC(), X[:2500], y[:2500], {"C": [1.0, 8.0], "gamma": [scale]}, cv=folds, n_jobs=limits.THREADS)  # compiled

    def ours() -> tuple[float, Any]:
        started = time.perf_counter()
        found = tune(SVC(n_jobs=limits.THREADS), X, y, grid, cv=folds, n_jobs=limits.THREADS)
        return time.perf_counter() - started, found

    first, found = ours()
    started = time.perf_counter()
    peer = GridSearchCV(Peer(), grid, cv=folds, n_jobs=limits.THREADS).fit(X, y)
    theirs = time.perf_counter() - started
    second, _ = ours()
    scores = {
        repr(sorted(p.items())): s for p, s in zip(peer.cv_results_["params"], peer.cv_results_["mean_test_score"])
    }
    apart = max(abs(scores[repr(sorted(row["params"].items()))] - row["score"]) for row in found.tuning_.table)
    return {
        "n": X.shape[0],
        "d": X.shape[1],
        "gapless": max(first, second),
        "sklearn": theirs,
        "apart": float(apart),
        "best": found.tuning_.best_score,
        "best_peer": float(peer.best_score_),
        "worst_gap": max(row["gap"] for row in found.tuning_.table),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.tuning", description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--folder")
    options = parser.parse_args()
    folder = datasets.find_folder(options.folder)
    if folder is None:
        raise SystemExit("No data folder: --folder, $GAPLESS_DATA or ../shared/data.")
    run(folder, options.sets, lambda text: print(text, flush=True))


if __name__ == "__main__":
    limits.limit_threads()
    main()
