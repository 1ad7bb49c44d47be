"""Columns as codes: the ranks of their distinct values, or of at most 255 bins of them; made once, shared by many trees.

A tree compares values with thresholds and never computes with them: their ranks grow the same tree. Where a column has more
distinct values than bins, each bin is a run of neighbouring values with about the same number of rows; thresholds then
lie between bins only. The missing value (NaN) has the code after the last one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gapless._jit import compiled
from gapless._threads import share

__all__ = ["Columns", "prepare"]

#: Columns that are turned and ranked at a time.
TILE = 8
#: Orders are kept for at most so many rows, and so many values: beyond, a part of a tree sorts its own.
ORDERED_ROWS = 1 << 17
ORDERED = 1 << 25


class Columns(NamedTuple):
    """The columns of a training set: ``codes[j, i]`` stands for the values ``lowest`` to ``highest`` of its code."""

    codes: np.ndarray  #: (columns, rows) of uint16 or uint32
    n_codes: np.ndarray  #: of each column, without the missing value
    missing: np.ndarray  #: whether a column has missing values
    categorical: np.ndarray  #: whether a column holds categories
    offset: np.ndarray  #: where each column starts in ``lowest`` and ``highest``
    lowest: np.ndarray  #: float32
    highest: np.ndarray  #: float32
    exact: bool  #: whether each code is one value
    common: np.ndarray  #: the code that more than half of the rows have, or -1
    order: (
        np.ndarray
    )  #: (columns, rows) of uint32, or empty: rows by code, but for the common one; bit 31: a code begins
    ordered: (
        np.ndarray
    )  #: how many rows there are of each column in ``order``, and how many of them below the common code

    @property
    def n_rows(self) -> int:
        return self.codes.shape[1]


BEGINS = np.uint32(1 << 31)


@compiled
def rank_column(
    x: Any, keys: Any, spare: Any, lowest: Any, highest: Any, bins: int, code: Any, order: Any
) -> tuple[int, int, int, int, int]:
    """Codes of a column, and the values of each; the numbers of codes and of missing values, the code that more than half
    of the rows have (or -1), and the length of ``order``, which is without them, and of its part below. Radix sort of
    (bits, row)."""
    n = x.size
    bits = x.view(np.uint32)
    view = keys
    m = 0
    for i in range(n):
        if x[i] == x[i]:
            b = bits[i]
            if b == np.uint32(0x80000000):  # -0 is 0
                b = np.uint32(0)
            # In the order of the floats: negative ones upside down, below the others.
            b = b ^ (np.uint32(0xFFFFFFFF) if b >> np.uint32(31) else np.uint32(0x80000000))
            view[m] = (np.uint64(b) << np.uint64(32)) | np.uint64(i)
            m += 1
    none = n - m
    place = np.zeros((3, 2048), dtype=np.int64)
    for i in range(m):
        b = view[i] >> np.uint64(32)
        place[0, b & np.uint64(2047)] += 1
        place[1, (b >> np.uint64(11)) & np.uint64(2047)] += 1
        place[2, b >> np.uint64(22)] += 1
    other = spare
    for step in range(3):
        shift = np.uint64(32 + 11 * step)
        if m == 0 or place[step, (view[0] >> shift) & np.uint64(2047)] == m:
            continue
        before = 0
        for b in range(2048):
            here = place[step, b]
            place[step, b] = before
            before += here
        for i in range(m):
            key = view[i]
            b = (key >> shift) & np.uint64(2047)
            other[place[step, b]] = key
            place[step, b] += 1
        view, other = other, view
    low = np.uint64(0xFFFFFFFF)
    distinct = 0
    previous = np.uint64(0xFFFFFFFFFF)
    for i in range(m):
        value = view[i] >> np.uint64(32)
        if value != previous:
            distinct += 1
            previous = value
    if distinct <= bins:
        c = -1
        previous = np.uint64(0xFFFFFFFFFF)
        for i in range(m):
            value = view[i] >> np.uint64(32)
            row = view[i] & low
            if value != previous:
                c += 1
                previous = value
                lowest[c] = x[row] + np.float32(0.0)
                highest[c] = lowest[c]
                order[i] = np.uint32(row) | BEGINS
            else:
                order[i] = np.uint32(row)
            code[row] = c
        c += 1
    else:
        # A bin ends with the value that reaches its share of the rows that are left.
        c, start, left_rows = 0, 0, m
        while start < m:
            target = left_rows / (bins - c)
            stop = start
            while stop < m:
                value = view[stop] >> np.uint64(32)
                following = stop + 1
                while following < m and view[following] >> np.uint64(32) == value:
                    following += 1
                # closer with this value, or without it?
                if stop > start and (following - start) - target > target - (stop - start) and c < bins - 1:
                    break
                stop = following
                if stop - start >= target and c < bins - 1:
                    break
            for i in range(start, stop):
                code[view[i] & low] = c
                order[i] = np.uint32(view[i] & low)
            order[start] |= BEGINS
            lowest[c] = x[view[start] & low] + np.float32(0.0)
            highest[c] = x[view[stop - 1] & low] + np.float32(0.0)
            left_rows -= stop - start
            start = stop
            c += 1
    if none > 0:
        for i in range(n):
            if x[i] != x[i]:
                code[i] = c
    common: Any = -1
    first, last = m, m
    if 2 * m > n:
        # Whatever fills more than half of a sorted list stands in its middle.
        first = m // 2
        while order[first] < BEGINS:
            first -= 1
        last = m // 2 + 1
        while last < m and order[last] < BEGINS:
            last += 1
        if 2 * (last - first) > n:
            common = np.int64(code[view[first] & low])
            for i in range(last, m):
                order[first + i - last] = order[i]
        else:
            first, last = m, m
    return c, none, common, m - (last - first), first


def prepare(X: Any, categorical: np.ndarray | None = None, bins: int | None = None) -> Columns:
    """The columns of X, float32 or CSC: exact where ``bins`` is None, else at most so many codes for a column of numbers.

    A category is never put into a bin with others.
    """
    n, d = X.shape
    thin = sparse.issparse(X)
    limit = n if bins is None else int(bins)
    kinds = np.zeros(d, dtype=np.bool_) if categorical is None else np.asarray(categorical, dtype=np.bool_)
    ranked = np.empty((d, n), dtype=np.uint32 if limit >= 65_535 else np.uint16)
    found = np.zeros((d, 5), dtype=np.int64)
    kept = n <= ORDERED_ROWS and n * d <= ORDERED
    order = np.empty((d if kept else 0, n), dtype=np.uint32)
    of = [np.empty((2, 0), dtype=np.float32)] * d

    def work(part: int) -> None:
        first, last = part * TILE, min(d, (part + 1) * TILE)
        keys, spare = np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.uint64)
        line = np.empty(0 if kept else n, dtype=np.uint32)
        values = np.empty((2, n if kinds[first:last].any() else min(n, limit)), dtype=np.float32)
        tile = None if thin else np.array(X[:, first:last].T, dtype=np.float32, order="C")
        for j in range(first, last):
            column = _thick(X, j) if tile is None else tile[j - first]
            many = n if kinds[j] else limit
            sorted_rows = order[j] if kept else line
            found[j] = rank_column(column, keys, spare, values[0], values[1], many, ranked[j], sorted_rows)
            of[j] = values[:, : found[j, 0]].copy()

    share(work, -(-d // TILE))
    n_codes = found[:, 0].copy()
    most = int(n_codes.max(initial=0))
    small = np.uint16 if most < 65_536 else np.uint32  # two kinds of kernels, not three
    values = np.concatenate(of, axis=1)
    starts = np.concatenate([[0], np.cumsum(n_codes)[:-1]]).astype(np.int64)
    return Columns(
        ranked.astype(small, copy=False), n_codes, found[:, 1] > 0, kinds & (n_codes > 0), starts,
        np.ascontiguousarray(values[0]), np.ascontiguousarray(values[1]), bins is None or bool((values[0] == values[1]).all()),
        found[:, 2].copy(), order, found[:, 3:].copy(),
    )  # fmt: skip


def _thick(X: Any, j: int) -> np.ndarray:
    """A column of a CSC matrix with its zeros."""
    column = np.zeros(X.shape[0], dtype=np.float32)
    part = slice(X.indptr[j], X.indptr[j + 1])
    column[X.indices[part]] = X.data[part]
    return column
