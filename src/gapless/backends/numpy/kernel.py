"""Solve a small `KernelDual` without a kernel of numba: LIBSVM's point, repaired, and the active-set polish.

LIBSVM is asked for a violation in proportion to the gap. Where its point misses the gap, the polish goes on from it, which is a
few linear systems on the free variables; where the polish stalls, LIBSVM is asked once more, for as much as its single
precision can tell; and where that does not help, pairs go on, by numba. The way is chosen by shapes and figures of the problem,
never by the clock.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gapless.backends.numpy.kernel_libsvm import Point, effort_for, run_libsvm
from gapless.numbers import relative_gap
from gapless.problems.kernel import KernelDual, KernelFigures, evaluate_point
from gapless.solvers.kernel.cholesky import lengthen_until_no_hinge
from gapless.solvers.kernel.interior_point import solve_by_interior_point
from gapless.solvers.kernel.meeting_hulls import ends_at_nothing
from gapless.solvers.kernel.polish import PolishedPoint, polish
from gapless.solvers.kernel.solve import solve_kernel
from gapless.solvers.loop import Ended, Loop, Stop, Watch
from gapless.solvers.solution import Solution, Status


def solve_small(
    problem: KernelDual,
    stop: Stop,
    *,
    start: np.ndarray | None = None,
    point: Point | None = None,
    watch: Watch = Watch(),
    positive: bool = True,
    exact: bool = False,
) -> Solution:
    """What `solve_kernel` gives. ``point``: LIBSVM's, where it is known already; ``exact``: go on to machine precision."""
    search = _Search(problem, Loop(stop, watch), positive, exact)
    with np.errstate(all="ignore"):
        status = search.run(start, point)
    if status is None and not search.done:
        return search.go_on(watch)
    loop, ended = search.loop, status or "converged"
    return Solution(
        search.figures.scalars, search.beta, ended, loop.n_iter, loop.seconds, search.solver, loop.history, search.scores
    )  # fmt: skip


class _Search:
    """The point that a fit has reached, its scores and its figures."""

    def __init__(self, problem: KernelDual, loop: Loop, positive: bool, exact: bool) -> None:
        self.problem, self.loop, self.positive, self.exact = problem, loop, positive, exact
        self.steps: list[str] = []  #: what took part, in order
        self.done = False
        self.taken = False
        self.nothing = False  #: w = 0 is optimal up to rounding

    @property
    def solver(self) -> str:
        return "+".join(dict.fromkeys(self.steps)) or "none"

    def take(self, beta: np.ndarray, scores: np.ndarray | None = None) -> None:
        """Stand at a feasible beta."""
        self.beta = beta
        self.scores = self.problem.scores(beta) if scores is None else scores
        self.figures: KernelFigures = evaluate_point(self.problem, beta, self.scores)
        self.taken = True

    def run(self, start: np.ndarray | None, point: Point | None) -> Status | None:
        """Go to the gap; the status where the loop ended the fit."""
        loop, problem = self.loop, self.problem
        try:
            if not np.isfinite(problem.R2):
                loop.end("not_finite")
            loop.tick()
            if not self.positive:
                self._violate_little(point)
                return None
            if start is not None:
                self._improve(problem.repair(start))
                self.done = self._reaches() or self._polish()
            for violation in (loop.stop.relative_gap, 0.0):
                if self.done or (self.taken and self._reaches()):
                    break
                found = self._ask(violation) if point is None else point
                point = None
                if found is None:
                    return None
                self._count(found)
                self._improve(found.beta)
                if not self._reaches() and loop.n_iter >= loop.stop.passes:
                    return "max_iter"
                self.done = self._reaches() or self._polish() or self._go_inside()
            longer, scores = lengthen_until_no_hinge(problem, self.beta, self.scores, self.figures)
            if scores is not self.scores:
                self.take(longer, scores)
            self.done = self.nothing or self._reaches() or (self.done and self._reaches(loop.stop.relative_gap))
            return None
        except Ended:
            pass
        except KeyboardInterrupt:
            loop.interrupt()
        if loop.best_u is not None or not self.taken:
            self.take(problem.start() if loop.best_u is None else problem.repair(loop.best_u))
        return loop.status

    def _ask(self, violation: float) -> Point | None:
        """LIBSVM's point, down to a violation in units of the scores."""
        problem, left = self.problem, self.loop.stop.passes - self.loop.n_iter
        # What a violation is measured in: the margin of C-SVC, else the spread of the kinks.
        unit = 1.0 if problem.kind == "c_svc" else float(np.std(problem.kinks(problem.scores(problem.start()))))
        limits = left, 1, problem.kind == "nu_svc"
        return run_libsvm(problem, effort_for(violation, unit, problem.n_points, problem.n, limits))

    def _count(self, found: Point) -> None:
        self.loop.advance(found.passes)
        self.steps.append("libsvm")

    def _note(self) -> None:
        scalars, primal, _, gap = self.figures
        self.loop.record(scalars, self.beta, primal, primal - gap, ends=False)

    def _improve(self, beta: np.ndarray) -> None:
        """Take a point where it is better."""
        before = (self.beta, self.scores, self.figures) if self.taken else None
        self.take(beta)
        self._note()
        if before is not None and not self.figures.gap < before[2].gap:
            self.beta, self.scores, self.figures = before

    @property
    def _wanted(self) -> float:
        """The relative gap that was asked for, or rounding where the fit shall be exact."""
        rounding = 1e-12
        return min(rounding, self.loop.stop.relative_gap) if self.exact else self.loop.stop.relative_gap

    def _reaches(self, wanted: float | None = None) -> bool:
        """Whether the relative gap is the wanted one."""
        wanted = self._wanted if wanted is None else wanted
        _, primal, _, gap = self.figures
        return gap <= self.problem.negligible_gap or relative_gap(primal, primal - gap) <= wanted

    def _polish(self) -> bool:
        """Polish; True where the gap is reached, or where the point is the optimum up to rounding."""
        # Rounds: a good guess of the sets settles in 2 or 3, and a bad one costs more than an interior point: as most are where
        # the classes of nu-SVC nearly meet and the gap is wide.
        few, near = 8, 0.1 if self.problem.kind == "nu_svc" else np.inf
        _, primal, _, gap = self.figures
        if relative_gap(primal, primal - gap) > near:
            return False
        return self._keep(polish(self.problem, self.loop, self.beta, self.scores, rounds=few), "polish")

    def _go_inside(self) -> bool:
        """The same by an interior point, once."""
        if "interior_point" in self.steps:
            return False
        found = solve_by_interior_point(self.problem, self.loop, self._wanted)
        reached = found is not None and self._keep(found, "interior_point")
        self.nothing = ends_at_nothing(self.problem, self.beta, self.scores, self.figures)
        return reached or self.nothing

    def _keep(self, found: PolishedPoint, step: str) -> bool:
        if found.gap < self.figures.gap:
            self.steps.append(step)
            self.take(found.beta)  # the scores of a polish are sums of steps, whose rounding a small u does not tell
        return found.settled or self._reaches()

    def _violate_little(self, point: Point | None) -> None:
        """Without a dual bound a fit ends where no pair is out of order by more than what was asked for."""
        enough = self.loop.stop.relative_gap
        found = self._ask(0.3 * enough) if point is None else point
        if found is None:
            return
        self._count(found)
        self.take(found.beta)
        self._note()
        self.done = self.problem.violation(self.beta, self.scores) <= enough

    def go_on(self, watch: Watch) -> Solution:
        """Pairs go on from the point that was reached."""
        loop, stop = self.loop, self.loop.stop
        start = self.beta if self.taken else None
        left = None if stop.seconds is None else max(0.0, stop.seconds - loop.seconds)
        found = solve_kernel(
            self.problem, replace(stop, passes=max(1, stop.passes - loop.n_iter), seconds=left), start=start,
            watch=watch, positive=self.positive, exact=self.exact,
        )  # fmt: skip
        return replace(
            found, n_iter=found.n_iter + loop.n_iter, seconds=loop.seconds, history=loop.history + found.history,
            solver="+".join(dict.fromkeys([*self.steps, *found.solver.split("+")])),
        )  # fmt: skip
