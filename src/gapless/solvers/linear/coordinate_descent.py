"""Dual coordinate descent: one example at a time, shrinking, any loss, any offset.

    maximise  D(u) = - sum_i c_i l*(y_i, -u_i/c_i) - 1/2 |theta|^2,      theta = sum_i u_i (x_i, s)

A step solves D exactly along one u_i and keeps theta up to date (Hsieh et al., 2008).  Examples that sit at a bound
with a slope that keeps them there are left out (shrinking) and all come back before the gap is computed.  A pass
visits the examples in random order; each row is asked for some steps ahead, so that the memory has time to bring it.
Neighbours are read faster than strangers, so that the first pass, which brings much in whatever order, visits stretches
of a few rows, and passes over long rows do so ever after.  For the hinge rows of zeros and ones are read without their values,
and where they are of many lengths stretches are of one.

A free offset has the constraint sum u = 0.  It is met by the method of multipliers: the constant feature s penalises
(b - b0)^2/(2 s^2) instead of b^2, and after each round b0 moves to the b found.  With sum u = r that is
b = b0 + s^2 r, so b0 settles exactly when the constraint holds.  It closes linearly: good to 1e-4 or so, where other
solvers take over.  The hinge at a good offset has most rows of the heavier class just beyond their margin: they stay in every
pass and move in none, so that each pass is followed by some over the few that are strictly inside their box.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gapless import rows as R
from gapless.problems.linear import LinearProblem
from gapless.rows.copies.binary import sort_by_length
from gapless.rows.copies.choose import best_copy
from gapless.rows.shape import is_binary, n_stored
from gapless.rows.thresholds import ROW_THRESHOLDS
from gapless.solvers.linear.coordinate_start import START_SHARE, start_with_balanced_shares, start_with_class_shares
from gapless.solvers.linear.coordinate_sweeps import (
    Coordinates,
    Shrinking,
    find_inside,
    find_worth_visiting,
    keep_staying,
    shuffle,
    sweep,
    sweep_logistic,
)
from gapless.solvers.linear.thresholds import LINEAR_THRESHOLDS
from gapless.solvers.loop import Loop


def coordinate_descent(
    problem: LinearProblem,
    loop: Loop,
    start: np.ndarray | None = None,
    *,
    seed: int = 0,
    order: np.ndarray | None = None,
    give_up: int | None = None,
    affordable: float = np.inf,
) -> None:
    """Record points in ``loop`` until the slopes of D are rounding.

    ``order`` is a first order of the examples.  It returns after ``give_up`` passes that did not halve the gap, or as soon as
    the speed of the last passes says that more than ``affordable`` are needed in all.
    """
    ascent = _Ascent(problem, loop, start, seed, order)
    looks = _Looks(loop, problem.n)
    while True:
        ascent.visit_active(looks.aim)
        if not looks.are_due(ascent):
            continue
        gap, z, best = ascent.record()
        left = looks.work_left(ascent, gap)
        if ascent.done and ascent.is_stationary():
            return
        if ascent.done and not (problem.free and ascent.bounded and ascent.size > 0):
            # The slopes of the examples still visited are small and the gap is not: visit all examples.
            ascent.restore_all()
        elif ascent.bounded:
            ascent.restore_by_scores(z, best)
        if not looks.plan_next(ascent, gap, give_up) or ascent.work + looks.spent + left > affordable:
            return
        if give_up is not None and loop.n_iter > loop.stop.passes // 2:
            return  # another solver takes over, and needs passes too


class _Ascent:
    """A dual point u with theta = sum u (x, s), the offset b0 around which s penalises b, and the examples still visited."""

    stretch = 8  #: rows that are visited one after the other where passes go by stretches
    inside_share = 5  #: examples inside their box are visited again where they are at most 1/5 of those still visited

    def __init__(
        self, problem: LinearProblem, loop: Loop, start: np.ndarray | None, seed: int, order: np.ndarray | None
    ) -> None:
        self.problem, self.loop = problem, loop
        loss, n = problem.loss, problem.n
        self.n, self.free, self.bounded = n, problem.free, loss.sparse_dual
        #: Where no more than ``few`` examples are still visited, a whole pass is short as it is.
        self.repeats_inside, self.few = problem.free and not loss.smooth, n / self.inside_share**2
        rows: Any = problem.rows
        if not loss.smooth and R.is_sparse(rows):
            rows = best_copy(rows, "random")
        q, self.s, self.b0 = problem.norms2, rows.constant, 0.0
        if problem.free:
            self.s = _choose_constant(problem)
            rows = rows._replace(constant=self.s)
            q = q - 1.0 + self.s * self.s
            if not loss.smooth:
                # At w = 0 the best offset is the sign of the heavier class; where neither is much heavier, w decides.
                positive, negative = problem.masses
                self.b0 = min(1.0, max(-1.0, 2.0 * (positive - negative) / (positive + negative)))
        self.rows = rows
        self.u, self.theta = self._start(start)
        top = problem.c if loss.dual_ends[1] == 1.0 else np.full(n, np.inf)
        self.coordinates = Coordinates(loss, problem.y, problem.c, q, top)
        self.logits = _logits(self.u, problem.y, problem.c) if loss.entropic else None
        self._order_examples(order, seed)
        self.shrinking = Shrinking()
        self.work, self.passes, self.spread, self.done = 0.0, 0, np.inf, False
        self.scratch = np.empty(n) if problem.free else None
        # A logistic step solves an equation, some 1 us; a value of a product takes a few ns.
        per_row = n_stored(rows) / max(1, n) / 10.0 + 1.0 if self.bounded else 40.0
        self.examples_per_tick = max(1, int(ROW_THRESHOLDS.values_per_tick / 20.0 / per_row))

    def _start(self, start: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The first u and its theta; b0 moves to the offset that goes with them."""
        problem = self.problem
        theta: np.ndarray | None = None
        if start is not None:
            u = problem.repair(start)
        elif not problem.loss.entropic:
            u = np.zeros(problem.n)
        elif min(problem.masses) <= 0.0:
            u = problem.repair(START_SHARE * problem.c * problem.y)
        elif problem.free:
            u, theta, self.b0 = start_with_balanced_shares(problem)
        else:
            u, theta = start_with_class_shares(problem)
        if theta is None:
            theta = np.zeros(problem.d + 1)
            if u.any():
                theta = problem.combine(u)
                theta[-1] = self.rows.constant * float(u.sum())
        if problem.free and start is not None:
            self.b0 = problem.primal_from_dual(u)[-1] - self.s * theta[-1]
        return u, theta

    def _order_examples(self, order: np.ndarray | None, seed: int) -> None:
        """The order of all examples from which passes are drawn, and the length of the stretches that stay together."""
        n = self.problem.n
        self.random = np.array([seed * 2 + 1], np.uint64)
        sorted_by_length = False
        if order is None and is_binary(self.rows):
            everybody = np.arange(n)
            shuffle(everybody, self.random, 1)
            order = sort_by_length(self.rows, everybody)
            sorted_by_length = order is not None
        self.ordered = order is not None
        self.everybody = np.arange(n) if order is None else order
        self.active, self.size = self.everybody.copy(), n
        # Rows that stand together may be alike, and then slow the progress down; long rows gain more than they lose.
        long = n_stored(self.rows) > LINEAR_THRESHOLDS.stretch_row_values * n and not self.problem.free
        self.together = self.stretch if long or sorted_by_length else 1

    # -- one pass ------------------------------------------------------------------------------------------------

    def visit_active(self, aim: float) -> None:
        """One pass over the examples still visited; ``done`` where their slopes are below ``aim``."""
        loop, size, free = self.loop, self.size, self.free
        active = self.active[:size]
        shuffle(active, self.random, self.stretch if self.passes == 0 else self.together)
        stays, high, low = self._sweep_active(active)
        self.work += size / self.n
        if self.repeats_inside and size > self.few:
            self._sweep_inside(active, stays)
        self.passes += 1
        loop.n_iter = max(loop.n_iter, math.ceil(self.work))
        self.size = keep_staying(self.active, stays)
        self.spread = high - low
        # How far b0 is to move says as much about what is left as the slopes do, and where it says more, it is time to move.
        ahead_of_b0 = abs(self.s * self.theta[-1]) if free and self.bounded else 0.0
        self.done = max(self.spread, ahead_of_b0) <= aim or self.size == 0
        due = self.done or not self.bounded or self.passes == 1 or self.passes % 3 == 0
        if free and (due or ahead_of_b0 > 0.2 * self.spread):
            self.b0 += self.s * self.theta[-1]
        self.shrinking = Shrinking(high if high > 0 else np.inf, low if low < 0 else -np.inf)

    def _sweep_active(self, active: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Which examples stay, and the largest and the smallest slope."""
        size, step, shrinking = active.size, self.examples_per_tick, self.shrinking
        stays, slopes = np.ones(size, dtype=bool), np.array([-np.inf, np.inf])
        here = self.coordinates, self.rows, self.u
        for first in range(0, size, step):
            chosen = active[first : first + step]
            if self.logits is not None:
                sweep_logistic(*here, self.logits, self.theta, self.b0, chosen, slopes)
            else:
                sweep(*here, self.theta, self.b0, chosen, stays[first : first + step], shrinking, self.bounded, slopes)
            self.loop.tick()
        high, low = slopes.tolist()
        return stays, high, low

    def _sweep_inside(self, active: np.ndarray, stays: np.ndarray) -> None:
        """Visit the examples strictly inside their box again, where they are few: at a good offset they alone move."""
        again = 3  # a9a, w8a need fewest passes so
        found = np.empty_like(active)
        inside = found[: find_inside(active, stays, self.u, self.problem.c, found)].copy()
        if inside.size * self.inside_share >= active.size:
            return
        here, all_stay, slopes = (self.coordinates, self.rows, self.u), np.ones(inside.size, dtype=bool), np.zeros(2)
        for _ in range(again):
            shuffle(inside, self.random, 1)
            sweep(*here, self.theta, self.b0, inside, all_stay, Shrinking(), self.bounded, slopes)
        self.work += again * inside.size / self.n
        self.loop.tick()

    # -- looks at the gap ----------------------------------------------------------------------------------------

    def record(self) -> tuple[float, np.ndarray, float]:
        """Record u and its theta; the gap, the scores (by ``rows``), and the offset in them.

        Theta is at hand: it is the sum that the steps kept, but for the few examples that give way to a free offset's sum u = 0.
        """
        problem, loop, u, combined = self.problem, self.loop, self.u, self.theta
        theta = combined.copy()
        if problem.free:
            moved = problem.repair(u, out=self.scratch)
            theta[-1] = float(moved.sum())
            gave = np.flatnonzero(moved != u)
            if gave.size * 8 < problem.n:
                theta[:-1] += R.combine(R.take_rows(problem.rows, gave), moved[gave] - u[gave], loop.tick)[:-1]
            else:
                theta[:-1] += problem.combine(moved - u, loop.tick)[:-1]
            u, combined = moved, theta.copy()
            theta[-1] = 0.0
        z = R.scores(self.rows, theta, loop.tick)
        if problem.free:
            theta[-1] = problem.best_offset(z, self.b0 + self.s * self.theta[-1])
            z += theta[-1]
        primal = problem.primal(theta, z)
        dual = problem.dual(u, primal, combined)
        loop.record(theta, u, primal, dual, scores=z)
        return primal - dual, z, float(theta[-1])

    def is_stationary(self) -> bool:
        """The slopes that are left are rounding of the scores."""
        rounding = 1e-17 * float(np.abs(self.u) @ self.coordinates.q + 1.0)
        return bool((self.spread if self.bounded else np.sqrt(self.spread)) < rounding)

    def restore_all(self) -> None:
        """Visit all examples again."""
        self.size, self.active, self.shrinking = self.problem.n, self.everybody.copy(), Shrinking()

    def restore_by_scores(self, z: np.ndarray, best: float) -> None:
        """Visit the examples that the scores z, which hold the offset ``best``, do not let be left out."""
        keep = np.empty(self.problem.n, dtype=bool)
        if self.problem.free:
            # the scores at the offset that the steps see
            z = np.add(z, self.b0 + self.s * self.theta[-1] - best, out=self.scratch)
        find_worth_visiting(self.coordinates, z, self.u, self.shrinking, keep)
        self.active = self.everybody[keep[self.everybody]] if self.ordered else np.flatnonzero(keep)
        self.size = self.active.size


class _Looks:
    """When to compute the gap, which costs part of a pass, and whether the last passes gained enough to go on."""

    most_between = 50  #: passes between two looks, at most; twice as many where passes are over few rows

    def __init__(self, loop: Loop, n: int) -> None:
        self.loop = loop
        self.aim = 0.0  #: the spread of the slopes at which the gap is expected to be small enough
        self.spent = 0.0  #: what looks have cost, in passes, where that is not little
        self.next_look, self.enough, self.last = 2, 0.0, n
        self.gaps = [(0.0, loop.best_primal - loop.best_dual)]  # work and gap of each look
        self.halved_gap, self.halved_at = np.inf, 0

    @property
    def target(self) -> float:
        return self.loop.stop.relative_gap * max(abs(self.loop.best_primal), abs(self.loop.best_dual))

    def are_due(self, ascent: _Ascent) -> bool:
        if ascent.done or ascent.passes >= self.last or self.loop.n_iter >= self.loop.stop.passes:
            return True
        return ascent.passes >= self.next_look and ascent.work >= self.enough

    def work_left(self, ascent: _Ascent, gap: float) -> float:
        """How many more passes are needed if each gains as much as the passes of the second half did."""
        self.spent += 1.0 if ascent.problem.free and ascent.bounded else 0.0
        work = ascent.work + self.spent
        then, before = next(seen for seen in reversed(self.gaps) if seen[0] <= 0.5 * work)
        self.gaps.append((work, gap))
        target = self.target
        if not 0.0 < gap < before or target <= 0.0:
            return np.inf
        return max(0.0, float(np.log(gap / target))) * (work - then) / float(np.log(before / gap))

    def plan_next(self, ascent: _Ascent, gap: float, give_up: int | None) -> bool:
        """Set the next look; False where the gap was not halved in ``give_up`` passes."""
        # The spread costs nothing, and falls about as the gap does: the next look is where it says enough.
        self.aim = min(0.5 * ascent.spread, ascent.spread * self.target / gap) if gap > 0.0 else 0.0
        passes, bounded = ascent.passes, ascent.bounded
        self.next_look = passes + max(1, min(passes // 2 if bounded else 2 * passes, self.most_between))
        # A look costs 0.4 passes; with a free offset, whose best value it has to find, a whole one.
        self.enough = ascent.work + (1.0 if ascent.problem.free else 0.4)
        self.last = passes + 2 * self.most_between
        if gap < 0.5 * self.halved_gap:
            self.halved_gap, self.halved_at = gap, passes
            return True
        return give_up is None or passes - self.halved_at <= give_up


def _choose_constant(problem: LinearProblem) -> float:
    """The constant feature s of a free offset. A shorter one makes b slow, a longer one makes the steps small.

    Steps of the logistic loss are small anyway where c is, by its own curvature.  Measured on text, a9a and w8a: these s need the
    fewest passes.
    """
    length = max(float(np.mean(problem.norms2 - 1.0)), 1e-6)
    if problem.loss.entropic:
        return float(np.sqrt(length + 0.1 / np.mean(problem.c)))
    return 0.5 * float(np.sqrt(length))


def _logits(u: np.ndarray, y: np.ndarray, c: np.ndarray) -> np.ndarray:
    """t with alpha = c expit(t); far out where alpha is at a bound, so that the first step starts inside its bracket."""
    share = u * y / c
    with np.errstate(divide="ignore"):
        return np.log(share) - np.log1p(-share)
