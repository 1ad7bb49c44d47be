"""An array of an .npz archive, read from its beginning, some values at a time."""

from __future__ import annotations

import zipfile
from types import TracebackType
from typing import Any

import numpy as np

from ..errors import DataError


class Member:
    """``read(k)`` gives the next k values; shape and dtype are those that the archive declares."""

    def __init__(self, stream: Any, name: str, file: str) -> None:
        self._stream, self._name, self._file = stream, name, file
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            self.shape, fortran, self.dtype = np.lib.format.read_array_header_1_0(stream)
        elif version == (2, 0):
            self.shape, fortran, self.dtype = np.lib.format.read_array_header_2_0(stream)
        else:
            raise DataError(f"{file}: {name} is in .npy version {version}; 1.0 and 2.0 are read", file)
        if self.dtype.hasobject:
            raise DataError(f"{file}: {name} holds pickled objects, which are never loaded", file)
        if fortran and len(self.shape) > 1:
            raise DataError(f"{file}: {name} lies column after column; save it in C order to be read in blocks", file)

    def table(self) -> tuple[int, int]:
        """Rows and columns of X."""
        if len(self.shape) != 2 or self.dtype.kind not in "fiub":
            raise DataError(
                f"{self._file}: {self._name} holds {self.dtype} of shape {self.shape}, no table", self._file
            )
        return self.shape[0], self.shape[1]

    def read(self, values: int) -> np.ndarray:
        size = values * int(np.prod(self.shape[1:])) if len(self.shape) == 1 else values
        raw = bytearray(size * self.dtype.itemsize)
        got, view = 0, memoryview(raw)
        while got < len(raw) and (more := self._stream.readinto(view[got:])):
            got += more
        if got < len(raw):
            raise DataError(f"{self._file}: {self._name} is truncated", self._file)
        return np.frombuffer(raw, dtype=self.dtype)

    def __enter__(self) -> Member:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()


def open_member(archive: zipfile.ZipFile, name: str, file: str) -> Member:
    """The array of this name; DataError where it cannot be read."""
    try:
        info = archive.getinfo(f"{name}.npy")
        return Member(archive.open(info), name, file)
    except DataError:
        raise
    except Exception as error:  # a broken archive throws many things
        raise DataError(f"{file}: {name} is no readable array ({type(error).__name__}: {error})", file) from None
