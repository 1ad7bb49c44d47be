"""Rows of zeros and ones: a sparse copy that keeps where the ones are, and no values.

Gain: 1.5 times an epoch of the perceptron on a9a, shuffled (0.60 to 0.40 ms), 1.35 times as the rows stand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapless._compile.jit import compiled
from gapless.rows.copies.prefetch import prefetch
from gapless.rows.csr import CsrRows
from gapless.rows.verbs import with_verbs


# Four at a time into two sums, and a plain end: measured the fastest on rows of a dozen entries, as these mostly are.
def row_dot(rows, i, theta):
    indices = rows.indices
    k, stop = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    s0, s1 = 0.0, 0.0
    while k + four <= stop:
        s0 += theta[np.uint64(indices[k])] + theta[np.uint64(indices[k + one])]
        s1 += theta[np.uint64(indices[k + two])] + theta[np.uint64(indices[k + three])]
        k += four
    s0 += s1
    for m in range(k, stop):
        s0 += theta[np.uint64(indices[m])]
    return s0 + rows.constant * theta[theta.size - 1]


def row_axpy(rows, i, a, theta):
    indices = rows.indices
    for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
        theta[np.uint64(indices[k])] += a
    theta[theta.size - 1] += a * rows.constant


def row_fetch(rows, i):
    prefetch(rows.indices, np.uint64(rows.indptr[i]))


@with_verbs(row_dot, row_axpy, row_fetch, row_ahead=row_fetch)
class BinaryRows(NamedTuple):
    indices: np.ndarray
    indptr: np.ndarray
    n_features: int
    constant: float

    @property
    def n_rows(self) -> int:
        return self.indptr.size - 1

    @property
    def n_stored(self) -> int:
        return self.indices.size


def make_binary_rows(rows: CsrRows) -> BinaryRows | None:
    """The copy of sparse rows below 2^16 columns; None where a value is not 1."""
    if rows.values[0] != 1.0 or not (rows.values == 1.0).all():
        return None
    indices, indptr = rows.indices.astype(np.uint16), rows.indptr.astype(np.int64, copy=False)
    return BinaryRows(indices, indptr, rows.n_features, rows.constant)


def sort_by_length(rows: CsrRows | BinaryRows, order: np.ndarray) -> np.ndarray | None:
    """``order`` with rows of one length together, the shortest first; None where most rows have one length anyway.

    A core that reads rows of one length after the other knows where they end; a wrong guess costs as much as a dozen values.
    """
    lengths = np.diff(rows.indptr)
    counts = np.bincount(lengths)
    if 2 * counts.max() > lengths.size:
        return None
    out = np.empty_like(order)
    _place_by_length(lengths, np.cumsum(counts) - counts, order, out)
    return out


@compiled(allocates=False)
def _place_by_length(lengths, places, order, out):
    for i in order:
        place = places[lengths[i]]
        out[place] = i
        places[lengths[i]] = place + 1
