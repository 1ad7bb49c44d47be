"""Sequential minimal optimisation of `KernelDual`, in working sets, on nested levels of the data.

    minimise 1/2 beta'Q beta - tau'beta,   Q_jk = s_j s_k K(x_j, x_k),   0 <= beta <= c,   s'beta = T0 (nu: and 1'beta = T1)

With u = s beta and v = s tau - f (f = sum u K) a pair (i, j) where u_i can rise and u_j fall, and v_i > v_j, moves by
(v_i - v_j) / (K_ii + K_jj - 2 K_ij), cut at the box; the pair is the largest v_i and the j that gains most (Fan, Chen, Lin
2005).  In the nu forms both are of one sign.

A working set of the worst and of randomly drawn violating variables is solved by itself, in the cache; then the scores of all
other variables are updated by one product (`gram/tiles`), which takes nearly all the time: n kernel values for each variable
that moved.  Variables at a bound and far from leaving it are left out of these products; one product updates their scores
before anything is claimed of them.

Nested levels (`level`): the problem of n/4 rows with c four times as large has nearly the same w, and so on down.  Nearly every
bounded variable of a level is at its bound before the first pair, at the price of one product.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless.gram.cached_rows import CachedRowTiles
from gapless.gram.class_pairs import ClassPairTiles
from gapless.gram.dense import DenseGram
from gapless.gram.tiles import RowTiles
from gapless.numbers import relative_gap
from gapless.problems.kernel import KernelDual, evaluate_point
from gapless.solvers.kernel.float64_scores import ApproximateScores, refine_all, refine_where_needed
from gapless.solvers.kernel.level import (
    NestedLevel,
    ProductPace,
    level_sizes_in_time,
    spread_to_whole,
    start_from_smaller_level,
    violations,
)
from gapless.solvers.kernel.thresholds import KERNEL_THRESHOLDS
from gapless.solvers.kernel.working_set import WorkingSet
from gapless.solvers.loop import Ended, Loop


def smo(
    problem: KernelDual, loop: Loop, start: np.ndarray | None = None, *, enough: float = 0.0
) -> tuple[np.ndarray, ApproximateScores]:
    """Solve from nothing or from ``start``; returns beta and its scores.

    It ends where the relative gap is what ``loop`` asks for, where no pair is out of order by more than ``enough`` times the
    spread of v, or where no variable moves any more. The scores are computed from beta in float64: those that can influence
    the gap where the gap was reached, else all of them.
    """
    rough: ApproximateScores | None = None
    if start is None:
        large = problem.n_points > KERNEL_THRESHOLDS.smallest_level or problem.gram.single is not None
        start, rough = solve_single_precision(problem, loop) if large else (problem.start(), None)
    beta = problem.repair(start)
    if rough is not None:
        rough = rough._replace(off=rough.off + problem.R2 * float(np.abs(beta - start).sum()))
    order = np.arange(problem.n_points)
    level: NestedLevel | None = None
    random = np.random.default_rng(0)
    # Where the matrix of one working set is in memory, pairs cost less than the gap and the scores between two passes.
    closer = 3e-4 if isinstance(problem.gram, DenseGram) and problem.n <= KERNEL_THRESHOLDS.cold.rows else 0.1
    wanted, least, stalled = np.inf, np.inf, 0
    best: tuple[np.ndarray, ApproximateScores] | None = None  # the point before the level's solution broke off
    while True:
        if rough is None:
            found = ApproximateScores(problem.scores(beta, loop.tick), np.zeros(problem.n_points))
        else:
            found, rough = refine_where_needed(problem, beta, rough, loop.tick), None
        scores = found.scores
        known = evaluate_point(problem, beta, scores)
        found = found._replace(figures=known)
        scalars, primal, _, gap = known
        loop.record(scalars, beta, primal, primal - gap, ends=False)
        if relative_gap(primal, primal - gap) <= loop.stop.relative_gap or gap <= problem.negligible_gap:
            return beta, found
        if best is not None:
            before = best[1].figures
            return best if before is not None and before.gap < gap else (beta, found)
        if found.off.any():
            scores = refine_all(problem, beta, found, loop.tick)
            found = ApproximateScores(scores, np.zeros(problem.n_points))
        if loop.n_iter >= loop.stop.passes:
            return beta, found
        stalled = 0 if gap < 0.9 * least else stalled + 1
        least = min(least, gap)
        if level is None:
            level = NestedLevel(problem, problem.gram.tiles(order, np.float64), order)
        level.set_point(problem.sign * beta, scores)
        _, violation = level.side_offsets()
        spread = level.spread()
        noise = 1e-14 * max(spread, float(np.abs(scores).max(initial=0.0)))
        if violation <= max(noise, enough * spread) or stalled > 10:
            return beta, found
        nearer = closer * violation
        if closer < 0.1 and np.isfinite(wanted):  # the gap is in proportion to the worst pair
            nearer = max(nearer, 0.3 * wanted * loop.stop.relative_gap * abs(primal) / gap)
        wanted = max(min(0.25 * wanted, nearer), 0.5 * max(noise, enough * spread))
        if not solve_level(level, loop, wanted, random):
            best = beta, found
        beta = problem.repair(level.sign * level.u)


def try_few_pairs(problem: KernelDual, loop: Loop) -> tuple[np.ndarray, np.ndarray] | None:
    """beta and its scores where few pairs of a C-SVC reach the gap from 0, in one working set; None where they do not."""
    every = np.arange(problem.n_points)
    level = NestedLevel(problem, problem.gram.tiles(every, np.float64), every)
    K = level.tiles.square(every, loop.tick)
    beta, scores = problem.start(), np.zeros(problem.n_points)
    wanted, before = 3.0 * loop.stop.relative_gap, np.inf  # of the worst pair, in units of the margin
    for _ in range(3):
        level.set_point(problem.sign * beta, scores)
        chosen = WorkingSet(K, level.v, level.u, level.low, level.high)
        chosen.solve(wanted, KERNEL_THRESHOLDS.trial, loop.tick)
        loop.advance()
        beta = problem.repair(problem.sign * chosen.u)
        scores = problem.scores(beta, loop.tick)
        scalars, primal, _, gap = evaluate_point(problem, beta, scores)
        loop.record(scalars, beta, primal, primal - gap, ends=False)
        if relative_gap(primal, primal - gap) <= loop.stop.relative_gap:
            return beta, scores
        if gap > 0.3 * before:
            return None
        wanted, before = wanted * 0.3 * loop.stop.relative_gap * abs(primal) / gap, gap  # the two are in proportion
    return None


def solve_single_precision(problem: KernelDual, loop: Loop) -> tuple[np.ndarray, ApproximateScores | None]:
    """Solve in single precision, level by level; returns beta, and its scores where their error is bounded."""
    # How far a level is solved, and the whole before its gap is evaluated in float64: the worst pair in units of the spread of v.
    # ``last`` is tried where ``first`` does not reach the gap, for gaps down to ``least_gap``: float32 cannot tell a smaller one.
    rough, first, last, least_gap = 5e-3, 1e-3, 5e-5, 1e-6
    random = np.random.default_rng(0)
    tiles = problem.gram.single
    if tiles is None:
        order = random.permutation(problem.n_points)
        tiles = problem.gram.tiles(order, np.float32 if problem.R2 < 1e30 else np.float64)
    else:
        order = tiles.order
    level: NestedLevel | None = None
    solved, pace = False, ProductPace()
    whole = problem.gram.single is not None
    try:
        for size in [problem.n_points] if whole else level_sizes_in_time(problem, order, loop, pace):
            part: Any = tiles if size == problem.n_points else tiles.first(size)
            if isinstance(part, RowTiles) and part.long:
                before = None if level is None else level.tiles
                part = CachedRowTiles(
                    part, problem.gram.cache_bytes, before if isinstance(before, CachedRowTiles) else None
                )
            following = NestedLevel(problem, part, order[:size], problem.n_points / size, pace)
            if level is None:
                following.set_point(following.sign * problem.start()[following.index], np.zeros(size))
                following.update_scores(following.u, None, loop)
            else:
                start_from_smaller_level(level, following, loop)
            level = following
            if isinstance(level.tiles, CachedRowTiles):
                level.tiles.forget()
            if size < problem.n_points:
                solve_level(level, loop, rough * level.spread(), random)
                continue
            asked = loop.stop.relative_gap
            gap = 0.9 * asked if asked >= least_gap else 0.0
            solved = solve_level(level, loop, first * level.spread(), random, gap)
            if solved and gap > 0.0 and level.relative_gap(level.side_offsets()[0], None) > gap:
                solved = solve_level(level, loop, last * level.spread(), random, gap)
    except Ended:
        if level is not None:
            loop.offer(spread_to_whole(problem, level))
        raise
    assert level is not None
    return spread_to_whole(problem, level), level.approximate_scores(loop.tick) if solved else None


def solve_level(level: NestedLevel, loop: Loop, wanted: float, random: np.random.Generator, gap: float = 0.0) -> bool:
    """Solve until no pair of the level is out of order by more than ``wanted``, or its relative gap is ``gap``.

    Returns False where no variable moves any more.
    """
    active: np.ndarray | None = None
    left_out: list[tuple[np.ndarray, np.ndarray]] = []  # variables, and the u at which their v was last computed
    least, idle = np.inf, 0
    while True:
        if loop.n_iter >= loop.stop.passes:
            return False
        middle, violation = level.side_offsets(active)
        if violation <= wanted or (gap > 0.0 and level.relative_gap(middle, active) <= gap):
            if active is None:
                return True
            for which, then in left_out:
                level.update_scores(level.u - then, which, loop)
            active, left_out, least = None, [], np.inf
            continue
        idle = 0 if violation < 0.95 * least else idle + 1
        least = min(least, violation)
        if idle > KERNEL_THRESHOLDS.idle_passes:
            return False
        loop.advance()
        support = int(np.count_nonzero(level.u))
        loop.reserve = level.final_seconds(support)
        loop.tick()
        at = slice(None) if active is None else active
        u, v, low, high = level.u[at], level.v[at] - middle, level.low[at], level.high[at]
        out_by = violations(u, v, low, high)
        closing = _can_close(level, active, u.size)
        chosen = np.arange(u.size) if closing else _working_set(out_by, u, low, high, 0.5 * wanted, random)
        if level.twins:
            chosen = _keep_worse_twin(level, active, chosen, out_by)
        work = chosen if active is None else active[chosen]
        aim = 0.5 * wanted if closing else max(0.5 * wanted, 0.3 * violation)
        loop.reserve = level.final_seconds(support + int(np.count_nonzero(level.u[work] == 0.0)))
        loop.tick()
        moved = _solve_working_set(level, work, v[chosen], aim, loop)
        if moved is None:
            return False
        level.update_scores(moved, active, loop)
        if closing:
            continue
        # Variables far on their right side are left out.
        middle, violation = level.side_offsets(active)
        keep = violations(level.u[at], level.v[at] - middle, low, high) > -max(0.7 * violation, wanted)
        if keep.sum() < 0.8 * keep.size:
            here = np.arange(level.u.size) if active is None else active
            left_out.append((here[~keep], level.u.copy()))
            active = here[keep]


def _can_close(level: NestedLevel, active: np.ndarray | None, left: int) -> bool:
    """Whether the ``left`` active variables are one working set, solved to the end.

    Where all variables are active, a larger working set than usual would copy the matrix, unless it is that of a class pair.
    """
    copies = active is None and not isinstance(level.tiles, ClassPairTiles)
    return left <= (KERNEL_THRESHOLDS.cold.rows if copies else KERNEL_THRESHOLDS.closing_variables)


def _keep_worse_twin(
    level: NestedLevel, active: np.ndarray | None, chosen: np.ndarray, out_by: np.ndarray
) -> np.ndarray:
    """Of the two variables of a point the worse one, which stands for both."""
    chosen = chosen[np.argsort(-out_by[chosen], kind="stable")]
    here = chosen if active is None else active[chosen]
    return chosen[np.unique(level.points[here], return_index=True)[1]]


def _working_set(
    out_by: np.ndarray, u: np.ndarray, low: np.ndarray, high: np.ndarray, least: float, random: np.random.Generator
) -> np.ndarray:
    """The worst variables and a random choice of all that violate by more than ``least``.

    Where they are fewer than the rows of a working set, variables strictly inside their box are added.
    """
    size, worst = KERNEL_THRESHOLDS.cold.rows, KERNEL_THRESHOLDS.worst_rows
    violating = out_by > least
    index = np.flatnonzero(violating)
    if index.size > size:
        order = np.argpartition(-out_by[index], worst)
        index = np.concatenate([index[order[:worst]], random.choice(index[order[worst:]], size - worst, replace=False)])
    elif index.size < size:
        free = np.flatnonzero((u > low) & (u < high) & ~violating)
        if free.size > size - index.size:
            free = random.choice(free, size - index.size, replace=False)
        index = np.concatenate([index, free])
    return np.sort(index)


def _solve_working_set(
    level: NestedLevel, work: np.ndarray, v: np.ndarray, wanted: float, loop: Loop
) -> np.ndarray | None:
    """Solve the working set and move u; returns du of all the level's variables, None where no variable moved."""
    if level.twins:
        return _solve_twins(level, work, v, wanted, loop)
    box = level.u[work], level.low[work], level.high[work]
    side = (level.sign[work] > 0).astype(np.int8) if len(level.sides) > 1 else None
    if isinstance(level.tiles, ClassPairTiles) and work.size == level.n:  # most of its rows are never needed
        pair = level.tiles
        chosen = WorkingSet(pair.rows, v, *box, side=side, diagonal=pair.diagonal, pair_rows=pair.pair_rows)
    else:
        chosen = WorkingSet(level.tiles.square(level.points[work], loop.tick), v, *box, side=side)
    change = chosen.solve(wanted, KERNEL_THRESHOLDS.cold, loop.tick)
    if not change.any():
        return None
    level.u[work] = chosen.u
    moved = np.zeros(level.u.size)
    moved[work] = change
    return moved


def _solve_twins(level: NestedLevel, work: np.ndarray, v: np.ndarray, wanted: float, loop: Loop) -> np.ndarray | None:
    """The same for regression: a point's two variables are one, in the box from -c to c, with a price of |u|."""
    points, n = level.points[work], level.n
    rises, falls = points, points + n
    chosen = WorkingSet(
        level.tiles.square(points, loop.tick), v + level.sign[work] * level.kink,
        level.u[rises] + level.u[falls], level.low[falls], level.high[rises], kink=level.kink,
    )  # fmt: skip
    if not chosen.solve(wanted, KERNEL_THRESHOLDS.cold, loop.tick).any():
        return None
    moved = level.u.copy()
    level.u[rises], level.u[falls] = np.maximum(chosen.u, 0.0), np.minimum(chosen.u, 0.0)
    return level.u - moved
