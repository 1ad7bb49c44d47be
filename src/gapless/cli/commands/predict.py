"""gapless predict: the labels of new rows, or the values of a regression, as CSV."""

from __future__ import annotations

import csv
import io
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import gapless
from gapless.cli import options
from gapless.cli.guard import guarded, say
from gapless.cli.interval import Split
from gapless.cli.output import print_json


@guarded
def predict(
    context: typer.Context,
    model: options.Model,
    data: options.Data,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="CSV file for the predictions [default: stdout].")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add a column of probability for each class.")] = False,
    target: options.Target = None,
    drop: options.Drop = None,
    header: options.Header = None,
    format: options.Format = "auto",
    index_base: options.IndexBase = None,
    encoding: options.Encoding = None,
    decimal: options.Decimal = None,
    date_order: options.DateOrder = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Predict the label of every row. Columns are matched by the model's names; labels are not needed."""
    estimator = gapless.load(model)
    if proba and not hasattr(estimator, "predict_proba"):
        raise typer.BadParameter(
            f"--proba: {type(estimator).__name__} gives no probabilities; train with --model logistic"
        )
    reading = options.Reading.from_command(context)
    rows = options.read(data, reading, labels="optional", expected=gapless.files.Expected.from_model(estimator))
    labels, classes = estimator.predict(rows.X), getattr(estimator, "classes_", None)
    chances = estimator.predict_proba(rows.X) if proba else None
    errors = None if rows.y is None else Split.from_model(estimator, rows.X, rows.y, labels)
    if out is not None:
        gapless.files.atomic_write.write_whole(out, _to_csv(labels, chances, classes).encode("utf-8"))
    if json:
        document: dict[str, Any] = {
            "command": "predict",
            "model": os.fspath(model),
            "data": os.fspath(data),
            "rows": rows.n_rows,
            "classes": None if classes is None else classes.tolist(),
            "predictions": labels.tolist() if out is None else None,
            "out": None if out is None else os.fspath(out),
            **({"test": None} if errors is None else errors.document()),
            **({} if chances is None or out is not None else {"probabilities": chances.tolist()}),
        }
        print_json(document)
        return
    _tell(_to_csv(labels, chances, classes), rows.n_rows, out, errors)


def _tell(predictions: str, n_rows: int, out: Path | None, errors: Any) -> None:
    """Print the predictions, or where they are; the errors, where the file has labels."""
    if out is None:
        sys.stdout.write(predictions)
        sys.stdout.flush()
    else:
        say(f"{n_rows} predictions written to {out}")
    if errors is not None:
        say(f"the file has labels: {errors}")


def _to_csv(labels: Any, chances: Any, classes: Any) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    heads = ["prediction"] if labels.ndim == 1 else [f"prediction {k + 1}" for k in range(labels.shape[1])]
    writer.writerow([*heads, *([] if chances is None else [f"P({c})" for c in classes.tolist()])])
    if chances is None:
        writer.writerows(label if isinstance(label, list) else [label] for label in labels.tolist())
    else:
        writer.writerows([label, *row] for label, row in zip(labels.tolist(), chances.tolist(), strict=True))
    return stream.getvalue()
