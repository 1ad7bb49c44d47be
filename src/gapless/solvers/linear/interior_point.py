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

from gapless.problems.examples.protocol import Barrier, Handle, LinearExamples
from gapless.solvers.loop import Loop
from gapless.solvers.newton_system import FACTORED_COLUMNS, NewtonSystem


def can_solve(problem: LinearExamples) -> bool:
    """The system of a step is small enough to be factored."""
    return min(problem.n, problem.d + 1) <= FACTORED_COLUMNS


def interior_point(problem: LinearExamples, loop: Loop, start: Handle | None = None) -> None:
    """Record points in ``loop``; return when the steps no longer help. ``start`` is a dual point u."""
    n, barrier = problem.n, problem.new_barrier(start)
    theta = barrier.theta
    inner = problem.products(loop.tick) if n < problem.d + 1 and n <= FACTORED_COLUMNS else None
    best_gap, stale = np.inf, 0
    for _ in range(100):
        left, combined = barrier.look(theta, loop.tick)
        mu = left / (2 * n)
        gap = _record(problem, loop, theta, barrier, combined)
        loop.advance()
        stale = stale + 1 if gap > 0.9 * best_gap else 0
        if stale >= 6 or not np.isfinite(mu) or gap <= 1e-15 * abs(loop.best_primal):
            return
        best_gap = min(gap, best_gap)

        primal_residual = combined - theta
        if problem.free:
            primal_residual[-1] = combined[-1]
        weight = barrier.weigh()
        ridge = 1e-14 * problem.sum(weight) if problem.free else 1.0
        system = NewtonSystem(problem, weight, None, ridge, tick=loop.tick, inner=inner)

        def direction(centre: float | None) -> np.ndarray:
            step = system.solve(barrier.right(centre, loop.tick) + primal_residual)  # noqa: B023
            if problem.constant == 0.0:
                step[-1] = 0.0
            barrier.look_along(step, loop.tick)
            return step

        direction(None)
        aim = barrier.aim(min(barrier.reach(), 1.0)) / (2 * n)
        step = direction(min(1.0, max(0.0, aim / mu)) ** 3 * mu)
        length = min(1.0, 0.995 * barrier.reach())
        theta = theta + length * step
        barrier.move(length)


def _record(problem: LinearExamples, loop: Loop, theta: np.ndarray, barrier: Barrier, combined: np.ndarray) -> float:
    # The iterate's own w, not X'u: at large C their small difference costs far more in the loss than in the dual.
    primal, u = problem.primal(theta, barrier.z), barrier.u
    if problem.free:
        u = problem.repair(u)
        combined = problem.combine(u, loop.tick)
    dual = problem.dual(u, primal, combined)
    loop.record(theta, u, primal, dual)
    return primal - dual
