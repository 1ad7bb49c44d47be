"""Small data sets in memory, and the same rows in blocks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import sparse


def rows(n=2400, d=9, kind="dense", seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) * random.choice([0.3, 1.0, 3.0], d)
    return sparse.csr_matrix(np.where(random.random((n, d)) < 0.3, X, 0.0)) if kind == "csr" else X


def labels(X, classes=2, seed=1):
    random = np.random.default_rng(seed)
    Z = np.asarray(X @ random.normal(size=(X.shape[1], classes)))
    return (Z + 2.0 * random.normal(size=Z.shape) + 0.3 * np.arange(classes)).argmax(axis=1)


def weights(n, seed=2):
    return np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 3.0], n)


def cut(k, *arrays):
    """The rows of some arrays in k blocks of unequal sizes."""
    n = arrays[0].shape[0]
    ends = (n * (np.arange(k + 1) / k) ** 1.3).astype(int)
    return [tuple(a[start:stop] for a in arrays) for start, stop in pairwise(ends)]
