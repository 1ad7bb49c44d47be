"""Tiles of a Gram matrix that are made, used and forgotten in the cache: a product by BLAS, the kernel's map, a sum.

    add(out, columns, v, at)     out[at] += K[at, columns] v
    square(index)                K[index, index]

A tile is never in memory as a whole matrix: the working sets of a solver, and all scores, cost kernel values and nothing
else. Rows of 0 and 1 count bits instead (`bits`), and what has no such form takes its pieces from the Gram matrix itself.
Work is cut by shape, so that the bits do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from scipy import sparse
from scipy.linalg import cython_blas  # noqa: F401  (what np.dot calls in a kernel: loaded before its threads are held)

from gapless._jit import compiled
from gapless._threads import share
from gapless.kernels._single import exp_single
from gapless.kernels.linear import Linear
from gapless.kernels.polynomial import Polynomial
from gapless.kernels.rbf import RBF
from gapless.kernels.sigmoid import Sigmoid
from gapless.losses._scalar import exp_below

#: Rows and columns of a tile: with the rows that make it, it stays in the second-level cache.
ROWS, COLUMNS = 128, 256
#: Columns beyond which a row is long.
LONG = 200
#: Rows that a thread takes at a time.
CHUNK = 1024

Tick = Callable[[], None]
#: How the map of a kernel is named in compiled code.
MAPS = {Linear: 0, RBF: 1, Polynomial: 2, Sigmoid: 3}


class Tiles:
    """Rows whose products, mapped, are kernel values.  A Gaussian's rows have two more columns, so that their product with
    (2 gamma z, 1, -gamma |z|^2) is the exponent."""

    def __init__(self, kernel: Any, rows: np.ndarray, centre: np.ndarray | None = None) -> None:
        self.kernel, self.rows, self.centre = kernel, rows, centre

    @classmethod
    def of(cls, kernel: Any, X: Any, dtype: Any, centre: np.ndarray | None = None) -> Tiles:
        """Rows of X, less a centre: distances stay, and |x|^2 + |z|^2 - 2<x, z> loses the fewest digits."""
        n, d = X.shape
        tiles = cls(kernel, np.empty((n, d + (2 if isinstance(kernel, RBF) else 0)), dtype), centre)
        share(lambda k: tiles.lay_out(X, k, tiles.rows[k * CHUNK : (k + 1) * CHUNK]), -(-n // CHUNK))
        return tiles

    def lay_out(self, X: Any, k: int, rows: np.ndarray) -> None:
        """The k-th chunk of rows of X, as rows of tiles."""
        part = X[k * CHUNK : (k + 1) * CHUNK]
        part = part.toarray() if sparse.issparse(part) else part
        if isinstance(self.kernel, RBF):
            part = np.ascontiguousarray(part, None if part.dtype == np.float32 else np.float64)
            _lay_out(part, np.zeros(part.shape[1]) if self.centre is None else self.centre, self.kernel.gamma, rows)
        else:
            rows[:] = part

    @property
    def n(self) -> int:
        return self.rows.shape[0]

    @property
    def dtype(self) -> Any:
        return self.rows.dtype

    def taken(self, order: np.ndarray, dtype: Any) -> Tiles:
        """The Gram matrix of rows in this order, in this precision."""
        rows = np.empty((order.size, self.rows.shape[1]), dtype)

        def fill(k: int) -> None:
            rows[k * CHUNK : (k + 1) * CHUNK] = self.rows[order[k * CHUNK : (k + 1) * CHUNK]]

        share(fill, -(-order.size // CHUNK))
        return Tiles(self.kernel, rows)

    def first(self, n: int) -> Tiles:
        """The Gram matrix of the first n rows."""
        return Tiles(self.kernel, self.rows[:n])

    def add(
        self,
        out: np.ndarray,
        columns: np.ndarray,
        v: np.ndarray,
        at: np.ndarray | None = None,
        tick: Tick | None = None,
    ) -> None:
        """out += K[at, columns] v; ``out`` is float64, and as long as ``at``."""
        right, w = self._right(columns), padded(v, self.dtype)
        n = self.n if at is None else at.size

        def fill(k: int) -> None:
            part = slice(k * CHUNK, min(n, (k + 1) * CHUNK))
            self._add(self.rows[part if at is None else at[part]], right, w, out[part])

        share(fill, -(-n // CHUNK), tick)

    def add_to(self, out: np.ndarray, X: Any, columns: np.ndarray) -> None:
        """out += K(X, rows) columns, for other rows X and a matrix of columns."""
        right = self._right(np.arange(self.n))
        weights = np.zeros((right.shape[0] * COLUMNS, columns.shape[1]), self.dtype)
        weights[: self.n] = columns

        def fill(k: int) -> None:
            into = out[k * CHUNK : (k + 1) * CHUNK]
            left = np.empty((into.shape[0], self.rows.shape[1]), self.rows.dtype)
            self.lay_out(X, k, left)
            if columns.shape[1] == 1:
                self._add(left, right, weights.ravel(), into.reshape(-1))
            else:
                tile = np.empty((ROWS, right.shape[0] * COLUMNS), self.dtype)
                for a in range(0, left.shape[0], ROWS):
                    part = left[a : a + ROWS]
                    self._fill(part, right, tile[: part.shape[0]])
                    into[a : a + ROWS] += tile[: part.shape[0]] @ weights

        share(fill, -(-X.shape[0] // CHUNK))

    def _add(self, left: np.ndarray, right: np.ndarray, w: np.ndarray, out: np.ndarray) -> None:
        _add(left, right, w, *self.map, out)

    def _fill(self, left: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
        _fill(left, right, *self.map, out)

    def square(self, index: np.ndarray, tick: Tick | None = None) -> np.ndarray:
        """K[index, index], with columns up to a whole number of tiles."""
        out = np.empty((index.size, -(-index.size // COLUMNS) * COLUMNS), self.dtype)
        self.fill_rows(index, index, out, tick)
        return out

    def fill_rows(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray, tick: Tick | None = None) -> None:
        """out = K[rows, columns], with columns up to a whole number of tiles."""
        right, left = self._right(columns), self.rows[rows]

        def fill(k: int) -> None:
            part = slice(k * ROWS, min(rows.size, (k + 1) * ROWS))
            self._fill(left[part], right, out[part])

        share(fill, -(-rows.size // ROWS), tick)

    def between(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """K[rows, columns], on this thread."""
        right = self._right(columns)
        out = np.empty((rows.size, right.shape[0] * COLUMNS), self.dtype)
        self._fill(self.rows[rows], right, out)
        return out[:, : columns.size]

    def fill_columns(self, columns: np.ndarray, out: np.ndarray, tick: Tick | None = None) -> None:
        """out = K[:, columns] transposed."""
        right = self._right(columns)

        def fill(k: int) -> None:
            part = slice(k * CHUNK, min(self.n, (k + 1) * CHUNK))
            _fill_columns(self.rows[part], right, *self.map, out[:, part])

        share(fill, -(-self.n // CHUNK), tick)

    @property
    def map(self) -> tuple[int, int, float]:
        kind = MAPS[type(self.kernel)]
        degree = self.kernel.degree if kind == 2 else 0
        return kind, degree, float(getattr(self.kernel, "coef0", 0.0))

    def _right(self, index: np.ndarray) -> np.ndarray:
        """The rows that stand on the right of a product, as columns of tiles."""
        return right_of(self.kernel, self.rows[index])


def right_of(kernel: Any, rows: np.ndarray) -> np.ndarray:
    """Rows of the left as what stands on the right of them, in blocks of columns."""
    m, k = rows.shape
    blocks = -(-m // COLUMNS)
    full = np.zeros((blocks * COLUMNS, k), rows.dtype)
    if isinstance(kernel, RBF):
        full[:m, : k - 2] = rows[:, : k - 2]
        full[:m, : k - 2] *= full.dtype.type(2.0 * kernel.gamma)
        full[:m, k - 2], full[:m, k - 1] = 1.0, rows[:, k - 2]
    else:
        full[:m] = rows
        full[:m] *= full.dtype.type(getattr(kernel, "gamma", 1.0))
    return np.ascontiguousarray(full.reshape(blocks, COLUMNS, k).transpose(0, 2, 1))


def padded(v: np.ndarray, dtype: Any) -> np.ndarray:
    full = np.zeros(-(-v.size // COLUMNS) * COLUMNS, dtype)
    full[: v.size] = v
    return full


def _exp(t: float) -> float:
    """e^t in the precision of t."""
    return float(np.exp(t))


@overload(_exp, inline="always")
def _exp_of(t):
    if t == types.float32:
        return lambda t: exp_single(t)
    return lambda t: exp_below(t)


@compiled(vectorise=True)
def _lay_out(X, centre, width, rows):
    d = centre.size
    for i in range(X.shape[0]):
        x, row = X[i], rows[i]
        norm2 = 0.0
        for j in range(d):
            off = x[j] - centre[j]
            norm2 += off * off
        for j in range(d):
            row[j] = x[j] - centre[j]
        row[d] = -width * norm2
        row[d + 1] = 1.0


@compiled(vectorise=True)
def _map(tile, kind, degree, shift):
    """The kernel's map of a tile of products, in place."""
    for i in range(tile.shape[0]):
        row = tile[i]
        if kind == 1:
            for j in range(row.size):
                row[j] = _exp(row[j])
        elif kind == 2:
            for j in range(row.size):
                base = row[j] + row.dtype.type(shift)
                p = row.dtype.type(1.0)
                for _ in range(degree):
                    p *= base
                row[j] = p
        elif kind == 3:
            for j in range(row.size):
                row[j] = np.tanh(row[j] + row.dtype.type(shift))


@compiled(vectorise=True)
def _add(left, right, v, kind, degree, shift, out):
    # BLAS packs the columns for every tile: where they are long, higher tiles share that work.
    height = ROWS if left.shape[1] <= LONG else 4 * ROWS
    tile = np.empty((height, COLUMNS), left.dtype)
    for start in range(0, left.shape[0], height):
        stop = min(left.shape[0], start + height)
        part = tile[: stop - start]
        for block in range(right.shape[0]):
            np.dot(left[start:stop], right[block], part)
            w = v[block * COLUMNS : (block + 1) * COLUMNS]
            if kind > 1:
                _map(part, kind, degree, shift)
            for i in range(stop - start):
                row = part[i]
                s = left.dtype.type(0.0)
                if kind == 1:
                    for j in range(COLUMNS):
                        s += _exp(row[j]) * w[j]
                else:
                    for j in range(COLUMNS):
                        s += row[j] * w[j]
                out[start + i] += s


@compiled(vectorise=True)
def _fill(left, right, kind, degree, shift, out):
    tile = np.empty((left.shape[0], COLUMNS), left.dtype)
    for block in range(right.shape[0]):
        np.dot(left, right[block], tile)
        _map(tile, kind, degree, shift)
        for i in range(left.shape[0]):
            into, row = out[i, block * COLUMNS : (block + 1) * COLUMNS], tile[i]
            for j in range(COLUMNS):
                into[j] = row[j]


@compiled(vectorise=True)
def _fill_columns(left, right, kind, degree, shift, out):
    height = ROWS if left.shape[1] <= LONG else 4 * ROWS
    tile = np.empty((height, COLUMNS), left.dtype)
    for start in range(0, left.shape[0], height):
        stop = min(left.shape[0], start + height)
        part = tile[: stop - start]
        for block in range(right.shape[0]):
            np.dot(left[start:stop], right[block], part)
            _map(part, kind, degree, shift)
            for j in range(block * COLUMNS, min(out.shape[0], (block + 1) * COLUMNS)):
                for i in range(stop - start):
                    out[j, start + i] = part[i, j - block * COLUMNS]
