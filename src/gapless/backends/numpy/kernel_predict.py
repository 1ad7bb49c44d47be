"""f(x) = sum_j v_j K(x, x_j) of few new rows x, by BLAS and ufuncs: the twin of `gram/predict`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless.kernels.rbf import squared_distances


def predict_few(
    kernel: Any, X: np.ndarray, vectors: np.ndarray, coefficients: np.ndarray, parts: list[slice]
) -> np.ndarray:
    """The scores of the rows of X for each part of the support vectors: (parts, rows of X, lines of coefficients)."""
    rows = 512  # at a time: their kernel values stay in the cache
    loose_error = 1e-9  # relative: values that may be off by more are made from differences of rows
    columns = np.ascontiguousarray(coefficients.T, dtype=np.float64)
    out = np.zeros((len(parts), X.shape[0], columns.shape[1]))
    if columns.shape[0] == 0:
        return out
    X, V = X.astype(np.float64, copy=False), np.asarray(vectors, dtype=np.float64)
    loose = False
    if kernel.of_distances:
        centre = V.mean(axis=0)
        left, V = X - centre, V - centre
        norms2, own2 = np.einsum("ij,ij->i", left, left), np.einsum("ij,ij->i", V, V)
        largest = max(float(norms2.max(initial=0.0)), float(own2.max(initial=0.0)))
        loose = not kernel.relative_error(V.shape[1], largest) <= loose_error
    else:
        left, norms2, own2 = (
            X,
            np.zeros(X.shape[0]),
            np.zeros(V.shape[0]),
        )  # the kernels of products do not ask for them
    for start in range(0, X.shape[0], rows):
        some = slice(start, start + rows)
        if loose:
            K = kernel.from_distances(squared_distances(X[some], np.asarray(vectors)))
        else:
            K = kernel.from_products(left[some] @ V.T, norms2[some], own2)
        for k, part in enumerate(parts):
            np.matmul(K[:, part], columns[part], out=out[k, some])
    return out


def predict_one(
    kernel: Any, X: np.ndarray, vectors: np.ndarray, coefficients: np.ndarray, parts: list[slice]
) -> np.ndarray:
    """The same for a single new row, from differences of rows, without BLAS: nothing of many rows pays here."""
    x, V = X[0].astype(np.float64, copy=False), np.asarray(vectors, dtype=np.float64)
    if kernel.of_distances:
        away = V - x
        K = kernel.from_distances(np.einsum("ij,ij->i", away, away))
    else:
        none = np.zeros(1)  # the kernels of products do not ask for squared norms
        K = kernel.from_products(np.einsum("ij,j->i", V, x)[None, :], none, none)[0]
    shares, starts = coefficients * K, [part.start for part in parts]
    if all(part.start < part.stop for part in parts):
        return np.add.reduceat(shares, starts, axis=1).T[:, None, :]
    return np.stack([shares[:, part].sum(axis=1)[None, :] for part in parts])
