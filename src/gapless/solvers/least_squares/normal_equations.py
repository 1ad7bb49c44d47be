"""Least squares by Cholesky factors of the d x d normal equations, on centred, equilibrated columns.

A column that does not vary has the coefficient 0, which is the least norm, and takes no part.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg

from gapless.numbers import UNIT
from gapless.problems.examples.protocol_targets import TargetExamples
from gapless.problems.least_squares import CONSTANT, LeastSquares
from gapless.rows.second_moments import columns_of
from gapless.solvers.least_squares.answer import Answer, Clock, later, refine, roots_of_eigenvalues, write_centred
from gapless.solvers.least_squares.thresholds import LEAST_SQUARES_THRESHOLDS


def solve_by_cholesky(problem: TargetExamples, loop: Clock, tol: float) -> Answer | None:
    d, K, mass = problem.d, problem.K, problem.mass
    centre = problem.typical_row() if problem.offset else np.zeros(d)
    centre_y = problem.mean_y if problem.offset else np.zeros(K)
    M = problem.moments(centre, centre_y, loop.tick)
    if problem.look is not None and not np.isfinite(M).all():
        problem.look()
    size = columns_of(centre, M[:d, -1], M[:d, :d].diagonal().copy(), mass)
    # Sparse rows are not shifted: a column that hardly varies is rounding.
    if problem.offset and problem.sparse and (size.centred < LEAST_SQUARES_THRESHOLDS.least_variation * size.raw).any():
        return None
    problem.know_columns(size)
    G, cross = M[:d, :d].copy(), M[:d, d : d + K].copy()
    if problem.offset:
        G -= np.outer(M[:d, -1], M[:d, -1] / mass)
        cross -= np.outer(M[:d, -1], M[d : d + K, -1] / mass)
    if not np.isfinite(G).all():
        return None
    constant = problem.scales() <= CONSTANT * size.raw
    G[constant], G[:, constant], cross[constant] = 0.0, 0.0, 0.0
    b = centre_y + M[d : d + K, -1] / mass if problem.offset else np.zeros(K)
    return _factor_and_refine(problem, loop, G, cross, b, tol)


def solve_small_by_cholesky(problem: LeastSquares, loop: Clock, tol: float) -> Answer | None:
    """The same of rows that are written out."""
    A, B = write_centred(problem)
    A[:, problem.scales() <= CONSTANT * problem.columns.raw] = 0.0
    loop.tick()
    G, cross = A.T @ A, A.T @ B
    if not np.isfinite(G).all():
        return None
    found = _factor_and_refine(problem, loop, G, cross, problem.mean_y if problem.offset else np.zeros(problem.K), tol)
    if found is None or found.singular is None or found.condition < 1e4:
        return found
    # The roots of the eigenvalues of G would have lost half of the digits of the small ones.
    return replace(
        found, singular=later(partial(linalg.svdvals, check_finite=False), np.asarray(np.linalg.qr(A, mode="r")))
    )


def _factor_and_refine(
    problem: TargetExamples, loop: Clock, G: np.ndarray, cross: np.ndarray, offset: np.ndarray, tol: float
) -> Answer | None:
    """From the products of the centred columns with each other and with the targets; ``offset`` is the mean of the targets."""
    d, size = problem.d, problem.columns
    live = G.diagonal() > 0.0
    if not live.any():
        return None
    every = bool(live.all())
    inner = G if every else G[np.ix_(live, live)]
    alphas = np.unique(problem.alpha)
    factors: dict[float, Any] = {}
    worst = 1.0
    # Rounding of the products, and of the columns, which are rounded by parts of what they are, not of how far they vary.
    away = float((size.raw[live] / problem.scales()[live]).max())
    lost = 16.0 * d * UNIT + d * (8.0 * UNIT * away) ** 2
    for alpha in alphas.tolist():
        factor, scale, rcond = _factor(inner, alpha)
        loop.tick()
        worst = min(worst, rcond)
        if rcond < max(LEAST_SQUARES_THRESHOLDS.smallest_rcond, lost if alpha == 0.0 else 0.0):
            return None
        factors[alpha] = (factor, scale)

    def correct(gradient: np.ndarray) -> np.ndarray:
        out = np.zeros_like(gradient)
        for alpha, (factor, scale) in factors.items():
            mine = problem.alpha == alpha
            part = gradient[:, mine] if every else gradient[np.ix_(live, mine)]
            found = scale[:, None] * linalg.lapack.dpotrs(factor, scale[:, None] * part, lower=1)[0]
            out[np.ix_(live, mine)] = found
        return out

    W = correct(cross)
    b = offset - size.mean @ W if problem.offset else offset
    steps = 1 if worst >= 1e-13 else 2
    # A penalty hides that columns depend on each other: their own equations say whether they do, where asking them is cheap.
    told = alphas[0] == 0.0 or d <= 100
    known = told and (alphas[0] == 0.0 or _factor(inner, 0.0)[2] >= LEAST_SQUARES_THRESHOLDS.smallest_rcond)
    rank = int(live.sum()) if known else None
    loop.reached = Answer(W, b, "cholesky", "converged", 1, rank, worst**-0.5)
    W, b, fine = refine(problem, loop, W, b, correct, steps, tol, worst**-0.5)
    if not fine:
        return None
    wanted = alphas[0] == 0.0 and not problem.sparse and d <= 500
    singular = later(roots_of_eigenvalues, G) if wanted else None
    return Answer(W, b, "cholesky", "converged", 1, rank, worst**-0.5, singular)


def _factor(G: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray, float]:
    """The Cholesky factor of G + alpha I, equilibrated by the scale; its reciprocal condition, 0 where it is not definite."""
    if not len(G):
        return G, np.ones(0), 1.0
    A = G.copy()
    A.flat[:: len(G) + 1] += alpha
    scale = 1.0 / np.sqrt(A.diagonal())
    A *= scale
    A *= scale[:, None]
    norm = np.abs(A).sum(axis=0).max()
    factor, failed = linalg.lapack.dpotrf(A, lower=1, clean=0)
    if failed:
        return factor, scale, 0.0
    return factor, scale, float(linalg.lapack.dpocon(factor, norm, uplo="L")[0])
