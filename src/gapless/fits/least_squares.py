"""The way of the data through least squares: rows of positive weight -> problem -> solve -> certify -> all rows again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from gapless._compile.backend import backend
from gapless._runtime.backend import use_backend
from gapless._runtime.clock import Stopwatch
from gapless._runtime.threads import in_background
from gapless.backends.choose import backend_for, least_squares_problem
from gapless.certificates.fingerprint import fingerprint
from gapless.certificates.least_squares import Target, certify_least_squares, target_fingerprint
from gapless.encode.common_part import common_parts, keeps
from gapless.encode.labels import Labels
from gapless.encode.weights import check_sample_weight
from gapless.problems.least_squares import LeastSquares
from gapless.solvers.descent.as_solver import DESCENTS
from gapless.solvers.descent.least_squares import descend_least_squares
from gapless.solvers.least_squares.answer import Answer, Clock
from gapless.solvers.least_squares.solve import solve
from gapless.solvers.loop import Interruption, Stop, Watch

from .frame import TRUSTED_CONDITION, Frame


class LeastSquaresTask(NamedTuple):
    """The request of an estimator."""

    alpha: np.ndarray  #: the penalty of each target
    fit_intercept: bool
    tol: float
    solver: str  #: "auto", or the name of a descent
    schedule: Any
    seed: int
    passes: int | None
    seconds: float | None
    n_jobs: int | None


class LeastSquaresData(NamedTuple):
    """The data of a fit."""

    X: Any
    Y: np.ndarray  #: (n, targets)
    sample_weight: Any
    look: Callable[[], None] | None  #: raises scikit-learn's error for NaN and infinity in X; None where that was done
    feature_names: Any = None
    labels: Labels | None = None
    class_weight: np.ndarray | None = None

    def fingerprint(self, weights: np.ndarray | None) -> dict[str, Any]:
        """The fingerprint of all rows, also those of weight 0."""
        if self.labels is None:
            return target_fingerprint(self.X, self.Y, weights)
        return fingerprint(self.X, self.labels.index, weights)


@dataclass(frozen=True, eq=False)
class LeastSquaresFit:
    """A solved problem, and the figures and arrays of its certificate."""

    answer: Answer
    targets: tuple[Target, ...]
    arrays: dict[str, np.ndarray]  #: coef and intercept in the dtype of X; with a penalty also dual
    fingerprint: dict[str, Any]
    stopwatch: Stopwatch
    common: np.ndarray | None  #: what was taken from the targets and their offsets
    backend: str  #: as the certificate tells it


def fit_least_squares(task: LeastSquaresTask, data: LeastSquaresData, interruption: Interruption) -> LeastSquaresFit:
    """Solve, and certify the coefficients that are returned: float32 where X is float32."""
    frame = Frame(Stop(task.tol, task.passes or 0, task.seconds), task.n_jobs)
    X, Y, look, labels = data.X, data.Y, data.look, data.labels
    n = X.shape[0]
    weights = check_sample_weight(data.sample_weight, n)
    given = None if data.sample_weight is None else weights
    s = weights if data.class_weight is None or labels is None else weights * data.class_weight[labels.index]
    uniform = given is None and s is weights
    keep = None if uniform or (s > 0.0).all() else np.flatnonzero(s > 0.0)
    if keep is not None:
        if look is not None:
            look()  # NaN is refused also in the rows that are left out
        X, Y, s, look = X[keep], Y[keep], s[keep], None
    dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
    with use_backend(backend_for(X) if task.solver not in DESCENTS else "numba"), frame.running():
        marks = in_background(lambda: data.fingerprint(given))
        scale = None if uniform or (s == 1.0).all() else s
        common = common_parts(Y) if task.fit_intercept else np.zeros(Y.shape[1])
        moved, shift = (Y - common, common) if common.any() else (Y, None)
        problem = least_squares_problem().build(
            X, moved, scale, task.alpha, task.fit_intercept, task.n_jobs, look, shift
        )
        clock = Clock(frame.stop, Watch(interruption=interruption), started=frame.stopwatch.started)
        try:
            answer = _solve(task, problem, clock)
        except (ValueError, np.linalg.LinAlgError):  # LAPACK refuses infinite sums
            if look is not None:
                look()
            _refuse_overflow(problem, X, data.feature_names)
            raise
        if look is not None and answer.status != "converged":
            look()  # time was over before a sum could show NaN
        coef, intercept = np.ascontiguousarray(answer.W.T).astype(dtype), (answer.b + common).astype(dtype)
        problem, b = _with_exact_offsets(problem, answer.b, intercept)
        targets, dual = certify_least_squares(problem, (answer.W, b), answer.status, tol=task.tol, dtype=dtype)
        answer = replace(answer, b=answer.b + common)
        found, told = marks(), backend()
        if any(each.status in ("stalled", "not_finite") for each in targets):
            _refuse_overflow(problem, X, data.feature_names)
            if np.isfinite(answer.W).all() and not np.isfinite(coef).all():
                raise ValueError(
                    "coefficients are beyond float32, which X is: give X as float64, or divide y by its size"
                )
    arrays = {"coef": coef, "intercept": intercept}
    if dual is not None:
        arrays["dual"] = dual if keep is None else np.zeros((dual.shape[0], n))
        if keep is not None:
            arrays["dual"][:, keep] = dual
    return LeastSquaresFit(answer, targets, arrays, found, frame.stopwatch, problem.common, told)


def _with_exact_offsets(problem: LeastSquares, b: np.ndarray, intercept: np.ndarray) -> tuple[LeastSquares, np.ndarray]:
    """The problem and its offsets; a target has its common part back where that cannot be taken from its offset exactly."""
    if problem.common is None:
        return problem, b
    kept = keeps(problem.common, intercept.astype(np.float64))
    if kept.all():
        return problem, b
    back = np.where(kept, 0.0, problem.common)
    left = problem.common - back
    return replace(problem, Y=problem.Y + back, common=left if left.any() else None), b + back


def _solve(task: LeastSquaresTask, problem: LeastSquares, clock: Clock) -> Answer:
    if task.solver in DESCENTS:
        return descend_least_squares(
            problem, clock, task.solver, tol=task.tol, schedule=task.schedule, seed=task.seed, passes=task.passes
        )
    return solve(problem, clock, tol=task.tol, trusted=TRUSTED_CONDITION, passes=task.passes)


def _refuse_overflow(problem: LeastSquares, X: Any, names: Any) -> None:
    """Raise an error where a sum of squares is beyond float64; it names the column."""
    advice = "divide by a number of their size (sklearn.preprocessing.MaxAbsScaler does)"
    found = np.flatnonzero(~np.isfinite(problem.columns.raw))
    if found.size:
        j = int(found[0])
        column = repr(str(names[j])) if names is not None else str(j)
        raise ValueError(
            f"the values of column {column} of X reach {abs(X[:, [j]]).max():.1e}: their squares are beyond float64; {advice}"
        )
    if not np.isfinite((problem.Y * problem.Y).sum()):
        most = float(np.abs(problem.Y).max())
        raise ValueError(f"the values of y reach {most:.1e}: their squares are beyond float64; {advice}")
