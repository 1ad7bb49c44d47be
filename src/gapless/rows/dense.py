"""Rows of a C-ordered matrix of float32 or float64."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapless.rows.copies.prefetch import prefetch
from gapless.rows.verbs import with_verbs


def row_dot(rows, i, theta):
    x = rows.values[i]
    s = 0.0
    for j in range(x.size):
        s += x[j] * theta[j]
    return s + rows.constant * theta[x.size]


def row_axpy(rows, i, a, theta):
    x = rows.values[i]
    for j in range(x.size):
        theta[j] += a * x[j]
    theta[x.size] += a * rows.constant


def row_norm2(rows, i):
    x = rows.values[i]
    s = rows.constant * rows.constant
    for j in range(x.size):
        v = np.float64(x[j])
        s += v * v
    return s


def row_fill(rows, i, a, out):
    x = rows.values[i]
    for j in range(x.size):
        out[j] = a * x[j]
    out[x.size] = a * rows.constant


def row_squares(rows, i, a, out):
    x = rows.values[i]
    for j in range(x.size):
        v = np.float64(x[j])
        out[j] += a * (v * v)
    out[x.size] += a * (rows.constant * rows.constant)


def row_truncate(rows, i, drawn, scale, v, pulled):
    for j in range(rows.values.shape[1]):
        before = scale * v[j]
        if before > 0.0:
            v[j] = max(0.0, before - (drawn + pulled[j])) / scale
        elif before < 0.0:
            v[j] = min(0.0, before + (drawn - pulled[j])) / scale
        pulled[j] += scale * v[j] - before


def row_ahead(rows, i):
    x = rows.values[i]
    prefetch(x, 0)
    prefetch(x, min(8, x.size - 1))


def row_fetch(rows, i):
    x = rows.values[i]
    for j in range(0, min(x.size, 128), 8):
        prefetch(x, j)


@with_verbs(row_dot, row_axpy, row_norm2, row_fill, row_squares, row_truncate, row_ahead, row_fetch)
class DenseRows(NamedTuple):
    values: np.ndarray
    constant: float

    @property
    def n_rows(self) -> int:
        return self.values.shape[0]

    @property
    def n_features(self) -> int:
        return self.values.shape[1]

    @property
    def n_stored(self) -> int:
        return self.values.size
