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
from functools import partial

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from gapless import rows as R
from gapless.problems.linear import LinearProblem
from gapless.problems.linear_sums import LossAtScores
from gapless.rows.products import sums_like_combine
from gapless.solvers.linear.newton import OFFSET_RIDGE, _record, newton
from gapless.solvers.linear.semismooth_newton import semismooth
from gapless.solvers.linear.solve import passes_are_cheap, solve
from gapless.solvers.loop import Ended, Interruption, Loop, Stop
from gapless.solvers.solution import Event, Solution

#: Width of the first band of semismooth Newton, in margins; few rows change sides between two neighbours.
BAND = 0.02
#: Steps with second derivatives of an earlier C, and the columns up to which they are kept.
CHORDS, COLUMNS = 2, 500
#: How far the next C may be, as a ratio, for Newton's step from the last point to be a good guess.
NEAR = 2.0


class KeptCurvature:
    """What the points before know of a smooth loss, for costs that sum to 1: sum c l'' x x', and the last theta with its sum
    c l' x."""

    def __init__(self) -> None:
        self.matrix: np.ndarray | None = None
        self.theta: np.ndarray | None = None
        self.slope: np.ndarray | None = None
        self.combined: np.ndarray | None = None  #: sum u x of the last solution, where u came as it is
        self.mass = 0.0

    def keep(self, problem: LinearProblem, h: np.ndarray, tick: Callable[[], None]) -> None:
        """Second derivatives from the data."""
        self.matrix = R.gram(problem.rows, h, np.flatnonzero(h > 1e-18 * h.max(initial=0.0)), tick)
        self.matrix /= float(problem.c.sum())

    def learn(self, problem: LinearProblem, theta: np.ndarray, data_part: np.ndarray) -> None:
        """The slopes at theta; the change since the last theta corrects the second derivatives along it."""
        mass = float(problem.c.sum())
        slope = data_part / mass
        if self.matrix is not None and self.theta is not None and self.slope is not None:
            s, y = theta - self.theta, slope - self.slope
            along = self.matrix @ s
            bend, seen = float(s @ along), float(s @ y)
            if bend > 0.0 and seen > 1e-3 * bend:
                self.matrix += np.outer(y, y / seen) - np.outer(along, along / bend)
        self.theta, self.slope, self.mass = theta, slope, mass

    def predicts(self, problem: LinearProblem) -> bool:
        """Whether there is a point near enough to start from."""
        if self.matrix is None or self.theta is None or self.theta.size != problem.d + 1:
            return False
        ratio = float(problem.c.sum()) / self.mass
        return 1.0 / NEAR <= ratio <= NEAR

    def predicted(self, problem: LinearProblem) -> np.ndarray:
        """A Newton step from the last point, at this C."""
        assert self.theta is not None
        assert self.slope is not None
        gradient = float(problem.c.sum()) * self.slope
        gradient[: None if not problem.free else -1] += self.theta[: None if not problem.free else -1]
        return self.theta - self.solve(problem, gradient)

    def solve(self, problem: LinearProblem, right: np.ndarray) -> np.ndarray:
        assert self.matrix is not None
        system = self.matrix * float(problem.c.sum())
        ridge = np.ones(right.size)
        if problem.free:
            ridge[-1] = OFFSET_RIDGE * float(system[-1, -1] or 1.0)
        system[np.diag_indices(right.size)] += ridge
        step = cho_solve(cho_factor(system, lower=True, check_finite=False), right, check_finite=False)
        if problem.rows.constant == 0.0:
            step[-1] = 0.0
        return step


def solve_from_neighbour(
    problem: LinearProblem,
    stop: Stop,
    start: tuple[np.ndarray, np.ndarray] | None,
    *,
    ready: bool = False,
    curvature: KeptCurvature | None = None,
    callback: Callable[[Event], None] | None = None,
    interruption: Interruption | None = None,
    seed: int = 0,
    order: np.ndarray | None = None,
) -> Solution:
    """``ready``: the pair is known to be good enough, and comes back as it is.  ``curvature`` is kept from point to point;
    without a start it predicts the solution.
    """
    hinge = not problem.loss.smooth
    if curvature is not None:
        curvature.combined = None
    if ready and start is not None:
        return Solution(start[0], problem.repair(start[1]), "converged", 0, 0.0, "neighbour")
    if hinge and passes_are_cheap(problem):
        return solve(problem, stop, start=start, callback=callback, interruption=interruption, seed=seed, order=order)
    loop = Loop(stop, callback=callback, interruption=interruption)
    used = "neighbour"
    with np.errstate(all="ignore"):
        try:
            if not np.isfinite(problem.R2):
                loop.end("not_finite")
            if hinge:
                assert start is not None
                theta, u = start[0], problem.repair(start[1])
                z = problem.scores(theta, loop.tick)
                primal = problem.primal(theta, z)
                loop.record(theta, u, primal, problem.dual(u, primal), scores=z)
                used = "semismooth"
                semismooth(problem, loop, u, theta=theta, width=BAND)
            else:
                used = "newton"
                if curvature is not None and problem.d < COLUMNS:
                    _chords(problem, loop, None if start is None else start[0], curvature)
                if not loop.relative_gap <= stop.relative_gap:
                    first = loop.best_theta if loop.best_theta is not None or start is None else start[0]
                    newton(problem, loop, first)
        except Ended:
            pass
        except (FloatingPointError, np.linalg.LinAlgError):
            pass
    nothing = loop.best_theta is None or loop.best_u is None  # stopped before the first point
    if nothing or (not loop.relative_gap <= stop.relative_gap and loop.status in (None, "converged")):
        left = stop if stop.seconds is None else replace(stop, seconds=max(0.0, stop.seconds - loop.seconds))
        best = start if loop.best_theta is None or loop.best_u is None else (loop.best_theta, loop.best_u)
        return solve(problem, left, start=best, callback=callback, interruption=interruption, seed=seed, order=order)
    assert loop.best_theta is not None
    assert loop.best_u is not None
    status = loop.status or "converged"
    theta, scores = loop.best_theta, loop.best_scores
    if hinge and problem.free:
        theta = theta.copy()
        theta[-1] = 0.0
        scores = problem.scores(theta)
        theta[-1] = problem.best_offset(scores)
        scores = None
    return Solution(theta, loop.best_u, status, loop.n_iter, loop.seconds, used, loop.history, scores)


def _chords(problem: LinearProblem, loop: Loop, theta: np.ndarray | None, curvature: KeptCurvature) -> None:
    """Newton's steps, undamped, with the second derivatives at hand; new ones where these no longer do."""
    if theta is None:
        theta = curvature.predicted(problem)
        loop.advance()
    z, g, h = np.empty(problem.n), np.empty(problem.n), np.empty(problem.n)
    scratch = np.empty(problem.n) if problem.free else None
    before = np.inf
    for step in range(CHORDS + 2):
        loss, data_part = problem.loss_and_gradient(theta, LossAtScores(z, g, h), loop.tick)
        curvature.learn(problem, theta, data_part)
        gradient = data_part + theta
        if problem.free:
            gradient[-1] = data_part[-1]
        primal = problem.penalty(theta) + loss
        own = partial(problem.dual_from_primal, theta)
        gap = _record(problem, loop, theta, g, scratch, data_part, gradient, primal, own)
        if loop.relative_gap <= loop.stop.relative_gap:
            if loop.best_theta is not None and np.array_equal(loop.best_theta, theta):  # all of it is at hand
                loop.best_scores, loop._best_u = z, problem.repair(np.negative(g, out=g), out=g)
                curvature.combined = -data_part if not problem.free and sums_like_combine(problem.pass_rows) else None
            return
        if not gap < before:
            return
        if curvature.matrix is None or step >= CHORDS or gap > 0.1 * before:
            curvature.keep(problem, h, loop.tick)
        before = gap
        theta = theta - curvature.solve(problem, gradient)
        loop.advance()
