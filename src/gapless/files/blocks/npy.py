"""numpy's .npy: X in one file, labels and weights in others, all mapped: the system keeps in memory what there is room for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from gapless.backends.stream.source import Block, Blocks
from gapless.files.problems import check_file, data_error


class NpyBlocks(Blocks):
    """X of a .npy file in C order; ``target`` and ``weight`` are arrays, .npy files, or numbers of columns of X."""

    def __init__(self, path: Any, target: Any, weight: Any) -> None:
        self.name = check_file(path)
        self._X = mapped(self.name, 2)
        n, d = self._X.shape
        self._columns = list(range(d))
        self._y = self._beside(target, "target", n)
        self._weight = None if weight is None else self._beside(weight, "weight", n)
        self._rows = max(1, self.block_bytes // max(1, d * self._X.itemsize))

    def _beside(self, given: Any, what: str, n: int) -> Any:
        if given is None:
            raise data_error(f"{what}= says where the labels are: an array, a .npy file, or a column of X", self.name)
        if isinstance(given, int):
            d = self._X.shape[1]
            if not -d <= given < d:
                raise data_error(f"{what}={given} is outside the {d} columns", self.name)
            self._columns.remove(given % d)
            return self._X[:, given]
        found = mapped(os.fspath(given), 1) if isinstance(given, str | os.PathLike) else np.asarray(given)
        if found.shape[:1] != (n,):
            raise data_error(f"X has {n} rows, {what} has shape {found.shape}", self.name)
        return found

    def __iter__(self) -> Iterator[Block]:
        X, y, weight = self._X, self._y, self._weight
        whole = len(self._columns) == X.shape[1]
        with ReadAhead(self.name, X) as ahead:
            for start in range(0, X.shape[0], self._rows):
                part = slice(start, min(X.shape[0], start + self._rows))
                rows = X[part] if whole else X[part][:, self._columns]
                ahead.touch(rows, part)
                if rows.dtype not in (np.float32, np.float64) or not rows.dtype.isnative:
                    rows = rows.astype(np.float64)
                yield Block(rows, np.asarray(y[part]), None if weight is None else np.asarray(weight[part]))


def mapped(path: str, sides: int) -> np.ndarray:
    """The array of a .npy file, of numbers (labels may be texts), mapped."""
    place = check_file(path)
    try:
        found = np.load(place, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError, SyntaxError) as error:
        raise data_error(f"is not a readable .npy file ({error})", place) from None
    if not isinstance(found, np.ndarray) or found.ndim > 2 or found.ndim < min(sides, 1):
        raise data_error("holds no array of one or two sides", place)
    if sides == 2 and (found.ndim != 2 or found.dtype.kind not in "fiub" or not min(found.shape)):
        raise data_error(f"holds {found.dtype} of shape {found.shape}; X is a table of numbers", place)
    return np.asarray(found)


class ReadAhead:
    """Brings the next rows of a mapped array into memory before they are worked on."""

    def __init__(self, path: str, X: np.ndarray) -> None:
        self._itemsize, self._file = X.strides[0] if X.flags.c_contiguous else 0, -1
        base = os.path.getsize(path) - X.nbytes
        self._base = base if self._itemsize else 0
        if self._itemsize and hasattr(os, "posix_fadvise"):
            with suppress(OSError):
                self._file = os.open(path, os.O_RDONLY)

    def __enter__(self) -> ReadAhead:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file >= 0:
            os.close(self._file)

    def touch(self, rows: np.ndarray, part: slice) -> None:
        """Wait until these rows are there, while the system already reads the next ones."""
        if self._file >= 0:
            size = (part.stop - part.start) * self._itemsize
            with suppress(OSError):
                os.posix_fadvise(self._file, self._base + part.start * self._itemsize, 3 * size, os.POSIX_FADV_WILLNEED)
        if rows.flags.c_contiguous:
            page = 4096 // rows.itemsize
            np.add.reduce(rows.reshape(-1)[::page])  # a value of each page; numpy lets other threads run meanwhile
