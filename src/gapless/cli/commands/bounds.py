"""gapless bounds: how wrong a model can be on new rows, every statement that its rows allow, tightest first."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

import gapless
from gapless.cli import numbers, options
from gapless.cli.guard import guarded, say
from gapless.cli.holdout import split_rows
from gapless.cli.output import print_json, print_line


@guarded
def bounds(
    context: typer.Context,
    model: options.Model,
    data: options.Data,
    delta: numbers.Delta = 0.05,
    test: options.Test = None,
    tried: Annotated[
        int | None,
        typer.Option(
            help="Settings that the rows may have chosen from [default: those of tune, else 1].",
            min=1,
            show_default=False,
        ),
    ] = None,
    tested: Annotated[
        int | None,
        typer.Option(help="Models that were compared on the test rows [default: 1].", min=1, show_default=False),
    ] = None,
    save: Annotated[
        bool, typer.Option("--save", help="Write the table into the model file, where `gapless verify` checks it.")
    ] = False,
    target: options.Target = None,
    drop: options.Drop = None,
    holdout: options.Holdout = None,
    seed: options.Seed = 0,
    header: options.Header = None,
    format: options.Format = "auto",
    index_base: options.IndexBase = None,
    encoding: options.Encoding = None,
    decimal: options.Decimal = None,
    date_order: options.DateOrder = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Bound the error on new rows, from the rows that the model was trained on and, if there are any, test rows."""
    if test is not None and holdout is not None:
        raise typer.BadParameter("--test and --holdout exclude each other")
    estimator = gapless.load(model)
    expected, reading = gapless.files.Expected.from_model(estimator), options.Reading.from_command(context)
    rows = options.read(data, reading, expected=expected)
    new = None if test is None else options.read(test, reading, expected=expected)
    rows, held = split_rows(rows, expected, holdout, seed)
    new = held if new is None else new
    X_test, y_test = (None, None) if new is None else (new.X, new.y)
    table = gapless.bounds(estimator, rows.X, rows.y, delta, X_test, y_test, tried, tested=tested)
    if save:
        gapless.save(estimator, model)
        say(f"the table was written into {model}")
    if json:
        told = {"command": "bounds", "model": os.fspath(model), "data": os.fspath(data), "saved": save}
        print_json(told | {"bounds": table.document()})
        return
    _tell(table, delta)


def _tell(table: Any, delta: float) -> None:
    """Print a line for each bound, the refused methods with their reasons, and the assumptions."""
    print_line("on new rows", f"together, but for a failure of probability {delta:g}:")
    for row in table.rows:
        how = "in expectation" if row.delta is None else f"delta {row.delta:.3g}"
        print_line("", f"{'vacuous' if row.vacuous else f'{row.value:.6g}'}  {row.method} ({how}): {row.what}")
    for method, reason in table.refused.items():
        print_line("refused", f"{method}: {reason}")
    if table.rows:
        print_line("assuming", "; ".join(dict.fromkeys(text for row in table.rows for text in row.assumes)))
