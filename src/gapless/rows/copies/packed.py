"""Sparse rows of float64 in one piece of memory each: four columns to a word, then their values, and so on.

A row visited out of order costs a walk to each place it lies in; here there is one.  Columns are below 2^16.  Rows are
filled up to whole fours with zeros in column 0, which change no sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapless.rows.copies.prefetch import ahead
from gapless.rows.verbs import rows


def row_dot(rows, i, theta):
    words, values = rows.words, rows.values
    mask, one, five = np.uint64(0xFFFF), np.uint64(1), np.uint64(5)
    s0 = rows.constant * theta[theta.size - 1]
    s1, s2, s3 = 0.0, 0.0, 0.0
    for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1]), five):
        w = words[k]
        s0 += values[k + one] * theta[w & mask]
        s1 += values[k + np.uint64(2)] * theta[(w >> np.uint64(16)) & mask]
        s2 += values[k + np.uint64(3)] * theta[(w >> np.uint64(32)) & mask]
        s3 += values[k + np.uint64(4)] * theta[w >> np.uint64(48)]
    return (s0 + s1) + (s2 + s3)


def row_axpy(rows, i, a, theta):
    words, values = rows.words, rows.values
    mask, one, five = np.uint64(0xFFFF), np.uint64(1), np.uint64(5)
    for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1]), five):
        w = words[k]
        theta[w & mask] += a * values[k + one]
        theta[(w >> np.uint64(16)) & mask] += a * values[k + np.uint64(2)]
        theta[(w >> np.uint64(32)) & mask] += a * values[k + np.uint64(3)]
        theta[w >> np.uint64(48)] += a * values[k + np.uint64(4)]
    theta[theta.size - 1] += a * rows.constant


def row_fetch(rows, i):
    start, stop = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])
    for k in range(start, min(stop, start + np.uint64(512)), np.uint64(8)):
        ahead(rows.values, k)


@rows(row_dot=row_dot, row_axpy=row_axpy, row_fetch=row_fetch)
class PackedRows(NamedTuple):
    words: np.ndarray  #: uint64
    values: np.ndarray  #: float64, the same memory
    indptr: np.ndarray
    n_features: int
    constant: float
