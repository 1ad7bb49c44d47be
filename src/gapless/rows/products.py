"""The products that drivers ask of rows: X theta, X'u, norms."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from gapless._compile.jit import compiled
from gapless._runtime.threads import run_in_parts
from gapless.rows import in_numpy
from gapless.rows.copies.binary import BinaryRows
from gapless.rows.copies.words import PackedRows
from gapless.rows.in_numpy import BLOCK_ROWS, by_numpy
from gapless.rows.shape import (
    Rows,
    RowsOrCopy,
    from_copy_coordinates,
    is_dense,
    is_sparse,
    n_features,
    n_rows,
    n_stored,
    to_copy_coordinates,
)
from gapless.rows.thresholds import ROW_THRESHOLDS
from gapless.rows.verbs import row_axpy, row_dot, row_norm2, row_squares

Tick = Callable[[], None]


def scores(rows: RowsOrCopy, theta: np.ndarray, tick: Tick | None = None, out: np.ndarray | None = None) -> np.ndarray:
    """X theta"""
    n = n_rows(rows)
    out = np.empty(n) if out is None else out
    if by_numpy(rows):
        in_numpy.fill_scores(rows, theta, out)
        return out
    ends = _cuts(rows, n)
    dots = _scores_packed if isinstance(rows, PackedRows) else fill_scores
    theta = to_copy_coordinates(rows, theta)
    run_in_parts(lambda k: dots(rows, theta, out, ends[k], ends[k + 1]), len(ends) - 1, tick)
    return out


def combine(rows: RowsOrCopy, u: np.ndarray, tick: Tick | None = None) -> np.ndarray:
    """X'u. Rows with u = 0 are not read."""
    if by_numpy(rows):
        return in_numpy.combine(rows, u)
    return from_copy_coordinates(rows, _sum(rows, u, None, None, tick))


def curved(rows: RowsOrCopy, weights: np.ndarray, p: np.ndarray, tick: Tick | None = None) -> np.ndarray:
    """X' diag(weights) X p, the data read once. Rows of weight 0 are not read."""
    if by_numpy(rows):
        return in_numpy.curve(rows, weights, p)
    return from_copy_coordinates(rows, _sum(rows, weights, to_copy_coordinates(rows, p), None, tick))


def scores_many(rows: Rows, thetas: np.ndarray, tick: Tick | None = None, matrix: Any = None) -> np.ndarray:
    """X thetas' for several vectors (K, d + 1): one column each; ``matrix`` is `as_matrix` of the rows, where it is kept."""
    n, d = n_rows(rows), n_features(rows)
    out = np.empty((n, thetas.shape[0]))
    if is_sparse(rows):
        out[:] = (as_matrix(rows) if matrix is None else matrix) @ thetas[:, :d].T
    else:
        right = np.ascontiguousarray(thetas[:, :d].T)
        for start in range(0, n, _tile_rows(d)):
            part = slice(start, min(n, start + _tile_rows(d)))
            np.matmul(rows.values[part].astype(np.float64, copy=False), right, out=out[part])
            if tick:
                tick()
    out += rows.constant * thetas[:, d]
    return out


def combine_many(rows: Rows, U: np.ndarray, tick: Tick | None = None) -> np.ndarray:
    """U'X for several weightings (n, K) of the rows: one line (d + 1) each. By blocks of rows, as `combine`."""
    n, d = n_rows(rows), n_features(rows)
    out = np.zeros((U.shape[1], d + 1))
    if is_sparse(rows):
        for k in range(U.shape[1]):
            out[k] = combine(rows, np.ascontiguousarray(U[:, k]), tick)
        return out
    for start in range(0, n, BLOCK_ROWS):
        part = slice(start, min(n, start + BLOCK_ROWS))
        out[:, :d] += U[part].T @ rows.values[part].astype(np.float64, copy=False)
        if tick:
            tick()
    out[:, d] = rows.constant * U.sum(axis=0)
    return out


def mix_many(rows: Rows, U: np.ndarray, tick: Tick | None = None, matrix: Any = None) -> np.ndarray:
    """`combine_many` where no bound is made of the order of the sums, so that sparse rows are read once for all lines."""
    if not is_sparse(rows):
        return combine_many(rows, U, tick)
    out = np.empty((U.shape[1], n_features(rows) + 1))
    out[:, :-1] = ((as_matrix(rows) if matrix is None else matrix).T @ U).T
    out[:, -1] = rows.constant * U.sum(axis=0)
    if tick:
        tick()
    return out


def _tile_rows(d: int) -> int:
    return max(64, ROW_THRESHOLDS.tile_bytes // (8 * max(1, d)))


def as_matrix(rows: Rows) -> Any:
    """The rows as scipy has them, on the same memory: making it takes longer than a product of few values."""
    if not is_sparse(rows):
        return rows.values
    from scipy.sparse import csr_array

    return csr_array((rows.values, rows.indices, rows.indptr), shape=(n_rows(rows), rows.n_features))


def norms2(rows: Rows) -> np.ndarray:
    """|x_i|^2 of every row, the constant feature included."""
    if by_numpy(rows):
        return in_numpy.norms2(rows)
    n = n_rows(rows)
    out = np.empty(n)
    ends = _cuts(rows, n)
    run_in_parts(lambda k: _norms2(rows, out, ends[k], ends[k + 1]), len(ends) - 1)
    return out


def squares(rows: Rows, weights: np.ndarray, tick: Tick | None = None) -> np.ndarray:
    """The diagonal of `gram` over all rows: sum of weights_i x_ij^2."""
    if by_numpy(rows):
        return in_numpy.sum_squares(rows, weights)
    return _sum(rows, weights, None, np.int64(1), tick)


def _sum(rows: RowsOrCopy, weights: np.ndarray, p: Any, squared: Any, tick: Tick | None) -> np.ndarray:
    """What `_add_rows` sums, over all rows, in the coordinates in which they are read."""
    ends, sums, block = _sums(rows)
    run_in_parts(
        lambda k: _add_rows(rows, weights, p, squared, sums[k], ends[k], ends[k + 1], block), len(ends) - 1, tick
    )
    return add_in_order(sums)


def _cuts(rows: RowsOrCopy, n: int, most: int = 64) -> tuple[int, ...]:
    """Where to cut n rows into parts of some `values_per_thread` values, by shape alone."""
    return _cut(n, n_stored(rows), ROW_THRESHOLDS.values_per_thread // (1 if is_dense(rows) else 2), most)


@lru_cache(maxsize=256)
def _cut(n: int, stored: int, worth: int, most: int) -> tuple[int, ...]:
    parts = max(1, min(most, n, int(stored / worth)), -(-stored // ROW_THRESHOLDS.values_per_tick))
    return tuple(n * k // parts for k in range(parts + 1))


def _sums(rows: RowsOrCopy) -> tuple[tuple[int, ...], np.ndarray, int]:
    """Parts of the rows, a sum of d + 1 entries for each, and how many rows are added up before they join a sum.

    Clearing and adding a sum must cost little beside the rows in it, so wide sparse data has longer blocks, and fewer.
    """
    n, d, stored = n_rows(rows), n_features(rows) + 1, n_stored(rows)
    ends = _cuts(rows, n, _most_sums(d, stored))
    return ends, np.zeros((len(ends) - 1, d)), block_rows(rows)


@lru_cache(maxsize=256)
def _most_sums(d: int, stored: int) -> int:
    return max(1, min(16, int(stored / (3.0 * d)), int(ROW_THRESHOLDS.sums_bytes / (8.0 * d))))


def cut_for_two_reads(rows: RowsOrCopy) -> tuple[tuple[int, ...], np.ndarray, int]:
    """`_sums` for a pass that reads every block twice: a dense one then has to stay in the second-level cache."""
    ends, sums, block = _sums(rows)
    if is_dense(rows):
        block = max(16, min(block, ROW_THRESHOLDS.tile_bytes // (16 * max(1, n_features(rows)))))
    return ends, sums, block


def sums_like_combine(rows: RowsOrCopy) -> bool:
    """Whether a pass that reads blocks twice adds up as `combine` does, so that `sum_length` holds for its sums, too."""
    return not is_dense(rows) or 16 * BLOCK_ROWS * n_features(rows) <= ROW_THRESHOLDS.tile_bytes


def sum_in_block_order(rows: RowsOrCopy, sums: np.ndarray) -> np.ndarray:
    """The sums of the parts added up, in the order of the parts and in the user's coordinates."""
    return from_copy_coordinates(rows, add_in_order(sums))


def block_rows(rows: RowsOrCopy) -> int:
    """Rows that are summed before they join the total: the rounding error of a sum grows with this and with n / this."""
    # A packed copy adds up as its rows do: `sum_length` of these holds for it.
    if not is_sparse(rows) and not isinstance(rows, BinaryRows):
        return BLOCK_ROWS
    return max(BLOCK_ROWS, int(2.0 * rows.n_features * n_rows(rows) / max(1, n_stored(rows))))


def sum_length(rows: Rows) -> float:
    """The most terms that `combine` adds one after the other."""
    block = block_rows(rows)
    return block + n_rows(rows) / block + max(16, -(-n_stored(rows) // ROW_THRESHOLDS.values_per_tick)) + 4.0


def add_in_order(sums: np.ndarray) -> np.ndarray:
    """The sum of the parts, in their order."""
    total = sums[0]
    for part in sums[1:]:
        total += part
    return total


@compiled(vectorise=True)
def fill_scores(rows, theta, out, start, stop):
    for i in range(start, stop):
        out[i] = row_dot(rows, i, theta)


@compiled
def _scores_packed(rows, theta, out, start, stop):
    """`fill_scores` without vectors: gathering them would take four times as long."""
    for i in range(start, stop):
        out[i] = row_dot(rows, i, theta)


@compiled(vectorise=True)
def _add_rows(rows, weights, p, squared, out, start, stop, rows_in_block):
    """out += sum of weights_i x_i; of weights_i <x_i, p> x_i where p is given, of weights_i x_i^2 where ``squared`` is."""
    # By blocks: the rounding error of an entry grows with the block and the number of blocks and not with n.
    block = np.empty(out.size)
    for first in range(start, stop, rows_in_block):
        for j in range(block.size):
            block[j] = 0.0
        for i in range(first, min(stop, first + rows_in_block)):
            if weights[i] != 0.0:
                if p is not None:
                    row_axpy(rows, i, weights[i] * row_dot(rows, i, p), block)
                elif squared is not None:
                    row_squares(rows, i, weights[i], block)
                else:
                    row_axpy(rows, i, weights[i], block)
        for j in range(out.size):
            out[j] += block[j]


@compiled(vectorise=True)
def _norms2(rows, out, start, stop):
    for i in range(start, stop):
        out[i] = row_norm2(rows, i)


def curved_cost(rows: Rows) -> float:
    """What `curved` costs, in ns of one core: by shape, so that choices made from it are the same everywhere."""
    return n_stored(rows) * (0.5 if is_dense(rows) else 1.3)
