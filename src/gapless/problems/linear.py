"""Regularised linear models: one example, one score.

    P(w, b) = 1/2 |w|^2 + sum_i c_i l(y_i, <w, x_i> + b)
    D(u)    = - sum_i c_i l*(y_i, -u_i/c_i) - 1/2 |sum_i u_i x_i|^2,   free offset: sum_i u_i = 0,   w = sum_i u_i x_i

The offset is absent, penalised (one more feature of value s, weight v, b = sv) or free.  All three are one shape here:
theta = (w, v) with a constant feature, whose square is in the penalty unless the offset is free.

Weak duality with a free offset and sum u = r:   P(w, b) >= D(u) - b r   for every (w, b), hence   P* >= D(u) - B |r|
for any B >= |b*|.  `linear_offset` gives such a B and the best b for given scores, `linear_sums` has the compiled sums over
examples, `linear_rounding` bounds what rounding adds to P - D.

Solvers ask a problem for sums over all examples, and for vectors with an entry for each that they hand back: the verbs of
`examples/protocol`.  Those that every problem over rows has are in `examples/over_rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from gapless import rows as R
from gapless._runtime.cached import lazy
from gapless._runtime.threads import run_in_parts
from gapless.losses.verbs import value
from gapless.numbers import UNIT
from gapless.problems import linear_sums as sums
from gapless.problems.examples.hinge_band import HingeBand
from gapless.problems.examples.hinge_barrier import HingeBarrier
from gapless.problems.examples.hinge_sets import HingeSets, count_free
from gapless.problems.examples.over_rows import OverRows
from gapless.problems.linear_offset import bound_offset, find_best_offset, find_offset_interval
from gapless.problems.linear_rounding import add_rounding_sums, bound_rounding
from gapless.problems.linear_sums import SLICE, LossAtScores, WeightedLoss, n_blocks, share_blocks, sum_blocks
from gapless.rows.products import cut_for_two_reads, sum_in_block_order
from gapless.rows.shape import to_copy_coordinates

Tick = Callable[[], None] | None

#: How the offset enters.
OFFSETS = ("none", "penalised", "free")


@dataclass(frozen=True, eq=False)
class LinearProblem(OverRows):
    """P, D and the maps between them, for rows X, targets y, weights c > 0 and a loss."""

    rows: R.Rows
    y: np.ndarray
    c: np.ndarray
    loss: Any
    offset: str

    #: Step lengths that one pass over the scores answers.
    steps_at_once: ClassVar[int] = 1

    @classmethod
    def build(
        cls, X: Any, y: np.ndarray, c: np.ndarray, loss: Any, offset: str, offset_scale: float = 1.0
    ) -> LinearProblem:
        """The problem of rows and targets as they come."""
        signs = y.dtype == np.int8  # the +1 and -1 of a classifier take a byte each
        y = np.ascontiguousarray(y, np.int8 if signs else float)
        rows = R.as_rows(X, constant_feature(offset, offset_scale))
        return cls(rows, y, np.ascontiguousarray(c, float), loss, offset)

    # -- shape ---------------------------------------------------------------------------------------------------

    @property
    def weighted_loss(self) -> WeightedLoss:
        return WeightedLoss(self.loss, self.y, self.c)

    def norms2_of(self, start: int, stop: int) -> np.ndarray:
        """|x_i|^2 of a slice of the rows. Those of all rows are kept; a slice of many rows is computed anew each time."""
        return self.norms2 if stop - start == self.n else R.norms2(R.slice_rows(self.rows, start, stop))

    @lazy
    def R2(self) -> float:
        """The largest |x_i|^2, without the constant feature where the offset is free; infinite or NaN where a row is."""
        parts = [self.norms2_of(at, min(self.n, at + SLICE)).max() for at in range(0, self.n, SLICE)]
        return largest_norm2(np.array(parts), self.free)

    @lazy
    def masses(self) -> tuple[float, float]:
        """The sums of c over the positive and over the negative examples."""
        positive = negative = 0.0
        for at in range(0, self.n, SLICE):
            y, c = self.y[at : at + SLICE].astype(float), self.c[at : at + SLICE]
            negative += sum_blocks(sums.add_mass_below, y.size, y, c, 0.0)
            positive += sum_blocks(sums.add_mass_below, y.size, np.negative(y, out=y), c, 0.0)
        return positive, negative

    @lazy
    def equal_costs(self) -> bool:
        """All c are equal."""
        return bool(self.c.min() == self.c.max())

    def mass(self, chosen: np.ndarray) -> float:
        """The sum of c where ``chosen`` is True. Equal c need only be counted, which is much faster."""
        if self.equal_costs:
            return float(self.c[0]) * int(np.count_nonzero(chosen))
        return float(np.add.reduce(self.c, where=chosen))

    def split(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        """theta -> (w, b)"""
        return theta[:-1], float(self.constant * theta[-1])

    def join(self, w: np.ndarray, b: float) -> np.ndarray:
        """(w, b) -> theta"""
        v = b / self.constant if self.constant else 0.0
        return np.append(np.asarray(w, float), v)

    def mass_below(self, t: np.ndarray, end: float) -> float:
        """The sum of c where t < end."""
        return sum_blocks(sums.add_mass_below, t.size, t, self.c, end)

    # -- the rows ------------------------------------------------------------------------------------------------

    def subset(self, index: np.ndarray, scale: float = 1.0) -> LinearProblem:
        """The problem on some rows, their weights multiplied by ``scale``."""
        part = R.take_rows(self.rows, index)
        return type(self)(part, self.y[index], self.c[index] * scale, self.loss, self.offset)

    def sample(self, m: int, order: np.ndarray | None = None) -> LinearProblem:
        """The problem on m examples drawn at random, weights scaled up; ``order`` is one that does not depend on theirs."""
        index = R.sample(self.n, m)
        if order is not None:
            index = np.sort(order[index])
        return self.subset(index, self.n / index.size)

    def scale_costs(self, factor: float) -> LinearProblem:
        """The problem at other costs, over the same rows."""
        part = replace(self, c=self.c * factor)
        known = ("_fast_copy", "norms2", "R2")
        part.__dict__.update({name: value for name, value in self.__dict__.items() if name in known})
        return part

    @property
    def one_class(self) -> bool:
        """Every example is positive, or every one negative."""
        return bool((self.y > 0).all() or (self.y < 0).all())

    def scores(self, theta: np.ndarray, tick: Tick = None, out: np.ndarray | None = None) -> np.ndarray:
        return R.scores(self.pass_rows, theta, tick, out)

    def combine(self, u: np.ndarray, tick: Tick = None) -> np.ndarray:
        """sum_i u_i x_i; the last entry belongs to the constant feature."""
        return R.combine(self.pass_rows, u, tick)

    def loss_and_gradient(self, theta: np.ndarray, at: LossAtScores, tick: Tick = None) -> tuple[float, np.ndarray]:
        """The scores of theta, c l' and c l'' there, into ``at``; the sum of c l, and X'g. The data is read once."""
        if not theta[:-1].any():
            at.z[:] = self.rows.constant * theta[-1]
            return self.derivatives_along(at, at.z, 0.0)[0], self.combine(at.g, tick)
        rows = self.pass_rows
        ends, parts, block = cut_for_two_reads(rows)
        losses = np.zeros(len(ends) - 1)
        args = (self.weighted_loss, rows, to_copy_coordinates(rows, theta), at)
        run_in_parts(
            lambda k: sums.differentiate_rows(*args, losses[k : k + 1], parts[k], ends[k], ends[k + 1], block),
            len(ends) - 1,
            tick,
        )
        return float(losses.sum()), sum_in_block_order(rows, parts)

    def derivatives_along(self, at: LossAtScores, along: np.ndarray, t: float) -> tuple[float, float, float]:
        """c l' and c l'' at the scores z + t along, into g and h; the sums of c l, g along and h along^2."""
        parts = np.empty((n_blocks(at.z.size), 3))
        args = (self.weighted_loss, at, along, float(t), parts)
        share_blocks(lambda first, last: sums.differentiate_along(*args, first, last), len(parts))
        loss, slope_along, curvature_along = parts.sum(axis=0).tolist()
        return loss, slope_along, curvature_along

    def new_point(self) -> LossAtScores:
        """Scores and the derivatives there, to be filled."""
        return LossAtScores(self.new_vector(), self.new_vector(), self.new_vector())

    def new_band(self, start: np.ndarray | None = None, by_changes: bool = False) -> HingeBand:
        """The band of the hinge, with the shares of a dual point ``start``; ``by_changes``: sums read the rows that changed."""
        return HingeBand(self, start, by_changes)

    def count_free(self, u: np.ndarray) -> int:
        """The examples strictly inside their box."""
        return count_free(self, u)

    def new_sets(self, theta: np.ndarray, u: np.ndarray, tick: Tick = None) -> HingeSets:
        """The active sets of the hinge that a pair suggests."""
        return HingeSets(self, theta, u, tick)

    def new_barrier(self, start: np.ndarray | None = None) -> HingeBarrier:
        """The iterates of interior point for the hinge, from a dual point ``start``."""
        return HingeBarrier(self, start)

    def slopes_along(self, at: LossAtScores, along: np.ndarray, ts: Sequence[float]) -> list[tuple[float, float]]:
        """Slope and curvature of the loss at the scores z + t along, for each t."""
        return [self.derivatives_along(at, along, t)[1:] for t in ts]

    def derivatives(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """c l' and c l'' at the scores z."""
        at = LossAtScores(z, np.empty_like(z), np.empty_like(z))
        self.derivatives_along(at, z, 0.0)
        return at.g, at.h

    # -- values --------------------------------------------------------------------------------------------------

    def penalty(self, theta: np.ndarray) -> float:
        w = theta[:-1] if self.free else theta
        return 0.5 * float(w @ w)

    def penalty_along(self, theta: np.ndarray, step: np.ndarray) -> tuple[float, float]:
        """The slope of the penalty along the step at theta, and its curvature along the step."""
        w, s = (theta[:-1], step[:-1]) if self.free else (theta, step)
        return float(w @ s), float(s @ s)

    def gradient(self, theta: np.ndarray, data_part: np.ndarray) -> np.ndarray:
        """grad P, with X'g at theta as ``data_part``."""
        gradient = data_part + theta
        if self.free:
            gradient[-1] = data_part[-1]
        return gradient

    def derivatives_in_offset(self, z: np.ndarray, b: float) -> tuple[float, float]:
        """The sums of c l' and of c l'' at the scores z + b."""
        parts, args = np.empty((n_blocks(z.size), 2)), (self.weighted_loss, z, b)
        share_blocks(lambda first, last: sums.differentiate_in_offset(*args, parts, first, last), len(parts))
        slope, curvature = parts.sum(axis=0).tolist()
        return slope, curvature

    def loss_sum(self, z: np.ndarray) -> float:
        return sum_blocks(sums.add_losses, z.size, self.weighted_loss, z)

    def primal(self, theta: np.ndarray, z: np.ndarray | None = None) -> float:
        return self.penalty(theta) + self.loss_sum(self.scores(theta) if z is None else z)

    def primal_at_zero(self) -> float:
        """P(0, 0): a loss of the margin is the same for both signs of y."""
        if not self.loss.of_margin:
            return self.loss_sum(np.zeros(self.n))
        return float(self.c.sum()) * value(self.loss, 0.0, 1.0)

    def conjugate_sum(self, u: np.ndarray) -> float:
        """- sum c l*(y, -u/c), the part of D that is not the penalty."""
        return sum_blocks(sums.subtract_conjugates, u.size, self.weighted_loss, u)

    def conjugate_sizes(self, u: np.ndarray) -> float:
        """sum c |l*(y, -u/c)|"""
        return sum_blocks(sums.add_conjugate_sizes, u.size, self.weighted_loss, u)

    def dual(self, u: np.ndarray, primal: float, combined: np.ndarray | None = None) -> float:
        """A lower bound on P*: D(u), less B|sum u| where the offset is free. ``primal`` is any upper bound on P*."""
        combined = self.combine(u) if combined is None else combined
        below = self.conjugate_sum(u) - self.penalty(combined)
        if self.free:
            below -= self.offset_bound(primal) * abs(self.sum(u))
        return below

    def gap(self, theta: np.ndarray, u: np.ndarray) -> float:
        primal = self.primal(theta)
        return primal - self.dual(u, primal)

    def rounding(self, theta: np.ndarray, z: np.ndarray, u: np.ndarray, combined: np.ndarray, primal: float) -> float:
        """A bound on |computed - exact| of P - D."""
        return bound_rounding(self, theta, z, u, combined, primal)

    def rounding_sums(self, theta: np.ndarray, z: np.ndarray, u: np.ndarray, unit: float) -> tuple[float, float, float]:
        """The sums over the examples of `rounding`."""
        return add_rounding_sums(self, theta, z, u, unit)

    # -- the free offset -----------------------------------------------------------------------------------------

    def offset_bound(self, primal: float) -> float:
        """B >= |b*| for some optimal b*, from P* <= primal."""
        return bound_offset(self, primal)

    def best_offset(self, z: np.ndarray, near: float | None = None) -> float:
        """The b that minimises sum c l(y, z + b); a b known to be ``near`` saves work."""
        return find_best_offset(self, z, near)

    def offset_interval(self, z: np.ndarray, near: float | None = None) -> tuple[float, float]:
        """Smallest and largest b that minimise the hinge loss of z + b."""
        return find_offset_interval(self, z, near)

    # -- maps between w and u ------------------------------------------------------------------------------------

    def zero_dual(self) -> np.ndarray:
        """u = 0, which is feasible."""
        return np.zeros(self.n)

    def dual_at(self, at: LossAtScores, out: np.ndarray | None = None) -> np.ndarray:
        """The dual point of the scores whose derivatives are at hand, repaired; into ``out``, which may be at.h."""
        u = np.negative(at.g, out=out)
        return self.repair(u, out=u)

    def dual_from_primal(self, theta: np.ndarray, z: np.ndarray | None = None) -> np.ndarray:
        """u_i = -c_i l'(z_i), moved to sum u = 0 where the offset is free."""
        u = self.scores(theta) if z is None else z.copy()
        sums.turn_scores_into_dual(self.weighted_loss, u)
        return self.repair(u, out=u)

    def primal_from_dual(
        self, u: np.ndarray, combined: np.ndarray | None = None, near: float | None = None
    ) -> np.ndarray:
        """w = sum u x, and the best offset for it, which may be ``near``."""
        theta = self.combine(u) if combined is None else combined.copy()
        if self.free:
            theta[-1] = 0.0
            theta[-1] = self.best_offset(self.scores(theta), near)
        return theta

    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """The smallest and the largest feasible u_i."""
        lowest, highest = self.loss.dual_ends
        low = np.full(self.n, lowest) if lowest else np.zeros(self.n)
        high = self.c if highest == 1.0 else np.full(self.n, highest)
        return np.where(self.y > 0, low, -high), np.where(self.y > 0, high, -low)

    def repair(self, u: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """The dual point moved inside its box and, where the offset is free, onto sum u = 0; into ``out``, which may be u.

        The sum is corrected by the examples strictly inside the box, each by its room, so that the examples at a bound stay
        there exactly; only if these have too little room do all examples move.
        """
        if not self.loss.of_margin:
            return u - u.mean() if self.free else u.copy()
        out = self.pull_into_box(u, np.empty(self.n) if out is None else out)
        for _ in range(3 if self.free else 0):
            r = float(out.sum())
            if r == 0.0:
                break
            inside, room = self.room_to_move(out, r > 0.0)
            inside_only = inside >= abs(r)
            total = inside if inside_only else room
            if total <= 0.0:
                break
            self.move_towards_balance(out, r > 0.0, inside_only, min(1.0, abs(r) / total))
        return out

    @property
    def bounded(self) -> bool:
        """Whether the box of u has an end on the side of y."""
        return bool(self.loss.dual_ends[1] < np.inf)

    def pull_into_box(self, u: np.ndarray, out: np.ndarray) -> np.ndarray:
        """The nearest point of the box, into ``out``."""
        args = u, self.y, self.c, self.bounded, out
        share_blocks(lambda first, last: sums.move_into_box(*args, first, last), n_blocks(self.n))
        return out

    def room_to_move(self, u: np.ndarray, lower: bool) -> tuple[float, float]:
        """How far u can go down, or up: summed over the examples strictly inside their box, and over all."""
        rooms = np.empty((n_blocks(self.n), 2))
        args = u, self.y, self.c, self.bounded, lower, rooms
        share_blocks(lambda first, last: sums.add_room_to_move(*args, first, last), len(rooms))
        inside, room = rooms.sum(axis=0).tolist()
        return inside, room

    def move_towards_balance(self, u: np.ndarray, lower: bool, inside_only: bool, part: float) -> None:
        """Move u down, or up, by this part of its room."""
        args = u, self.y, self.c, self.bounded, lower, inside_only, part
        share_blocks(lambda first, last: sums.move_towards_balance(*args, first, last), n_blocks(self.n))

    def scale_dual(self, u: np.ndarray) -> np.ndarray:
        """t u with the t in [0, 1] that lifts D highest: a rough dual point often is right but for its length."""
        curvature = self.loss.conjugate_curvature
        if curvature is None:
            return u  # no closed form, and no need: Newton's own dual point is never far off
        square = 2.0 * self.penalty(self.combine(u))
        if curvature:
            square += float((u * u / self.c).sum()) * curvature
        return u * min(1.0, max(0.0, float(u @ self.y) / square)) if square > 0.0 else u


def constant_feature(offset: str, scale: float = 1.0) -> float:
    """The value of the constant feature for an offset that is absent, penalised or free."""
    return dict(zip(OFFSETS, (0.0, scale, 1.0)))[offset]


def largest_norm2(norms2: np.ndarray, free: bool) -> float:
    """The largest |x_i|^2; a free offset's constant feature (1) is taken out again, rounded up."""
    top = float(norms2.max(initial=0.0))
    return max(0.0, top - 1.0) + 8.0 * UNIT * top if free else top
