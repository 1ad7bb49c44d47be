"""Least squares in closed form, by the cheapest road that keeps the digits.

    cholesky    (X'SX + alpha I) w = X'Sy on centred, equilibrated columns, one pass over the data; each step of refinement
                solves for the gradient of the residuals.  Good to a condition of X of 1e7: one step where the reciprocal
                condition of the equilibrated matrix (LAPACK's dpocon) is at least 1e-13, two down to 1e-15.
                Where n < d it is a factor of the n x n products of the rows: `row_products`.
    svd         where that does not keep the digits: singular values of the triangle of a QR (tile by tile), or of X itself
                where that is small or wide. Singular values at the level of rounding count as 0, and the solution of least
                norm is taken.
    cg          sparse X with many columns: conjugate gradients on the normal equations in their product form (CGLS,
                Hestenes and Stiefel 1952; Bjorck 1996, 7.4), centred without filling in.  From 0 it tends to the solution of
                least norm.  The gradient is computed anew from the data before it is believed.  Up to 3,000 rows or columns
                cholesky takes over where iterations have cost as much as it does.

Hastie, Tibshirani and Friedman, The Elements of Statistical Learning, 3.2 and 3.4; Higham 2002, chapters 10 and 20.
"""

from __future__ import annotations

import numpy as np

from gapless import rows as R
from gapless.problems.least_squares import LeastSquares
from gapless.solvers.least_squares.answer import Answer, Clock
from gapless.solvers.least_squares.conjugate_gradients import solve_by_conjugate_gradients
from gapless.solvers.least_squares.normal_equations import solve_by_cholesky, solve_small_by_cholesky
from gapless.solvers.least_squares.row_products import solve_wide_by_cholesky
from gapless.solvers.least_squares.singular_values import solve_by_singular_values
from gapless.solvers.least_squares.thresholds import LEAST_SQUARES_THRESHOLDS
from gapless.solvers.loop import Ended


def solve(problem: LeastSquares, loop: Clock, *, tol: float, trusted: float = 1e8, passes: int | None = None) -> Answer:
    """Solve for the best model. Where time is over before there is one, it is the mean (W = 0), with status ``time_limit``."""
    W, b = np.zeros((problem.d, problem.K)), problem.mean_y if problem.offset else np.zeros(problem.K)
    start = Answer(W, b + 0.0, "mean", "time_limit", 0, None, np.nan)
    try:
        loop.tick()
        return _solve_by_shape(problem, loop, tol, trusted, passes)
    except Ended:
        start = loop.reached or start
        return Answer(**{**start.__dict__, "status": loop.status or "time_limit"})


def _solve_by_shape(problem: LeastSquares, loop: Clock, tol: float, trusted: float, passes: int | None) -> Answer:
    n, d, limits = problem.n, problem.d, LEAST_SQUARES_THRESHOLDS
    sparse, at_hand = problem.sparse, problem.one_by_one
    small = at_hand and n * d <= limits.dense_values and n * d * min(n, d) <= limits.svd_operations
    if problem.look is not None and (small or n < d):
        problem.look()
    if at_hand and sparse and d > limits.sparse_columns and n * d > limits.dense_values:
        enough = _affordable_iterations(problem, n, d)
        if min(n, d) > limits.factored_side or passes is not None:
            return solve_by_conjugate_gradients(problem, loop, tol, passes)
        # Where iterations are many the data is ill-conditioned, and a factor costs less than the rest of them.
        hasty = solve_by_conjugate_gradients(problem, loop, tol, enough)
        if hasty.status != "max_iter":
            return hasty
        found = _solve_by_factor(problem, loop, tol, False)
        return solve_by_conjugate_gradients(problem, loop, tol, None) if found is None else found
    found = _solve_by_factor(problem, loop, tol, small)
    if found is not None:
        return found
    return solve_by_singular_values(problem, loop, trusted, whole=small or n < d)


def _affordable_iterations(problem: LeastSquares, n: int, d: int) -> int:
    """Iterations of conjugate gradients that cost what the Gram matrix and its factor do."""
    stored, side = float(R.n_stored(problem.rows)) if problem.sparse else float(n * d), float(min(n, d))
    factor = stored * stored / max(n, d) + 0.03 * side**3  # ns, as is what an iteration costs
    return max(100, int(factor / (3.0 * stored + 2.0 * (n + d) + 1e4)))


def _solve_by_factor(problem: LeastSquares, loop: Clock, tol: float, small: bool) -> Answer | None:
    n, d = problem.n, problem.d
    if n - problem.offset < d:
        alike = (problem.alpha > 0.0).all() or not problem.alpha.any()
        found = solve_wide_by_cholesky(problem, loop, tol) if alike and n > 1 else None
    else:
        found = (solve_small_by_cholesky if small else solve_by_cholesky)(problem, loop, tol) if d > 0 else None
    return found
