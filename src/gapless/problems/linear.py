"""Regularised linear models: one example, one score.

    P(w, b) = 1/2 |w|^2 + sum_i c_i l(y_i, <w, x_i> + b)
    D(u)    = - sum_i c_i l*(y_i, -u_i/c_i) - 1/2 |sum_i u_i x_i|^2,   free offset: sum_i u_i = 0,   w = sum_i u_i x_i

The offset is absent, penalised (one more feature of value s, weight v, b = sv) or free.  All three are one shape here:
theta = (w, v) with a constant feature, whose square is in the penalty unless the offset is free.

Weak duality with a free offset and sum u = r:   P(w, b) >= D(u) - b r   for every (w, b), hence   P* >= D(u) - B |r|
for any B >= |b*|.  `offset_bound` gives such a B.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless import rows as R
from gapless._compile.jit import compiled
from gapless._runtime.cached import lazy
from gapless._runtime.threads import share
from gapless.losses import Hinge, Logistic, Squared, SquaredHinge
from gapless.losses.verbs import conjugate, curvature, dual_of, slope, value
from gapless.numbers import UNIT, gamma
from gapless.rows.copies.choose import best_copy
from gapless.rows.products import cut_for_two_reads, sum_in_block_order
from gapless.rows.shape import base_length, to_copy_coordinates
from gapless.rows.verbs import row_axpy, row_dot

#: How the offset enters.
OFFSETS = ("none", "penalised", "free")


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """P, D and the maps between them, for rows X, targets y, weights c > 0 and a loss."""

    rows: R.Rows
    y: np.ndarray
    c: np.ndarray
    loss: Any
    offset: str

    @classmethod
    def build(
        cls, X: Any, y: np.ndarray, c: np.ndarray, loss: Any, offset: str, offset_scale: float = 1.0
    ) -> LinearProblem:
        constant = dict(zip(OFFSETS, (0.0, offset_scale, 1.0)))[offset]
        signs = y.dtype == np.int8  # the +1 and -1 of a classifier take a byte each
        y = np.ascontiguousarray(y, np.int8 if signs else float)
        return cls(R.as_rows(X, constant), y, np.ascontiguousarray(c, float), loss, offset)

    # -- shape ---------------------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        return self.y.size

    @property
    def d(self) -> int:
        return R.n_features(self.rows)

    @property
    def free(self) -> bool:
        return self.offset == "free"

    @lazy
    def norms2(self) -> np.ndarray:
        return R.norms2(self.rows)

    @lazy
    def R2(self) -> float:
        """The largest |x_i|^2, without the constant feature where the offset is free; infinite or NaN where a row is."""
        parts = [self._norms2(at, min(self.n, at + SLICE)).max() for at in range(0, self.n, SLICE)]
        return largest_norm2(np.array(parts), self.free)

    def _norms2(self, start: int, stop: int) -> np.ndarray:
        """Kept where they are few; else made again for each slice of the rows."""
        return self.norms2 if stop - start == self.n else R.norms2(R.slice_rows(self.rows, start, stop))

    @lazy
    def masses(self) -> tuple[float, float]:
        """The sums of c over the positive and over the negative examples."""
        positive = negative = 0.0
        for at in range(0, self.n, SLICE):
            y, c = self.y[at : at + SLICE].astype(float), self.c[at : at + SLICE]
            negative += _sum_blocks(_mass_below, y, c, 0.0)
            positive += _sum_blocks(_mass_below, np.negative(y, out=y), c, 0.0)
        return positive, negative

    def mass(self, chosen: np.ndarray) -> float:
        """The sum of c where ``chosen`` is True: where all c are equal they need only be counted, which is much faster."""
        if self._equal:
            return float(self.c[0]) * int(np.count_nonzero(chosen))
        return float(np.add.reduce(self.c, where=chosen))

    def split(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        """theta -> (w, b)"""
        return theta[:-1], float(self.rows.constant * theta[-1])

    def join(self, w: np.ndarray, b: float) -> np.ndarray:
        """(w, b) -> theta"""
        v = b / self.rows.constant if self.rows.constant else 0.0
        return np.append(np.asarray(w, float), v)

    def subset(self, index: np.ndarray, scale: float = 1.0) -> LinearProblem:
        """The problem on some rows, their weights multiplied by ``scale``."""
        part = R.take_rows(self.rows, index)
        return LinearProblem(part, self.y[index], self.c[index] * scale, self.loss, self.offset)

    def use_fast_copy(self, large: int | None = None, many: bool = True) -> None:
        """Passes over all rows will be several, or many: from now on they read a copy in less memory that this repays, if any."""
        if "_fast_copy" not in self.__dict__:
            copy = best_copy(self.rows, "passes", times=np.inf if many else 1, least_values=large)
            if many or copy is not self.rows:
                self.__dict__["_fast_copy"] = copy

    @property
    def pass_rows(self) -> Any:
        """The rows as passes read them."""
        return self.__dict__.get("_fast_copy", self.rows)

    # -- values --------------------------------------------------------------------------------------------------

    def scores(
        self, theta: np.ndarray, tick: Callable[[], None] | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        return R.scores(self.pass_rows, theta, tick, out)

    def combine(self, u: np.ndarray, tick: Callable[[], None] | None = None) -> np.ndarray:
        """sum_i u_i x_i; the last entry belongs to the constant feature."""
        return R.combine(self.pass_rows, u, tick)

    def penalty(self, theta: np.ndarray) -> float:
        w = theta[:-1] if self.free else theta
        return 0.5 * float(w @ w)

    def loss_sum(self, z: np.ndarray) -> float:
        return _sum_blocks(_loss_sums, self.loss, z, self.y, self.c)

    def primal(self, theta: np.ndarray, z: np.ndarray | None = None) -> float:
        return self.penalty(theta) + self.loss_sum(self.scores(theta) if z is None else z)

    def dual(self, u: np.ndarray, primal: float, combined: np.ndarray | None = None) -> float:
        """A lower bound on P*: D(u), less B|sum u| where the offset is free. ``primal`` is any upper bound on P*."""
        combined = self.combine(u) if combined is None else combined
        below = self._dual_terms(u) - self.penalty(combined)
        if self.free:
            below -= self.offset_bound(primal) * abs(float(u.sum()))
        return below

    def primal_at_zero(self) -> float:
        """P(0, 0): a loss of a margin is the same for both signs of y."""
        if isinstance(self.loss, Squared):
            return self.loss_sum(np.zeros(self.n))
        return float(self.c.sum()) * value(self.loss, 0.0, 1.0)

    def _dual_terms(self, u: np.ndarray) -> float:
        """- sum c l*(y, -u/c)"""
        return _sum_blocks(_dual_sums, self.loss, u, self.y, self.c)

    def gap(self, theta: np.ndarray, u: np.ndarray) -> float:
        primal = self.primal(theta)
        return primal - self.dual(u, primal)

    def offset_bound(self, primal: float) -> float:
        """B >= |b*| for some optimal b*, from P* <= primal: |<w*, x>| <= R sqrt(2P).

        Hinge and squared hinge: an optimal b* lies at a kink 1 - y<w*, x>, or between two.  Squared: b* is a weighted
        mean of y - <w*, x>.  Logistic: the slopes of the classes balance, so e^(b* - T) <= C+/C- <= e^(b* + T).
        """
        reach = np.sqrt(2.0 * max(primal, 0.0) * self.R2)
        if isinstance(self.loss, Hinge | SquaredHinge):
            start = 1.0
        elif isinstance(self.loss, Squared):
            start = float(np.abs(self.y).max(initial=0.0))
        else:
            positive, negative = self.masses
            start = abs(np.log(positive / negative)) if positive > 0 and negative > 0 else np.inf
        return float((start + reach) * (1.0 + 1e-12))

    # -- maps ----------------------------------------------------------------------------------------------------

    def derivatives_along(
        self, z: np.ndarray, along: np.ndarray, t: float, g: np.ndarray, h: np.ndarray
    ) -> tuple[float, float, float]:
        """c l' and c l'' at the scores z + t along, into g and h; the sums of c l, g along and h along^2."""
        sums = np.empty((-(-z.size // BLOCK), 3))
        args = (self.loss, z, along, float(t), self.y, self.c, g, h, sums)
        share_blocks(lambda first, last: _curve(*args, first, last), sums.shape[0])
        loss, slope_along, bend_along = sums.sum(axis=0).tolist()
        return loss, slope_along, bend_along

    def loss_and_gradient(
        self,
        theta: np.ndarray,
        z: np.ndarray,
        g: np.ndarray,
        h: np.ndarray,
        tick: Callable[[], None] | None = None,
    ) -> tuple[float, np.ndarray]:
        """The scores of theta, c l' and c l'' there, into z, g and h; the sum of c l, and X'g. The data is read once."""
        if not theta[:-1].any():
            z[:] = self.rows.constant * theta[-1]
            return self.derivatives_along(z, z, 0.0, g, h)[0], self.combine(g, tick)
        rows = self.pass_rows
        ends, sums, block = cut_for_two_reads(rows)
        losses = np.zeros(len(ends) - 1)
        args = (self.loss, rows, to_copy_coordinates(rows, theta), self.y, self.c, z, g, h)
        share(lambda k: _look(*args, losses[k : k + 1], sums[k], ends[k], ends[k + 1], block), len(ends) - 1, tick)
        return float(losses.sum()), sum_in_block_order(rows, sums)

    def derivatives(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """c l' and c l'' at the scores z."""
        g, h = np.empty_like(z), np.empty_like(z)
        self.derivatives_along(z, z, 0.0, g, h)
        return g, h

    def dual_from_primal(self, theta: np.ndarray, z: np.ndarray | None = None) -> np.ndarray:
        """u_i = -c_i l'(z_i), moved to sum u = 0 where the offset is free."""
        u = self.scores(theta) if z is None else z.copy()
        _dual_of(self.loss, u, self.y, self.c)
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
        if isinstance(self.loss, Squared):
            return np.full(self.n, -np.inf), np.full(self.n, np.inf)
        top = np.full(self.n, np.inf) if isinstance(self.loss, SquaredHinge) else self.c
        return np.where(self.y > 0, 0.0, -top), np.where(self.y > 0, top, 0.0)

    def repair(self, u: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """The dual point moved inside its box and, where the offset is free, onto sum u = 0; into ``out``, which may be u.

        What is missing is taken from the examples strictly inside the box, each by its room, so that the ones at a
        bound stay there exactly; only if these have too little room does everybody share.
        """
        if isinstance(self.loss, Squared):
            return u - u.mean() if self.free else u.copy()
        bounded, out = not isinstance(self.loss, SquaredHinge), np.empty(self.n) if out is None else out
        blocks = -(-self.n // BLOCK)
        share_blocks(lambda first, last: _into_box(u, self.y, self.c, bounded, out, first, last), blocks)
        if not self.free:
            return out
        for _ in range(3):
            r = float(out.sum())
            if r == 0.0:
                break
            sums = np.empty((blocks, 2))
            args = (out, self.y, self.c, bounded, r > 0.0)
            share_blocks(lambda first, last: _rooms(*args, sums, first, last), blocks)  # noqa: B023
            inside, room = sums.sum(axis=0).tolist()
            inside_only = inside >= abs(r)
            total = inside if inside_only else room
            if total <= 0.0:
                break
            part = min(1.0, abs(r) / total)
            share_blocks(lambda first, last: _give(*args, inside_only, part, first, last), blocks)  # noqa: B023
        return out

    def rescaled(self, u: np.ndarray) -> np.ndarray:
        """t u with the t in [0, 1] that lifts D highest: a rough dual point often is right but for its length."""
        combined = self.combine(u)
        if isinstance(self.loss, Logistic):
            return u  # no closed form, and no need: Newton's own dual point is never far off
        linear = float(u @ self.y)
        square = 2.0 * self.penalty(combined)
        if isinstance(self.loss, SquaredHinge):
            square += float((u * u / self.c).sum()) * 0.5
        elif isinstance(self.loss, Squared):
            square += float((u * u / self.c).sum())
        return u * min(1.0, max(0.0, linear / square)) if square > 0.0 else u

    def best_offset(self, z: np.ndarray, near: float | None = None) -> float:
        """The b that minimises sum c l(y, z + b): the midpoint where it is an interval. It is found sooner if it is ``near``."""
        if isinstance(self.loss, Hinge):
            low, high = self.offset_interval(z, near)
            return 0.5 * (low + high)
        if isinstance(self.loss, Squared):
            return float(self.c @ (self.y - z) / self.c.sum())
        return self._smooth_offset(z, near)

    def offset_interval(self, z: np.ndarray, near: float | None = None) -> tuple[float, float]:
        """Smallest and largest b that minimise the hinge loss of z + b.

        The slope in b starts at -C+ and grows by c_i where b passes t_i = y_i - z_i (there y_i(z_i + b) = 1), so the
        minimisers are the t between which it is zero.
        """
        wanted, others = self.masses
        total = wanted + others
        slack = 4.0 * UNIT * self.n * total
        if near is not None and min(wanted, others) > slack:
            found = self._around_guess(z, wanted - slack, wanted + slack, near)
            if found is not None:
                return found
        t = self.y - z
        if wanted <= slack:  # only negative examples count: every b below all t is as good
            return float(t.min()), float(t.min())
        if others <= slack:
            return float(t.max()), float(t.max())
        below, part = self._around(t, wanted - slack, wanted + slack)
        return self._passing(t[part], part, below, wanted - slack, wanted + slack)

    def _passing(self, t: np.ndarray, part: Any, below: float, low: float, high: float) -> tuple[float, float]:
        """The t of some examples at which the mass of c, ``below`` before all of them, passes low and high."""
        values, passed = self._in_order(t, part)
        passed += below
        first = int(np.searchsorted(passed, low))
        last = int(np.searchsorted(passed, high, side="right"))
        return float(values[min(first, values.size - 1)]), float(values[min(last, values.size - 1)])

    def _around_guess(self, z: np.ndarray, low: float, high: float, guess: float) -> tuple[float, float] | None:
        """The same by bins around a guess; None where it is not near enough."""
        bins, mass = np.empty(self.n, np.int16), np.zeros(BINS + 2)
        _into_bins(z, self.y, self.c, guess - WITHIN, 0.5 * BINS / WITHIN, bins, mass)
        passed = np.cumsum(mass)
        first = int(np.searchsorted(passed, low))
        last = int(np.searchsorted(passed, high, side="right"))
        if first == 0 or last > BINS:
            return None
        part = np.flatnonzero((bins >= first) & (bins <= last))
        return self._passing(self.y[part] - z[part], part, float(passed[first - 1]), low, high)

    def _in_order(self, values: np.ndarray, part: Any) -> tuple[np.ndarray, np.ndarray]:
        """The t of some, rising, and the mass of c up to each: where all c are equal values alone are sorted, which is fast."""
        if self._equal:
            return np.sort(values), self.c[0] * np.arange(1.0, values.size + 1.0)
        order = np.argsort(values)
        return values[order], np.cumsum(self.c[part][order])

    @lazy
    def _equal(self) -> bool:
        return bool(self.c.min() == self.c.max())

    def _around(self, t: np.ndarray, low: float, high: float) -> tuple[float, Any]:
        """The mass of c below some of the t, and which these are: few, where c in the order of t passes low and high.

        A sample says between which t that is; should it be wrong, all are taken.
        """
        if self.n >= 2 * SAMPLED:
            part = R.sample(self.n, SAMPLED)
            values, passed = self._in_order(t[part], part)
            share = passed / passed[-1]
            total = low + (high - low) / 2.0
            at = total / sum(self.masses)
            room = 6.0 / np.sqrt(SAMPLED)
            first = int(np.searchsorted(share, at - room)) - 1
            last = int(np.searchsorted(share, at + room)) + 1
            start = values[first] if first >= 0 else -np.inf
            stop = values[last] if last < SAMPLED else np.inf
            below = _sum_blocks(_mass_below, t, self.c, start)
            near = np.flatnonzero((t >= start) & (t <= stop))
            if below < low and below + float(self.c[near].sum()) > high:
                return below, near
        return 0.0, slice(None)

    def _smooth_offset(self, z: np.ndarray, near: float | None = None) -> float:
        """Newton on the slope in b, inside a bracket. Logistic and squared hinge."""
        positive, negative = self.masses
        if positive <= 0.0 or negative <= 0.0:
            t = self.y - z
            return float(t.max() if positive > 0.0 else t.min())
        smooth = isinstance(self.loss, Logistic)
        spread = max(float(z.max()), -float(z.min())) + 2.0
        if smooth:
            spread += abs(float(np.log(positive / negative)))
        # The logistic bend changes by at most its own size in a unit of b, so that a step leaves no more than its square.
        enough = 1e-8 if smooth else 1e-16
        low, high, b = -spread, spread, 0.0
        if near is not None and low < near < high:
            b = near
        sums = np.empty((-(-self.n // BLOCK), 2))
        for _ in range(200):
            share_blocks(
                lambda first, last: _along_offset(self.loss, z, self.y, self.c, b, sums, first, last),  # noqa: B023
                sums.shape[0],
            )
            slope_b, bend = sums.sum(axis=0).tolist()
            if slope_b == 0.0:
                break
            low, high = (b, high) if slope_b < 0 else (low, b)
            step = b - slope_b / bend if bend > 0 else 0.5 * (low + high)
            inside = low < step < high
            moved, b = abs((step if inside else 0.5 * (low + high)) - b), step if inside else 0.5 * (low + high)
            if moved <= (enough if inside else 1e-16) * max(1.0, abs(b)):
                break
        return float(b)

    # -- how good is it ------------------------------------------------------------------------------------------

    def kkt(self, theta: np.ndarray, u: np.ndarray) -> dict[str, float]:
        """Residuals of the optimality conditions at (theta, u): all 0 at the optimum."""
        z = self.scores(theta)
        combined = self.combine(u)
        low, high = self.box()
        primal = self.primal(theta, z)
        outside = np.maximum(np.maximum(low - u, u - high), 0.0)
        stationarity = (theta - combined)[:-1] if self.free else theta - combined
        inside = np.clip(u, low, high)
        fenchel = primal - self.penalty(theta) - self._dual_terms(inside) + float(u @ z)
        return {
            "stationarity": float(np.linalg.norm(stationarity)),
            "offset": abs(float(combined[-1])) if self.free else 0.0,
            "box": float(outside.max(initial=0.0)),
            "complementarity": fenchel,
        }

    def rounding(self, theta: np.ndarray, z: np.ndarray, u: np.ndarray, combined: np.ndarray, primal: float) -> float:
        """A bound on |computed - exact| of P - D.

        Products with a row: Higham's gamma_m = mu/(1 - mu) for any order of d + 1 terms.  Sums over rows go by blocks
        of `BLOCK`, whose sums numpy adds pairwise (numpy's own sums: blocks of 128): gamma_(BLOCK + 64) covers both.
        Marked rows have a term for base and one for the jump from it, |base| + |jump| <= |x| + 2 |base| entry by entry: as
        if rows were so much longer and had so many more columns.
        """
        longer = 2.0 * base_length(self.pass_rows)
        d = (self.d if longer == 0.0 else 2 * self.d + 5) + 1
        sums = gamma(min(self.n, BLOCK) + 64)
        # |x||w| + |b|, or by Cauchy and Schwarz with the offset as one more weight: whichever is less.
        size, slope, offset = (
            float(np.linalg.norm(part)) for part in (theta, theta[:-1], theta[-1:] * self.rows.constant)
        )
        loss_error, reach, total = 0.0, 0.0, 0.0
        for start in range(0, self.n, SLICE):
            part = slice(start, min(self.n, start + SLICE))
            norms = np.sqrt(self._norms2(part.start, part.stop)) * (1.0 + 1e-12) + longer
            score_error = gamma(d + 3) * np.minimum(norms * size, norms * slope + offset)
            lipschitz: Any = 1.0
            if isinstance(self.loss, SquaredHinge):
                lipschitz = 2.0 * (np.maximum(0.0, 1.0 - self.y[part] * z[part]) + score_error)
            elif isinstance(self.loss, Squared):
                lipschitz = np.abs(self.y[part] - z[part]) + score_error
            loss_error += float((self.c[part] * score_error * lipschitz).sum())
            heights = np.abs(u[part])
            reach += float(heights @ norms)
            total += float(heights.sum())
        error = loss_error + (sums + 16 * UNIT) * primal  # no less than the losses' sum
        error += gamma(d + 3) * self.penalty(theta)
        combined_error = gamma(R.sum_length(self.rows) + 4.0) * reach
        length = float(np.linalg.norm(combined))
        error += combined_error * (length + 0.5 * combined_error) + gamma(d + 3) * 0.5 * length**2
        if isinstance(self.loss, Hinge):
            sizes = total
        elif isinstance(self.loss, Logistic):
            mass = float(self.c.sum())
            sizes = 0.7 * mass  # no entropy is above ln 2
            error += 40 * UNIT * mass
        else:
            sizes = _sum_blocks(_dual_sizes, self.loss, u, self.y, self.c)
        error += (sums + 16 * UNIT) * (sizes + total)
        if self.free:
            bound = self.offset_bound(primal)
            error += bound * 64 * UNIT * total + 1e-11 * bound * abs(float(u.sum()))
        return error * (1.0 + 1e-10)


#: Rows whose terms are added one after the other; the sums of blocks are added pairwise.
BLOCK = 512


#: Rows that are looked at together where vectors of their length would take memory.
SLICE = 1 << 18
#: Examples that are sorted to guess where the offset lies among all of them.
SAMPLED = 8_192
#: Bins around a guess of the offset, and how far they go to either side.
BINS, WITHIN = 1_000, 0.1
#: Blocks that are worth a thread of their own.
BLOCKS = 100


def share_blocks(function: Callable[[int, int], Any], blocks: int) -> None:
    """function(first, last) on ranges of blocks, by the team."""
    parts = max(1, blocks // BLOCKS)
    ends = [blocks * k // parts for k in range(parts + 1)]
    share(lambda k: function(ends[k], ends[k + 1]), parts)


def _sum_blocks(kernel: Callable[..., Any], *args: Any) -> float:
    """The kernel writes a sum for each block of the rows; numpy adds them pairwise."""
    sums = np.empty(-(-next(a for a in args if isinstance(a, np.ndarray)).size // BLOCK))
    share_blocks(lambda first, last: kernel(*args, sums, first, last), sums.size)
    return float(sums.sum())


def constant_feature(offset: str, scale: float = 1.0) -> float:
    """The value of the constant feature for an offset that is absent, penalised or free."""
    return dict(zip(OFFSETS, (0.0, scale, 1.0)))[offset]


def largest_norm2(norms2: np.ndarray, free: bool) -> float:
    """The largest |x_i|^2; a free offset's constant feature (1) is taken out again, rounded up."""
    top = float(norms2.max(initial=0.0))
    return max(0.0, top - 1.0) + 8.0 * UNIT * top if free else top


@compiled(vectorise=True)
def _loss_sums(loss, z, y, c, sums, first, last):
    for k in range(first, last):
        start, stop = k * BLOCK, min(z.size, (k + 1) * BLOCK)
        zs, ys, cs = z[start:stop], y[start:stop], c[start:stop]
        s = 0.0
        for i in range(zs.size):
            s += cs[i] * value(loss, zs[i], ys[i])
        sums[k] = s


@compiled(vectorise=True)
def _curve(loss, z, along, t, y, c, g, h, sums, first, last):
    # Written first and summed after: a loop that does both is a vector loop only where no two arrays lie too near each
    # other, so that its sums would depend on where the memory happened to be.  Views of a block, because LLVM asks that
    # once for all blocks, and takes the last one to be as long as the others.
    losses = np.empty(BLOCK)
    for k in range(first, last):
        start, stop = k * BLOCK, min(z.size, (k + 1) * BLOCK)
        zs, ys, cs, steps = z[start:stop], y[start:stop], c[start:stop], along[start:stop]
        gs, hs = g[start:stop], h[start:stop]
        for i in range(zs.size):
            at = zs[i] + t * steps[i]
            losses[i] = cs[i] * value(loss, at, ys[i])
            gs[i] = cs[i] * slope(loss, at, ys[i])
            hs[i] = cs[i] * curvature(loss, at, ys[i])
        s, ga, haa = 0.0, 0.0, 0.0
        for i in range(zs.size):
            s += losses[i]
            ga += gs[i] * steps[i]
            haa += hs[i] * steps[i] * steps[i]
        sums[k, 0] = s
        sums[k, 1] = ga
        sums[k, 2] = haa


@compiled(vectorise=True)
def _look(loss, rows, theta, y, c, z, g, h, total, out, first, last, rows_in_block):
    # A block of rows is read for its scores and, while it is still in the cache, for its sum.
    losses, block = np.empty(BLOCK), np.empty(out.size)
    for top in range(first, last, rows_in_block):
        bottom = min(last, top + rows_in_block)
        for i in range(top, bottom):
            z[i] = row_dot(rows, i, theta)
        for start in range(top, bottom, BLOCK):
            stop = min(bottom, start + BLOCK)
            zs, ys, cs, gs, hs = z[start:stop], y[start:stop], c[start:stop], g[start:stop], h[start:stop]
            for i in range(zs.size):
                losses[i] = cs[i] * value(loss, zs[i], ys[i])
                gs[i] = cs[i] * slope(loss, zs[i], ys[i])
                hs[i] = cs[i] * curvature(loss, zs[i], ys[i])
            s = 0.0
            for i in range(zs.size):
                s += losses[i]
            total[0] += s
        for j in range(block.size):
            block[j] = 0.0
        for i in range(top, bottom):
            if g[i] != 0.0:
                row_axpy(rows, i, g[i], block)
        for j in range(out.size):
            out[j] += block[j]


@compiled(vectorise=True)
def _dual_of(loss, u, y, c):
    """Scores in, dual point out, in the same place."""
    for i in range(u.size):
        u[i] = c[i] * dual_of(loss, u[i], y[i])


@compiled(vectorise=True)
def _dual_sums(loss, u, y, c, sums, first, last):
    for k in range(first, last):
        start, stop = k * BLOCK, min(u.size, (k + 1) * BLOCK)
        us, ys, cs = u[start:stop], y[start:stop], c[start:stop]
        s = 0.0
        for i in range(us.size):
            s -= cs[i] * conjugate(loss, -us[i] / cs[i], ys[i])
        sums[k] = s


@compiled(vectorise=True)
def _dual_sizes(loss, u, y, c, sums, first, last):
    for k in range(first, last):
        start, stop = k * BLOCK, min(u.size, (k + 1) * BLOCK)
        us, ys, cs = u[start:stop], y[start:stop], c[start:stop]
        s = 0.0
        for i in range(us.size):
            s += abs(cs[i] * conjugate(loss, -us[i] / cs[i], ys[i]))
        sums[k] = s


@compiled(vectorise=True)
def _mass_below(t, c, end, sums, first, last):
    for k in range(first, last):
        start, stop = k * BLOCK, min(t.size, (k + 1) * BLOCK)
        ts, cs = t[start:stop], c[start:stop]
        s = 0.0
        for i in range(ts.size):
            s += cs[i] * (1.0 if ts[i] < end else 0.0)
        sums[k] = s


@compiled
def _into_bins(z, y, c, low, per_unit, bins, mass):
    """The bin of each y - z, 0 for those below all and the last for those above, and the mass of c in each."""
    top = mass.size - 1
    for i in range(z.size):
        place = (y[i] - z[i] - low) * per_unit + 1.0
        bins[i] = np.int16(min(place if place > 0.0 else 0.0, float(top)))  # NaN is no place either
    for i in range(z.size):
        mass[bins[i]] += c[i]


@compiled(vectorise=True)
def _along_offset(loss, z, y, c, b, sums, first, last):
    """The sums of c l' and of c l'' at the scores z + b."""
    for k in range(first, last):
        start, stop = k * BLOCK, min(z.size, (k + 1) * BLOCK)
        zs, ys, cs = z[start:stop], y[start:stop], c[start:stop]
        g, h = 0.0, 0.0
        for i in range(zs.size):
            g += cs[i] * slope(loss, zs[i] + b, ys[i])
            h += cs[i] * curvature(loss, zs[i] + b, ys[i])
        sums[k, 0] = g
        sums[k, 1] = h


@compiled(vectorise=True)
def _into_box(u, y, c, bounded, out, first, last):
    start, stop = first * BLOCK, min(u.size, last * BLOCK)
    us, ys, cs, into = u[start:stop], y[start:stop], c[start:stop], out[start:stop]
    for i in range(us.size):
        alpha = max(us[i] * ys[i], 0.0)
        into[i] = (min(alpha, cs[i]) if bounded else alpha) * ys[i]


@compiled(vectorise=True)
def _rooms(u, y, c, bounded, lower, sums, first, last):
    """How far u can go down (or up), summed over those strictly inside their box and over all. A box without an end on that
    side gives nothing: only the class that has too much does."""
    for k in range(first, last):
        start, stop = k * BLOCK, min(u.size, (k + 1) * BLOCK)
        us, ys, cs = u[start:stop], y[start:stop], c[start:stop]
        inside, everybody = 0.0, 0.0
        for i in range(us.size):
            alpha = us[i] * ys[i]
            falls = (ys[i] > 0) == lower
            room = alpha if falls else (cs[i] - alpha if bounded else 0.0)
            everybody += room
            inside += room * (1.0 if (alpha > 0.0) & ((alpha < cs[i]) | (not bounded)) else 0.0)
        sums[k, 0] = inside
        sums[k, 1] = everybody


@compiled(vectorise=True)
def _give(u, y, c, bounded, lower, inside_only, part, first, last):
    start, stop = first * BLOCK, min(u.size, last * BLOCK)
    us, ys, cs = u[start:stop], y[start:stop], c[start:stop]
    for i in range(us.size):
        alpha = us[i] * ys[i]
        falls = (ys[i] > 0) == lower
        room = alpha if falls else (cs[i] - alpha if bounded else 0.0)
        moves = (not inside_only) | ((alpha > 0.0) & ((alpha < cs[i]) | (not bounded)))
        alpha += (-part * room if falls else part * room) if moves else 0.0
        alpha = max(alpha, 0.0)
        us[i] = (min(alpha, cs[i]) if bounded else alpha) * ys[i]
