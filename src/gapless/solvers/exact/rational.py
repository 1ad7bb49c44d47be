"""Exact solutions of linear systems of floats: integers, prime fields, p-adic lifting.

    given  M, a matrix of floats (each is an integer times a power of two), and b:  solve M x = b in fractions

Dixon's lifting (Numer. Math. 40, 1982): with C = M^-1 mod p the digits of x in base p come one after the other, each from two
products with small numbers, which float64 does without rounding; x is then read off as a fraction with one common
denominator.  A result is returned only after M x = b has been checked in integers.

Ranks come from elimination mod p.  The rank mod p is never larger than the true one, so it proves "at least".
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np


class Integers:
    """A matrix of floats as integers times a power of two for each column: M[i, j] = values[i, j] * 2^exponents[j]."""

    def __init__(self, M: np.ndarray) -> None:
        mantissa, exponent = np.frexp(np.asarray(M, dtype=np.float64))
        whole = np.ldexp(mantissa, 53).astype(np.int64)
        exponent = exponent.astype(np.int64) - 53
        # Trailing zeros go into the exponent, so that whole numbers stay small.
        zeros = np.where(whole != 0, np.frexp((whole & -whole).astype(np.float64))[1] - 1, 0)
        lowest = np.where(whole != 0, exponent + zeros, np.iinfo(np.int64).max).min(
            axis=0, initial=np.iinfo(np.int64).max
        )
        self.exponents = np.where(lowest == np.iinfo(np.int64).max, 0, lowest)
        shift = np.where(whole != 0, exponent - self.exponents, 0)
        if (np.maximum(shift, -zeros).max(initial=0)) <= 9:  # 53 + 9 bits and a sign
            self.values = np.where(shift >= 0, whole << np.maximum(shift, 0), whole >> np.maximum(-shift, 0))
        else:
            values = (whole >> zeros).astype(object)
            self.values = values * _powers(shift + zeros)

    @classmethod
    def of(cls, values: np.ndarray, exponents: np.ndarray) -> Integers:
        """Make Integers from integers and exponents."""
        out = cls(np.zeros((0, values.shape[1])))
        out.values, out.exponents = values, np.asarray(exponents, dtype=np.int64)
        return out

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def take(self, rows=None, columns=None) -> np.ndarray:
        """The integers of some rows and columns."""
        values = self.values if rows is None else self.values[rows]
        return values if columns is None else values[:, columns]


def _powers(shift: np.ndarray) -> np.ndarray:
    out = np.empty(shift.shape, dtype=object)
    out.ravel()[:] = [1 << int(s) for s in shift.ravel()]
    return out


@lru_cache(maxsize=64)
def primes_below(limit: int, count: int = 4) -> tuple[int, ...]:
    """The largest primes below ``limit``."""
    found: list[int] = []
    candidate = limit - 1 - limit % 2
    while len(found) < count and candidate > 2:
        if all(candidate % q for q in range(3, math.isqrt(candidate) + 1, 2)):
            found.append(candidate)
        candidate -= 2
    return tuple(found)


def _prime_limit(length: int) -> int:
    """Sums of ``length`` products of two residues stay below 2^53."""
    return 1 << ((52 - max(1, length).bit_length()) // 2)


def _mod(values: np.ndarray, p: int) -> np.ndarray:
    """Residues in [0, p) as float64."""
    return np.asarray(values % p, dtype=np.float64)


def _reduced(values: np.ndarray, p: int) -> np.ndarray:
    """float64 integers, |value| < 2^53, mod p."""
    values -= p * np.floor(values / p)
    # The quotient may be rounded up or down by one.
    values[values < 0] += p
    values[values >= p] -= p
    return values


def echelon(values: np.ndarray, p: int | None = None, enough: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of a largest regular minor mod p, rows taken in order; their number is the rank mod p.

    ``enough``: stop at this rank.
    """
    n, m = values.shape
    p = p or primes_below(1 << 25)[0]
    rows: list[int] = []
    columns: list[int] = []
    basis = np.zeros((0, m))  # reduced: 1 in its own pivot column, 0 in those of the others
    most = min(n, m) if enough is None else min(n, m, enough)
    step = max(8, min(64, m))
    for start in range(0, n, step):
        if len(rows) >= most:
            break
        block = _mod(values[start : start + step], p)
        if len(rows):
            block = _cleared(block, basis, columns, p)
        for i in range(len(block)):
            live = np.flatnonzero(block[i])
            if live.size == 0:
                continue
            j = int(live[0])
            row = _times(block[i], pow(int(block[i, j]), -1, p), p)
            block[i + 1 :] = _less(block[i + 1 :], block[i + 1 :, j], row, p)
            if len(rows):
                basis = _less(basis, basis[:, j], row, p)
            basis = np.vstack([basis, row])
            rows.append(start + i)
            columns.append(j)
            if len(rows) >= most:
                break
    return np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)


def _times(row: np.ndarray, factor: int, p: int) -> np.ndarray:
    return _reduced(row * float(factor), p)


def _less(block: np.ndarray, factors: np.ndarray, row: np.ndarray, p: int) -> np.ndarray:
    """block - factors row, mod p, where only rows with a factor are touched."""
    touched = np.flatnonzero(factors)
    if touched.size:
        block[touched] = _reduced(block[touched] - factors[touched, None] * row, p)
    return block


def _cleared(block: np.ndarray, basis: np.ndarray, columns: list[int], p: int) -> np.ndarray:
    """The block less its part in the basis; products in pieces whose sums stay below 2^53."""
    piece = max(1, int(2.0**52 // (float(p) * p)))
    factors = block[:, columns]
    for k in range(0, len(basis), piece):
        block = _reduced(block - factors[:, k : k + piece] @ basis[k : k + piece], p)
    return block


def _inverse(M: np.ndarray, p: int) -> np.ndarray | None:
    """M^-1 mod p by Gauss-Jordan; None where M is singular mod p."""
    n = len(M)
    A = np.hstack([_mod(M, p), np.eye(n)])
    for j in range(n):
        pivots = np.flatnonzero(A[j:, j])
        if pivots.size == 0:
            return None
        k = j + int(pivots[0])
        if k != j:
            A[[j, k]] = A[[k, j]]
        A[j, j:] = _times(A[j, j:], pow(int(A[j, j]), -1, p), p)
        factors = A[:, j].copy()
        factors[j] = 0.0
        touched = np.flatnonzero(factors)
        A[touched, j:] = _reduced(A[touched, j:] - factors[touched, None] * A[j, j:], p)
    return A[:, n:]


class _Limbs:
    """Products of an integer matrix with vectors of residues, exact, as sums of float64 products."""

    def __init__(self, M: np.ndarray, p: int) -> None:
        n = M.shape[1]
        self.bits = max(1, 52 - max(1, n).bit_length() - p.bit_length())
        sign = np.sign(M).astype(np.int64) if M.dtype == object else np.sign(M)
        rest = abs(M)
        self.limbs = []
        mask = (1 << self.bits) - 1
        while np.any(rest != 0):
            self.limbs.append((np.asarray(rest & mask, dtype=np.float64)) * sign)
            rest = rest >> self.bits

    def times(self, x: np.ndarray) -> np.ndarray:
        total = np.zeros(x.shape, dtype=object)
        for k, limb in enumerate(self.limbs):
            total = total + (limb @ x).astype(np.int64).astype(object) * (1 << (k * self.bits))
        return total


def solve(M: np.ndarray, b: np.ndarray) -> tuple[list[int], int] | None:
    """Solve M x = b in integers. Returns (numerators, denominator > 0), or None where M is singular (or seems so)."""
    n = len(M)
    if n == 0:
        return [], 1
    if not np.any(b != 0):
        return [0] * n, 1
    for p in primes_below(_prime_limit(n)):
        C = _inverse(M, p)
        if C is not None:
            break
    else:
        return None
    limbs = _Limbs(M, p)
    most = min(400_000, 2 * _hadamard(M, b) + 64)  # bits of a numerator; longer ones would take minutes
    residual = b.astype(object)
    digits: list[np.ndarray] = []
    wanted = 8
    while True:
        while len(digits) < wanted:
            x = _mod(residual, p)
            x = _reduced(C @ x, p)
            digits.append(x.astype(np.int64).astype(object))
            residual = (residual - limbs.times(x)) // p
        found = _fractions(digits, p)
        if found is not None and _solves(M, b, *found):
            return found
        if len(digits) * p.bit_length() > most + 64:
            return None
        wanted = 2 * len(digits)


def _hadamard(M: np.ndarray, b: np.ndarray) -> int:
    """Bits that bound every minor of (M, b)."""
    sizes = [max(1, int(sum(int(v) * int(v) for v in row)).bit_length()) for row in M.tolist()]
    return sum(sizes) // 2 + len(sizes) + max((abs(int(v)).bit_length() for v in b.tolist()), default=0)


def _fractions(digits: list[np.ndarray], p: int) -> tuple[list[int], int] | None:
    """Numerators over one denominator, as small as the digits allow."""
    parts, modulus = digits, p
    while len(parts) > 1:
        parts = [parts[k] + parts[k + 1] * modulus if k + 1 < len(parts) else parts[k] for k in range(0, len(parts), 2)]
        modulus = modulus * modulus
    modulus = p ** len(digits)
    bound = math.isqrt(modulus // 2)
    denominator = 1
    out: list[int] = []
    for value in parts[0].tolist():
        u = value * denominator % modulus
        u = u - modulus if 2 * u > modulus else u
        if abs(u) > bound:
            found = _reconstruct(u % modulus, modulus, bound)
            if found is None:
                return None
            u, factor = found
            denominator *= factor
            if denominator > bound:
                return None
            out = [v * factor for v in out]
        out.append(u)
    return out, denominator


def _reconstruct(u: int, modulus: int, bound: int) -> tuple[int, int] | None:
    """n / d = u mod modulus with |n|, d <= bound."""
    r0, r1, t0, t1 = modulus, u, 0, 1
    while r1 > bound:
        q = r0 // r1
        r0, r1, t0, t1 = r1, r0 - q * r1, t1, t0 - q * t1
    if t1 == 0 or abs(t1) > bound:
        return None
    return (r1, t1) if t1 > 0 else (-r1, -t1)


def _solves(M: np.ndarray, b: np.ndarray, numerators: list[int], denominator: int) -> bool:
    x = np.array(numerators, dtype=object)
    left = M.astype(object) @ x if M.dtype != object else M @ x
    return bool(np.all(left == b.astype(object) * denominator))
