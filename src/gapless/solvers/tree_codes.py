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
TILE = 16


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

    @property
    def n_rows(self) -> int:
        return self.codes.shape[1]


@compiled
def rank_column(x: Any, keys: Any, spare: Any, lowest: Any, highest: Any, bins: int, code: Any) -> tuple[int, int, int]:
    """Codes of a column, and the values of each; the numbers of codes and of missing values, and the code that more than
    half of the rows have (or -1). Radix sort of (bits, row)."""
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
    if m > n // 2:
        middle = code[view[m // 2] & low]  # whatever fills more than half of a sorted list stands in its middle
        here = 0
        for i in range(n):
            here += 1 if code[i] == middle else 0
        common = np.int64(middle) if 2 * here > n else -1
    return c, none, common


def prepare(X: Any, categorical: np.ndarray | None = None, bins: int | None = None) -> Columns:
    """The columns of X, float32 or CSC: exact where ``bins`` is None, else at most so many codes for a column of numbers.

    A category is never put into a bin with others.
    """
    n, d = X.shape
    thin = sparse.issparse(X)
    limit = n if bins is None else int(bins)
    kinds = np.zeros(d, dtype=np.bool_) if categorical is None else np.asarray(categorical, dtype=np.bool_)
    ranked = np.empty((d, n), dtype=np.uint32 if limit >= 65_535 else np.uint16)
    found = np.zeros((d, 3), dtype=np.int64)
    of = [np.empty((2, 0), dtype=np.float32)] * d

    def work(part: int) -> None:
        first, last = part * TILE, min(d, (part + 1) * TILE)
        keys, spare = np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.uint64)
        values = np.empty((2, n if kinds[first:last].any() else min(n, limit)), dtype=np.float32)
        tile = None if thin else np.ascontiguousarray(X[:, first:last].T, dtype=np.float32)
        for j in range(first, last):
            column = _thick(X, j) if tile is None else tile[j - first]
            many = n if kinds[j] else limit
            found[j] = rank_column(column, keys, spare, values[0], values[1], many, ranked[j])
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
        found[:, 2].copy(),
    )  # fmt: skip


def _thick(X: Any, j: int) -> np.ndarray:
    """A column of a CSC matrix with its zeros."""
    column = np.zeros(X.shape[0], dtype=np.float32)
    part = slice(X.indptr[j], X.indptr[j + 1])
    column[X.indices[part]] = X.data[part]
    return column
