"""gapless train: from a data file to the best of several models (or the one asked for), with its certificate and a report."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

import gapless
from gapless import _background
from gapless._runtime.written import written
from gapless.cli import options, origin, table
from gapless.cli.commands import fit_options
from gapless.cli.commands.models import ESTIMATORS, Kind, Offset, choose_model, default_split
from gapless.cli.guard import Code, guarded, say, stop, words
from gapless.cli.interval import errors_of
from gapless.cli.progress import Progress, stage
from gapless.cli.train_output import tell, tell_json
from gapless.plots import drawing


@dataclass(frozen=True)
class Request:
    """What was asked for, checked as far as it can be before a file is read."""

    context: typer.Context
    data: Path
    kind: Kind
    estimator: Any  # None: several are compared
    reading: options.Reading
    test: Path | None
    holdout: float | None
    seed: int
    scoring: str | None
    time_limit: float
    out: Path
    page: Path | None
    strict: bool
    quiet: bool
    json: bool


@dataclass
class Result:
    """A fitted model, and what is known of it."""

    model: Any
    comparison: Any  # None: one model was asked for
    interrupted: bool
    trained: Any = None  # Errors or Residuals on the training rows
    new: Any = None  # on rows that were not trained on; None: there are none
    check: str = ""  # the command that verifies
    page: Path | None = None
    code: int = Code.ok


@guarded
def train(
    context: typer.Context,
    data: options.Data,
    model: fit_options.Model = Kind.auto,
    loss: fit_options.LossName = None,
    C: fit_options.LossWeight = None,
    alpha: fit_options.Alpha = None,
    tol: fit_options.Tol = None,
    max_iter: fit_options.MaxIter = None,
    time_limit: fit_options.FitSeconds = None,
    offset: fit_options.OffsetName = Offset.free,
    class_weight: fit_options.Balance = None,
    solver: fit_options.Solver = "auto",
    target: options.Target = None,
    weights: options.Weights = None,
    drop: options.Drop = None,
    category: options.Category = None,
    number: options.Number = None,
    keep: options.Keep = None,
    decimal: options.Decimal = None,
    date_order: options.DateOrder = None,
    missing: options.Missing = None,
    out: fit_options.ModelOut = Path("model.gapless"),
    report: fit_options.Page = None,
    no_report: fit_options.NoPage = False,
    test: fit_options.TestFile = None,
    holdout: options.Holdout = None,
    scoring: fit_options.Scoring = None,
    seed: options.Seed = 0,
    strict: fit_options.Strict = False,
    quiet: fit_options.Quiet = False,
    header: options.Header = None,
    format: options.Format = "auto",
    index_base: options.IndexBase = None,
    encoding: options.Encoding = None,
    float32: options.Float32 = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Fit models, compare them on rows kept out, save the best with its certificate, write a report.

    --model, or an option of one model (-C, --loss ...), fits that model alone. Ctrl-C keeps what was reached.
    """
    solver_name = None if solver == "auto" else solver
    given = {"tol": tol, "loss": loss, "C": C, "alpha": alpha, "max_iter": max_iter, "class_weight": class_weight}
    kind, estimator = choose_model(model, offset, time_limit, **given, solver=solver_name)
    page = None if no_report else report or (out.with_suffix(".html") if kind is Kind.auto else None)
    share, seconds = default_split(kind, test, holdout), 60.0 if time_limit is None else time_limit
    _check(kind, scoring, out, page)
    request = Request(
        context, data, kind, estimator, options.Reading.from_command(context), test, share, seed, scoring, seconds,
        out, page, strict, quiet, json,
    )  # fmt: skip
    with _helpers(request):
        whole, rows, labels = _read(request)
        result = _fit_or_compare(request, rows, labels)
        _save(request, whole, rows, result)
        _report(request, rows, result)
    (tell_json if json else tell)(request, whole, rows, result)
    raise typer.Exit(result.code)


def _check(kind: Kind, scoring: str | None, out: Path, page: Path | None) -> None:
    """Refuse, before a file is read, a scoring that cannot choose and places that cannot be written to."""
    if scoring is not None:
        if kind is not Kind.auto:
            raise typer.BadParameter(f"--scoring chooses among models; --model {kind} fits one")
        from gapless.cli.scoring import check_name  # with numpy, which the help does without

        check_name(scoring)
    options.check_out(out)
    if page is not None:
        options.check_out(page, "--report")


@contextmanager
def _helpers(request: Request) -> Iterator[None]:
    """Processes of their own load matplotlib and compile kernels, while the models are fitted here."""
    wishes = ("SVC",) if request.kind is Kind.auto else (ESTIMATORS[request.kind],)
    call = "train" if request.kind is Kind.auto else wishes[0]
    with _background.beside(*wishes, call=call), drawing.beside(request.page is not None):
        yield


def _read(request: Request) -> tuple[Any, Any, bool]:
    """Read the table; give it, its rows to train and to test on as features, and whether its target holds classes."""
    whole = options.read(request.data, request.reading, typed=True)
    labels = _holds_classes(whole, request.kind)
    needs_one_size = request.kind in (Kind.auto, Kind.rbf)
    rows = table.prepare(
        whole, request.data, scale=needs_one_size, reading=request.reading, test=request.test,
        holdout=request.holdout, seed=request.seed,
    )  # fmt: skip
    if not request.json:
        table.tell_table(request.data, whole, rows, "features" if rows.encoding is None else "columns", "train")
    return whole, rows, labels


def _fit_or_compare(request: Request, rows: Any, labels: bool) -> Result:
    """The model that was asked for, or the best of several."""
    if request.estimator is not None:
        return Result(request.estimator, None, _fit(request.estimator, rows.data, request.quiet))
    comparison = _compare(request, rows.data, rows.tested, labels)
    return Result(comparison.best.model, comparison, False)


def _save(request: Request, whole: Any, rows: Any, result: Result) -> None:
    """Write the model file, and find what is known of the model."""
    model = result.model
    if rows.data.names is not None and rows.encoding is None:
        import numpy as np

        model.feature_names_in_ = np.asarray(rows.data.names, dtype=object)
    origin.remember(model, request.context, rows)
    gapless.save(model, request.out, target=whole.target, encoding=rows.encoding)
    if rows.encoding is not None:
        model.encoding_ = rows.encoding  # as a model has it that was loaded: bounds ask for it
    labels = hasattr(model, "classes_")
    result.trained = errors_of(model.predict(rows.data.X), rows.data.y, labels)
    if rows.tested is not None:
        result.new = errors_of(model.predict(rows.tested.X), rows.tested.y, labels)
    failed = request.strict and model.certificate_.status != "converged"
    result.code = Code.interrupted if result.interrupted else Code.false if failed else Code.ok
    result.check = origin.check_command(request.context, request.out, request.data, whole, rows)


def _report(request: Request, rows: Any, result: Result) -> None:
    """Write the page, where what makes it is installed; the model is saved already."""
    if request.page is None:
        return
    try:
        write_page = importlib.import_module("gapless.pages.report").report
    except ImportError:
        say("no report: pip install 'gapless[report]'")
        return
    tested, comparison = rows.tested, result.comparison
    made = origin.make_command(origin.typed(request.context), request.out)
    try:
        write_page(
            result.model, rows.data.X, rows.data.y,
            X_test=None if tested is None else tested.X, y_test=None if tested is None else tested.y,
            sample_weight=rows.data.weights, file=request.page, feature_names=rows.data.names,
            tried=1 if comparison is None else comparison.settings,  # the test rows chose nothing: tested is 1
            data_name=options.file_name(request.data), test_name=None if request.test is None else os.fspath(request.test),
            commands=(made, result.check),
            compared=None if comparison is None else [
                {**each.document(), "chosen": each is comparison.best, "scoring": comparison.scoring.name}
                for each in (*comparison.tried, comparison.baseline)
            ],
        )  # fmt: skip
        result.page = request.page
    except ImportError as error:
        say(f"no report ({' '.join(str(error).split())}): pip install 'gapless[report]'")
    except OSError as error:  # the model is saved, and what was found is told
        say(f"no report: {words(error)}")
        result.code = Code.bad_input


def _holds_classes(whole: Any, model: Kind) -> bool:
    """Whether the target holds classes; a regression is said to be one, and what there is for it."""
    if model in (Kind.linear, Kind.ridge, Kind.lasso, Kind.elastic_net):
        if whole.y.dtype.kind not in "fiu":
            raise typer.BadParameter(f"--model {model}: the column {written(whole.target)} does not hold numbers")
        return False
    labels = table.holds_classes(whole)
    if model is Kind.auto or not table.has_fractions(whole):
        return labels or model is not Kind.auto
    what = "numbers with fractions, not class labels"
    raise ValueError(f"{table.target_name(whole)} holds {what}: a regression; --model linear, ridge or auto")


def _compare(request: Request, rows: Any, tested: Any, labels: bool) -> Any:
    """Several models on the training rows, then on rows that chose nothing."""
    from gapless.cli.commands import compare
    from gapless.cli.scoring import scoring_of  # with numpy, which the help does without

    scoring = scoring_of(request.scoring, labels)
    families = compare.classifiers() if labels else compare.regressions(compare.spread_of(rows.y, rows.weights))
    _background.wish(*compare.wishes(rows.y, labels))
    with stage(request.quiet or request.json) as told:
        result = compare.compare(
            families, rows.X, rows.y, rows.weights,
            scoring=scoring, seconds=request.time_limit, seed=request.seed, labels=labels, told=told,
        )  # fmt: skip
    if tested is not None:
        compare.judge_by(result, tested.X, tested.y)
    return result


def _fit(estimator: Any, rows: Any, quiet: bool) -> bool:
    """Fit, with progress on stderr; True if Ctrl-C stopped it with a model in hand."""
    with Progress(float(getattr(estimator, "tol", 1e-4))) as progress:
        estimator._progress = None if quiet else progress
        try:
            estimator.fit(rows.X, rows.y, sample_weight=rows.weights)
        except KeyboardInterrupt:
            if not hasattr(estimator, "certificate_"):
                stop("interrupted before there was a model", Code.interrupted)
            progress.__exit__()
            say("interrupted; the model reached so far is kept")
            return True
        finally:
            estimator._progress = None
    return False
