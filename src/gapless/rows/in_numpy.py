"""The products of dense rows by BLAS: for small data, where no kernel is compiled (`_runtime/backend`).

Sums over rows go by blocks of `BLOCK_ROWS` rows, as those of the kernels do: the same bounds on rounding hold for them. BLAS
runs on one thread in a fit, so that the bits are the same for any number of threads.
"""

from __future__ import annotations

from typing import TypeGuard

import numpy as np

from gapless._runtime.backend import numpy_in_use
from gapless.rows.dense import DenseRows
from gapless.rows.shape import RowsOrCopy, is_dense

#: Rows that are summed before they join the total; the bounds on rounding hold for it.
BLOCK_ROWS = 512


def by_numpy(rows: RowsOrCopy) -> TypeGuard[DenseRows]:
    """Whether numpy computes the products of these rows here."""
    return numpy_in_use() and is_dense(rows)


def fill_scores(rows: DenseRows, theta: np.ndarray, out: np.ndarray) -> None:
    """X theta into ``out``."""
    np.matmul(rows.values, theta[:-1], out=out)
    if rows.constant:
        out += rows.constant * theta[-1]


def combine(rows: DenseRows, u: np.ndarray) -> np.ndarray:
    """X'u"""
    n, d = rows.values.shape
    out = np.empty(d + 1)
    np.matmul(u[:BLOCK_ROWS], rows.values[:BLOCK_ROWS], out=out[:-1])
    for start in range(BLOCK_ROWS, n, BLOCK_ROWS):
        out[:-1] += u[start : start + BLOCK_ROWS] @ rows.values[start : start + BLOCK_ROWS]
    out[-1] = rows.constant * np.add.reduce(u)
    return out


def curve(rows: DenseRows, weights: np.ndarray, p: np.ndarray) -> np.ndarray:
    """X' diag(weights) X p"""
    scores = np.empty(rows.n_rows)
    fill_scores(rows, p, scores)
    return combine(rows, weights * scores)


def sum_squares(rows: DenseRows, weights: np.ndarray) -> np.ndarray:
    """The sum of weights_i x_ij^2"""
    values = rows.values.astype(np.float64, copy=False)
    return combine(DenseRows(values * values, rows.constant**2), weights)


def norms2(rows: DenseRows) -> np.ndarray:
    """|x_i|^2, the constant feature included."""
    values = rows.values.astype(np.float64, copy=False)
    return np.einsum("ij,ij->i", values, values) + rows.constant * rows.constant


def weigh_rows(rows: DenseRows, weights: np.ndarray | None, index: np.ndarray | range) -> np.ndarray:
    """The rows at ``index`` times the root of their weight, the constant feature in the last column."""
    every = isinstance(index, range) and len(index) == rows.n_rows
    chosen = rows.values if every else rows.values[np.asarray(index)]
    out = np.empty((len(index), rows.n_features + 1))
    if weights is None:
        out[:, :-1], out[:, -1] = chosen, rows.constant
        return out
    roots = np.sqrt(weights if every else weights[np.asarray(index)])
    np.multiply(chosen, roots[:, None], out=out[:, :-1])
    np.multiply(roots, rows.constant, out=out[:, -1])
    return out


def gram(rows: DenseRows, weights: np.ndarray, index: np.ndarray | range) -> np.ndarray:
    """sum over i in index of weights_i x_i x_i'"""
    block = weigh_rows(rows, weights, index)
    return block.T @ block


def row_products(rows: DenseRows, index: np.ndarray) -> np.ndarray:
    """X_M X_M' for the rows in index."""
    block = weigh_rows(rows, None, index)
    return block @ block.T


def size_residuals(
    rows: DenseRows, weights: np.ndarray | None, y: np.ndarray, theta: np.ndarray, centre: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """y - X theta, the sum of weights_i (x_i - centre, 1) r_i, and the fields of `second_moments.Sizes`."""
    (n, d), r = rows.values.shape, np.empty(y.size)
    fill_scores(rows, theta, r)
    np.subtract(y, r, out=r)
    heavy = np.ones_like(r) if weights is None else weights
    total, squares, pulls = np.zeros(d + 1), np.empty(n), heavy * r
    slab = max(1, (1 << 16) // (BLOCK_ROWS * max(d, 1))) * BLOCK_ROWS  # rows that stay in the cache
    moved = np.empty((min(n, slab), d))
    for start in range(0, n, slab):
        x, pull = rows.values[start : start + slab], pulls[start : start + slab]
        t = np.subtract(x, centre, out=moved[: len(x)])
        for at in range(0, len(x), BLOCK_ROWS):
            total[:-1] += pull[at : at + BLOCK_ROWS] @ t[at : at + BLOCK_ROWS]
        x = x.astype(np.float64, copy=False)
        np.einsum("ij,ij->i", x, x, out=squares[start : start + slab])
    total[-1] = np.add.reduce(pulls)
    squares += rows.constant * rows.constant
    lengths, sizes = np.sqrt(squares), heavy * np.abs(r)
    sums = [sizes * np.abs(r), sizes, sizes * lengths, heavy * lengths, heavy * squares]
    return r, total, [*(float(each.sum()) for each in sums), float(squares.max(initial=0.0))]
