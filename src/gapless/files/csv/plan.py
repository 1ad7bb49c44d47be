"""What the blocks of a CSV file are scanned for, and what comes out of all of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapless.files.cells.cells import Style, Tally
from gapless.files.cells.notation import COMMA
from gapless.files.csv.codes import KIND
from gapless.files.csv.columns import Roles


class Plan(NamedTuple):
    """What the blocks are scanned for."""

    path: str
    separator: str
    newline: str
    encoding: str
    names: list[str] | None
    kinds: np.ndarray  # of every column of the file
    place: np.ndarray  # of every column in X; negative: label and weights
    roles: Roles
    typed: bool
    fixed: bool  # the columns are a model's
    head: int  # bytes before the first row
    line: int  # of the file that the first row begins in
    record: float  # bytes of one, about
    end: int | None  # bytes of the file before what stands below the table
    styles: dict[int, Style]  # of columns that are no texts; others are plain numbers
    style: Style  # of the others
    missing: frozenset[str]  # words for no value besides the usual ones
    all_texts: frozenset[int]  # columns of texts however many there are
    regression: bool  # labels are numbers, whatever texts are among them

    @property
    def texts(self) -> list[int]:
        """The columns of texts, in the order of the file."""
        return [*(self.kinds >= KIND.text).nonzero()[0].tolist()]

    @property
    def numbers(self) -> list[int]:
        """The columns of numbers and dates."""
        return [*(self.kinds == KIND.number).nonzero()[0].tolist()]

    @property
    def commas(self) -> np.ndarray:
        """Of every column: whether its numbers have decimal commas."""
        found = np.zeros(self.kinds.size, dtype=bool)
        found[[j for j, style in self.styles.items() if style.kind == "number" and style.choice == COMMA]] = True
        return found & (self.kinds == KIND.number)

    def style_of(self, column: int) -> Style:
        return self.styles.get(column, self.style)

    def name(self, column: int) -> str | int:
        """The name of a column, or its number from 1."""
        return column + 1 if self.names is None else self.names[column]


class Problem(NamedTuple):
    offset: int  # bytes of the file before the record
    column: int  # -1: the whole record
    words: str


class Change(NamedTuple):
    """Columns that are of another kind than their first cells said."""

    kinds: dict[int, int]


class Table(NamedTuple):
    """All blocks: the rows, with the codes of each block's worker where a column holds texts, and what odd cells said."""

    X: np.ndarray
    extra: np.ndarray  # labels and weights
    whole: bool
    codes: list[tuple[int, int]]  # (rows, worker) of each block
    # Of each worker, of each column of texts: in the order of its codes; None is no value.
    texts: list[list[list[str | None]]]
    tallies: dict[int, Tally]
    bad: dict[int, Problem]  # the first cell of a column that is no number

    def column(self, plan: Plan, j: int) -> np.ndarray:
        """The numbers of a column."""
        return column_of(plan, j, self.X, self.extra)


def column_of(plan: Plan, j: int, X: np.ndarray, extra: np.ndarray) -> np.ndarray:
    """Where a column goes: to X, or to the labels and the weights."""
    to = int(plan.place[j])
    return X[:, to] if to >= 0 else extra[:, -1 - to]


def places(width: int, roles: Roles) -> np.ndarray:
    """The places of all columns of the file, for `Plan.place`."""
    place = np.zeros(width, dtype=np.int64)
    place[roles.features] = np.arange(len(roles.features))
    for column, at in ((roles.label, -1), (roles.weights, -2)):
        if column is not None:
            place[column] = at
    return place
