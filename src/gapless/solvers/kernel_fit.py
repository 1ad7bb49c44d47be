"""Solve a `KernelDual`: SMO, then the polish where it is worth its price."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gapless.problems.kernel_dual import KernelDual, figures
from gapless.solvers.kernel_polish import LARGEST, polish
from gapless.solvers.loop import Ended, Interruption, Loop, Stop
from gapless.solvers.smo import smo
from gapless.solvers.solution import Event, Solution, Status, relative_gap

#: Points up to which every fit goes on to machine precision.
SMALL = 1500
#: The relative gap at which the sets of a small problem are right nearly always.
TIGHT = 1e-9
#: The share of the work of a fit that the polish may take elsewhere.
SHARE = 0.2


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
    small = problem.n_points <= SMALL
    aim = min(TIGHT, stop.relative_gap) if small else stop.relative_gap
    loop = Loop(Stop(aim if positive else 0.0, stop.passes, stop.seconds), callback=callback, interruption=interruption)
    beta = problem.start() if start is None else problem.repair(start)
    status: Status | None = None
    with np.errstate(all="ignore"):
        try:
            if not np.isfinite(problem.R2):
                loop.record(np.zeros(2), beta, np.inf, -np.inf, ends=False)
                loop.end("not_finite")
            beta, scores = _smo(problem, loop, beta, stop)
            if positive and (not _reached(problem, beta, scores, stop) or _worth_it(problem, beta, small)):
                found = polish(problem, loop, beta, scores)
                beta = found.beta
        except Ended:
            status = loop.status
            if loop.best_u is not None:
                beta = loop.best_u
        except KeyboardInterrupt:  # from a handler of the user's own; ours sets the flag instead
            loop.interruption.requested, status = True, "interrupted"
            beta = beta if loop.best_u is None else loop.best_u
        beta = problem.repair(beta)
        scores = problem.scores(beta)
        scalars, primal, _, gap = figures(problem, beta, scores)
    reached = positive and relative_gap(primal, primal - gap) <= stop.relative_gap
    if status is None or (status == "converged" and not reached):
        status = "converged" if reached else ("max_iter" if loop.n_iter >= stop.passes else "stalled")
    return Solution(scalars, beta, status, loop.n_iter, loop.seconds, "smo", loop.history, scores)


def _smo(problem: KernelDual, loop: Loop, beta: np.ndarray, stop: Stop) -> tuple[np.ndarray, np.ndarray]:
    """SMO until the point it ends at has the gap by itself, not with an earlier one's primal value."""
    for _ in range(4):
        try:
            beta, scores = smo(problem, loop, beta)
        except Ended:
            if loop.status != "converged" or loop.best_u is None:
                raise
            loop.status = None
            beta = problem.repair(loop.best_u)
            scores = problem.scores(beta, loop.tick)
        _, primal, _, gap = figures(problem, beta, scores)
        if relative_gap(primal, primal - gap) <= loop.stop.relative_gap or loop.n_iter >= stop.passes:
            break
        loop.stop = Stop(0.25 * loop.stop.relative_gap, stop.passes, stop.seconds)
        loop.best_primal = np.inf
    return beta, scores


def _reached(problem: KernelDual, beta: np.ndarray, scores: np.ndarray, stop: Stop) -> bool:
    _, primal, _, gap = figures(problem, beta, scores)
    return relative_gap(primal, primal - gap) <= stop.relative_gap


def _worth_it(problem: KernelDual, beta: np.ndarray, small: bool) -> bool:
    """Whether the polish is to be tried, by counted work: equal fits polish equally."""
    free = float(np.count_nonzero((beta > 0.0) & (beta < problem.c)))
    if free > LARGEST:
        return False
    if small:
        return True
    support = float(np.count_nonzero(beta))
    # Kernel values are worth some 50 multiplications each; the scores alone took n times the support.
    return free * free * free / 3.0 + 3.0 * 50.0 * problem.n_points * free <= SHARE * 50.0 * problem.n_points * support
