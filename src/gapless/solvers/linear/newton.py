"""Newton's method for the smooth losses (squared, squared hinge, logistic), any offset.

    minimise  P(w, b) = 1/2 |w|^2 + sum_i c_i l(y_i, <w, x_i> + b)

Each step solves (R + X' diag(c l'') X) step = -grad P and walks to where the slope along it is nearly zero: the slope
is exact down to rounding, where differences of P are not.  The gap costs nothing: see `newton_point`.
Small systems are written out and factored; large ones are solved by conjugate gradients, to the precision that this step can
use and no further.  A large problem starts from the solution of an eighth of its rows.  The squared hinge is piecewise quadratic
and ends after finitely many steps; where these are many, as on noise that can almost be separated, it goes through smaller costs.
"""

from __future__ import annotations

import itertools
from contextlib import suppress

import numpy as np

from gapless.problems.examples.protocol import Handle, LinearExamples
from gapless.solvers.linear.newton_point import NewtonPoint, NewtonProgress
from gapless.solvers.linear.subset_start import start_from_subset
from gapless.solvers.linear.thresholds import LINEAR_THRESHOLDS
from gapless.solvers.loop import SMALL_FIT_VALUES, Ended, Loop, Stop, Watch
from gapless.solvers.newton_system import FACTORED_COLUMNS, NewtonSystem
from gapless.solvers.newton_system_cg import NewtonSystemCG


def newton(problem: LinearExamples, loop: Loop, start: np.ndarray | None = None, *, straight: bool = False) -> None:
    """Record points in ``loop``; go on beyond the tolerance where that is a small part of the fit.

    ``straight``: not through smaller costs.
    """
    straight = straight or loop.rough or problem.loss.entropic
    theta = _first_theta(problem, loop, start)
    system = StepSystem(problem, loop)
    # Replaces the system of the subset start; this frees the subset's copy of the rows before the fast copy below is made.
    loop.system = system
    if not loop.rough:
        problem.use_fast_copy(many=False)
    point, progress, left_before = NewtonPoint(problem, loop), NewtonProgress(), np.inf
    point.move_to(theta)
    if not point.primal <= problem.primal_at_zero() and theta[:-1].any():
        # Far out the losses are straight, and Newton's steps blind: zero is the better start.
        point.move_to(_zero_weights(problem))
    for steps in itertools.count():
        primal, gradient = point.primal, point.gradient
        left = point.estimate_gain(gradient)
        # A solve that only provides a start is never certified: the estimate of the gain replaces the gap.
        gap = point.record_estimate(left) if loop.rough else point.record(gradient)
        if not progress.is_worth_a_step(problem, loop, gap, equal=True):
            point.hand_over()
            return
        if progress.has_stalled(gap, primal):
            return
        if steps == LINEAR_THRESHOLDS.straight_steps and gap > 0.5 * primal and not straight:
            point.move_to(_go_through_smaller_costs(problem, loop))
            progress, left_before = NewtonProgress(), np.inf
            continue
        # A matrix is kept where the last step took the gain that is left to a twentieth.
        slow = left > 0.05 * left_before
        left_before = min(left, left_before)
        step = system.solve(point.at.h, gradient, primal, slow=slow)
        if problem.constant == 0.0:
            step[-1] = 0.0
        slope = float(gradient @ step)
        if loop.rough and -0.5 * slope <= loop.stop.relative_gap * primal:
            # By these second derivatives the step gains less than is asked for: it is the last, and its end is not looked at.
            loop.best_theta = point.theta + step
            return
        if not point.take_step(step, slope):
            return
        loop.advance()


def offset_ridge(curvature: float) -> float:
    """The ridge of a free offset, for sum c l'' = ``curvature``: an offset without curvature would have an infinite step."""
    return 1e-10 * float(curvature or 1.0)


def _first_theta(problem: LinearExamples, loop: Loop, start: np.ndarray | None) -> np.ndarray:
    if start is not None:
        return start.copy()
    n, d = problem.n, problem.d
    if any(n >= rows and n >= per_column * d for rows, per_column in LINEAR_THRESHOLDS.newton_subset):
        return start_from_subset(problem, loop, newton, lambda rows: 0.03 * d / rows)
    return _zero_weights(problem)


def _zero_weights(problem: LinearExamples) -> np.ndarray:
    """w = 0, and the best free offset for it, which the first steps would otherwise have to find."""
    theta = np.zeros(problem.d + 1)
    if problem.free and problem.loss.of_margin:
        positive, negative = problem.masses
        if positive > 0.0 and negative > 0.0:
            share = (positive - negative) / (positive + negative)
            theta[-1] = np.log(positive / negative) if problem.loss.entropic else share
    return theta


def _go_through_smaller_costs(problem: LinearExamples, loop: Loop) -> np.ndarray:
    """theta of the same problem at a quarter of the costs, found from that at a sixteenth, and so on.

    Most examples pass the margin on the way from zero to a large C, a few in each step. From one C to the next they are few.
    """
    theta = _zero_weights(problem)
    for power in range(7, 0, -1):
        part = problem.scale_costs(0.25**power)
        nearer = Loop(
            Stop(0.1, loop.stop.passes - loop.n_iter, loop.stop.seconds),
            Watch(interruption=loop.interruption),
            started=loop.started,
        )
        with suppress(Ended):
            newton(part, nearer, theta, straight=True)
        theta = theta if nearer.best_theta is None else nearer.best_theta
        loop.advance(nearer.n_iter)
        loop.tick()
    return theta


class StepSystem:
    """The linear system of a step: written out where it is small, or as narrow as the data is short; else iterated."""

    def __init__(self, problem: LinearExamples, loop: Loop) -> None:
        self.problem, self.loop = problem, loop
        n, d = problem.n, problem.d + 1
        self.inner = problem.products(loop.tick) if n < problem.d and n <= FACTORED_COLUMNS else None
        # Sparse rows have few pairs, and rare columns that a sample would miss; narrow rows cost little more than products.
        products = 8.0 if problem.sparse else 2.5
        cheap = d <= FACTORED_COLUMNS and problem.gram_cost(n) + 0.02 * d**3 <= products * problem.curve_cost
        written = n * d <= SMALL_FIT_VALUES or self.inner is not None or cheap
        self.iterated = None if written else NewtonSystemCG(problem, loop.tick)
        self.first: float | None = None
        # A look costs less than a matrix: an older one, or the matrix of a smaller copy of the problem, is as good as long as
        # each step gains a digit.  Steps to machine precision, on small data, have their own.
        self.keeps = loop.rough or n * d > SMALL_FIT_VALUES
        self.kept: NewtonSystem | None = None
        if self.iterated is None and self.keeps and isinstance(loop.system, StepSystem):
            self.kept = loop.system.kept

    def solve(self, h: Handle, gradient: np.ndarray, primal: float, slow: bool = True) -> np.ndarray:
        """The step from a point with this gradient, by the second derivatives ``h``, or by older ones unless ``slow``."""
        ridge = offset_ridge(self.problem.sum(h)) if self.problem.free else 1.0
        if self.iterated is None:
            if slow or self.kept is None:
                inside = self.problem.above(h, 1e-18)
                system = NewtonSystem(
                    self.problem, h, inside, ridge, tick=self.loop.tick, inner=self.inner, tolerance=1e-8
                )
                self.kept = system if self.keeps and system.way == "cholesky" else None
                return system.solve(-gradient)
            return self.kept.solve(-gradient)
        size = float(np.linalg.norm(gradient))
        self.first = size if self.first is None else self.first
        # A gap of tol P needs a gradient of sqrt(2 tol P): closer than half of that is not worth an iteration.
        enough = 0.5 * np.sqrt(2.0 * self.loop.stop.relative_gap * max(primal, 0.0))
        share = min(0.2, 0.5 * np.sqrt(size / self.first)) if self.first > 0.0 else 0.2
        return self.iterated.solve(h, -gradient, ridge, max(min(enough, 0.2 * size), share * size))
