"""Paths: 50 values of C from 1e-3 to 100, evenly spaced in log C, against 50 fits of ours and 50 of the fastest peer.

    python -m benchmarks.paths a9a hinge          (squared_hinge, logistic, rbf; a9a, mnist)

Without an offset for the linear models, as everywhere here; all points are certified to a relative gap of 1e-4.  A peer counts
at each C with the loosest of its tolerances that is within 1e-4 of the optimum, which the dual value of our point bounds;
one that takes longer than ``--most`` seconds counts as so long, and nothing is counted of fits that were not close enough.
Peers count by their processor time where that is less, so that a busy machine does not count against them.  ``--from i --to j``
times fits, ours and the peers', at the i-th to the (j-1)-th C alone, so that a long comparison can be made in parts.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

from benchmarks import limits

limits.limit_threads()

import numpy as np  # noqa: E402

import gapless  # noqa: E402
from benchmarks import datasets  # noqa: E402
from benchmarks.solvers import PEERS  # noqa: E402

CS = np.logspace(-3, 2, 50)
TOL = 1e-4
#: The peers that are ever fastest on these two sets.
FAST = (
    "sklearn LinearSVC",
    "snapml svm 1 thread",
    "liblinear-official -s 0",
    "liblinear-official -s 7",
    "snapml logistic 1 thread",
)


def load(name: str, kind: str) -> tuple[Any, np.ndarray]:
    folder = datasets.find_folder()
    if folder is None:
        raise SystemExit("the data folder is missing: set GAPLESS_DATA.")
    X, y = datasets.read(folder, name)
    if name == "mnist":
        return X / 255.0, np.where(y % 2 == 0, 1, -1)
    rows = 8000 if kind == "rbf" else X.shape[0]
    return X[:rows], np.where(y[:rows] > 0, 1, -1)


def ours(kind: str, d: int, C: float = 1.0) -> Any:
    if kind == "rbf":
        return gapless.SVC(C=C, gamma=1.0 / d, tol=TOL, n_jobs=limits.THREADS, cache_size=2000)
    options: dict[str, Any] = {"C": C, "tol": TOL, "n_jobs": limits.THREADS, "fit_intercept": False, "max_iter": None}
    return gapless.LogisticRegression(**options) if kind == "logistic" else gapless.LinearSVC(loss=kind, **options)


def primal(kind: str, X: Any, y: np.ndarray, w: np.ndarray, C: float) -> float:
    m = y * np.asarray(X @ np.ravel(w))
    loss = {
        "hinge": lambda: np.maximum(0.0, 1.0 - m),
        "squared_hinge": lambda: np.maximum(0.0, 1.0 - m) ** 2,
        "logistic": lambda: np.logaddexp(0.0, -m),
    }[kind]()
    return 0.5 * float(np.ravel(w) @ np.ravel(w)) + C * float(loss.sum())


class Clock:
    """Seconds on the wall, or of all processors together where those are fewer."""

    def __init__(self) -> None:
        self.wall, self.processor = time.perf_counter(), time.process_time()

    def seconds(self) -> float:
        return min(time.perf_counter() - self.wall, time.process_time() - self.processor)


def peer_seconds(kind: str, X: Any, y: np.ndarray, C: float, lower: float, most: float) -> tuple[float, str]:
    """The fastest of the peers that are close enough at this C."""
    if kind == "rbf":
        from sklearnex.svm import SVC

        dense = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float32)
        clock = Clock()
        SVC(C=C, gamma=1.0 / X.shape[1], cache_size=2000).fit(dense, y)
        return clock.seconds(), "sklearnex SVC float32, its tol"
    best = most, "nobody"
    for solver in (one for one in PEERS["hinge" if kind == "squared_hinge" else kind] if one.name in FAST):
        if solver.declines(X) or kind == "squared_hinge":
            continue
        for tol in solver.tolerances[:9]:
            clock = Clock()
            found = solver.fit((X, y), C, tol, 0)
            seconds = clock.seconds()
            w = found[0] if isinstance(found, tuple) else found
            if seconds > best[0]:
                break
            if primal(kind, X, y, w, C) <= lower * (1.0 + TOL):
                best = min(best, (seconds, solver.name))
                break
    return best


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paths", description=__doc__)
    parser.add_argument("data", choices=("a9a", "mnist"))
    parser.add_argument("kind", choices=("hinge", "squared_hinge", "logistic", "rbf"))
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--to", type=int, default=len(CS))
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--most", type=float, default=60.0)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument(
        "--fits-only", action="store_true", help="ours, without the path: for parts of a long comparison"
    )
    asked = parser.parse_args()
    X, y = load(asked.data, asked.kind)
    d = X.shape[1]
    some = CS[asked.first : asked.to]
    ours(asked.kind, d).fit(X, y)
    gapless.path(ours(asked.kind, d), X, y, CS[:2], exact=False)
    walks, fits = [], []
    if asked.fits_only:
        started = time.perf_counter()
        for C in some:
            ours(asked.kind, d, float(C)).fit(X, y)
        print(f"{asked.data} {asked.kind}: fits {asked.first} to {asked.to}: {time.perf_counter() - started:.3g} s")
        return
    for _ in range(asked.turns):
        started = time.perf_counter()
        found = gapless.path(ours(asked.kind, d), X, y, CS, exact=False)
        walks.append(time.perf_counter() - started)
        started = time.perf_counter()
        for C in some:
            ours(asked.kind, d, float(C)).fit(X, y)
        fits.append(time.perf_counter() - started)
    assert found.converged
    path_s, fit_s = statistics.median(walks), statistics.median(fits)
    shown = f"{len(found)} points, between {found.between.max():.1e}"
    print(
        f"{asked.data} {asked.kind}: path {path_s:.3g} s ({shown}), {len(some)} fits {fit_s:.3g} s: {fit_s / path_s:.2f} x",
        flush=True,
    )
    if asked.no_peers:
        return
    total, who = 0.0, []
    for C in some:
        k = int(np.flatnonzero(found.asked & np.isclose(found.Cs, C))[0])
        seconds, name = peer_seconds(asked.kind, X, y, float(C), float(found.dual[k]), asked.most)
        total, who = total + seconds, [*who, name]
        print(f"    C = {C:.4g}: {seconds:.3g} s, {name}", flush=True)
    print(
        f"{asked.data} {asked.kind}: peers, {len(some)} fits {total:.3g} s: {total / path_s:.2f} x ({statistics.mode(who)})"
    )


if __name__ == "__main__":
    main()
