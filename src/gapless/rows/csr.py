"""Rows of a compressed sparse matrix: float32 or float64 values, int32 or int64 indices, none twice in a row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapless.rows.copies.prefetch import prefetch
from gapless.rows.verbs import with_verbs


# Indices are read as unsigned: numba then need not ask whether one counts from the end.  Four sums side by side hide the
# latency of the additions; gathers by vector instructions are slower than either (measured: 2.2, 0.8 and 0.4 ns a value).
def row_dot(rows, i, theta):
    values, indices = rows.values, rows.indices
    s0 = rows.constant * theta[theta.size - 1]
    s1, s2, s3 = 0.0, 0.0, 0.0
    start, stop = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])
    whole = start + ((stop - start) & ~np.uint64(3))
    for k in range(start, whole, np.uint64(4)):
        s0 += values[k] * theta[np.uint64(indices[k])]
        s1 += values[k + np.uint64(1)] * theta[np.uint64(indices[k + np.uint64(1)])]
        s2 += values[k + np.uint64(2)] * theta[np.uint64(indices[k + np.uint64(2)])]
        s3 += values[k + np.uint64(3)] * theta[np.uint64(indices[k + np.uint64(3)])]
    for k in range(whole, stop):
        s0 += values[k] * theta[np.uint64(indices[k])]
    return (s0 + s1) + (s2 + s3)


def row_axpy(rows, i, a, theta):
    values, indices = rows.values, rows.indices
    for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
        theta[np.uint64(indices[k])] += a * values[k]
    theta[theta.size - 1] += a * rows.constant


def row_norm2(rows, i):
    values = rows.values
    s = rows.constant * rows.constant
    for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
        v = np.float64(values[k])
        s += v * v
    return s


def row_fill(rows, i, a, out):
    out[:] = 0.0
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        out[rows.indices[k]] = a * rows.values[k]
    out[out.size - 1] = a * rows.constant


def row_squares(rows, i, a, out):
    values, indices = rows.values, rows.indices
    for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
        v = np.float64(values[k])
        out[np.uint64(indices[k])] += a * (v * v)
    out[out.size - 1] += a * (rows.constant * rows.constant)


def row_truncate(rows, i, drawn, scale, v, pulled):
    for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
        j = np.uint64(rows.indices[k])
        before = scale * v[j]
        if before > 0.0:
            v[j] = max(0.0, before - (drawn + pulled[j])) / scale
        elif before < 0.0:
            v[j] = min(0.0, before + (drawn - pulled[j])) / scale
        pulled[j] += scale * v[j] - before


def row_ahead(rows, i):
    # Eight values to a cache line; the beginning of a row is enough, the memory follows a straight walk by itself.
    start = np.uint64(rows.indptr[i])
    prefetch(rows.values, start)
    prefetch(rows.values, start + np.uint64(8))
    prefetch(rows.indices, start)


@with_verbs(row_dot, row_axpy, row_norm2, row_fill, row_squares, row_truncate, row_ahead, row_fetch=row_ahead)
class CsrRows(NamedTuple):
    values: np.ndarray
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
