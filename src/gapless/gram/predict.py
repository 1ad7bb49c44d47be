"""f(x) = sum_j v_j K(x, x_j) of new rows x: blocks of a product with all support vectors, then the kernel's map.

float32 rows are computed in float32, float64 rows in float64; the sums are float64 either way. Work is cut by shape, so that
the bits do not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gapless._runtime.threads import run_in_parts
from gapless.gram.bits import BitTiles, is_binary
from gapless.gram.bytes import ByteTiles
from gapless.gram.tiles import RowTiles
from gapless.kernels.callable import Function
from gapless.kernels.linear import Linear
from gapless.kernels.precomputed import Precomputed
from gapless.kernels.rbf import squared_distances


def predict_scores(kernel: Any, X: Any, vectors: Any, coefficients: np.ndarray) -> np.ndarray:
    """(rows of X, lines of coefficients); ``vectors`` are the support vectors, for a precomputed kernel their columns of X."""
    return predict_scores_by_part(kernel, X, vectors, coefficients, [slice(0, coefficients.shape[1])])[0]


def predict_scores_by_part(
    kernel: Any, X: Any, vectors: Any, coefficients: np.ndarray, parts: list[slice]
) -> np.ndarray:
    """The same for each part of the support vectors: (parts, rows of X, lines of coefficients)."""
    columns = np.ascontiguousarray(coefficients.T, dtype=np.float64)
    out = np.zeros((len(parts), X.shape[0], columns.shape[1]))
    if columns.shape[0] == 0:
        return out

    def add(a: int, b: int, K: Any) -> None:
        for k, part in enumerate(parts):
            out[k, a:b] += K[:, part] @ columns[part]

    if isinstance(kernel, Precomputed):
        share_rows(X.shape[0], lambda a, b: add(a, b, np.asarray(X[a:b][:, vectors], np.float64)))
        return out
    if isinstance(kernel, Function):
        share_rows(X.shape[0], lambda a, b: add(a, b, kernel.values(X[a:b], vectors)))
        return out
    if isinstance(kernel, Linear):
        for k, part in enumerate(parts):
            w = np.asarray(vectors[part].T @ columns[part])
            share_rows(X.shape[0], lambda a, b, k=k, w=w: _add(out[k, a:b], X[a:b], w))
        return out
    if is_binary(vectors) and is_binary(X):
        BitTiles.from_binary_rows(kernel, vectors, np.float64).add_predictions(out, X, columns, parts)
    elif not sparse.issparse(X) and not sparse.issparse(vectors):
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        V = np.asarray(vectors)
        tiles = ByteTiles.from_whole_steps(kernel, V, dtype)
        laid_out = None if tiles is None else ByteTiles.from_whole_steps(kernel, X, dtype, tiles.step)
        if tiles is not None and laid_out is not None:
            tiles.add_predictions(out, laid_out.rows, columns, parts)
            return out
        centre = V.mean(axis=0, dtype=np.float64) if kernel.of_distances else None
        if centre is not None:
            norm2 = max(_largest_norm2(X, centre), _largest_norm2(V, centre))
            if dtype == np.float32 and not kernel.relative_error(V.shape[1], 2.0**29 * norm2) <= 0.01:
                dtype = np.float64
            if _loses_digits(kernel, V.shape[1], norm2):
                share_rows(X.shape[0], lambda a, b: add(a, b, kernel.from_distances(squared_distances(X[a:b], V))))
                return out
        RowTiles.from_rows(kernel, V, dtype, centre).add_predictions(out, X, columns, parts)
    else:
        for k, part in enumerate(parts):
            _add_sparse(kernel, X, vectors[part], columns[part], out[k])
    return out


def _loses_digits(kernel: Any, d: int, norm2: float) -> bool:
    """Whether a Gaussian's values from |x|^2 + |z|^2 - 2<x, z> may be off by more than 1e-9 of themselves."""
    return not kernel.relative_error(d, norm2) <= 1e-9


def _largest_norm2(X: np.ndarray, centre: np.ndarray) -> float:
    """The largest |x - centre|^2."""
    moved = X - centre
    return float(np.einsum("ij,ij->i", moved, moved).max(initial=0.0))


def _add_sparse(kernel: Any, X: Any, vectors: Any, columns: np.ndarray, out: np.ndarray) -> None:
    V = sparse.csr_matrix(vectors).astype(np.float64, copy=False)
    right = np.asarray(V.multiply(V).sum(axis=1)).ravel()
    step = 1024  # support vectors: with 512 rows a tile of 4 MB
    most_bytes = 200 << 20  # of support vectors written out
    fits = 8 * V.shape[0] * V.shape[1] <= most_bytes
    if kernel.of_distances and fits and _loses_digits(kernel, V.shape[1], float(right.max(initial=0.0))):
        Z = V.toarray()

        def fill_by_differences(a: int, b: int) -> None:
            x = X[a:b].toarray() if sparse.issparse(X) else X[a:b]
            _add(out[a:b], kernel.from_distances(squared_distances(x, Z)), columns)

        share_rows(X.shape[0], fill_by_differences)
        return

    def fill(a: int, b: int) -> None:
        left = X[a:b].toarray() if sparse.issparse(X) else X[a:b]
        left = np.asarray(left, dtype=np.float64)
        norms = np.einsum("ij,ij->i", left, left)
        for start in range(0, V.shape[0], step):
            part = slice(start, start + step)
            inner = np.ascontiguousarray((V[part] @ left.T).T)
            _add(out[a:b], kernel.from_products(inner, norms, right[part]), columns[part])

    share_rows(X.shape[0], fill)


def _add(out: np.ndarray, K: Any, columns: np.ndarray) -> None:
    out += K @ columns


def share_rows(n: int, fill: Any) -> None:
    """Call fill(start, stop) for parts of 512 rows, on the team's threads."""
    rows = 512
    run_in_parts(lambda k: fill(k * rows, min(n, (k + 1) * rows)), -(-n // rows))
