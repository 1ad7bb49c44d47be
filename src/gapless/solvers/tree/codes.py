"""Columns as codes: the ranks of their distinct values, or of at most 255 bins of them; made once, shared by many trees.

A tree compares values with thresholds and never computes with them: their ranks grow the same tree. Where a column has more
distinct values than bins, each bin is a run of neighbouring values with about the same number of rows; thresholds then
lie between bins only. The missing value (NaN) has the code after the last one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gapless._compile.jit import compiled
from gapless._runtime.threads import run_in_parts

from .keys import HALF, LOW, sort_keys
from .numpy.choose import numpy_grows
from .numpy.columns import rank_by_numpy
from .thresholds import TREE_THRESHOLDS


class Columns(NamedTuple):
    """The columns of a training set: ``codes[j, i]`` stands for the values ``lowest`` to ``highest`` of its code."""

    codes: np.ndarray  #: (columns, rows) of uint16, or of uint32 where a column has many codes or holds categories
    n_codes: np.ndarray  #: of each column, without the missing value
    missing: np.ndarray  #: whether a column has missing values
    categorical: np.ndarray  #: whether a column holds categories
    offset: np.ndarray  #: where each column starts in ``lowest`` and ``highest``
    lowest: np.ndarray  #: float32
    highest: np.ndarray  #: float32
    exact: bool  #: whether each code is one value
    common: np.ndarray  #: the code that more than half of the rows have, or -1
    #: (columns, rows) of uint32, or empty: rows by code, but for the common one; bit 31: a code begins
    order: np.ndarray
    #: how many rows there are of each column in ``order``, and how many of them below the common code
    ordered: np.ndarray

    @property
    def n_rows(self) -> int:
        return self.codes.shape[1]


BEGINS = np.uint32(1 << 31)
#: Digits of 11 bits that a float32 is sorted by.
DIGITS, DIGIT = 3, np.uint64(2047)


class Sorting(NamedTuple):
    """Memory for sorting a column."""

    keys: np.ndarray  #: uint64 (2, rows): bits of a value above, row below
    places: np.ndarray  #: int64 (3, 2048): how many keys have each digit, then where they go

    @classmethod
    def of(cls, n: int) -> Sorting:
        return cls(np.empty((2, n), dtype=np.uint64), np.empty((DIGITS, int(DIGIT) + 1), dtype=np.int64))


@compiled(inner=True)
def make_keys(x: Any, bits: Any, keys: Any) -> Any:
    """Keys of the values that are not missing; how many there are."""
    m = np.int64(0)
    for i in range(x.size):
        if x[i] == x[i]:
            b: Any = bits[i]
            if b == np.uint32(0x80000000):  # -0 is 0
                b = np.uint32(0)
            # In the order of the floats: negative ones upside down, below the others.
            b = b ^ (np.uint32(0xFFFFFFFF) if b >> np.uint32(31) else np.uint32(0x80000000))
            keys[0, m] = (np.uint64(b) << HALF) | np.uint64(i)
            m += 1
    return m


@compiled(inner=True)
def sort_digits(keys: Any, places: Any, m: int) -> Any:
    """Radix sort; the line of ``keys`` that holds the result."""
    if m <= 1000:  # keys for which digits of 11 bits have too many values to be looked through
        return np.int64(sort_keys(keys, m, np.int64(0xFFFFFFFF), places[0]))
    for step in range(DIGITS):
        for digit in range(places.shape[1]):
            places[step, digit] = 0
    for i in range(m):
        b = keys[0, i] >> HALF
        places[0, b & DIGIT] += 1
        places[1, (b >> np.uint64(11)) & DIGIT] += 1
        places[2, b >> np.uint64(22)] += 1
    line = np.int64(0)
    for step in range(DIGITS):
        shift = np.uint64(32 + 11 * step)
        if places[step, (keys[line, 0] >> shift) & DIGIT] == m:
            continue
        before = np.int64(0)
        for b in range(places.shape[1]):
            here = places[step, b]
            places[step, b] = before
            before += here
        other = 1 - line
        for i in range(m):
            key = keys[line, i]
            b = (key >> shift) & DIGIT
            keys[other, places[step, b]] = key
            places[step, b] += 1
        line = other
    return line


@compiled(inner=True)
def rank_values(x: Any, keys: Any, lowest: Any, highest: Any, code: Any, order: Any) -> Any:
    """Each value its own code; how many there are."""
    c = np.int64(-1)
    previous = np.uint64(0xFFFFFFFFFF)
    for i in range(keys.size):
        value = keys[i] >> HALF
        row = keys[i] & LOW
        if value != previous:
            c += 1
            previous = value
            lowest[c] = x[row] + np.float32(0.0)
            highest[c] = lowest[c]
            order[i] = np.uint32(row) | BEGINS
        else:
            order[i] = np.uint32(row)
        code[row] = c
    return c + 1


@compiled(inner=True)
def end_of_bin(keys: Any, start: int, target: float, last: bool) -> Any:
    """A bin ends with the value that reaches its share of the rows that are left."""
    stop = start
    while stop < keys.size:
        value = keys[stop] >> HALF
        following = stop + 1
        while following < keys.size and keys[following] >> HALF == value:
            following += 1
        # closer with this value, or without it?
        if stop > start and (following - start) - target > target - (stop - start) and not last:
            break
        stop = following
        if stop - start >= target and not last:
            break
    return stop


@compiled(inner=True)
def rank_bins(x: Any, keys: Any, lowest: Any, highest: Any, bins: int, code: Any, order: Any) -> Any:
    """Each of so many bins of neighbouring values its own code; how many there are."""
    c, start = np.int64(0), np.int64(0)
    while start < keys.size:
        stop = end_of_bin(keys, start, (keys.size - start) / (bins - c), c >= bins - 1)
        for i in range(start, stop):
            code[keys[i] & LOW] = c
            order[i] = np.uint32(keys[i] & LOW)
        order[start] |= BEGINS
        lowest[c] = x[keys[start] & LOW] + np.float32(0.0)
        highest[c] = x[keys[stop - 1] & LOW] + np.float32(0.0)
        start = stop
        c += 1
    return c


@compiled(inner=True)
def distinct_values(keys: Any) -> Any:
    distinct = np.int64(0)
    previous = np.uint64(0xFFFFFFFFFF)
    for i in range(keys.size):
        value = keys[i] >> HALF
        distinct += 1 if value != previous else 0
        previous = value
    return distinct


@compiled(inner=True)
def leave_out_common(keys: Any, code: Any, order: Any, n: int) -> Any:
    """Take the code that more than half of the rows have out of ``order``: the code, or -1; what is left, and what of it lies
    below."""
    m = keys.size
    if 2 * m > n:
        # Whatever fills more than half of a sorted list stands in its middle.
        first = np.int64(m // 2)
        while order[first] < BEGINS:
            first -= 1
        last = np.int64(m // 2 + 1)
        while last < m and order[last] < BEGINS:
            last += 1
        if 2 * (last - first) > n:
            for i in range(last, m):
                order[first + i - last] = order[i]
            return np.int64(code[keys[first] & LOW]), m - (last - first), first
    return np.int64(-1), m, np.int64(m)


@compiled(inner=True)
def rank_column(
    x: Any, bits: Any, sorting: Any, lowest: Any, highest: Any, bins: Any, code: Any, order: Any
) -> Any:  # fmt: skip
    """Codes of a column, and the values of each; the numbers of codes and of missing values, the code that more than half
    of the rows have (or -1), and the length of ``order``, which is without them, and of its part below.

    ``bins``: so many codes at most; None: each value has its own."""
    n = x.size
    m = make_keys(x, bits, sorting.keys)
    keys = sorting.keys[sort_digits(sorting.keys, sorting.places, m), :m]
    if bins is not None and distinct_values(keys) > bins:
        n_codes = rank_bins(x, keys, lowest, highest, bins, code, order)
    else:
        n_codes = rank_values(x, keys, lowest, highest, code, order)
    if m < n:
        for i in range(n):
            if x[i] != x[i]:
                code[i] = n_codes
    common, left, below = leave_out_common(keys, code, order, n)
    return n_codes, n - m, common, left, below


@compiled(allocates=False)
def rank_columns(
    X: Any, bits: Any, sorting: Any, lowest: Any, highest: Any, bins: Any, code: Any, order: Any, found: Any
) -> None:  # fmt: skip
    """The same for some columns, the lines of X, each with its own number of ``bins``: calling a kernel takes as long as ranking
    some dozens of rows. ``order`` has a line for each column, or one that all write over."""
    for j in range(X.shape[0]):
        many = None if bins is None else bins[j]
        line = order[min(j, order.shape[0] - 1)]
        of = rank_column(X[j], bits[j], sorting, lowest[j], highest[j], many, code[j], line)
        found[j, 0], found[j, 1], found[j, 2], found[j, 3], found[j, 4] = of


def prepare_columns(X: Any, categorical: np.ndarray | None = None, bins: int | None = None) -> Columns:
    """The columns of X, float32 or CSC: exact where ``bins`` is None, else at most so many codes for a column of numbers.

    A category is never put into a bin with others.
    """
    n, d = X.shape
    if sparse.issparse(X) and n * d <= TREE_THRESHOLDS.dense_values:
        X = X.toarray()  # one column of a sparse matrix after the other takes longer than ranking them
    limit = n if bins is None else int(bins)
    kinds = np.zeros(d, dtype=np.bool_) if categorical is None else np.asarray(categorical, dtype=np.bool_)
    if bins is None and not kinds.any() and not sparse.issparse(X) and numpy_grows(n, d) and np.isfinite(X).all():
        ranks, none = rank_by_numpy(X, BEGINS), np.zeros(d, dtype=np.bool_)
        values = ranks.values
        return Columns(
            ranks.codes, ranks.n_codes, none, none.copy(), ranks.offset, values, values.copy(), True, ranks.common, ranks.order,
            ranks.ordered,
        )  # fmt: skip
    # Trees of categories are compiled for codes of 32 bits alone: they grow as fast on these.
    ranked = np.empty((d, n), dtype=np.uint32 if limit >= 65_535 or kinds.any() else np.uint16)
    found = np.zeros((d, 5), dtype=np.int64)
    kept = n <= TREE_THRESHOLDS.ordered_rows and n * d <= TREE_THRESHOLDS.ordered_values
    order = np.empty((d if kept else 0, n), dtype=np.uint32)
    step = TREE_THRESHOLDS.columns_per_thread
    of = [np.empty((2, 0), dtype=np.float32)] * max(1, -(-d // step))

    def work(part: int) -> None:
        own = slice(part * step, min(d, (part + 1) * step))
        tile = _lines(X, own)
        line = order[own] if kept else np.empty((1, n), dtype=np.uint32)
        lowest, highest = np.empty((2, len(tile), n if kinds[own].any() else min(n, limit)), dtype=np.float32)
        many = None if bins is None else np.where(kinds[own], n, limit)
        rank_columns(tile, tile.view(np.uint32), Sorting.of(n), lowest, highest, many, ranked[own], line, found[own])
        counts = found[own, 0].tolist()
        of[part] = np.array([np.concatenate([v[:c] for v, c in zip(side, counts)]) for side in (lowest, highest)])

    run_in_parts(work, -(-d // step))
    n_codes = found[:, 0].copy()
    most = int(n_codes.max(initial=0))
    small = np.uint16 if most < 65_536 and not kinds.any() else np.uint32  # two kinds of kernels, not three
    values = np.concatenate(of, axis=1)
    starts = np.concatenate([[0], np.cumsum(n_codes)[:-1]]).astype(np.int64)
    return Columns(
        ranked.astype(small, copy=False), n_codes, found[:, 1] > 0, kinds & (n_codes > 0), starts,
        np.ascontiguousarray(values[0]), np.ascontiguousarray(values[1]), bins is None or bool((values[0] == values[1]).all()),
        found[:, 2].copy(), order, found[:, 3:].copy(),
    )  # fmt: skip


def _lines(X: Any, own: slice) -> np.ndarray:
    """Some columns of X, each in one piece; zeros of a sparse matrix are filled in."""
    if not sparse.issparse(X):
        return np.array(X[:, own].T, dtype=np.float32, order="C")
    lines = np.zeros((own.stop - own.start, X.shape[0]), dtype=np.float32)
    for line, j in zip(lines, range(own.start, own.stop)):
        part = slice(X.indptr[j], X.indptr[j + 1])
        line[X.indices[part]] = X.data[part]
    return lines
