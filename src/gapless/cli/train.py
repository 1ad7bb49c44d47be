"""gapless train: from a data file to the best of several models (or the one asked for), with its certificate and a report."""

from __future__ import annotations

import importlib
import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gapless.cli import options, origin, table
from gapless.cli.guard import BAD_INPUT, FALSE, INTERRUPTED, OK, guarded, say, stop, words
from gapless.cli.output import figures, line, print_json
from gapless.plots import drawing


class Kind(StrEnum):
    auto = "auto"
    svm = "svm"
    logistic = "logistic"
    rbf = "rbf"
    adaboost = "adaboost"
    bagging = "bagging"
    linear = "linear"
    ridge = "ridge"
    least_squares = "least_squares"


#: The estimator of each model, and the options that only some of them have.
ESTIMATORS = {
    Kind.svm: "LinearSVC",
    Kind.logistic: "LogisticRegression",
    Kind.rbf: "SVC",
    Kind.adaboost: "AdaBoostClassifier",
    Kind.bagging: "BaggingClassifier",
    Kind.linear: "LinearRegression",
    Kind.ridge: "Ridge",
    Kind.least_squares: "LeastSquaresClassifier",
}
_MARGIN = (Kind.svm, Kind.logistic)
_OPTIONS = {
    "loss": (Kind.svm,),
    "C": _MARGIN,
    "alpha": (Kind.ridge, Kind.least_squares),
    "tol": (*_MARGIN, Kind.linear, Kind.ridge, Kind.least_squares),
    "max_iter": (*_MARGIN, Kind.ridge),
    "class_weight": (*_MARGIN, Kind.least_squares),
    "solver": _MARGIN,
}
_KERNEL = ("C", "tol", "max_iter", "class_weight")  # of --model rbf too
_SCALED = (Kind.rbf,)  # needs columns of one size
REGRESSIONS = (Kind.linear, Kind.ridge)
TIME_LIMIT, HOLDOUT = 60.0, 0.25  # of --model auto


class Loss(StrEnum):
    hinge = "hinge"
    squared_hinge = "squared_hinge"


class Offset(StrEnum):
    free = "free"
    penalised = "penalised"
    none = "none"


class ClassWeight(StrEnum):
    balanced = "balanced"


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
        typer.Option("-C", "--C", help="Weight of the loss against the penalty [default: 1].", show_default=False),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="Penalty of ridge [default: 1] and least_squares [default: 0].", show_default=False),
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(help="Relative gap at which the fit may stop [default: the estimator's].", show_default=False),
    ] = None,
    max_iter: Annotated[
        int | None, typer.Option(help="Most passes [default: the estimator's].", show_default=False)
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Most seconds of all fits [default of auto: 60].", show_default=False)
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
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the model goes.")] = Path("model.gapless"),
    report: Annotated[
        Path | None, typer.Option(help="Where the page goes [default of auto: beside the model].", show_default=False)
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="No page.")] = False,
    test: Annotated[Path | None, typer.Option(help="File with rows to test on.", show_default=False)] = None,
    holdout: options.Holdout = None,
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
    if test is not None and holdout is not None:
        raise typer.BadParameter("--test and --holdout exclude each other")
    given = {
        "tol": tol, "loss": None if loss is None else loss.value, "C": C, "alpha": alpha, "max_iter": max_iter,
        "class_weight": None if class_weight is None else class_weight.value, "solver": None if solver == "auto" else solver,
    }  # fmt: skip
    if model is Kind.auto and (offset is not Offset.free or any(value is not None for value in given.values())):
        model = Kind.svm  # these belong to one fit
    estimator = None if model is Kind.auto else _estimator(model, offset, time_limit, **given)
    options.check_out(out)
    page = None if no_report else report or (out.with_suffix(".html") if model is Kind.auto else None)
    if page is not None:
        options.check_out(page, "--report")
    reading: dict[str, Any] = {
        "weights": weights, "drop": drop, "header": header, "format": format, "index_base": index_base,
        "encoding": encoding, "float32": float32,
    }  # fmt: skip
    with drawing.beside(page is not None):  # matplotlib is loaded there while the models are fitted here
        whole = options.read(data, target=target, typed=True, category=category, **reading)
        if model is Kind.auto and holdout is None and test is None:
            holdout = HOLDOUT
        labels = _labels(whole, model)
        rows = table.prepared(
            whole,
            data,
            scale=model is Kind.auto or model in _SCALED,
            reading=reading,
            test=test,
            holdout=holdout,
            seed=seed,
        )
        tested = rows.tested
        if not json:
            said = ", ".join([*whole.notes, *table.types(whole)])
            what = "features" if rows.encoding is None else "columns"
            line("data", f"{data}: {whole.n_rows} rows, {whole.n_features} {what} ({said})")
            if holdout is not None and tested is not None:
                line("split", f"{rows.data.n_rows} rows to train, {tested.n_rows} held out (seed {seed})")
            for told in rows.left_out:
                line("left out", told)

        comparison, interrupted = None, False
        if estimator is None:
            comparison = _compare(rows.data, tested, labels, time_limit or TIME_LIMIT, seed, quiet or json)
            estimator = comparison.best.model
        else:
            interrupted = _fit(estimator, rows.data, quiet)

        from gapless.cli.interval import errors_of
        from gapless.files.modelfile import save

        if rows.data.names is not None and rows.encoding is None:
            import numpy as np

            estimator.feature_names_in_ = np.asarray(rows.data.names, dtype=object)
        origin.remember(estimator, context, rows)
        save(estimator, out, target=whole.target, encoding=rows.encoding)
        if rows.encoding is not None:
            estimator.encoding_ = rows.encoding  # as a model has it that was loaded: bounds ask for it
        certificate = estimator.certificate_
        trained = errors_of(estimator, rows.data.X, rows.data.y)
        new = None if tested is None else errors_of(estimator, tested.X, tested.y)
        converged = certificate.status == "converged"
        code = INTERRUPTED if interrupted else FALSE if strict and not converged else OK
        check = origin.check_command(context, out, data, whole, rows)
        where = None
        if page is not None:
            made = origin.make_command(origin.typed(context), out)
            try:
                where = _report(estimator, rows.data, tested, page, comparison, data, (made, check), test)
            except OSError as error:  # the model is saved, and what was found is told
                say(f"no report: {words(error)}")
                code = BAD_INPUT
    if json:
        print_json(
            {
                "command": "train",
                "data": os.fspath(data),
                "rows": rows.data.n_rows,
                "features": rows.data.n_features,
                "classes": estimator.classes_.tolist() if hasattr(estimator, "classes_") else None,
                "target": whole.target,
                "notes": [*whole.notes, *table.types(whole)],
                "left_out": rows.left_out,
                "compared": None if comparison is None else [each.document() for each in comparison.tried],
                "not_compared": None if comparison is None else comparison.left_out,
                "estimator": type(estimator).__name__,
                "objective": getattr(estimator, "objective_", None),
                "certificate": figures(certificate),
                "sentence": str(certificate),
                "converged": converged,
                "training": trained.document(),
                "test": None if new is None else new.document(interval=True),
                "model": os.fspath(out),
                "report": None if where is None else os.fspath(where),
                "exit": code,
            }
        )
        raise typer.Exit(code)
    if comparison is not None:
        _show(comparison)
    if getattr(estimator, "objective_", None):
        line("objective", estimator.objective_)
    line("certificate", certificate)
    line("training", f"error {trained}")
    if new is not None:
        line("test", f"error {new.with_interval()}")
    line("saved", f"{out} (status {certificate.status})")
    if where is not None:
        line("report", f"{where}: open it in a browser")
    line("next", check)
    raise typer.Exit(code)


def _labels(whole: Any, model: Kind) -> bool:
    """Whether the target holds classes; a regression is said to be one, and what there is for it."""
    if model in REGRESSIONS:
        if whole.y.dtype.kind not in "fiu":
            raise typer.BadParameter(f"--model {model}: the column {whole.target!r} does not hold numbers")
        return False
    labels = table.holds_classes(whole)
    if model is Kind.auto or not table.fractions(whole):
        return labels or model is not Kind.auto
    what = "numbers with fractions, not class labels"
    raise ValueError(f"{table.name_of(whole)} holds {what}: a regression; --model linear, ridge or auto")


def _compare(rows: Any, tested: Any, labels: bool, seconds: float, seed: int, quiet: bool) -> Any:
    from gapless.cli import compare
    from gapless.cli.progress import stage

    families = compare.classifiers() if labels else compare.regressions()
    with stage(quiet) as told:
        result = compare.compare(
            families, rows.X, rows.y, rows.weights, seconds=seconds, seed=seed, labels=labels, told=told
        )
    if tested is not None:
        compare.judge_by(result, tested.X, tested.y)
    return result


def _show(comparison: Any) -> None:
    from gapless.cli import compare

    print()
    for text in compare.table(comparison):
        print(text)
    print()
    line(
        "chosen",
        f"{comparison.best.name}: smallest error on the validation rows ({comparison.validation} of the training rows)",
    )
    if comparison.best.bound is not None:
        line(
            "",
            f"bound: with {100 * compare.CONFIDENCE:g} % confidence all of the true errors are below theirs (exact binomial)",
        )
    for name, reason in comparison.left_out.items():
        line("not tried", f"{name}: {reason}")


def _report(
    model: Any,
    rows: Any,
    tested: Any,
    page: Path,
    comparison: Any,
    data: Path,
    commands: tuple[str, str],
    test: Path | None,
) -> Path | None:
    """The page, where what makes it is installed; the model is saved already."""
    try:
        tell = importlib.import_module("gapless.pages.report").report
    except ImportError:
        say("no report: pip install 'gapless[report]'")
        return None
    try:
        tell(
            model, rows.X, rows.y,
            X_test=None if tested is None else tested.X, y_test=None if tested is None else tested.y,
            sample_weight=rows.weights, file=page, feature_names=rows.names,
            tried=1 if comparison is None else comparison.settings,
            data_name=options.name_of(data), test_name=None if test is None else os.fspath(test),
            commands=commands,
            compared=None if comparison is None else [
                {**each.document(), "chosen": each is comparison.best} for each in comparison.tried
            ],
        )  # fmt: skip
    except ImportError as error:
        say(f"no report ({' '.join(str(error).split())}): pip install 'gapless[report]'")
        return None
    return page


def _estimator(model: Kind, offset: Offset, time_limit: float | None, **options: Any) -> Any:
    """The estimator with what was asked for; an option that it does not have is an error, not a silence."""
    import gapless

    given: dict[str, Any] = {"time_limit": time_limit, "fit_intercept": offset is not Offset.none}
    if model in (Kind.rbf, Kind.adaboost, Kind.bagging):
        given = {} if model is Kind.bagging else {"time_limit": time_limit}
        if offset is not Offset.free:
            raise typer.BadParameter(f"--offset belongs to --model {' or '.join(_MARGIN)}, not {model}")
    if model in (Kind.adaboost, Kind.bagging):
        given |= {"n_estimators": 200 if model is Kind.adaboost else 50, "random_state": 0}
    for name, value in options.items():
        if value is None:
            continue
        owners = _OPTIONS.get(name, (model,))
        if model not in owners and not (model is Kind.rbf and name in _KERNEL):
            raise typer.BadParameter(
                f"--{name.replace('_', '-')} belongs to --model {' or '.join(owners)}, not {model}"
            )
        given[name] = value
    if model in _MARGIN:
        given["penalize_intercept"] = offset is Offset.penalised
    elif offset is Offset.penalised:
        raise typer.BadParameter(f"--offset penalised belongs to --model {' or '.join(_MARGIN)}, not {model}")
    return getattr(gapless, ESTIMATORS[model])(**given)


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
