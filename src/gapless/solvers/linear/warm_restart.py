"""Go on from a pair (theta, u) that is nearly right: the solution at a neighbouring C.

Cold solvers rebuild one half of the pair from the other, which at large C undoes nearly all of it: of w = sum u x the errors are
those of u times the length of the data.  Here both halves are kept.  For the hinge semismooth Newton begins at theta with the
multipliers u and a narrow band.  For smooth losses the gradient at another C is known without a look at the data,

    grad P_C(w) = w + C grad L(w),        grad L from the point before,

and so is Newton's step there, with the second derivatives of an earlier C and what the steps since have shown of them (BFGS:
the path goes on in nearly the direction it came from).  Mostly one look at the data then shows that the point is good enough.
Where that does not do, the cold plan does, from the same start; where passes over the data are cheap it does so at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from gapless.problems.examples.protocol import Handle, LinearExamples
from gapless.problems.linear import LinearProblem
from gapless.solvers.linear.newton import newton, offset_ridge
from gapless.solvers.linear.newton_point import NewtonPoint
from gapless.solvers.linear.semismooth_newton import semismooth
from gapless.solvers.linear.solve import passes_are_cheap, solve
from gapless.solvers.linear.thresholds import LINEAR_THRESHOLDS
from gapless.solvers.loop import Ended, Loop, Stop, Watch
from gapless.solvers.solution import Solution


class KeptCurvature:
    """Derivatives of a smooth loss from earlier points of the path, for costs that sum to 1: sum c l'' x x' as ``matrix``, and
    sum c l' x at the last theta as ``slope``."""

    def __init__(self) -> None:
        self.matrix: np.ndarray | None = None
        self.theta: np.ndarray | None = None
        self.slope: np.ndarray | None = None
        self.combined: np.ndarray | None = None  #: sum u x of the last solution, if its u was not repaired
        self.mass = 0.0

    def keep(self, problem: LinearExamples, h: Handle, tick: Callable[[], None]) -> None:
        """Compute the second derivatives from the data."""
        self.matrix = problem.gram(h, problem.above(h, 1e-18), tick)
        self.matrix /= problem.sum(problem.c)

    def learn(self, problem: LinearProblem, theta: np.ndarray, data_part: np.ndarray) -> None:
        """Keep the slopes at theta; their change since the last theta corrects the second derivatives along that (BFGS)."""
        mass = problem.sum(problem.c)
        slope = data_part / mass
        if self.matrix is not None and self.theta is not None and self.slope is not None:
            s, y = theta - self.theta, slope - self.slope
            along = self.matrix @ s
            kept, seen = float(s @ along), float(s @ y)
            if kept > 0.0 and seen > 1e-3 * kept:
                self.matrix += np.outer(y, y / seen) - np.outer(along, along / kept)
        self.theta, self.slope, self.mass = theta, slope, mass

    def can_predict(self, problem: LinearProblem) -> bool:
        """Whether the last point is near enough: a Newton step from it is a good guess up to twice its C, or half of it."""
        if self.matrix is None or self.theta is None or self.theta.size != problem.d + 1:
            return False
        ratio = problem.sum(problem.c) / self.mass
        return 0.5 <= ratio <= 2.0

    def predict(self, problem: LinearProblem) -> np.ndarray:
        """The end of a Newton step from the last point, at this C."""
        assert self.theta is not None
        assert self.slope is not None
        gradient = problem.gradient(self.theta, problem.sum(problem.c) * self.slope)
        return self.theta - self.solve(problem, gradient)

    def solve(self, problem: LinearProblem, right: np.ndarray) -> np.ndarray:
        """Solve the system of Newton's step with the kept second derivatives."""
        assert self.matrix is not None
        system = self.matrix * problem.sum(problem.c)
        ridge = np.ones(right.size)
        if problem.free:
            ridge[-1] = offset_ridge(float(system[-1, -1]))
        system[np.diag_indices(right.size)] += ridge
        step = cho_solve(cho_factor(system, lower=True, check_finite=False), right, check_finite=False)
        if problem.constant == 0.0:
            step[-1] = 0.0
        return step


def solve_from_neighbour(
    problem: LinearProblem,
    stop: Stop,
    start: tuple[np.ndarray, np.ndarray] | None,
    *,
    ready: bool = False,
    curvature: KeptCurvature | None = None,
    **options: Any,
) -> Solution:
    """The solution at a C beside that of ``start``.

    ``ready``: the pair is known to be good enough, and comes back as it is.  ``curvature`` is kept from point to point;
    without a start it predicts the solution.  The other options are those of `solve`, which takes over where this fails.
    """
    if curvature is not None:
        curvature.combined = None
    if ready and start is not None:
        return Solution(start[0], problem.repair(start[1]), "converged", 0, 0.0, "neighbour")
    if not problem.loss.smooth and passes_are_cheap(problem):
        return solve(problem, stop, start=start, **options)
    loop = Loop(stop, options.get("watch", Watch()))
    used = "newton" if problem.loss.smooth else "semismooth"
    with np.errstate(all="ignore"):
        try:
            if not np.isfinite(problem.R2):
                loop.end("not_finite")
            if problem.loss.smooth:
                _continue_smooth(problem, loop, start, curvature)
            else:
                assert start is not None
                _continue_hinge(problem, loop, start)
        except (Ended, FloatingPointError, np.linalg.LinAlgError):
            pass
    theta, u, scores = loop.best_theta, loop.best_u, loop.best_scores
    failed = not loop.relative_gap <= stop.relative_gap and loop.status in (None, "converged")
    if theta is None or u is None or failed:  # nothing was recorded where it was stopped before the first point
        left = stop if stop.seconds is None else replace(stop, seconds=max(0.0, stop.seconds - loop.seconds))
        best = start if theta is None or u is None else (theta, u)
        return solve(problem, left, start=best, **options)
    if not problem.loss.smooth and problem.free:
        theta, scores = theta.copy(), None
        theta[-1] = 0.0
        theta[-1] = problem.best_offset(problem.scores(theta))
    status = loop.status or "converged"
    return Solution(theta, u, status, loop.n_iter, loop.seconds, used, loop.history, scores)


def _continue_hinge(problem: LinearProblem, loop: Loop, start: tuple[np.ndarray, np.ndarray]) -> None:
    theta, u = start[0], problem.repair(start[1])
    z = problem.scores(theta, loop.tick)
    primal = problem.primal(theta, z)
    loop.record(theta, u, primal, problem.dual(u, primal), scores=z)
    # The first band is 0.02 margins wide: few rows change sides between two neighbours.
    semismooth(problem, loop, u, theta=theta, width=0.02)


def _continue_smooth(
    problem: LinearProblem, loop: Loop, start: tuple[np.ndarray, np.ndarray] | None, curvature: KeptCurvature | None
) -> None:
    theta = None if start is None else start[0]
    if curvature is not None and problem.d < LINEAR_THRESHOLDS.kept_curvature_columns:
        _step_with_kept_curvature(problem, loop, theta, curvature)
    if not loop.relative_gap <= loop.stop.relative_gap:
        newton(problem, loop, theta if loop.best_theta is None and start is not None else loop.best_theta)


def _step_with_kept_curvature(
    problem: LinearProblem, loop: Loop, theta: np.ndarray | None, curvature: KeptCurvature
) -> None:
    """Newton's steps, undamped, with the second derivatives at hand; with new ones after two steps, or where these fail."""
    kept_steps = 2
    if theta is None:
        theta = curvature.predict(problem)
        loop.advance()
    point, before = NewtonPoint(problem, loop), np.inf
    for step in range(kept_steps + 2):
        point.move_to(theta)
        curvature.learn(problem, theta, point.data_part)
        gradient = point.gradient
        gap = point.record(gradient)
        if loop.relative_gap <= loop.stop.relative_gap:
            if loop.best_theta is not None and np.array_equal(loop.best_theta, theta):  # all of it is at hand
                loop.keep_pair(point.at.z, problem.dual_at(point.at, out=point.at.g))
                known = not problem.free and problem.sums_like_combine
                curvature.combined = -point.data_part if known else None
            return
        if not gap < before:
            return
        if curvature.matrix is None or step >= kept_steps or gap > 0.1 * before:
            curvature.keep(problem, point.at.h, loop.tick)
        before = gap
        theta = theta - curvature.solve(problem, gradient)
        loop.advance()
