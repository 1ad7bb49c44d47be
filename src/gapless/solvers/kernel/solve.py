"""Solve a `KernelDual` in stages: SMO down to a relative gap, then the polish where it is worth its price.

SMO goes down to the gap that was asked for.  A polish goes on to machine precision where it adds at most a fifth to the
multiplications of the fit, and on small problems whose rows have no order of their own: equal problems would go other ways
there, and two points of one gap differ by its root.  Where SMO does not reach the gap in few passes, the polish and a Cholesky
factor (C-SVC) or an interior point take turns with it.  The choice is made from shapes and counts, never from the clock.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapless.numbers import relative_gap
from gapless.problems.kernel import KernelDual, KernelFigures, evaluate_point
from gapless.solvers.kernel.cholesky import lengthen_until_no_hinge, solve_by_cholesky
from gapless.solvers.kernel.float64_scores import ApproximateScores
from gapless.solvers.kernel.interior_point import solve_by_interior_point
from gapless.solvers.kernel.meeting_hulls import ends_at_nothing
from gapless.solvers.kernel.polish import PolishedPoint, polish, work_of_round
from gapless.solvers.kernel.smo import smo
from gapless.solvers.kernel.thresholds import KERNEL_THRESHOLDS
from gapless.solvers.loop import Ended, Loop, Stop, Watch
from gapless.solvers.solution import Solution, Status


class Stage(NamedTuple):
    """A call of SMO down to a relative gap of ``gap``, and the polish after it."""

    gap: float
    #: SMO has `_Search.BRIEF_PASSES` passes, not all; where the polish does not settle, the start that a Cholesky factor of K
    #: gives is polished, too (C-SVC), or an interior point goes on.
    brief: bool = False
    polish: bool = False  #: polish even where SMO reached the gap that was asked for


def plan_stages(problem: KernelDual, stop: Stop, positive: bool, exact: bool = False) -> list[Stage]:
    """The stages of a fit; at a gap of 1e-9 the free set of a small problem is right nearly always."""
    if not positive:
        return [Stage(0.0)]
    if problem.n_points > KERNEL_THRESHOLDS.small_points or problem.gram.single is not None:
        return [Stage(stop.relative_gap)]
    if exact:
        return _plan_exact(problem, stop, positive)
    last = min(1e-9, stop.relative_gap)
    gaps = [max(stop.relative_gap, gap) for gap in (1e-9, 1e-6, last)]
    return [Stage(gaps[0], brief=True), *(Stage(gap) for gap in dict.fromkeys(gaps[1:]))]


def _plan_exact(problem: KernelDual, stop: Stop, positive: bool) -> list[Stage]:
    """The stages of a small problem that lead to machine precision; none for another one."""
    if not positive or problem.n_points > KERNEL_THRESHOLDS.small_points or problem.gram.single is not None:
        return []
    return [
        Stage(1e-3, brief=True, polish=True),
        Stage(1e-6, polish=True),
        Stage(min(1e-9, stop.relative_gap), polish=True),
    ]


def solve_kernel(
    problem: KernelDual,
    stop: Stop,
    *,
    start: np.ndarray | None = None,
    watch: Watch = Watch(),
    positive: bool = True,
    exact: bool = False,
) -> Solution:
    """beta as ``u``, the scalars as ``theta``, the scores of w = sum s beta phi as ``scores``.

    Where the kernel is not ``positive`` there is no gap to stop by: the fit ends where no pair is out of order. ``exact``: a
    small problem goes on to machine precision, because to it the same rows in another order are another matrix.
    """
    stages = plan_stages(problem, stop, positive, exact)
    loop = Loop(Stop(stages[0].gap, stop.passes, stop.seconds), watch)
    search = _Search(problem, stop, loop, positive, start)
    with np.errstate(all="ignore"):
        status = search.run(stages, _plan_exact(problem, stop, positive) if not exact else [])
        beta, scores, figures = search.evaluate()
    known = search.known
    off = known.off if scores is known.scores and known.off.any() else None
    reached = positive and search.reaches(figures)
    if status is None or (status == "converged" and not reached):
        status = "converged" if reached else ("max_iter" if loop.n_iter >= stop.passes else "stalled")
    solver = "smo+interior_point" if search.inside else "smo"
    return Solution(figures.scalars, beta, status, loop.n_iter, loop.seconds, solver, loop.history, scores, off=off)


class _Search:
    """The point that a fit has reached: ``beta``, its ``scores`` where SMO computed them, and what ``known`` is of these."""

    #: Passes of SMO before a small problem is polished; fewer leave the free set a guess, more cost as much as the polish.
    BRIEF_PASSES = 8

    def __init__(self, problem: KernelDual, stop: Stop, loop: Loop, positive: bool, start: np.ndarray | None) -> None:
        self.problem, self.stop, self.loop, self.positive, self.start = problem, stop, loop, positive, start
        self.beta = problem.start() if start is None else problem.repair(start)
        self.scores: np.ndarray | None = None
        self.known = ApproximateScores(np.zeros(0), np.zeros(0))
        self.inside = False  #: an interior point found the point that is kept
        self.hard = False  #: the polish did not settle from SMO's point, nor from that of the Cholesky factor

    def run(self, stages: list[Stage], again: list[Stage]) -> Status | None:
        """Run the stages until one ends the fit, and others from the beginning where the gap is not reached; returns the status
        where the loop ended it."""
        loop = self.loop
        try:
            if not np.isfinite(self.problem.R2):
                loop.record(np.zeros(2), self.beta, np.inf, -np.inf, ends=False)
                loop.end("not_finite")
            self._run_stages(stages)
            if again and self.loop.n_iter < self.stop.passes and not self.reaches(self._figures_now()):
                self._start_again(again)
            return None
        except Ended:
            pass
        except KeyboardInterrupt:
            loop.interrupt()
        self.beta, self.scores = self.beta if loop.best_u is None else loop.best_u, None
        return loop.status

    def _run_stages(self, stages: list[Stage]) -> None:
        for stage in stages:
            if self._run_stage(stage):
                return

    def _start_again(self, stages: list[Stage]) -> None:
        """A rougher point may lead the polish to a free set that a finer one hides: costs of 1 and 1e-9 stalled at 1e-10."""
        before, gap = self.beta, self._figures_now().gap
        self.start, self.hard = None, False
        self._run_stages(stages)
        if not self._figures_now().gap <= gap:
            self.beta, self.scores = before, None

    def _figures_now(self) -> KernelFigures:
        scores = self.problem.scores(self.beta) if self.scores is None else self.scores
        return self._figures(self.beta, scores)

    def _run_stage(self, stage: Stage) -> bool:
        """SMO and the polish; True where no further stage is needed."""
        problem, loop, stop = self.problem, self.loop, self.stop
        # On a hard problem more pairs do not help: the later stages are brief as well.
        passes = min(stop.passes, loop.n_iter + self.BRIEF_PASSES) if stage.brief or self.hard else stop.passes
        loop.stop = Stop(stage.gap, passes, stop.seconds)
        self.beta, self.known = smo(problem, loop, self.start, enough=0.0 if self.positive else stop.relative_gap)
        self.scores = self.known.scores
        if not self.positive:
            return False
        figures = self._figures(self.beta, self.scores)
        if figures.gap <= problem.negligible_gap:
            return True
        if not stage.polish and self.reaches(figures):
            self._polish_if_cheap()
            return True
        found = polish(problem, loop, self.beta, self.scores)
        if stage.brief and not found.settled and loop.n_iter < stop.passes:
            found = self._polish_from_cholesky(found) if problem.kind == "c_svc" else self._go_inside(found)
            self.hard = True
            figures = evaluate_point(problem, found.beta, found.scores)
            if self.reaches(figures) or ends_at_nothing(problem, found.beta, found.scores, figures):
                self.beta, self.scores = found.beta, None
                return True
        self.start, self.beta, self.scores = found.beta, found.beta, None
        return found.settled or found.gap <= problem.negligible_gap or loop.n_iter >= stop.passes

    def _polish_if_cheap(self) -> None:
        """Polish the point that reached the gap, where the rounds that most polishes take add at most a fifth to the fit."""
        problem, limits = self.problem, KERNEL_THRESHOLDS
        if problem.n_points > limits.small_points or problem.gram.single is not None:
            return
        free = int(np.count_nonzero((self.beta > 0.0) & (self.beta < problem.c)))
        spent = limits.fit_multiplications + problem.n_points**2 * (
            problem.gram.row_values + limits.map_multiplications
        )
        work = limits.polish_share * spent
        if limits.polish_rounds * work_of_round(problem, free) > work:
            return
        assert self.scores is not None
        found = polish(problem, self.loop, self.beta, self.scores, work=work)
        if found.settled:
            self.beta, self.scores = found.beta, None

    def _go_inside(self, found: PolishedPoint) -> PolishedPoint:
        """The better one of a polished point and that of an interior point, which has as many passes as the user left."""
        self.loop.stop = self.stop
        other = solve_by_interior_point(self.problem, self.loop, self.stop.relative_gap)
        self.inside = other is not None and other.gap < found.gap
        return other if other is not None and self.inside else found

    def _polish_from_cholesky(self, found: PolishedPoint) -> PolishedPoint:
        """The better one of a polished point and the one polished from the start that a Cholesky factor gives, if it does."""
        start = solve_by_cholesky(self.problem, self.loop)
        if start is None:
            return found
        other = polish(self.problem, self.loop, start, self.problem.scores(start))
        return other if other.gap < found.gap else found

    def evaluate(self) -> tuple[np.ndarray, np.ndarray, KernelFigures]:
        """beta, its scores and its figures, as they are returned."""
        problem, beta, scores = self.problem, self.beta, self.scores
        if scores is None:
            beta = problem.repair(beta)
            scores = problem.scores(beta)
        figures = self._figures(beta, scores)
        if self.positive:
            longer, own = lengthen_until_no_hinge(problem, beta, scores, figures)
            if own is not scores:
                return longer, own, evaluate_point(problem, longer, own)
        return beta, scores, figures

    def _figures(self, beta: np.ndarray, scores: np.ndarray) -> KernelFigures:
        if scores is self.known.scores and self.known.figures is not None:
            return self.known.figures
        return evaluate_point(self.problem, beta, scores)

    def reaches(self, figures: KernelFigures) -> bool:
        """Whether the gap is the one that was asked for, or counts as 0."""
        _, primal, _, gap = figures
        return relative_gap(primal, primal - gap) <= self.stop.relative_gap or gap <= self.problem.negligible_gap
