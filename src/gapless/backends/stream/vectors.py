"""Vectors with an entry for each row of data that do not fit in memory: small ones in memory, others in mapped files.

A part of a vector is an array with an entry for each row of its block, or a tuple of such arrays. A file has no name, so that
nothing is left of it whatever ends the program; the system writes its pages out where memory is short.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from gapless.backends.blocks.walk import InBlocks


class Vectors:
    """Makes vectors over blocks of so many rows; those of more than ``most_bytes`` lie in files."""

    def __init__(self, sizes: Sequence[int], most_bytes: int) -> None:
        self.sizes, self.most_bytes = sizes, most_bytes
        self.starts = np.cumsum([0, *sizes]).tolist()

    def new(self) -> Growing:
        return Growing(self)

    def hold(self, parts: Sequence[Any]) -> InBlocks:
        """A vector of parts that are there."""
        growing = self.new()
        for part in parts:
            growing.put(part)
        return InBlocks(growing.parts)

    def room(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An array to be filled."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        return np.empty(shape, dtype) if size <= self.most_bytes else mapped(shape, dtype)


class Growing:
    """A vector that is filled block by block."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._whole: dict[int, np.ndarray | None] = {}
        self.parts: list[Any] = []

    def put(self, part: Any) -> None:
        """The next block's part."""
        k = len(self.parts)
        if isinstance(part, tuple):
            fields = [self._field(k, number, each) for number, each in enumerate(part)]
            self.parts.append(type(part)(*fields) if hasattr(part, "_fields") else tuple(fields))
        else:
            self.parts.append(self._field(k, 0, part))

    def _field(self, k: int, number: int, part: Any) -> Any:
        vectors = self._vectors
        if not isinstance(part, np.ndarray) or part.shape[:1] != (vectors.sizes[k],):
            return part
        if number not in self._whole:
            shape = (vectors.starts[-1], *part.shape[1:])
            large = int(np.prod(shape)) * part.itemsize > vectors.most_bytes
            self._whole[number] = mapped(shape, part.dtype) if large else None
        whole = self._whole[number]
        if whole is None:
            return part
        place = whole[vectors.starts[k] : vectors.starts[k + 1]]
        place[...] = part
        return place


def mapped(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array in a file without a name. An error where the disk has no room: later it would be a signal that kills."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    with tempfile.TemporaryFile(prefix="gapless-") as file:
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                file.truncate(size)
        except OSError as error:
            where = tempfile.gettempdir()
            raise MemoryError(
                f"{where} has no room for {size / 2**20:.0f} MiB, a vector with an entry for each row ({error.strerror}); "
                "TMPDIR names another folder"
            ) from error
        return np.asarray(np.memmap(file, dtype=dtype, mode="r+", shape=shape))
