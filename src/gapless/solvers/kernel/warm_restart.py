"""Go on with a kernel machine from a dual point and its scores: the solution at a neighbouring C.

The Gram matrix is at hand, and the scores f = Ku of the start are known, since they are linear in u.  A turn solves for the
rows that make up nearly all of the gap, and those strictly inside their boxes, by pairs (`smo`); then the scores of all follow
by the columns that moved.  It ends by the gap itself, which costs no product.  The rows whose side is proved by the gap
(`judge.kernel_machines.labels`) are left out of the turns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless.judge.kernel.labels import safe_sides
from gapless.numbers import relative_gap
from gapless.problems.kernel import KernelDual, evaluate_point
from gapless.solvers.kernel.free_set import take_newton_steps
from gapless.solvers.kernel.inner_loop import solve_pairs
from gapless.solvers.kernel.smo import NestedLevel, extremes
from gapless.solvers.loop import Ended, Interruption, Loop, Stop
from gapless.solvers.solution import Solution, Status

#: Rows of a turn: of those that make the gap, and of those inside their boxes.
WORKING, INSIDE = 1024, 1024
#: The share of the gap that a turn is made of.
SHARE = 0.98
#: Turns after which others are asked.
TURNS = 40
#: Pairs for each row of a turn before Newton steps, and how often the two take turns.
PAIRS, ROUNDS = 16, 30
#: Where a variable is so near to a bound, as a share of its box, it is there.
NEAR = 1e-11


class WarmRestart:
    """The point reached; how much of u has gone into its scores (for their rounding), and the share of rows that was proved."""

    def __init__(self, solution: Solution, spent: float, screened: float) -> None:
        self.solution, self.spent, self.screened = solution, spent, screened


def resume_kernel(
    problem: KernelDual,
    stop: Stop,
    tiles: Any,
    u: np.ndarray,
    scores: np.ndarray,
    spent: float = 0.0,
    interruption: Interruption | None = None,
) -> WarmRestart | None:
    """From u and its scores, which need not be feasible for this C; None where the turns do not get there."""
    loop = Loop(stop, interruption=interruption)
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
            for turn in range(TURNS):
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
                    open_ = _open(problem, f, gap)
                    screened = 1.0 - float(open_.mean())
                work = _working_set(problem, beta, h, gap, open_)
                # At the end what is left of the gap is the |h| of those inside their boxes, times c.
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
    """Those within rounding of a bound are at it: else the thousands that are there would all count as inside."""
    beta[beta > (1.0 - NEAR) * problem.c] = problem.c[beta > (1.0 - NEAR) * problem.c]
    beta[beta < NEAR * problem.c] = 0.0
    return beta


def _solve(level: NestedLevel, work: np.ndarray, v: np.ndarray, wanted: float, loop: Loop) -> np.ndarray:
    """What u of these rows moves by; u has moved.  Pairs say who is free, Newton steps on those do the rest."""
    K = level.tiles.square(level.points[work], loop.tick)
    own = np.zeros(K.shape[1], K.dtype)
    own[: work.size] = v
    before = level.u[work]
    u, low, high = before.copy(), level.low[work], level.high[work]
    diagonal = np.ascontiguousarray(np.diagonal(K))
    everybody, side = np.ones(work.size, bool), np.zeros(work.size, np.int8)
    most, least, idle = PAIRS * work.size, np.inf, 0
    for _ in range(ROUNDS):
        if solve_pairs(K, diagonal, own, u, low, high, everybody, wanted, most) < most:
            break
        loop.tick()
        take_newton_steps(K, own, u, low, high, side)
        top, bottom = extremes(u, own[: u.size].astype(np.float64), low, high)
        idle = 0 if top - bottom < 0.9 * least else idle + 1
        least = min(least, top - bottom)
        if idle > 8:
            break
    level.u[work] = u
    return u - before


def _add(level: NestedLevel, columns: np.ndarray, v: np.ndarray, loop: Loop) -> None:
    scores = np.zeros(level.n)
    level.tiles.add(scores, columns, v, None, loop.tick)
    level.v -= scores


def _open(problem: KernelDual, scores: np.ndarray, gap: float) -> np.ndarray:
    """The rows that may be on either side: every w* is within sqrt(gap) of w = sum u phi, and the offset is enclosed."""
    reach = np.sqrt(np.maximum(problem.gram.diagonal, 0.0) * max(gap, 0.0)) * (1.0 + 1e-9)
    sides = safe_sides(
        scores - reach, scores + reach, np.arange(problem.n), problem.sign, problem.tau, problem.c, problem.totals
    )
    return sides == 0


def _working_set(problem: KernelDual, beta: np.ndarray, h: np.ndarray, gap: float, open_: np.ndarray) -> np.ndarray:
    terms = np.where(h > 0.0, (problem.c - beta) * h, -beta * h)
    order = np.argsort(-terms, kind="stable")[:WORKING]
    most = int(np.searchsorted(np.cumsum(terms[order]), SHARE * gap)) + 1
    chosen = np.zeros(problem.n, bool)
    chosen[order[:most]] = True
    inside = np.flatnonzero((beta > 0.0) & (beta < problem.c) & ~chosen & open_)
    chosen[inside[np.argsort(np.abs(h[inside]), kind="stable")[-INSIDE:]]] = True
    return np.flatnonzero(chosen)
