"""Second moments of rows and targets, and residuals, in tiles of float64: what least squares needs of the data.

Dense columns are shifted by a typical value before they are multiplied, so that a large mean costs no digits; float32
data are read tile by tile and summed in float64.  The rows are cut by shape and partial sums are added in order: any
number of threads gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gapless._compile.jit import compiled
from gapless._runtime.threads import map_threads, run_in_parts
from gapless.rows import in_numpy
from gapless.rows.csr import CsrRows
from gapless.rows.dense import DenseRows
from gapless.rows.in_numpy import by_numpy
from gapless.rows.outer import TILE_ROWS, add_outer, mirror_triangle, tile_width
from gapless.rows.products import BLOCK_ROWS, Tick, add_in_order, combine, scores
from gapless.rows.shape import Rows, is_sparse, n_features, n_rows
from gapless.rows.thresholds import ROW_THRESHOLDS
from gapless.rows.verbs import row_dot, row_norm2
from gapless.rows.weighted_gram import gram


class Columns(NamedTuple):
    """Weighted mean, length and length about the mean of each column."""

    mean: np.ndarray
    raw: np.ndarray
    centred: np.ndarray


def centre_of(rows: Rows) -> np.ndarray:
    """A typical value of each column: exact for a constant one, and not moved by outliers. Sparse rows: 0."""
    return np.zeros(n_features(rows)) if is_sparse(rows) else typical_row(rows.values)


def typical_row(X: np.ndarray) -> np.ndarray:
    """A typical value of each column, found in some of the rows; 0 where there are none."""
    n, d = X.shape
    if n == 0:
        return np.zeros(d)
    count = min(n, 65)  # of the rows; odd, so that the median is one of their values
    count -= 1 - count % 2
    index = np.linspace(0, n - 1, count).astype(np.intp)
    some = X[index].astype(np.float64)
    some.sort(axis=0)
    return some[count // 2]


def moments(
    rows: Rows,
    weights: np.ndarray | None,
    Y: np.ndarray,
    centre: np.ndarray,
    centre_y: np.ndarray,
    n_jobs: int | None = None,
    tick: Tick | None = None,
) -> np.ndarray:
    """sum_i weights_i t_i t_i' of the rows t = (x - centre, y - centre_y, 1)."""
    d, K = n_features(rows), Y.shape[1]
    width = d + K + 1
    if is_sparse(rows):
        return _sparse_moments(rows, weights, Y, centre, centre_y, tick)

    if width <= ROW_THRESHOLDS.narrow_columns and not by_numpy(rows):
        ends, s = _ends(n_rows(rows), width), np.empty(0) if weights is None else weights
        parts = np.zeros((len(ends) - 1, tile_width(width), tile_width(width)))
        run_in_parts(
            lambda k: _moments(rows, s, Y, centre, centre_y, ends[k], ends[k + 1], parts[k]), len(ends) - 1, tick
        )
        return mirror_triangle(add_in_order(parts), width)

    def piece(ends: tuple[int, int]) -> np.ndarray:
        out = np.zeros((width, width))
        step = max(256, ROW_THRESHOLDS.tile_bytes // (8 * width))
        tile = np.ones((min(step, ends[1] - ends[0]), width))
        scaled = np.empty_like(tile) if weights is not None else tile
        for i in range(*ends, step):
            j = min(ends[1], i + step)
            t = tile[: j - i]
            np.subtract(rows.values[i:j], centre, out=t[:, :d])
            np.subtract(Y[i:j], centre_y, out=t[:, d:-1])
            if weights is None:
                out += t.T @ t
            else:
                out += t.T @ np.multiply(t, weights[i:j, None], out=scaled[: j - i])
            if tick:
                tick()
        return out

    total = _summed(piece, rows, width, n_jobs)
    return 0.5 * (total + total.T)


def _sparse_moments(
    rows: CsrRows,
    weights: np.ndarray | None,
    Y: np.ndarray,
    centre: np.ndarray,
    centre_y: np.ndarray,
    tick: Tick | None,
) -> np.ndarray:
    d, K, n = rows.n_features, Y.shape[1], n_rows(rows)
    s = np.ones(n) if weights is None else weights
    whole = rows._replace(constant=1.0)
    order = np.r_[0:d, d + K]  # X and the constant feature
    out = np.zeros((d + K + 1, d + K + 1))
    out[np.ix_(order, order)] = gram(whole, s, np.arange(n), tick)
    for k in range(K):
        y = Y[:, k] - centre_y[k]
        u = s * y
        out[d + k, order] = out[order, d + k] = combine(whole, u, tick)
        out[d : d + K, d + k] = (Y - centre_y).T @ u
    if centre.any():
        shift = np.zeros(d + K + 1)
        shift[:d] = centre
        ones = out[-1].copy()
        out -= np.outer(shift, ones) + np.outer(ones, shift) - ones[-1] * np.outer(shift, shift)
    return out


def residuals(
    rows: Rows,
    weights: np.ndarray | None,
    Y: np.ndarray,
    W: np.ndarray,
    b: np.ndarray,
    centre: np.ndarray,
    n_jobs: int | None = None,
    tick: Tick | None = None,
    *,
    centred: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """R = Y - X W - b (n, K), and sum_i weights_i (x_i - centre, 1) r_i' (d + 1, K).

    ``centred``: R = Y - (X - centre) W - b, which rounds less where the columns are far from 0.
    """
    d, n = n_features(rows), n_rows(rows)
    out = np.empty(Y.shape)
    if is_sparse(rows):
        whole = rows._replace(constant=1.0)
        gradient = np.empty((d + 1, Y.shape[1]))
        for k in range(Y.shape[1]):
            offset = b[k] - centre @ W[:, k] if centred else b[k]
            out[:, k] = Y[:, k] - scores(whole, np.append(W[:, k], offset), tick)
            gradient[:, k] = combine(whole, out[:, k] if weights is None else weights * out[:, k], tick)
        gradient[:-1] -= np.outer(centre, gradient[-1])
        return out, gradient

    def piece(ends: tuple[int, int]) -> np.ndarray:
        total = np.zeros((d + 1, Y.shape[1]))
        step = max(64, ROW_THRESHOLDS.tile_bytes // (8 * max(d, 1)))
        tile = np.empty((min(step, ends[1] - ends[0]), d))
        for i in range(*ends, step):
            j = min(ends[1], i + step)
            t = tile[: j - i]
            t[...] = rows.values[i:j]
            if centred:
                t -= centre
            r = np.subtract(Y[i:j], t @ W, out=out[i:j])
            r -= b
            if weights is not None:
                r = r * weights[i:j, None]
            if not centred:
                t -= centre
            total[:-1] += t.T @ r
            total[-1] += r.sum(axis=0)
            if tick:
                tick()
        return total

    if n == 0:
        return out, np.zeros((d + 1, Y.shape[1]))
    return out, _summed(piece, rows, d + 1, n_jobs)


class Sizes(NamedTuple):
    """Sums over the rows of the weight times r^2, |r|, |x| |r|, |x| and |x|^2, x with its constant feature; the largest |x|^2."""

    rss: float
    residuals: float
    products: float
    lengths: float
    squares: float
    top: float


def sized_residuals(
    rows: DenseRows,
    weights: np.ndarray | None,
    y: np.ndarray,
    theta: np.ndarray,
    centre: np.ndarray,
    tick: Tick | None = None,
) -> tuple[np.ndarray, np.ndarray, Sizes]:
    """`residuals` of one target, and what bounds their rounding: the data is read once."""
    if by_numpy(rows):
        r, total, found = in_numpy.size_residuals(rows, weights, y, theta, centre)
        return r, total, Sizes(*found)
    ends = _ends(n_rows(rows), centre.size + 1)
    sums, sizes = np.zeros((len(ends) - 1, centre.size + 1)), np.zeros((len(ends) - 1, 6))
    s = np.empty(0) if weights is None else weights
    r = np.empty(y.size)
    run_in_parts(
        lambda k: _residuals(rows, s, y, theta, centre, r, ends[k], ends[k + 1], sums[k], sizes[k]), len(ends) - 1, tick
    )
    rss, lengths_of_r, products, lengths, squares = sizes[:, :5].sum(axis=0).tolist()
    top = float(sizes[:, 5].max())
    return r, add_in_order(sums), Sizes(rss, lengths_of_r, products, lengths, squares, top)


@compiled(vectorise=True)
def _residuals(rows, weights, y, theta, centre, out, first, last, total, sizes):
    d = centre.size
    block, norms, heavy = np.empty(d + 1), np.empty(BLOCK_ROWS), np.empty(BLOCK_ROWS)
    for k in range(BLOCK_ROWS):
        heavy[k] = 1.0
    for start in range(first, last, BLOCK_ROWS):
        stop = min(last, start + BLOCK_ROWS)
        if weights.size > 0:
            for k in range(stop - start):
                heavy[k] = weights[start + k]
        for j in range(block.size):
            block[j] = 0.0
        for i in range(start, stop):
            r = y[i] - row_dot(rows, i, theta)
            out[i] = r
            norms[i - start] = row_norm2(rows, i)
            r *= heavy[i - start]
            x = rows.values[i]
            for j in range(d):
                block[j] += r * (x[j] - centre[j])
            block[d] += r
        for j in range(d + 1):
            total[j] += block[j]
        rss = size = product = length = square = top = 0.0
        here = out[start:stop]
        for k in range(here.size):
            norm = np.sqrt(norms[k])
            a = heavy[k] * abs(here[k])
            rss += a * abs(here[k])
            size += a
            product += a * norm
            length += heavy[k] * norm
            square += heavy[k] * norms[k]
            top = max(top, norms[k])
        sizes[0] += rss
        sizes[1] += size
        sizes[2] += product
        sizes[3] += length
        sizes[4] += square
        sizes[5] = max(sizes[5], top)


def triangle(
    rows: Rows,
    weights: np.ndarray | None,
    Y: np.ndarray,
    centre: np.ndarray | None,
    centre_y: np.ndarray,
    scale: np.ndarray,
    tick: Tick | None = None,
) -> np.ndarray:
    """R of the QR of (X - centre) / scale and Y - centre_y, rows times the root of their weight: tile by tile, so that
    memory does not grow with the rows.  Each tile is put below the triangle so far and reduced again (Householder).
    """
    d, K = n_features(rows), Y.shape[1]
    width = d + K
    step = max(2 * width, ROW_THRESHOLDS.tile_bytes // (8 * width))
    R = np.zeros((0, width))
    for i, t in dense_tiles(rows, step):
        part = slice(i, i + t.shape[0])
        if centre is not None:
            t -= centre
        t /= scale
        t = np.hstack([t, Y[part] - centre_y])
        if weights is not None:
            t *= np.sqrt(weights[part, None])
        R = np.asarray(np.linalg.qr(np.vstack([R, t]), mode="r"))
        if tick:
            tick()
    return R


def dense_tiles(rows: Rows, step: int) -> Iterator[tuple[int, np.ndarray]]:
    """(first row, float64 copy of some rows), one after the other."""
    n, d = n_rows(rows), n_features(rows)
    for i in range(0, n, step):
        j = min(n, i + step)
        if is_sparse(rows):
            t = np.zeros((j - i, d))
            first, last = int(rows.indptr[i]), int(rows.indptr[j])
            owner = np.repeat(np.arange(j - i), np.diff(rows.indptr[i : j + 1]))
            t[owner, rows.indices[first:last]] = rows.values[first:last]
        else:
            t = rows.values[i:j].astype(np.float64)
        yield i, t


def columns(rows: Rows, weights: np.ndarray | None, tick: Tick | None = None) -> Columns:
    """Means and lengths of the columns, without their products."""
    n, d = n_rows(rows), n_features(rows)
    mass = float(n) if weights is None else float(weights.sum())
    if is_sparse(rows):
        s = np.ones(n) if weights is None else weights
        each = np.repeat(s, np.diff(rows.indptr))
        values = rows.values.astype(np.float64)
        raw2 = np.bincount(rows.indices, each * values * values, minlength=d)
        # the weight of the zeros that are not stored: none, and no rounding, where every row has an entry
        full = np.bincount(rows.indices, minlength=d) == n
        absent = np.where(full, 0.0, np.maximum(mass - np.bincount(rows.indices, each, minlength=d), 0.0))
        mean = np.bincount(rows.indices, each * values, minlength=d) / mass
        moved = values - mean[rows.indices]
        mean += (np.bincount(rows.indices, each * moved, minlength=d) - absent * mean) / mass  # of its rounding
        away = np.bincount(rows.indices, each * (values - mean[rows.indices]) ** 2, minlength=d)
        return Columns(mean, np.sqrt(raw2), np.sqrt(away + absent * mean * mean))
    centre = centre_of(rows)
    sums, squares = np.zeros(d), np.zeros(d)
    for i, t in dense_tiles(rows, max(64, ROW_THRESHOLDS.tile_bytes // (8 * max(d, 1)))):
        t -= centre
        s = np.ones(t.shape[0]) if weights is None else weights[i : i + t.shape[0]]
        sums += s @ t
        squares += s @ (t * t)
        if tick:
            tick()
    return columns_of(centre, sums, squares, mass)


def columns_of(centre: np.ndarray, sums: np.ndarray, squares: np.ndarray, mass: float) -> Columns:
    """From the sums and squares of x - centre."""
    moved = sums / mass
    mean = centre + moved
    centred2 = np.maximum(squares - mass * moved * moved, 0.0)
    raw2 = np.maximum(squares + 2.0 * centre * sums + mass * centre * centre, 0.0)
    return Columns(mean, np.sqrt(raw2), np.sqrt(centred2))


def _ends(n: int, width: int) -> list[int]:
    """Where to cut the rows among threads, and between two looks at the clock."""
    values_per_thread = 2_000_000
    count = max(
        1, min(32, n * width // values_per_thread, n // (16 * width)), n * width // ROW_THRESHOLDS.values_per_tick
    )
    return [n * k // count for k in range(count + 1)]


def _summed(piece: Callable[[tuple[int, int]], np.ndarray], rows: Rows, width: int, n_jobs: int | None) -> np.ndarray:
    ends = _ends(n_rows(rows), width)
    return add_in_order(np.array(map_threads(piece, pairwise(ends), n_jobs)))


@compiled
def _moments(rows, weights, Y, centre, centre_y, first, last, out):
    d, K, width = centre.size, Y.shape[1], out.shape[1]
    tile = np.zeros((TILE_ROWS, width))
    for start in range(first, last, TILE_ROWS):
        count = min(TILE_ROWS, last - start)
        for k in range(count):
            i = start + k
            t, x, y = tile[k], rows.values[i], Y[i]
            for j in range(d):
                t[j] = x[j] - centre[j]
            for j in range(K):
                t[d + j] = y[j] - centre_y[j]
            t[d + K] = 1.0
            if weights.size > 0:
                root = np.sqrt(weights[i])
                for j in range(d + K + 1):
                    t[j] *= root
        add_outer(tile, d + K + 1, count, out)
