"""Blocks of the Gram matrix, in float64, within a budget of memory.

    block(rows, columns)         K[rows, columns]
    product(rows, v, at)         sum_j v_j K[at, rows_j]
    product_among(rows, v)       the same at the rows themselves

Nothing of size n x n is made unless it is given or fits the budget. Work is cut by shape, so that the bits do not depend
on the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gapless._runtime.threads import run_in_parts
from gapless.gram.bits import BitTiles, is_binary
from gapless.gram.bytes import ByteTiles
from gapless.gram.float32_error import ErrorRates
from gapless.gram.tiles import COLUMNS, RowTiles
from gapless.kernels.callable import Function
from gapless.kernels.linear import Linear
from gapless.kernels.precomputed import Precomputed
from gapless.kernels.rbf import squared_distances
from gapless.kernels.sigmoid import Sigmoid
from gapless.rows.products import Tick


class Gram:
    """The Gram matrix of n rows, never whole; ``values(left, right)`` of a subclass gives its pieces."""

    n: int
    kernel: Any
    #: No computed value of K is further than this from the exact one.
    error: float = 0.0
    #: The same error as a share of the terms that ``sizes`` sums, where such a bound is known.
    relative_error: float | None = None
    #: Tiles in single precision that exist already.
    single: Any = None
    #: Multiplications of the product in a kernel value; 0 where the values are given.
    row_values: int = 0
    #: Rows and columns of a tile: 4 MB of float64.
    tile_rows, tile_columns = 256, 2048

    def __init__(self, kernel: Any, n: int, cache_bytes: int) -> None:
        self.kernel, self.n, self.cache_bytes = kernel, n, cache_bytes

    @property
    def diagonal(self) -> np.ndarray:
        raise NotImplementedError

    def values(self, rows: np.ndarray | slice, columns: np.ndarray | slice) -> np.ndarray:
        """K[rows, columns] in one piece."""
        raise NotImplementedError

    def block(self, rows: np.ndarray, columns: np.ndarray | None = None, tick: Tick | None = None) -> np.ndarray:
        """K[rows, columns], all columns by default."""
        rows = np.asarray(rows)
        width = self.n if columns is None else len(columns)
        out = np.empty((rows.size, width))
        starts = [(r, a) for r in range(0, rows.size, self.tile_rows) for a in range(0, width, self.tile_columns)]

        def fill(k: int) -> None:
            r, a = starts[k]
            s, b = min(rows.size, r + self.tile_rows), min(width, a + self.tile_columns)
            out[r:s, a:b] = self.values(rows[r:s], slice(a, b) if columns is None else columns[a:b])

        run_in_parts(fill, len(starts), tick)
        return out

    def product(
        self, rows: np.ndarray, coefficients: np.ndarray, at: np.ndarray | None = None, tick: Tick | None = None
    ) -> np.ndarray:
        """sum_j coefficients_j K[i, rows_j] for i in ``at`` (all by default); a matrix of coefficients gives a column each."""
        rows, coefficients = np.asarray(rows), np.asarray(coefficients, dtype=np.float64)
        height = self.n if at is None else len(at)
        out = np.zeros((height, *coefficients.shape[1:]))
        starts = range(0, height, self.tile_columns)

        def fill(k: int) -> None:
            a, b = starts[k], min(height, starts[k] + self.tile_columns)
            place = slice(a, b) if at is None else at[a:b]
            for r in range(0, rows.size, self.tile_rows):
                part = self.values(rows[r : r + self.tile_rows], place)
                out[a:b] += part.T @ coefficients[r : r + self.tile_rows]

        run_in_parts(fill, len(starts), tick)
        return out

    def sizes(self, rows: np.ndarray, weights: np.ndarray, at: np.ndarray) -> np.ndarray:
        """sum_j weights_j |K[i, rows_j]| for i in ``at``, or a bound on it; weights >= 0."""
        return self.product(rows, weights, at)

    def product_among(self, rows: np.ndarray, coefficients: np.ndarray, tick: Tick | None = None) -> np.ndarray:
        """product(rows, coefficients, rows)"""
        return self.product(rows, coefficients, rows, tick)

    def tiles(self, order: np.ndarray, dtype: Any) -> Any:
        """A solver's tiles: the matrix of the points in this order, in this precision where that is faster."""
        return GramTiles(self, order)


class GramTiles:
    """Tiles that a Gram matrix itself gives, in float64: precomputed, callable, and sparse rows too wide to be laid out."""

    dtype = np.dtype(np.float64)
    rates = ErrorRates()

    def __init__(self, gram: Gram, order: np.ndarray) -> None:
        self.gram, self.order = gram, order

    @property
    def n(self) -> int:
        return self.order.size

    def first(self, n: int) -> GramTiles:
        return GramTiles(self.gram, self.order[:n])

    def add(
        self,
        out: np.ndarray,
        columns: np.ndarray,
        v: np.ndarray,
        at: np.ndarray | None = None,
        tick: Tick | None = None,
    ) -> None:
        """out += K[at, columns] v"""
        out += self.gram.product(self.order[columns], v, self.order if at is None else self.order[at], tick)

    def square(self, index: np.ndarray, tick: Tick | None = None) -> np.ndarray:
        """K[index, index], with columns up to a whole number of tiles."""
        out = np.zeros((index.size, -(-index.size // COLUMNS) * COLUMNS))
        out[:, : index.size] = self.gram.block(self.order[index], self.order[index], tick)
        return out


class PointGram(Gram):
    """The Gram matrix of rows x, laid out for `tiles`; sparse rows too wide for that by a sparse product and the kernel's map."""

    def __init__(self, kernel: Any, X: Any, cache_bytes: int, centre: np.ndarray | None = None) -> None:
        super().__init__(kernel, X.shape[0], cache_bytes)
        self.row_values = X.shape[1]
        self.laid_out: RowTiles | None = None
        if is_binary(X):
            self.X = X
            self.laid_out = BitTiles.from_binary_rows(kernel, X, np.float64)
            self.norms2 = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
        elif (laid_out := ByteTiles.from_whole_steps(kernel, X, np.float64)) is not None:
            self.X, self.laid_out = X, laid_out
            self.norms2 = laid_out.step**2 * laid_out.squares
        elif not sparse.issparse(X) or 8 * X.shape[0] * X.shape[1] <= max(cache_bytes, 24 * X.nnz):
            if centre is None and kernel.of_distances:
                centre = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
            self.laid_out = RowTiles.from_rows(kernel, X, np.float64, centre)
            self.X = self.laid_out.rows[:, : X.shape[1]]
            self.norms2 = np.einsum("ij,ij->i", self.X, self.X)
        else:
            self.X = X.tocsr().astype(np.float64, copy=False)
            self.norms2 = np.asarray(self.X.multiply(self.X).sum(axis=1)).ravel()
        sizes = self.X.shape[1], float(self.norms2.max(initial=0.0))
        self.error = kernel.error(*sizes)
        self.relative_error = None if isinstance(kernel, Sigmoid) else kernel.relative_error(*sizes)

    def sizes(self, rows: np.ndarray, weights: np.ndarray, at: np.ndarray) -> np.ndarray:
        if self.kernel.of_distances:
            return super().sizes(rows, weights, at)
        lengths = np.sqrt(self.norms2)
        return np.asarray(self.kernel.bound_sums(lengths[at], lengths[rows], weights))

    @property
    def diagonal(self) -> np.ndarray:
        return self.kernel.diagonal(self.norms2)

    def values(self, rows: np.ndarray | slice, columns: np.ndarray | slice) -> np.ndarray:
        left, right = self.X[rows], self.X[columns]
        if sparse.issparse(left):
            inner = np.ascontiguousarray((right @ np.ascontiguousarray(left.toarray().T)).T)
        else:
            inner = left @ right.T
        return self.kernel.from_products(np.asarray(inner, dtype=np.float64), self.norms2[rows], self.norms2[columns])

    def product(
        self, rows: np.ndarray, coefficients: np.ndarray, at: np.ndarray | None = None, tick: Tick | None = None
    ) -> np.ndarray:
        if self.laid_out is None or np.ndim(coefficients) > 1:
            return super().product(rows, coefficients, at, tick)
        out = np.zeros(self.n if at is None else len(at))
        self.laid_out.add(out, np.asarray(rows), np.asarray(coefficients, dtype=np.float64), at, tick)
        return out

    def product_among(self, rows: np.ndarray, coefficients: np.ndarray, tick: Tick | None = None) -> np.ndarray:
        if self.laid_out is None:
            return super().product_among(rows, coefficients, tick)
        out = np.zeros(rows.size)
        self.laid_out.add_among(out, rows, coefficients, tick)
        return out

    def tiles(self, order: np.ndarray, dtype: Any) -> Any:
        return super().tiles(order, dtype) if self.laid_out is None else self.laid_out.reorder(order, dtype)


class LinearGram(PointGram):
    """<x, z>: a product with all rows goes through w = sum v x."""

    def product(
        self, rows: np.ndarray, coefficients: np.ndarray, at: np.ndarray | None = None, tick: Tick | None = None
    ) -> np.ndarray:
        w = self.X[rows].T @ np.asarray(coefficients, dtype=np.float64)
        return np.asarray((self.X if at is None else self.X[at]) @ w)


class MatrixGram(Gram):
    """A Gram matrix that is given whole."""

    def __init__(self, kernel: Any, K: np.ndarray, cache_bytes: int) -> None:
        super().__init__(kernel, K.shape[0], cache_bytes)
        self.K = K
        # The rounding of the symmetric part and of its shift.
        self.error, self.relative_error = 2.0**-52 * float(np.abs(K).max(initial=0.0)), 2.0**-51

    def sizes(self, rows: np.ndarray, weights: np.ndarray, at: np.ndarray) -> np.ndarray:
        shift = np.zeros(self.n)
        shift[rows] = abs(self.kernel.shift) * weights
        return np.abs(np.asarray(self.K[at][:, rows], dtype=np.float64)) @ weights + shift[at]

    @property
    def diagonal(self) -> np.ndarray:
        return np.diagonal(self.K) + self.kernel.shift

    def values(self, rows: np.ndarray | slice, columns: np.ndarray | slice) -> np.ndarray:
        found = np.asarray(self.K[rows][:, columns], dtype=np.float64)
        if self.kernel.shift:
            found = found + self.kernel.shift * (_index(rows)[:, None] == _index(columns)[None, :])
        return found


class DifferenceGram(MatrixGram):
    """A Gaussian's Gram matrix from differences of rows: |x|^2 + |z|^2 - 2<x, z> has no correct digit where rows are far from 0
    and near each other."""

    def __init__(self, kernel: Any, X: Any, cache_bytes: int) -> None:
        X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
        super().__init__(Precomputed(), kernel.from_distances(squared_distances(X, X)), cache_bytes)
        # Beyond e^-745 a value is 0; below that its exponent is off by (d + 4) units.
        self.relative_error = 2.0**-49 + 745.0 * (X.shape[1] + 4) * 2.0**-53
        self.error = self.relative_error


def _index(rows: np.ndarray | slice) -> np.ndarray:
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else np.asarray(rows)


class FunctionGram(Gram):
    """The Gram matrix of a user's function, block by block, where the whole does not fit the budget."""

    def __init__(self, kernel: Function, X: Any, cache_bytes: int) -> None:
        super().__init__(kernel, X.shape[0], cache_bytes)
        self.X = X

    @property
    def diagonal(self) -> np.ndarray:
        parts = []
        for start in range(0, self.n, 64):
            some = np.arange(start, min(self.n, start + 64))
            parts.append(np.diagonal(self.values(some, some)))
        return np.concatenate(parts)

    def values(self, rows: np.ndarray | slice, columns: np.ndarray | slice) -> np.ndarray:
        return self.kernel.values(self.X[rows], self.X[columns])


def build_gram(kernel: Any, X: Any, cache_bytes: int = 200 << 20, centre: np.ndarray | None = None) -> Gram:
    """The Gram matrix of the rows of X (dense or CSR); X is the matrix itself where the kernel is precomputed.

    ``centre``: what is taken from the rows before distances are computed; their mean where it is None.
    """
    if isinstance(kernel, Precomputed):
        return MatrixGram(kernel, X.toarray() if sparse.issparse(X) else np.asarray(X), cache_bytes)
    if isinstance(kernel, Function):
        if 8 * X.shape[0] ** 2 <= cache_bytes:
            whole = kernel.values(X, X)
            return MatrixGram(kernel, 0.5 * (whole + whole.T), cache_bytes)
        return FunctionGram(kernel, X, cache_bytes)
    found = (LinearGram if isinstance(kernel, Linear) else PointGram)(kernel, X, cache_bytes, centre)
    # A Gaussian's values that may be off by more than this share are made from differences of rows, which cost n^2 d.
    loose_error, most_differences = 1e-9, 4e9
    n, d = X.shape
    loose = kernel.of_distances and kernel.relative_error(d, float(found.norms2.max(initial=0.0))) > loose_error
    loose = loose and bool(np.isfinite(found.norms2).all())  # else no distance is finite
    fits = 8 * n * n <= cache_bytes and n * n * d <= most_differences
    return DifferenceGram(kernel, X, cache_bytes) if loose and fits else found


class SubGram(Gram):
    """The Gram matrix of some of the rows; the pairs of classes share the memory of the whole."""

    def __init__(self, whole: Gram, index: np.ndarray) -> None:
        super().__init__(whole.kernel, index.size, whole.cache_bytes)
        self.whole, self.index, self.error = whole, index, whole.error
        self.relative_error, self.row_values = whole.relative_error, whole.row_values

    @property
    def diagonal(self) -> np.ndarray:
        return self.whole.diagonal[self.index]

    def values(self, rows: np.ndarray | slice, columns: np.ndarray | slice) -> np.ndarray:
        return self.whole.values(self.index[rows], self.index[columns])

    def product(
        self, rows: np.ndarray, coefficients: np.ndarray, at: np.ndarray | None = None, tick: Tick | None = None
    ) -> np.ndarray:
        place = self.index if at is None else self.index[at]
        return self.whole.product(self.index[np.asarray(rows)], coefficients, place, tick)

    def product_among(self, rows: np.ndarray, coefficients: np.ndarray, tick: Tick | None = None) -> np.ndarray:
        return self.whole.product_among(self.index[rows], coefficients, tick)

    def sizes(self, rows: np.ndarray, weights: np.ndarray, at: np.ndarray) -> np.ndarray:
        return self.whole.sizes(self.index[rows], weights, self.index[at])

    def tiles(self, order: np.ndarray, dtype: Any) -> Any:
        return self.whole.tiles(self.index[order], dtype)

    def block(self, rows: np.ndarray, columns: np.ndarray | None = None, tick: Tick | None = None) -> np.ndarray:
        return self.whole.block(self.index[rows], self.index if columns is None else self.index[columns], tick)
