"""gapless verify: recompute every claim of a model file from the data."""

from __future__ import annotations

import json as json_module
import os
from dataclasses import replace
from typing import Annotated, Any

import typer

import gapless
from gapless.cli import options
from gapless.cli.guard import Code, guarded
from gapless.cli.holdout import split_rows
from gapless.cli.output import print_json


@guarded
def verify(
    context: typer.Context,
    model: options.Model,
    data: options.Data,
    rigorous: Annotated[
        bool, typer.Option("--rigorous", help="Bounds that hold in exact arithmetic, by rounding analysis.")
    ] = False,
    exact: Annotated[bool, typer.Option("--exact", help="Rational arithmetic: slow, for small data.")] = False,
    test: options.Test = None,
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
    """Check a model against its training data: the judge recomputes primal, dual and gap by itself."""
    if rigorous and exact:
        raise typer.BadParameter("--rigorous and --exact exclude each other")
    document, arrays = gapless.judge.read(model)
    expected, reading = gapless.files.Expected.from_document(document), options.Reading.from_command(context)
    rows = options.read(data, reading, expected=expected)
    new = None if test is None else options.read(test, replace(reading, weights=None), expected=expected)
    rows, held = split_rows(rows, expected, holdout, seed)
    new = held if new is None else new
    tier: Any = "exact" if exact else rigorous
    fresh = (None, None) if new is None else (new.X, new.y)
    verdict = gapless.judge.check(document, arrays, rows.X, rows.y, rows.weights, tier, *fresh)
    if json:
        told = verdict.to_json()
        told = json_module.loads(told) if isinstance(told, str) else told
        print_json(
            {"command": "verify", "model": os.fspath(model), "data": os.fspath(data), "holds": bool(verdict)}
            | {"verdict": told}
        )
    else:
        print(verdict, flush=True)
    if not verdict:
        raise typer.Exit(Code.false)
