"""What a data file gives: rows, labels, names, weights. And what a trained model expects of one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gapless.judge.errors import DataError

if TYPE_CHECKING:
    import numpy as np

Labels = Literal["required", "optional"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows read from a file. `notes` say what was found by itself (separator, header, label column)."""

    X: Any  # numpy array, or scipy CSR for svmlight and sparse npz
    y: np.ndarray | None
    names: list[str] | None = None
    target: str | None = None
    weights: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    path: str | None = None

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    def rows(self, index: np.ndarray) -> Dataset:
        """The same data, only these rows, in this order."""
        return Dataset(
            X=self.X[index],
            y=None if self.y is None else self.y[index],
            names=self.names,
            target=self.target,
            weights=None if self.weights is None else self.weights[index],
            notes=self.notes,
            path=self.path,
        )


@dataclass(frozen=True)
class Expected:
    """What a trained model expects of a file: its columns, its label column, the type of its labels."""

    n_features: int
    names: list[str] | None = None
    target: str | None = None
    label_kind: str | None = None

    @classmethod
    def by(cls, document: Mapping[str, Any]) -> Expected:
        """Read off a model document (`model.certificate_.document()`, or `judge.read(path)[0]`)."""
        return cls(
            n_features=int(document["n_features"]),
            names=document.get("feature_names"),
            target=document.get("target"),
            label_kind="float" if document["classes"] is None else document["classes"]["type"],
        )


def data_error(
    problem: str,
    path: str | os.PathLike[str],
    line: int | None = None,
    column: str | int | None = None,
) -> DataError:
    """A DataError whose text starts with the place: file, line, column."""
    place = os.fspath(path)
    if line is not None:
        place += f", line {line}"
    if column is not None:
        place += f", column {column}" if isinstance(column, int) else f", column {column!r}"
    return DataError(f"{place}: {problem}", file=os.fspath(path), line=line, column=column)


def check_file(path: str | os.PathLike[str]) -> str:
    """The path as text, if it is a file that has something in it."""
    text = os.fspath(path)
    try:
        if os.path.isdir(text):
            raise data_error("is a directory, not a data file", text)
        if not os.path.exists(text):
            raise data_error("no such file", text)
        if not os.path.isfile(text):
            raise data_error("is not a regular file", text)
        with open(text, "rb") as stream:
            start = stream.read(4)
    except ValueError as error:  # a path with a NUL byte
        if isinstance(error, DataError):
            raise
        raise data_error(f"not a usable path ({error})", text) from None
    except OSError as error:
        raise data_error(f"cannot be read ({error.strerror or error})", text) from None
    if not start:
        raise data_error("the file is empty", text)
    if start[:2] == b"\x1f\x8b":
        raise data_error("is gzip-compressed; unpack it first", text)
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise data_error("is UTF-16 text; save it as UTF-8", text)
    return text


def undecodable(path: str) -> DataError:
    """The error for a file that is not UTF-8, with the first line that is not."""
    with open(path, "rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = line[error.start]
                return data_error(f"not UTF-8 text (byte 0x{byte:02x}); save the file as UTF-8", path, number)
    return data_error("not UTF-8 text", path)


def listed(names: list[str], most: int = 8) -> str:
    """'a', 'b', 'c' and 4 more."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
