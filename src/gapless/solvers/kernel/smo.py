"""Sequential minimal optimisation of `KernelDual`, in working sets, on nested parts of the data.

    minimise 1/2 beta'Q beta - tau'beta,   Q_jk = s_j s_k K(x_j, x_k),   0 <= beta <= c,   s'beta = T0 (nu: and 1'beta = T1)

With u = s beta and v = s tau - f (f = sum u K) a pair (i, j) where u_i can rise and u_j fall, and v_i > v_j, moves by
(v_i - v_j) / (K_ii + K_jj - 2 K_ij), cut at the box; the pair is the largest v_i and the j that gains most (Fan, Chen, Lin
2005).  In the nu forms both are of one sign.

Two levels: a working set of the worst and of other violating variables is solved by itself, in the cache; then the scores
of all others follow by one product (`gram/tiles`), in which nearly all the time goes: n kernel values for each variable
that moved.  Variables at a bound and far from leaving it are left out of these products; what they missed is made good by one
product before anything is claimed of them.

Nested parts: the problem of n/4 rows with c four times as large has nearly the same w, and so on down.  From a part to the
whole, u goes down by 4, and the rest of each sign's mass goes to the new rows with the largest hinges, whole c's at a time.
Nearly every bounded variable is then at its bound before the first pair, at the price of one product.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless._compile.jit import compiled
from gapless._runtime.clock import now
from gapless.gram.cached_rows import CachedRowTiles
from gapless.gram.class_pairs import ClassPairTiles
from gapless.gram.float32_error import UNKNOWN_RATES, ErrorRates
from gapless.gram.interface import Tick
from gapless.gram.tiles import RowTiles
from gapless.numbers import relative_gap
from gapless.problems.kernel import KernelDual, evaluate_point
from gapless.solvers.kernel.float64_scores import ApproximateScores, refine_all, refine_where_needed
from gapless.solvers.kernel.free_set import take_newton_steps
from gapless.solvers.kernel.inner_loop import smo_inner_loop
from gapless.solvers.loop import Ended, Loop

#: Variables of a working set, and how many of them are the worst.
WORKING, WORST = 2048, 512
#: Variables left that are solved together to the end.
CLOSING = 3000
#: Each part is this much smaller than the next, down to the smallest size that is worth it.
RATIO, SMALLEST = 4, 2000
#: Pairs for each variable of a working set before Newton steps on its free ones are tried.
STEPS = 16
#: How far a part is solved, and the whole before its gap is looked at in float64: the worst pair, in units of the spread of v.
ROUGH, FIRST = 5e-3, 1e-3
#: Where that does not do, as long as single precision can tell: down to this, for no smaller gap than that.
LAST, TELLS = 5e-5, 1e-6
#: Passes, and turns of pairs and Newton steps, without progress after which a problem is left as it is.
IDLE = 8
#: Turns of pairs and Newton steps in a working set.
TURNS = 30
#: Kernel values in double precision take so many times as long.
DOUBLE = 3.0
#: Values of a product that says how fast they are.
LARGE = 1e6


def smo(
    problem: KernelDual, loop: Loop, start: np.ndarray | None = None, *, enough: float = 0.0
) -> tuple[np.ndarray, ApproximateScores]:
    """beta and its scores, computed from it in float64 wherever they count (everywhere, unless the gap was reached): where their
    gap is what ``loop`` asks for, where no pair is out of order by more than ``enough``, or where nothing moves any more."""
    blurred: ApproximateScores | None = None
    if start is None:
        large = problem.n_points > SMALLEST or problem.gram.single is not None
        start, blurred = solve_single_precision(problem, loop) if large else (problem.start(), None)
    beta = problem.repair(start)
    if blurred is not None:
        blurred = blurred._replace(off=blurred.off + problem.R2 * float(np.abs(beta - start).sum()))
    order = np.arange(problem.n_points)
    level: NestedLevel | None = None
    random = np.random.default_rng(0)
    wanted, least, stalled = np.inf, np.inf, 0
    while True:
        if blurred is None:
            found = ApproximateScores(problem.scores(beta, loop.tick), np.zeros(problem.n_points))
        else:
            found, blurred = refine_where_needed(problem, beta, blurred, loop.tick), None
        scores = found.scores
        known = evaluate_point(problem, beta, scores)
        found = found._replace(figures=known)
        scalars, primal, _, gap = known
        loop.record(scalars, beta, primal, primal - gap, ends=False)
        if relative_gap(primal, primal - gap) <= loop.stop.relative_gap or gap <= problem.negligible_gap:
            return beta, found
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
        wanted = max(min(0.25 * wanted, 0.1 * violation), 0.5 * max(noise, enough * spread))
        if not solve_level(level, loop, wanted, random):
            return beta, found
        beta = problem.repair(level.sign * level.u)


def solve_single_precision(problem: KernelDual, loop: Loop) -> tuple[np.ndarray, ApproximateScores | None]:
    """beta to single precision, from nested parts, and its scores where it is known what they are off by."""
    random = np.random.default_rng(0)
    tiles = problem.gram.single
    if tiles is None:
        order = random.permutation(problem.n_points)
        tiles = problem.gram.tiles(order, np.float32 if problem.R2 < 1e30 else np.float64)
    else:
        order = tiles.order
    level: NestedLevel | None = None
    solved = False
    try:
        for size in level_sizes(problem, order) if problem.gram.single is None else [problem.n_points]:
            part: Any = tiles if size == problem.n_points else tiles.first(size)
            if isinstance(part, RowTiles) and part.long:
                before = None if level is None else level.tiles
                part = CachedRowTiles(
                    part, problem.gram.cache_bytes, before if isinstance(before, CachedRowTiles) else None
                )
            following = NestedLevel(problem, part, order[:size], problem.n_points / size)
            if level is None:
                following.set_point(following.sign * problem.start()[following.index], np.zeros(size))
                following.update_scores(following.u, None, loop)
            else:
                start_from_smaller_level(level, following, loop)
            level = following
            if isinstance(level.tiles, CachedRowTiles):
                level.tiles.forget()
            if size < problem.n_points:
                solve_level(level, loop, ROUGH * level.spread(), random)
                continue
            asked = loop.stop.relative_gap
            gap = 0.9 * asked if asked >= TELLS else 0.0
            solved = solve_level(level, loop, FIRST * level.spread(), random, gap)
            if solved and gap > 0.0 and level.relative_gap(level.side_offsets()[0], None) > gap:
                solved = solve_level(level, loop, LAST * level.spread(), random, gap)
    except Ended:
        if level is not None:
            loop.offer(_spread_to_whole(problem, level))
        raise
    assert level is not None
    return _spread_to_whole(problem, level), level.approximate_scores(loop.tick) if solved else None


def _spread_to_whole(problem: KernelDual, level: NestedLevel) -> np.ndarray:
    """A feasible beta of the whole problem: a part's u, as much smaller as it has fewer points."""
    beta = np.zeros(problem.n)
    beta[level.index] = level.sign * level.u * (level.n / problem.n_points)
    sums = problem.kind in ("nu_svc", "one_class", "nu_svr") and level.n < problem.n_points
    for side, total in problem.sides if sums else ():
        # What is missing goes to the first rows, each as full as it may be: given to all of them, it would make every row a
        # support vector. Of the two variables of a row of nu_svr both are filled, and cancel.
        room = problem.c[side] - beta[side]
        beta[side] += np.clip(total - float(beta[side].sum()) - (np.cumsum(room) - room), 0.0, room)
    return problem.repair(beta)


class ProductPace:
    """Seconds of a kernel value, as the fastest large product of this fit had it: small ones wait for other things."""

    def __init__(self) -> None:
        self.each = np.inf

    def note(self, values: float, seconds: float) -> None:
        if values >= LARGE:
            self.each = min(self.each, seconds / values)

    def seconds(self, values: float) -> float:
        return values * self.each if np.isfinite(self.each) else 0.0


class NestedLevel:
    """The variables of the first n points of an order, their u and v.  Some problems have two variables to a point."""

    def __init__(self, problem: KernelDual, tiles: Any, order: np.ndarray, scale: float = 1.0) -> None:
        self.pace, self.whole = ProductPace(), problem.n_points
        #: Support vectors that the equalities of the whole problem ask for beside those of this part.
        self.others = 0.0
        if problem.kind in ("nu_svc", "one_class"):
            needed = sum(total / max(1e-300, float(problem.c[side].mean())) for side, total in problem.sides)
            self.others = (1.0 - order.size / problem.n_points) * needed
        copies = problem.n // problem.n_points
        index = (np.arange(copies)[:, None] * problem.n_points + order[None, :]).ravel()
        self.kind = problem.kind
        self.index, self.tiles, self.points = index, tiles, np.tile(np.arange(order.size), copies)
        sign, c = problem.sign[index], problem.c[index] * scale
        self.sign, self.low, self.high = sign, np.minimum(0.0, sign * c), np.maximum(0.0, sign * c)
        self.target = sign * problem.tau[index]
        #: Variables that share an equality: all of them, or each sign by itself.
        self.sides = (
            [np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)] if problem.nu_form else [np.arange(index.size)]
        )
        self.u, self.v = np.zeros(index.size), np.zeros(index.size)
        #: What the scores of the points may be off by, as `gram/float32_error` counts it, and all that moved.
        self.off = np.zeros((order.size, 2)) if self.rates.known else None
        self.moved = 0.0

    @property
    def rates(self) -> ErrorRates:
        return getattr(self.tiles, "rates", UNKNOWN_RATES)

    def approximate_scores(self, tick: Tick) -> ApproximateScores | None:
        """The scores of all points, in the problem's order, and what they can be off by at most."""
        if self.off is None:
            return None
        found, bound = self.scores(), self.off
        u = self.coefficients(self.u)
        columns = np.flatnonzero(u)
        if isinstance(self.tiles, CachedRowTiles) and self.tiles.keeps(columns):
            # Read again they have the bound of one update, not of all.
            found, bound = np.zeros(self.n), np.zeros((self.n, 2))
            self.tiles.add(found, columns, u[columns], None, tick, bound)
        scores, off = np.empty(self.n), np.empty(self.n)
        points = self.index[: self.n]
        scores[points], off[points] = found, self.rates.bound(bound, self.moved)
        return ApproximateScores(scores, off)

    @property
    def n(self) -> int:
        return self.tiles.n

    @property
    def single(self) -> bool:
        """One variable to a point."""
        return self.index.size == self.n

    def set_point(self, u: np.ndarray, scores: np.ndarray) -> None:
        self.u[:] = u
        self.v[:] = self.target - scores[self.points]

    def scores(self) -> np.ndarray:
        return (self.target - self.v)[: self.n]

    def coefficients(self, u: np.ndarray) -> np.ndarray:
        """Of the points."""
        return u if self.single else np.bincount(self.points, u, minlength=self.n)

    def update_scores(self, du: np.ndarray, among: np.ndarray | None, loop: Loop) -> None:
        """v after u moved by du: of all variables, or of some."""
        moved = self.coefficients(du)
        columns = np.flatnonzero(moved)
        if among is None:
            scores = np.zeros(self.n)
            self.add(scores, columns, moved[columns], None, loop, self.off)
            self.v -= scores[self.points]
            return
        at, place = (among, slice(None)) if self.single else np.unique(self.points[among], return_inverse=True)
        scores, off = np.zeros(at.size), None if self.off is None else np.zeros((at.size, 2))
        self.add(scores, columns, moved[columns], at, loop, off)
        self.v[among] -= scores[place]
        if self.off is not None:
            self.off[at] += off

    def add(
        self,
        scores: np.ndarray,
        columns: np.ndarray,
        v: np.ndarray,
        at: np.ndarray | None,
        loop: Loop,
        off: np.ndarray | None,
    ) -> None:
        """scores += K[at, columns] v, and what they may be off by, on the clock."""
        started = now()
        if off is None:
            self.tiles.add(scores, columns, v, at, loop.tick)
        else:
            self.tiles.add(scores, columns, v, at, loop.tick, off)
            self.moved += float(np.abs(v).sum())
        self.pace.note(scores.size * columns.size, now() - started)

    def final_seconds(self, support: float) -> float:
        """What the scores of the whole problem will take, in double precision."""
        return DOUBLE * self.pace.seconds(self.whole * (support + self.others))

    def spread(self) -> float:
        """The unit of violations: 1 for classifiers with a C; else what the v differ by."""
        return 1.0 if self.kind == "c_svc" else max(1e-300, float(np.std(self.v)))

    def relative_gap(self, middle: np.ndarray, among: np.ndarray | None) -> float:
        """By the v at hand; variables that are left out are on their right side and add nothing."""
        at: Any = slice(None) if among is None else among
        rows = gap_of_rows(self.u[at], self.v[at] - middle, self.low[at], self.high[at])
        dual = 0.5 * float(self.u @ (self.target + self.v))
        return rows / abs(dual) if dual else np.inf

    def side_offsets(self, among: np.ndarray | None = None) -> tuple[np.ndarray, float]:
        """For each variable the middle of its side's worst pair, and the violation of the worst of all."""
        middle = np.zeros(self.index.size if among is None else among.size)
        worst = 0.0
        for sign in (None,) if len(self.sides) == 1 else (1.0, -1.0):
            signs = self.sign if among is None else self.sign[among]
            own: Any = slice(None) if sign is None else np.flatnonzero(signs == sign)
            at = own if among is None else among[own]
            top, bottom = extremes(self.u[at], self.v[at], self.low[at], self.high[at])
            if np.isfinite(top) and np.isfinite(bottom):
                worst = max(worst, top - bottom)
                middle[own] = 0.5 * (top + bottom)
        return middle, worst


def solve_level(level: NestedLevel, loop: Loop, wanted: float, random: np.random.Generator, gap: float = 0.0) -> bool:
    """Until no pair of the level is out of order by more than ``wanted``, or its relative gap is ``gap``; False where nothing
    moves any more."""
    active: np.ndarray | None = None
    left_out: list[tuple[np.ndarray, np.ndarray]] = []  # which, and the u that their v belongs to
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
        if idle > IDLE:
            return False
        loop.advance()
        loop.reserve = level.final_seconds(int(np.count_nonzero(level.u)))
        loop.tick()
        at = slice(None) if active is None else active
        u, v, low, high = level.u[at], level.v[at] - middle, level.low[at], level.high[at]
        out_by = violations(u, v, low, high)
        # So few that they are solved together to the end; all of them, where that spares a copy of the matrix.
        closing = u.size <= (CLOSING if active is not None or isinstance(level.tiles, ClassPairTiles) else WORKING)
        chosen = np.arange(u.size) if closing else _working_set(out_by, u, low, high, 0.5 * wanted, random)
        if not level.single:  # of the two variables of a point the worse: both never move the same way
            chosen = chosen[np.argsort(-out_by[chosen], kind="stable")]
            here = chosen if active is None else active[chosen]
            same = level.points[here]
            if len(level.sides) > 1:  # a pair is of one sign: each has a variable of its own
                same = 2 * same + (level.sign[here] > 0)
            chosen = chosen[np.unique(same, return_index=True)[1]]
        work = chosen if active is None else active[chosen]
        aim = 0.5 * wanted if closing else max(0.5 * wanted, 0.3 * violation)
        moved = _solve_working_set(level, work, v[chosen], aim, loop)
        if moved is None:
            return False
        level.update_scores(moved, active, loop)
        if closing:
            continue
        # Those far on the right side are left out.
        middle, violation = level.side_offsets(active)
        keep = violations(level.u[at], level.v[at] - middle, low, high) > -max(0.7 * violation, wanted)
        if keep.sum() < 0.8 * keep.size:
            here = np.arange(level.u.size) if active is None else active
            left_out.append((here[~keep], level.u.copy()))
            active = here[keep]


def _working_set(
    out_by: np.ndarray, u: np.ndarray, low: np.ndarray, high: np.ndarray, least: float, random: np.random.Generator
) -> np.ndarray:
    """The worst, others that violate by chance, and if there is room those strictly inside their box."""
    violating = out_by > least
    index = np.flatnonzero(violating)
    if index.size > WORKING:
        order = np.argpartition(-out_by[index], WORST)
        index = np.concatenate(
            [index[order[:WORST]], random.choice(index[order[WORST:]], WORKING - WORST, replace=False)]
        )
    elif index.size < WORKING:
        free = np.flatnonzero((u > low) & (u < high) & ~violating)
        if free.size > WORKING - index.size:
            free = random.choice(free, WORKING - index.size, replace=False)
        index = np.concatenate([index, free])
    return np.sort(index)


def _solve_working_set(
    level: NestedLevel, work: np.ndarray, v: np.ndarray, wanted: float, loop: Loop
) -> np.ndarray | None:
    """What u moves by, in full length; u has moved. None where nothing did."""
    couple = level.tiles if isinstance(level.tiles, ClassPairTiles) and work.size == level.n else None
    if couple is not None:  # most of its rows are never asked for
        K, there, diagonal = couple.rows, couple.row_is_loaded, couple.diagonal
        blocks: tuple[np.ndarray | None, ...] = couple.first, couple.between, couple.second
    else:
        K = level.tiles.square(level.points[work], loop.tick)
        there, blocks, diagonal = None, (None, None, None), np.ascontiguousarray(np.diagonal(K))
    own = np.zeros(K.shape[1], K.dtype)
    own[: work.size] = v
    before = level.u[work]
    u, low, high = before.copy(), level.low[work], level.high[work]
    side = (level.sign[work] > 0).astype(np.int8) if len(level.sides) > 1 else np.zeros(work.size, np.int8)
    everybody = np.ones(work.size, bool)
    most = STEPS * work.size // len(level.sides)
    least, idle = np.inf, 0
    for _ in range(TURNS):
        done = 0
        for which in range(len(level.sides)):
            allowed = everybody if len(level.sides) == 1 else side == which
            done = max(
                done,
                smo_inner_loop(K, there, *blocks, diagonal, own, u, low, high, allowed, wanted, most),
            )
        loop.tick()
        if done == 0 or (done < most and len(level.sides) == 1):
            break
        if couple is not None:
            couple.load(np.flatnonzero((u > low) & (u < high)))
        take_newton_steps(K, own, u, low, high, side)
        top, bottom = extremes(u, own[: u.size].astype(np.float64), low, high)
        idle = 0 if top - bottom < 0.9 * least else idle + 1
        least = min(least, top - bottom)
        if idle > IDLE:
            break
    if (u == before).all():
        return None
    level.u[work] = u
    moved = np.zeros(level.u.size)
    moved[work] = u - before
    return moved


# -- nested parts ----------------------------------------------------------------------------------------------------


def level_sizes(problem: KernelDual, order: np.ndarray) -> list[int]:
    """Points of the parts, the whole last: none so small that one sign would be nearly absent."""
    found = [problem.n_points]
    signs = problem.sign[: problem.n_points][order] if problem.n == problem.n_points else np.ones(0)
    while found[0] // RATIO >= SMALLEST:
        size = found[0] // RATIO
        if signs.size and problem.kind != "one_class" and min((signs[:size] > 0).sum(), (signs[:size] < 0).sum()) < 20:
            break
        found.insert(0, size)
    return found


def start_from_smaller_level(old: NestedLevel, new: NestedLevel, loop: Loop) -> None:
    """The start of a part from the solution of a smaller one."""
    ratio = new.n / old.n
    new.pace = old.pace
    support = ratio * np.count_nonzero(old.u)
    loop.reserve = new.final_seconds(support) + new.pace.seconds(new.n * support)
    loop.tick()
    scores = np.zeros(new.n)
    scores[: old.n] = old.scores()
    coefficients = old.coefficients(old.u)
    columns = np.flatnonzero(coefficients)
    if new.off is not None and old.off is not None:
        new.off[: old.n], new.moved = old.off, old.moved
    rest = None if new.off is None else new.off[old.n :]
    new.add(scores[old.n :], columns, coefficients[columns], np.arange(old.n, new.n), loop, rest)
    middle, _ = old.side_offsets()
    offset = {
        sign: float(np.mean(middle[old.sign == sign])) if (old.sign == sign).any() else 0.0 for sign in (1.0, -1.0)
    }
    copies = new.index.size // new.n
    u = np.zeros((copies, new.n))
    u[:, : old.n] = old.u.reshape(copies, old.n) / ratio
    u = u.ravel()
    fresh = new.points >= old.n
    hinge = new.sign * (new.target - scores[new.points])  # tau - s f
    for sign in (1.0, -1.0):
        mass = float(np.abs(u[(new.sign == sign) & ~fresh]).sum()) * (ratio - 1.0)
        own = np.flatnonzero((new.sign == sign) & fresh)
        own = own[np.argsort(-(hinge[own] - sign * offset[sign]), kind="stable")]
        room = (new.high - new.low)[own]
        taken = np.clip(mass - (np.cumsum(room) - room), 0.0, room)
        u[own] = sign * taken
    scores /= ratio
    if new.off is not None:
        new.off /= ratio
    added = new.coefficients(np.where(fresh, u, 0.0))
    columns = np.flatnonzero(added)
    loop.reserve = new.final_seconds(int(np.count_nonzero(u)))
    new.add(scores, columns, added[columns], None, loop, new.off)
    new.set_point(u, scores)


# -- compiled --------------------------------------------------------------------------------------------------------


@compiled
def extremes(u, v, low, high):
    """The largest v that can rise and the smallest that can fall."""
    top, bottom = -np.inf, np.inf
    for i in range(u.size):
        if u[i] < high[i] and v[i] > top:
            top = v[i]
        if u[i] > low[i] and v[i] < bottom:
            bottom = v[i]
    return top, bottom


@compiled(vectorise=True)
def gap_of_rows(u, v, low, high):
    """The sum of (c - beta) h where h > 0 and -beta h elsewhere: v up to the upper bound, or down to the lower one."""
    total = 0.0
    for i in range(u.size):
        total += v[i] * (high[i] - u[i]) if v[i] > 0.0 else v[i] * (low[i] - u[i])
    return total


def violations(u, v, low, high):
    """How far each v is on the wrong side of 0, below 0 where it is on the right one."""
    out = np.empty(u.size)
    _measure_violations(u, v, low, high, out)
    return out


@compiled(allocates=False)
def _measure_violations(u, v, low, high, out):
    for i in range(u.size):
        worst = -np.inf
        if u[i] < high[i]:
            worst = v[i]
        if u[i] > low[i] and -v[i] > worst:
            worst = -v[i]
        out[i] = worst
