"""The Gram matrix of a small problem as a whole: made once, each value for itself and its mirror image, then read again."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from gapless._compile.jit import compiled
from gapless._runtime.threads import run_in_parts
from gapless.gram.blocks import Gram
from gapless.gram.cached_rows import add_rows, group_ends
from gapless.gram.tiles import CHUNK, COLUMNS, ROWS, RowTiles, no_bound
from gapless.rows.products import Tick


class DenseGram(Gram):
    """A Gram matrix that is held whole, in float64."""

    def __init__(self, gram: Gram, laid_out: RowTiles) -> None:
        super().__init__(gram.kernel, gram.n, gram.cache_bytes)
        self.error, self.relative_error, self._diagonal = gram.error, gram.relative_error, gram.diagonal
        self.row_values, self.laid_out = gram.row_values, laid_out

    @cached_property
    def K(self) -> np.ndarray:
        """The matrix, its columns padded to a whole number of tiles; symmetric to the last bit."""
        return self.laid_out.square(np.arange(self.n), symmetric=True)

    @property
    def diagonal(self) -> np.ndarray:
        return self._diagonal

    def values(self, rows: np.ndarray | slice, columns: np.ndarray | slice) -> np.ndarray:
        return self.K[:, : self.n][rows][:, columns]

    def product(
        self, rows: np.ndarray, coefficients: np.ndarray, at: np.ndarray | None = None, tick: Tick | None = None
    ) -> np.ndarray:
        if np.ndim(coefficients) > 1:
            return super().product(rows, coefficients, at, tick)
        out = np.zeros(self.n if at is None else len(at))
        _add(self.K, np.asarray(rows), np.asarray(coefficients, float), at, out, tick)
        return out

    def tiles(self, order: np.ndarray, dtype: Any) -> DenseTiles:
        if dtype == self.K.dtype and (order == np.arange(self.n)).all():
            return DenseTiles(self.K, self.n)
        K = np.empty((order.size, -(-order.size // COLUMNS) * COLUMNS), dtype)
        gather_square(self.K, order, K)
        return DenseTiles(K, order.size)


class PartOfDense(DenseGram):
    """The rows and columns ``index`` of a matrix that is held whole: values are copied, none is made."""

    def __init__(self, whole: DenseGram, index: np.ndarray) -> None:
        Gram.__init__(self, whole.kernel, index.size, whole.cache_bytes)
        self.error, self.relative_error, self._diagonal = whole.error, whole.relative_error, whole.diagonal[index]
        self.row_values, self.whole, self.index = whole.row_values, whole, index

    @cached_property
    def K(self) -> np.ndarray:
        """The matrix, its columns padded to a whole number of tiles."""
        K = np.empty((self.n, -(-self.n // COLUMNS) * COLUMNS))
        gather_square(self.whole.K, self.index, K)
        return K


class DenseTiles:
    """Tiles of a matrix that is in memory."""

    def __init__(self, K: np.ndarray, n: int) -> None:
        self.K, self.n = K, n

    @property
    def dtype(self) -> Any:
        return self.K.dtype

    def first(self, n: int) -> DenseTiles:
        return DenseTiles(self.K, n)

    def add(
        self,
        out: np.ndarray,
        columns: np.ndarray,
        v: np.ndarray,
        at: np.ndarray | None = None,
        tick: Tick | None = None,
    ) -> None:
        """out += K[at, columns] v, in double precision: v may be large, and its sums small."""
        _add(self.K, columns, np.asarray(v, float), at, out, tick)

    def square(self, index: np.ndarray, tick: Tick | None = None) -> np.ndarray:
        """K[index, index], with columns up to a whole number of tiles."""
        if index.size == self.K.shape[0]:
            return self.K
        out = np.empty((index.size, -(-index.size // COLUMNS) * COLUMNS), self.dtype)
        gather_square(self.K, index, out, tick)
        return out


def gather_square(K: np.ndarray, index: np.ndarray, out: np.ndarray, tick: Tick | None = None) -> None:
    """out = K[index, index], its last columns padded with zeros."""
    starts = range(0, index.size, ROWS)
    run_in_parts(lambda k: _gather(K, index, out, starts[k], min(index.size, starts[k] + ROWS)), len(starts), tick)


def _add(
    K: np.ndarray, columns: np.ndarray, v: np.ndarray, at: np.ndarray | None, out: np.ndarray, tick: Tick | None
) -> None:
    every = np.arange(0) if at is None else np.asarray(at)
    ends, (rates, off) = group_ends(columns.size), no_bound(v.dtype)

    def fill(k: int) -> None:
        add_rows(K, columns, v, ends, rates, every, out, off, k * CHUNK, min(out.size, (k + 1) * CHUNK))

    run_in_parts(fill, -(-out.size // CHUNK), tick)


@compiled
def _gather(K, index, out, start, stop):
    """out[i, j] = K[index_i, index_j] for i from start to stop; columns beyond the index are 0."""
    for i in range(start, stop):
        row, into = K[index[i]], out[i]
        for j in range(index.size):
            into[j] = row[index[j]]
        for j in range(index.size, into.size):
            into[j] = 0.0
