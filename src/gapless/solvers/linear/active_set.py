"""Active-set polish for the hinge loss: from nearly optimal to machine precision.

At the optimum every example is at 0 (yf > 1), at c (yf < 1), or free (yf = 1).  With the sets known, all is linear:

    nu = alpha y on the free set F,   w = sum over U of c y x + X_F' nu
    X_F X_F' nu + b 1 = y_F - X_F w_U,      1'nu = - sum over U of c y     (free offset; otherwise b is part of X)

solved as a correction of the nu at hand, in the least-norm sense where the free examples are dependent.  Examples that
leave their box or sit on the wrong side of the margin change sets, and the system is solved again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, lstsq
from scipy.linalg.lapack import dgecon, dgetrf, dgetrs

from gapless import rows as R
from gapless.problems.linear import LinearProblem
from gapless.problems.linear_sums import SLICE
from gapless.solvers.linear.thresholds import LINEAR_THRESHOLDS
from gapless.solvers.loop import Loop


def affordable_work(problem: LinearProblem, loop: Loop) -> float:
    """Multiplications that are a fifth of a fit so far, whose steps were passes over the data and the calls for them."""
    fit, step = 8e5, 1e5  # what the calls of a fit and of a step cost, in multiplications
    return LINEAR_THRESHOLDS.polish_share * (fit + loop.n_iter * (step + 8.0 * R.n_stored(problem.pass_rows)))


def active_set(problem: LinearProblem, loop: Loop, theta: np.ndarray, u: np.ndarray, *, work: float = np.inf) -> bool:
    """Records better points in ``loop``. True where the sets settled: the point is the optimum up to rounding.

    ``work`` caps the multiplications spent, counted and not timed, so that equal fits polish equally.
    """
    noise_share = 1e-10  # distances to a bound, as shares of c, that count as none
    calls = 1.5e5  # what the calls of a round cost, in multiplications
    y, c = problem.y, problem.c
    inside = 0.0
    for start in range(0, problem.n, SLICE):  # in slices: here a fit needs the most memory
        part = slice(start, start + SLICE)
        inside += np.count_nonzero((u[part] != 0.0) & (np.abs(u[part]) < c[part]))
    if inside * inside * (inside / 3.0 + problem.d) > work:
        return False
    alpha = np.clip(u * y, 0.0, c)
    margin = y * problem.scores(theta, loop.tick)
    seen: set[bytes] = set()
    for _ in range(30):
        # alpha/c against the distance to the margin: both are of order 1, and at the optimum one of the two is 0.
        predicted = alpha / c - (margin - 1.0)
        lower, upper = predicted <= noise_share, predicted >= 1.0 - noise_share
        free = np.flatnonzero(~(lower | upper))
        work -= float(free.size) ** 2 * (free.size / 3.0 + problem.d) + 8.0 * problem.n * (problem.d + 1) + calls
        key = np.packbits(lower).tobytes() + np.packbits(upper).tobytes()
        if free.size > LINEAR_THRESHOLDS.polish_free_examples or work < 0.0 or key in seen:
            return False
        seen.add(key)
        alpha[lower], alpha[upper] = 0.0, c[upper]
        if free.size:
            solved = _solve_free(problem, loop, alpha, free)
            if solved is None:
                return False
            alpha[free] = solved
        pair, margin = _record(problem, loop, alpha)
        noise = 1e-9 * np.maximum(1.0, np.abs(margin).max(initial=0.0))
        settled = (
            np.all(margin[lower] >= 1.0 - noise)
            and np.all(margin[upper] <= 1.0 + noise)
            and np.all(np.abs(margin[free] - 1.0) <= noise)
            and np.all((alpha[free] >= -noise_share * c[free]) & (alpha[free] <= (1.0 + noise_share) * c[free]))
        )
        if settled:
            # w and alpha of this pair belong together, as those of two points from different passes need not.  A gap of 1e-13 P
            # is rounding.
            if pair[2] - pair[3] <= max(loop.best_primal - loop.best_dual, 1e-13 * abs(pair[2])):
                loop.prefer(*pair)
            loop.settled = True
            return True
    return False


def _solve_free(problem: LinearProblem, loop: Loop, alpha: np.ndarray, free: np.ndarray) -> np.ndarray | None:
    """alpha on the free set such that all of it lies on the margin; None where the system cannot be solved."""
    y = problem.y
    part = R.take_rows(problem.rows, free)
    gram = R.row_products(part, np.arange(free.size), loop.tick)
    size = free.size
    if problem.free:
        gram -= 1.0
        system = np.zeros((size + 1, size + 1))
        system[:size, :size] = gram
        system[size, :size] = system[:size, size] = 1.0
    else:
        system = gram
    scale = 1.0 / np.sqrt(np.maximum(np.diag(gram), 1e-300))
    scale[np.diag(gram) <= 0.0] = 1.0
    if problem.free:
        scale = np.append(scale, 1.0 / max(float(scale.max()), 1e-150))
    scaled = system * scale[:, None] * scale[None, :]
    solve = solver_of(scaled)
    nu, b = alpha[free] * y[free], 0.0
    for refinement in range(3):
        alpha[free] = nu * y[free]
        combined = problem.combine(alpha * y, loop.tick)
        missing = -float(combined[-1])
        if problem.free:
            combined[-1] = b
        residual = y[free] - R.scores(part, combined)
        right = np.append(residual, missing) if problem.free else residual
        loop.tick()
        try:
            step = solve(right * scale) * scale
        except LinAlgError:
            return None
        if not np.all(np.isfinite(step)):
            return None
        nu = nu + step[:size]
        if problem.free:
            b += float(step[size])
        if refinement and np.abs(step[:size]).max() <= 1e-14 * np.abs(nu).max(initial=0.0):
            break
    return nu * y[free]


def _record(
    problem: LinearProblem, loop: Loop, alpha: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray, float, float], np.ndarray]:
    """Record the point with alpha pulled into its box: theta, u, their two values; and its margins."""
    u = problem.repair(np.clip(alpha, 0.0, problem.c) * problem.y)
    combined = problem.combine(u, loop.tick)
    theta = problem.primal_from_dual(u, combined, None if loop.best_theta is None else float(loop.best_theta[-1]))
    z = problem.scores(theta, loop.tick)
    primal = problem.primal(theta, z)
    pair = theta, u, primal, problem.dual(u, primal, combined)
    loop.record(*pair, ends=False)
    return pair, problem.y * z


def solver_of(system: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """A function that solves the system: by triangular factors if it is far from singular, else in the least-norm sense."""
    safe = 1e-12  # reciprocal condition number down to which the factors keep four digits
    triangles, swaps, singular = dgetrf(system)
    if not singular and dgecon(triangles, float(np.abs(system).sum(axis=0).max()))[0] > safe:
        return lambda right: dgetrs(triangles, swaps, right)[0]
    return lambda right: lstsq(system, right, cond=1e-13, lapack_driver="gelsy", check_finite=False)[0]
