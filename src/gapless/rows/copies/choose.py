"""The same rows in less memory, for those who read them row by row, many times.

There the memory is what takes the time: rows of a dense matrix that are mostly zeros are read faster as sparse ones, rows of
zeros and ones need no values, and columns of two values only need to say where the rarer one is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless._compile.jit import compiled
from gapless._runtime.threads import share
from gapless.rows.copies.binary import PatternRows
from gapless.rows.copies.packed import PackedRows
from gapless.rows.copies.two_value import MARK, marked, marked_cost
from gapless.rows.copies.two_value import WORTH as WORTH_MARKS
from gapless.rows.csr import CsrRows
from gapless.rows.dense import DenseRows
from gapless.rows.products import Rows, n_features, n_rows, n_stored, sample

#: Matrices of fewer values are in the cache anyway.
WORTH = 100_000
#: The share of values other than zero up to which a sparse copy is read faster.
THIN = 0.3
#: The same for whole passes, and the values from which on these wait for the memory: a copy of a quarter of X is worth it.
LEAN, LARGE = 0.2, 4_000_000
#: Rows that are looked at to guess it.
LOOK = 1000
#: Rows that are copied at a time, and values that may be zeros together.
PART, GROUP = 1024, 16


def compact(rows: Rows, worth: int = WORTH) -> Any:
    """Packed or pattern rows with the same entries, where they are read faster; else the rows themselves."""
    d = n_features(rows)
    if n_stored(rows) < worth or d > 2**16:
        return rows
    if isinstance(rows, DenseRows):
        return rows if filled_share(rows) > THIN else _packed(rows)
    if rows.values[0] == 1.0 and (rows.values == 1.0).all():
        indices, indptr = rows.indices.astype(np.uint16), rows.indptr.astype(np.int64, copy=False)
        return PatternRows(indices, indptr, d, rows.constant)
    return rows


def lean(rows: Rows, large: int = LARGE, many: bool = True) -> Any:
    """Marked rows for passes over all of them, packed ones if there will be many, where these are faster; else the rows."""
    if not isinstance(rows, DenseRows) or rows.values.dtype != np.float64 or rows.values.size < large:
        return rows
    if n_features(rows) > 2**16:
        return rows
    seen = _some(rows)
    cost = marked_cost(seen)
    # What is packed costs about as much a value as a mark.
    filled = np.count_nonzero(seen) / max(1, seen.size)
    if cost <= WORTH_MARKS and cost < MARK * filled and (copy := marked(rows, seen)) is not None:
        return copy
    return _packed(rows) if many and filled <= LEAN else rows


def _packed(rows: DenseRows) -> PackedRows:
    X, n = rows.values, n_rows(rows)
    indptr = np.zeros(n + 1, np.int64)
    parts = [(start, min(n, start + PART)) for start in range(0, n, PART)]
    share(lambda k: _count(X, *parts[k], indptr), len(parts))
    np.cumsum(indptr, out=indptr)
    values = np.empty(int(indptr[-1]))
    words = values.view(np.uint64)
    share(lambda k: _pack(X, *parts[k], indptr, words, values), len(parts))
    return PackedRows(words, values, indptr, n_features(rows), rows.constant)


def filled_share(rows: DenseRows) -> float:
    """About how many of the values are not 0."""
    seen = _some(rows)
    return np.count_nonzero(seen) / max(1, seen.size)


def _some(rows: DenseRows) -> np.ndarray:
    n = n_rows(rows)
    return rows.values[sample(n, min(LOOK, n))]


def by_length(rows: CsrRows | PatternRows, order: np.ndarray) -> np.ndarray | None:
    """``order`` with rows of one length together, the shortest first; None where most rows have one length anyway.

    A core that reads rows of one length after the other knows where they end; guessing wrong costs as much as a dozen values.
    """
    lengths = np.diff(rows.indptr)
    counts = np.bincount(lengths)
    if 2 * counts.max() > lengths.size:
        return None
    out = np.empty_like(order)
    _sort(lengths, np.cumsum(counts) - counts, order, out)
    return out


@compiled(allocates=False)
def _sort(lengths, places, order, out):
    for i in order:
        place = places[lengths[i]]
        out[place] = i
        places[lengths[i]] = place + 1


@compiled(vectorise=True)
def _count(X, first, last, indptr):
    """The words that each row takes: five for every four values."""
    for i in range(first, last):
        x = X[i]
        count = 0
        for j in range(x.size):
            count += x[j] != 0.0
        indptr[i + 1] = 5 * ((count + 3) // 4)


@compiled
def _pack(X, first, last, indptr, words, values):
    d = X.shape[1]
    columns, found = np.empty(d + 4, np.uint16), np.empty(d + 4)
    for i in range(first, last):
        x = X[i]
        count = 0
        for top in range(0, d, GROUP):
            group = x[top : top + GROUP]
            empty = True
            for j in range(group.size):
                empty &= group[j] == 0.0
            if empty:
                continue
            for j in range(group.size):  # a branch would cost more than writing zeros that the next value replaces
                columns[count] = top + j
                found[count] = group[j]
                count += group[j] != 0.0
        for k in range(count, count + 4):
            columns[k], found[k] = 0, 0.0
        at = indptr[i]
        for k in range(0, count, 4):
            w = np.uint64(columns[k]) | np.uint64(columns[k + 1]) << np.uint64(16)
            words[at] = w | np.uint64(columns[k + 2]) << np.uint64(32) | np.uint64(columns[k + 3]) << np.uint64(48)
            for m in range(4):
                values[at + 1 + m] = found[k + m]
            at += 5
