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
from gapless.problems.examples.protocol import Handle, LinearExamples, Sets
from gapless.solvers.linear.thresholds import LINEAR_THRESHOLDS
from gapless.solvers.loop import Loop


def affordable_work(problem: LinearExamples, loop: Loop) -> float:
    """Multiplications that are a fifth of a fit so far, whose steps were passes over the data and the calls for them."""
    fit, step = 8e5, 1e5  # what the calls of a fit and of a step cost, in multiplications
    return LINEAR_THRESHOLDS.polish_share * (fit + loop.n_iter * (step + 8.0 * problem.pass_stored))


def active_set(problem: LinearExamples, loop: Loop, theta: np.ndarray, u: Handle, *, work: float = np.inf) -> bool:
    """Records better points in ``loop``. True where the sets settled: the point is the optimum up to rounding.

    ``work`` caps the multiplications spent, counted and not timed, so that equal fits polish equally.
    """
    calls = 1.5e5  # what the calls of a round cost, in multiplications
    inside = float(problem.count_free(u))
    if inside * inside * (inside / 3.0 + problem.d) > work:
        return False
    sets = problem.new_sets(theta, u, loop.tick)
    seen: set[bytes] = set()
    for _ in range(30):
        free, key = sets.guess()
        work -= float(free) ** 2 * (free / 3.0 + problem.d) + 8.0 * problem.n * (problem.d + 1) + calls
        if free > LINEAR_THRESHOLDS.polish_free_examples or work < 0.0 or key in seen:
            return False
        seen.add(key)
        sets.fix()
        if free and not _solve_free(problem, loop, sets):
            return False
        pair = _record(problem, loop, sets)
        if sets.settled():
            # w and alpha of this pair belong together, as those of two points from different passes need not.  A gap of 1e-13 P
            # is rounding.
            if pair[2] - pair[3] <= max(loop.best_primal - loop.best_dual, 1e-13 * abs(pair[2])):
                loop.prefer(*pair)
            loop.settled = True
            return True
    return False


def _solve_free(problem: LinearExamples, loop: Loop, sets: Sets) -> bool:
    """Set alpha on the free set such that all of it lies on the margin; False where the system cannot be solved."""
    part, y, alpha = sets.take_free()
    size = alpha.size
    gram = R.row_products(part, np.arange(size), loop.tick)
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
    nu, b = alpha * y, 0.0
    for refinement in range(3):
        sets.set_free(nu * y)
        combined = sets.combine(loop.tick)
        missing = -float(combined[-1])
        if problem.free:
            combined[-1] = b
        residual = y - R.scores(part, combined)
        right = np.append(residual, missing) if problem.free else residual
        loop.tick()
        try:
            step = solve(right * scale) * scale
        except LinAlgError:
            return False
        if not np.all(np.isfinite(step)):
            return False
        nu = nu + step[:size]
        if problem.free:
            b += float(step[size])
        if refinement and np.abs(step[:size]).max() <= 1e-14 * np.abs(nu).max(initial=0.0):
            break
    sets.set_free(nu * y)
    return True


def _record(problem: LinearExamples, loop: Loop, sets: Sets) -> tuple[np.ndarray, Handle, float, float]:
    """Record the point with alpha pulled into its box, and look at its margins: theta, u, their two values."""
    u = sets.dual_point()
    combined = problem.combine(u, loop.tick)
    theta = problem.primal_from_dual(u, combined, None if loop.best_theta is None else float(loop.best_theta[-1]))
    z = problem.scores(theta, loop.tick)
    primal = problem.primal(theta, z)
    pair = theta, u, primal, problem.dual(u, primal, combined)
    loop.record(*pair, ends=False)
    sets.look(z)
    return pair


def solver_of(system: np.ndarray, largest_dependent: float = np.inf) -> Callable[[np.ndarray], np.ndarray]:
    """A function that solves the system: by triangular factors if it is far from singular, else in the least-norm sense, which
    takes some 20 times as long: a larger one than ``largest_dependent`` raises LinAlgError then."""
    safe = 1e-12  # reciprocal condition number down to which the factors keep four digits
    triangles, swaps, singular = dgetrf(system)
    if not singular and dgecon(triangles, float(np.abs(system).sum(axis=0).max()))[0] > safe:
        return lambda right: dgetrs(triangles, swaps, right)[0]
    if len(system) > largest_dependent:
        raise LinAlgError("a large system of dependent rows")
    return lambda right: lstsq(system, right, cond=1e-13, lapack_driver="gelsy", check_finite=False)[0]
