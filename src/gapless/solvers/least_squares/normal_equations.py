"""Least squares by Cholesky factors: of the d x d normal equations, or of the n x n dual system where n < d."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from gapless import rows as R
from gapless.problems.least_squares import CONSTANT, LeastSquares
from gapless.rows.second_moments import centre_of, columns_of, dense_tiles, moments
from gapless.solvers.least_squares.answer import Answer, Clock, refine, write_centred
from gapless.solvers.least_squares.thresholds import LEAST_SQUARES_THRESHOLDS


def solve_by_cholesky(problem: LeastSquares, loop: Clock, tol: float) -> Answer | None:
    d, K, mass = problem.d, problem.K, problem.mass
    centre = centre_of(problem.rows) if problem.offset else np.zeros(d)
    centre_y = problem.mean_y if problem.offset else np.zeros(K)
    M = moments(problem.rows, problem.s, problem.Y, centre, centre_y, problem.n_jobs, loop.tick)
    if problem.look is not None and not np.isfinite(M).all():
        problem.look()
    size = columns_of(centre, M[:d, -1], M[:d, :d].diagonal().copy(), mass)
    lost = problem.offset and R.is_sparse(
        problem.rows
    )  # sparse rows are not shifted: a column that hardly varies is rounding
    if lost and (size.centred < LEAST_SQUARES_THRESHOLDS.least_variation * size.raw).any():
        return None
    problem.__dict__["columns"] = size
    G, cross = M[:d, :d].copy(), M[:d, d : d + K].copy()
    if problem.offset:
        G -= np.outer(M[:d, -1], M[:d, -1] / mass)
        cross -= np.outer(M[:d, -1], M[d : d + K, -1] / mass)
    constant = problem.scales() <= CONSTANT * size.raw
    if constant.any() or not np.isfinite(G).all():
        return None  # a column does not vary: singular values find the solution of least norm
    b = centre_y + M[d : d + K, -1] / mass if problem.offset else np.zeros(K)
    return _factor_and_refine(problem, loop, G, cross, b, tol)


def solve_small_by_cholesky(problem: LeastSquares, loop: Clock, tol: float) -> Answer | None:
    """The same of rows that are written out, with a penalty for every target: a constant column then has the coefficient 0."""
    _, A = next(dense_tiles(problem.rows, problem.n))
    size, B = problem.columns, problem.Y - problem.mean_y if problem.offset else problem.Y
    if problem.offset:
        A -= centre_of(problem.rows)  # exact for constant columns
        A -= A.mean(axis=0) if problem.s is None else problem.s @ A / problem.mass
    A[:, problem.scales() <= CONSTANT * size.raw] = 0.0
    weighted = A if problem.s is None else A * problem.s[:, None]
    loop.tick()
    G, cross = A.T @ weighted, weighted.T @ B
    if not np.isfinite(G).all():
        return None
    return _factor_and_refine(problem, loop, G, cross, problem.mean_y if problem.offset else np.zeros(problem.K), tol)


def _factor_and_refine(
    problem: LeastSquares, loop: Clock, G: np.ndarray, cross: np.ndarray, offset: np.ndarray, tol: float
) -> Answer | None:
    """From the products of the centred columns with each other and with the targets; ``offset`` is the mean of the targets."""
    d, size = problem.d, problem.columns
    live = G.diagonal() > 0.0
    alphas = np.unique(problem.alpha)
    factors: dict[float, Any] = {}
    worst = 1.0
    for alpha in alphas.tolist():
        A = G + alpha * np.eye(d)
        scale = 1.0 / np.sqrt(A.diagonal())
        A *= scale
        A *= scale[:, None]
        loop.tick()
        factor, info = linalg.lapack.dpotrf(A, lower=1, clean=1)
        if info != 0:
            return None
        rcond, _ = linalg.lapack.dpocon(factor, np.abs(A).sum(axis=0).max(), uplo="L")
        worst = min(worst, float(rcond))
        if rcond < LEAST_SQUARES_THRESHOLDS.smallest_rcond:
            return None
        factors[alpha] = (factor, scale)

    def correct(gradient: np.ndarray) -> np.ndarray:
        out = np.empty_like(gradient)
        for alpha, (factor, scale) in factors.items():
            mine = problem.alpha == alpha
            out[:, mine] = scale[:, None] * linalg.cho_solve((factor, True), scale[:, None] * gradient[:, mine])
        out[~live] = 0.0
        return out

    W = correct(cross)
    b = offset - size.mean @ W if problem.offset else offset
    steps = 1 if worst >= 1e-13 else 2
    # A penalty hides that columns depend on each other: their own equations say whether they do.
    rank = d if alphas[0] == 0.0 else int(live.sum()) if _independent(G[np.ix_(live, live)]) else None
    loop.reached = Answer(W, b, "cholesky", "converged", 1, rank, worst**-0.5)
    W, b, fine = refine(problem, loop, W, b, correct, steps, tol, worst**-0.5)
    if not fine:
        return None
    wanted = alphas[0] == 0.0 and not R.is_sparse(problem.rows) and d <= 500
    singular = np.sqrt(np.maximum(np.linalg.eigvalsh(G)[::-1], 0.0)) if wanted else None
    return Answer(W, b, "cholesky", "converged", 1, rank, worst**-0.5, singular)


def _independent(G: np.ndarray) -> bool:
    """Whether columns with the products G are independent beyond rounding."""
    if not len(G):
        return True
    scale = 1.0 / np.sqrt(G.diagonal())
    A = G * scale * scale[:, None]
    factor, info = linalg.lapack.dpotrf(A, lower=1)
    rcond, _ = linalg.lapack.dpocon(factor, np.abs(A).sum(axis=0).max(), uplo="L") if info == 0 else (0.0, 0)
    return bool(rcond >= LEAST_SQUARES_THRESHOLDS.smallest_rcond)


def solve_dual_by_cholesky(problem: LeastSquares, loop: Clock, tol: float) -> Answer | None:
    A, B = write_centred(problem)
    loop.tick()
    K = A @ A.T
    top = float(np.abs(K).sum(axis=0).max())
    factors, worst = {}, 1.0
    for alpha in np.unique(problem.alpha).tolist():
        factor, info = linalg.lapack.dpotrf(K + alpha * np.eye(problem.n), lower=1, clean=1)
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
            out[:, problem.alpha == alpha] = (g - A.T @ linalg.cho_solve((factor, True), A @ g)) / alpha
        return out

    W = np.empty((problem.d, problem.K))
    for alpha, factor in factors.items():
        mine = problem.alpha == alpha
        W[:, mine] = A.T @ linalg.cho_solve((factor, True), B[:, mine])
    b = problem.mean_y - problem.columns.mean @ W if problem.offset else np.zeros(problem.K)
    W, b, fine = refine(problem, loop, W, b, correct, 2, tol, worst**-0.5)
    # With a penalty the solution is unique: nobody asks for the rank of X.
    return Answer(W, b, "cholesky", "converged", 1, None, worst**-0.5) if fine else None
