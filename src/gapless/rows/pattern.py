"""Rows of zeros and ones: where the ones are, and nothing else to read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapless.rows._prefetch import ahead
from gapless.rows._protocol import rows


# One sum, not four as in csr.py: short rows are what these are, and their ends cost more than the additions.
def row_dot(rows, i, theta):
    indices = rows.indices
    s = rows.constant * theta[theta.size - 1]
    for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
        s += theta[np.uint64(indices[k])]
    return s


def row_axpy(rows, i, a, theta):
    indices = rows.indices
    for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
        theta[np.uint64(indices[k])] += a
    theta[theta.size - 1] += a * rows.constant


def row_fetch(rows, i):
    ahead(rows.indices, np.uint64(rows.indptr[i]))


@rows(row_dot=row_dot, row_axpy=row_axpy, row_fetch=row_fetch)
class PatternRows(NamedTuple):
    indices: np.ndarray
    indptr: np.ndarray
    n_features: int
    constant: float
