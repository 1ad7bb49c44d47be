"""Gram matrices of all pairs of classes in single precision, made once and read by the problems of all pairs.

Points stand class by class.  Between two classes there is one block, with the points of the later class as rows: each value is
made once.  A couple's own rows, of both classes, are put together only when a solver first moves them, in room that the next
couple uses again; most of them never are.
"""

from __future__ import annotations

import threading

import numpy as np

from gapless._compile.jit import compiled
from gapless._runtime.threads import share
from gapless.gram.blocks import SubGram
from gapless.gram.cached_rows import add_rows, group_ends
from gapless.gram.float32_error import TERMS, ErrorRates
from gapless.gram.interface import Gram, Tick
from gapless.gram.tiles import CHUNK, COLUMNS, NO_BOUND, RowTiles, mirror, no_rates

#: Rows that a thread makes at a time.
HEIGHT = 256
#: Threads that a budget is made for.
ROOMS = 4


class PairwiseGram:
    """A block for every two classes and for each with itself."""

    def __init__(self, laid_out: RowTiles, classes: np.ndarray, n_classes: int, tick: Tick | None = None) -> None:
        self.order = np.argsort(classes, kind="stable")
        self.starts = np.concatenate(([0], np.cumsum(np.bincount(classes, minlength=n_classes))))
        tiles = laid_out.reorder(self.order, np.float32)
        self.rates = tiles.rates
        runs = [slice(a, b) for a, b in zip(self.starts, self.starts[1:])]
        right = [tiles.pack_right(np.arange(run.start, run.stop)) for run in runs]
        self.blocks = {
            (i, j): np.empty((runs[i].stop - runs[i].start, runs[j].stop - runs[j].start), np.float32)
            for i in range(n_classes)
            for j in range(i + 1)
        }
        parts = [(i, j, a) for i, j in self.blocks for a in range(0, len(self.blocks[i, j]), HEIGHT)]

        def fill(k: int) -> None:
            i, j, a = parts[k]
            out = self.blocks[i, j]
            left = tiles.rows[runs[i]][a : a + HEIGHT]
            panels = right[j][: -(-(a + HEIGHT) // TERMS)] if i == j else right[j]  # up to the diagonal
            tiles.fill(left, panels, out[a : a + HEIGHT])

        share(fill, len(parts), tick)
        share(lambda k: mirror(self.blocks[k, k], 0, len(self.blocks[k, k])), n_classes, tick)
        self._rooms = threading.local()

    @staticmethod
    def bytes_needed(classes: np.ndarray) -> int:
        """What the blocks take, and the rows of the largest couple on some threads, however many there are: the bits of a fit
        that has no room do not depend on them either."""
        sizes = np.sort(np.bincount(classes).astype(np.int64))
        couple = int(sizes[-2:].sum())
        return 2 * int(sizes.sum() ** 2 + (sizes**2).sum()) + 4 * ROOMS * couple * (couple + COLUMNS)

    def row_buffer(self, m: int) -> np.ndarray:
        """For the rows of m points: this thread's, used again and again."""
        width = -(-m // COLUMNS) * COLUMNS
        flat = getattr(self._rooms, "flat", None)
        if flat is None or flat.size < m * width:
            flat = self._rooms.flat = np.empty(m * width, np.float32)
        return flat[: m * width].reshape(m, width)


class ClassPairGram(SubGram):
    """The Gram matrix of two classes; ``single`` is what a solver works with."""

    def __init__(self, whole: Gram, index: np.ndarray, together: PairwiseGram, classes: tuple[int, int]) -> None:
        super().__init__(whole, index)
        self.single = ClassPairTiles(together, index, classes)


class ClassPairTiles:
    """Tiles of two classes, the points of the first of them first.  Of one thread: a thread has one couple at a time."""

    dtype = np.dtype(np.float32)

    def __init__(self, together: PairwiseGram, index: np.ndarray, classes: tuple[int, int]) -> None:
        first, second = sorted(classes)
        self.first, self.between, self.second = (
            together.blocks[pair] for pair in ((first, first), (second, first), (second, second))
        )
        starts = together.starts
        points = np.concatenate([np.arange(starts[k], starts[k + 1]) for k in (first, second)])
        self.n = points.size
        #: The place of each of its points among ``index``.
        self.order = np.searchsorted(index, together.order[points])
        self.diagonal = np.concatenate([np.diagonal(self.first), np.diagonal(self.second)])
        sizes = together.rates.sizes
        self.rates = ErrorRates(None if sizes is None else sizes[points])
        self.rows, self.row_is_loaded = together.row_buffer(self.n), np.zeros(self.n, bool)

    def load(self, index: np.ndarray) -> None:
        """Have these rows."""
        load_rows(self.first, self.between, self.second, index, self.rows, self.row_is_loaded)

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
        self.load(columns)
        w, ends, rates, bound = v.astype(np.float32), group_ends(columns.size), no_rates(self.dtype), NO_BOUND
        if off is not None:
            order, ends, rates, _ = self.rates.group(columns, v, apart=True)
            columns, w, bound = columns[order], w[order], off
        every = np.arange(0) if at is None else at
        for start in range(0, out.size, CHUNK):
            stop = min(out.size, start + CHUNK)
            add_rows(self.rows, columns, w, ends, rates, every, out, bound, start, stop)

    def square(self, index: np.ndarray, tick: Tick | None = None) -> np.ndarray:
        """K[index, index], with columns up to a whole number of tiles."""
        self.load(index)
        out = np.zeros((index.size, -(-index.size // COLUMNS) * COLUMNS), self.dtype)
        out[:, : index.size] = self.rows[np.ix_(index, index)]
        return out


@compiled
def load_row(first, between, second, i, row):
    """Row i of a couple's matrix; columns beyond it are 0."""
    size, rest = first.shape[0], second.shape[0]
    if i < size:
        own = first[i]
        for j in range(size):
            row[j] = own[j]
        for j in range(rest):
            row[size + j] = between[j, i]
    else:
        across, own = between[i - size], second[i - size]
        for j in range(size):
            row[j] = across[j]
        for j in range(rest):
            row[size + j] = own[j]
    for j in range(size + rest, row.size):
        row[j] = 0.0


@compiled
def load_rows(first, between, second, index, rows, there):
    for k in range(index.size):
        if not there[index[k]]:
            load_row(first, between, second, index[k], rows[index[k]])
            there[index[k]] = True
