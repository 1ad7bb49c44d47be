"""gapless tune: choose parameters by cross-validation on a data file, fit, certify, save."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gapless.cli import numbers, options, origin, progress, table
from gapless.cli.copies import without_copies
from gapless.cli.guard import INTERRUPTED, OK, guarded, stop
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
    context: typer.Context,
    data: options.Data,
    model: Annotated[
        Kind, typer.Option(help="SVC (Gaussian kernel), LinearSVC, LogisticRegression, Ridge.")
    ] = Kind.kernel,
    grid: Values = None,
    method: Annotated[Method, typer.Option(help="bayes needs the extra gapless[tune].")] = Method.grid,
    folds: Annotated[int, typer.Option(help="Folds of the cross-validation.", min=2)] = 5,
    n_iter: Annotated[
        int | None,
        typer.Option(help="Candidates that bayes and random visit [default: a quarter].", min=1, show_default=False),
    ] = None,
    scale: Annotated[
        bool | None,
        typer.Option(
            "--scale/--no-scale",
            help="Standardise the columns [default: where there are texts or missing cells].",
            show_default=False,
        ),
    ] = None,
    scoring: Annotated[
        str | None,
        typer.Option(
            help="What chooses: error, balanced_error, auc, log_loss; rmse, mae, r2; or a scorer of scikit-learn by name.",
            show_default="error, r2",
        ),
    ] = None,
    time_limit: numbers.SearchSeconds = None,
    file: Annotated[
        Path | None, typer.Option(help="Keeps the scores; a killed search goes on from it.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to write the model.", show_default=False)
    ] = None,
    n_jobs: Annotated[int, typer.Option(help="Threads; -1: all cores.")] = -1,
    target: options.Target = None,
    weights: options.Weights = None,
    drop: options.Drop = None,
    category: options.Category = None,
    number: options.Number = None,
    keep: options.Keep = None,
    decimal: options.Decimal = None,
    date_order: options.DateOrder = None,
    missing: options.Missing = None,
    test: Annotated[Path | None, typer.Option(help="File with rows to test on.", show_default=False)] = None,
    holdout: options.Holdout = None,
    seed: Annotated[int, typer.Option(help="Draws the folds, and the rows of --holdout.", min=0, max=2**32 - 1)] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    header: options.Header = None,
    format: options.Format = "auto",
    index_base: options.IndexBase = None,
    encoding: options.Encoding = None,
    float32: options.Float32 = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Choose C, gamma or alpha by cross-validation; fit, certify, save. Ctrl-C fits the best so far."""
    most_apart = 100.0  # times that columns differ in size before it is said
    if test is not None and holdout is not None:
        raise typer.BadParameter("--test and --holdout exclude each other")
    candidates = _grid(grid)
    if scoring is not None:
        from gapless.cli.scoring import scikit_name

        scoring = scikit_name(scoring, labels=model is not Kind.ridge)
    if out is not None:
        options.check_out(out)
    import gapless
    from gapless.cli.interval import errors_of

    reading: dict[str, Any] = {
        "weights": weights, "drop": drop, "header": header, "format": format, "index_base": index_base,
        "encoding": encoding, "float32": float32, "number": number, "keep": keep, "decimal": decimal, "date_order": date_order,
        "missing": missing,
    }  # fmt: skip
    whole = options.read(data, target=target, typed=True, category=category, **reading)
    _check_target(whole, model)
    if scale and hasattr(whole.X, "indptr"):
        raise typer.BadParameter("--scale: the rows are sparse, and would not be after it; scale them in the file")
    rows = table.prepared(whole, data, scale=scale, reading=reading, test=test, holdout=holdout, seed=seed)
    if test is not None:
        rows = rows._replace(tested=without_copies(rows.data, rows.tested, os.fspath(test)))
    if not json:
        what = "features" if rows.encoding is None else f"columns, {rows.data.n_features} features"
        said = ", ".join([*whole.notes, *table.types(whole)])
        line("data", f"{data}: {whole.n_rows} rows, {whole.n_features} {what} ({said})")
        if holdout is not None:
            line("split", f"{rows.data.n_rows} rows to search and train, {rows.tested.n_rows} held out (seed {seed})")
        for told in whole.told:
            line("read", told)
        for told in rows.left_out:
            line("left out", told)
        if scale is None and rows.encoding is None and (differ := _sizes(rows.data.X)) > most_apart:
            line(
                "scale",
                f"the columns differ {differ:.0e} times in size, and the large ones decide: --scale standardises them",
            )
    try:
        with progress.search(quiet or json) as told_of:
            found = gapless.tune(
                getattr(gapless, ESTIMATORS[model])(), rows.data.X, rows.data.y, candidates, method=method.value, cv=folds,
                scoring=scoring, sample_weight=rows.data.weights, n_iter=n_iter, time_limit=time_limit,
                progress=told_of or False, file=file, seed=seed, n_jobs=n_jobs,
            )  # fmt: skip
    except TimeoutError:
        stop(
            f"--time-limit {time_limit:g}: no candidate was scored on all folds; give more time, fewer --folds or --model svm"
        )
    tuning, certificate = found.tuning_, found.certificate_
    if rows.encoding is None and rows.data.names is not None:
        import numpy as np

        found.feature_names_in_ = np.asarray(rows.data.names, dtype=object)
    if out is not None:
        origin.remember(found, context, rows)
        gapless.save(found, out, target=whole.target, encoding=rows.encoding)
    new = None
    if rows.tested is not None:
        new = errors_of(found.predict(rows.tested.X), rows.tested.y, hasattr(found, "classes_"))
    code = INTERRUPTED if tuning.status == "interrupted" else OK
    if json:
        print_json(
            {
                "command": "tune",
                "data": os.fspath(data),
                "rows": rows.data.n_rows,
                "features": rows.data.n_features,
                "target": whole.target,
                "notes": [*whole.notes, *table.types(whole), *whole.told],
                "left_out": rows.left_out,
                "estimator": type(found).__name__,
                "method": tuning.method,
                "status": tuning.status,
                "candidates": tuning.n_candidates,
                "visited": tuning.n_visited,
                "fits": tuning.n_fits,
                "seconds": tuning.seconds,
                "params": tuning.best_params,
                "score": tuning.best_score,
                "table": tuning.table,
                "certificate": figures(certificate),
                "test": None if new is None else new.document(interval=True),
                "model": None if out is None else os.fspath(out),
                "exit": code,
            }
        )
        raise typer.Exit(code)
    score = "R2" if model is Kind.ridge else "share of right answers"
    first, *others = str(tuning).splitlines()
    line("chosen", f"{first} ({score if scoring is None else scoring})")
    for label, text in zip(("search", "", ""), others):
        line(label, text)
    for row in tuning.table[1:4]:
        told = ", ".join(f"{k}={v:.6g}" if isinstance(v, float) else f"{k}={v}" for k, v in row["params"].items())
        line("next best", f"{row['score']:.6g} at {told}")
    line("certificate", certificate)
    if new is not None:
        line("test", f"error {new.with_interval()}, of the rows {'held out' if test is None else f'of {test}'}")
    if out is not None:
        line("saved", f"{out} (status {certificate.status})")
        line("next", origin.check_command(context, out, data, whole, rows))
    else:
        line("next", "add --out FILE to keep the model")
    raise typer.Exit(code)


def _sizes(X: Any) -> float:
    """How many times larger the standard deviation of a column is than that of another; 1 of sparse rows."""
    if hasattr(X, "indptr"):
        return 1.0
    spread = X.std(axis=0, dtype="float64")
    spread = spread[spread > 0]
    return float(spread.max() / spread.min()) if len(spread) else 1.0


def _check_target(whole: Any, model: Kind) -> None:
    """Numbers for a regression, classes for the others."""
    if model is Kind.ridge:
        if whole.y.dtype.kind not in "fiu":
            raise typer.BadParameter(f"--model ridge: {table.name_of(whole)} does not hold numbers")
    elif not table.holds_classes(whole) and table.fractions(whole):
        raise ValueError(f"{table.name_of(whole)} holds numbers with fractions: a regression; --model ridge")


def _grid(given: list[str] | None) -> dict[str, list[Any]] | None:
    """name=v1,v2 or name=low:high:points, as numbers where they are."""
    if not given:
        return None
    found: dict[str, list[Any]] = {}
    for text in given:
        name, sign, values = text.partition("=")
        if not sign or not name or not values:
            raise typer.BadParameter(f"--grid {text}: write name=v1,v2,... or name=low:high:points")
        try:
            found[name] = _range(values) if ":" in values else [_value(v) for v in values.split(",")]
        except ValueError as error:
            raise typer.BadParameter(f"--grid {text}: {error}") from None
    return found


def _range(values: str) -> list[float]:
    """low:high:points, equal ratios apart; a ValueError for other texts."""
    import numpy as np

    ends, points = values.split(":")[:2], values.split(":")[2:]
    low, high = map(numbers.number, ends)
    if len(points) != 1 or not points[0].isdigit() or int(points[0]) < 2 or not 0.0 < low < high < np.inf:
        raise ValueError("low:high:points needs 0 < low < high and at least 2 points")
    return np.geomspace(low, high, int(points[0])).tolist()


def _value(text: str) -> Any:
    """A value of the grid: a whole number, a number, a word of Python, or a text."""
    try:
        float(text)
    except ValueError:
        return {"None": None, "True": True, "False": False}.get(text, text)
    try:
        return int(text)
    except ValueError:
        return numbers.number(text)
