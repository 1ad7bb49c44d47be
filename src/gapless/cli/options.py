"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

Data = Annotated[Path, typer.Argument(help="CSV, TSV, svmlight or npz file.", show_default=False)]
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
    str, typer.Option("--format", help="csv, svmlight or npz; auto looks at the name and the first line.")
]
IndexBase = Annotated[
    int | None, typer.Option(help="svmlight indices count from 0 or 1; found if not said.", min=0, max=1)
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, and nothing else.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Holdout = Annotated[
    float | None,
    typer.Option(help="Share of the rows kept out of training, drawn by --seed.", show_default=False),
]
Test = Annotated[
    Path | None, typer.Option(help="File of rows that were not trained on, read as the data are.", show_default=False)
]
Seed = Annotated[int, typer.Option(help="Draws the rows of --holdout.", min=0, max=2**32 - 1)]


def column(text: str | None) -> str | int | None:
    """A column as typed: a number from 1 (negative: from the end) becomes a position, the rest is a name."""
    if text is None:
        return None
    try:
        number = int(text)
    except ValueError:
        return text
    if number == 0:
        raise typer.BadParameter("columns count from 1 (or from the end: -1 is the last)")
    return number - 1 if number > 0 else number


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
) -> Any:
    """A Dataset by the options of the command line."""
    from gapless.files.read import read_data

    if format not in ("auto", "csv", "svmlight", "npz"):
        raise typer.BadParameter(f"--format {format} is not one of auto, csv, svmlight, npz")
    return read_data(
        path,
        format=format,  # type: ignore[arg-type]
        target=column(target),
        weights=column(weights),
        drop=[name for name in map(column, drop or []) if name is not None],
        header=header,
        zero_based=None if index_base is None else index_base == 0,
        labels=labels,  # type: ignore[arg-type]
        expected=expected,
    )


def split(n: int, share: float, seed: int) -> tuple[Any, Any]:
    """Row numbers (training, held out): drawn without looking at the labels, the same on every machine."""
    import numpy as np

    held = round(n * share)
    if not 0.0 < share < 1.0 or not 0 < held < n:
        raise typer.BadParameter(f"--holdout {share:g} of {n} rows leaves an empty part")
    # RandomState, because its stream is frozen: `verify` must find the same rows again with any numpy.
    order = np.random.RandomState(seed).permutation(n)
    return np.sort(order[held:]), np.sort(order[:held])
