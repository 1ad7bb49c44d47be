"""Tiles that keep rows of the Gram matrix, where a kernel value costs more than reading it again: long rows of X.

A row is kept when the scores of most points first need it, as long as the budget has room; a solver reads the same few rows
again and again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless._compile.jit import compiled
from gapless._runtime.threads import run_in_parts
from gapless.gram.bytes import ByteTiles
from gapless.gram.float32_error import TERMS, ErrorRates
from gapless.gram.tiles import CHUNK, COLUMNS, ROWS, RowTiles, no_bound
from gapless.rows.products import Tick


class CachedRowTiles:
    """Rows of the Gram matrix that are kept. ``smaller`` has the first of these points: until `forget` its rows are copied, and
    only the rest of them is made."""

    used: int

    def __init__(self, tiles: RowTiles, budget: int, smaller: CachedRowTiles | None = None) -> None:
        self.tiles, self.smaller = tiles, smaller
        if smaller is not None:
            budget -= smaller.used * smaller.n * tiles.dtype.itemsize
        most = max(0, min(tiles.n, budget // (tiles.n * tiles.dtype.itemsize)))
        self.rows = np.empty((most, tiles.n), tiles.dtype)  # no memory is taken before it is written
        self.place = np.full(tiles.n, -1)
        self.used = 0

    @property
    def n(self) -> int:
        return self.tiles.n

    @property
    def dtype(self) -> Any:
        return self.tiles.dtype

    @property
    def rates(self) -> ErrorRates:
        return self.tiles.rates

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
        if at is None or 2 * at.size > self.n:
            self._keep(columns[self.place[columns] < 0], tick)
        known = self.place[columns] >= 0
        slots, w = self.place[columns[known]], v[known].astype(self.dtype)
        if slots.size:
            n = out.size
            every = np.arange(0) if at is None else at
            ends, (rates, bound) = group_ends(slots.size), no_bound(self.dtype)
            if off is not None:
                order, ends, rates, _ = self.rates.group(columns[known], v[known], apart=True)
                slots, w, bound = slots[order], w[order], off

            def fill(k: int) -> None:
                add_rows(self.rows, slots, w, ends, rates, every, out, bound, k * CHUNK, min(n, (k + 1) * CHUNK))

            run_in_parts(fill, -(-n // CHUNK), tick)
        if not known.all():
            self.tiles.add(out, columns[~known], v[~known], at, tick, off)

    def keeps(self, columns: np.ndarray) -> bool:
        """Whether at least nine in ten of these columns are kept."""
        return 10 * int(np.count_nonzero(self.place[columns] < 0)) <= columns.size

    def _keep(self, columns: np.ndarray, tick: Tick | None) -> None:
        columns = columns[: self.rows.shape[0] - self.used]
        if columns.size == 0:
            return
        begun = np.zeros(columns.size, bool)
        if self.smaller is not None:
            begun[columns < self.smaller.n] = self.smaller.place[columns[columns < self.smaller.n]] >= 0
        for known in (True, False):
            some = columns[begun == known]
            rows = self.rows[self.used : self.used + some.size]
            self.tiles.fill_columns(some, rows, tick, self._copy_from_smaller(some, rows) if known else 0)
            self.place[some] = np.arange(self.used, self.used + some.size)
            self.used += some.size

    def _copy_from_smaller(self, columns: np.ndarray, rows: np.ndarray) -> int:
        """Copy the values that the smaller tiles keep of these rows; returns their number in each row."""
        if self.smaller is None:
            return 0
        old, places, side = self.smaller.rows, self.smaller.place[columns], 64
        n = self.smaller.n

        def copy(k: int) -> None:
            rows[k * side : (k + 1) * side, :n] = old[places[k * side : (k + 1) * side]]

        run_in_parts(copy, -(-columns.size // side))
        return n

    def forget(self) -> None:
        self.smaller = None

    def square(self, index: np.ndarray, tick: Tick | None = None) -> np.ndarray:
        """K[index, index], with columns up to a whole number of tiles: values of kept rows are read, all others are made."""
        if isinstance(self.tiles, ByteTiles):  # as fast as gathering them
            return self.tiles.square(index, tick)
        out = np.zeros((index.size, -(-index.size // COLUMNS) * COLUMNS), self.dtype)
        known = self.place[index] >= 0
        there, missing = np.flatnonzero(known), np.flatnonzero(~known)
        parts = range(0, there.size, ROWS)
        run_in_parts(
            lambda k: _gather(self.rows, self.place, index, there[parts[k] : parts[k] + ROWS], out), len(parts), tick
        )
        if missing.size:
            new = self.tiles.square(index[missing], tick)
            cuts = range(0, missing.size, ROWS)
            run_in_parts(
                lambda k: _place(new, missing, there, out, cuts[k], min(missing.size, cuts[k] + ROWS)), len(cuts), tick
            )
        return out


@compiled
def _gather(rows, place, index, which, out):
    """Write the rows ``which`` of out, which are kept."""
    for k in range(which.size):
        row, into = rows[place[index[which[k]]]], out[which[k]]
        for j in range(index.size):
            into[j] = row[index[j]]


@compiled
def _place(new, missing, there, out, start, stop):
    """Write the missing rows of a symmetric matrix: ``new`` among themselves, the mirror image beside the kept rows."""
    for i in range(start, stop):
        row, found = out[missing[i]], new[i]
        for j in range(missing.size):
            row[missing[j]] = found[j]
    side = 16
    for first in range(0, there.size, side):
        for i in range(start, stop):
            for j in range(first, min(there.size, first + side)):
                out[missing[i], there[j]] = out[there[j], missing[i]]


def group_ends(terms: int) -> np.ndarray:
    """The ends of the groups of terms that are summed in single precision."""
    return np.append(np.arange(TERMS, terms, TERMS), terms)


@compiled(vectorise=True)
def add_rows(rows, slots, v, ends, rates, at, out, off, start, stop):
    """out += v'rows[slots], each group summed in the precision of v up to its end; off grows as `float32_error` says."""
    sums = np.zeros(stop - start, v.dtype)
    k = 0
    for group in range(ends.size):
        while k < ends[group]:
            w = v[k]
            row = rows[slots[k]]
            if at.size:
                for i in range(stop - start):
                    sums[i] += w * row[at[start + i]]
            else:
                part = row[start:stop]
                for i in range(part.size):
                    sums[i] += w * part[i]
            k += 1
        if rates is not None and rates.size:
            rate = rates[group]
            for i in range(stop - start):
                size = abs(float(sums[i]))
                off[start + i, 0] += rate * size
                off[start + i, 1] += size
        for i in range(stop - start):
            out[start + i] += sums[i]
            sums[i] = 0.0
