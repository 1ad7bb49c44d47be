"""A number in a text, in compiled code: its bytes as float64, correctly rounded, as Python's float() reads them.

A number of at most 19 digits is m · 10^q with m < 2^64. Where m ≤ 2^53 and |q| ≤ 22 both are exact in float64, and one product
or quotient rounds once (Clinger 1990). Else m times a 128-bit approximation of 5^q decides the 53 bits (Lemire, "Number parsing
at a gigabyte per second", 2021). What is left (more digits, subnormal numbers, inf, and all that is no number) is for Python to
read.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gapless._compile.jit import compiled
from gapless.files.csv.codes import BYTE
from gapless.files.csv.scan_bytes import leading_zeros, upper_half

SMALLEST_POWER, LARGEST_POWER = -342, 308
EXACT_TENS = tuple(10.0**k for k in range(23))  # each is exact


@lru_cache(maxsize=1)
def powers_of_five() -> np.ndarray:
    """The leading 128 bits of 5^q for q = -342 ... 308, high and low half; from above for negative q."""
    table = np.empty((LARGEST_POWER - SMALLEST_POWER + 1, 2), dtype=np.uint64)
    for k, q in enumerate(range(SMALLEST_POWER, LARGEST_POWER + 1)):
        if q >= 0:
            value = 5**q
            shift = value.bit_length() - 128
            value = value >> shift if shift > 0 else value << -shift
        else:
            five = 5**-q
            value = (1 << (five.bit_length() + 127)) // five + 1  # 2^127 < value <= 2^128
            value = value >> 1 if value.bit_length() > 128 else value
        table[k] = value >> 64, value & (2**64 - 1)
    return table


@lru_cache(maxsize=1)
def powers_of_two() -> np.ndarray:
    """2^k for k = -1074 ... 971: a mantissa of 53 bits times one of them is exact where the product is normal."""
    return np.ldexp(1.0, np.arange(-1074, 972))


@compiled
def scaled(m, q, five_high, five_low):
    """(mantissa of 53 bits, k) with mantissa · 2^k = m · 10^q rounded to nearest even; mantissa 0: this way cannot tell.

    0 < m. Only scalars come and go: an array would be counted at every call.
    """
    one = np.uint64(1)
    zeros = leading_zeros(m)
    m <<= zeros
    high, low = upper_half(m, five_high), m * five_high
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):  # the bits below could carry: the second half of 5^q too
        more = upper_half(m, five_low)
        low += more
        if low < more:
            high += one
        if low == np.uint64(0xFFFFFFFFFFFFFFFF):
            return np.int64(0), np.int64(0)
    top = high >> np.uint64(63)
    shift = top + np.uint64(9)
    mantissa = high >> shift  # 54 bits: the last one is half a unit
    exponent = ((217706 * q) >> 16) + 63 + np.int64(top) - np.int64(zeros) - 52
    if low <= one and -4 <= q <= 23 and mantissa & np.uint64(3) == one and mantissa << shift == high:
        mantissa &= ~one  # exactly half way: to even
    mantissa += mantissa & one
    mantissa >>= one
    if exponent < -1074 or exponent > 970:
        return np.int64(0), np.int64(0)
    return np.int64(mantissa), exponent


@compiled
def number(text, at, end, fives, twos):
    """Read a number at `at`: (where it ends, its value, plain digits or not). It ends at `at` where there is none, and at -1
    where there may be one that Python has to read."""
    i = at
    negative = False
    if i < end and (text[i] == BYTE.minus or text[i] == BYTE.plus):
        negative = text[i] == BYTE.minus
        i += 1
    m = np.uint64(0)
    first = i
    while i < end:
        digit = text[i] - np.uint8(BYTE.zero)
        if digit > 9:
            break
        m = m * np.uint64(10) + np.uint64(digit)
        i += 1
    seen = i - first
    whole = True
    q = 0
    if i < end and text[i] == BYTE.point:
        whole = False
        i += 1
        point = i
        while i < end:
            digit = text[i] - np.uint8(BYTE.zero)
            if digit > 9:
                break
            m = m * np.uint64(10) + np.uint64(digit)
            i += 1
        q = point - i
        seen += i - point
    stop = i
    if seen == 0:
        stop = at
    elif seen > 19:  # m may have run over: zeros in front do not count
        digits = seen
        j = first
        while j < i and (text[j] == BYTE.zero or text[j] == BYTE.point):
            digits -= text[j] == BYTE.zero
            j += 1
        if digits > 19:
            stop = -1
    value = 0.0
    if stop > at:
        if i < end and (text[i] | np.uint8(32)) == BYTE.e:
            j = i + 1
            down = False
            if j < end and (text[j] == BYTE.minus or text[j] == BYTE.plus):
                down = text[j] == BYTE.minus
                j += 1
            power = 0
            start = j
            while j < end:
                digit = text[j] - np.uint8(BYTE.zero)
                if digit > 9:
                    break
                if power < 100000:
                    power = power * 10 + np.int64(digit)  # type: ignore[assignment]
                j += 1
            whole = False
            stop = j if j > start else at
            q += -power if down else power
        if m <= np.uint64(1 << 53) and -22 <= q <= 22:
            value = np.float64(np.int64(m))
            if q < 0:
                value /= EXACT_TENS[-q]
            elif q > 0:
                value *= EXACT_TENS[q]
        elif m != 0:
            if q < SMALLEST_POWER or q > LARGEST_POWER:
                stop = -1
            else:
                mantissa, k = scaled(m, q, fives[q - SMALLEST_POWER, 0], fives[q - SMALLEST_POWER, 1])
                if mantissa == 0:
                    stop = -1
                else:
                    value = np.float64(mantissa) * twos[k + 1074]
        if negative:
            value = -value
    return stop, value, whole
