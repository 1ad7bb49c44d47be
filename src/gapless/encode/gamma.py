"""gamma of a kernel: "scale" is 1 / (columns times the variance of all values), with weights; "auto" is 1 / columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def resolve_gamma(gamma: Any, X: Any, weights: np.ndarray) -> float:
    """A row of weight 2 counts twice, so that repeated rows give the same width."""
    d = X.shape[1]
    if gamma == "auto":
        return 1.0 / d
    if gamma != "scale":
        return float(gamma)
    total = float(weights.sum()) * d
    # From one of the values, in float64: of values that are all equal nothing is left, not the rounding of their mean.
    if sparse.issparse(X):
        full = X.nnz == X.shape[0] * d
        first = float(X.data[0]) if full and X.nnz else 0.0
        off = X.astype(np.float64)
        off.data = off.data - first
        mean = float(weights @ np.asarray(off.sum(axis=1)).ravel()) / total
        off.data -= mean
        squares = np.asarray(off.multiply(off).sum(axis=1)).ravel() + (d - np.diff(X.indptr)) * mean**2
    else:
        first = float(X[int(np.argmax(weights > 0.0)), 0])
        starts = range(0, X.shape[0], 4096)
        sums, squares = np.empty(X.shape[0]), np.empty(X.shape[0])
        for start in starts:
            sums[start : start + 4096] = (X[start : start + 4096].astype(np.float64) - first).sum(axis=1)
        mean = float(weights @ sums) / total
        for start in starts:
            part = (X[start : start + 4096].astype(np.float64) - first) - mean
            squares[start : start + 4096] = np.einsum("ij,ij->i", part, part)
    variance = float(weights @ squares) / total
    found = 1.0 / (d * variance) if variance > 0.0 else 1.0
    return found if np.isfinite(found) and found > 0.0 else 1.0
