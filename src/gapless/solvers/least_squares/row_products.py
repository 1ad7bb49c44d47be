"""Least squares where rows are fewer than columns, from the n x n products of the centred rows with each other.

    with a penalty       (AA' + alpha I) v = B,    W = A'v
    without              AA' v = B,                W = A'v: of all exact fits the one of least norm

A has the centred rows times the roots of their weights. Such rows add up to 0, weighted by these roots: with an offset their
products get one more term in that direction, where there is nothing to be found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from gapless import rows as R
from gapless.problems.least_squares import CONSTANT, LeastSquares
from gapless.solvers.least_squares.answer import Answer, Clock, later, refine, roots_of_eigenvalues, write_centred
from gapless.solvers.least_squares.thresholds import LEAST_SQUARES_THRESHOLDS


def solve_wide_by_cholesky(problem: LeastSquares, loop: Clock, tol: float) -> Answer | None:
    """Solve for all targets, which all have a penalty or none."""
    return (_with_penalty if problem.alpha.min() > 0.0 else _least_norm)(problem, loop, tol)


def _with_penalty(problem: LeastSquares, loop: Clock, tol: float) -> Answer | None:
    A, B = write_centred(problem)
    loop.tick()
    K = A @ A.T
    top = float(np.abs(K).sum(axis=0).max())
    factors, worst = {}, 1.0
    for alpha in np.unique(problem.alpha).tolist():
        moved = K.copy()
        moved.flat[:: problem.n + 1] += alpha
        factor, info = linalg.lapack.dpotrf(moved, lower=1, clean=0)
        if info != 0:
            return None
        rcond, _ = linalg.lapack.dpocon(factor, top + alpha, uplo="L")
        worst = min(worst, float(rcond))
        factors[alpha] = factor
    if worst < LEAST_SQUARES_THRESHOLDS.smallest_rcond:
        return None

    def correct(gradient: np.ndarray) -> np.ndarray:
        # (A'A + alpha I)^-1 g = (g - A'(AA' + alpha I)^-1 A g) / alpha
        out = np.empty_like(gradient)
        for alpha, factor in factors.items():
            g = gradient[:, problem.alpha == alpha]
            out[:, problem.alpha == alpha] = (g - A.T @ _backsolve(factor, A @ g)) / alpha
        return out

    W = np.empty((problem.d, problem.K))
    for alpha, factor in factors.items():
        mine = problem.alpha == alpha
        W[:, mine] = A.T @ _backsolve(factor, B[:, mine])
    W, b, fine = refine(problem, loop, W, _offsets(problem, W), correct, 2, tol, worst**-0.5)
    # With a penalty the solution is unique: nobody asks for the rank of X.
    return Answer(W, b, "cholesky", "converged", 1, None, worst**-0.5) if fine else None


def _least_norm(problem: LeastSquares, loop: Clock, tol: float) -> Answer | None:
    """None where the rows, or the rows of columns scaled to equal length, are near to being dependent."""
    n = problem.n
    A, B = write_centred(problem)
    scale = problem.scales()
    constant = scale <= CONSTANT * problem.columns.raw if problem.offset else scale == 0.0
    A[:, constant] = 0.0
    direction = np.ones(n) if problem.s is None else np.sqrt(problem.s)
    direction /= np.linalg.norm(direction)
    loop.tick()
    K = A @ A.T
    factor, rcond = _factor(K, direction if problem.offset else None)
    # Below that the products of rows would lose half of the digits of the small singular values.
    least = 1e-8
    if rcond < least:
        return None
    loop.tick()
    scaled = A / np.where(constant, 1.0, scale)
    _, rcond = _factor(scaled @ scaled.T, direction if problem.offset else None)
    if rcond < least:
        return None
    W = A.T @ _backsolve(factor, B)
    W += A.T @ _backsolve(factor, B - A @ W)
    singular = None if R.is_sparse(problem.rows) else later(roots_of_eigenvalues, K)
    return Answer(W, _offsets(problem, W), "cholesky", "converged", 1, n - int(problem.offset), rcond**-0.5, singular)


def _factor(K: np.ndarray, direction: np.ndarray | None) -> tuple[Any, float]:
    """The Cholesky factor of K, made definite in this direction, and its reciprocal condition; 0 where it is not definite."""
    size = float(np.trace(K)) / len(K)
    moved = K.copy() if direction is None else K + np.outer(direction, size * direction)
    norm = float(np.abs(moved).sum(axis=0).max())
    factor, failed = linalg.lapack.dpotrf(moved, lower=1, clean=0)
    return factor, 0.0 if failed or not np.isfinite(norm) else float(linalg.lapack.dpocon(factor, norm, uplo="L")[0])


def _backsolve(factor: np.ndarray, right: np.ndarray) -> np.ndarray:
    found: np.ndarray = linalg.lapack.dpotrs(factor, right, lower=1)[0]
    return found


def _offsets(problem: LeastSquares, W: np.ndarray) -> np.ndarray:
    return problem.mean_y - problem.columns.mean @ W if problem.offset else np.zeros(problem.K)
