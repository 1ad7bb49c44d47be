"""The exact path of LinearSVC(loss="hinge") and SVC: encode the rows, follow the path (`solvers/linear/hinge_path`), decode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from gapless import kernels, losses
from gapless._runtime.clock import now
from gapless._runtime.threads import one_blas_thread, thread_team
from gapless.encode.lazy_frames import read_rows, refuse_lazy
from gapless.fits.frame import Frame
from gapless.fits.kernel_encode import encode_kernel, group_equal_rows
from gapless.fits.linear_encode import encode_linear
from gapless.gram.blocks import build_gram
from gapless.gram.predict import predict_scores
from gapless.problems.kernel import KernelDual
from gapless.problems.linear import LinearProblem
from gapless.solvers.kernel.solve import solve_kernel
from gapless.solvers.linear.hinge_path import HingePath, hinge_path
from gapless.solvers.linear.solve import solve
from gapless.solvers.loop import Stop

from .points import Start
from .result import ExactPath
from .score_steps import ScoreSteps, score_steps


class _PathData:
    """The data of an exact path: the matrix for the solver, and the way back from its answers to scores and models."""

    name: str
    K: np.ndarray
    y: np.ndarray
    s: np.ndarray
    free: bool

    classes: np.ndarray

    def solution(self, C: float) -> np.ndarray:
        """u at one C, as tight as a solver gets."""
        raise NotImplementedError

    def lines(self, X: Any) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
        """The map from coefficients (k, rows of K) to their kernel sums at the rows of X (rows of X, k), in float64;
        and a bound on the kernel value of each row of X with any training row."""
        raise NotImplementedError

    def score_steps(self, found: HingePath, X: Any, y: Any) -> ScoreSteps:
        y = np.asarray(y).ravel()
        lines, size = self.lines(X)
        if y.size != size.size:
            raise ValueError(f"X has {size.size} rows and y has {y.size} labels")
        if y.size == 0:
            raise ValueError("X has no rows: there is no score to follow")
        known = np.isin(y, self.classes)
        if not known.any():
            raise ValueError(f"no label of y is a class of this path, whose classes are {self.classes.tolist()}")
        with one_blas_thread(), np.errstate(under="ignore"):
            return score_steps(found, lines, size, y == self.classes[1], known)

    def _solve_by_kernel(self, C: float) -> np.ndarray:
        problem = KernelDual.c_svc(build_gram(kernels.Precomputed(), self.K), self.y, C * self.s)
        return problem.u(solve_kernel(problem, Stop(1e-13, 100_000, None)).u)


class _LinearPathData(_PathData):
    def __init__(self, model: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self.given = model
        self.prototype = clone(model)
        self.prototype._check_parameters()
        X, y = read_rows(self.prototype, X, y, order="C", accept_large_sparse=True)
        self.X, self.labels, self.weight = X, y, sample_weight
        self.name = type(model).__name__
        task = replace(self.prototype._task(X.dtype), C=1.0)
        self.data = encode_linear(task, X, y, sample_weight)
        _check_size(self.data.labels.n_classes, self.data.take_distinct()[2].size)
        rows, index, self.s = self.data.take_distinct()
        self.y = np.where(index == self.data.labels.positives[0], 1.0, -1.0)
        self.classes = self.data.labels.classes
        self.rows = rows.toarray().astype(float) if sparse.issparse(rows) else np.asarray(rows, float)
        self.offset = task.offset
        self.free = task.offset.kind == "free"
        self.K = self.rows @ self.rows.T
        if task.offset.kind == "penalised":
            self.K += task.offset.scale**2

    def solution(self, C: float) -> np.ndarray:
        if self.free:
            return self._solve_by_kernel(C)
        problem = LinearProblem.build(
            self.rows, self.y.astype(np.int8), C * self.s, losses.BY_NAME["hinge"], self.offset.kind, self.offset.scale
        )
        return solve(problem, Stop(1e-14, 100_000, None)).u

    def lines(self, X: Any) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
        X = read_rows(self.prototype, X, dtype=np.float64, reset=False)
        shift = self.offset.scale**2 if self.offset.kind == "penalised" else 0.0
        size = np.sqrt((_squared_norms(X) + shift) * self.K.diagonal().max(initial=0.0))
        return lambda U: np.asarray(X @ (self.rows.T @ U.T)) + shift * U.sum(axis=1), size

    def _weights(self, u: np.ndarray, b: float) -> tuple[np.ndarray, float]:
        if self.offset.kind == "penalised":
            b = self.offset.scale**2 * float(u.sum())
        return self.rows.T @ u, b if self.offset.kind != "none" else 0.0

    def dual(self, u: np.ndarray) -> np.ndarray:
        return self.data.cost.restore(self.data.expand(u))

    def decision(self, X: Any, u: np.ndarray, b: float) -> np.ndarray:
        X = read_rows(self.prototype, X, reset=False)
        w, b = self._weights(u, b)
        return np.asarray(X @ w) + b

    def model(self, C: float, u: np.ndarray, b: float) -> Any:
        w, b = self._weights(u, b)
        start = Start({"coef": w[None, :], "intercept": np.array([b]), "dual": self.dual(u)[None, :]})
        model = clone(self.prototype).set_params(C=C, init=start)
        model.fit(self.X, self.labels, self.weight)
        return model.set_params(init=self.given.init)


class _KernelPathData(_PathData):
    free = True

    def __init__(self, model: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self.given = model
        self.prototype = clone(model)
        self.prototype._check_parameters()
        refuse_lazy(X)
        if callable(model.kernel):
            raise ValueError("exact=True: compute the matrix of a kernel of your own and use kernel='precomputed'.")
        self.prototype._sparse = bool(sparse.issparse(X))
        self.X, self.labels, judged = self.prototype._read(X, y)
        self.weight, self.name = sample_weight, type(model).__name__
        task = replace(self.prototype._task(), C=1.0)
        with Frame(task.stop, task.n_jobs).running():
            ready = encode_kernel(task, judged, self.labels, sample_weight)
            data = ready.data
            if data.positive.shift is None:
                raise ValueError("exact=True: the path needs a positive semidefinite kernel.")
            _check_size(0 if ready.labels is None else ready.labels.n_classes, data.cost.c.size)
            inside = np.arange(data.cost.c.size)
            self.data, self.groups = data, group_equal_rows(data, inside)
            rows = inside if self.groups is None else self.groups.first
            self.s = data.cost.c if self.groups is None else self.groups.c
            self.y = np.where(data.index[rows] == 1, 1.0, -1.0)
            self.K = data.judged.block(rows, rows)
            self.classes = ready.labels.classes  # type: ignore[union-attr]
        self.K = 0.5 * (self.K + self.K.T)

    def solution(self, C: float) -> np.ndarray:
        return self._solve_by_kernel(C)

    def dual(self, u: np.ndarray) -> np.ndarray:
        return self.data.cost.restore(u if self.groups is None else self.groups.to_all_rows(u))

    def lines(self, X: Any) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
        X = read_rows(self.prototype, X, dtype=np.float64, order="C", reset=False)
        precomputed = self.prototype.kernel == "precomputed"
        if precomputed:
            own = abs(X).max(axis=1)
            size = np.asarray(own.todense() if sparse.issparse(own) else own, float).ravel()
        else:
            own = np.abs(self.data.kernel.diagonal(_squared_norms(X)))
            size = np.sqrt(own * self.K.diagonal().max(initial=0.0))

        def sums(U: np.ndarray) -> np.ndarray:
            full = np.stack([self.dual(u) for u in U])
            rows = np.flatnonzero(np.any(full != 0.0, axis=0))
            kernel, vectors = (kernels.Precomputed(), rows) if precomputed else (self.data.kernel, self.X[rows])
            with thread_team(self.prototype.n_jobs):
                return predict_scores(kernel, X, vectors, full[:, rows])

        return sums, size

    def decision(self, X: Any, u: np.ndarray, b: float) -> np.ndarray:
        X = read_rows(self.prototype, X, order="C", reset=False)
        full = self.dual(u)
        rows = np.flatnonzero(full)
        with one_blas_thread(), thread_team(self.prototype.n_jobs), np.errstate(under="ignore"):
            if self.prototype.kernel == "precomputed":
                return predict_scores(kernels.Precomputed(), X, rows, full[None, rows])[:, 0] + b
            return predict_scores(self.data.kernel, X, self.X[rows], full[None, rows])[:, 0] + b

    def model(self, C: float, u: np.ndarray, b: float) -> Any:
        start = Start({"dual": self.dual(u)[None, :], "scalars": np.array([[b]])})
        model = clone(self.prototype).set_params(C=C, init=start)
        model.fit(self.X, self.labels, self.weight)
        return model.set_params(init=self.given.init)


def exact_path(model: Any, X: Any, y: Any, sample_weight: Any, low: float, high: float) -> ExactPath:
    """The exact path of C from low to high."""
    # The relative gap that every break point has to keep; the path ends before the first break point that does not.
    kept_gap = 1e-9
    started = now()
    owner = (_LinearPathData if hasattr(model, "loss") else _KernelPathData)(model, X, y, sample_weight)
    with one_blas_thread(), np.errstate(all="ignore"):
        found = hinge_path(owner.K, owner.y, owner.s, owner.free, _first_solution(owner, low, high), low, high)
        found, figures = found.cut_to_certified(kept_gap)
    return ExactPath(found, figures, owner, now() - started)


def _first_solution(owner: _PathData, low: float, high: float) -> tuple[float, np.ndarray]:
    """A C inside the path and the solution there; another C where the first one is a break point or too hard."""
    good_gap = 1e-11  # a start of at most this relative gap is good enough
    diagonal = owner.K.diagonal()
    usual = 1.0 / max(float(diagonal.mean()), 1e-300)
    inside = max(low * 1.01, 1e-300), high / 1.01
    best: tuple[float, float, np.ndarray] = np.inf, usual, np.zeros(owner.y.size)
    for factor in (1.0, 3.7, 0.27, 13.3, 0.071, 51.7):
        C = float(np.clip(usual * factor, *inside))
        u = owner.solution(C)
        gap = _relative_gap(owner, C, u)
        if gap < best[0]:
            best = gap, C, u
        if gap <= good_gap:
            break
    return best[1], best[2]


def _squared_norms(X: Any) -> np.ndarray:
    return np.asarray(X.multiply(X).sum(axis=1)).ravel() if sparse.issparse(X) else np.square(X).sum(axis=1)


def _relative_gap(owner: _PathData, C: float, u: np.ndarray) -> float:
    f, c = owner.K @ u, C * owner.s
    b = 0.0
    if owner.free:
        problem = KernelDual.c_svc(build_gram(kernels.Precomputed(), owner.K), owner.y, c)
        b = float(problem.best_scalars(f)[0])
    h = 1.0 - owner.y * (f + b)
    alpha = owner.y * u
    gap = float(np.where(h > 0.0, (c - alpha) * h, -alpha * h).sum())
    return gap / max(0.5 * float(u @ f) + float(c @ np.maximum(h, 0.0)), 1e-300)


def _check_size(n_classes: int, rows: int) -> None:
    if n_classes != 2:
        raise ValueError(
            f"exact=True: the path of two classes is followed, and there are {n_classes}. Leave exact=False."
        )
    if rows > 15_000:  # their matrix of inner products takes 1.8 GB
        raise ValueError(
            f"exact=True: {rows} different rows need a matrix of {8 * rows**2 / 1e9:.3g} GB. Leave exact=False, which certifies "
            "points and what lies between them."
        )
