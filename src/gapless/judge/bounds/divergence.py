"""kl inequalities and normal tails, enclosed: what PAC-Bayes and votes rest on.

kl(q, p) = q ln(q/p) + (1 - q) ln((1 - q)/(1 - p)) grows with p above q and falls with q below p: p bounds a mean of which
at most q was seen where kl(q, p) >= (KL + ln(2 sqrt(n)/delta))/n.

Phi(x) - 1/2 = phi(x) (x + x^3/3 + x^5/(3 5) + x^7/(3 5 7) + ...),  x >= 0:  positive terms only; beyond 8 the rest is
below 7e-16.  Of each term, of which TERMS are taken, and of phi the relative error is below 3 TERMS u and 200 u, and what is
cut off at x = 8 is below 1e-17 of the sum: 1e-13 is more than all of it.
"""

from __future__ import annotations

import math

import numpy as np

from ..arithmetic.elementary import _exp_minus, log_bounds
from ..arithmetic.rounding import ZERO, Interval, exactly
from .binomial import lowest

NORMAL_ERROR = 1e-13


def log(x: Interval) -> Interval:
    """Of positive numbers."""
    ends = np.array([x.low, x.up])
    low, high = log_bounds(ends)
    return Interval(float(low[0]), float(high[1]))


def log_of_count(m: int) -> Interval:
    """ln of a whole number of any size."""
    shift = max(0, m.bit_length() - 53)
    top = m >> shift  # m lies between top 2^shift and (top + 1) 2^shift, and both are floats
    inside = log(Interval(float(top), float(top + (shift > 0))))
    return inside + exactly(float(shift)) * log(exactly(2.0))


def kl(q: float, p: float) -> Interval:
    """The divergence of two coins, 0 <= q <= 1, 0 < p < 1."""
    one, Q, P = exactly(1.0), exactly(q), exactly(p)
    first = ZERO if q == 0.0 else Q * (log(Q) - log(P))
    rest = one - Q
    second = ZERO if q == 1.0 else rest * (log(rest) - log(one - P))
    return first + second


def _kl(q: float, p: float) -> float:
    """The same as floats have it."""
    first = q * math.log(q / p) if q > 0.0 else 0.0
    return first + (1.0 - q) * (math.log1p(-q) - math.log1p(-p)) if q < 1.0 else first


def budget(n: int, divergence: Interval, delta: Interval) -> Interval:
    """(KL + ln(2 sqrt(n)/delta))/n."""
    size = exactly(float(n))
    return (divergence + log(exactly(2.0)) + exactly(0.5) * log(size) - log(delta)) / size


def kl_upper(q: float, c: Interval) -> float:
    """A p with kl(q, p) >= c for certain, next to the lowest above q."""
    if q >= 1.0 or kl(q, 1.0 - 2.0**-53).low < c.up:
        return 1.0
    guess = lowest(lambda p: _kl(q, p) >= c.up, q)  # floats lead to the place; what is returned is proved
    for share in (1e-13, 1e-12, 1e-11, 1e-10, 1e-9):
        p = guess * (1.0 + share)
        if q < p < 1.0 and kl(q, p).low >= c.up:
            return p
    return lowest(lambda p: kl(q, p).low >= c.up, q)


def kl_lower(q: float, c: Interval) -> float:
    """The same below q: a p that the mean is not below."""
    if q <= 0.0 or kl(q, 2.0**-1000).low < c.up:
        return 0.0
    low, high = 0.0, q
    while high - low > 1e-13 * q:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if _kl(q, middle) >= c.up else (low, middle)
    for share in (1e-13, 1e-12, 1e-11, 1e-10, 1e-9):
        if kl(q, low * (1.0 - share)).low >= c.up:
            return low * (1.0 - share)
    return 0.0


def normal_below(x: np.ndarray) -> np.ndarray:
    """Phi(x), to NORMAL_ERROR."""
    root = 0.3989422804014327  # 1/sqrt(2 pi)
    far = 8.0
    terms = 160
    size = np.minimum(np.abs(x), far)
    square = size * size
    term = size.copy()
    total = size.copy()
    for k in range(1, terms):
        term = term * square / (2.0 * k + 1.0)
        total += term
    half = root * _exp_minus(0.5 * square) * total
    return np.where(x >= 0.0, 0.5 + half, 0.5 - half)
