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
    model: Annotated[Kind, typer.Option(help="LinearSVC or LogisticRegression.")] = Kind.svm,
    loss: Annotated[
        Loss | None, typer.Option(help="Loss of the svm [default: squared_hinge].", show_default=False)
    ] = None,
    C: Annotated[float, typer.Option("-C", "--C", help="Weight of the loss against the penalty.")] = 1.0,
    tol: Annotated[float, typer.Option(help="Relative gap at which the fit may stop.")] = 1e-4,
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
    if loss is not None and model is not Kind.svm:
        raise typer.BadParameter("--loss belongs to --model svm; the loss of logistic is fixed")
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

    estimator = _estimator(model, loss, C, tol, max_iter, time_limit, offset, class_weight, solver)
    if not json:
        said = ", ".join(whole.notes)
        line("data", f"{data}: {whole.n_rows} rows, {whole.n_features} features ({said})")
        if holdout is not None and tested is not None:
            line("split", f"{rows.n_rows} rows to train, {tested.n_rows} held out (seed {seed})")
    interrupted = _fit(estimator, rows, tol, quiet)

    from gapless.cli.interval import Errors
    from gapless.files.modelfile import save

    if whole.names is not None:
        import numpy as np

        estimator.feature_names_in_ = np.asarray(whole.names, dtype=object)
    save(estimator, out, target=whole.target)
    certificate = estimator.certificate_
    trained = Errors.of(estimator, rows.X, rows.y)
    new = None if tested is None else Errors.of(estimator, tested.X, tested.y)
    code = INTERRUPTED if interrupted else FALSE if strict and certificate.status != "converged" else OK
    if json:
        print_json(
            {
                "command": "train",
                "data": os.fspath(data),
                "rows": rows.n_rows,
                "features": rows.n_features,
                "classes": estimator.classes_.tolist(),
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


def _estimator(
    model: Kind,
    loss: Loss | None,
    C: float,
    tol: float,
    max_iter: int | None,
    time_limit: float | None,
    offset: Offset,
    class_weight: ClassWeight | None,
    solver: str,
) -> Any:
    import gapless

    given: dict[str, Any] = {
        "C": C,
        "tol": tol,
        "time_limit": time_limit,
        "fit_intercept": offset is not Offset.none,
        "penalize_intercept": offset is Offset.penalised,
        "class_weight": None if class_weight is None else class_weight.value,
    }
    if max_iter is not None:
        given["max_iter"] = max_iter
    if solver != "auto":
        given["solver"] = solver
    if loss is not None:
        given["loss"] = loss.value
    return gapless.LinearSVC(**given) if model is Kind.svm else gapless.LogisticRegression(**given)


def _fit(estimator: Any, rows: Any, tol: float, quiet: bool) -> bool:
    """Fit, with progress on stderr; True if Ctrl-C stopped it with a model in hand."""
    from gapless.cli.progress import Progress

    with Progress(tol) as progress:
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
