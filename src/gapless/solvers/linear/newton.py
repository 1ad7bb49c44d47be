"""Newton's method for the smooth losses (squared, squared hinge, logistic), any offset.

    minimise  P(w, b) = 1/2 |w|^2 + sum_i c_i l(y_i, <w, x_i> + b)

Each step solves (R + X' diag(c l'') X) step = -grad P and walks to where the slope along it is nearly zero: the slope
is exact down to rounding, where differences of P are not.  At the scores z the dual point is u = -c l'(z), and Fenchel's
inequality is an equality there, so that the gap costs nothing:

    P - D = 1/2 |grad_w P|^2 - b sum u         (sum u = 0 at the optimum over a free offset)

Small systems are written out and factored; others are solved by conjugate gradients, to the precision that this step can use
and no further.  A large problem starts from the solution of an eighth of its rows.  The squared hinge is piecewise quadratic
and ends after finitely many steps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gapless import rows as R
from gapless.losses import Logistic, SquaredHinge
from gapless.problems.linear import LinearProblem
from gapless.problems.linear_sums import LossAtScores
from gapless.problems.multinomial import Multinomial
from gapless.rows.products import curved_cost, sums_like_combine
from gapless.rows.weighted_gram import gram_cost
from gapless.solvers.line_search import find_step_length
from gapless.solvers.linear.subset_start import start_from_subset
from gapless.solvers.loop import SMALL, Loop
from gapless.solvers.newton_system import DIRECT, NewtonSystem
from gapless.solvers.newton_system_cg import NewtonSystemCG

#: Rows up to which a vector of their length more is no matter.
FEW = 1 << 18
#: A free offset without curvature (no example active) would have an infinite step.
OFFSET_RIDGE = 1e-10
#: A whole step is taken where the slope along it falls to this share.
ENOUGH = 0.5
#: A matrix is kept where the last step took the gap to this share.
KEPT = 0.05
#: A solve starts on an eighth of the rows where there are so many, and so many for each column: few rows do not tell much.
NESTED = (16_000, 32), (4_000, 256)


def newton(problem: LinearProblem, loop: Loop, start: np.ndarray | None = None) -> None:
    """Records its points in ``loop``; goes on beyond the tolerance while steps still pay."""
    n = problem.n
    theta = _no_slope(problem)
    if start is not None:
        theta = start.copy()
    elif any(n >= many and n >= dense * problem.d for many, dense in NESTED):
        theta = start_from_subset(problem, loop, newton, lambda rows: 0.03 * problem.d / rows)
    system = _System(problem, loop)
    loop.system = system  # in the place of that of fewer rows, which are gone with it before others are copied
    if not loop.rough:
        problem.use_fast_copy(many=False)
    z, g, h = np.empty(n), np.empty(n), np.empty(n)
    scratch: np.ndarray | None = None
    loss, data_part = problem.loss_and_gradient(theta, LossAtScores(z, g, h), loop.tick)
    if not problem.penalty(theta) + loss <= problem.primal_at_zero() and theta[:-1].any():
        # Far out the losses are straight, and Newton's steps blind: zero is the better start.
        theta = _no_slope(problem)
        loss, data_part = problem.loss_and_gradient(theta, LossAtScores(z, g, h), loop.tick)

    def own(point: np.ndarray) -> Callable[[], np.ndarray]:
        """The dual point of a point, made when it is asked for, which is at the end: -g, if we are still there."""

        def make() -> np.ndarray:
            if theta is not point:
                return problem.dual_from_primal(point)
            return problem.repair(np.negative(g, out=h), out=h)

        return make

    gap_before, primal_before, left_before, stale = np.inf, np.inf, np.inf, 0
    while True:
        primal = problem.penalty(theta) + loss
        gradient = data_part + theta
        if problem.free:
            gradient[-1] = data_part[-1]
            scratch = np.empty(n) if scratch is None else scratch
        left = _left(problem, gradient, h)
        if loop.rough:
            # A start for somebody else, which nobody will certify: what is left is near enough to the gap.
            gap = left
            loop.record(theta, own(theta), primal, primal - gap, ends=False)
        else:
            gap = _record(problem, loop, theta, g, scratch, data_part, gradient, primal, own(theta))
        if not worth_going_on(problem, loop, gap, gap_before):
            loop.know_scores(theta, z)
            if not problem.free and sums_like_combine(problem.pass_rows):
                loop.know_combined(-data_part)
            return
        stale = stale + 1 if gap >= gap_before and primal >= primal_before else 0
        if stale >= 3 or not np.isfinite(primal):
            return
        slow = left > KEPT * left_before
        gap_before, primal_before, left_before = (
            min(gap, gap_before),
            min(primal, primal_before),
            min(left, left_before),
        )
        step = system.solve(h, gradient, primal, slow=slow)
        if problem.rows.constant == 0.0:
            step[-1] = 0.0
        downhill = float(gradient @ step)
        if loop.rough and -0.5 * downhill <= loop.stop.relative_gap * primal:
            # By these second derivatives the step gains less than is asked for: it is the last, and nobody needs to see its end.
            loop.best_theta = theta + step
            return
        loss, data_part = problem.loss_and_gradient(theta + step, LossAtScores(z, g, h), loop.tick)
        if abs(_slope(problem, theta + step, data_part, step)) <= ENOUGH * abs(downhill):
            theta = theta + step
        else:
            # Too far, or not far enough: along the step, then.
            problem.scores(theta, loop.tick, out=z)
            scratch = problem.scores(step, loop.tick, out=scratch)
            t = _walk(problem, theta, step, z, scratch, g, h, downhill)
            theta = theta + t * step
            loss, data_part = problem.loss_and_gradient(theta, LossAtScores(z, g, h), loop.tick)
            if t == 0.0:
                return
        loop.advance()


def _no_slope(problem: LinearProblem) -> np.ndarray:
    """w = 0, and the best free offset for it: else the first steps do little but look for that."""
    theta = np.zeros(problem.d + 1)
    if problem.free and isinstance(problem.loss, Logistic | SquaredHinge):
        positive, negative = problem.masses
        if positive > 0.0 and negative > 0.0:
            smooth = isinstance(problem.loss, Logistic)
            theta[-1] = np.log(positive / negative) if smooth else (positive - negative) / (positive + negative)
    return theta


def _left(problem: LinearProblem, gradient: np.ndarray, h: np.ndarray) -> float:
    """What steps in w and in b alone could still gain: no bound, as the gap is, but it falls as the steps bring it down."""
    if not problem.free:
        return 0.5 * float(gradient @ gradient)
    w, b, bend = gradient[:-1], float(gradient[-1]), float(h.sum())
    return 0.5 * float(w @ w) + (0.5 * b * b / bend if bend > 0.0 else 0.0)


def _slope(problem: LinearProblem, theta: np.ndarray, data_part: np.ndarray, step: np.ndarray) -> float:
    """dP/dt along the step, at theta."""
    w, s = (theta[:-1], step[:-1]) if problem.free else (theta, step)
    return float(w @ s + data_part @ step)


def _record(
    problem: LinearProblem,
    loop: Loop,
    theta: np.ndarray,
    g: np.ndarray,
    scratch: np.ndarray | None,
    data_part: np.ndarray,
    gradient: np.ndarray,
    primal: float,
    own: Callable[[], np.ndarray],
) -> float:
    """Record the point and its own dual point, which need not be kept: theta says it all; the gap between them."""
    if not problem.free:
        gap = 0.5 * float(gradient @ gradient)
        loop.record(theta, own, primal, primal - gap, ends=False)
        return gap
    w = gradient[:-1]
    missing = -float(data_part[-1])  # sum u, times the constant feature's 1
    price = problem.offset_bound(primal) * abs(missing) - float(theta[-1]) * missing
    gap = 0.5 * float(w @ w) + price
    enough = loop.stop.relative_gap * primal
    # Where w alone is not there yet, no better dual point would help.
    if price > 1e-3 * enough and gap - price <= enough:
        few = problem.n <= FEW
        u = np.negative(g, out=None if few else scratch)
        u = problem.repair(u, out=u)
        combined = problem.combine(u)
        dual = problem.dual(u, primal, combined)
        if primal - dual < gap and few:
            loop.record(theta, lambda: u, primal, dual, ends=False)  # not to be copied: nobody else writes there
            loop.know_combined(combined)
            return primal - dual
        gap = min(gap, primal - dual)
    loop.record(theta, own, primal, primal - gap, ends=False)
    return gap


class _System:
    """The system of a step: written out where it is small, or as narrow as the data is short; else iterated."""

    def __init__(self, problem: LinearProblem, loop: Loop) -> None:
        self.problem, self.loop = problem, loop
        n, d = problem.n, problem.d + 1
        self.inner = R.row_products(problem.rows, np.arange(n), loop.tick) if n < problem.d and n <= DIRECT else None
        # Sparse rows have few pairs, and rare columns that a sample would miss; narrow rows cost little more than products.
        sparse = R.is_sparse(problem.rows)
        products = 8.0 if sparse else 2.5
        cheap = d <= DIRECT and gram_cost(problem.rows, n) + 0.02 * d**3 <= products * curved_cost(problem.rows)
        written = n * d <= SMALL or self.inner is not None or cheap
        self.iterated = None if written else NewtonSystemCG(problem, loop.tick)
        self.first: float | None = None
        # A look costs less than a matrix: that of a while ago, or of a smaller copy of the problem, is as good as long as each
        # step gains a digit.  Steps to machine precision, on small data, have their own.
        self.keeps = loop.rough or n * d > SMALL
        self.kept: NewtonSystem | None = None
        if self.iterated is None and self.keeps and isinstance(loop.system, _System):
            self.kept = loop.system.kept

    def solve(self, h: np.ndarray, gradient: np.ndarray, primal: float, slow: bool = True) -> np.ndarray:
        ridge = OFFSET_RIDGE * float(h.sum() or 1.0) if self.problem.free else 1.0
        if self.iterated is None:
            if slow or self.kept is None:
                inside = h > 1e-18 * h.max(initial=0.0)
                system = NewtonSystem(
                    self.problem.rows, h, inside, ridge, tick=self.loop.tick, inner=self.inner, tolerance=1e-8
                )
                self.kept = system if self.keeps and system.way == "cholesky" else None
                return system.solve(-gradient)
            return self.kept.solve(-gradient)
        size = float(np.linalg.norm(gradient))
        self.first = size if self.first is None else self.first
        # A gap of tol P needs a gradient of sqrt(2 tol P): closer than half of that is not worth an iteration.
        enough = 0.5 * np.sqrt(2.0 * self.loop.stop.relative_gap * max(primal, 0.0))
        share = min(0.05, 0.5 * np.sqrt(size / self.first)) if self.first > 0.0 else 0.05
        return self.iterated.solve(h, -gradient, ridge, max(min(enough, 0.2 * size), share * size))


def worth_going_on(problem: LinearProblem | Multinomial, loop: Loop, gap: float, before: float) -> bool:
    """Past the tolerance: on, while each step still pays, on small data; elsewhere a step is no small part of the fit."""
    if loop.n_iter >= loop.stop.passes:
        return False
    if loop.relative_gap > loop.stop.relative_gap:
        return True
    if loop.rough:
        return False
    return problem.n * (problem.d + 1) <= SMALL and gap <= 0.25 * before and loop.relative_gap > 1e-15


def _walk(
    problem: LinearProblem,
    theta: np.ndarray,
    step: np.ndarray,
    z: np.ndarray,
    along: np.ndarray,
    g: np.ndarray,
    h: np.ndarray,
    slope: float,
) -> float:
    """The t near 1 at which dP/dt along the step has lost at least half of its size (P is convex along it). ``slope`` is
    dP/dt at 0."""
    w, s = (theta[:-1], step[:-1]) if problem.free else (theta, step)
    linear, square = float(w @ s), float(s @ s)

    def slope_and_bend(t: float) -> tuple[float, float]:
        _, slope_along, bend_along = problem.derivatives_along(LossAtScores(z, g, h), along, t)
        return linear + t * square + slope_along, square + bend_along

    return find_step_length(slope_and_bend, share=ENOUGH, start=slope)
