"""gapless tune: choose parameters by cross-validation on a data file, fit, certify, save."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gapless.cli import options
from gapless.cli.guard import INTERRUPTED, OK, guarded
from gapless.cli.output import figures, line, print_json


class Kind(StrEnum):
    kernel = "kernel"
    svm = "svm"
    logistic = "logistic"
    ridge = "ridge"


class Method(StrEnum):
    grid = "grid"
    bisection = "bisection"
    bayes = "bayes"
    random = "random"


ESTIMATORS = {Kind.kernel: "SVC", Kind.svm: "LinearSVC", Kind.logistic: "LogisticRegression", Kind.ridge: "Ridge"}

Values = Annotated[
    list[str] | None,
    typer.Option(
        "--grid", help="name=v1,v2,... or name=low:high:points (equal ratios); repeat it [default: C, gamma, alpha].",
        show_default=False,
    ),
]  # fmt: skip


@guarded
def tune(
    data: options.Data,
    model: Annotated[
        Kind, typer.Option(help="SVC (Gaussian kernel), LinearSVC, LogisticRegression, Ridge.")
    ] = Kind.kernel,
    grid: Values = None,
    method: Annotated[Method, typer.Option(help="bayes needs the extra gapless[tune].")] = Method.grid,
    folds: Annotated[int, typer.Option(help="Folds of the cross-validation.", min=2)] = 5,
    n_iter: Annotated[
        int | None,
        typer.Option(help="Candidates that bayes and random visit [default: a quarter].", show_default=False),
    ] = None,
    scale: Annotated[bool, typer.Option("--scale", help="Standardise the columns, inside each fold.")] = False,
    scoring: Annotated[str | None, typer.Option(help="A score of scikit-learn by name.", show_default=False)] = None,
    time_limit: Annotated[float | None, typer.Option(help="Most seconds of the search.", show_default=False)] = None,
    file: Annotated[
        Path | None, typer.Option(help="Keeps the scores; a killed search goes on from it.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the model.", show_default=False)] = None,
    n_jobs: Annotated[int, typer.Option(help="Threads; -1: all cores.")] = -1,
    target: options.Target = None,
    weights: options.Weights = None,
    drop: options.Drop = None,
    seed: Annotated[int, typer.Option(help="Draws the folds.", min=0, max=2**32 - 1)] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    header: options.Header = None,
    format: options.Format = "auto",
    index_base: options.IndexBase = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Choose C, gamma or alpha by cross-validation; fit, certify, save. Ctrl-C fits the best so far."""
    import gapless

    rows = options.read(
        data, target=target, weights=weights, drop=drop, header=header, format=format, index_base=index_base
    )
    if model is Kind.ridge and rows.y.dtype.kind not in "fiu":
        raise typer.BadParameter(f"--model ridge: the column {rows.target!r} does not hold numbers")
    if scale and out is not None:
        raise typer.BadParameter("--scale makes a pipeline, which a model file does not hold: leave --out away")
    estimator = getattr(gapless, ESTIMATORS[model])()
    prefix = ""
    if scale:
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        prefix = f"{type(estimator).__name__.lower()}__"
        estimator = make_pipeline(StandardScaler(), estimator)
    if not json:
        line("data", f"{data}: {rows.n_rows} rows, {rows.n_features} features ({', '.join(rows.notes)})")
    found = gapless.tune(
        estimator, rows.X, rows.y, _grid(grid, prefix), method=method.value, cv=folds, scoring=scoring,
        sample_weight=rows.weights, n_iter=n_iter, time_limit=time_limit, progress=not quiet, file=file, seed=seed,
        n_jobs=n_jobs,
    )  # fmt: skip
    tuning = found.tuning_
    last = found.steps[-1][1] if scale else found
    if out is not None:
        if rows.names is not None:
            import numpy as np

            last.feature_names_in_ = np.asarray(rows.names, dtype=object)
        gapless.save(last, out, target=rows.target)
    code = INTERRUPTED if tuning.status == "interrupted" else OK
    if json:
        print_json(
            {
                "command": "tune",
                "data": os.fspath(data),
                "estimator": type(last).__name__,
                "method": tuning.method,
                "status": tuning.status,
                "candidates": tuning.n_candidates,
                "visited": tuning.n_visited,
                "fits": tuning.n_fits,
                "seconds": tuning.seconds,
                "params": tuning.best_params,
                "score": tuning.best_score,
                "table": tuning.table,
                "certificate": figures(last.certificate_),
                "model": None if out is None else os.fspath(out),
                "exit": code,
            }
        )
        raise typer.Exit(code)
    for label, text in zip(("chosen", "search", "", ""), str(tuning).splitlines()):
        line(label, text)
    for row in tuning.table[1:4]:
        told = ", ".join(f"{k}={v:.6g}" if isinstance(v, float) else f"{k}={v}" for k, v in row["params"].items())
        line("next best", f"{row['score']:.6g} at {told}")
    line("certificate", last.certificate_)
    if out is not None:
        line("saved", f"{out} (status {last.certificate_.status})")
        line("next", f"gapless verify {out} {data}" + (f" --weights {weights}" if weights is not None else ""))
    raise typer.Exit(code)


def _grid(given: list[str] | None, prefix: str) -> dict[str, list[Any]] | None:
    """name=v1,v2 or name=low:high:points, as numbers where they are."""
    if not given:
        return None
    found: dict[str, list[Any]] = {}
    for text in given:
        name, sign, values = text.partition("=")
        if not sign or not name or not values:
            raise typer.BadParameter(f"--grid {text}: write name=v1,v2,... or name=low:high:points")
        found[prefix + name] = _range(text, values) if ":" in values else [_value(v) for v in values.split(",")]
    return found


def _range(text: str, values: str) -> list[float]:
    import numpy as np

    try:
        low, high, points = values.split(":")
        if not 0.0 < float(low) < float(high) or int(points) < 2:
            raise ValueError
        return np.geomspace(float(low), float(high), int(points)).tolist()
    except ValueError:
        raise typer.BadParameter(f"--grid {text}: low:high:points needs 0 < low < high and at least 2 points") from None


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"None": None, "True": True, "False": False}.get(text, text)
