"""Newton's method for the smooth losses (squared, squared hinge, logistic), any offset.

    minimise  P(w, b) = 1/2 |w|^2 + sum_i c_i l(y_i, <w, x_i> + b)

Each step solves (R + X' diag(c l'') X) step = -grad P and walks to where the slope along it is nearly zero: the slope
is exact down to rounding, where differences of P are not.  At the scores z the dual point is u = -c l'(z); then
P - D = 1/2 |grad_w P|^2 + (the offset's share), so the gap costs nothing.  The squared hinge is piecewise quadratic and
ends after finitely many steps.
"""

from __future__ import annotations

import numpy as np

from gapless import rows as R
from gapless.problems.linear_erm import LinearERM
from gapless.problems.multinomial import Multinomial
from gapless.solvers.line_search import walk
from gapless.solvers.loop import SMALL, Loop
from gapless.solvers.normal_equations import DIRECT, NormalEquations

#: A free offset without curvature (no example active) would have an infinite step.
OFFSET_RIDGE = 1e-10


def newton(problem: LinearERM, loop: Loop, start: np.ndarray | None = None) -> None:
    """Records its points in ``loop``; goes on beyond the tolerance while steps still pay."""
    theta = np.zeros(problem.d + 1) if start is None else start.copy()
    z = problem.scores(theta, loop.tick)
    inner = None
    if problem.n < problem.d and problem.n <= DIRECT:
        inner = R.inner(problem.rows, np.arange(problem.n), loop.tick)
    gap_before, primal_before, stale, first_gradient = np.inf, np.inf, 0, None
    while True:
        g, h = problem.derivatives(z)
        primal = problem.primal(theta, z)
        data_part = problem.combine(g, loop.tick)
        gradient = data_part + theta
        if problem.free:
            gradient[-1] = data_part[-1]
        u, combined = -g, -data_part
        if problem.free and abs(combined[-1]) * problem.offset_bound(primal) > 1e-3 * loop.stop.relative_gap * primal:
            u = problem.repair(u)
            combined = problem.combine(u, loop.tick)
        dual = problem.dual(u, primal, combined)
        gap = primal - dual
        loop.record(theta, u, primal, dual, ends=False)
        if not worth_going_on(problem, loop, gap, gap_before):
            return
        stale = stale + 1 if gap >= gap_before and primal >= primal_before else 0
        if stale >= 3 or not np.isfinite(primal):
            return
        gap_before, primal_before = min(gap, gap_before), min(primal, primal_before)
        size = float(np.linalg.norm(gradient))
        first_gradient = size if first_gradient is None else first_gradient
        system = NormalEquations(
            problem.rows,
            h,
            np.flatnonzero(h > 1e-18 * h.max(initial=0.0)),
            OFFSET_RIDGE * float(h.sum() or 1.0) if problem.free else 1.0,
            tick=loop.tick,
            inner=inner,
            tolerance=min(0.1, np.sqrt(size / first_gradient)) if first_gradient > 0 else 0.1,
        )
        step = system.solve(-gradient)
        if problem.rows.constant == 0.0:
            step[-1] = 0.0
        along = problem.scores(step, loop.tick)
        t = _walk(problem, theta, step, z, along)
        if t == 0.0:
            return
        theta = theta + t * step
        z = problem.scores(theta, loop.tick)
        loop.advance()


def worth_going_on(problem: LinearERM | Multinomial, loop: Loop, gap: float, before: float) -> bool:
    """Past the tolerance: on, while each step still pays, on small data or for a fifth of the steps so far."""
    if loop.n_iter >= loop.stop.passes:
        return False
    if loop.relative_gap > loop.stop.relative_gap:
        return True
    if gap > 0.25 * before or loop.relative_gap <= 1e-15:
        return False
    if loop.polish_from is None:
        loop.polish_from = loop.n_iter
    small = problem.n * (problem.d + 1) <= SMALL
    return small or loop.n_iter - loop.polish_from < 1 + 0.2 * loop.polish_from


def _walk(problem: LinearERM, theta: np.ndarray, step: np.ndarray, z: np.ndarray, along: np.ndarray) -> float:
    """The t near 1 at which dP/dt along the step has lost at least half of its size (P is convex along it)."""
    w, s = (theta[:-1], step[:-1]) if problem.free else (theta, step)
    linear, square = float(w @ s), float(s @ s)

    def slope_and_bend(t: float) -> tuple[float, float]:
        g, h = problem.derivatives(z + t * along)
        return linear + t * square + float(g @ along), square + float(h @ (along * along))

    return walk(slope_and_bend)
