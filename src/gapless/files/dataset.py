"""What a data file gives: rows, labels, names, weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from gapless._runtime.results import result

if TYPE_CHECKING:  # Style is no public name: what resolves at run time would have to stand in docs/api.md
    from gapless.files.cells.cells import Style

Labels = Literal["required", "optional"]


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


def keep_labelled(data: Dataset, kept: np.ndarray, name: str | int, labels: Labels) -> Dataset:
    """The rows that have a label; where labels are optional: all rows, without any. What is left out is told."""
    without = f"{name!r}: the label is missing in {data.n_rows - len(kept)} of {data.n_rows} rows"
    if labels == "optional":
        return replace(data, y=None, told=(*data.told, f"{without}: no error is given"))
    return replace(data.rows(kept), told=(*data.told, f"{without}, which are left out"))
