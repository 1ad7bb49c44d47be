"""A point of Newton's method with all that one look at the data says of it, and the gap that comes with it for nothing.

At the scores z the dual point is u = -c l'(z), and Fenchel's inequality is an equality there:

    P - D = 1/2 |grad_w P|^2 - b sum u         (sum u = 0 at the optimum over a free offset)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gapless.problems.examples.protocol import Examples, Handle, LinearExamples
from gapless.solvers.line_search import search_along
from gapless.solvers.linear.thresholds import LINEAR_THRESHOLDS
from gapless.solvers.loop import SMALL_FIT_VALUES, Loop


class NewtonPoint:
    """theta, the scores there with c l' and c l'', the sum of the loss and X'(c l')."""

    def __init__(self, problem: LinearExamples, loop: Loop) -> None:
        self.problem, self.loop = problem, loop
        # Where columns are more than rows, and so separate them, the logistic loss falls like e^-t: whole steps would be many,
        # and their products cost more than a search.
        self.searches = problem.loss.entropic and problem.n < problem.d
        self.at = problem.new_point()
        self._scratch = problem.new_vector() if problem.free else None

    def move_to(self, theta: np.ndarray) -> None:
        """Look at the data once, at theta."""
        self.theta = theta
        self.loss, self.data_part = self.problem.loss_and_gradient(theta, self.at, self.loop.tick)

    @property
    def primal(self) -> float:
        return self.problem.penalty(self.theta) + self.loss

    @property
    def gradient(self) -> np.ndarray:
        return self.problem.gradient(self.theta, self.data_part)

    def estimate_gain(self, gradient: np.ndarray) -> float:
        """What steps in w and in b alone could still gain: no bound, as the gap is, but it falls as the steps bring it down."""
        if not self.problem.free:
            return 0.5 * float(gradient @ gradient)
        w, b, curvature = gradient[:-1], float(gradient[-1]), self.problem.sum(self.at.h)
        return 0.5 * float(w @ w) + (0.5 * b * b / curvature if curvature > 0.0 else 0.0)

    def take_step(self, step: np.ndarray, slope: float) -> bool:
        """Move by the step, or by the share of it at which the slope is nearly zero; False where it leads nowhere.

        ``slope`` is dP/dt at the start of the step.
        """
        before, problem = self.theta, self.problem
        # The share to which the slope has to fall; near the optimum less would be rounding.
        share = 0.1 if self.searches and -slope > 1e-3 * self.primal else 0.5
        self.move_to(before + step)
        w, s = (self.theta[:-1], step[:-1]) if problem.free else (self.theta, step)
        if abs(float(w @ s + self.data_part @ step)) <= share * abs(slope):
            return True
        # The whole step is too far, or not far enough.
        problem.scores(before, self.loop.tick, out=self.at.z)
        along = self._scratch = problem.scores(step, self.loop.tick, out=self._scratch)
        linear, square = problem.penalty_along(before, step)

        def slopes(ts: Sequence[float]) -> list[tuple[float, float]]:
            found = problem.slopes_along(self.at, along, ts)
            return [(linear + t * square + data, square + curvature) for t, (data, curvature) in zip(ts, found)]

        t = search_along(slopes, slope, share=share, at_once=problem.steps_at_once)
        self.move_to(before + t * step)
        return t != 0.0

    def defer_dual(self) -> Callable[[], Handle]:
        """A function that makes the dual point of this point; it is called at the end, and then mostly -g is still at hand."""
        point = self.theta

        def make() -> Handle:
            if self.theta is not point:
                return self.problem.dual_from_primal(point)
            return self.problem.dual_at(self.at, out=self.at.h)

        return make

    def record_estimate(self, gap: float) -> float:
        """Record the point of a solve that only provides a start: an estimate of the gap is near enough to the gap."""
        primal = self.primal
        self.loop.record(self.theta, self.defer_dual(), primal, primal - gap, ends=False)
        return gap

    def record(self, gradient: np.ndarray) -> float:
        """Record the point and its own dual point, which need not be kept: theta says it all; the gap between them."""
        problem, loop, primal, make = self.problem, self.loop, self.primal, self.defer_dual()
        if not problem.free:
            gap = 0.5 * float(gradient @ gradient)
            loop.record(self.theta, make, primal, primal - gap, ends=False)
            return gap
        w = gradient[:-1]
        missing = -float(self.data_part[-1])  # sum u, times the constant feature's 1
        price = problem.offset_bound(primal) * abs(missing) - float(self.theta[-1]) * missing
        gap = 0.5 * float(w @ w) + price
        enough = loop.stop.relative_gap * primal
        # Where w alone is not there yet, no better dual point would help.
        if price > 1e-3 * enough and gap - price <= enough:
            few = problem.n <= LINEAR_THRESHOLDS.few_rows
            u = problem.dual_at(self.at, out=None if few else self._scratch)
            combined = problem.combine(u)
            dual = problem.dual(u, primal, combined)
            if primal - dual < gap and few:
                loop.record(self.theta, lambda: u, primal, dual, ends=False)  # not copied: nothing else writes there
                loop.know_combined(combined)
                return primal - dual
            gap = min(gap, primal - dual)
        loop.record(self.theta, make, primal, primal - gap, ends=False)
        return gap

    def hand_over(self) -> None:
        """Tell the loop the scores, and sum u x where it is X'g: the end of the fit need not compute them again."""
        self.loop.know_scores(self.theta, self.at.z)
        if not self.problem.free and self.problem.sums_like_combine:
            self.loop.know_combined(-self.data_part)


class NewtonProgress:
    """The best gap and the best P so far, for how many steps neither became better, and the steps it took to the tolerance."""

    def __init__(self) -> None:
        self.gap, self.primal, self._stale = np.inf, np.inf, 0
        self._enough: int | None = None

    def has_stalled(self, gap: float, primal: float) -> bool:
        """Note a step; True where three in a row gained nothing, or P is not finite."""
        self._stale = self._stale + 1 if gap >= self.gap and primal >= self.primal else 0
        if self._stale >= 3 or not np.isfinite(primal):
            return True
        self.gap, self.primal = min(gap, self.gap), min(primal, self.primal)
        return False

    def is_worth_a_step(self, problem: Examples, loop: Loop, gap: float, *, equal: bool) -> bool:
        """Whether to go on from a point with this gap: past the tolerance, too, by the steps taken, so that equal fits do alike.

        ``equal``: a step costs what those before it cost. On small data as many may follow as cost a fifth of the fit, while
        each still pays; on large data the fit ends at the tolerance.
        """
        if loop.n_iter >= loop.stop.passes:
            return False
        if loop.relative_gap > loop.stop.relative_gap:
            return True
        if loop.rough or not equal or problem.n * (problem.d + 1) > SMALL_FIT_VALUES:
            return False
        self._enough = loop.n_iter if self._enough is None else self._enough
        affordable = int(LINEAR_THRESHOLDS.polish_share * self._enough)
        return loop.n_iter - self._enough < affordable and gap <= 0.25 * self.gap and loop.relative_gap > 1e-15
