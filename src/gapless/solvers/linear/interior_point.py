"""Interior point for the hinge loss: 20 to 50 steps for any C and any offset.

    minimise over w, b, xi    1/2 |w|^2 + sum c_i xi_i     subject to  y_i (<w, x_i> + b) - 1 + xi_i = s_i,  s, xi >= 0

with multipliers 0 <= alpha <= c.  The conditions are followed to mu -> 0 (Mehrotra's predictor and corrector):

    w = X'Y alpha,   y'alpha = 0 (free offset),   alpha_i s_i = mu,   (c_i - alpha_i) xi_i = mu

Eliminating s, xi and alpha leaves one system (R + X' diag(1/q) X) step = right of size d + 1, or of size n where n is
smaller, with q_i = s_i/alpha_i + xi_i/(c_i - alpha_i).  alpha stays strictly inside its box, so every iterate gives a
dual bound.  (Ferris and Munson, 2002.)
"""

from __future__ import annotations

import numpy as np

from gapless.problems.linear import LinearProblem
from gapless.solvers.loop import Loop
from gapless.solvers.newton_system import FACTORED_COLUMNS, NewtonSystem


def can_solve(problem: LinearProblem) -> bool:
    """The system of a step is small enough to be factored."""
    return min(problem.n, problem.d + 1) <= FACTORED_COLUMNS


def interior_point(problem: LinearProblem, loop: Loop, start: np.ndarray | None = None) -> None:
    """Record points in ``loop``; return when the steps no longer help. ``start`` is a dual point u."""
    y, c, n = problem.y, problem.c, problem.n
    theta, alpha, s, xi = _start(problem, start)
    inner = problem.products(loop.tick) if n < problem.d + 1 and n <= FACTORED_COLUMNS else None
    best_gap, stale = np.inf, 0
    for _ in range(100):
        t = c - alpha
        z = problem.scores(theta, loop.tick)
        combined = problem.combine(alpha * y, loop.tick)
        mu = float(alpha @ s + t @ xi) / (2 * n)
        gap = _record(problem, loop, theta, z, alpha * y, combined)
        loop.advance()
        stale = stale + 1 if gap > 0.9 * best_gap else 0
        if stale >= 6 or not np.isfinite(mu) or gap <= 1e-15 * abs(loop.best_primal):
            return
        best_gap = min(gap, best_gap)

        dual_residual = y * z - 1.0 + xi - s
        primal_residual = combined - theta
        if problem.free:
            primal_residual[-1] = combined[-1]
        weight = 1.0 / (s / alpha + xi / t)
        system = NewtonSystem(
            problem,
            weight,
            None,
            1e-14 * float(weight.sum()) if problem.free else 1.0,
            tick=loop.tick,
            inner=inner,
        )

        def direction(r1, r2):
            # r1 and r2 are the changes that alpha s and t xi should make.
            rho = -dual_residual - r2 / t + r1 / alpha  # noqa: B023
            right = problem.combine(weight * rho * y, loop.tick) + primal_residual  # noqa: B023
            step = system.solve(right)  # noqa: B023
            if problem.rows.constant == 0.0:
                step[-1] = 0.0
            d_alpha = weight * (rho - y * problem.scores(step, loop.tick))  # noqa: B023
            return step, d_alpha, (r1 - s * d_alpha) / alpha, (r2 + xi * d_alpha) / t  # noqa: B023

        _, da, ds, dx = direction(-alpha * s, -t * xi)
        reach = min(_reach(alpha, da), _reach(t, -da), _reach(s, ds), _reach(xi, dx), 1.0)
        aim = float((alpha + reach * da) @ (s + reach * ds) + (t - reach * da) @ (xi + reach * dx)) / (2 * n)
        centre = min(1.0, max(0.0, aim / mu)) ** 3 * mu
        step, da, ds, dx = direction(centre - alpha * s - da * ds, centre - t * xi + da * dx)
        along = min(1.0, 0.995 * min(_reach(alpha, da), _reach(t, -da), _reach(s, ds), _reach(xi, dx)))
        theta = theta + along * step
        alpha = np.clip(alpha + along * da, 1e-300, None)
        alpha = np.minimum(alpha, c * (1.0 - 2.0**-52))
        s, xi = np.maximum(s + along * ds, 1e-300), np.maximum(xi + along * dx, 1e-300)


def _start(problem: LinearProblem, u: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    n, c, y = problem.n, problem.c, problem.y
    theta = np.zeros(problem.d + 1)
    if u is None:
        return theta, 0.5 * c, np.full(n, 0.5), np.full(n, 1.5)
    # A warm start must not sit on the boundary: 5 % of the box away from it, complementary to the margins it gives.
    alpha = np.clip(u * y, 0.05 * c, 0.95 * c)
    theta = problem.primal_from_dual(problem.repair(alpha * y))
    slack = y * problem.scores(theta) - 1.0
    return theta, alpha, np.maximum(slack, 0.0) + 0.1, np.maximum(-slack, 0.0) + 0.1


def _reach(x: np.ndarray, dx: np.ndarray) -> float:
    """The longest step that keeps x >= 0."""
    falling = dx < 0.0
    return float(np.min(-x[falling] / dx[falling])) if falling.any() else np.inf


def _record(
    problem: LinearProblem, loop: Loop, theta: np.ndarray, z: np.ndarray, u: np.ndarray, combined: np.ndarray
) -> float:
    # The iterate's own w, not X'u: at large C their small difference costs far more in the loss than in the dual.
    primal = problem.primal(theta, z)
    if problem.free:
        u = problem.repair(u)
        combined = problem.combine(u, loop.tick)
    dual = problem.dual(u, primal, combined)
    loop.record(theta, u, primal, dual)
    return primal - dual
