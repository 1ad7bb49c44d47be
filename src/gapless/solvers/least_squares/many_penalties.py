"""Ridge regression for many penalties from one decomposition.

    minimise  sum_i s_i |y_i - W'x_i - b|^2 + alpha |W|^2

With the rows centred and multiplied by the roots of their weights, X'X = V diag(q) V' gives W = V diag(1 / (q + alpha)) V'X'y for
every alpha; where there are more columns than rows XX' = U diag(q) U' gives W = X'U diag(1 / (q + alpha)) U'y.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import linalg, sparse

from gapless.solvers.least_squares.thresholds import LEAST_SQUARES_THRESHOLDS


def decomposition_pays(X: Any, alphas: Sequence[Any]) -> bool:
    """Whether one decomposition costs less than a fit for each penalty."""
    few = min(X.shape) <= LEAST_SQUARES_THRESHOLDS.shared_decomposition
    return few and all(np.ndim(alpha) == 0 and alpha > 0 for alpha in alphas)


def ridge_chain(
    X: Any, Y: np.ndarray, s: np.ndarray | None, alphas: Sequence[float], offset: bool
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (W, b) for each alpha, in float64; Y is (n, K)."""
    n, d = X.shape
    weight = np.ones(n) if s is None else np.asarray(s, np.float64)
    Y = np.asarray(Y, np.float64)
    if offset:
        mean_x = np.asarray(X.T @ weight, np.float64).ravel() / weight.sum()
        mean_y = weight @ Y / weight.sum()
    else:
        mean_x, mean_y = np.zeros(d), np.zeros(Y.shape[1])
    root = np.sqrt(weight)[:, None]
    right = root * (Y - mean_y)
    if sparse.issparse(X) and d <= n:  # centred without filling in
        scaled = sparse.csr_matrix(X, dtype=np.float64).multiply(root).tocsr()
        square = (scaled.T @ scaled).toarray() - weight.sum() * np.outer(mean_x, mean_x)
        cross = np.asarray(scaled.T @ right) - np.outer(mean_x, (root * right).sum(axis=0))
    else:
        Z = root * ((X.toarray() if sparse.issparse(X) else np.asarray(X, np.float64)) - mean_x)
        square = Z.T @ Z if d <= n else Z @ Z.T
        cross = Z.T @ right if d <= n else right
    q, V = linalg.eigh(square, overwrite_a=True, check_finite=False)
    turned = V.T @ cross
    for alpha in alphas:
        W = V @ (turned / (np.maximum(q, 0.0) + float(alpha))[:, None])
        W = W if d <= n else Z.T @ W
        yield W, mean_y - mean_x @ W
