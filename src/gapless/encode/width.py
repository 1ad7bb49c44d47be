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
    if sparse.issparse(X):
        sums = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
        mean = float(weights @ sums) / total
        stored = np.diff(X.indptr)
        off = X.copy().astype(np.float64)
        off.data -= mean
        squares = np.asarray(off.multiply(off).sum(axis=1)).ravel() + (d - stored) * mean**2
    else:
        sums = X.sum(axis=1, dtype=np.float64)
        mean = float(weights @ sums) / total
        squares = np.empty(X.shape[0])
        for start in range(0, X.shape[0], 4096):
            part = X[start : start + 4096] - mean
            squares[start : start + 4096] = np.einsum("ij,ij->i", part, part, dtype=np.float64)
    variance = float(weights @ squares) / total
    found = 1.0 / (d * variance) if variance > 0.0 else 1.0
    return found if np.isfinite(found) and found > 0.0 else 1.0
