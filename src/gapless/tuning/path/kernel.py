"""The session of SVC: rows of the Gram matrix shared by all C, and scores that follow the dual point."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone

from gapless._runtime.threads import map_threads
from gapless.certificates.kernel import certify_kernel
from gapless.encode.lazy_frames import refuse_lazy
from gapless.fits.frame import Frame
from gapless.fits.kernel import decode_kernel
from gapless.fits.kernel_encode import EncodedKernel, encode_kernel
from gapless.fits.kernel_subproblem import KernelSubproblemFit, build_dual, fit_subproblem
from gapless.gram.blocks import SubGram
from gapless.gram.cached_rows import CachedRowTiles
from gapless.gram.tiles import RowTiles
from gapless.solvers.kernel.thresholds import KERNEL_THRESHOLDS
from gapless.solvers.kernel.warm_restart import resume_kernel
from gapless.solvers.solution import Solution

from .between_two_C import PathPoint
from .points import Point, Start


class _Scores(NamedTuple):
    """u, f = Ku, how much of u went into f in all (for its rounding), and in how many steps."""

    C: float
    u: np.ndarray
    f: np.ndarray
    spent: float
    steps: int


class KernelSession:
    """Rows, kernel and fingerprint once; rows of the Gram matrix are kept for all C, within ``cache_size``."""

    parameter = "C"

    def __init__(self, model: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self.prototype = clone(model)
        self.prototype._check_parameters()
        refuse_lazy(X)
        self.prototype._sparse = bool(sparse.issparse(X)) and not callable(model.kernel)
        self.X, y, judged = self.prototype._read(X, y)
        self.names = getattr(self.prototype, "feature_names_in_", None)
        self.task = replace(self.prototype._task(), C=1.0)
        with Frame(self.task.stop, self.task.n_jobs).running():
            ready = encode_kernel(self.task, judged, y, sample_weight)
            if ready.data.positive.shift is None:
                raise ValueError(
                    "path: a kernel that is not positive semidefinite has no dual bound, and no path to certify."
                )
            self.ready: EncodedKernel = ready
            self.marks = ready.fingerprint()
        self.last: dict[int, _Scores] = {}
        self.tiles: dict[int, Any] = {}

    @property
    def tol(self) -> float:
        return self.task.stop.relative_gap

    def _follows(self, inside: np.ndarray) -> bool:
        """Small problems are fitted in a few passes each, and a linear kernel has solvers of its own."""
        return inside.size > KERNEL_THRESHOLDS.small_points and self.task.kernel != "linear"

    def _tiles(self, k: int, inside: np.ndarray) -> Any:
        """Pieces of the matrix of a pair for all C; rows of it are kept where they cost more than to be read again."""
        if k not in self.tiles:
            data = self.ready.data
            whole = data.gram if inside.size == data.gram.n else SubGram(data.gram, inside)
            tiles = whole.tiles(np.arange(inside.size), np.float64)
            if isinstance(tiles, RowTiles) and tiles.long:
                tiles = CachedRowTiles(tiles, self.task.cache_bytes)
            self.tiles[k] = tiles
        return self.tiles[k]

    def _scores(self, k: int, C: float, dual: np.ndarray, c: np.ndarray, tiles: Any) -> _Scores:
        """u and Ku for a start: the last ones, scaled by C, and the columns in which u is another.

        Rows at their bounds scale with C exactly.  (The line through two earlier scores would double their rounding each time.)
        """
        # Points after which the scores are computed from u again.
        points_between_renewals = 12
        last = self.last.get(k)
        if last is None or last.steps >= points_between_renewals or last.C == C:
            rows, f = np.flatnonzero(dual), np.zeros(dual.size)
            tiles.add(f, rows, dual[rows])
            return _Scores(C, dual, f, float(np.abs(dual).sum()), 0)
        ratio = C / last.C
        u, f = last.u * ratio, last.f * ratio
        moved = dual - u
        columns = np.flatnonzero(np.abs(moved) > 1e-14 * c)
        u[columns] = dual[columns]
        tiles.add(f, columns, moved[columns])
        return _Scores(C, u, f, ratio * last.spent + float(np.abs(moved[columns]).sum()), last.steps)

    def prepare(self, Cs: np.ndarray) -> None:
        """Nothing is common to all C but the data."""

    def point(self, C: float, start: Start | None, asked: bool) -> Point:
        task = replace(self.task, C=C, parameters={**self.task.parameters, "C": C})
        frame = Frame(task.stop, task.n_jobs, together=False)
        ready = self.ready.with_C(C)
        ready = replace(ready, data=replace(ready.data, start=start))
        screened = np.zeros(len(ready.pairs))

        def one(k: int) -> KernelSubproblemFit:
            data, pair = ready.data, ready.pairs[k]
            inside = np.flatnonzero(data.member(pair))
            known = start is not None and (start.ready or self._follows(inside))
            if start is not None and known and np.unique(data.index[inside]).size == 2:
                problem = build_dual(task, data, inside, data.cost.c[inside], pair)
                dual = data.cost.take(start.arrays["dual"][k])[inside]
                if start.ready:
                    beta = problem.repair(problem.sign * dual)
                    f = problem.scores(beta)
                    kept = Solution(problem.best_scalars(f), beta, "converged", 0, 0.0, "neighbour", [], f)
                    claim = certify_kernel(problem, kept, tol=self.tol, pair=pair, positive=True)
                    return KernelSubproblemFit(problem.u(beta), kept.theta, f, claim, [])
                tiles = self._tiles(k, inside)
                before = self._scores(k, C, dual, problem.c, tiles)
                warm = resume_kernel(problem, task.stop, tiles, before.u, before.f, before.spent)
                if warm is not None:
                    solution = warm.solution
                    assert solution.scores is not None
                    screened[k] = warm.screened
                    claim = certify_kernel(problem, solution, tol=self.tol, pair=pair, positive=True)
                    u = problem.u(solution.u)
                    self.last[k] = _Scores(C, u, solution.scores, warm.spent, before.steps + 1)
                    # Scores that followed u in steps feel the rounding of each of them.
                    mass = max(float(np.abs(u).sum()), 1e-300)
                    claim = replace(claim, rounding=claim.rounding * (1.0 + warm.spent / mass))
                    return KernelSubproblemFit(u, solution.theta, solution.scores, claim, solution.history)
            found = fit_subproblem(task, data, ready.pairs, k, frame)
            if found.off is None:
                return found
            # Scores in single precision where the fit did not need more: what lies between two points does.
            rows = np.flatnonzero(found.u)
            inner = data.gram.product(inside[rows], found.u[rows], inside)
            return replace(found, scores=inner, off=None)

        with frame.running():
            parts = map_threads(one, range(len(ready.pairs)), task.n_jobs)
            fitted = decode_kernel(task, ready, parts, self.marks, self.names, frame.stopwatch)
        shapes = []
        for part in parts:
            claim, square = part.claim, float(part.u @ part.scores)
            loss = (claim.primal - 0.5 * square) / C
            gap = max(0.0, claim.gap) + claim.rounding
            price = abs(float(part.u.sum())) * (1.0 + np.sqrt(2.0 * claim.primal * float(fitted.lengths.max()) ** 2))
            shapes.append(
                PathPoint(C, loss, gap, claim.dual - claim.rounding, claim.primal, price, part.u, part.u, part.scores)
            )
        arrays = {"dual": fitted.u, "scalars": fitted.scalars}
        followed = start is not None and not start.ready
        return Point(C, fitted.certificate, arrays, shapes, fitted, asked, float(screened.mean()), followed)

    def model(self, point: Point) -> Any:
        if point.followed:  # its scores came in steps: what a model claims is computed from its dual point alone
            point = self.point(point.C, Start(point.arrays, ready=True), point.asked)
        model = clone(self.prototype).set_params(C=point.C)
        for name in ("n_features_in_", "feature_names_in_", "_fit_X"):
            if hasattr(self.prototype, name):
                setattr(model, name, getattr(self.prototype, name))
        model._sparse = self.prototype._sparse
        model._take(point.fitted, self.X)
        return model
