"""Linear models with a penalty that leaves coefficients at 0, or that keeps their signs: one example, one score.

    P(w, b) = Omega(w) + sum_i c_i l(y_i, <w, x_i> + b)        Omega(w) = sum_j l1 |w_j| + l2/2 w_j^2   (w >= 0 where positive)
    D(u)    = - sum_i c_i l*(y_i, -u_i/c_i) - Omega*(X'u)      free offset: subject to sum u = 0

No u that is computed keeps |x_j'u| <= l1 or sum u = 0 exactly, and none has to.  With v = X'u, e_j = max(|v_j| - l1, 0)
(positive: max(v_j - l1, 0)) and r = sum u, Fenchel's inequality over the rows gives for the optimal (w*, b*)

    P* >= - sum c l* + [Omega(w*) - <w*, v>] - b* r  >=  - sum c l* - cost - B |r|,      B >= |b*|
    cost = the smaller of  sum_j e_j^2 / (2 l2)   (l2 > 0: that is Omega*(v))   and   W max_j e_j,    W = P / l1 >= |w*|_1

The second holds for l2 = 0, too, where Omega*(v) is 0 or infinite; scaling u by s <= 1 makes e small and keeps both the domain
of l* and sum u = 0.  (Centring after scaling keeps neither e nor the domain.)

Zeros.  The loss has curvature at most L, so - sum c l* is strongly concave: with G = P - D,
    sum_i (u*_i - u_i)^2 / (c_i L)  <=  2 G       for the dual optimum u*, whether u is feasible or not.
Hence |x_j'u*| <= |v_j| + sqrt(2 G L sum_i c_i (x_ij - m_j)^2) + |m_j r|; m_j is the weighted mean of column j where the offset
is free, else 0.  Where that is below l1, w*_j = 0 in every optimal model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from gapless._runtime.cached import lazy
from gapless.losses.vectors import curvatures
from gapless.numbers import UNIT, gamma, length_of
from gapless.rows.columns import Columns, as_columns


class Point(NamedTuple):
    """A model, its scores, and the columns of its coefficients that are not 0."""

    w: np.ndarray
    b: float
    z: np.ndarray
    support: np.ndarray


class DualPoint(NamedTuple):
    """u, and X'u."""

    u: np.ndarray
    v: np.ndarray


@dataclass(frozen=True, eq=False)
class SparseProblem:
    """P, D and the proof of zeros, for columns, targets y, weights c > 0 and a smooth loss."""

    columns: Columns
    y: np.ndarray
    c: np.ndarray
    loss: Any
    offset: str  #: "none", "free" or "penalised": then the last column is the constant feature
    l1: float
    l2: float
    positive: bool = False

    @classmethod
    def build(
        cls, X: Any, y: np.ndarray, c: np.ndarray, loss: Any, offset: str, l1: float, l2: float, positive: bool = False
    ) -> SparseProblem:
        """The problem of a matrix and targets as they come."""
        return cls(as_columns(X), np.asarray(y, float), np.ascontiguousarray(c, float), loss, offset, l1, l2, positive)

    # -- shape ---------------------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        return self.columns.n

    @property
    def d(self) -> int:
        return self.columns.d

    @property
    def free(self) -> bool:
        return self.offset == "free"

    @lazy
    def mass(self) -> float:
        """The sum of c."""
        return float(self.c.sum())

    @lazy
    def means(self) -> np.ndarray:
        """The weighted mean of each column; 0 where no offset is free."""
        return self.columns.combine(self.c) / self.mass if self.free else np.zeros(self.d)

    @lazy
    def squares(self) -> np.ndarray:
        """The sums of c x_ij^2."""
        return self.columns.squares(self.c)

    @lazy
    def spreads(self) -> np.ndarray:
        """Upper bounds on the sums of c (x_ij - m_j)^2."""
        return np.maximum(self.squares * (1.0 + gamma(self.n + 16)) - self.mass * self.means**2, 0.0) + (
            gamma(2.0 * self.n + 64) * self.squares
        )

    def scaled(self, l1: float, l2: float) -> SparseProblem:
        """The problem at another penalty, over the same columns."""
        other = replace(self, l1=l1, l2=l2)
        of_columns = ("mass", "means", "squares", "spreads", "largest_value", "largest_row", "offset_start", "masses")
        other.__dict__.update({name: self.__dict__[name] for name in of_columns if name in self.__dict__})
        return other

    def with_targets(self, y: np.ndarray) -> SparseProblem:
        """The problem of other targets, over the same columns."""
        other = replace(self, y=np.asarray(y, float))
        of_columns = ("mass", "means", "squares", "spreads", "largest_value", "largest_row")
        other.__dict__.update({name: self.__dict__[name] for name in of_columns if name in self.__dict__})
        return other

    # -- values --------------------------------------------------------------------------------------------------

    def at(self, w: np.ndarray, b: float) -> Point:
        """The model with its scores."""
        support = np.flatnonzero(w)
        return Point(w, b, self.columns.scores(support, w[support]) + b, support)

    def penalty(self, w: np.ndarray) -> float:
        return self.l1 * float(np.abs(w).sum()) + 0.5 * self.l2 * float(w @ w)

    def primal(self, point: Point) -> float:
        return self.penalty(point.w) + self.loss_sum(point.z)

    def loss_sum(self, z: np.ndarray) -> float:
        return float((self.c * self.loss.value(z, self.y)).sum())

    def slopes(self, z: np.ndarray) -> np.ndarray:
        """c l'(z)"""
        return np.asarray(self.c * self.loss.slope(z, self.y))

    def curvatures(self, z: np.ndarray) -> np.ndarray:
        """c l''(z)"""
        return self.c * curvatures(self.loss, z, self.y)

    def excess(self, v: np.ndarray) -> np.ndarray:
        """e_j: how far v_j is beyond l1."""
        return np.maximum((v if self.positive else np.abs(v)) - self.l1, 0.0)

    def dual(self, point: DualPoint, primal: float) -> float:
        """A lower bound on P*; ``primal`` is any upper bound on it. -inf where none is known."""
        below = -float((self.c * self.loss.conjugate(-point.u / self.c, self.y)).sum())
        below -= self.cost(point.v, primal)
        if self.free:
            missed = abs(float(point.u.sum()))
            below -= self.offset_bound(primal) * missed if missed > 0.0 else 0.0
        return below if np.isfinite(below) else -np.inf

    def cost(self, v: np.ndarray, primal: float) -> float:
        """What the penalty takes from D."""
        e = self.excess(v)
        top = float(e.max(initial=0.0))
        if top == 0.0:
            return 0.0
        by_squares = float(e @ e) / (2.0 * self.l2) if self.l2 > 0.0 else np.inf
        return min(by_squares, top * self.length_bound(primal))

    def length_bound(self, primal: float) -> float:
        """W >= |w*|_1"""
        return max(primal, 0.0) / self.l1 if self.l1 > 0.0 else np.inf

    @lazy
    def largest_value(self) -> float:
        return self.columns.largest()

    @lazy
    def largest_row(self) -> float:
        return self.columns.row_squares()

    def offset_bound(self, primal: float) -> float:
        """B >= |b*|: the target or ratio of masses, and T >= |<w*, x_i>|, the smaller of what l1 and l2 say."""
        T = np.inf
        if self.l1 > 0.0:
            T = self.length_bound(primal) * self.largest_value
        if self.l2 > 0.0:
            T = min(T, np.sqrt(2.0 * max(primal, 0.0) / self.l2 * self.largest_row))
        return float((self.offset_start + T) * (1.0 + 1e-12))

    @lazy
    def offset_start(self) -> float:
        if not self.loss.of_margin:
            return float(np.abs(self.y).max(initial=0.0))
        if not self.loss.entropic:
            return 1.0
        positive, negative = self.masses
        return float(abs(np.log(positive / negative))) if positive > 0.0 and negative > 0.0 else np.inf

    @lazy
    def masses(self) -> tuple[float, float]:
        """The sums of c over the positive and over the negative examples."""
        return float(self.c[self.y > 0].sum()), float(self.c[self.y <= 0].sum())

    # -- dual points -----------------------------------------------------------------------------------------------

    def best_offset(self, z: np.ndarray, near: float = 0.0) -> float:
        """The b that minimises sum c l(y, z + b), by Newton's method inside a bracket; 0 where no offset is free."""
        if not self.free:
            return 0.0
        if self.loss.conjugate_curvature is not None and not self.loss.of_margin:
            return float(self.c @ (self.y - z)) / self.mass
        spread = float(np.abs(z).max(initial=0.0)) + self.offset_start + 1.0
        low, high, b = -spread, spread, min(max(near, -spread), spread)
        for _ in range(100):
            slope = float(self.slopes(z + b).sum())
            if slope == 0.0:
                break
            low, high = (b, high) if slope < 0.0 else (low, b)
            bend = float(self.curvatures(z + b).sum())
            step = b - slope / bend if bend > 0.0 else 0.5 * (low + high)
            step = step if low < step < high else 0.5 * (low + high)
            moved, b = abs(step - b), step
            if moved <= 1e-15 * max(1.0, abs(b)):
                break
        return b

    def centred(self, u: np.ndarray) -> np.ndarray:
        """u with sum 0 where the offset is free, inside the domain of the loss."""
        if not self.free:
            return u
        if not self.loss.of_margin:
            return u - self.c * (float(u.sum()) / self.mass)
        for _ in range(3):
            r = float(u.sum())
            # The sign that has too much is scaled down: that keeps every domain.
            heavy = (u > 0.0) == (r > 0.0)
            total = abs(float(u[heavy].sum()))
            if r == 0.0 or not total > 0.0:
                break
            u = np.where(heavy, u * max(0.0, 1.0 - abs(r) / total), u)
        return u

    def dual_points(self, z: np.ndarray) -> list[DualPoint]:
        """From the slopes at the scores z: centred, and scaled so that X'u fits the penalty; as it is, too, where l2 > 0."""
        u = self.centred(-self.slopes(z))
        v = self.columns.combine(u)
        found = [DualPoint(u, v)]
        top = float((v if self.positive else np.abs(v)).max(initial=0.0))
        s = self.l1 / top if top > self.l1 else 1.0
        if not self.loss.of_margin:  # the u of the best D on this ray, where that fits
            y, bent = float(u @ self.y), float((u * u / self.c).sum())
            best = y / bent if bent > 0.0 else 1.0
            s = min(max(best, 0.0), self.l1 / top if top > 0.0 else 1.0) if self.l1 > 0.0 and self.l2 == 0.0 else s
        if s != 1.0 and self.l1 > 0.0:
            found.append(DualPoint(s * u, s * v))
        return found

    def best_dual(self, z: np.ndarray, primal: float) -> tuple[DualPoint, float, np.ndarray]:
        """The better of the dual points from the scores z, its value, and X'u before it was scaled."""
        points = self.dual_points(z)
        values = [self.dual(point, primal) for point in points]
        best = int(np.argmax(values))
        if not np.isfinite(values[best]):  # u = 0 is feasible, and says P* >= 0
            return DualPoint(np.zeros(self.n), np.zeros(self.d)), 0.0, points[0].v
        return points[best], values[best], points[0].v

    # -- what is known of the optimum ----------------------------------------------------------------------------

    def proved_zeros(self, point: DualPoint, gap: float, room: float) -> np.ndarray:
        """Where w*_j = 0 for certain: ``room`` is what rounding may add to the gap."""
        if not (self.l1 > 0.0 and np.isfinite(gap)):
            return np.zeros(self.d, dtype=bool)
        L = self.loss.largest_curvature
        radius = np.sqrt(2.0 * max(gap + 2.0 * room, 0.0) * L * self.spreads)
        missed = np.abs(self.means) * abs(float(point.u.sum()))
        error = self.combined_error(point.u)
        reach = (point.v if self.positive else np.abs(point.v)) + missed * 2.0 + (radius + error) * (1.0 + 1e-9)
        return np.asarray(reach < self.l1 * (1.0 - 1e-9))

    def combined_error(self, u: np.ndarray) -> np.ndarray:
        """Bounds on |computed - exact| of X'u: |x_j|_c |u|_1/c by Cauchy and Schwarz."""
        length = length_of(u / np.sqrt(self.c))
        return gamma(self.n + 64) * np.sqrt(self.squares * (1.0 + 1e-9)) * length

    # -- rounding ------------------------------------------------------------------------------------------------

    def rounding(self, point: Point, dual: DualPoint, primal: float) -> float:
        """A bound on |computed - exact| of P - D."""
        k, sums = point.support.size, gamma(min(self.n, 1024) + self.n / 512 + 64)
        size = self.columns.sizes(point.support, point.w[point.support]) + abs(point.b)
        off = gamma(k + 4) * size
        loss = self.loss
        steepest: Any = loss.largest_slope
        if not np.isfinite(steepest):
            steepest = np.abs(loss.slope(point.z, self.y)) + loss.largest_curvature * off
        error = float((self.c * off * steepest).sum()) + (sums + 16 * UNIT) * self.loss_sum(point.z)
        error += gamma(self.d + 8) * self.penalty(point.w)
        terms = np.abs(self.c * loss.conjugate(-dual.u / self.c, self.y))
        error += (sums + 16 * UNIT) * (float(terms.sum()) + float(np.abs(dual.u * self.y).sum()))
        if loss.entropic:
            error += 48 * UNIT * self.mass
        error += self._cost_error(dual, primal)
        if self.free:
            total = float(np.abs(dual.u).sum())
            bound = self.offset_bound(primal) if total > 0.0 else 0.0
            error += bound * (64 * UNIT + sums) * total + 1e-11 * bound * abs(float(dual.u.sum()))
        return error * (1.0 + 1e-10)

    def _cost_error(self, dual: DualPoint, primal: float) -> float:
        """What errors of X'u move the cost of the penalty by: the cost of the largest excess less that of the smallest."""
        off = self.combined_error(dual.u)
        v = dual.v if self.positive else np.abs(dual.v)
        most, least = (
            self.cost(v + off, primal),
            self.cost(np.maximum(v - off, 0.0) if not self.positive else v - off, primal),
        )
        return (most - least if np.isfinite(most) else np.inf) + gamma(self.d + 16) * (
            most if np.isfinite(most) else 0.0
        )
