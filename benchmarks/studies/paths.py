"""Paths: 50 values of C from 1e-3 to 100, evenly spaced in log C, against 50 fits of ours and 50 of the fastest peer.

    python -m benchmarks.studies.paths a9a hinge          (logistic, rbf; a9a, mnist)

Without an offset for the linear models, as everywhere here; all points are certified to a relative gap of 1e-4.  A peer counts
at each C with the loosest of its tolerances that is within 1e-4 of the optimum, which the dual value of our point bounds, and
the fastest of them counts at each C; where none is there within ``--most`` seconds, as many count.  Peers run in a process of
their own, which can be killed.  ``--enough r`` stops when the peers have taken r times as long as the path: what is printed then
holds from below.  ``--from i --to j`` times fits, ours and the peers', at the i-th to the (j-1)-th C alone.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

from benchmarks.core import limits

limits.limit_threads()

import numpy as np  # noqa: E402

import gapless  # noqa: E402
from benchmarks.core import datasets  # noqa: E402
from benchmarks.core.child import Child  # noqa: E402
from benchmarks.studies.solvers import PEERS  # noqa: E402

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


class Peers:
    """The fastest peer that is close enough, at one C after the other.

    Tolerances are tried from loose to tight, beginning one looser than that which was needed at the C before: at most one step
    a C can be counted that a still looser one would have saved.
    """

    def __init__(self, kind: str, data: str, X: Any, y: np.ndarray, most: float) -> None:
        self.kind, self.X, self.y, self.most = kind, X, y, most
        folder = datasets.find_folder()
        assert folder is not None
        self.child = Child(data, folder)
        self.from_: dict[str, int] = {}

    def fastest(self, C: float, lower: float) -> tuple[float, str]:
        if self.kind == "rbf":
            return self._sklearnex(C)
        best = self.most, "nobody"
        for solver in (one for one in PEERS[self.kind] if one.name in FAST and not one.declines(self.X)):
            for k in range(self.from_.get(solver.name, 0), min(9, len(solver.tolerances))):
                run = self.child.fit(solver.name, self.kind, C, solver.tolerances[k], best[0])
                if run.killed or run.seconds >= best[0]:
                    break
                if run.primal <= lower * (1.0 + TOL):
                    best, self.from_[solver.name] = (run.seconds, solver.name), max(0, k - 1)
                    break
        return best

    def _sklearnex(self, C: float) -> tuple[float, str]:
        from sklearnex.svm import SVC

        X = np.asarray(self.X.toarray() if hasattr(self.X, "toarray") else self.X, dtype=np.float32)
        started = time.perf_counter()
        SVC(C=C, gamma=1.0 / X.shape[1], cache_size=2000).fit(X, self.y)
        return time.perf_counter() - started, "sklearnex SVC float32, its tol"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.paths", description=__doc__)
    parser.add_argument("data", choices=("a9a", "mnist"))
    parser.add_argument("kind", choices=("hinge", "logistic", "rbf"))
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--to", type=int, default=len(CS))
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--most", type=float, default=60.0)
    parser.add_argument("--enough", type=float, default=np.inf)
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
    peers = Peers(asked.kind, asked.data, X, y, asked.most)
    total, who = 0.0, []
    with peers.child:
        for C in some:
            k = int(np.flatnonzero(found.asked & np.isclose(found.Cs, C))[0])
            seconds, name = peers.fastest(float(C), float(found.dual[k]))
            total, who = total + seconds, [*who, name]
            print(f"    C = {C:.4g}: {seconds:.3g} s, {name}; {total / path_s:.1f} x so far", flush=True)
            if total > asked.enough * path_s:
                break
    counted = f"{len(who)} of {len(some)} fits"
    print(
        f"{asked.data} {asked.kind}: peers, {counted}: {total:.3g} s: {total / path_s:.2f} x ({statistics.mode(who)})"
    )


if __name__ == "__main__":
    main()
