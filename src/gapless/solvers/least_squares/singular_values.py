"""Least squares from singular values: the solution of least norm, and which columns depend on each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import linalg

from gapless.numbers import UNIT
from gapless.problems.least_squares import CONSTANT, LeastSquares
from gapless.solvers.least_squares.answer import Answer, Clock, later, refine, write_centred
from gapless.solvers.least_squares.thresholds import LEAST_SQUARES_THRESHOLDS


class _Columns(NamedTuple):
    """The centred and weighted columns A = U diag(sigma) Vt, scaled to equal length, as far as their rank goes."""

    A: np.ndarray
    B: np.ndarray  #: the centred and weighted targets
    scale: np.ndarray
    constant: np.ndarray  #: columns that do not vary, and are 0 in A
    U: np.ndarray
    sigma: np.ndarray
    Vt: np.ndarray

    @property
    def rank(self) -> int:
        return len(self.sigma)


def solve_by_singular_values(problem: LeastSquares, loop: Clock, trusted: float, *, whole: bool) -> Answer:
    """Solve for all targets from singular values: of X itself (``whole``), or of the triangle of its QR."""
    columns = _decompose(problem, loop, whole)
    parts = _solve_parts(problem, columns, trusted)
    W = np.empty((problem.d, problem.K))
    for mine, part in parts:
        W[:, mine] = part.W
    worst = max((part for _, part in parts), key=lambda part: part.condition)
    condition, weak, rank = worst.condition, worst.weak, columns.rank

    def correct(gradient: np.ndarray) -> np.ndarray:
        out = np.empty_like(gradient)
        for mine, part in parts:
            out[:, mine] = part.correct(gradient[:, mine])
        return out

    b = problem.mean_y - problem.columns.mean @ W if problem.offset else np.zeros(problem.K)
    loop.reached = Answer(W, b, "svd", "converged", 1, rank, condition)
    W, b, _ = refine(problem, loop, W, b, correct, 2, 1.0, condition, centred=True)
    singular = None
    if not problem.sparse:  # those of diag(sigma) Vt diag(scale): the rest of A is rounding
        inner = columns.sigma[:, None] * (columns.Vt * columns.scale)
        singular = later(partial(_singular_values, min(problem.n, problem.d)), _short(inner))
    weak = weak if condition > trusted else None
    return Answer(W, b, "svd", "converged", 1, rank, condition, singular, weak, _dependent(problem, columns))


def _short(A: np.ndarray) -> np.ndarray:
    """A square matrix of the same singular values, where A has many more columns than rows."""
    return A if 2 * A.shape[0] > A.shape[1] else np.asarray(np.linalg.qr(A.T, mode="r"))


def _singular_values(count: int, A: np.ndarray) -> np.ndarray:
    """The singular values of A, and zeros for those that were left out."""
    values = linalg.svdvals(A, check_finite=False) if A.size else np.zeros(0)
    return np.append(values, np.zeros(max(0, count - values.size)))


def _decompose(problem: LeastSquares, loop: Clock, whole: bool) -> _Columns:
    n, d, size = problem.n, problem.d, problem.columns
    scale = problem.scales()
    constant = scale <= CONSTANT * size.raw if problem.offset else scale == 0.0
    scale = np.where(constant, 1.0, scale)
    if whole:
        A, B = write_centred(problem)
        A /= scale
    else:
        centre = size.mean if problem.offset else None
        T = problem.triangle(centre, problem.mean_y * problem.offset, scale, loop.tick)
        A, B = T[:d, :d], T[:d, d:]
    A[:, constant] = 0.0
    loop.tick()
    try:
        U, sigma, Vt = linalg.svd(A, full_matrices=False, check_finite=False)
    except linalg.LinAlgError:
        U, sigma, Vt = linalg.svd(A, full_matrices=False, check_finite=False, lapack_driver="gesvd")
    kept = sigma > max(n, d) * np.finfo(float).eps * (sigma[0] if sigma.size else 0.0)
    # Columns far from 0 are rounded by parts of what they are, not of how far they vary: what they differ by below that is no
    # direction, and coefficients along it would be so long that scores lose more to rounding than they gain.
    kept &= sigma > 4.0 * UNIT * np.linalg.norm(Vt * (size.raw / scale), axis=1)
    kept[max(n - problem.offset, 0) :] = False  # centred rows add up to 0: one less can be independent
    Vt = Vt[kept]
    Vt[:, constant] = 0.0  # exactly, not by rounding
    return _Columns(A, B, scale, constant, U[:, kept], sigma[kept], Vt)


def _dependent(problem: LeastSquares, columns: _Columns) -> np.ndarray | None:
    """The columns that are combinations of each other, where a target has no penalty.

    A constant column has the coefficient 0, whatever the others have; where rows are too few, no columns are to be named.
    """
    n, d, constant, rank = problem.n, problem.d, columns.constant, columns.rank
    if not ((problem.alpha == 0.0).any() and rank < d - int(constant.sum()) <= n - problem.offset):
        return None
    in_null_space = 1.0 - np.square(columns.Vt).sum(axis=0)
    return np.flatnonzero((in_null_space > LEAST_SQUARES_THRESHOLDS.null_share) & ~constant)


def _solve_parts(problem: LeastSquares, columns: _Columns, trusted: float) -> list[tuple[np.ndarray, _Part]]:
    """The targets without a penalty, and those with one, each with its solution."""
    A, B, scale, constant, U, sigma, Vt = columns
    plain = problem.alpha == 0.0
    parts: list[tuple[np.ndarray, _Part]] = []
    if plain.any():
        parts.append((plain, _without_penalty(U, sigma, Vt, B[:, plain], scale, trusted)))
    if not plain.all():
        own = scale[~constant]
        if own.size and own.max() > LEAST_SQUARES_THRESHOLDS.unequal_columns * own.min():
            parts += [
                (problem.alpha == a, _penalised_by_columns(A, B[:, problem.alpha == a], float(a), scale, constant))
                for a in np.unique(problem.alpha[~plain])
            ]
        else:
            spread = float(sigma[0] / sigma[-1]) if columns.rank == problem.d else np.inf
            parts.append(
                (~plain, _penalised(A * scale, B[:, ~plain], problem.alpha[~plain], constant, spread, trusted))
            )
    return parts


class _Part(NamedTuple):
    """The solution of some targets, the function that solves for their gradient, and the condition of both."""

    W: np.ndarray
    correct: Callable[[np.ndarray], np.ndarray]
    condition: float
    weak: np.ndarray | None


def _without_penalty(
    U: np.ndarray, sigma: np.ndarray, Vt: np.ndarray, B: np.ndarray, scale: np.ndarray, trusted: float
) -> _Part:
    """Solve from the singular values of the scaled columns that count; the least norm is taken where columns depend."""
    deficient = len(sigma) < len(scale) and np.ptp(scale) > 0.0
    basis = _row_space(Vt, scale) if deficient else None  # W less its part in the null space of X

    def least(W: np.ndarray) -> np.ndarray:
        if basis is None:
            return W
        shortest, many = basis @ (basis.T @ W), 1e6  # times as large a score leaves no digit to small residuals
        return np.where(scale @ np.abs(shortest) <= many * (scale @ np.abs(W)), shortest, W)

    def correct(gradient: np.ndarray) -> np.ndarray:
        return least(Vt.T @ ((Vt @ (gradient / scale[:, None])) / sigma[:, None] ** 2) / scale[:, None])

    W = least((Vt.T @ ((U.T @ B) / sigma[:, None])) / scale[:, None])
    if not len(sigma):
        return _Part(W, correct, 1.0, None)
    return _Part(W, correct, float(sigma[0] / sigma[-1]), Vt[sigma * trusted < sigma[0]])


def _penalised(
    A: np.ndarray, B: np.ndarray, alpha: np.ndarray, constant: np.ndarray, spread: float, trusted: float
) -> _Part:
    """Solve from the singular values of the columns as they are, since the penalty is on w itself."""
    U, own, Vt = linalg.svd(A, full_matrices=False, check_finite=False)
    Vt[:, constant] = 0.0
    below = own[:, None] ** 2 + alpha

    def correct(gradient: np.ndarray) -> np.ndarray:
        return Vt.T @ ((Vt @ gradient) / below)

    W = Vt.T @ (own[:, None] / below * (U.T @ B))
    least = float(alpha.min())
    low = float(own[-1]) ** 2 if own.size == A.shape[1] else 0.0
    top = float(own[0]) ** 2 if own.size else 0.0
    # Neither a spread of scales nor a penalty does harm: the smaller of the two conditions counts.
    condition = min(((top + least) / (low + least)) ** 0.5, spread)
    return _Part(W, correct, condition, Vt[(own**2 + least) * trusted**2 < top + least])


def _penalised_by_columns(A: np.ndarray, B: np.ndarray, alpha: float, scale: np.ndarray, constant: np.ndarray) -> _Part:
    """Solve for columns of very different length: the singular values of the short ones would be rounding of the long ones.

    A triangle of columns of length one, with the penalty's rows below them, keeps all of them.
    """
    below = np.diag(np.sqrt(alpha) / scale)
    Q, T = linalg.qr(np.concatenate([A, below]), mode="economic", check_finite=False)
    W = linalg.solve_triangular(T, Q[: A.shape[0]].T @ B, check_finite=False) / scale[:, None]
    W[constant] = 0.0

    def correct(gradient: np.ndarray) -> np.ndarray:
        half = linalg.solve_triangular(T, gradient / scale[:, None], trans="T", check_finite=False)
        step = linalg.solve_triangular(T, half, check_finite=False) / scale[:, None]
        step[constant] = 0.0
        return step

    values = linalg.svdvals(T, check_finite=False)
    return _Part(W, correct, float(values[0] / values[-1]), np.empty((0, A.shape[1])))


def _row_space(Vt: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the rows of X, which span the same space as those of Vt diag(scale).

    Rows of the basis go by size and its columns by pivots, so that a short column keeps its digits beside a long one.
    """
    B = (Vt * scale).T
    order = np.argsort(-np.abs(B).max(axis=1), kind="stable")
    basis = np.empty_like(B)
    basis[order] = linalg.qr(B[order], mode="economic", pivoting=True, check_finite=False)[0]
    return basis
