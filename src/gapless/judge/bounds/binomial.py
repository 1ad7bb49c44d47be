"""Tails of the binomial distribution, proved: in integers up to n = 10,000, enclosed in floats above.

    test set       P(Bin(n, p) <= k) <= delta                          then p bounds the error behind k of n
    compression    delta P(Bin(n, t) > k) >= t n P(Bin(n, t) = k)      then t bounds the change behind k of n rows that are kept

Integers: p = a/2^s, b = 2^s - a, 2^(sn) P(Bin = j) = C(n, j) a^j b^(n - j) =: T_j, T_j = T_(j-1) (n - j + 1) a/(j b) exactly.

Floats: P(Bin = k) is a product of fewer than 4n factors and roundings, each off by at most u, so by gamma_(4n) together; it is
held as mantissa and exponent, so that nothing underflows, and no logarithm is asked for.  Downwards from k the terms fall by
r_j = j (1 - p)/((n - j + 1) p), and r_j falls with them: what is cut off is at most a geometric series.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ..arithmetic.rounding import TINY, gamma

#: Up to here the judge counts in integers.
EXACT = 10_000


class Tail:
    """Of k among n, for any p above k/n."""

    def __init__(self, k: int, n: int) -> None:
        self.k, self.n = k, n
        m = min(k, n - k)
        i = np.arange(1.0, m + 1.0)
        self.choices = _product((n - m + i) / i)  # C(n, k)

    def equal(self, p: float) -> tuple[float, int]:
        """P(Bin = k) as mantissa and exponent, to gamma(4n + 64)."""
        parts = (self.choices, _power(p, self.k), _power(1.0 - p, self.n - self.k))
        mantissa, exponent = 1.0, 0
        for x, e in parts:
            mantissa, more = math.frexp(mantissa * x)
            exponent += e + more
        return mantissa, exponent

    def below(self, p: float) -> tuple[float, float]:
        """P(Bin <= k)/P(Bin = k) between two floats; p above k/n."""
        terms = 4096
        total, term, j, steps = 0.0, 1.0, self.k, 0
        odds, last = (1.0 - p) / p, 0.0
        while j >= 0:
            down = np.arange(j, max(-1, j - terms), -1.0)
            ratios = down / (self.n - down + 1.0) * odds
            products = term * np.concatenate(([1.0], np.cumprod(ratios)))
            total += float(products[:-1].sum())
            term, j, steps = float(products[-1]), j - down.size, steps + down.size
            r = j / (self.n - j + 1.0) * odds if j >= 0 else 0.0
            last = term / (1.0 - r) if r < 1.0 else math.inf
            if term == 0.0 or last <= 1e-18 * total:
                break
        off = gamma(8 * steps + 64)
        return total * (1.0 - off), (total + last + TINY * steps) * (1.0 + off)

    def at_most(self, p: float) -> tuple[float, float]:
        """P(Bin <= k) between two floats."""
        mantissa, exponent = self.equal(p)
        off, (low, high) = gamma(4 * self.n + 64), self.below(p)
        return _scaled(mantissa * low * (1.0 - off), exponent, False), min(
            1.0, _scaled(mantissa * high * (1.0 + off), exponent, True)
        )

    def change(self, t: float) -> tuple[float, float]:
        """t n P(Bin = k)/P(Bin > k) between two floats: what delta has to be at least."""
        mantissa, exponent = self.equal(t)
        off, (low, high) = gamma(4 * self.n + 64), self.at_most(t)
        mass = t * self.n * mantissa
        below = _scaled(mass * (1.0 - off), exponent, False) / (1.0 - low) if low < 1.0 else math.inf
        above = _scaled(mass * (1.0 + off), exponent, True) / (1.0 - high) if high < 1.0 else math.inf
        return below * (1.0 - 1e-15), above * (1.0 + 1e-15)


def _product(factors: np.ndarray) -> tuple[float, int]:
    """The product as mantissa and exponent."""
    chunk = 512  # products of as many mantissas, each at least 1/2, do not underflow
    exponent = 0
    while factors.size > 1:
        mantissas, exponents = np.frexp(factors)
        exponent += int(exponents.sum(dtype=np.int64))
        short = -mantissas.size % chunk
        factors = np.concatenate((mantissas, np.ones(short))).reshape(-1, chunk).prod(axis=1)
    mantissa, more = math.frexp(float(factors[0])) if factors.size else (0.5, 1)
    return mantissa, exponent + more


def _power(x: float, m: int) -> tuple[float, int]:
    """x^m by squaring: m roundings in all."""
    result, exponent = 1.0, 0
    square, power = math.frexp(x)
    while m:
        if m & 1:
            result, more = math.frexp(result * square)
            exponent += power + more
        square, more = math.frexp(square * square)
        power = 2 * power + more
        m >>= 1
    return result, exponent


def _scaled(mantissa: float, exponent: int, outward: bool) -> float:
    """mantissa 2^exponent, rounded outward."""
    if exponent < -1060:
        return 2.0**-1000 if outward else 0.0
    value = math.ldexp(mantissa, exponent)
    return math.nextafter(value, math.inf if outward else 0.0)


def _terms(k: int, n: int, p: float) -> tuple[int, int, int]:
    """2^(sn) P(Bin = k), 2^(sn) P(Bin <= k) and 2^(sn), as integers."""
    a, scale = p.as_integer_ratio()
    b = scale - a
    term = b**n
    total = term
    for j in range(1, k + 1):
        term = term * ((n - j + 1) * a) // (j * b)
        total += term
    return term, total, scale**n


def _shorter(p: float) -> float:
    """A number of 30 bits not above p: what holds there holds at p, in integers of half the length."""
    mantissa, exponent = math.frexp(p)
    return math.ldexp(math.floor(math.ldexp(mantissa, 30)), exponent - 30)


def held_out_holds(k: int, n: int, p: float, delta: Fraction) -> bool:
    """Whether P(Bin(n, p) <= k) <= delta for certain."""
    if p >= 1.0 or k >= n:
        return p >= 1.0
    if not p > k / n:
        return False
    if n > EXACT:
        return Fraction(Tail(k, n).at_most(p)[1]) <= delta
    p = _shorter(p)
    _, total, whole = _terms(k, n, p)
    return total * delta.denominator <= delta.numerator * whole


def change_holds(k: int, n: int, t: float, delta: Fraction) -> bool:
    """Whether delta P(Bin(n, t) > k) >= t n P(Bin(n, t) = k) for certain."""
    if t >= 1.0 or k >= n:
        return t >= 1.0
    if not t > k / n:
        return False
    if n > EXACT:
        return Fraction(Tail(k, n).change(t)[1]) <= delta
    t = _shorter(t)
    term, total, whole = _terms(k, n, t)
    a, scale = t.as_integer_ratio()
    return delta.numerator * (whole - total) * scale >= delta.denominator * a * n * term


def held_out(k: int, n: int, delta: float) -> float:
    """The error that k of n allow, rounded up."""
    tail = Tail(k, n)
    return 1.0 if k >= n else lowest(lambda p: tail.at_most(p)[1] <= delta, k / n)


def change(k: int, n: int, delta: float) -> float:
    """The probability of a change that k of n rows allow, rounded up."""
    tail = Tail(k, n)
    return 1.0 if k >= n else lowest(lambda t: tail.change(t)[1] <= delta, k / n)


def lowest(proved: Callable[[float], bool], low: float, high: float = 1.0, room: float = 1e-12) -> float:
    """A p with proved(p), or ``high``, next to the lowest there is; proved(low) is taken to be false."""
    while high - low > room * high:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (low, middle) if proved(middle) else (middle, high)
    return high
