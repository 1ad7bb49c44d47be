"""The Gram matrix of all points in single precision, for the problems of all pairs of classes.

Points stand class by class, so that the rows of a couple's matrix are two runs of rows of this one: nothing is copied but
the rows that a solver moves.  Each value is made once, for two places.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from gapless._jit import compiled
from gapless._threads import share
from gapless.kernels.gram import Gram, Part
from gapless.kernels.single import Rates
from gapless.kernels.tiles import CHUNK, COLUMNS, Tick, Tiles, _map, right_of
from gapless.kernels.whole import gather

#: Rows and columns of a square that is made at a time.
SQUARE = 512


class Together:
    """K of all points, class by class: ``starts[k]`` is where class k begins."""

    def __init__(self, laid_out: Tiles, classes: np.ndarray, n_classes: int, tick: Tick | None = None) -> None:
        self.order = np.argsort(classes, kind="stable")
        self.starts = np.concatenate(([0], np.cumsum(np.bincount(classes, minlength=n_classes))))
        tiles = laid_out.taken(self.order, np.float32)
        self.rates = Rates.of(tiles.kernel, tiles.rows)
        n = tiles.n
        self.K = np.empty((n, n), np.float32)
        right = right_of(tiles.kernel, tiles.rows)
        cuts = [(a, min(n, a + SQUARE)) for a in range(0, n, SQUARE)]
        squares = [(i, j) for i in range(len(cuts)) for j in range(i + 1)]

        def fill(k: int) -> None:
            (a, b), (c, d) = (cuts[i] for i in squares[k])
            _fill(tiles.rows[a:b], right[c:d], *tiles.map, self.K, a, c)

        share(fill, len(squares), tick)
        self.diagonal = np.ascontiguousarray(np.diagonal(self.K))
        self._scratch = threading.local()

    def scratch(self, m: int) -> np.ndarray:
        """Room for the rows of m variables: this thread's, used again and again."""
        width = -(-m // COLUMNS) * COLUMNS
        flat = getattr(self._scratch, "flat", None)
        if flat is None or flat.size < m * width:
            flat = self._scratch.flat = np.empty(m * width, np.float32)
        return flat[: m * width].reshape(m, width)


class Couple(Part):
    """The Gram matrix of two classes, ``one`` of them first; ``single`` is what a solver works with."""

    def __init__(self, whole: Gram, index: np.ndarray, together: Together, classes: tuple[int, int]) -> None:
        super().__init__(whole, index)
        self.single = CoupleTiles(together, index, classes)


class CoupleTiles:
    dtype = np.dtype(np.float32)

    def __init__(self, together: Together, index: np.ndarray, classes: tuple[int, int]) -> None:
        self.together = together
        runs = [together.starts[k : k + 2] for k in sorted(classes)]
        (a, b), (c, d) = runs
        #: Where its points stand in the large matrix, and the place of each of them among ``index``.
        self.place = np.array([a, b - a, c])
        self.points = np.concatenate([np.arange(a, b), np.arange(c, d)])
        self.order = np.searchsorted(index, together.order[self.points])
        self.diagonal = together.diagonal[self.points]
        sizes = together.rates.sizes
        self.rates = Rates(None if sizes is None else sizes[self.points])

    @property
    def n(self) -> int:
        return self.points.size

    def add(
        self,
        out: np.ndarray,
        columns: np.ndarray,
        v: np.ndarray,
        at: np.ndarray | None = None,
        tick: Tick | None = None,
        off: np.ndarray | None = None,
    ) -> None:
        """out += K[at, columns] v, and its bound as in `Tiles.add`"""
        found, bound = (np.zeros(self.n), np.zeros(0 if off is None else self.n)) if at is not None else (out, off)
        q = np.zeros(0, np.float32) if off is None else (np.abs(v) * self.rates.of_columns(columns)).astype(np.float32)
        bound = np.zeros(0) if bound is None else bound
        _add(self.together.K, self.points[columns], self.place, v.astype(np.float32), q, found, bound)
        if at is not None:
            out += found[at]
            if off is not None:
                off += bound[at]

    def square(self, index: np.ndarray, tick: Tick | None = None) -> np.ndarray:
        """K[index, index], with columns up to a whole number of tiles."""
        out = np.empty((index.size, -(-index.size // COLUMNS) * COLUMNS), self.dtype)
        gather(self.together.K, self.points[index], out, tick)
        return out


@compiled(vectorise=True)
def _fill(left, right, kind, degree, shift, K, a, c):
    """K[a:, c:] of these rows, and its mirror image."""
    rows, columns = left.shape[0], min(right.shape[0], K.shape[0] - c)
    tile = np.empty((rows, right.shape[0]), left.dtype)
    np.dot(left, right.T, tile)
    _map(tile, kind, degree, shift)
    for i in range(rows):
        into, row = K[a + i, c : c + columns], tile[i]
        for j in range(columns if a != c else i + 1):
            into[j] = row[j]
    side = 16
    for first in range(0, columns, side):
        for start in range(0, rows, side):
            for j in range(first, min(columns, first + side)):
                into = K[c + j]
                for i in range(max(start, j + 1) if a == c else start, min(rows, start + side)):
                    into[a + i] = tile[i, j]


@compiled(vectorise=True)
def _add(K, rows, place, v, q, out, off):
    """out += v K[rows] of the two runs of columns, in sums of 64 terms; off += q K[rows]."""
    size, m = place[1], out.size
    for start in range(0, m, CHUNK):
        stop = min(m, start + CHUNK)
        sums, bounds = np.zeros(CHUNK, K.dtype), np.zeros(CHUNK, K.dtype)
        for k in range(rows.size):
            row = K[rows[k]]
            for run in range(2):
                a = start if run == 0 else max(start, size)
                b = min(stop, size) if run == 0 else stop
                if a >= b:
                    continue
                shift = place[0] if run == 0 else place[2] - size
                part, into = row[shift + a : shift + b], sums[a - start : b - start]
                w = v[k]
                for i in range(b - a):
                    into[i] += w * part[i]
                if off.size:
                    into, w = bounds[a - start : b - start], q[k]
                    for i in range(b - a):
                        into[i] += w * part[i]
            if k % 64 == 63 or k == rows.size - 1:
                for i in range(stop - start):
                    out[start + i] += sums[i]
                    sums[i] = 0.0
                if off.size:
                    for i in range(stop - start):
                        off[start + i] += bounds[i]
                        bounds[i] = 0.0
