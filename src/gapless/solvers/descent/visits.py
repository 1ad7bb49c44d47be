"""Who is visited when.

    shuffled      every example once an epoch, in a new random order
    random        drawn with replacement
    sequential    as they stand
    an array      these, again and again

Rows that lie side by side come from the memory several times faster than rows that do not.  Where the data is larger than a
core's cache, a shuffled order is therefore drawn in blocks: their ends are moved at random, they come in random order, and
the rows of four of them are visited in turn, so that neighbours in the data are never neighbours in time.  Rows that were
copied in a random order need no such care: their blocks are read straight through.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless._compile.jit import compiled
from gapless._runtime.written import written
from gapless.rows.shape import Rows, bytes_per_value, n_rows, n_stored


class Visits:
    """The order of each epoch. ``first`` is an order of the examples that does not depend on theirs."""

    def __init__(self, kind: Any, rows: Rows, seed: int, first: np.ndarray | None = None) -> None:
        self.n = n_rows(rows)
        self.kind = kind if isinstance(kind, str) else "given"
        self.given = None if isinstance(kind, str) else kind
        self.first = first
        self.order = np.arange(self.n)
        per_row = max(1.0, bytes_per_value(rows) * n_stored(rows) / max(1, self.n))
        self.bytes = per_row * self.n
        # Blocks of 128 kB, four of them read side by side: as many streams as the memory follows by itself.
        self.block = max(1, int((1 << 17) / per_row)) if self._exceeds_cache and first is None else 0
        # Odd, and far from the small seeds that people choose.
        self.random = np.array([(2 * seed + 1) * 0x9E3779B97F4A7C15 % 2**64], np.uint64)
        self.epoch = 0
        self.streams = 4
        #: Whether rows come in an order that the memory cannot guess.
        self.far = self.kind in ("random", "given") or (self.kind == "shuffled" and not self.block)

    @property
    def slow(self) -> bool:
        """Whether long rows, larger than the cache together, are visited in an order that may as well be another one."""
        # values take longer than a visit
        return self.kind == "shuffled" and self._exceeds_cache and self.bytes > 512 * self.n

    @property
    def _exceeds_cache(self) -> bool:
        """Whether the data has over 1 MB; of less any order is as fast as any other."""
        return self.bytes > 1 << 20

    def once(self) -> np.ndarray:
        """A random order in which to copy the rows."""
        shuffle(self.order, self.random)
        return self.order.copy() if self.first is None else self.first[self.order]

    def settle(self, size: int) -> None:
        """From now on the epochs are orders of that copy, which has ``size`` bytes."""
        # Blocks of 32 kB: as small as the memory can follow, for within a block the order stays.
        self.block = max(1, (1 << 15) * self.n // max(1, size))
        self.order, self.first, self.streams, self.far = np.arange(self.n), None, 1, True

    def next_epoch(self) -> np.ndarray:
        """n examples; the array is overwritten by the next call."""
        if self.kind == "given":
            return self._given()
        if self.kind == "random":
            _draw(self.n, self.random, self.order)
        elif self.kind == "shuffled" and not self.block:
            shuffle(self.order, self.random)
        elif self.kind == "shuffled":
            blocks = np.arange(-(-self.n // self.block))
            shuffle(blocks, self.random)
            offset = np.empty(1, np.int64)
            _draw(self.n, self.random, offset)
            interleave_streams(self.n, self.block, blocks, int(offset[0]), self.streams, self.order)
        self.epoch += 1
        return self.order if self.first is None else self.first[self.order]

    def _given(self) -> np.ndarray:
        assert self.given is not None
        start = self.epoch * self.n % self.given.size
        self.epoch += 1
        return np.resize(np.roll(self.given, -start), self.n)


def as_visits(given: Any, n: int) -> Any:
    """The name of an order, or an array of row numbers."""
    kinds = ["shuffled", "random", "sequential"]
    if isinstance(given, str):
        if given not in kinds:
            raise ValueError(f"visits must be among {kinds} or an array of row numbers; got {written(given)}")
        return given
    order = np.asarray(given)
    if order.ndim != 1 or order.size == 0 or order.dtype.kind not in "iu":
        raise ValueError(f"visits must be among {kinds} or a 1-D array of row numbers; got {written(given)}")
    if order.min() < 0 or order.max() >= n:
        raise ValueError(
            f"visits names row {int(order.max() if order.max() >= n else order.min())}; there are {n} rows, from 0"
        )
    return order.astype(np.int64)


@compiled
def _next(state):
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))


@compiled
def shuffle(items, random):
    state = random[0]
    for i in range(items.size - 1, 0, -1):
        state = _next(state)
        # The upper half times i + 1, its upper half: a number from 0 to i without a division.
        j = np.int64(((state >> np.uint64(32)) * np.uint64(i + 1)) >> np.uint64(32))
        items[i], items[j] = items[j], items[i]
    random[0] = state


@compiled
def _draw(n, random, out):
    state = random[0]
    for k in range(out.size):
        state = _next(state)
        out[k] = np.int64(((state >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))
    random[0] = state


@compiled
def interleave_streams(n, block, blocks, offset, streams, out):
    k = 0
    if streams == 1:  # straight through, each block at most once around the end
        for q in blocks:
            for i in range(q * block + offset, min(n, (q + 1) * block) + offset):
                out[k] = i - n if i >= n else i
                k += 1
        return
    for first in range(0, blocks.size, streams):
        last = min(blocks.size, first + streams)
        for j in range(block):
            for q in range(first, last):
                i = blocks[q] * block + j
                if i < n:
                    i += offset
                    out[k] = i - n if i >= n else i
                    k += 1
