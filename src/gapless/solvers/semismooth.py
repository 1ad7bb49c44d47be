"""Semismooth Newton on the augmented Lagrangian, for the hinge loss and n >> d.

    minimise over w, b    1/2 |w|^2 + sum_i c_i max(0, 1 - m_i),       m_i = y_i (<w, x_i> + b)

With multipliers alpha and a band of width `delta` the augmented Lagrangian is smooth in (w, b); its minimiser gives

    alpha_new = c clip(alpha/c + (1 - m)/delta, 0, 1)

which is always inside the box, so that every step has a dual bound.  The Hessian is R + (1/delta) sum over M of c x x',
where M are the examples inside the band: few, so that a step costs two passes over the data and the Gram matrix of M.
Repeating with alpha_new is the proximal point method in the dual: the gap falls superlinearly as delta shrinks.
(Li, Sun and Toh's line of work; Niu, Yan and Li for the SVM.)
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from gapless._jit import compiled
from gapless.problems.linear_erm import LinearERM
from gapless.solvers.line_search import walk
from gapless.solvers.loop import Ended, Loop, Stop
from gapless.solvers.normal_equations import NormalEquations

ROUNDS = 60
INNER = 40
#: Rows from which a solve starts on an eighth of them.
NESTED = 16_000


def semismooth(problem: LinearERM, loop: Loop, start: np.ndarray | None = None) -> None:
    """Records its points in ``loop``; returns when rounding or an ill-conditioned system stops the progress."""
    y, c, n = problem.y, problem.c, problem.n
    alpha = np.zeros(n)
    delta = 0.5
    theta = np.zeros(problem.d + 1)
    if start is not None:
        alpha, delta = start * y, 0.1
        theta = problem.primal_from_dual(problem.repair(start))
    elif n >= NESTED:
        theta = _from_subset(problem, loop)
        delta = 0.1
    z = problem.scores(theta, loop.tick)
    gap_before, stale = np.inf, 0
    for _ in range(ROUNDS):
        target = gap_before
        steps = 0
        while steps < INNER:
            new, inside = _multipliers(y, z, c, alpha, delta)
            combined = problem.combine(new * y, loop.tick)
            gradient = theta - combined
            if problem.free:
                gradient[-1] = -combined[-1]
            primal = problem.primal(theta, z)
            if problem.free:
                u = problem.repair(new * y)
                mended = problem.combine(u, loop.tick)
            else:
                u, mended = new * y, combined
            dual = problem.dual(u, primal, mended)
            loop.record(theta, u, primal, dual)
            # Good enough when the slope that is left is small against the gap that the next multipliers can remove.
            left = 0.5 * float(gradient[:-1] @ gradient[:-1]) if problem.free else 0.5 * float(gradient @ gradient)
            if problem.free:
                left += abs(float(gradient[-1])) * max(1.0, abs(float(theta[-1])))
            if left <= 0.05 * (loop.best_primal - loop.best_dual) or left <= 1e-15 * abs(primal):
                break
            weights = c / delta
            ridge = 1.0
            if problem.free:
                ridge = 1e-10 * float(weights[inside].sum()) if inside.size else 0.01 * float(weights.sum())
            step = NormalEquations(problem.rows, weights, inside, ridge, tick=loop.tick, tolerance=1e-3).solve(
                -gradient
            )
            if problem.rows.constant == 0.0:
                step[-1] = 0.0
            along = problem.scores(step, loop.tick)
            t = _walk(problem, theta, step, z, along, alpha, delta)
            if t == 0.0:
                break
            theta = theta + t * step
            z = z + t * along
            loop.advance()
            steps += 1
        z = problem.scores(theta, loop.tick)
        gap = loop.best_primal - loop.best_dual
        stale = stale + 1 if gap > 0.9 * target else 0
        if stale >= 8 or not np.isfinite(gap):
            return
        gap_before = min(gap, gap_before)
        alpha, _ = _multipliers(y, z, c, alpha, delta)
        if steps < INNER // 2:
            delta = max(delta * 0.3, 1e-9)


def _multipliers(
    y: np.ndarray, z: np.ndarray, c: np.ndarray, alpha: np.ndarray, delta: float
) -> tuple[np.ndarray, np.ndarray]:
    """c clip(alpha/c + (1 - yz)/delta, 0, 1), and who is strictly inside."""
    share = alpha / c + (1.0 - y * z) / delta
    new = c * np.clip(share, 0.0, 1.0)
    return new, np.flatnonzero((share > 0.0) & (share < 1.0))


def _from_subset(problem: LinearERM, loop: Loop) -> np.ndarray:
    """theta of an eighth of the rows, their weights times eight: the same problem, blurred."""
    n = problem.n
    index = np.arange(n)[np.random.default_rng(0).permutation(n)[: n // 8]]
    index.sort()
    part = problem.subset(index, n / index.size)
    if (part.y > 0).all() or (part.y < 0).all():
        return np.zeros(problem.d + 1)
    small = Loop(
        Stop(max(1e-3, loop.stop.relative_gap), loop.stop.passes, loop.stop.seconds),
        interruption=loop.interruption,
        started=loop.started,
    )
    with suppress(Ended):
        semismooth(part, small)
    loop.tick()
    return small.best_theta if small.best_theta is not None else np.zeros(problem.d + 1)


def _walk(
    problem: LinearERM,
    theta: np.ndarray,
    step: np.ndarray,
    z: np.ndarray,
    along: np.ndarray,
    alpha: np.ndarray,
    delta: float,
) -> float:
    """Exact line search: the slope along the step is piecewise linear and rising, its root is bracketed."""
    w, s = (theta[:-1], step[:-1]) if problem.free else (theta, step)
    linear, square = float(w @ s), float(s @ s)
    y, c = problem.y, problem.c

    def slope_and_bend(t: float) -> tuple[float, float]:
        data, bend = _band_slope(y, c, alpha, z, along, delta, t)
        return linear + t * square + data, square + bend

    return walk(slope_and_bend, share=0.1)


@compiled(vectorise=True)
def _band_slope(y, c, alpha, z, along, delta, t):
    data, bend = 0.0, 0.0
    for i in range(y.size):
        share = alpha[i] / c[i] + (1.0 - y[i] * (z[i] + t * along[i])) / delta
        inside = 1.0 if 0.0 < share < 1.0 else 0.0
        data -= c[i] * min(max(share, 0.0), 1.0) * y[i] * along[i]
        bend += inside * c[i] / delta * along[i] * along[i]
    return data, bend
