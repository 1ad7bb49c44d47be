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

from collections.abc import Sequence

import numpy as np

from gapless.problems.examples.protocol import Handle, LinearExamples
from gapless.solvers.line_search import search_along
from gapless.solvers.linear.active_set import active_set, affordable_work
from gapless.solvers.linear.subset_start import start_from_subset
from gapless.solvers.linear.thresholds import LINEAR_THRESHOLDS
from gapless.solvers.loop import SMALL_FIT_VALUES, Ended, Loop
from gapless.solvers.newton_system import SINGLE_PRECISION_MASS, NewtonSystem


def semismooth(
    problem: LinearExamples,
    loop: Loop,
    start: Handle | None = None,
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
        small = problem.n * (problem.d + 1) <= SMALL_FIT_VALUES
        before, sides = sides, lagrangian.band.sides() if small else b""
        if small and sides == before:
            # The sets are found, it seems: one system then costs less than more rounds.
            work = affordable_work(problem, loop)
            found = active_set(problem, loop, lagrangian.theta, lagrangian.band.u, work=work)
            if found and loop.relative_gap <= loop.stop.relative_gap:
                loop.end("converged")
        lagrangian.update_multipliers(narrow=steps < inner_steps // 2)


class _Lagrangian:
    """The augmented Lagrangian at the multipliers c share, and the point theta with its scores at which it is looked at."""

    def __init__(
        self, problem: LinearExamples, loop: Loop, start: Handle | None, theta: np.ndarray | None, width: float
    ) -> None:
        self.problem, self.loop = problem, loop
        n, d, self.delta = problem.n, problem.d, LINEAR_THRESHOLDS.first_band
        rows, per_column = LINEAR_THRESHOLDS.semismooth_subset
        # Where a row is long enough only the rows of changed multipliers are read for their sum.
        by_changes = d >= LINEAR_THRESHOLDS.changed_rows_columns
        if start is not None:
            self.delta = width
            theta = problem.primal_from_dual(problem.repair(start)) if theta is None else theta.copy()
        elif n >= rows and n >= per_column * d:
            theta = start_from_subset(problem, loop, semismooth, lambda rows: max(1e-3, 0.1 * d / rows))
            self.delta = 0.1
        self.band = problem.new_band(start, by_changes)
        self.theta = np.zeros(d + 1) if theta is None else theta
        problem.use_fast_copy()
        self.band.move_to(self.theta, loop.tick)
        self.z_is_of_theta = True  #: the scores were computed from theta, and not by steps towards it

    def minimise(self, most: int) -> int:
        """Newton's steps until the slope that is left is small against the gap that new multipliers can remove; their number."""
        problem, loop, band = self.problem, self.loop, self.band
        for steps in range(most):
            loss, gain = band.find(1.0 / self.delta)
            combined = band.combine(loop.tick)
            gradient = problem.gradient(self.theta, -combined)
            primal = problem.penalty(self.theta) + loss
            mass = band.mass() if problem.free else 0.0
            if problem.free:
                solved = self._record_free(gradient, combined, primal, gain, mass, last=steps == most - 1)
            else:
                solved = self._record_penalised(gradient, combined, primal, gain)
            if solved:
                return steps
            step = self._solve(gradient, mass)
            band.look_along(step, loop.tick)
            t = self._search(step, float(gradient @ step))
            if t == 0.0:
                if problem.free:
                    self._record_repaired(combined, primal)
                return steps
            self.theta = self.theta + t * step
            band.move(t)
            self.z_is_of_theta = False
            loop.advance()
        return most

    def update_multipliers(self, narrow: bool) -> None:
        """The proximal point step: alpha becomes the multipliers at the minimiser; ``narrow``: delta shrinks, too."""
        self.band.find(1.0 / self.delta)
        self.band.accept()
        if narrow:
            self.delta = max(self.delta * 0.3, 1e-9)

    def _record_penalised(self, gradient: np.ndarray, combined: np.ndarray, primal: float, gain: float) -> bool:
        """Record the point with its multipliers, which are feasible; whether the minimum is reached."""
        problem, loop, band = self.problem, self.loop, self.band
        try:
            loop.record(self.theta, band.u, primal, gain - problem.penalty(combined))
        except Ended:
            # Scores and sums that come from theta and u themselves, and not from steps towards them, need not be made again.
            if self.z_is_of_theta:
                loop.know_scores(self.theta, band.z)
            if band.summed_at_once:
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
            loop.record(self.theta, self.band.u, primal, -np.inf)
        return solved

    def _record_repaired(self, combined: np.ndarray, primal: float) -> None:
        """Record the point, its multipliers moved onto sum u = 0. Only examples inside the band move."""
        moved, change = self.band.repaired(self.loop.tick)
        self.loop.record(self.theta, moved, primal, self.problem.dual(moved, primal, combined + change))

    def _solve(self, gradient: np.ndarray, mass: float) -> np.ndarray:
        """Newton's step: the Hessian is R + (1/delta) sum over the band of c x x'."""
        problem, band, delta = self.problem, self.band, self.delta
        ridge = 1.0
        if problem.free:
            ridge = (1e-10 * mass if mass > 0.0 else 0.01 * problem.sum(problem.c)) / delta
        single = not problem.free and band.mass() * problem.R2 <= SINGLE_PRECISION_MASS * delta
        system = NewtonSystem(
            problem,
            problem.c,
            band.inside,
            ridge,
            tick=self.loop.tick,
            tolerance=1e-3,
            scale=1.0 / delta,
            single=single,
        )
        step = system.solve(-gradient)
        if problem.constant == 0.0:
            step[-1] = 0.0
        return step

    def _search(self, step: np.ndarray, slope: float) -> float:
        """Exact line search: the slope along the step is piecewise linear and rising, its root is bracketed."""
        problem, band, steep = self.problem, self.band, 1.0 / self.delta
        linear, square = problem.penalty_along(self.theta, step)

        def slopes(ts: Sequence[float]) -> list[tuple[float, float]]:
            found = band.slopes(steep, ts)
            return [(linear + t * square + data, square + curvature) for t, (data, curvature) in zip(ts, found)]

        # A step costs many looks along it, but for sparse rows.
        return search_along(slopes, slope, share=0.3 if problem.sparse else 0.1, at_once=problem.steps_at_once)
