"""Weighted Gram matrices of the columns, and of the rows, in tiles that stay in the cache."""

from __future__ import annotations

from collections.abc import Iterable
from threading import get_ident
from typing import Literal, NamedTuple

import numpy as np

from gapless._compile.jit import compiled
from gapless._runtime.threads import run_in_parts
from gapless.rows import in_numpy
from gapless.rows.in_numpy import by_numpy
from gapless.rows.outer import TILE_ROWS, add_outer, mirror_triangle, tile_width
from gapless.rows.products import Tick, add_in_order, fill_scores
from gapless.rows.shape import Rows, is_dense, is_sparse, n_features, n_rows, n_stored, take_rows
from gapless.rows.thresholds import ROW_THRESHOLDS
from gapless.rows.verbs import row_fill


class _GramPlan(NamedTuple):
    """How a Gram matrix of m rows is summed: by which way, how many rows at a time, and in how many sums of their own."""

    way: Literal["scattered", "narrow", "tiles"]
    step: int
    groups: int


def _plan_gram(rows: Rows, m: int) -> _GramPlan:
    d = n_features(rows) + 1
    per_row = n_stored(rows) / max(n_rows(rows), 1) + 1.0
    cost, pay = m * float(d * d) / 8, 1
    if is_sparse(rows) and 8.0 * per_row**2 < d * d:
        way, step, cost = "scattered", max(1, int(ROW_THRESHOLDS.values_per_tick / 8 / per_row**2)), m * per_row**2
    elif is_dense(rows) and d <= ROW_THRESHOLDS.narrow_columns:
        way, step = "narrow", max(TILE_ROWS, min(ROW_THRESHOLDS.values_per_tick // (d * d), -(-m // 8)))
    else:
        # Tiles tall enough that adding a product to its sum is nothing beside the product; a sum for every group of tiles.
        # Two sums pay early; more of them, which are fresh memory each, where a tile is full.
        way, step, pay = "tiles", max(64, ROW_THRESHOLDS.tile_bytes // (8 * d), 2 * d), min(2, -(-4 * m // (3 * d)))
    pay = max(-(-m // step), pay)
    groups = max(
        1, min(8, int(cost / ROW_THRESHOLDS.values_per_thread), pay, int(ROW_THRESHOLDS.sums_bytes / (8.0 * d * d)))
    )
    return _GramPlan(way, step, groups)  # type: ignore[arg-type]


def gram(
    rows: Rows, weights: np.ndarray, index: np.ndarray | range, tick: Tick | None = None, single: bool = False
) -> np.ndarray:
    """sum over i in index of weights_i x_i x_i', the constant feature included: one (d + 1) x (d + 1) matrix.

    ``single``: products may be of single precision, tile by tile, which takes half the time.
    """
    if by_numpy(rows):
        return in_numpy.gram(rows, weights, index)
    d, m = n_features(rows) + 1, len(index)
    way, step, groups = _plan_gram(rows, m)
    tiles = way == "tiles"
    across = tile_width(d) if way == "narrow" else d
    sums = np.empty((groups, d, d)) if tiles and m > 0 else np.zeros((groups, across, across))
    caller = get_ident()

    def look() -> None:
        if tick is not None and get_ident() == caller:  # its exception must rise where the fit is
            tick()

    def add(k: int) -> None:
        first, last = m * k // groups, m * (k + 1) // groups
        pieces = (_row_numbers(index[start : min(last, start + step)]) for start in range(first, last, step))
        if tiles:
            tile = np.empty((min(step, last - first), d), np.float32 if single else np.float64)
            _add_tiles(rows, weights, pieces, tile, sums[k], look)
            return
        add_rows = _sparse_gram if way == "scattered" else _narrow_gram
        for piece in pieces:
            add_rows(rows, weights, piece, sums[k])
            look()

    run_in_parts(add, groups)
    total = add_in_order(sums)
    return total if tiles else mirror_triangle(total, d)


def _add_tiles(
    rows: Rows, weights: np.ndarray, pieces: Iterable[np.ndarray], tile: np.ndarray, out: np.ndarray, look: Tick
) -> None:
    """The Gram matrix of the pieces into ``out``, which needs not be cleared."""
    for k, piece in enumerate(pieces):
        block = tile[: piece.size]
        _fill(rows, weights, piece, block)
        if k > 0:
            out += block.T @ block
        elif tile.dtype == np.float64:
            np.matmul(block.T, block, out=out)
        else:
            out[...] = block.T @ block
        look()


def _row_numbers(index: np.ndarray | range) -> np.ndarray:
    return np.arange(index.start, index.stop) if isinstance(index, range) else index


def row_products(rows: Rows, index: np.ndarray, tick: Tick | None = None) -> np.ndarray:
    """X_M X_M' for the rows in index, the constant feature included."""
    if by_numpy(rows):
        return in_numpy.row_products(rows, index)
    m, side = index.size, 256
    if is_sparse(rows):
        return _sparse_row_products(rows, index, tick)
    block, ones = np.empty((m, n_features(rows) + 1)), np.ones(n_rows(rows))
    starts = range(0, m, side)
    run_in_parts(
        lambda k: _fill(rows, ones, index[starts[k] : starts[k] + side], block[starts[k] : starts[k] + side]),
        len(starts),
    )
    out = np.empty((m, m))
    tiles = [(top, left) for top in starts for left in range(0, top + 1, side)]

    def fill(k: int) -> None:
        down, across = (slice(start, start + side) for start in tiles[k])
        np.matmul(block[down], block[across].T, out=out[down, across])
        if tiles[k][0] > tiles[k][1]:
            out[across, down] = out[down, across].T

    run_in_parts(fill, len(tiles), tick)
    return out


def _sparse_row_products(rows: Rows, index: np.ndarray, tick: Tick | None) -> np.ndarray:
    m, d = index.size, n_features(rows) + 1
    out = np.empty((m, m))
    step = max(1, ROW_THRESHOLDS.tile_bytes // (8 * d))
    dense = np.empty((step, d))
    ones = np.ones(n_rows(rows))
    part = take_rows(rows, index)
    for start in range(0, m, step):
        piece = index[start : start + step]
        block = dense[: piece.size]
        _fill(rows, ones, piece, block)
        for k in range(piece.size):
            fill_scores(part, block[k], out[start + k], 0, m)
        if tick:
            tick()
    return 0.5 * (out + out.T)


def gram_cost(rows: Rows, m: int) -> float:
    """What `gram` of m rows costs, in ns of one core: by shape, so that choices made from it are the same everywhere."""
    d = n_features(rows) + 1.0
    if is_dense(rows):
        return 0.04 * m * d * d
    per_row = n_stored(rows) / max(n_rows(rows), 1) + 1.0
    return m * min(0.04 * d * d, 0.5 * per_row * per_row)


@compiled(vectorise=True)
def _fill(rows, weights, index, out):
    for k in range(index.size):
        row_fill(rows, index[k], np.sqrt(weights[index[k]]), out[k])


@compiled
def _narrow_gram(rows, weights, index, out):
    columns = rows.values.shape[1] + 1
    tile = np.zeros((TILE_ROWS, out.shape[1]))
    for start in range(0, index.size, TILE_ROWS):
        count = min(TILE_ROWS, index.size - start)
        for k in range(count):
            i = index[start + k]
            row_fill(rows, i, np.sqrt(weights[i]), tile[k])
        add_outer(tile, columns, count, out)


@compiled
def _sparse_gram(rows, weights, index, out):
    # Lower triangle only: indices are sorted within a row, the constant feature comes last.
    values, indices = rows.values, rows.indices
    last = out[out.shape[0] - 1]
    for i in index:
        start, stop = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])
        for k in range(start, stop):
            j = np.uint64(indices[k])
            line = out[j]
            a = weights[i] * values[k]
            for m in range(start, k + np.uint64(1)):
                line[np.uint64(indices[m])] += a * values[m]
            last[j] += a * rows.constant
        last[last.size - 1] += weights[i] * rows.constant * rows.constant
