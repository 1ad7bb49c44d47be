"""gapless tune: choose parameters by cross-validation on a data file, fit, certify, save."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import gapless
from gapless.cli import numbers, options, origin, progress, table
from gapless.cli.commands import fit_options
from gapless.cli.guard import Code, guarded, stop
from gapless.cli.interval import errors_of
from gapless.cli.output import certificate_figures, print_json, print_line


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


@dataclass(frozen=True)
class Request:
    """A search as it was asked for, checked as far as it can be before a file is read."""

    context: typer.Context
    data: Path
    model: Kind
    reading: options.Reading
    test: Path | None
    holdout: float | None
    seed: int
    scale: bool | None
    scoring: str | None
    out: Path | None
    quiet: bool
    json: bool
    search: dict[str, Any]  # more arguments of `gapless.tune`


@guarded
def tune(
    context: typer.Context,
    data: options.Data,
    model: Annotated[
        Kind, typer.Option(help="SVC (Gaussian kernel), LinearSVC, LogisticRegression, Ridge.")
    ] = Kind.kernel,
    grid: fit_options.Values = None,
    method: Annotated[Method, typer.Option(help="bayes needs the extra gapless[tune].")] = Method.grid,
    folds: fit_options.Folds = 5,
    n_iter: fit_options.Visits = None,
    scale: fit_options.Scale = None,
    scoring: fit_options.SearchScoring = None,
    time_limit: numbers.SearchSeconds = None,
    file: fit_options.Scores = None,
    out: fit_options.OptionalModelOut = None,
    n_jobs: fit_options.Jobs = -1,
    target: options.Target = None,
    weights: options.Weights = None,
    drop: options.Drop = None,
    category: options.Category = None,
    number: options.Number = None,
    keep: options.Keep = None,
    decimal: options.Decimal = None,
    date_order: options.DateOrder = None,
    missing: options.Missing = None,
    test: fit_options.TestFile = None,
    holdout: options.Holdout = None,
    seed: fit_options.SearchSeed = 0,
    quiet: fit_options.Quiet = False,
    header: options.Header = None,
    format: options.Format = "auto",
    index_base: options.IndexBase = None,
    encoding: options.Encoding = None,
    float32: options.Float32 = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Choose C, gamma or alpha by cross-validation; fit, certify, save. Ctrl-C fits the best so far."""
    if test is not None and holdout is not None:
        raise typer.BadParameter("--test and --holdout exclude each other")
    search: dict[str, Any] = {"param_grid": _parse_grid(grid), "method": method.value, "cv": folds, "n_iter": n_iter}
    search |= {"time_limit": time_limit, "file": file, "seed": seed, "n_jobs": n_jobs}
    reading, scoring = options.Reading.from_command(context), _scoring(scoring, model)
    if out is not None:
        options.check_out(out)
    request = Request(context, data, model, reading, test, holdout, seed, scale, scoring, out, quiet, json, search)
    whole, rows = _read(request)
    found = _search(request, rows)
    new = _save(request, whole, rows, found)
    (_tell_json if json else _tell)(request, whole, rows, found, new)
    raise typer.Exit(_exit_code(found))


def _scoring(name: str | None, model: Kind) -> str | None:
    """scikit-learn's name of a scoring; a name that no scoring has is an error before a file is read."""
    if name is None:
        return None
    from gapless.cli.scoring import scikit_name  # with numpy, which the help does without

    return scikit_name(name, labels=model is not Kind.ridge)


def _read(request: Request) -> tuple[Any, table.Rows]:
    """Read the table, and make features of its rows to search and to test on."""
    whole = options.read(request.data, request.reading, typed=True)
    _check_target(whole, request.model)
    if request.scale and hasattr(whole.X, "indptr"):
        raise typer.BadParameter("--scale: the rows are sparse, and would not be after it; scale them in the file")
    rows = table.prepare(
        whole, request.data, scale=request.scale, reading=request.reading, test=request.test, holdout=request.holdout,
        seed=request.seed,
    )  # fmt: skip
    if request.json:
        return whole, rows
    what = "features" if rows.encoding is None else f"columns, {rows.data.n_features} features"
    table.tell_table(request.data, whole, rows, what, "search and train")
    most_apart = 100.0  # times that columns differ in size before it is said
    if request.scale is None and rows.encoding is None and (differ := _size_ratio(rows.data.X)) > most_apart:
        text = f"the columns differ {differ:.0e} times in size, and the large ones decide: --scale standardises them"
        print_line("scale", text)
    return whole, rows


def _search(request: Request, rows: table.Rows) -> Any:
    """Search, with progress on stderr; the fitted estimator."""
    estimators = {Kind.kernel: gapless.SVC, Kind.svm: gapless.LinearSVC, Kind.logistic: gapless.LogisticRegression}
    estimator = estimators.get(request.model, gapless.Ridge)()
    try:
        with progress.search(request.quiet or request.json) as tell_progress:
            return gapless.tune(
                estimator, rows.data.X, rows.data.y, sample_weight=rows.data.weights, scoring=request.scoring,
                progress=tell_progress or False, **request.search,
            )  # fmt: skip
    except TimeoutError:
        stop(
            f"--time-limit {request.search['time_limit']:g}: no candidate was scored on all folds; give more time, "
            "fewer --folds or --model svm"
        )


def _save(request: Request, whole: Any, rows: table.Rows, found: Any) -> Any:
    """Write the model file, if one was asked for; the errors on the rows to test on, None where there are none."""
    import numpy as np

    if rows.encoding is None and rows.data.names is not None:
        found.feature_names_in_ = np.asarray(rows.data.names, dtype=object)
    if request.out is not None:
        origin.remember(found, request.context, rows)
        gapless.save(found, request.out, target=whole.target, encoding=rows.encoding)
    if rows.tested is None:
        return None
    return errors_of(found.predict(rows.tested.X), rows.tested.y, hasattr(found, "classes_"))


def _exit_code(found: Any) -> int:
    return Code.interrupted if found.tuning_.status == "interrupted" else Code.ok


def _tell_json(request: Request, whole: Any, rows: table.Rows, found: Any, new: Any) -> None:
    """Print one JSON object."""
    tuning = found.tuning_
    print_json(
        {
            "command": "tune",
            "data": os.fspath(request.data),
            "rows": rows.data.n_rows,
            "features": rows.data.n_features,
            "target": whole.target,
            "notes": [*whole.notes, *table.column_kinds(whole), *whole.told],
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
            "certificate": certificate_figures(found.certificate_),
            "test": None if new is None else new.document(interval=True),
            "model": None if request.out is None else os.fspath(request.out),
            "exit": _exit_code(found),
        }
    )


def _tell(request: Request, whole: Any, rows: table.Rows, found: Any, new: Any) -> None:
    """Print what was chosen, the next best candidates, the certificate, and what to do next."""
    tuning, certificate = found.tuning_, found.certificate_
    score = "R2" if request.model is Kind.ridge else "share of right answers"
    first, *others = str(tuning).splitlines()
    print_line("chosen", f"{first} ({score if request.scoring is None else request.scoring})")
    for label, text in zip(("search", "", ""), others):
        print_line(label, text)
    for row in tuning.table[1:4]:
        told = ", ".join(f"{k}={v:.6g}" if isinstance(v, float) else f"{k}={v}" for k, v in row["params"].items())
        print_line("next best", f"{row['score']:.6g} at {told}")
    print_line("certificate", certificate)
    if new is not None:
        which = "held out" if request.test is None else f"of {request.test}"
        print_line("test", f"error {new.with_interval()}, of the rows {which}")
    if request.out is None:
        print_line("next", "add --out FILE to keep the model")
        return
    print_line("saved", f"{request.out} (status {certificate.status})")
    print_line("next", origin.check_command(request.context, request.out, request.data, whole, rows))


def _size_ratio(X: Any) -> float:
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
            raise typer.BadParameter(f"--model ridge: {table.target_name(whole)} does not hold numbers")
    elif not table.holds_classes(whole) and table.has_fractions(whole):
        raise ValueError(f"{table.target_name(whole)} holds numbers with fractions: a regression; --model ridge")


def _parse_grid(given: list[str] | None) -> dict[str, list[Any]] | None:
    """name=v1,v2 or name=low:high:points, as numbers where they are."""
    if not given:
        return None
    found: dict[str, list[Any]] = {}
    for text in given:
        name, sign, values = text.partition("=")
        if not sign or not name or not values:
            raise typer.BadParameter(f"--grid {text}: write name=v1,v2,... or name=low:high:points")
        try:
            found[name] = _parse_range(values) if ":" in values else [_parse_value(v) for v in values.split(",")]
        except ValueError as error:
            raise typer.BadParameter(f"--grid {text}: {error}") from None
    return found


def _parse_range(values: str) -> list[float]:
    """low:high:points, equal ratios apart; a ValueError for other texts."""
    import numpy as np

    ends, points = values.split(":")[:2], values.split(":")[2:]
    low, high = map(numbers.number, ends)
    if len(points) != 1 or not points[0].isdigit() or int(points[0]) < 2 or not 0.0 < low < high < np.inf:
        raise ValueError("low:high:points needs 0 < low < high and at least 2 points")
    return np.geomspace(low, high, int(points[0])).tolist()


def _parse_value(text: str) -> Any:
    """A value of the grid: a whole number, a number, a word of Python, or a text."""
    try:
        float(text)
    except ValueError:
        return {"None": None, "True": True, "False": False}.get(text, text)
    try:
        return int(text)
    except ValueError:
        return numbers.number(text)
