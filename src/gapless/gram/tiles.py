"""Tiles of a Gram matrix that are made, used and forgotten in the cache: a product (`panels`), the kernel's map, a sum.

    add(out, columns, v, at)     out[at] += K[at, columns] v
    add_among(out, index, v)     out += K[index, index] v, each value made once
    square(index)                K[index, index]

No whole matrix of tiles is ever in memory: the working sets of a solver, and all scores, cost kernel values and nothing else.
Rows of 0 and 1 count bits instead (`bits`); a matrix without rows gives its own pieces (`blocks.GramTiles`).
Work is cut by shape, so that the bits do not depend on the number of threads.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from gapless._compile.jit import compiled
from gapless._runtime.threads import run_in_parts
from gapless.gram import panels as P
from gapless.gram.float32_error import TERMS, ErrorRates
from gapless.kernels.linear import Linear
from gapless.kernels.polynomial import Polynomial
from gapless.kernels.rbf import RBF
from gapless.kernels.sigmoid import Sigmoid
from gapless.rows.products import Tick

#: Rows and columns of a tile: with the rows that make it, it stays in the second-level cache.
ROWS, COLUMNS = 128, 256
#: Rows that a thread takes at a time: 1,024 rows of 10 columns take some 0.1 ms with a few hundred columns on the right.
CHUNK = 1024
#: Columns of a row beyond which a kernel value costs more than reading it again.
LONG_ROW_COLUMNS = 200


def no_bound(dtype: Any) -> tuple[np.ndarray | None, np.ndarray]:
    """The rates and the sums of a product whose error is not bounded.

    Products in double precision never have a bound: their rates are None, and no code for a bound is compiled.
    """
    return None if dtype == np.float64 else np.zeros(0), np.zeros((0, 2))


class RowTiles:
    """Rows whose products, mapped, are kernel values.  A Gaussian's rows have two more columns, so that their product with
    (2 gamma z, 1, -gamma |z|^2) is the exponent."""

    def __init__(self, kernel: Any, rows: np.ndarray, centre: np.ndarray | None = None) -> None:
        self.kernel, self.rows, self.centre = kernel, rows, centre

    @classmethod
    def from_rows(cls, kernel: Any, X: Any, dtype: Any, centre: np.ndarray | None = None) -> RowTiles:
        """Rows of X, less a centre: distances stay, and |x|^2 + |z|^2 - 2<x, z> loses the fewest digits."""
        n, d = X.shape
        tiles = cls(kernel, np.empty((n, d + (2 if kernel.of_distances else 0)), dtype), centre)
        tiles.lay_out_all(X)
        return tiles

    def lay_out_all(self, X: Any) -> None:
        """Lay out the left side of all products."""

        def fill(k: int) -> None:
            part = slice(k * CHUNK, (k + 1) * CHUNK)
            self.lay_out(X[part], self.rows[part])

        run_in_parts(fill, -(-X.shape[0] // CHUNK))

    def lay_out(self, X: Any, rows: np.ndarray) -> None:
        """Write rows of X as rows of tiles."""
        X = X.toarray() if sparse.issparse(X) else X
        if self.kernel.of_distances:
            X = np.ascontiguousarray(X, None if X.dtype == np.float32 else np.float64)
            # A kernel would be compiled once more for arrays that cannot be written to.
            X = X if X.flags.writeable else X.copy()
            _lay_out(X, np.zeros(X.shape[1]) if self.centre is None else self.centre, self.kernel.gamma, rows)
        else:
            rows[:] = X

    @property
    def n(self) -> int:
        return self.rows.shape[0]

    @property
    def dtype(self) -> Any:
        return self.rows.dtype

    @property
    def long(self) -> bool:
        """Whether a kernel value costs more than reading it again."""
        return self.rows.shape[1] > LONG_ROW_COLUMNS

    def reorder(self, order: np.ndarray, dtype: Any) -> RowTiles:
        """The Gram matrix of rows in this order, in this precision."""
        rows = np.empty((order.size, self.rows.shape[1]), dtype)

        def fill(k: int) -> None:
            rows[k * CHUNK : (k + 1) * CHUNK] = self.rows[order[k * CHUNK : (k + 1) * CHUNK]]

        run_in_parts(fill, -(-order.size // CHUNK))
        return RowTiles(self.kernel, rows)

    def first(self, n: int) -> RowTiles:
        """The Gram matrix of the first n rows."""
        return RowTiles(self.kernel, self.rows[:n])

    def add(
        self,
        out: np.ndarray,
        columns: np.ndarray,
        v: np.ndarray,
        at: np.ndarray | None = None,
        tick: Tick | None = None,
        off: np.ndarray | None = None,
    ) -> None:
        """out += K[at, columns] v; ``out`` is float64, and as long as ``at``.

        The two columns of ``off`` grow by the sums that bound the error of ``out`` (`float32_error`).
        """
        if columns.size == 0:
            if tick is not None:
                tick()
            return
        (rates, bound), mixed = no_bound(self.dtype), -1
        if off is not None:
            order, _, rates, mixed = self.rates.group(columns, v, apart=False)
            columns, v, bound = columns[order], v[order], off
        right = self.pack_right(columns)
        w = self.pad(v, right)
        n = self.n if at is None else at.size
        chunk = CHUNK if n > 8 * CHUNK else CHUNK // 4  # smaller for few rows, so that every thread has some

        def fill(k: int) -> None:
            part = slice(k * chunk, min(n, (k + 1) * chunk))
            self._add(self.rows[part if at is None else at[part]], right, w, rates, mixed, out[part], bound[part])

        run_in_parts(fill, -(-n // chunk), tick)

    def add_among(self, out: np.ndarray, index: np.ndarray, v: np.ndarray, tick: Tick | None = None) -> None:
        """out += K[index, index] v: each value made serves twice, as itself and as its mirror image."""
        if index.size == 0:
            return
        pieces = 32  # at most, of each side
        step = max(4 * ROWS, -(-index.size // (pieces * COLUMNS)) * COLUMNS)
        starts = range(0, index.size, step)
        every = self.pack_right(index)
        weights = self.pad(v, every)
        wide = weights.size // every.shape[0]
        half = [(i, j) for i in range(len(starts)) for j in range(i + 1)]
        found = [(np.zeros(0), np.zeros(0))] * len(half)

        def fill(k: int) -> None:
            i, j = half[k]
            rows, columns = (slice(starts[b], starts[b] + step) for b in (i, j))
            own, other = np.zeros(index[rows].size), np.zeros(0)
            w, right = weights[columns], every[columns.start // wide : columns.stop // wide]
            left = self.rows[index[rows]]
            if i == j:
                rates, off = no_bound(self.dtype)
                self._add(left, right, w, rates, -1, own, off)
            else:
                other = np.zeros(w.size)
                self._add_both(left, right, w, v[rows].astype(self.dtype), own, other)
            found[k] = own, other[: index[columns].size]

        run_in_parts(fill, len(half), tick)
        for (i, j), (own, other) in zip(half, found):
            out[starts[i] : starts[i] + step] += own
            if i != j:
                out[starts[j] : starts[j] + step] += other

    @cached_property
    def rates(self) -> ErrorRates:
        """The errors of values in single precision."""
        return ErrorRates.from_tiles(self.kernel, self.rows)

    def add_predictions(self, out: np.ndarray, X: Any, columns: np.ndarray, parts: list[slice]) -> None:
        """out[k] += K(X, rows[parts[k]]) columns[parts[k]], for other rows X."""
        right = self.pack_right(np.arange(self.n))
        single = columns.shape[1] == 1 and len(parts) == 1
        weights = self.pad(columns.ravel(), right) if single else columns.astype(self.dtype, copy=False)
        # Rows that a thread predicts at a time, and the rows and columns of a tile that several columns are multiplied by.
        chunk, height, width = 168 * P.GROUP, 21 * P.GROUP, 9 * COLUMNS
        pieces = cut_into_tiles(parts, self.n, width)
        wide = self.padded_width(right) // right.shape[0]

        def fill(k: int) -> None:
            some = slice(k * chunk, (k + 1) * chunk)
            X_some = X[some]
            left = np.empty((X_some.shape[0], self.rows.shape[1]), self.rows.dtype)
            self.lay_out(X_some, left)
            if single:
                rates, off = no_bound(self.dtype)
                self._add(left, right, weights, rates, -1, out[0, some].reshape(-1), off)
                return
            memory = np.empty(height * width, self.dtype)
            for a in range(0, left.shape[0], height):
                rows = left[a : a + height]
                into = out[:, some][:, a : a + height]
                for start, inside in pieces:
                    panels = right[start // wide : -(-(start + width) // wide)]
                    tile = memory[: rows.shape[0] * self.padded_width(panels)].reshape(rows.shape[0], -1)
                    self.fill(rows, panels, tile)
                    for part, of in inside:
                        into[part] += tile[:, of.start - start : of.stop - start] @ weights[of]

        run_in_parts(fill, -(-X.shape[0] // chunk))

    def _add(
        self,
        left: np.ndarray,
        right: np.ndarray,
        w: np.ndarray,
        rates: np.ndarray | None,
        mixed: int,
        out: np.ndarray,
        off: np.ndarray,
    ) -> None:
        P.add(left, right, w, rates, mixed, *self.map, out, off)

    def _add_both(
        self, left: np.ndarray, right: np.ndarray, w: np.ndarray, v: np.ndarray, out: np.ndarray, across: np.ndarray
    ) -> None:
        P.add_both(left, right, w, v, *self.map, out, across)

    def fill(self, left: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
        P.fill(left, right, *self.map, out)

    def square(self, index: np.ndarray, tick: Tick | None = None, symmetric: bool = False) -> np.ndarray:
        """K[index, index], with columns up to a whole number of tiles; ``symmetric``: to the last bit."""
        out = np.empty((index.size, -(-index.size // COLUMNS) * COLUMNS), self.dtype)
        right, left = self.pack_right(index), self.rows[index]
        half = self.long or symmetric
        height = 2 * ROWS if self.long else ROWS
        starts = range(0, index.size, height)

        def fill(k: int) -> None:
            a, b = starts[k], min(index.size, starts[k] + height)
            if not half:
                self.fill(left[a:b], right, out[a:b])
            else:  # the part above the diagonal is the mirror image of the part below
                self.fill(left[a:b], right[: -(-b // TERMS)], out[a:b])
                mirror(out, a, b)

        run_in_parts(fill, len(starts), tick)
        out[:, index.size :] = 0.0
        return out

    def fill_columns(self, columns: np.ndarray, out: np.ndarray, tick: Tick | None = None, start: int = 0) -> None:
        """out = K[start:, columns] transposed, written from column ``start`` on."""
        if columns.size == 0:
            return
        right = self.pack_right(columns)

        def fill(k: int) -> None:
            part = slice(start + k * CHUNK, min(self.n, start + (k + 1) * CHUNK))
            P.fill_across(self.rows[part], right, *self.map, out[:, part])

        run_in_parts(fill, -(-(self.n - start) // CHUNK), tick)

    @property
    def map(self) -> tuple[int, int | None, float]:
        """The kernel's number in compiled code, its degree and its shift. Where the degree is None no polynomial and no tanh are
        compiled."""
        kind = (Linear, RBF, Polynomial, Sigmoid).index(type(self.kernel))
        degree = None if kind <= 1 else getattr(self.kernel, "degree", 0)
        return kind, degree, float(getattr(self.kernel, "coef0", 0.0))

    def pack_right(self, index: np.ndarray) -> np.ndarray:
        """The right side of a product: these rows in panels."""
        return pack_panels(self.kernel, self.rows, index)

    def pad(self, v: np.ndarray, right: np.ndarray) -> np.ndarray:
        """v, padded with zeros to the columns of the right side."""
        full = np.zeros(self.padded_width(right), self.dtype)
        full[: v.size] = v
        return full

    def padded_width(self, right: np.ndarray) -> int:
        return right.shape[0] * TERMS


def cut_into_tiles(parts: list[slice], n: int, width: int) -> list[tuple[int, list[tuple[int, slice]]]]:
    """The start of each tile of n columns, and for each part the columns that it has in the tile."""
    pieces = []
    for start in range(0, n, width):
        cut = [slice(max(start, part.start), min(start + width, part.stop)) for part in parts]
        pieces.append((start, [(k, of) for k, of in enumerate(cut) if of.start < of.stop]))
    return pieces


def pack_panels(kernel: Any, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Rows of the left side as panels of the right side."""
    panels = np.empty((-(-index.size // TERMS), rows.shape[1], TERMS), rows.dtype)
    gaussian = kernel.of_distances
    scale = 2.0 * kernel.gamma if gaussian else float(getattr(kernel, "gamma", 1.0))
    some = CHUNK // TERMS

    def fill(k: int) -> None:
        part = slice(k * some, (k + 1) * some)
        P.pack(rows, index[k * CHUNK : (k + 1) * CHUNK], scale, gaussian, panels[part])

    run_in_parts(fill, -(-panels.shape[0] // some))
    return panels


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


@compiled
def mirror(out, a, b):
    """out[j, i] = out[i, j] for i in [a, b) and j < i, in squares that the cache holds."""
    side = 16
    for first in range(0, b, side):
        for start in range(a, b, side):
            for j in range(first, min(b, first + side)):
                for i in range(max(start, j + 1), min(b, start + side)):
                    out[j, i] = out[i, j]
