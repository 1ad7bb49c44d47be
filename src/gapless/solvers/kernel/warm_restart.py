"""Go on with a kernel machine from a dual point and its scores: the solution at a neighbouring C.

The Gram matrix is at hand, and the scores f = Ku of the start are known, since they are linear in u.  A turn solves a working
set: the rows that make up 98 % of the gap, and rows strictly inside their boxes; then the scores of all rows are updated by the
columns that moved.  It ends by the gap itself, which costs no product.  Rows whose side the gap proves (`judge/kernel/labels`)
are left out of the first turn's working set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless.numbers import relative_gap
from gapless.problems.kernel import KernelDual, evaluate_point
from gapless.solvers.kernel.level import NestedLevel
from gapless.solvers.kernel.proved_sides import prove_sides
from gapless.solvers.kernel.thresholds import KERNEL_THRESHOLDS
from gapless.solvers.kernel.working_set import WorkingSet
from gapless.solvers.loop import Ended, Loop, Stop, Watch
from gapless.solvers.solution import Solution, Status


class WarmRestart:
    """The point reached; ``spent``: the sum of all |du| that went into its scores, for their rounding; ``screened``: the share of
    rows whose side was proved before the first turn."""

    def __init__(self, solution: Solution, spent: float, screened: float) -> None:
        self.solution, self.spent, self.screened = solution, spent, screened


def resume_kernel(
    problem: KernelDual,
    stop: Stop,
    tiles: Any,
    u: np.ndarray,
    scores: np.ndarray,
    spent: float = 0.0,
    watch: Watch = Watch(),
) -> WarmRestart | None:
    """Go on from u and its scores, which need not be feasible for this C; None where the turns do not reach the gap."""
    turns = 40  # after which the cold solver takes over: it is faster from there on
    loop = Loop(stop, watch)
    level = NestedLevel(problem, tiles, np.arange(problem.n))
    beta = problem.repair(_snap_to_bounds(problem, problem.sign * u))
    moved = problem.sign * beta - u
    columns = np.flatnonzero(np.abs(moved) > 1e-14 * problem.c)
    level.set_point(problem.sign * beta, scores)
    spent += float(np.abs(moved).sum())
    status: Status = "stalled"
    best, screened = np.inf, 0.0
    with np.errstate(all="ignore"):
        try:
            if columns.size:
                _add(level, columns, moved[columns], loop)
            for turn in range(turns):
                beta, f = level.sign * level.u, level.scores()
                scalars, primal, _, gap = evaluate_point(problem, beta, f)
                loop.record(scalars, beta, primal, primal - gap, ends=False)
                if relative_gap(primal, primal - gap) <= stop.relative_gap:
                    status = "converged"
                    break
                if turn and gap > 0.98 * best:
                    return None
                best = min(best, gap)
                h = problem.hinges(scalars, f)
                open_ = np.ones(problem.n, bool)
                if turn == 0:
                    open_ = _find_undecided(problem, f, gap)
                    screened = 1.0 - float(open_.mean())
                work = _working_set(problem, beta, h, gap, open_)
                # Near the optimum the gap is the sum of c |h| over the rows strictly inside their boxes.
                free = (beta[work] > 0.0) & (beta[work] < problem.c[work])
                mass = max(float(problem.c[work][free].sum()), 0.1 * float(problem.c[work].sum()))
                allowed = 0.3**turn * stop.relative_gap * abs(primal) / max(mass, 1e-300)
                wanted = max(min(allowed, 0.3 * float(np.abs(h[work]).max())), 1e-9)
                change = _solve(level, work, level.v[work] - scalars[0], wanted, loop)
                went = np.flatnonzero(change)
                _add(level, work[went], change[went], loop)
                spent += float(np.abs(change).sum())
                loop.advance()
            else:
                return None
        except Ended:
            status = loop.status or "stalled"
        beta, f = level.sign * level.u, level.scores()
        scalars = problem.best_scalars(f)
    return WarmRestart(
        Solution(scalars, beta, status, loop.n_iter, loop.seconds, "smo", loop.history, f), spent, screened
    )  # fmt: skip


def _snap_to_bounds(problem: KernelDual, beta: np.ndarray) -> np.ndarray:
    """Put variables within rounding of a bound at it; else the thousands that are there would all count as inside."""
    near = 1e-11  # as a share of the box
    beta[beta > (1.0 - near) * problem.c] = problem.c[beta > (1.0 - near) * problem.c]
    beta[beta < near * problem.c] = 0.0
    return beta


def _solve(level: NestedLevel, work: np.ndarray, v: np.ndarray, wanted: float, loop: Loop) -> np.ndarray:
    """Solve the working set and move u of these rows; returns du."""
    K = level.tiles.square(level.points[work], loop.tick)
    chosen = WorkingSet(K, v, level.u[work], level.low[work], level.high[work])
    change = chosen.solve(wanted, KERNEL_THRESHOLDS.warm, loop.tick)
    level.u[work] = chosen.u
    return change


def _add(level: NestedLevel, columns: np.ndarray, v: np.ndarray, loop: Loop) -> None:
    scores = np.zeros(level.n)
    level.tiles.add(scores, columns, v, None, loop.tick)
    level.v -= scores


def _find_undecided(problem: KernelDual, scores: np.ndarray, gap: float) -> np.ndarray:
    """The rows that may be on either side: every w* is within sqrt(gap) of w = sum u phi, and the offset is enclosed."""
    reach = np.sqrt(np.maximum(problem.gram.diagonal, 0.0) * max(gap, 0.0)) * (1.0 + 1e-9)
    return prove_sides(scores - reach, scores + reach, problem.sign, problem.tau, problem.c, problem.totals) == 0


def _working_set(problem: KernelDual, beta: np.ndarray, h: np.ndarray, gap: float, open_: np.ndarray) -> np.ndarray:
    """The rows that make up 98 % of the gap, and rows strictly inside their boxes, those far from their kinks first."""
    rows, share_of_gap = KERNEL_THRESHOLDS.warm.rows, 0.98
    terms = np.where(h > 0.0, (problem.c - beta) * h, -beta * h)
    order = np.argsort(-terms, kind="stable")[:rows]
    most = int(np.searchsorted(np.cumsum(terms[order]), share_of_gap * gap)) + 1
    chosen = np.zeros(problem.n, bool)
    chosen[order[:most]] = True
    inside = np.flatnonzero((beta > 0.0) & (beta < problem.c) & ~chosen & open_)
    chosen[inside[np.argsort(np.abs(h[inside]), kind="stable")[-rows:]]] = True
    return np.flatnonzero(chosen)
