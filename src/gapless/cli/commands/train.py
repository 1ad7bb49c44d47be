"""gapless train: from a data file to the best of several models (or the one asked for), with its certificate and a report."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from gapless import _background
from gapless._runtime.written import written
from gapless.cli import numbers, options, origin, table
from gapless.cli.commands.models import ESTIMATORS, REGRESSIONS, SCALED, ClassWeight, Kind, Loss, Offset, make_estimator
from gapless.cli.copies import without_copies
from gapless.cli.guard import BAD_INPUT, FALSE, INTERRUPTED, OK, guarded, say, stop, words
from gapless.cli.output import figures, line, print_json
from gapless.plots import drawing


@dataclass(frozen=True)
class Request:
    """What was asked for, checked as far as it can be before a file is read."""

    context: typer.Context
    data: Path
    estimator: Any  # None: several are compared
    kind: Kind
    target: str | None
    category: list[str] | None
    reading: dict[str, Any]
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
    code: int = OK


@guarded
def train(
    context: typer.Context,
    data: options.Data,
    model: Annotated[
        Kind,
        typer.Option(
            help="auto compares several; svm, logistic, rbf, adaboost, bagging, least_squares classify; linear, ridge regress."
        ),
    ] = Kind.auto,
    loss: Annotated[
        Loss | None, typer.Option(help="Loss of the svm [default: squared_hinge].", show_default=False)
    ] = None,
    C: Annotated[
        float | None,
        typer.Option(
            "-C",
            "--C",
            help="Weight of the loss against the penalty; inf: hard margin [default: 1].",
            parser=numbers.above_0_or_inf,
            metavar="NUMBER",
            show_default=False,
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            help="Penalty of ridge [default: 1] and least_squares [default: 0].",
            parser=numbers.from_0,
            metavar="NUMBER",
            show_default=False,
        ),
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(
            help="Relative gap at which the fit may stop [default: the estimator's].",
            parser=numbers.from_0,
            metavar="NUMBER",
            show_default=False,
        ),
    ] = None,
    max_iter: Annotated[
        int | None, typer.Option(help="Most passes [default: the estimator's].", min=1, show_default=False)
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Most seconds of all fits, compiling apart [default of auto: 60].",
            parser=numbers.above_0,
            metavar="NUMBER",
            show_default=False,
        ),
    ] = None,
    offset: Annotated[Offset, typer.Option(help="The offset b: free, penalised, or none.")] = Offset.free,
    class_weight: Annotated[
        ClassWeight | None, typer.Option(help="balanced: classes weigh the same.", show_default=False)
    ] = None,
    solver: Annotated[str, typer.Option(help="Force an algorithm; auto chooses.")] = "auto",
    target: options.Target = None,
    weights: options.Weights = None,
    drop: options.Drop = None,
    category: options.Category = None,
    number: options.Number = None,
    keep: options.Keep = None,
    decimal: options.Decimal = None,
    date_order: options.DateOrder = None,
    missing: options.Missing = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the model goes.")] = Path("model.gapless"),
    report: Annotated[
        Path | None, typer.Option(help="Where the page goes [default of auto: beside the model].", show_default=False)
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="No page.")] = False,
    test: Annotated[Path | None, typer.Option(help="File with rows to test on.", show_default=False)] = None,
    holdout: options.Holdout = None,
    scoring: Annotated[
        str | None,
        typer.Option(
            help="What chooses: error, balanced_error, auc, log_loss; rmse, mae, r2; or a scorer of scikit-learn by name.",
            show_default="error, rmse",
        ),
    ] = None,
    seed: options.Seed = 0,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 if the fit did not converge.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
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
    default_seconds, default_share = 60.0, 0.25  # of --model auto
    given = {
        "tol": tol, "loss": None if loss is None else loss.value, "C": C, "alpha": alpha, "max_iter": max_iter,
        "class_weight": None if class_weight is None else class_weight.value, "solver": None if solver == "auto" else solver,
    }  # fmt: skip
    if model is Kind.auto and (offset is not Offset.free or any(value is not None for value in given.values())):
        model = Kind.svm  # these belong to one fit
    if test is not None and holdout is not None:
        raise typer.BadParameter("--test and --holdout exclude each other")
    if scoring is not None and model is not Kind.auto:
        raise typer.BadParameter(f"--scoring chooses among models; --model {model} fits one")
    if scoring is not None:
        from gapless.cli.scoring import check_name

        check_name(scoring)
    options.check_out(out)
    page = None if no_report else report or (out.with_suffix(".html") if model is Kind.auto else None)
    if page is not None:
        options.check_out(page, "--report")
    reading: dict[str, Any] = {
        "weights": weights, "drop": drop, "header": header, "format": format, "index_base": index_base,
        "encoding": encoding, "float32": float32, "number": number, "keep": keep, "decimal": decimal, "date_order": date_order,
        "missing": missing,
    }  # fmt: skip
    request = Request(
        context=context, data=data, kind=model,
        estimator=None if model is Kind.auto else make_estimator(model, offset, time_limit, **given),
        target=target, category=category, reading=reading, test=test,
        holdout=default_share if model is Kind.auto and holdout is None and test is None else holdout,
        seed=seed, scoring=scoring, time_limit=default_seconds if time_limit is None else time_limit,
        out=out, page=page, strict=strict, quiet=quiet, json=json,
    )  # fmt: skip
    wishes = ("SVC",) if model is Kind.auto else (ESTIMATORS[model],)
    # Matplotlib is loaded, and kernels are compiled, by processes of their own while the models are fitted here.
    call = "train" if model is Kind.auto else wishes[0]
    with _background.beside(*wishes, call=call), drawing.beside(page is not None):
        whole, rows, labels = _read(request)
        result = _fit_or_compare(request, rows, labels)
        _save(request, whole, rows, result)
        _report(request, rows, result)
    (_tell_json if json else _tell)(request, whole, rows, result)
    raise typer.Exit(result.code)


def _read(request: Request) -> tuple[Any, Any, bool]:
    """The table, its rows to train and to test on as features, and whether its target holds classes."""
    whole = options.read(request.data, target=request.target, typed=True, category=request.category, **request.reading)
    labels = _labels(whole, request.kind)
    rows = table.prepared(
        whole,
        request.data,
        scale=request.kind in SCALED,
        reading=request.reading,
        test=request.test,
        holdout=request.holdout,
        seed=request.seed,
    )
    if not request.json:
        said = ", ".join([*whole.notes, *table.types(whole)])
        what = "features" if rows.encoding is None else "columns"
        line("data", f"{request.data}: {whole.n_rows} rows, {whole.n_features} {what} ({said})")
        if request.holdout is not None and rows.tested is not None:
            line("split", f"{rows.data.n_rows} rows to train, {rows.tested.n_rows} held out (seed {request.seed})")
            for told in strangers(rows.data, rows.tested):
                line("", told)
        for told in whole.told:
            line("read", told)
        for told in rows.left_out:
            line("left out", told)
    if request.test is not None:
        rows = rows._replace(tested=without_copies(rows.data, rows.tested, os.fspath(request.test)))
    return whole, rows, labels


def strangers(rows: Any, tested: Any) -> list[str]:
    """Classes that only held-out rows have, and those that none of them has, in words."""
    import numpy as np

    if rows.y.dtype.kind == "f":
        return []
    if rows.y.dtype.kind in "iu" and len(np.unique(rows.y)) > table.MOST_CLASSES:
        return []
    told = []
    for here, there, what in (
        (tested.y, rows.y, "among the held-out rows alone, and wrong there whatever is learned; --seed draws others"),
        (rows.y, tested.y, "in no held-out row, whose errors say nothing of such rows; --seed draws others"),
    ):
        labels, counts = np.unique(here[~np.isin(here, there)], return_counts=True)
        if not len(labels):
            continue
        named = ", ".join(f"{written(label)} ({n})" for label, n in zip(labels.tolist()[:5], counts.tolist()))
        more = f" and {len(labels) - 5} more classes" if len(labels) > 5 else ""
        told.append(f"{named}{more}: {what}")
    return told


def _fit_or_compare(request: Request, rows: Any, labels: bool) -> Result:
    """The model that was asked for, or the best of several."""
    if request.estimator is not None:
        return Result(request.estimator, None, _fit(request.estimator, rows.data, request.quiet))
    comparison = _compare(request, rows.data, rows.tested, labels)
    return Result(comparison.best.model, comparison, False)


def _save(request: Request, whole: Any, rows: Any, result: Result) -> None:
    """Write the model file, and find what is known of the model."""
    from gapless.cli.interval import errors_of
    from gapless.files.model_file import save

    model = result.model
    if rows.data.names is not None and rows.encoding is None:
        import numpy as np

        model.feature_names_in_ = np.asarray(rows.data.names, dtype=object)
    origin.remember(model, request.context, rows)
    save(model, request.out, target=whole.target, encoding=rows.encoding)
    if rows.encoding is not None:
        model.encoding_ = rows.encoding  # as a model has it that was loaded: bounds ask for it
    labels = hasattr(model, "classes_")
    result.trained = errors_of(model.predict(rows.data.X), rows.data.y, labels)
    if rows.tested is not None:
        result.new = errors_of(model.predict(rows.tested.X), rows.tested.y, labels)
    failed = request.strict and model.certificate_.status != "converged"
    result.code = INTERRUPTED if result.interrupted else FALSE if failed else OK
    result.check = origin.check_command(request.context, request.out, request.data, whole, rows)


def _report(request: Request, rows: Any, result: Result) -> None:
    """Write the page, where what makes it is installed; the model is saved already."""
    if request.page is None:
        return
    try:
        tell = importlib.import_module("gapless.pages.report").report
    except ImportError:
        say("no report: pip install 'gapless[report]'")
        return
    tested, comparison = rows.tested, result.comparison
    made = origin.make_command(origin.typed(request.context), request.out)
    try:
        tell(
            result.model, rows.data.X, rows.data.y,
            X_test=None if tested is None else tested.X, y_test=None if tested is None else tested.y,
            sample_weight=rows.data.weights, file=request.page, feature_names=rows.data.names,
            tried=1 if comparison is None else comparison.settings,  # the test rows chose nothing: tested is 1
            data_name=options.name_of(request.data), test_name=None if request.test is None else os.fspath(request.test),
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
        result.code = BAD_INPUT


def _tell(request: Request, whole: Any, rows: Any, result: Result) -> None:
    """Print what was found."""
    model, certificate = result.model, result.model.certificate_
    if result.comparison is not None:
        from gapless.cli.compare_output import show

        show(result.comparison)
    if getattr(model, "objective_", None):
        line("objective", model.objective_)
    line("certificate", certificate)
    line("training", f"error {result.trained}, of the rows trained on: it says nothing of new rows")
    if result.new is not None:
        which = "held out" if request.test is None else f"of {request.test}"
        line("test", f"error {result.new.with_interval()}, of the rows {which}")
    line("saved", f"{request.out} (status {certificate.status})")
    if result.page is not None:
        line("report", f"{result.page}: open it in a browser")
    line("next", result.check)


def _tell_json(request: Request, whole: Any, rows: Any, result: Result) -> None:
    """Print one JSON object."""
    from gapless.readings.explain import coefficients

    model, comparison, certificate = result.model, result.comparison, result.model.certificate_
    chance = None if comparison is None else comparison.chance
    print_json(
        {
            "command": "train",
            "data": os.fspath(request.data),
            "rows": rows.data.n_rows,
            "features": rows.data.n_features,
            "classes": model.classes_.tolist() if hasattr(model, "classes_") else None,
            "target": whole.target,
            "notes": [*whole.notes, *table.types(whole), *whole.told],
            "left_out": rows.left_out,
            "scoring": None if comparison is None else comparison.scoring.name,
            "compared": None if comparison is None else [each.document() for each in comparison.tried],
            "not_compared": None if comparison is None else comparison.left_out,
            "baseline": None if comparison is None else comparison.baseline.document(),
            "chance": None
            if chance is None
            else {"beaten": chance.beaten, "p_value": chance.p_value, "test": chance.how},
            "estimator": type(model).__name__,
            "objective": getattr(model, "objective_", None),
            "coefficients": coefficients(model, rows.data.X, rows.data.names),
            "certificate": figures(certificate),
            "sentence": str(certificate),
            "converged": certificate.status == "converged",
            "training": result.trained.document(),
            "test": None if result.new is None else result.new.document(interval=True),
            "model": os.fspath(request.out),
            "report": None if result.page is None else os.fspath(result.page),
            "exit": result.code,
        }
    )


def _labels(whole: Any, model: Kind) -> bool:
    """Whether the target holds classes; a regression is said to be one, and what there is for it."""
    if model in REGRESSIONS:
        if whole.y.dtype.kind not in "fiu":
            raise typer.BadParameter(f"--model {model}: the column {written(whole.target)} does not hold numbers")
        return False
    labels = table.holds_classes(whole)
    if model is Kind.auto or not table.fractions(whole):
        return labels or model is not Kind.auto
    what = "numbers with fractions, not class labels"
    raise ValueError(f"{table.name_of(whole)} holds {what}: a regression; --model linear, ridge or auto")


def _compare(request: Request, rows: Any, tested: Any, labels: bool) -> Any:
    """Several models on the training rows, then on rows that chose nothing."""
    from gapless.cli.commands import compare
    from gapless.cli.progress import stage
    from gapless.cli.scoring import scoring_of

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
    from gapless.cli.progress import Progress

    with Progress(float(getattr(estimator, "tol", 1e-4))) as progress:
        estimator._progress = None if quiet else progress
        try:
            estimator.fit(rows.X, rows.y, sample_weight=rows.weights)
        except KeyboardInterrupt:
            if not hasattr(estimator, "certificate_"):
                stop("interrupted before there was a model", INTERRUPTED)
            progress.__exit__()
            say("interrupted; the model reached so far is kept")
            return True
        finally:
            estimator._progress = None
    return False
