"""The walk over the blocks of a source on this machine: one after the other, the next one read while one is worked on."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from gapless.backends.blocks.survey import BlockFacts, Surveyed, refuse_unequal, survey
from gapless.backends.blocks.walk import InBlocks, Job, Tick, Total
from gapless.backends.stream.source import Block, Blocks
from gapless.backends.stream.vectors import Vectors


class StreamWalk:
    """See `backends/blocks/walk.Walk`. ``keep`` has the rows of each block that count, or None for all of them."""

    steps_at_once = 33  # lengths: a pass over scores that lie in files costs more than the arithmetic
    most_sampled = np.inf
    backend = "stream"

    takes_labels = False

    def __init__(self, source: Blocks, most_bytes: int = 1 << 25) -> None:
        self.source, self.most_bytes = source, most_bytes
        self.sizes: Sequence[int] = ()
        self.d = 0
        self.keep: Sequence[np.ndarray | None] = ()
        self.rounds = self.passes = 0

    def survey(self, classify: bool, tick: Tick) -> Surveyed:
        """The first walk: what the blocks are."""
        facts: list[BlockFacts] = []
        columns: tuple[list[Any], ...] = ([], [], [])
        for k, block in enumerate(ahead(self.source)):
            if tick is not None:
                tick()
            found, *parts = survey(k, block.X, block.y, block.weight, classify)
            facts.append(found)
            for column, part in zip(columns, parts, strict=True):
                column.append(part)
        refuse_unequal(facts)
        self.know([f.rows for f in facts], facts[0].columns, [None] * len(facts))
        rooms = self.vectors()
        return Surveyed(facts, *(rooms.hold(column) for column in columns))

    @property
    def feature_names(self) -> Any:
        return self.source.feature_names

    def know(self, sizes: Sequence[int], d: int, keep: Sequence[np.ndarray | None]) -> None:
        """Which rows of the blocks count."""
        self.sizes, self.d, self.keep = sizes, d, keep

    def count_only(self, kept: InBlocks, sizes: Sequence[int]) -> None:
        """From now on rows of positive cost alone are read."""
        self.know(sizes, self.d, kept.parts)

    def vectors(self) -> Vectors:
        return Vectors(self.sizes, self.most_bytes)

    def each(self, job: Job, base: Sequence[InBlocks], vectors: Sequence[InBlocks | None], tick: Tick) -> list[Any]:
        made = [self.vectors().new() for _ in range(job.makes)]
        results: list[Any] = []
        total = Total()
        self.rounds += job.wants != "nothing"
        self.passes += job.rows
        blocks = ahead(self.source) if job.rows else None
        try:
            for k in range(len(self.sizes)):
                if tick is not None:
                    tick()
                X = None if blocks is None else self._rows(blocks, k)
                part = job.spec.build(X, *(b.parts[k] for b in base))
                result, *parts = job.work(part, *job.args, *(None if v is None else v.parts[k] for v in vectors))
                if job.wants == "sum":
                    total.put(result)
                else:
                    results.append(result)
                for growing, each in zip(made, parts, strict=True):
                    growing.put(each)
        finally:
            if blocks is not None:
                blocks.close()
        return [total.get() if job.wants == "sum" else results, *(InBlocks(growing.parts) for growing in made)]

    def _rows(self, blocks: Iterator[Block], k: int) -> Any:
        X = next(blocks).X
        keep = self.keep[k]
        rows = X if keep is None else X[keep]
        if rows.shape != (self.sizes[k], self.d):
            raise ValueError(
                f"block {k} has other rows than when it was walked first: {X.shape[0]} of {X.shape[1]} columns"
            )
        return rows

    def place(self, parts: Sequence[np.ndarray]) -> InBlocks:
        return InBlocks(list(parts))

    def fetch(self, vector: InBlocks) -> np.ndarray:
        first = vector.parts[0]
        rooms = self.vectors()
        whole = rooms.room((rooms.starts[-1], *first.shape[1:]), first.dtype)
        for k, part in enumerate(vector.parts):
            whole[rooms.starts[k] : rooms.starts[k + 1]] = part
        return whole

    def with_dual(self, arrays: dict[str, np.ndarray], duals: Sequence[InBlocks], sizes: Sequence[int]) -> Any:
        """The arrays of a certificate: these, and the dual points, a line each, with 0 for the rows that do not count."""
        lines = sum(1 if u.parts[0].ndim == 1 else u.parts[0].shape[1] for u in duals)
        rooms = Vectors(sizes, self.most_bytes)
        whole = rooms.room((lines, rooms.starts[-1]), float)
        at = 0
        for u in duals:
            for k, part in enumerate(u.parts):
                few = part[None, :] if part.ndim == 1 else part.T
                place = whole[at : at + len(few), rooms.starts[k] : rooms.starts[k + 1]]
                keep = self.keep[k]
                if keep is None:
                    place[...] = few
                else:
                    place[...] = 0.0
                    place[:, keep] = few
            at += 1 if u.parts[0].ndim == 1 else u.parts[0].shape[1]
        return {**arrays, "dual": whole}


def ahead(source: Blocks) -> Generator[Block, None, None]:
    """The blocks of a source, each read in a thread while its predecessor is worked on."""
    end: Any = object()
    walked = iter(source)
    with ThreadPoolExecutor(1, thread_name_prefix="gapless-read") as pool:
        coming = pool.submit(next, walked, end)
        try:
            while (block := coming.result()) is not end:
                coming = pool.submit(next, walked, end)
                yield block
        finally:
            coming.cancel()
