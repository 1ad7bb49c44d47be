"""exp, log and their kin enclosed by fractions: fixed point in integers, rounded outward at each step.

A fixed-point number is an integer n standing for n / 2^BITS.  ``floor`` and ``ceil`` of every product and quotient keep the
bounds; the remainders of the series are added where they stop.  For the exact tier, where a few microseconds do not matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from math import isqrt

BITS = 192
ONE = 1 << BITS

Range = tuple[int, int]


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def _shift_up(a: int) -> int:
    return -(-a >> BITS)


def _from_fraction(x: Fraction) -> Range:
    scaled = x.numerator << BITS
    return scaled // x.denominator, _ceil(scaled, x.denominator)


def _atanh_twice(low: int, high: int) -> Range:
    """2 atanh(s) = 2 (s + s^3/3 + s^5/5 + ...) for fixed-point 0 <= low <= s <= high <= 1/3.

    All terms are positive.  Stopped before the term s^(2j+1)/(2j+1), the rest is below that term times 1 / (1 - s^2) <= 9/8.
    """
    total_low = total_high = 0
    power_low, power_high = low, high
    square_low, square_high = low * low >> BITS, _shift_up(high * high)
    j = 0
    while power_high > 1:
        total_low += power_low // (2 * j + 1)
        total_high += _ceil(power_high, 2 * j + 1)
        power_low = power_low * square_low >> BITS
        power_high = _shift_up(power_high * square_high)
        j += 1
    rest = _ceil(9 * power_high, 8 * (2 * j + 1))
    return 2 * total_low, 2 * (total_high + rest)


@cache
def _ln2() -> Range:
    return _atanh_twice(ONE // 3, _ceil(ONE, 3))  # ln 2 = 2 atanh(1/3)


def _log1p(low: int, high: int) -> Range:
    """log(1 + x), fixed-point 0 <= low <= x <= high <= 1, as 2 atanh(x / (2 + x))."""
    return _atanh_twice((low << BITS) // (2 * ONE + low), _ceil(high << BITS, 2 * ONE + high))


def _exp_minus(x: Fraction) -> Range:
    """exp(-x), x >= 0: k halvings by ln 2, then the alternating series of exp(-r), 0 <= r < 1 or a little beyond."""
    ln2_low, ln2_high = _ln2()
    if x > 2 * BITS:  # below 2^-BITS
        return 0, 1
    x_low, x_high = _from_fraction(x)
    k = x_low // ln2_high
    r_low, r_high = max(0, x_low - k * ln2_high), x_high - k * ln2_low
    # exp(-r) falls with r.  Upper sums end after a positive term, lower sums after a negative one (r < 1:
    # terms fall).
    high = _series(r_low, up=True)
    low = _series(r_high, up=False)
    return max(0, low >> k), _ceil(high, 1 << k)


def _series(r: int, up: bool) -> int:
    """1 - r + r^2/2 - ... for 0 <= r < 1, from above or from below."""
    # Each term is kept as a range, so that signs cannot lose a bound.
    total = ONE
    term_low = term_high = ONE
    j = 0
    while term_high > 1:
        j += 1
        term_low = (term_low * r >> BITS) // j
        term_high = _ceil(_shift_up(term_high * r), j)
        if j % 2:
            total -= term_low if up else term_high
        else:
            total += term_high if up else term_low
    return total + 1 if up else total - 1  # the rest is below the last term, which is at most one unit


def softplus_fractions(s: Fraction) -> tuple[Fraction, Fraction]:
    """Fractions below and above log(1 + e^s)."""
    low, high = _exp_minus(abs(s))
    low, high = _log1p(low, min(high, ONE))
    head = max(s, Fraction(0))
    return head + Fraction(low, ONE), head + Fraction(high, ONE)


def log_sum_exp_fractions(s: Iterable[Fraction]) -> tuple[Fraction, Fraction]:
    """Fractions below and above log(1 + sum_k e^(s_k)): the largest exponent, 0 among them, is taken out first."""
    exponents = [Fraction(0), *s]
    head = max(exponents)
    ends = [_exp_minus(head - x) for x in exponents]
    low, high = (Fraction(sum(end), ONE) for end in zip(*ends, strict=True))
    # one of the terms is 1, and _exp_minus(0) may say a little less
    return head + max(Fraction(0), log_fractions(max(low, Fraction(1)))[0]), head + log_fractions(high)[1]


def log_fractions(x: Fraction) -> tuple[Fraction, Fraction]:
    """Fractions below and above log(x), x > 0."""
    k = x.numerator.bit_length() - x.denominator.bit_length()
    m = x / Fraction(2) ** k  # in (1/2, 2)
    if m < 1:
        m, k = 2 * m, k - 1
    low, high = _from_fraction(m - 1)
    low, high = _log1p(low, min(high, ONE))
    ln2_low, ln2_high = _ln2()
    low += k * (ln2_low if k >= 0 else ln2_high)
    high += k * (ln2_high if k >= 0 else ln2_low)
    return Fraction(low, ONE), Fraction(high, ONE)


def entropy_fractions(p: Fraction) -> tuple[Fraction, Fraction]:
    """Fractions below and above -p ln p - (1-p) ln(1-p), 0 <= p <= 1."""
    return shares_entropy_fractions((p, 1 - p))


def shares_entropy_fractions(shares: Iterable[Fraction]) -> tuple[Fraction, Fraction]:
    """Fractions below and above -sum_k p_k ln p_k, p_k >= 0, sum_k p_k = 1."""
    low = high = Fraction(0)
    for q in shares:
        if q > 0:
            below, above = log_fractions(q)
            low -= q * above
            high -= q * below
    return max(low, Fraction(0)), high


def sqrt_fractions(low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    """Fractions below the square root of low and above that of high, 0 <= low <= high."""
    return _root(low, 0), _root(high, 1)


def _root(x: Fraction, above: int) -> Fraction:
    if x <= 0:
        return Fraction(0)
    shift = max(0, 2 * BITS - x.numerator.bit_length() + x.denominator.bit_length())
    shift += shift % 2
    scaled = x.numerator << shift
    scaled = _ceil(scaled, x.denominator) if above else scaled // x.denominator
    return Fraction(isqrt(scaled) + above, 1 << (shift // 2))
