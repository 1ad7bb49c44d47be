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

from typing import NamedTuple

import numpy as np

from gapless import rows as R
from gapless._compile.jit import compiled
from gapless._runtime.backend import numpy_in_use
from gapless.problems.linear import LinearProblem
from gapless.problems.linear_sums import BLOCK, n_blocks, share_blocks
from gapless.solvers.line_search import find_step_length
from gapless.solvers.linear.active_set import active_set, affordable_work
from gapless.solvers.linear.subset_start import start_from_subset
from gapless.solvers.linear.thresholds import LINEAR_THRESHOLDS
from gapless.solvers.loop import SMALL_FIT_VALUES, Ended, Loop
from gapless.solvers.newton_system import SINGLE_PRECISION_MASS, NewtonSystem


class Band(NamedTuple):
    """What the multipliers c clip(share + (1 - yz) steep, 0, 1) at the scores z are made of: share = alpha/c, steep = 1/delta."""

    y: np.ndarray
    c: np.ndarray
    share: np.ndarray
    steep: float


def semismooth(
    problem: LinearProblem,
    loop: Loop,
    start: np.ndarray | None = None,
    *,
    theta: np.ndarray | None = None,
    width: float = 0.1,
) -> None:
    """Record points in ``loop``; return when rounding or an ill-conditioned system stops the progress.

    ``start`` is a dual point, ``theta`` what goes with it where that is known better than by sum u x, ``width`` the first delta.
    """
    rounds, inner_steps = 60, 40
    lagrangian = _Lagrangian(problem, loop, start, theta, width)
    gap_before, stale = np.inf, 0
    sides = b""
    for _ in range(rounds):
        steps = lagrangian.minimise(inner_steps)
        gap = loop.best_primal - loop.best_dual
        stale = stale + 1 if gap > 0.9 * gap_before else 0
        if stale >= 8 or not np.isfinite(gap):
            return
        gap_before = min(gap, gap_before)
        before, sides = sides, lagrangian.multipliers.sides()
        if sides == before and problem.n * (problem.d + 1) <= SMALL_FIT_VALUES:
            # The sets are found, it seems: one system then costs less than more rounds.
            work = affordable_work(problem, loop)
            found = active_set(problem, loop, lagrangian.theta, lagrangian.multipliers.u, work=work)
            if found and loop.relative_gap <= loop.stop.relative_gap:
                loop.end("converged")
        lagrangian.update_multipliers(narrow=steps < inner_steps // 2)


class _Lagrangian:
    """The augmented Lagrangian at the multipliers c share, and the point theta with its scores at which it is looked at."""

    def __init__(
        self, problem: LinearProblem, loop: Loop, start: np.ndarray | None, theta: np.ndarray | None, width: float
    ) -> None:
        self.problem, self.loop = problem, loop
        n, d = problem.n, problem.d
        self.share, self.delta = np.zeros(n), LINEAR_THRESHOLDS.first_band
        rows, per_column = LINEAR_THRESHOLDS.semismooth_subset
        if start is not None:
            self.share, self.delta = np.clip(start * problem.y / problem.c, 0.0, 1.0), width
            theta = problem.primal_from_dual(problem.repair(start)) if theta is None else theta.copy()
        elif n >= rows and n >= per_column * d:
            theta = start_from_subset(problem, loop, semismooth, lambda rows: max(1e-3, 0.1 * d / rows))
            self.delta = 0.1
        self.theta = np.zeros(d + 1) if theta is None else theta
        problem.use_fast_copy()
        self.z = problem.scores(self.theta, loop.tick) if self.theta.any() else np.zeros(n)
        self.z_is_of_theta = True  #: the scores were computed from theta, and not by steps towards it
        self.multipliers, self.along = _Multipliers(problem), np.empty(n)

    @property
    def band(self) -> Band:
        return Band(self.problem.y, self.problem.c, self.share, 1.0 / self.delta)

    def minimise(self, most: int) -> int:
        """Newton's steps until the slope that is left is small against the gap that new multipliers can remove; their number."""
        problem, loop = self.problem, self.loop
        for steps in range(most):
            loss, gain = self.multipliers.find(self.z, self.band)
            combined = self.multipliers.combine(loop)
            gradient = problem.gradient(self.theta, -combined)
            primal = problem.penalty(self.theta) + loss
            mass = problem.mass(self.multipliers.inside) if problem.free else 0.0
            if problem.free:
                solved = self._record_free(gradient, combined, primal, gain, mass, last=steps == most - 1)
            else:
                solved = self._record_penalised(gradient, combined, primal, gain)
            if solved:
                return steps
            step = self._solve(gradient, mass)
            self.along = problem.scores(step, loop.tick, out=self.along)
            t = self._search(step, float(gradient @ step))
            if t == 0.0:
                if problem.free:
                    self._record_repaired(combined, primal)
                return steps
            self.theta = self.theta + t * step
            z, along = self.z, self.along
            if numpy_in_use():
                z += t * along
            else:
                share_blocks(lambda first, last: _move_scores(z, along, t, first, last), n_blocks(problem.n))  # noqa: B023
            self.z_is_of_theta = False
            loop.advance()
        return most

    def update_multipliers(self, narrow: bool) -> None:
        """The proximal point step: alpha becomes the multipliers at the minimiser; ``narrow``: delta shrinks, too."""
        self.multipliers.find(self.z, self.band)
        np.multiply(self.multipliers.u, self.problem.y, out=self.share)
        self.share /= self.problem.c
        if narrow:
            self.delta = max(self.delta * 0.3, 1e-9)

    def _record_penalised(self, gradient: np.ndarray, combined: np.ndarray, primal: float, gain: float) -> bool:
        """Record the point with its multipliers, which are feasible; whether the minimum is reached."""
        problem, loop, multipliers = self.problem, self.loop, self.multipliers
        try:
            loop.record(self.theta, multipliers.u, primal, gain - problem.penalty(combined))
        except Ended:
            # Scores and sums that come from theta and u themselves, and not from steps towards them, need not be made again.
            if self.z_is_of_theta:
                loop.know_scores(self.theta, self.z)
            if multipliers.summed_at_once:
                loop.know_combined(combined)
            raise
        left = 0.5 * float(gradient @ gradient)
        return left <= 0.05 * (loop.best_primal - loop.best_dual) or left <= 1e-15 * abs(primal)

    def _record_free(
        self, gradient: np.ndarray, combined: np.ndarray, primal: float, gain: float, mass: float, *, last: bool
    ) -> bool:
        """Record the point; its multipliers are moved onto sum u = 0 only where that may end the round or the fit."""
        problem, loop, b = self.problem, self.loop, float(self.theta[-1])
        slope_b = float(gradient[-1])
        # A step in b alone could still gain its slope times its length; its curvature is mass / delta.
        bound = abs(slope_b) * max(1.0, abs(b))
        left = 0.5 * float(gradient[:-1] @ gradient[:-1])
        left += min(bound, slope_b * slope_b * self.delta / mass) if mass > 0.0 else bound
        # P >= D(u) - b sum u for this b: no bound on the best b's optimum, but as near to it as b is, and for nothing.
        gap = primal - gain + problem.penalty(combined) + float(self.theta[-1] * combined[-1])
        solved = left <= 0.05 * gap or left <= 1e-15 * abs(primal)
        if solved or gap <= loop.stop.relative_gap * primal or last:
            self._record_repaired(combined, primal)
        else:
            loop.record(self.theta, self.multipliers.u, primal, -np.inf)
        return solved

    def _record_repaired(self, combined: np.ndarray, primal: float) -> None:
        """Record the point, its multipliers moved onto sum u = 0. Only examples inside the band move: their sum costs little."""
        problem, u = self.problem, self.multipliers.u
        moved = problem.repair(u, out=self.along)
        kept = moved.copy() if problem.n <= LINEAR_THRESHOLDS.few_rows else None
        sums = combined + problem.combine(np.subtract(moved, u, out=moved), self.loop.tick)
        # Made again where a copy would take memory.
        moved = problem.repair(u, out=self.along) if kept is None else kept
        self.loop.record(self.theta, moved, primal, problem.dual(moved, primal, sums))

    def _solve(self, gradient: np.ndarray, mass: float) -> np.ndarray:
        """Newton's step: the Hessian is R + (1/delta) sum over the band of c x x'."""
        problem, inside, delta = self.problem, self.multipliers.inside, self.delta
        ridge = 1.0
        if problem.free:
            ridge = (1e-10 * mass if mass > 0.0 else 0.01 * float(problem.c.sum())) / delta
        single = not problem.free and problem.mass(inside) * problem.R2 <= SINGLE_PRECISION_MASS * delta
        system = NewtonSystem(
            problem,
            problem.c,
            inside,
            ridge,
            tick=self.loop.tick,
            tolerance=1e-3,
            scale=1.0 / delta,
            single=single,
        )
        step = system.solve(-gradient)
        if problem.rows.constant == 0.0:
            step[-1] = 0.0
        return step

    def _search(self, step: np.ndarray, slope: float) -> float:
        """Exact line search: the slope along the step is piecewise linear and rising, its root is bracketed."""
        linear, square = self.problem.penalty_along(self.theta, step)
        band, z, along, sums = self.band, self.z, self.along, np.empty((n_blocks(self.z.size), 2))

        def slope_and_curvature(t: float) -> tuple[float, float]:
            if numpy_in_use():
                data, curvature = _sum_band_slopes(band, z + t * along, along)
                return linear + t * square + data, square + curvature
            share_blocks(lambda first, last: _add_band_slopes(band, z, along, t, sums, first, last), len(sums))
            data, curvature = sums.sum(axis=0).tolist()
            return linear + t * square + data, square + curvature

        # A step costs many looks along it, but for sparse rows.
        return find_step_length(slope_and_curvature, share=0.3 if R.is_sparse(self.problem.rows) else 0.1, start=slope)


class _Multipliers:
    """The multipliers u at the scores, the examples strictly inside the band, and sum u x.

    Few multipliers change from step to step, and only their rows are read for the sum, where a row is long enough for that to
    pay; every tenth time all rows are read, so that rounding does not add up.
    """

    def __init__(self, problem: LinearProblem) -> None:
        self.problem = problem
        self.u, self.inside = np.zeros(problem.n), np.zeros(problem.n, dtype=bool)
        self._summed = np.zeros(problem.n) if problem.d >= LINEAR_THRESHOLDS.changed_rows_columns else None
        self._sum = np.zeros(problem.d + 1)
        self._times = 0
        self.summed_at_once = False  #: the last sum was over all of u

    def find(self, z: np.ndarray, band: Band) -> tuple[float, float]:
        """Compute the multipliers at z; the loss there, and sum u y."""
        if numpy_in_use():
            self.u, self.inside, loss, gain = _multipliers_at(band, z)
            return loss, gain
        u, inside, sums = self.u, self.inside, np.empty((n_blocks(z.size), 2))
        share_blocks(lambda first, last: _find_multipliers(band, z, u, inside, sums, first, last), len(sums))
        loss, gain = sums.sum(axis=0).tolist()
        return loss, gain

    def sides(self) -> bytes:
        """Which examples are inside the band, and which of the others at 0."""
        return np.packbits(self.inside).tobytes() + np.packbits(self.u == 0.0).tobytes()

    def combine(self, loop: Loop) -> np.ndarray:
        """sum u x"""
        self._times += 1
        self.summed_at_once = self._summed is None or self._times == 1 or self._times % 10 == 0
        if self._summed is None:
            return self.problem.combine(self.u, loop.tick)
        blocks, u, summed = n_blocks(self.u.size), self.u, self._summed

        def examples(first: int, last: int) -> slice:
            return slice(first * BLOCK, last * BLOCK)

        def subtract(first: int, last: int) -> None:
            part = examples(first, last)
            np.subtract(u[part], summed[part], out=summed[part])

        if self._times % 10:
            share_blocks(subtract, blocks)
            self._sum = self._sum + self.problem.combine(summed, loop.tick)
        else:
            self._sum = self.problem.combine(u, loop.tick)
        share_blocks(lambda first, last: np.copyto(summed[examples(first, last)], u[examples(first, last)]), blocks)
        return self._sum


def _multipliers_at(band: Band, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, float]:
    """`_find_multipliers` in numpy: u, the examples strictly inside the band, the loss, and sum u y."""
    margin = 1.0 - band.y * z
    part = band.share + margin * band.steep
    alpha = band.c * np.minimum(np.maximum(part, 0.0), 1.0)
    loss = float((band.c * np.maximum(margin, 0.0)).sum())
    return alpha * band.y, (part > 0.0) & (part < 1.0), loss, float(alpha.sum())


def _sum_band_slopes(band: Band, z: np.ndarray, along: np.ndarray) -> tuple[float, float]:
    """`_add_band_slopes` in numpy, at the scores z."""
    part = band.share + (1.0 - band.y * z) * band.steep
    within = np.minimum(np.maximum(part, 0.0), 1.0)
    heavy = band.c * along
    return -float((heavy * within) @ band.y), float((heavy * along)[part == within].sum()) * band.steep


@compiled(vectorise=True)
def _move_scores(z, along, t, first, last):
    for i in range(first * BLOCK, min(z.size, last * BLOCK)):
        z[i] += t * along[i]


@compiled(vectorise=True)
def _find_multipliers(band, z, u, inside, sums, first, last):
    y, c, share, steep = band
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
def _add_band_slopes(band, z, along, t, sums, first, last):
    y, c, share, steep = band
    for k in range(first, last):
        start, stop = k * BLOCK, min(z.size, (k + 1) * BLOCK)
        ys, zs, cs, shares, steps = y[start:stop], z[start:stop], c[start:stop], share[start:stop], along[start:stop]
        data, curvature = 0.0, 0.0
        for i in range(zs.size):
            part = shares[i] + (1.0 - ys[i] * (zs[i] + t * steps[i])) * steep
            within = min(max(part, 0.0), 1.0)
            heavy = cs[i] * steps[i]
            data -= heavy * within * ys[i]
            curvature += heavy * steps[i] * (1.0 if part == within else 0.0)
        sums[k, 0] = data
        sums[k, 1] = curvature * steep
