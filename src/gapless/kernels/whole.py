"""The Gram matrix as a whole, where many problems share it: pairs of classes read from it instead of making it again."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless._jit import compiled
from gapless._threads import share
from gapless.kernels.gram import Gram
from gapless.kernels.kept import add_rows
from gapless.kernels.tiles import CHUNK, COLUMNS, ROWS, Tick, Tiles


class Whole(Gram):
    def __init__(self, gram: Gram, laid_out: Tiles) -> None:
        super().__init__(gram.kernel, gram.n, gram.cache_bytes)
        self.error, self.relative_error, self._diagonal = gram.error, gram.relative_error, gram.diagonal
        self.K = np.empty((gram.n, gram.n))
        blocks = -(-gram.n // CHUNK)
        half = [(i, j) for i in range(blocks) for j in range(i + 1)]
        every = np.arange(gram.n)

        def fill(k: int) -> None:
            i, j = (slice(b * CHUNK, (b + 1) * CHUNK) for b in half[k])
            for start in range(0, every[i].size, ROWS):
                rows = every[i][start : start + ROWS]
                _both(laid_out.between(rows, every[j]), self.K, rows[0], every[j][0])

        share(fill, len(half))

    @property
    def diagonal(self) -> np.ndarray:
        return self._diagonal

    def values(self, rows: np.ndarray | slice, columns: np.ndarray | slice) -> np.ndarray:
        return self.K[rows][:, columns]

    def product(
        self, rows: np.ndarray, coefficients: np.ndarray, at: np.ndarray | None = None, tick: Tick | None = None
    ) -> np.ndarray:
        if np.ndim(coefficients) > 1:
            return super().product(rows, coefficients, at, tick)
        out = np.zeros(self.n if at is None else len(at))
        _add(self.K, np.asarray(rows), np.asarray(coefficients, float), at, out, tick)
        return out

    def tiles(self, order: np.ndarray, dtype: Any) -> Held:
        K = np.empty((order.size, -(-order.size // COLUMNS) * COLUMNS), dtype)
        share(lambda k: _gather(self.K, order, K, k * ROWS, min(order.size, (k + 1) * ROWS)), -(-order.size // ROWS))
        return Held(K, order.size)


class Held:
    """Tiles of a matrix that is there."""

    def __init__(self, K: np.ndarray, n: int) -> None:
        self.K, self.n = K, n

    @property
    def dtype(self) -> Any:
        return self.K.dtype

    def first(self, n: int) -> Held:
        return Held(self.K, n)

    def add(
        self,
        out: np.ndarray,
        columns: np.ndarray,
        v: np.ndarray,
        at: np.ndarray | None = None,
        tick: Tick | None = None,
    ) -> None:
        """out += K[at, columns] v"""
        _add(self.K, columns, v.astype(self.dtype), at, out, tick)

    def square(self, index: np.ndarray, tick: Tick | None = None) -> np.ndarray:
        """K[index, index], with columns up to a whole number of tiles."""
        if index.size == self.K.shape[0]:
            return self.K
        out = np.empty((index.size, -(-index.size // COLUMNS) * COLUMNS), self.dtype)
        share(
            lambda k: _gather(self.K, index, out, k * ROWS, min(index.size, (k + 1) * ROWS)),
            -(-index.size // ROWS),
            tick,
        )
        return out


def _add(
    K: np.ndarray, columns: np.ndarray, v: np.ndarray, at: np.ndarray | None, out: np.ndarray, tick: Tick | None
) -> None:
    every = np.arange(0) if at is None else np.asarray(at)
    share(
        lambda k: add_rows(K, columns, v, v[:0], every, out, out[:0], k * CHUNK, min(out.size, (k + 1) * CHUNK)),
        -(-out.size // CHUNK),
        tick,
    )


@compiled
def _both(found, K, row, column):
    """A block of K and the mirror image of what is below the diagonal, in squares that the cache holds."""
    side = 16
    for a in range(0, found.shape[0], side):
        for b in range(0, found.shape[1], side):
            for i in range(a, min(found.shape[0], a + side)):
                for j in range(b, min(found.shape[1], b + side)):
                    K[row + i, column + j] = found[i, j]
            for j in range(b, min(found.shape[1], b + side)):
                for i in range(a, min(found.shape[0], a + side)):
                    if row + i > column + j:
                        K[column + j, row + i] = found[i, j]


@compiled
def _gather(K, index, out, start, stop):
    """out[i, j] = K[index_i, index_j] for some i; columns beyond the index are 0."""
    for i in range(start, stop):
        row, into = K[index[i]], out[i]
        for j in range(index.size):
            into[j] = row[index[j]]
        for j in range(index.size, into.size):
            into[j] = 0.0
