"""gapless report: one HTML page that tells the whole story of a model."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

import gapless
from gapless.cli import numbers, options
from gapless.cli.commands import fit_options
from gapless.cli.guard import guarded
from gapless.cli.holdout import split_rows
from gapless.cli.origin import READING, make_command, place, typed
from gapless.cli.output import print_json, print_line


@guarded
def report(
    context: typer.Context,
    model: options.Model,
    data: options.Data,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Where the page goes; a name that ends in .md gets a model card in Markdown."),
    ] = Path("report.html"),
    test: fit_options.TestFile = None,
    delta: numbers.Delta = 0.05,
    tried: Annotated[int, typer.Option(help="Settings that the training rows chose among.", min=1)] = 1,
    tested: Annotated[int, typer.Option(help="Models that the test rows compared.", min=1)] = 1,
    title: Annotated[str | None, typer.Option(help="Title of the page.", show_default=False)] = None,
    pictures: Annotated[bool, typer.Option("--pictures/--no-pictures", help="Pictures need matplotlib.")] = True,
    target: options.Target = None,
    weights: options.Weights = None,
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
    """Write one self-contained page: the model, both gaps, errors, bounds, features, and how to check it all."""
    if test is not None and holdout is not None:
        raise typer.BadParameter("--test and --holdout exclude each other")
    estimator = gapless.load(model)
    expected, reading = gapless.files.Expected.from_model(estimator), options.Reading.from_command(context)
    rows = options.read(data, reading, expected=expected)
    rows, new = split_rows(rows, expected, holdout, seed)
    if test is not None:
        new = options.read(test, reading.without_weights(), expected=expected)
    page = gapless.report(
        estimator, rows.X, rows.y,
        X_test=None if new is None else new.X,
        y_test=None if new is None else new.y,
        sample_weight=rows.weights, file=out, title=title, feature_names=rows.names, delta=delta, tried=tried, tested=tested,
        pictures=pictures, data_name=options.file_name(data), test_name=None if test is None else os.fspath(test),
        commands=_commands(context, estimator, model, data, out),
    )  # fmt: skip
    size = len(page.text.encode("utf-8"))
    if json:
        files = {"model": os.fspath(model), "data": os.fspath(data), "out": os.fspath(out)}
        print_json({"command": "report", **files, "bytes": size})
    else:
        print_line(
            "page",
            f"{out}: {size:,} bytes, "
            + ("opens in any browser, asks no host for anything" if page.html else "a model card in Markdown"),
        )


def _commands(context: typer.Context, estimator: Any, model: Path, data: Path, out: Path) -> tuple[str, str, str]:
    """How to make such a model again, by the command that did or in Python; how to check this one; how to make this page."""
    from gapless.pages.sections.origin import call_of  # with numpy, which the help does without

    told = typed(context, (*READING, "target", "drop", "holdout", "seed"))
    made = (estimator.certificate_.statement.get("origin") or {}).get("command")
    make = (
        make_command(made, model)
        if made
        else (
            f"import gapless\n\nmodel = {call_of(estimator)}.fit(X, y)  # the rows of {shlex.quote(place(data))}{told}\n"
            f"gapless.save(model, {os.fspath(model)!r})"
        )
    )
    check = f"{shlex.join(['gapless', 'verify', place(model), place(data)])}{told}"
    return make, check, make_command(typed(context), out)
