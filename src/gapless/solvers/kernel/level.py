"""Nested levels of a kernel machine's problem: the first n points of an order, with c as much larger as the level is smaller.

A level keeps u, v = s tau - f and, in single precision, a bound on what v is off by. From a level to the next u goes down by
the ratio of their sizes, and the rest of each sign's mass goes to the new rows with the largest hinges.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless._compile.jit import compiled
from gapless._runtime.clock import now
from gapless.gram.cached_rows import CachedRowTiles
from gapless.gram.float32_error import ErrorRates
from gapless.problems.kernel import KernelDual
from gapless.rows.products import Tick
from gapless.solvers.kernel.float64_scores import ApproximateScores
from gapless.solvers.kernel.thresholds import KERNEL_THRESHOLDS
from gapless.solvers.loop import Loop


class ProductPace:
    """Seconds per kernel value in the fastest large product of this fit; small products wait for threads and memory."""

    def __init__(self) -> None:
        self.each = np.inf

    def note(self, values: float, seconds: float) -> None:
        if values >= 1e6:  # some 0.2 ms of work, well above the time that starting threads takes
            self.each = min(self.each, seconds / values)

    def seconds(self, values: float) -> float:
        return values * self.each if np.isfinite(self.each) else 0.0

    def try_product(self, problem: KernelDual) -> None:
        """Time a product of some ms before the first level, in double precision, of which single precision takes half."""
        columns, rows = np.arange(min(512, problem.n_points)), np.arange(min(4096, problem.n_points))
        ones = np.ones(columns.size)
        problem.gram.product(columns[:1], ones[:1], rows[:1])  # loads its kernels
        started = now()
        problem.gram.product(columns, ones, rows)
        self.note(columns.size * rows.size, 0.5 * (now() - started))


class NestedLevel:
    """The variables of the first n points of an order, with their u and v. Regression has two variables for each point."""

    def __init__(
        self, problem: KernelDual, tiles: Any, order: np.ndarray, scale: float = 1.0, pace: ProductPace | None = None
    ) -> None:
        self.pace, self.whole = pace or ProductPace(), problem.n_points
        #: Support vectors that the equalities of the whole problem ask for beyond those of this level.
        self.missing_support = 0.0
        if problem.kind in ("nu_svc", "one_class"):
            needed = sum(total / max(1e-300, float(problem.c[side].mean())) for side, total in problem.sides)
            self.missing_support = (1.0 - order.size / problem.n_points) * needed
        copies = problem.n // problem.n_points
        index = (np.arange(copies)[:, None] * problem.n_points + order[None, :]).ravel()
        self.kind = problem.kind
        self.index, self.tiles, self.points = index, tiles, np.tile(np.arange(order.size), copies)
        sign, c = problem.sign[index], problem.c[index] * scale
        self.sign, self.low, self.high = sign, np.minimum(0.0, sign * c), np.maximum(0.0, sign * c)
        self.target = sign * problem.tau[index]
        #: Regression with one equality: a point's two variables move as one, u = u+ + u-, and |u| has the price ``kink`` = eps.
        self.twins = problem.kind == "epsilon_svr"
        self.kink = problem.kink if self.twins else 0.0
        #: Variables that share an equality: all of them, or each sign by itself.
        self.sides = (
            [np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)] if problem.nu_form else [np.arange(index.size)]
        )
        self.u, self.v = np.zeros(index.size), np.zeros(index.size)
        #: Sums that bound the error of the points' scores (`gram/float32_error`), and the sum of all |du| so far.
        self.off = np.zeros((order.size, 2)) if self.rates.known else None
        self.moved = 0.0

    @property
    def rates(self) -> ErrorRates:
        return getattr(self.tiles, "rates", ErrorRates())

    def approximate_scores(self, tick: Tick) -> ApproximateScores | None:
        """The scores of all points in the problem's order, with a bound on the error of each; None where no bound is known."""
        if self.off is None:
            return None
        found, bound = self.scores(), self.off
        u = self.coefficients(self.u)
        columns = np.flatnonzero(u)
        if isinstance(self.tiles, CachedRowTiles) and self.tiles.keeps(columns):
            # Scores summed anew from kept rows have the error of one update, not of all updates so far.
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
        """Whether each point has one variable."""
        return self.index.size == self.n

    def set_point(self, u: np.ndarray, scores: np.ndarray) -> None:
        self.u[:] = u
        self.v[:] = self.target - scores[self.points]

    def scores(self) -> np.ndarray:
        return (self.target - self.v)[: self.n]

    def coefficients(self, u: np.ndarray) -> np.ndarray:
        """The coefficient of each point from the u of its variables."""
        return u if self.single else np.bincount(self.points, u, minlength=self.n)

    def update_scores(self, du: np.ndarray, among: np.ndarray | None, loop: Loop) -> None:
        """Update v after u moved by du: the v of all variables, or of the variables ``among``."""
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
        """scores += K[at, columns] v, with the bound on their error; the product is timed."""
        started = now()
        if off is None:
            self.tiles.add(scores, columns, v, at, loop.tick)
        else:
            self.tiles.add(scores, columns, v, at, loop.tick, off)
            self.moved += float(np.abs(v).sum())
        self.pace.note(scores.size * columns.size, now() - started)

    def final_seconds(self, support: float) -> float:
        """The seconds that the scores of the whole problem will take, in double precision: 3 times those in single precision."""
        return 3.0 * self.pace.seconds(self.whole * (support + self.missing_support))

    def spread(self) -> float:
        """The unit of violations: 1 for C-SVC, else the standard deviation of v."""
        return 1.0 if self.kind == "c_svc" else max(1e-300, float(np.std(self.v)))

    def relative_gap(self, middle: np.ndarray, among: np.ndarray | None) -> float:
        """The relative gap by the level's v; variables that are left out are on their right side and add nothing to it."""
        at: Any = slice(None) if among is None else among
        rows = gap_of_rows(self.u[at], self.v[at] - middle, self.low[at], self.high[at])
        dual = 0.5 * float(self.u @ (self.target + self.v))
        return rows / abs(dual) if dual else np.inf

    def side_offsets(self, among: np.ndarray | None = None) -> tuple[np.ndarray, float]:
        """For each variable the middle of its side's worst pair, and the violation of the worst pair of all."""
        middle = np.zeros(self.index.size if among is None else among.size)
        worst = 0.0
        for sign in (None,) if len(self.sides) == 1 else (1.0, -1.0):
            signs = self.sign if among is None else self.sign[among]
            own: Any = slice(None) if sign is None else np.flatnonzero(signs == sign)
            at = own if among is None else among[own]
            top, bottom = extremes(self.u[at], self.v[at], self.low[at], self.high[at], 0.0)
            if np.isfinite(top) and np.isfinite(bottom):
                worst = max(worst, top - bottom)
                middle[own] = 0.5 * (top + bottom)
        return middle, worst


def level_sizes(
    problem: KernelDual, order: np.ndarray, smallest: float = KERNEL_THRESHOLDS.smallest_level
) -> list[int]:
    """The sizes of the levels in points, the whole problem last. No level has fewer than 20 points of either sign."""
    ratio = KERNEL_THRESHOLDS.level_ratio
    found = [problem.n_points]
    signs = problem.sign[: problem.n_points][order] if problem.n == problem.n_points else np.ones(0)
    while found[0] // ratio >= smallest:
        size = found[0] // ratio
        if signs.size and problem.kind != "one_class" and min((signs[:size] > 0).sum(), (signs[:size] < 0).sum()) < 20:
            break
        found.insert(0, size)
    return found


def level_sizes_in_time(problem: KernelDual, order: np.ndarray, loop: Loop, pace: ProductPace) -> list[int]:
    """The sizes of the levels. Where time is limited there are smaller ones, if the scores of all points by as many support
    vectors as the smallest level has would take longer than what is left: nothing could be claimed in time."""
    usual = KERNEL_THRESHOLDS.smallest_level
    found = level_sizes(problem, order)
    if loop.stop.seconds is None or problem.n_points <= usual:
        return found
    pace.try_product(problem)
    each = 3.0 * pace.seconds(problem.n_points)  # of a support vector: see ``final_seconds``
    most = (loop.stop.seconds - loop.seconds) / each if each else np.inf
    return found if found[0] <= most else level_sizes(problem, order, max(50.0, min(most / 4.0, usual)))


def start_from_smaller_level(old: NestedLevel, new: NestedLevel, loop: Loop) -> None:
    """Start a level from the solution of a smaller one."""
    ratio = new.n / old.n
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


def spread_to_whole(problem: KernelDual, level: NestedLevel) -> np.ndarray:
    """A feasible beta of the whole problem from a level's u, divided by the ratio of their sizes."""
    beta = np.zeros(problem.n)
    beta[level.index] = level.sign * level.u * (level.n / problem.n_points)
    sums = problem.kind in ("nu_svc", "one_class", "nu_svr") and level.n < problem.n_points
    for side, total in problem.sides if sums else ():
        # The missing mass fills the first rows up to c: shared among all rows it would make every row a support vector. In
        # nu_svr both variables of a row are filled, and cancel.
        room = problem.c[side] - beta[side]
        beta[side] += np.clip(total - float(beta[side].sum()) - (np.cumsum(room) - room), 0.0, room)
    return problem.repair(beta)


# How far variables are from the optimality conditions: pairs out of order, and the gap summed over rows.  With u = s beta and
# v = s tau - f, a pair (i, j) is out of order where u_i can rise, u_j can fall and v_i > v_j.


def violations(u, v, low, high):
    """How far each v is on the wrong side of 0; negative where it is on the right side."""
    out = np.empty(u.size)
    _measure_violations(u, v, low, high, out)
    return out


@compiled
def extremes(u, v, low, high, kink):
    """The largest v that can rise and the smallest v that can fall; less and more by the ``kink``, the price of |u|."""
    top, bottom = -np.inf, np.inf
    for i in range(u.size):
        rise, fall = v[i] + kink if u[i] < 0.0 else v[i] - kink, v[i] - kink if u[i] > 0.0 else v[i] + kink
        if u[i] < high[i] and rise > top:
            top = rise
        if u[i] > low[i] and fall < bottom:
            bottom = fall
    return top, bottom


@compiled(vectorise=True)
def gap_of_rows(u, v, low, high):
    """The sum of (c - beta) h where h > 0 and of -beta h elsewhere: v times the way to the upper bound, or to the lower one."""
    total = 0.0
    for i in range(u.size):
        total += v[i] * (high[i] - u[i]) if v[i] > 0.0 else v[i] * (low[i] - u[i])
    return total


@compiled(allocates=False)
def _measure_violations(u, v, low, high, out):
    for i in range(u.size):
        worst = -np.inf
        if u[i] < high[i]:
            worst = v[i]
        if u[i] > low[i] and -v[i] > worst:
            worst = -v[i]
        out[i] = worst
