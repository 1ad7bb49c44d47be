"""What the first walk over a slow source gave, kept on disk: later walks map it."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from gapless.backends.stream.source import Block


class Spool:
    """Blocks in a file without a name: nothing is left of it whatever ends the program. Labels and weights stay in memory."""

    def __init__(self) -> None:
        self._file: Any = None
        self._map: Any = None
        self._blocks: list[tuple[list[tuple[int, Any, tuple[int, ...]]], Any, Any, Any]] = []
        self._complete = False
        self._refused = False

    def walk(self, read: Callable[[], Iterator[Block]]) -> Iterator[Block]:
        """The blocks: from the file where they are there, else as they are read."""
        if self._complete:
            yield from self._kept()
            return
        self._begin()
        for block in read():
            self._put(block)
            yield block
        self._end()

    def __getstate__(self) -> dict[str, Any]:
        return Spool().__dict__  # a copy elsewhere reads for itself

    def _begin(self) -> None:
        self._blocks.clear()
        if not self._refused:
            try:
                self._file = tempfile.TemporaryFile(prefix="gapless-")  # noqa: SIM115
            except OSError:
                self._refused = True

    def _put(self, block: Block) -> None:
        if self._refused:
            return
        X = block.X
        arrays = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [np.ascontiguousarray(X)]
        told = []
        try:
            for array in arrays:
                at = self._file.seek(0, 2)
                self._file.write(b"\0" * (-at % 64))
                told.append((at + -at % 64, array.dtype, array.shape))
                self._file.write(memoryview(array.data).cast("B") if array.size else b"")
        except OSError:  # no room: texts are read again
            self._refused = True
            self._file.close()
            self._blocks.clear()
            return
        self._blocks.append((told, X.shape if sparse.issparse(X) else None, block.y, block.weight))

    def _end(self) -> None:
        if self._refused or not self._blocks:
            return
        try:
            self._file.flush()
            self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):
            self._refused = True
            return
        self._complete = True

    def _kept(self) -> Iterator[Block]:
        for told, shape, y, weight in self._blocks:
            arrays = [
                np.frombuffer(self._map, dtype, count=int(np.prod(sides)), offset=at).reshape(sides)
                for at, dtype, sides in told
            ]
            if shape is None:
                yield Block(arrays[0], y, weight)
                continue
            X = sparse.csr_matrix(shape, dtype=arrays[0].dtype)
            X.data, X.indices, X.indptr = arrays
            yield Block(X, y, weight)
