"""Signs, sums and ranks without rounding.

A float is an integer times a power of two, so all that is asked here is a question about integers.  Where float64 with its error
bound (Higham, any order of summation) leaves a sign open, it is found in integers; in int64 where these cannot overflow, else in
Python's own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from ..arithmetic.rounding import gamma
from ..rows import Block, DenseBlock, Rows

#: 2^31 - 1: products of two residues fit into int64. Ranks mod a prime are never too large.
PRIME = (1 << 31) - 1


class Lines:
    """Exact lines (classes, width), the first class being 0: integers over one denominator, and their floats."""

    def __init__(self, entries: list[list[Fraction]]) -> None:
        common = math.lcm(*(v.denominator for line in entries for v in line))
        self.whole = [[v.numerator * (common // v.denominator) for v in line] for line in entries]
        most = max((abs(v).bit_length() for line in self.whole for v in line), default=0)
        self.shift = max(0, most - 400)
        # One correct rounding each; what is lost to 0 is counted.
        self.floats = np.array([[v / (1 << self.shift) for v in line] for line in self.whole], dtype=np.float64)
        self.lost = any(
            v != 0 and abs(f) < 2.0**-400
            for line, floats in zip(self.whole, self.floats.tolist(), strict=True)
            for v, f in zip(line, floats, strict=True)
        )


def differences(rows: Rows, index: np.ndarray, keep: np.ndarray, lines: Lines, offset: bool) -> Iterator[tuple]:
    """(row numbers, own class, rival, sign, lower bound of the float value) of every pair, block by block."""
    d = rows.shape[1]
    W = lines.floats[:, :d]
    b = lines.floats[:, d] if offset else np.zeros(len(W))
    for block in rows.blocks():
        counted = keep[block.start : block.start + block.n]
        if not counted.all():
            block = block.take(counted)
        number = np.flatnonzero(counted)
        own = index[number + block.start]
        with np.errstate(all="ignore"):
            z = block.scores(W) + b
            size = block.absolute().scores(np.abs(W)) + np.abs(b)
            room = 4.0 * gamma(block.depth + 8) * size + 1e-300
        # Products that are all 0 have no rounding; below 2^-1000 they might only have vanished.
        nothing = (size == 0.0) & (not lines.lost) & (_least(block) > 2.0**-600)
        for k in range(len(W)):
            mask = own != k
            if not mask.any():
                continue
            at = np.flatnonzero(mask)
            with np.errstate(all="ignore"):  # what overflows is not sure
                value = z[at, own[at]] - z[at, k]
                reach = room[at, own[at]] + room[at, k]
                low = value - reach
                sure = (np.isfinite(value) & (np.abs(value) > reach)) | (nothing[at, own[at]] & nothing[at, k])
                sign = np.where(sure, np.sign(value), 0.0).astype(np.int8)
            unsure = np.flatnonzero(~sure)
            if unsure.size:
                sign[unsure] = _integer_signs(block, at[unsure], own[at[unsure]], k, lines, d, offset)
            yield number[at] + block.start, own[at], k, sign, low


def _least(block: Block) -> float:
    values = block.values if isinstance(block, DenseBlock) else block.data
    size = np.abs(values)
    return float(np.min(size, where=size > 0, initial=np.inf))


def _integer_signs(
    block: Block, at: np.ndarray, own: np.ndarray, rival: int, lines: Lines, d: int, offset: bool
) -> np.ndarray:
    live = sorted({j for line in lines.whole for j, v in enumerate(line[:d]) if v})
    out = np.zeros(at.size, dtype=np.int8)
    step = max(1, 131_072 // max(1, len(live)))
    for start in range(0, at.size, step):
        part = slice(start, start + step)
        x = _some(block, at[part], np.array(live, dtype=np.int64), d)
        if offset:
            x = np.hstack([x, np.ones((len(x), 1))])
        columns = [*live, d] if offset else live
        values, exponents = integers(x)
        lowest = min(exponents, default=0)
        for k in np.unique(own[part]).tolist():
            both = zip(columns, exponents, strict=True)
            weights = [(lines.whole[k][j] - lines.whole[rival][j]) << (e - lowest) for j, e in both]
            chosen = np.flatnonzero(own[part] == k)
            value = _products(values[chosen], weights)
            out[start + chosen] = (value > 0).astype(np.int8) - (value < 0).astype(np.int8)
    return out


def _some(block: Block, at: np.ndarray, columns: np.ndarray, d: int) -> np.ndarray:
    """Some rows and columns of a block, dense."""
    if isinstance(block, DenseBlock):
        return np.ascontiguousarray(block.values[at][:, columns])
    place = np.full(d, -1, dtype=np.int64)
    place[columns] = np.arange(columns.size)
    out = np.zeros((at.size, columns.size))
    count = block.indptr[at + 1] - block.indptr[at]
    line = np.repeat(np.arange(at.size), count)
    entry = np.arange(line.size) - np.repeat(np.cumsum(count) - count, count) + np.repeat(block.indptr[at], count)
    where = place[block.indices[entry]]
    wanted = where >= 0
    out[line[wanted], where[wanted]] = block.data[entry[wanted]]
    return out


def integers(x: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Integers V (int64, or Python's) and an exponent for each column: x[i, j] = V[i, j] 2^exponent[j]."""
    d = x.shape[1]
    exponents: list[int] = []
    columns = []
    fits = True
    for j in range(d):
        column = x[:, j]
        if np.all(np.abs(column) < 2.0**31) and np.array_equal(column, np.rint(column)):
            columns.append(column.astype(np.int64))
            exponents.append(0)
            continue
        ratios = [v.as_integer_ratio() for v in column.tolist()]
        common = max(q for _, q in ratios)  # powers of two
        whole = [p * (common // q) for p, q in ratios]
        drop = min(((v & -v).bit_length() - 1 for v in whole if v), default=0)
        whole = [v >> drop for v in whole]
        exponents.append(drop - (common.bit_length() - 1))
        fits &= max(map(abs, whole), default=0) < 1 << 62
        columns.append(np.array(whole, dtype=object))
    V = np.empty(x.shape, dtype=np.int64 if fits else object)
    for j, values in enumerate(columns):
        V[:, j] = values
    return V, exponents


def _products(V: np.ndarray, weights: list[int]) -> np.ndarray:
    """V weights, in int64 where that cannot overflow."""
    most = max(map(abs, weights), default=0)
    if V.dtype != object and int(np.abs(V).max(initial=0)) * most * max(1, len(weights)) < 1 << 62:
        return V @ np.array(weights, dtype=np.int64)
    return V.astype(object) @ np.array(weights, dtype=object)


def chosen_rows(rows: Rows, wanted: np.ndarray) -> np.ndarray:
    """Some rows of X, dense, in the order asked for."""
    d = rows.shape[1]
    order = np.argsort(wanted, kind="stable")
    out = np.zeros((wanted.size, d))
    everything = np.arange(d)
    for block in rows.blocks():
        low, high = np.searchsorted(wanted[order], [block.start, block.start + block.n])
        places = order[low:high]
        if places.size:
            out[places] = _some(block, wanted[places] - block.start, everything, d)
    return out


def sums_to_zero(x: np.ndarray, own: np.ndarray, rival: np.ndarray, alpha: list[Fraction], K: int) -> bool:
    """Whether sum alpha (e_own - e_rival) x = 0 for every class."""
    common = math.lcm(*(v.denominator for v in alpha))
    whole = np.array([v.numerator * (common // v.denominator) for v in alpha], dtype=object)
    V, _ = integers(x)
    V = V.astype(object)
    for k in range(K):
        weights = whole * ((own == k).astype(object) - (rival == k).astype(object))
        used = np.flatnonzero(weights != 0)
        if used.size and np.any(weights[used] @ V[used] != 0):
            return False
    return True


def exact_differences(x: np.ndarray, own: int, rival: int, lines: Lines, offset: bool) -> list[Fraction]:
    """The score of ``own`` less that of ``rival`` for some rows, in the units of ``lines.whole``."""
    if offset:
        x = np.hstack([x, np.ones((len(x), 1))])
    V, exponents = integers(x)
    lowest = min(exponents, default=0)
    both = zip(lines.whole[own], lines.whole[rival], exponents, strict=True)
    weights = [(u - v) << (e - lowest) for u, v, e in both]
    return [int(v) * Fraction(2) ** lowest for v in _products(V, weights).tolist()]


def squared_length(x: np.ndarray, weights: list[Fraction]) -> Fraction:
    """|sum of weights times rows|^2"""
    common = math.lcm(*(v.denominator for v in weights))
    whole = np.array([v.numerator * (common // v.denominator) for v in weights], dtype=object)
    V, exponents = integers(x)
    total = whole @ V.astype(object)
    lowest = min(exponents, default=0)
    square = sum((int(v) << (e - lowest)) ** 2 for v, e in zip(total, exponents, strict=True))
    return Fraction(square, common**2) * Fraction(4) ** lowest


def residues(x: np.ndarray) -> np.ndarray:
    """The rows mod PRIME, columns times powers of two."""
    V, _ = integers(x)
    return np.asarray(V % PRIME, dtype=np.int64)


def rank_at_least(M: np.ndarray) -> int:
    """The rank mod PRIME: the true one is not smaller."""
    M = M % PRIME
    rank = 0
    for j in range(M.shape[1]):
        if rank == len(M):
            break
        candidates = np.flatnonzero(M[rank:, j])
        if candidates.size == 0:
            continue
        i = rank + int(candidates[0])
        if i != rank:
            M[[rank, i]] = M[[i, rank]]
        M[rank, j:] = M[rank, j:] * pow(int(M[rank, j]), -1, PRIME) % PRIME
        below = rank + 1 + np.flatnonzero(M[rank + 1 :, j])
        if below.size:
            M[below, j:] = (M[below, j:] - M[below, j, None] * M[rank, j:]) % PRIME
        rank += 1
    return rank
