"""The same rows in less memory, for those who read them row by row, in any order, many times.

There the memory is what takes the time: rows of a dense matrix that are mostly zeros are read faster as sparse ones, and rows of
zeros and ones need no values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless._jit import compiled
from gapless.rows.csr import CsrRows
from gapless.rows.dense import DenseRows
from gapless.rows.packed import PackedRows
from gapless.rows.pattern import PatternRows
from gapless.rows.products import Rows, n_features, n_rows, n_stored, sample

#: Matrices of fewer values are in the cache anyway.
WORTH = 100_000
#: The share of values other than zero up to which a sparse copy is read faster.
THIN = 0.3
#: Rows that are looked at to guess it.
LOOK = 1000


def compact(rows: Rows, worth: int = WORTH) -> Any:
    """Packed or pattern rows with the same entries, where they are read faster; else the rows themselves."""
    n, d = n_rows(rows), n_features(rows)
    if n_stored(rows) < worth or d > 2**16:
        return rows
    if isinstance(rows, DenseRows):
        filled = filled_share(rows)
        if filled > THIN:
            return rows
        # Room for a third more than that, and for the padding of each row.
        room = int(5.0 / 4.0 * (1.3 * n * d * filled)) + 5 * n
        values = np.empty(room)
        indptr = np.zeros(n + 1, np.int64)
        end = _pack(rows.values, indptr, values.view(np.uint64), values)
        if end < 0:
            return rows
        return PackedRows(values[:end].view(np.uint64), values[:end], indptr, d, rows.constant)
    if rows.values[0] == 1.0 and (rows.values == 1.0).all():
        indices, indptr = rows.indices.astype(np.uint16), rows.indptr.astype(np.int64, copy=False)
        return PatternRows(indices, indptr, d, rows.constant)
    return rows


def filled_share(rows: DenseRows) -> float:
    """About how many of the values are not 0."""
    n = n_rows(rows)
    seen = rows.values[sample(n, min(LOOK, n))]
    return np.count_nonzero(seen) / max(1, seen.size)


def by_length(rows: CsrRows | PatternRows, order: np.ndarray) -> np.ndarray | None:
    """``order`` with rows of one length together, the shortest first; None where most rows have one length anyway.

    A core that reads rows of one length after the other knows where they end; guessing wrong costs as much as a dozen values.
    """
    lengths = np.diff(rows.indptr)
    counts = np.bincount(lengths)
    return None if 2 * counts.max() > lengths.size else _sorted(lengths, counts, order)


@compiled
def _sorted(lengths, counts, order):
    places = np.cumsum(counts) - counts
    out = np.empty_like(order)
    for i in order:
        place = places[lengths[i]]
        out[place] = i
        places[lengths[i]] = place + 1
    return out


@compiled
def _pack(X, indptr, words, values):
    """Fill the words and values of every row; where they end, or -1 where there is no room."""
    d = X.shape[1]
    columns, found = np.empty(d + 4, np.uint16), np.empty(d + 4)
    at = 0
    for i in range(X.shape[0]):
        x = X[i]
        count = 0
        for j in range(d):  # a branch would cost more than writing zeros that the next value replaces
            columns[count] = j
            found[count] = x[j]
            count += x[j] != 0.0
        for k in range(count, count + 4):
            columns[k], found[k] = 0, 0.0
        if at + 5 * ((count + 3) // 4) > values.size:
            return -1
        for k in range(0, count, 4):
            w = np.uint64(columns[k]) | np.uint64(columns[k + 1]) << np.uint64(16)
            words[at] = w | np.uint64(columns[k + 2]) << np.uint64(32) | np.uint64(columns[k + 3]) << np.uint64(48)
            for m in range(4):
                values[at + 1 + m] = found[k + m]
            at += 5
        indptr[i + 1] = at
    return at
