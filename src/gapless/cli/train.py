"""gapless train: fit a model on a data file, print its certificate, save it."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gapless.cli import options
from gapless.cli.guard import FALSE, INTERRUPTED, OK, guarded, say, stop
from gapless.cli.output import figures, line, print_json


class Kind(StrEnum):
    svm = "svm"
    logistic = "logistic"
    linear = "linear"
    ridge = "ridge"
    least_squares = "least_squares"


#: The estimator of each model, and the options that only some of them have.
ESTIMATORS = {
    Kind.svm: "LinearSVC",
    Kind.logistic: "LogisticRegression",
    Kind.linear: "LinearRegression",
    Kind.ridge: "Ridge",
    Kind.least_squares: "LeastSquaresClassifier",
}
_MARGIN = (Kind.svm, Kind.logistic)
_OPTIONS = {
    "loss": (Kind.svm,),
    "C": _MARGIN,
    "alpha": (Kind.ridge, Kind.least_squares),
    "max_iter": (*_MARGIN, Kind.ridge),
    "class_weight": (*_MARGIN, Kind.least_squares),
    "solver": _MARGIN,
}
REGRESSIONS = (Kind.linear, Kind.ridge)


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
    data: options.Data,
    model: Annotated[
        Kind, typer.Option(help="LinearSVC, LogisticRegression, LinearRegression, Ridge, LeastSquaresClassifier.")
    ] = Kind.svm,
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
    time_limit: Annotated[float | None, typer.Option(help="Most seconds.", show_default=False)] = None,
    offset: Annotated[Offset, typer.Option(help="The offset b: free, penalised, or none.")] = Offset.free,
    class_weight: Annotated[
        ClassWeight | None, typer.Option(help="balanced: classes weigh the same.", show_default=False)
    ] = None,
    solver: Annotated[str, typer.Option(help="Force an algorithm; auto chooses.")] = "auto",
    target: options.Target = None,
    weights: options.Weights = None,
    drop: options.Drop = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the model goes.")] = Path("model.gapless"),
    test: Annotated[Path | None, typer.Option(help="File with rows to test on.", show_default=False)] = None,
    holdout: options.Holdout = None,
    seed: options.Seed = 0,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 if the fit did not converge.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    header: options.Header = None,
    format: options.Format = "auto",
    index_base: options.IndexBase = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Fit a model, print its certificate, save it. Ctrl-C keeps what was reached."""
    if test is not None and holdout is not None:
        raise typer.BadParameter("--test and --holdout exclude each other")
    estimator = _estimator(
        model, offset, time_limit,
        tol=tol, loss=None if loss is None else loss.value, C=C, alpha=alpha, max_iter=max_iter,
        class_weight=None if class_weight is None else class_weight.value, solver=None if solver == "auto" else solver,
    )  # fmt: skip
    _check_out(out)
    reading: dict[str, Any] = {
        "weights": weights,
        "drop": drop,
        "header": header,
        "format": format,
        "index_base": index_base,
    }
    whole = options.read(data, target=target, **reading)
    rows, tested = whole, None
    if holdout is not None:
        kept, held = options.split(whole.n_rows, holdout, seed)
        rows, tested = whole.rows(kept), whole.rows(held)
    elif test is not None:
        tested = _read_test(test, whole, {**reading, "weights": None}, weights)

    if model in REGRESSIONS and whole.y.dtype.kind not in "fiu":
        raise typer.BadParameter(f"--model {model}: the column {whole.target!r} does not hold numbers")
    if not json:
        said = ", ".join(whole.notes)
        line("data", f"{data}: {whole.n_rows} rows, {whole.n_features} features ({said})")
        if holdout is not None and tested is not None:
            line("split", f"{rows.n_rows} rows to train, {tested.n_rows} held out (seed {seed})")
    interrupted = _fit(estimator, rows, quiet)

    from gapless.cli.interval import errors_of
    from gapless.files.modelfile import save

    if whole.names is not None:
        import numpy as np

        estimator.feature_names_in_ = np.asarray(whole.names, dtype=object)
    save(estimator, out, target=whole.target)
    certificate = estimator.certificate_
    trained = errors_of(estimator, rows.X, rows.y)
    new = None if tested is None else errors_of(estimator, tested.X, tested.y)
    code = INTERRUPTED if interrupted else FALSE if strict and certificate.status != "converged" else OK
    if json:
        print_json(
            {
                "command": "train",
                "data": os.fspath(data),
                "rows": rows.n_rows,
                "features": rows.n_features,
                "classes": estimator.classes_.tolist() if hasattr(estimator, "classes_") else None,
                "target": whole.target,
                "notes": list(whole.notes),
                "estimator": type(estimator).__name__,
                "objective": estimator.objective_,
                "certificate": figures(certificate),
                "sentence": str(certificate),
                "converged": certificate.status == "converged",
                "training": trained.document(),
                "test": None if new is None else new.document(interval=True),
                "model": os.fspath(out),
                "exit": code,
            }
        )
        raise typer.Exit(code)
    line("objective", estimator.objective_)
    line("certificate", certificate)
    line("training", f"error {trained}")
    if new is not None:
        line("test", f"error {new.with_interval()}")
    line("saved", f"{out} (status {certificate.status})")
    again = f" --holdout {holdout:g} --seed {seed}" if holdout is not None else ""
    again += f" --weights {weights}" if weights is not None else ""
    line("next", f"gapless verify {out} {data}{again}")
    raise typer.Exit(code)


def _check_out(out: Path) -> None:
    """Before a long fit, not after it: can the model be written there?"""
    folder = out.parent
    if not folder.is_dir():
        raise typer.BadParameter(f"--out {out}: the folder {folder} does not exist")
    if out.is_dir():
        raise typer.BadParameter(f"--out {out} is a directory; give the name of a file")
    if not os.access(folder, os.W_OK):
        raise typer.BadParameter(f"--out {out}: the folder {folder} cannot be written to")


def _read_test(path: Path, whole: Any, reading: dict[str, Any], weights: str | None) -> Any:
    """Test rows, their columns matched with the training file's. Weights are not used on test rows."""
    from gapless.files.dataset import Expected

    kind = {"U": "str", "i": "int", "f": "float", "b": "bool"}.get(whole.y.dtype.kind)
    expected = Expected(whole.n_features, whole.names, whole.target, kind)
    drop = list(reading["drop"] or [])
    if weights is not None:
        drop.append(weights)
    return options.read(path, **{**reading, "drop": drop}, expected=expected)


def _estimator(model: Kind, offset: Offset, time_limit: float | None, **options: Any) -> Any:
    """The estimator with what was asked for; an option that it does not have is an error, not a silence."""
    import gapless

    given: dict[str, Any] = {"time_limit": time_limit, "fit_intercept": offset is not Offset.none}
    for name, value in options.items():
        if value is None:
            continue
        owners = _OPTIONS.get(name, (model,))
        if model not in owners:
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

    with Progress(float(estimator.tol)) as progress:
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
