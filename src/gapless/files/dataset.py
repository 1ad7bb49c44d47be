"""What a data file gives: rows, labels, names, weights. And what a trained model expects of one."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gapless._runtime.results import result
from gapless.judge.errors import DataError

if TYPE_CHECKING:
    import numpy as np

    from gapless.files.cells.cells import Style

Labels = Literal["required", "optional"]
#: How files begin that are no data files, and what to do with them.
MAGICS = {
    b"\x1f\x8b": "is gzip-compressed; unpack it first",
    b"BZh": "is bzip2-compressed; unpack it first",
    b"\xfd7zXZ": "is xz-compressed; unpack it first",
    b"\x28\xb5\x2f\xfd": "is zstd-compressed; unpack it first",
    b"%PDF": "is a PDF, not a table; export the table as CSV",
    b"\x89PNG": "is a picture (PNG), not a table",
    b"\xff\xd8\xff": "is a picture (JPEG), not a table",
    b"\xd0\xcf\x11\xe0": "is an old Excel workbook; export the sheet as CSV",
    b"SQLite format 3": "is an SQLite database; export the table as CSV",
}


@result
class Reading(NamedTuple):
    """How the cells of a table were read, where some of them are no plain numbers and texts.

    Attributes
    ----------
    styles : style of each column; None: texts
    target : style of the label column
    missing : words for no value that were given
    """

    styles: list[Style | None]
    target: Style
    missing: frozenset[str]

    def dated(self, k: int) -> bool:
        """Whether column ``k`` holds dates."""
        style = self.styles[k]
        return style is not None and style.kind == "date"

    def __str__(self) -> str:
        return f"{sum(style is not None for style in self.styles)} of {len(self.styles)} columns hold numbers or dates, not texts"


@result
@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows read from a file or a frame. `notes` say what was found by itself (separator, header, label column), `told` what was
    read otherwise than it stands, or left out, one sentence each.

    A column of categories holds the numbers of its `levels`, one of dates days since 1970-01-01 (`reading`), and a missing value
    is NaN; only tables that were read with `typed=True` have any of them. `Encoding` makes features of them.

    Attributes
    ----------
    X : numpy array, or scipy CSR for svmlight and sparse npz
    y : labels or targets, None where the file has none
    names : names of the columns of X, None where there are none
    target : name of the label column
    weights : weight of each row, None where the file has none
    notes : what was found by itself (separator, header, label column), a sentence each
    path : the file, None for a frame
    levels : texts of each column of categories; None: all columns are numbers
    told : what was read otherwise than it stands, or left out, a sentence each
    reading : how cells were read; None: plain numbers and texts
    weights_name : of the column of weights, None without one
    """

    X: Any
    y: np.ndarray | None = None
    names: list[str] | None = None
    target: str | None = None
    weights: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    path: str | None = None
    levels: list[list[str] | None] | None = None
    told: tuple[str, ...] = ()
    reading: Reading | None = None
    weights_name: str | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return int(self.X.shape[1])

    def rows(self, index: np.ndarray) -> Dataset:
        """The same data, only these rows, in this order. ``index``: row numbers, or a mask."""
        return replace(
            self,
            X=self.X[index],
            y=None if self.y is None else self.y[index],
            weights=None if self.weights is None else self.weights[index],
        )

    def columns(self, index: list[int]) -> Dataset:
        """The same rows, only these columns. ``index``: column numbers."""
        reading = self.reading
        return replace(
            self,
            X=self.X[:, index],
            names=None if self.names is None else [self.names[j] for j in index],
            levels=None if self.levels is None else [self.levels[j] for j in index],
            reading=None if reading is None else reading._replace(styles=[reading.styles[j] for j in index]),
        )

    def __str__(self) -> str:
        target = "" if self.y is None else f", target {self.target!r}" if self.target else ", with labels"
        where = "" if self.path is None else f" of {self.path}"
        return f"{self.n_rows:,} rows and {self.n_features:,} columns{where}{target}"


@dataclass(frozen=True)
class Expected:
    """What a trained model expects of a file: its columns, its label column, the type of its labels."""

    n_features: int
    names: list[str] | None = None
    target: str | None = None
    label_kind: str | None = None
    categories: frozenset[int] = frozenset()  # columns of texts
    typed: bool = False  # missing values and texts are features of the model
    encoding: Any = None  # how columns become features (`Encoding`)
    dtype: str = "float64"  # that numbers are read as
    split: Mapping[str, Any] | None = None  # rows, share and seed: which rows of the file were trained on
    styles: Mapping[int, Style] = field(default_factory=dict)  # how columns were written that are no plain numbers
    target_style: Style | None = None
    missing: frozenset[str] = frozenset()  # words for no value that were given
    classes: tuple[Any, ...] = ()
    weights: str | None = None  # the name of the column of weights

    @property
    def label_style(self) -> Style:
        from gapless.files.cells.cells import Style

        return self.target_style or Style()

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Expected:
        """Read off a model document (`judge.read(path)[0]`)."""
        kind = "float" if document["classes"] is None else document["classes"]["type"]
        classes = tuple(document["classes"]["values"]) if kind == "str" else ()
        given, origin = document.get("input"), document.get("origin") or {"dtype": "float64", "split": None}
        if given is None:
            return cls(
                n_features=int(document["n_features"]),
                names=document.get("feature_names"),
                target=document.get("target"),
                label_kind=kind,
                dtype=origin["dtype"],
                split=origin["split"],
                classes=classes,
                weights=origin.get("weights"),
            )
        from gapless.files.encoding import Encoding

        reading = Encoding.of_document(given).reading()
        names = [column["name"] for column in given["columns"]]
        return cls(
            n_features=len(names),
            names=None if None in names else names,
            target=document.get("target"),
            label_kind=kind,
            categories=frozenset(j for j, column in enumerate(given["columns"]) if column["kind"] == "category"),
            typed=True,
            encoding=Encoding.of_document(given),
            dtype=given["dtype"],
            split=origin["split"],
            styles={k: style for k, style in enumerate(reading.styles) if style is not None},
            target_style=reading.target,
            missing=reading.missing,
            classes=classes,
            weights=origin.get("weights"),
        )

    @classmethod
    def from_model(cls, model: Any) -> Expected:
        """Of a model that was loaded, or fitted."""
        document = dict(model.certificate_.document())
        encoding = getattr(model, "encoding_", None)
        if encoding is not None:
            document["input"] = encoding.document()
        return cls.from_document(document)


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
        mode = os.stat(text).st_mode
        if stat.S_ISDIR(mode):
            raise data_error("is a directory; give the name of a data file in it", text)
        if not stat.S_ISREG(mode):
            raise data_error("is not a regular file", text)
        with open(text, "rb") as stream:
            start = stream.read(16)
    except ValueError as error:  # a path with a NUL byte
        if isinstance(error, DataError):
            raise
        raise data_error(f"not a usable path ({error})", text) from None
    except (FileNotFoundError, NotADirectoryError):
        raise data_error("no such file", text) from None
    except OSError as error:
        raise data_error(f"cannot be read ({error.strerror or error})", text) from None
    if not start:
        raise data_error("the file is empty", text)
    for magic, what in MAGICS.items():
        if start.startswith(magic):
            raise data_error(what, text)
    return text


def undecodable(path: str, encoding: str | None = None) -> DataError:
    """The error for a file that is not in its encoding, with the first line that is not."""
    if encoding is not None:
        return data_error(f"is not {encoding} text", path)
    with open(path, "rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                told = f"not UTF-8 text (byte 0x{line[error.start]:02x}); save the file as UTF-8, or say its encoding"
                return data_error(f"{told} (--encoding cp1252 is the usual one)", path, number)
    return data_error("not UTF-8 text", path)


def listed(names: list[str], most: int = 8) -> str:
    """'a', 'b', 'c' and 4 more."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
