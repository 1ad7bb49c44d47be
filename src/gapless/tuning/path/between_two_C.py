"""What two points of a path prove of every C between them.

    P_C(w, b) = 1/2 |w|^2 + C L(w, b),   L = sum_i s_i l_i
    D_C(u)    = - C sum_i s_i l*(-u_i / (C s_i)) - 1/2 |p|^2,   p = sum u x

For C = (1 - t) C1 + t C2 take the points that are linear in C: w_t = (1 - t) w1 + t w2, b_t and u_t likewise.  L is convex, and
the first part of D_C is jointly concave in (u, C), being a perspective; 1/2 |.|^2 is what it is.  Hence

    C L(w_t, b_t)   <= (1 - t) C1 L1 + t C2 L2 + t (1 - t) (C2 - C1) (L1 - L2)
    1/2 |w_t|^2      = (1 - t) 1/2 |w1|^2 + t 1/2 |w2|^2 - 1/2 t (1 - t) |w1 - w2|^2

    gap_t <= (1 - t) gap_1 + t gap_2 + t (1 - t) k,     k = (C2 - C1)(L1 - L2) - 1/2 |w1 - w2|^2 - 1/2 |p1 - p2|^2

and u_t is feasible wherever u1 and u2 are.  On a linear piece of the exact path of the hinge k = 0.  Any convex loss will do, and
any kernel, there with p = w.  As D_C(u_t) >= (1 - t) D1 + t D2 > 0, the relative gap is at most ``tol`` everywhere where

    (1 - t)(gap_1 - tol D1) + t (gap_2 - tol D2) + t (1 - t) k <= 0     for all t in [0, 1],

a parabola.  Where a free offset's sum u is not exactly 0 its price B |sum u| is in both gaps, with a B that grows no faster than
sqrt(P), and P*(C) <= P*(C2): the price for the larger P is added.  So is the rounding of all figures.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class PathPoint:
    """What of a point of the path the others need: its figures, and w and p in coordinates that the penalty squares.

    Kernel machines give u for both, and the scores as ``dual_of``, so that <w1, w2> = u1'f2.
    """

    C: float
    loss: float  #: L
    gap: float  #: with all its prices and its rounding
    dual: float
    primal: float
    price: float  #: B |sum u|
    w: np.ndarray
    p: np.ndarray
    f: np.ndarray | None = None  #: kernel machines: K u, where w = p = u

    def half_squared_distance(self, other: PathPoint) -> float:
        """1/2 |w1 - w2|^2 + 1/2 |p1 - p2|^2"""
        if self.f is not None and other.f is not None:
            return max(0.0, float((self.w - other.w) @ (self.f - other.f)))
        w, p = self.w - other.w, self.p - other.p
        return 0.5 * float((w * w).sum()) + 0.5 * float((p * p).sum())

    def relative_gap_at(self, C: float) -> float:
        """The relative gap of this w with u C/C1 at another C: both P and D are polynomials in it."""
        ratio = C / self.C
        penalty, square = 0.5 * float((self.w * self.w).sum()), 0.5 * float((self.p * self.p).sum())
        dual = ratio * (self.dual - self.price + square) - ratio**2 * square
        primal = penalty + C * self.loss
        gap = primal - dual
        return gap / dual if dual > 0.0 else np.inf


def curvature_along_C(first: PathPoint, second: PathPoint) -> float:
    """k: what the gap between the points can be above the line between their gaps, times 1/(t (1 - t))."""
    return (second.C - first.C) * (first.loss - second.loss) - first.half_squared_distance(second)


def largest_relative_gap(first: PathPoint, second: PathPoint) -> float:
    """The smallest tol (to a tenth of a percent, from above) that every C between the two keeps; infinite where D <= 0."""
    gaps, duals = _gaps(first, second), (first.dual, second.dual)
    k = curvature_along_C(first, second)
    if min(duals) <= 0.0:
        return 0.0 if _top(*gaps, k) <= 0.0 else np.inf
    low = max(gaps[0] / duals[0], gaps[1] / duals[1], 0.0)
    high = max(low, _top(*gaps, k) / min(duals))

    def kept(tol: float) -> bool:
        return _top(gaps[0] - tol * duals[0], gaps[1] - tol * duals[1], k) <= 0.0

    if kept(low):
        return low
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if kept(middle) else (middle, high)
    return high


def _gaps(first: PathPoint, second: PathPoint) -> tuple[float, float]:
    """Of the points, with the price of sum u at the larger P."""
    top = 2.0 * max(first.primal, second.primal)
    gaps = [one.gap + (one.price * np.sqrt(top / one.primal) if one.price > 0.0 else 0.0) for one in (first, second)]
    return gaps[0], gaps[1]


def _top(first: float, second: float, k: float) -> float:
    """The maximum of (1 - t) first + t second + t (1 - t) k over [0, 1]."""
    ends = max(first, second)
    if k <= 0.0:
        return ends  # convex
    t = 0.5 + 0.5 * (second - first) / k
    return ends if not 0.0 < t < 1.0 else max(ends, (1.0 - t) * first + t * second + t * (1.0 - t) * k)
