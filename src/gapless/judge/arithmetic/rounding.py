"""Directed rounding without a rounding mode: one float outward, Higham's gamma, sums that are all but exact.

The model of arithmetic is IEEE 754 binary64, to nearest: fl(x op y) = (x op y)(1 + e), |e| <= UNIT, for + - *
/ sqrt, with gradual underflow (an underflowing product or quotient is off by at most TINY).  Nothing here
asks in which order a sum was taken or whether products were fused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

UNIT = 2.0**-53
TINY = 2.0**-1074  # the smallest positive float


def up(x: Any) -> Any:
    """A float above every real number that rounds to x, elementwise.

    ulp(x) <= |x| 2^-52 for normal x, and 2^-1074 is the spacing below; scaling by a power of two is exact, so
    the exact x + delta is at least the next float above x, and rounding keeps that (it is monotone).
    """
    return x + (np.abs(x) * 2.0**-52 + TINY)


def down(x: Any) -> Any:
    """A float below every real number that rounds to x, elementwise."""
    return x - (np.abs(x) * 2.0**-52 + TINY)


def gamma(m: float) -> float:
    """Higham's gamma_m = m u / (1 - m u), rounded up.

    |fl(sum of m products) - exact| <= gamma_m * sum |products|, for any order of summation.
    """
    return ratio_up(m, m)


def ratio_up(m: float, k: float) -> float:
    """m u / (1 - k u), rounded up; inf where k u >= 1/2, beyond which nothing is claimed.

    What a bound gamma_m * S becomes where only a computed sum S' of terms >= 0 is known: after j roundings
    S' >= S (1 - u)^j >= S (1 - j u), and gamma_m / (1 - j u) <= m u / (1 - (m + j) u).
    """
    if k * UNIT >= 0.5:
        return math.inf
    return float(up(up(m * UNIT) / down(1.0 - k * UNIT)))


def middle_of(low: Any, high: Any) -> tuple[Any, Any]:
    """The middle of two ends, and how far it is from either at most."""
    middle = 0.5 * low + 0.5 * high
    return middle, up(np.maximum(high - middle, middle - low))


def two_sum(x: Any, y: Any) -> tuple[Any, Any]:
    """(s, e) with s = fl(x + y) and s + e = x + y exactly (Knuth), elementwise."""
    s = x + y
    z = s - x
    return s, (x - (s - z)) + (y - z)


def less(x: Any, y: Any) -> tuple[Any, Any]:
    """Floats below and above x - y, which are that itself where it is a float."""
    s, e = two_sum(x, -y)
    return np.where(e >= 0.0, s, down(s)), np.where(e <= 0.0, s, up(s))


def total_of(values: np.ndarray) -> float:
    """The sum, correctly rounded; infinite where it overflows, which is finite nowhere (`compare`)."""
    try:
        return math.fsum(values.tolist())
    except (OverflowError, ValueError):
        return math.inf


def sum_pairs(terms: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums over the last axis: (s, e, radius) with |s + e - exact| <= radius.

    A binary tree of two_sum: the rounding errors of every level are kept and added up by an ordinary sum.
    There are at most n - 1 of them and at most L <= log2(n) + 1 levels, the errors of a level are at most u
    times its sums, whose absolute values add up to at most (1 + u)^L A, A = sum |terms|.  Adding the errors,
    L + n additions in whatever order, is therefore off by at most, for n < 2^40,
        gamma_(n+L) * L u (1 + u)^L A  <=  2 (n + L) L u^2 A.
    """
    n = terms.shape[-1]
    lead = terms.shape[:-1]
    if n == 0:
        zero = np.zeros(lead)
        return zero, zero.copy(), zero.copy()
    # The computed A is short by at most gamma_n; 4 in place of 2 covers that, and these products.
    size = np.abs(terms).sum(axis=-1)
    levels = n.bit_length() + 1
    radius = size * (4.0 * (n + levels) * levels * UNIT * UNIT)
    errors = np.zeros(lead)
    while n > 1:
        half = n // 2
        s, e = two_sum(terms[..., :half], terms[..., half : 2 * half])
        errors = errors + e.sum(axis=-1)
        terms = np.concatenate((s, terms[..., 2 * half :]), axis=-1) if n % 2 else s
        n = terms.shape[-1]
    # Additions never underflow inexactly, so there is no TINY here; radius itself may, hence up().
    return terms[..., 0], errors, np.where(size > 0, up(radius), 0.0)


@dataclass(frozen=True)
class Interval:
    """A real number between two floats. Every operation rounds outward; 0 times anything, also inf, is 0."""

    low: float
    up: float

    @classmethod
    def outward(cls, low: float, high: float) -> Interval:
        """From two computed floats, each moved one float outward; everything where one is not a number."""
        if math.isnan(low) or math.isnan(high):
            return EVERYTHING
        return cls(math.nextafter(low, -math.inf), math.nextafter(high, math.inf))

    def __add__(self, other: Interval) -> Interval:
        if self == ZERO or other == ZERO:  # exactly
            return other if self == ZERO else self
        return Interval.outward(self.low + other.low, self.up + other.up)

    def __sub__(self, other: Interval) -> Interval:
        return self + Interval(-other.up, -other.low)

    def __mul__(self, other: Interval) -> Interval:
        if self == ZERO or other == ZERO:
            return ZERO
        ends = [_times(x, y) for x in (self.low, self.up) for y in (other.low, other.up)]
        return Interval.outward(min(ends), max(ends))

    def __truediv__(self, other: Interval) -> Interval:
        """For a divisor above 0."""
        if other.low <= 0.0:
            return EVERYTHING
        ends = [x / y for x in (self.low, self.up) for y in (other.low, other.up)]
        return EVERYTHING if any(map(math.isnan, ends)) else Interval.outward(min(ends), max(ends))

    def __abs__(self) -> Interval:
        if self.low >= 0.0:
            return self
        if self.up <= 0.0:
            return Interval(-self.up, -self.low)
        return Interval(0.0, max(-self.low, self.up))

    def square(self) -> Interval:
        size = abs(self)
        return (size * size).positive()

    def sqrt(self) -> Interval:
        """Of the part that is not negative; IEEE square roots are correctly rounded."""
        return Interval.outward(math.sqrt(max(0.0, self.low)), math.sqrt(max(0.0, self.up))).positive()

    def positive(self) -> Interval:
        """Of a number known not to be negative."""
        return Interval(max(0.0, self.low), max(0.0, self.up))


def _times(x: float, y: float) -> float:
    return 0.0 if x == 0.0 or y == 0.0 else x * y


EVERYTHING = Interval(-math.inf, math.inf)
ZERO = Interval(0.0, 0.0)
HALF = Interval(0.5, 0.5)


def exactly(x: float) -> Interval:
    """The float itself."""
    return Interval(float(x), float(x))


def sum_interval(parts: Iterable[float], radius: float) -> Interval:
    """(exact sum of ``parts``) -+ radius; everything where that cannot be said."""
    values = list(parts)
    if not (math.isfinite(radius) and all(map(math.isfinite, values))):
        return EVERYTHING
    try:
        total = math.fsum(values)  # correctly rounded
    except OverflowError:
        return EVERYTHING
    if total == 0.0 and radius == 0.0:
        return ZERO  # fsum is exact when it says 0
    return Interval.outward(total, total) + Interval(-radius, radius)


class Sums:
    """Sums over the last axis of arrays (S, m) that come block by block, all but exact; one for each of S rows."""

    def __init__(self, S: int) -> None:
        self.parts: list[list[float]] = [[] for _ in range(S)]
        self.radius = np.zeros(S)

    def add(self, terms: np.ndarray, spread: np.ndarray | None = None) -> None:
        """``spread`` bounds how far each term may be from the number it stands for."""
        total, error, radius = sum_pairs(terms)
        for parts, t, e in zip(self.parts, total.tolist(), error.tolist(), strict=True):
            parts += (t, e)
        self.radius = np.where(radius > 0, up(self.radius + radius), self.radius)
        if spread is not None:  # gamma of a block is below 1e-11
            self.radius = up(self.radius + up(spread.sum(axis=1) * (1.0 + 1e-9)))

    def intervals(self) -> list[Interval]:
        return [sum_interval(parts, r) for parts, r in zip(self.parts, self.radius.tolist(), strict=True)]


def sum_of(values: np.ndarray) -> Interval:
    """The sum of some floats."""
    sums = Sums(1)
    sums.add(np.asarray(values, dtype=np.float64)[None, :])
    return sums.intervals()[0]


def sum_between(low: np.ndarray, high: np.ndarray) -> Interval:
    """The sum of numbers that lie between the entries of two arrays."""
    return Interval(sum_of(low).low, sum_of(high).up)


def smallest_eigenvalue(G: np.ndarray, off: float) -> float:
    """A lower bound on the smallest eigenvalue of any symmetric matrix within ``off`` of G in norm; 0: none is proved.

    By a Cholesky factorisation of G - cI that goes through (Rump): then c less what it can be off by is a bound.
    """
    m = len(G)
    if m == 0 or not np.isfinite(G).all():
        return 0.0
    off = float(up(off + gamma(m + 4) * 4.0 * (float(np.trace(G)) + 1.0)))
    c = float(np.linalg.eigvalsh(G)[0]) - off
    for _ in range(3):
        if not c > off:
            return 0.0
        try:
            np.linalg.cholesky(G - c * np.eye(m))
        except np.linalg.LinAlgError:
            c *= 0.5
            continue
        return float(down(c - off))
    return 0.0
