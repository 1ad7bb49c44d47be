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

import numpy as np

from gapless import rows as R
from gapless._compile.jit import compiled
from gapless.problems.linear import LinearProblem
from gapless.problems.linear_sums import BLOCK, n_blocks, share_blocks
from gapless.solvers.line_search import find_step_length
from gapless.solvers.linear.subset_start import start_from_subset
from gapless.solvers.loop import Ended, Loop
from gapless.solvers.newton_system import LIGHT, NewtonSystem

ROUNDS = 60
INNER = 40
#: Columns from which changes are summed alone.
LONG = 32
#: Rows up to which a vector of their length more is no matter.
FEW = 1 << 18
#: Rows from which a solve starts on an eighth of them.
NESTED = 8_000


def semismooth(
    problem: LinearProblem,
    loop: Loop,
    start: np.ndarray | None = None,
    *,
    theta: np.ndarray | None = None,
    width: float = 0.1,
) -> None:
    """Records its points in ``loop``; returns when rounding or an ill-conditioned system stops the progress.

    ``start`` is a dual point, ``theta`` what goes with it where that is known better than by sum u x, ``width`` the first delta.
    """
    n = problem.n
    share = np.zeros(n)  # alpha / c
    delta = 0.5
    if start is not None:
        share, delta = np.clip(start * problem.y / problem.c, 0.0, 1.0), width
        theta = problem.primal_from_dual(problem.repair(start)) if theta is None else theta.copy()
    else:
        theta = np.zeros(problem.d + 1)
    if start is None and n >= NESTED and n >= 8 * problem.d:
        theta = start_from_subset(problem, loop, semismooth, lambda rows: max(1e-3, 0.1 * problem.d / rows))
        delta = 0.1
    problem.use_fast_copy()
    z = problem.scores(theta, loop.tick) if theta.any() else np.zeros(n)
    whole = True
    band, along = _Band(problem), np.empty(n)
    gap_before, stale = np.inf, 0
    for _ in range(ROUNDS):
        target = gap_before
        steps = 0
        while steps < INNER:
            loss, gain = band.look(z, share, delta)
            combined = band.combine(loop)
            gradient = theta - combined
            if problem.free:
                gradient[-1] = -combined[-1]
            primal = problem.penalty(theta) + loss
            # Good enough when the slope that is left is small against the gap that the next multipliers can remove.
            left = 0.5 * float(gradient[:-1] @ gradient[:-1]) if problem.free else 0.5 * float(gradient @ gradient)
            mass = 0.0
            if problem.free:
                mass = problem.mass(band.inside)
                # What b alone could still gain: its curvature is mass / delta.
                bound = abs(float(gradient[-1])) * max(1.0, abs(float(theta[-1])))
                left += min(bound, float(gradient[-1]) ** 2 * delta / mass) if mass > 0.0 else bound
                # P >= D(u) - b sum u for this b: no bound on the best b's optimum, but as near to it as b is, and for nothing.
                gap = primal - gain + problem.penalty(combined) + float(theta[-1] * combined[-1])
                solved = left <= 0.05 * gap or left <= 1e-15 * abs(primal)
                if solved or gap <= loop.stop.relative_gap * primal or steps == INNER - 1:
                    _record_free(problem, loop, theta, band.u, combined, primal, along)
                else:
                    loop.record(theta, band.u, primal, -np.inf)
            else:
                dual = gain - problem.penalty(combined)
                try:
                    loop.record(theta, band.u, primal, dual)
                except Ended:
                    # What was summed from theta and u themselves, and not by steps towards them, need not be made again.
                    if whole:
                        loop.know_scores(theta, z)
                    if band.whole:
                        loop.know_combined(combined)
                    raise
                solved = left <= 0.05 * (loop.best_primal - loop.best_dual) or left <= 1e-15 * abs(primal)
            if solved:
                break
            ridge = 1.0
            if problem.free:
                ridge = (1e-10 * mass if mass > 0.0 else 0.01 * float(problem.c.sum())) / delta
            single = problem.mass(band.inside) * problem.R2 <= LIGHT * delta
            system = NewtonSystem(
                problem.rows,
                problem.c,
                band.inside,
                ridge,
                tick=loop.tick,
                tolerance=1e-3,
                scale=1.0 / delta,
                single=single and not problem.free,
            )
            step = system.solve(-gradient)
            if problem.rows.constant == 0.0:
                step[-1] = 0.0
            along = problem.scores(step, loop.tick, out=along)
            t = _walk(problem, theta, step, z, along, share, delta, float(gradient @ step))
            if t == 0.0:
                if problem.free:
                    _record_free(problem, loop, theta, band.u, combined, primal, along)
                break
            theta = theta + t * step
            share_blocks(lambda first, last: _go_on(z, along, t, first, last), n_blocks(n))  # noqa: B023
            whole = False
            loop.advance()
            steps += 1
        gap = loop.best_primal - loop.best_dual
        stale = stale + 1 if gap > 0.9 * target else 0
        if stale >= 8 or not np.isfinite(gap):
            return
        gap_before = min(gap, gap_before)
        band.look(z, share, delta)
        np.multiply(band.u, problem.y, out=share)
        share /= problem.c
        if steps < INNER // 2:
            delta = max(delta * 0.3, 1e-9)


def _record_free(
    problem: LinearProblem,
    loop: Loop,
    theta: np.ndarray,
    u: np.ndarray,
    combined: np.ndarray,
    primal: float,
    scratch: np.ndarray,
) -> None:
    """The point and its multipliers moved onto sum u = 0. The few that give way are inside the band: their sum costs little."""
    moved = problem.repair(u, out=scratch)
    kept = moved.copy() if problem.n <= FEW else None
    sums = combined + problem.combine(np.subtract(moved, u, out=moved), loop.tick)
    # Made again where a copy would take memory.
    moved = problem.repair(u, out=scratch) if kept is None else kept
    loop.record(theta, moved, primal, problem.dual(moved, primal, sums))


class _Band:
    """The multipliers c clip(alpha/c + (1 - yz)/delta, 0, 1) at the scores z, who is strictly inside, and sum u x.

    Few multipliers change from step to step, and only the rows of those are read for the sum, where a row is long enough for
    that to pay; all are read again now and then, so that rounding does not add up.
    """

    def __init__(self, problem: LinearProblem) -> None:
        self.problem = problem
        self.u, self.inside = np.zeros(problem.n), np.zeros(problem.n, dtype=bool)
        self._summed = np.zeros(problem.n) if problem.d >= LONG else None
        self._sum = np.zeros(problem.d + 1)
        self._times = 0
        self.whole = False  #: the last sum was over all of u, at once

    def look(self, z: np.ndarray, share: np.ndarray, delta: float) -> tuple[float, float]:
        """The loss at z, and the sum of the multipliers."""
        problem = self.problem
        sums = np.empty((n_blocks(z.size), 2))
        share_blocks(
            lambda first, last: _multipliers(
                problem.y, z, problem.c, share, 1.0 / delta, self.u, self.inside, sums, first, last
            ),
            sums.shape[0],
        )
        loss, gain = sums.sum(axis=0).tolist()
        return loss, gain

    def combine(self, loop: Loop) -> np.ndarray:
        self._times += 1
        self.whole = self._summed is None or self._times == 1 or self._times % 10 == 0
        if self._summed is None:
            return self.problem.combine(self.u, loop.tick)
        blocks, u, summed = n_blocks(self.u.size), self.u, self._summed
        if self._times % 10:
            share_blocks(
                lambda first, last: np.subtract(
                    u[_of(first, last)], summed[_of(first, last)], out=summed[_of(first, last)]
                ),
                blocks,
            )
            self._sum = self._sum + self.problem.combine(summed, loop.tick)
        else:
            self._sum = self.problem.combine(u, loop.tick)
        share_blocks(lambda first, last: np.copyto(summed[_of(first, last)], u[_of(first, last)]), blocks)
        return self._sum


def _walk(
    problem: LinearProblem,
    theta: np.ndarray,
    step: np.ndarray,
    z: np.ndarray,
    along: np.ndarray,
    share: np.ndarray,
    delta: float,
    slope: float,
) -> float:
    """Exact line search: the slope along the step is piecewise linear and rising, its root is bracketed."""
    w, s = (theta[:-1], step[:-1]) if problem.free else (theta, step)
    linear, square = float(w @ s), float(s @ s)
    sums = np.empty((n_blocks(z.size), 2))

    def slope_and_bend(t: float) -> tuple[float, float]:
        share_blocks(
            lambda first, last: _band_slope(problem.y, problem.c, share, z, along, 1.0 / delta, t, sums, first, last),
            sums.shape[0],
        )
        data, bend = sums.sum(axis=0).tolist()
        return linear + t * square + data, square + bend

    # A step costs many looks along it, but for sparse rows.
    return find_step_length(slope_and_bend, share=0.3 if R.is_sparse(problem.rows) else 0.1, start=slope)


def _of(first: int, last: int) -> slice:
    """The examples of some blocks."""
    return slice(first * BLOCK, last * BLOCK)


@compiled(vectorise=True)
def _go_on(z, along, t, first, last):
    for i in range(first * BLOCK, min(z.size, last * BLOCK)):
        z[i] += t * along[i]


@compiled(vectorise=True)
def _multipliers(y, z, c, share, steep, u, inside, sums, first, last):
    # Written first and summed after, by views of a block: see `differentiate_along` in problems/linear_sums.
    for k in range(first, last):
        start, stop = k * BLOCK, min(z.size, (k + 1) * BLOCK)
        ys, zs, cs, shares = y[start:stop], z[start:stop], c[start:stop], share[start:stop]
        us, within = u[start:stop], inside[start:stop]
        for i in range(zs.size):
            part = shares[i] + (1.0 - ys[i] * zs[i]) * steep
            us[i] = cs[i] * min(max(part, 0.0), 1.0) * ys[i]
            within[i] = (part > 0.0) & (part < 1.0)
        loss, gain = 0.0, 0.0
        for i in range(zs.size):
            gain += us[i] * ys[i]
            loss += cs[i] * max(1.0 - ys[i] * zs[i], 0.0)
        sums[k, 0] = loss
        sums[k, 1] = gain


@compiled(vectorise=True)
def _band_slope(y, c, share, z, along, steep, t, sums, first, last):
    for k in range(first, last):
        start, stop = k * BLOCK, min(z.size, (k + 1) * BLOCK)
        ys, zs, cs, shares, steps = y[start:stop], z[start:stop], c[start:stop], share[start:stop], along[start:stop]
        data, bend = 0.0, 0.0
        for i in range(zs.size):
            part = shares[i] + (1.0 - ys[i] * (zs[i] + t * steps[i])) * steep
            within = min(max(part, 0.0), 1.0)
            heavy = cs[i] * steps[i]
            data -= heavy * within * ys[i]
            bend += heavy * steps[i] * (1.0 if part == within else 0.0)
        sums[k, 0] = data
        sums[k, 1] = bend * steep
