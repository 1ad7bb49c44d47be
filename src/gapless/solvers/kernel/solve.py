"""Solve a `KernelDual`: SMO, then the polish where it is worth its price."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gapless.numbers import relative_gap
from gapless.problems.kernel import KernelDual, KernelFigures, evaluate_point
from gapless.solvers.kernel.cholesky import lengthen_until_no_hinge, solve_by_cholesky
from gapless.solvers.kernel.float64_scores import ApproximateScores
from gapless.solvers.kernel.polish import polish
from gapless.solvers.kernel.smo import smo
from gapless.solvers.loop import Ended, Interruption, Loop, Stop
from gapless.solvers.solution import Event, Solution, Status

#: Points up to which every fit goes on to machine precision.
SMALL = 1500
#: The relative gap at which the sets of a small problem are right nearly always.
TIGHT = 1e-9
#: Passes after which a small problem is looked at by other means.
FEW = 8


def solve_kernel(
    problem: KernelDual,
    stop: Stop,
    *,
    start: np.ndarray | None = None,
    callback: Callable[[Event], None] | None = None,
    interruption: Interruption | None = None,
    positive: bool = True,
) -> Solution:
    """beta as ``u``, the scalars as ``theta``, the scores of w = sum s beta phi as ``scores``.

    Where the kernel is not ``positive`` there is no gap to stop by: the fit ends where no pair is out of order.
    """
    small = problem.n_points <= SMALL and problem.gram.single is None
    # A small problem is polished early, and goes on with SMO only where the sets do not hold.
    aims = (1e-3, 1e-6, TIGHT) if small and positive else (stop.relative_gap if positive else 0.0,)
    loop = Loop(Stop(aims[0], stop.passes, stop.seconds), callback=callback, interruption=interruption)
    status: Status | None = None
    point: tuple[np.ndarray, np.ndarray | None] = problem.start() if start is None else problem.repair(start), None
    known = ApproximateScores(np.zeros(0), np.zeros(0))
    with np.errstate(all="ignore"):
        try:
            if not np.isfinite(problem.R2):
                loop.record(np.zeros(2), point[0], np.inf, -np.inf, ends=False)
                loop.end("not_finite")
            hard = False
            for aim in aims:
                few = hard or (small and positive and aim == aims[0])
                passes = min(stop.passes, loop.n_iter + FEW) if few else stop.passes
                loop.stop = Stop(min(aim, stop.relative_gap) if aim == aims[-1] else aim, passes, stop.seconds)
                beta, known = smo(problem, loop, start, enough=0.0 if positive else stop.relative_gap)
                point = beta, known.scores
                reached = positive and _relative_gap(_figures(problem, *point, known)) <= stop.relative_gap
                if positive and (small or not reached):  # elsewhere new scores alone would cost a third of the fit
                    found = polish(problem, loop, *point)
                    if small and not found.settled and aim == aims[0] and problem.kind == "c_svc":
                        better = solve_by_cholesky(problem, loop)
                        if better is not None:
                            other = polish(problem, loop, better, problem.scores(better))
                            found = other if other.gap < found.gap else found
                        hard = True  # neither pairs nor an interior point: more pairs will not do it
                        if _relative_gap(evaluate_point(problem, found.beta, found.scores)) <= stop.relative_gap:
                            point = found.beta, None
                            break
                    start, point = found.beta, (found.beta, None)
                    if found.settled or found.gap <= problem.negligible_gap or loop.n_iter >= stop.passes:
                        break
        except Ended:
            status = loop.status
            point = (point[0] if loop.best_u is None else loop.best_u), None
        except KeyboardInterrupt:
            loop.interrupt()
            status = loop.status
            point = (point[0] if loop.best_u is None else loop.best_u), None
        beta = point[0] if point[1] is not None else problem.repair(point[0])
        scores = problem.scores(beta) if point[1] is None else point[1]
        values = _figures(problem, beta, scores, known)
        if positive:
            longer = lengthen_until_no_hinge(problem, beta, scores, values)
            if longer[1] is not scores:
                beta, scores = longer
                values = evaluate_point(problem, beta, scores)
        scalars, primal, _, gap = values
    off = known.off if scores is known.scores and known.off.any() else None
    reached = positive and relative_gap(primal, primal - gap) <= stop.relative_gap
    if status is None or (status == "converged" and not reached):
        status = "converged" if reached else ("max_iter" if loop.n_iter >= stop.passes else "stalled")
    return Solution(scalars, beta, status, loop.n_iter, loop.seconds, "smo", loop.history, scores, off=off)


def _figures(problem: KernelDual, beta: np.ndarray, scores: np.ndarray, known: ApproximateScores) -> KernelFigures:
    if scores is known.scores and known.figures is not None:
        return known.figures
    return evaluate_point(problem, beta, scores)


def _relative_gap(found: KernelFigures) -> float:
    _, primal, _, gap = found
    return relative_gap(primal, primal - gap)
