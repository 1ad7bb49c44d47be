"""Rows of a compressed sparse matrix: float32 or float64 values, int32 or int64 indices, none twice in a row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapless.rows._protocol import rows


def row_dot(rows, i, theta):
    s = rows.constant * theta[theta.size - 1]
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        s += rows.values[k] * theta[rows.indices[k]]
    return s


def row_axpy(rows, i, a, theta):
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        theta[rows.indices[k]] += a * rows.values[k]
    theta[theta.size - 1] += a * rows.constant


def row_norm2(rows, i):
    s = rows.constant * rows.constant
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        v = np.float64(rows.values[k])
        s += v * v
    return s


def row_fill(rows, i, a, out):
    out[:] = 0.0
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        out[rows.indices[k]] = a * rows.values[k]
    out[out.size - 1] = a * rows.constant


@rows(row_dot=row_dot, row_axpy=row_axpy, row_norm2=row_norm2, row_fill=row_fill)
class CsrRows(NamedTuple):
    values: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    n_features: int
    constant: float
