"""Dual coordinate descent: one example at a time, shrinking, any loss, any offset.

    maximise  D(u) = - sum_i c_i l*(y_i, -u_i/c_i) - 1/2 |theta|^2,      theta = sum_i u_i (x_i, s)

A step solves D exactly along one u_i and keeps theta up to date (Hsieh et al., 2008).  Examples that sit at a bound
with a slope that keeps them there are left out (shrinking) and all come back before the gap is computed.

A free offset has the constraint sum u = 0.  It is met by the method of multipliers: the constant feature s penalises
(b - b0)^2/(2 s^2) instead of b^2, and after each round b0 moves to the b found.  With sum u = r that is
b = b0 + s^2 r, so b0 settles exactly when the constraint holds.  It closes linearly: good to 1e-4 or so, where other
solvers take over.
"""

from __future__ import annotations

import numpy as np

from gapless._jit import compiled
from gapless.losses import Hinge, SquaredHinge
from gapless.losses._protocol import dual_slope, dual_step
from gapless.problems.linear_erm import LinearERM
from gapless.rows import CsrRows, DenseRows
from gapless.rows._protocol import row_axpy, row_dot
from gapless.rows.products import CHUNK, n_stored
from gapless.solvers.loop import Loop


def coordinate_descent(
    problem: LinearERM, loop: Loop, start: np.ndarray | None = None, *, seed: int = 0, give_up: int | None = None
) -> None:
    """Records its points in ``loop``; returns after ``give_up`` passes that did not halve the gap often enough."""
    n = problem.n
    q = problem.norms2
    rows = problem.rows
    s = rows.constant
    b0 = 0.0
    if problem.free:
        # A constant feature as long as the others: a shorter one makes b slow, a longer one makes the steps small.
        s = max(float(np.sqrt(np.mean(q - 1.0))), 1e-3)
        rows = rows._replace(constant=s)
        q = q - 1.0 + s * s
    u = np.zeros(n) if start is None else problem.repair(start)
    if start is None and not isinstance(problem.loss, Hinge | SquaredHinge):
        u = problem.dual_from_primal(np.zeros(problem.d + 1))
    theta = _combined(rows, problem, u)
    if problem.free and start is not None:
        b0 = problem.primal_from_dual(u)[-1] - s * theta[-1]
    top = np.full(n, np.inf) if isinstance(problem.loss, SquaredHinge) else problem.c
    bounded = isinstance(problem.loss, Hinge | SquaredHinge)

    active = np.arange(n)
    size, above, below = n, np.inf, -np.inf
    random = np.array([seed * 2 + 1], np.uint64)
    work = 0.0
    next_look, passes, gap_then, then = 1, 0, np.inf, 0
    enough = 0.1 * loop.stop.relative_gap
    while True:
        spread_high, spread_low = -np.inf, np.inf
        _shuffle(active, size, random)
        # A logistic step solves an equation: some 1 µs each, against a few ns for a product.
        step = max(1, int(CHUNK * n / max(1, n_stored(rows)) / 4) if bounded else 50_000)
        kept = 0
        for first in range(0, size, step):
            last = min(size, first + step)
            kept, spread_high, spread_low = _sweep(
                problem.loss, rows, problem.y, problem.c, q, top, u, theta, b0,
                active, first, last, kept, above, below, bounded, spread_high, spread_low,
            )  # fmt: skip
            loop.tick()
        work += size / n
        passes += 1
        loop.n_iter = max(loop.n_iter, int(np.ceil(work)))
        size = kept
        done = spread_high - spread_low <= enough or size == 0
        if problem.free and (done or passes % 3 == 0):
            b0 += s * theta[-1]
        above = spread_high if spread_high > 0 else np.inf
        below = spread_low if spread_low < 0 else -np.inf
        if passes >= next_look or done or loop.n_iter >= loop.stop.passes:
            gap = _look(problem, loop, u)
            next_look = passes + max(1, passes // 4)
            if done:
                # The slopes are small and the gap is not: look closer, at everybody.
                size, active, above, below = n, np.arange(n), np.inf, -np.inf
                enough *= 0.1
                if enough < 1e-17 * float(np.abs(u) @ q + 1.0):
                    return
            if gap < 0.5 * gap_then:
                gap_then, then = gap, passes
            elif give_up is not None and passes - then > give_up:
                return
            if give_up is not None and loop.n_iter > loop.stop.passes // 2:
                return  # somebody is waiting to take over, and needs passes too


def _combined(rows: DenseRows | CsrRows, problem: LinearERM, u: np.ndarray) -> np.ndarray:
    theta = problem.combine(u)
    theta[-1] = rows.constant * float(u.sum())
    return theta


def _look(problem: LinearERM, loop: Loop, u: np.ndarray) -> float:
    point = problem.repair(u) if problem.free else u
    combined = problem.combine(point, loop.tick)
    theta = problem.primal_from_dual(point, combined)
    primal = problem.primal(theta)
    dual = problem.dual(point, primal, combined)
    loop.record(theta, point, primal, dual)
    return primal - dual


@compiled
def _shuffle(active, size, random):
    state = random[0]
    for i in range(size - 1, 0, -1):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        j = np.int64(state % np.uint64(i + 1))
        active[i], active[j] = active[j], active[i]
    random[0] = state


@compiled(vectorise=True)
def _sweep(
    loss, rows, y, c, q, top, u, theta, b0, active, first, last, kept, above, below, bounded, spread_high, spread_low
):  # fmt: skip
    """One pass over active[first:last]; the examples that stay are moved to the front. Returns their number so far and
    the largest and smallest slope of -D in alpha that a step inside the box could still use."""
    for k in range(first, last):
        i = active[k]
        z = row_dot(rows, i, theta) + b0
        old = u[i]
        if bounded:
            alpha = old * y[i]
            slope = dual_slope(loss, old, z, c[i], y[i]) * y[i]
            usable = slope
            if alpha <= 0.0:
                if slope > above:
                    continue
                usable = min(slope, 0.0)
            elif alpha >= top[i]:
                if slope < below:
                    continue
                usable = max(slope, 0.0)
            spread_high = max(spread_high, usable)
            spread_low = min(spread_low, usable)
            active[k], active[kept] = active[kept], active[k]
            kept += 1
            if usable == 0.0:
                continue
        else:
            kept += 1
        new = dual_step(loss, old, z, q[i], c[i], y[i])
        if not bounded:
            spread_high = max(spread_high, abs(new - old) * q[i])
            spread_low = min(spread_low, -abs(new - old) * q[i])
        if new != old:
            u[i] = new
            row_axpy(rows, i, new - old, theta)
    return kept, spread_high, spread_low
