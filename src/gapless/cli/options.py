"""Options that several commands share."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from gapless.cli import numbers
from gapless.cli.guard import say

Data = Annotated[
    Path,
    typer.Argument(help="CSV, TSV, Parquet, Arrow, svmlight or npz file; - is standard input.", show_default=False),
]
Model = Annotated[Path, typer.Argument(help="Model file written by `gapless train`.", show_default=False)]
Target = Annotated[
    str | None,
    typer.Option(help="Label column: its name, or its number from 1 (-1: the last).", show_default=False),
]
Weights = Annotated[str | None, typer.Option(help="Column of sample weights (name or number).", show_default=False)]
Drop = Annotated[
    list[str] | None,
    typer.Option(help="Column to leave out (name or number); repeat it.", show_default=False),
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line holds names; found if not said."),
]
Format = Annotated[
    str,
    typer.Option("--format", help="csv, parquet, arrow, svmlight or npz; auto looks at the name and the first line."),
]
Category = Annotated[
    list[str] | None,
    typer.Option(help="Column of texts, whatever it holds (name or number); repeat it.", show_default=False),
]
Number = Annotated[
    list[str] | None,
    typer.Option(help="Column of numbers, whatever else it holds (name or number); repeat it.", show_default=False),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(help="Column that stays in though it looks like a name of the row; repeat it.", show_default=False),
]
Decimal = Annotated[
    str | None, typer.Option(help="Decimal mark, . or , [default: found for each column].", show_default=False)
]
DateOrder = Annotated[
    str | None, typer.Option(help="3/4/2020: dmy or mdy [default: found for each column].", show_default=False)
]
Missing = Annotated[
    str | None,
    typer.Option(help="Words for no value besides the usual ones, as -999,refused.", show_default=False),
]
Encoding = Annotated[str | None, typer.Option(help="Of the text, as cp1252 [default: found].", show_default=False)]
Float32 = Annotated[bool, typer.Option("--float32", help="Half the memory: numbers as float32.")]
IndexBase = Annotated[
    int | None, typer.Option(help="svmlight indices count from 0 or 1; found if not said.", min=0, max=1)
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, and nothing else.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Holdout = Annotated[
    float | None,
    typer.Option(
        help="Share of the rows kept out of training, drawn by --seed.",
        parser=numbers.between_0_and_1,
        metavar="NUMBER",
        show_default=False,
    ),
]
Test = Annotated[
    Path | None, typer.Option(help="File of rows that were not trained on, read as the data are.", show_default=False)
]
Seed = Annotated[int, typer.Option(help="Draws the rows of --holdout.", min=0, max=2**32 - 1)]


def column(text: str | None) -> str | int | None:
    """A column as typed: a number from 1 (negative: from the end) becomes a position, the rest is a name."""
    if text is None:
        return None
    from gapless.files.csv.columns import Numbered

    try:
        number = int(text)
    except ValueError:
        return text
    if number == 0:
        raise typer.BadParameter("columns count from 1 (or from the end: -1 is the last)")
    return Numbered(number - 1 if number > 0 else number, text.strip())


def read(
    path: Path,
    *,
    format: str = "auto",
    target: str | None = None,
    weights: str | None = None,
    drop: list[str] | None = None,
    header: bool | None = None,
    index_base: int | None = None,
    labels: str = "required",
    expected: Any = None,
    typed: bool = False,
    category: list[str] | None = None,
    number: list[str] | None = None,
    keep: list[str] | None = None,
    decimal: str | None = None,
    date_order: str | None = None,
    missing: str | None = None,
    encoding: str | None = None,
    float32: bool = False,
) -> Any:
    """A Dataset by the options of the command line; of a model with an encoding, its features."""
    from gapless.files.read import FORMATS, read_data

    if format not in FORMATS:
        raise typer.BadParameter(f"--format {format} is not one of {', '.join(FORMATS)}")
    for option, value, words in (("--decimal", decimal, (".", ",")), ("--date-order", date_order, ("dmy", "mdy"))):
        if value is not None and value not in words:
            raise typer.BadParameter(f"{option} {value} is not one of {' '.join(words)}")
    with _file(path) as place:
        try:
            data = read_data(
                place,
                format=format,  # type: ignore[arg-type]
                target=column(target),
                weights=column(weights),
                drop=[name for name in map(column, drop or []) if name is not None],
                header=header,
                zero_based=None if index_base is None else index_base == 0,
                labels=labels,  # type: ignore[arg-type]
                expected=expected,
                typed=typed,
                categories=[name for name in map(column, category or []) if name is not None],
                numbers=[name for name in map(column, number or []) if name is not None],
                decimal=decimal,
                date_order=date_order,
                missing=[] if missing is None else [word.strip() for word in missing.split(",")],
                encoding=encoding,
                dtype="float32" if float32 or (expected and expected.dtype == "float32") else "float64",
            )
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


def kept(keep: list[str] | None, names: list[str]) -> set[int]:
    """The columns of --keep that there are."""
    asked = [column(name) for name in keep or []]
    known = [names.index(name) if isinstance(name, str) and name in names else name for name in asked]
    if unknown := [name for name in known if not isinstance(name, int) or not -len(names) <= name < len(names)]:
        raise typer.BadParameter(f"--keep {unknown[0]}: there is no such column")
    return {int(place) % len(names) for place in known if place is not None}


def name_of(path: Path) -> str:
    """A data file in words."""
    return "standard input" if os.fspath(path) == "-" else os.fspath(path)


@contextmanager
def _file(path: Path) -> Iterator[str]:
    """The path, or for `-` a temporary file with what comes in: formats are found by looking at the beginning first."""
    if os.fspath(path) != "-":
        yield os.fspath(path)
        return
    with tempfile.TemporaryDirectory(prefix="gapless-") as folder:
        place = os.path.join(folder, "stdin")
        with open(place, "wb") as out:
            shutil.copyfileobj(sys.stdin.buffer, out, 1 << 20)
        yield place


def parts(rows: Any, expected: Any, holdout: float | None, seed: int) -> tuple[Any, Any]:
    """Training rows and held-out ones (or None): as asked, or as the model's file says of the whole table."""
    known = expected.split
    if holdout is None and known is not None and known["rows"] == rows.n_rows:
        holdout, seed = known["share"], known["seed"]
        say(f"{holdout:g} of the rows were held out of training (seed {seed}), as the model says")
    if holdout is None:
        return rows, None
    kept, held = split(rows.n_rows, holdout, seed)
    return rows.rows(kept), rows.rows(held)


def split(n: int, share: float, seed: int) -> tuple[Any, Any]:
    """Row numbers (training, held out): drawn without looking at the labels, the same on every machine."""
    import numpy as np

    held = round(n * share)
    if not 0.0 < share < 1.0 or not 0 < held < n:
        raise ValueError(f"--holdout {share:g} of {n} rows leaves an empty part")
    # RandomState, because its stream is frozen: `verify` must find the same rows again with any numpy.
    order = np.random.RandomState(seed).permutation(n)
    return np.sort(order[held:]), np.sort(order[:held])


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
