"""Options that several commands share."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

import typer

import gapless
from gapless.cli import numbers
from gapless.cli.guard import say

Data = Annotated[
    Path,
    typer.Argument(help="CSV, TSV, Parquet, Arrow, svmlight or npz file; - is standard input.", show_default=False),
]
Model = Annotated[Path, typer.Argument(help="Model file written by `gapless train`.", show_default=False)]
Target = Annotated[str | None, numbers.bare_option(help="Label column: its name, or its number from 1 (-1: the last).")]
Weights = Annotated[str | None, numbers.bare_option(help="Column of sample weights (name or number).")]
Drop = Annotated[list[str] | None, numbers.bare_option(help="Column to leave out (name or number); repeat it.")]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether the first line holds names; found if not said.")
]
Format = Annotated[
    str,
    typer.Option("--format", help="csv, parquet, arrow, svmlight or npz; auto looks at the name and the first line."),
]
Category = Annotated[
    list[str] | None, numbers.bare_option(help="Column of texts, whatever it holds (name or number); repeat it.")
]
Number = Annotated[
    list[str] | None, numbers.bare_option(help="Column of numbers, whatever else it holds (name or number); repeat it.")
]
Keep = Annotated[
    list[str] | None,
    numbers.bare_option(help="Column that stays in though it looks like a name of the row; repeat it."),
]
Decimal = Annotated[str | None, numbers.bare_option(help="Decimal mark, . or , [default: found for each column].")]
DateOrder = Annotated[str | None, numbers.bare_option(help="3/4/2020: dmy or mdy [default: found for each column].")]
Missing = Annotated[str | None, numbers.bare_option(help="Words for no value besides the usual ones, as -999,refused.")]
Encoding = Annotated[str | None, numbers.bare_option(help="Of the text, as cp1252 [default: found].")]
Float32 = Annotated[bool, typer.Option("--float32", help="Half the memory: numbers as float32.")]
IndexBase = Annotated[
    int | None, typer.Option(help="svmlight indices count from 0 or 1; found if not said.", min=0, max=1)
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, and nothing else.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Holdout = Annotated[
    float | None,
    numbers.number_option(
        help="Share of the rows kept out of training, drawn by --seed.", parser=numbers.between_0_and_1
    ),
]
Test = Annotated[Path | None, numbers.bare_option(help="File of rows that were not trained on, read as the data are.")]
Seed = Annotated[int, typer.Option(help="Draws the rows of --holdout.", min=0, max=2**32 - 1)]


def parse_column(text: str) -> str | int:
    """A column as typed: a number from 1 (negative: from the end) becomes a position, any other text is a name."""
    try:
        number = int(text)
    except ValueError:
        return text
    if number == 0:
        raise typer.BadParameter("columns count from 1 (or from the end: -1 is the last)")
    return gapless.files.csv.columns.Numbered(number - 1 if number > 0 else number, text.strip())


@dataclass(frozen=True)
class Reading:
    """How a data file is read: the options above, as they were typed.

    A command lists its options in its signature, for the help; `from_command` collects them.
    """

    target: str | None = None
    weights: str | None = None
    drop: Sequence[str] = ()
    header: bool | None = None
    format: str = "auto"
    index_base: int | None = None
    category: Sequence[str] = ()
    number: Sequence[str] = ()
    keep: Sequence[str] = ()
    decimal: str | None = None
    date_order: str | None = None
    missing: str | None = None
    encoding: str | None = None
    float32: bool = False

    @classmethod
    def from_command(cls, context: typer.Context) -> Reading:
        """The reading options of a command line; an option that the command lacks keeps its default."""
        given = {each.name: context.params.get(each.name) for each in fields(cls)}
        return cls(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]

    def without_weights(self) -> Reading:
        """The same for rows to test on, which have no weights: the column of weights is dropped."""
        return replace(self, weights=None, drop=(*self.drop, *(() if self.weights is None else (self.weights,))))

    def arguments(self) -> dict[str, Any]:
        """The arguments of `read_data`."""
        for option, value, words in (
            ("--format", self.format, ("auto", "csv", "parquet", "arrow", "svmlight", "npz")),
            ("--decimal", self.decimal, (".", ",")),
            ("--date-order", self.date_order, ("dmy", "mdy")),
        ):
            if value is not None and value not in words:
                listed = ", ".join(words) if option == "--format" else " ".join(words)
                raise typer.BadParameter(f"{option} {value} is not one of {listed}")
        return {
            "format": self.format,
            "target": None if self.target is None else parse_column(self.target),
            "weights": None if self.weights is None else parse_column(self.weights),
            "drop": [parse_column(name) for name in self.drop],
            "header": self.header,
            "zero_based": None if self.index_base is None else self.index_base == 0,
            "categories": [parse_column(name) for name in self.category],
            "numbers": [parse_column(name) for name in self.number],
            "decimal": self.decimal,
            "date_order": self.date_order,
            "missing": [] if self.missing is None else [word.strip() for word in self.missing.split(",")],
            "encoding": self.encoding,
        }


def read(
    path: Path, reading: Reading | None = None, *, labels: str = "required", expected: Any = None, typed: bool = False
) -> Any:
    """Read a Dataset by the options of the command line; for a model with an encoding, its features."""
    reading = Reading() if reading is None else reading
    arguments = reading.arguments()
    dtype = "float32" if reading.float32 or (expected and expected.dtype == "float32") else "float64"
    with _regular_file(path) as place:
        try:
            data = gapless.read_data(
                place, labels=labels, expected=expected, typed=typed, dtype=dtype, **arguments  # type: ignore[arg-type]
            )  # fmt: skip
        except ValueError as error:
            if place != os.fspath(path):
                raise type(error)(str(error).replace(place, "standard input")) from None
            raise
    if expected is not None:
        for told in data.told:
            say(told)
    if expected is None or expected.encoding is None:
        return data
    for told in expected.encoding.surprises(data):
        say(told)
    return expected.encoding.applied(data)


def kept_columns(keep: Sequence[str], names: list[str]) -> set[int]:
    """The column numbers of --keep; a column that does not exist is an error."""
    asked = [parse_column(name) for name in keep]
    known = [names.index(name) if isinstance(name, str) and name in names else name for name in asked]
    if unknown := [name for name in known if not isinstance(name, int) or not -len(names) <= name < len(names)]:
        raise typer.BadParameter(f"--keep {unknown[0]}: there is no such column")
    return {int(place) % len(names) for place in known}


def file_name(path: Path) -> str:
    """A data file in words."""
    return "standard input" if os.fspath(path) == "-" else os.fspath(path)


@contextmanager
def _regular_file(path: Path) -> Iterator[str]:
    """The path, or for `-` a temporary file with what comes in: formats are found by looking at the beginning first."""
    if os.fspath(path) != "-":
        yield os.fspath(path)
        return
    with tempfile.TemporaryDirectory(prefix="gapless-") as folder:
        place = os.path.join(folder, "stdin")
        with open(place, "wb") as out:
            shutil.copyfileobj(sys.stdin.buffer, out, 1 << 20)
        yield place


def check_out(out: Path, option: str = "--out") -> None:
    """Before a long fit, not after it: can the model be written there?"""
    folder = out.parent
    if not folder.is_dir():
        raise typer.BadParameter(f"{option} {out}: the folder {folder} does not exist")
    if out.is_dir():
        raise typer.BadParameter(f"{option} {out} is a directory; give the name of a file")
    if out.exists() and not out.is_file():
        raise typer.BadParameter(f"{option} {out} is a device or a pipe; give the name of a file")
    if not os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise typer.BadParameter(f"{option} {out}: the folder {folder} cannot be written to")
