"""The models that `gapless train --model` fits alone, and the options of the command line that each of them has."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any

import typer

import gapless
from gapless import registry


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
    lasso = "lasso"
    elastic_net = "elastic_net"


class Loss(StrEnum):
    hinge = "hinge"
    squared_hinge = "squared_hinge"


class Offset(StrEnum):
    free = "free"
    penalised = "penalised"
    none = "none"


class ClassWeight(StrEnum):
    balanced = "balanced"


#: The estimator of each model.
ESTIMATORS = {Kind(command): name for command, name in registry.COMMANDS.items()}


def choose_model(model: Kind, offset: Offset, time_limit: float | None, **options: Any) -> tuple[Kind, Any]:
    """The model to fit and its estimator; None where several are compared. An option of one fit makes auto a linear SVM."""
    if model is Kind.auto and offset is Offset.free and all(value is None for value in options.values()):
        return model, None
    model = Kind.svm if model is Kind.auto else model
    return model, make_estimator(model, offset, time_limit, **options)


def default_split(model: Kind, test: Path | None, holdout: float | None) -> float | None:
    """The share of rows kept out of training; models that are compared need some, from a file or from the table."""
    if test is not None and holdout is not None:
        raise typer.BadParameter("--test and --holdout exclude each other")
    return 0.25 if model is Kind.auto and holdout is None and test is None else holdout


def make_estimator(model: Kind, offset: Offset, time_limit: float | None, **options: Any) -> Any:
    """Make the estimator with what was asked for; an option that it does not have is an error, not a silence."""
    margin = (Kind.svm, Kind.logistic)
    of_kernel = ("C", "tol", "max_iter", "class_weight")  # --model rbf has these options too
    owners = {
        "loss": (Kind.svm,),
        "C": margin,
        "alpha": (Kind.ridge, Kind.least_squares, Kind.lasso, Kind.elastic_net),
        "tol": (*margin, Kind.linear, Kind.ridge, Kind.least_squares, Kind.lasso, Kind.elastic_net),
        "max_iter": (*margin, Kind.ridge, Kind.lasso, Kind.elastic_net),
        "class_weight": (*margin, Kind.least_squares),
        "solver": margin,
    }
    given: dict[str, Any] = {"time_limit": time_limit, "fit_intercept": offset is not Offset.none}
    if model in (Kind.rbf, Kind.adaboost, Kind.bagging):
        given = {} if model is Kind.bagging else {"time_limit": time_limit}
        if offset is not Offset.free:
            raise typer.BadParameter(f"--offset belongs to --model {' or '.join(margin)}, not {model}")
    if model is Kind.bagging and time_limit is not None:
        raise typer.BadParameter("--time-limit: --model bagging has no time limit; its 50 trees are fitted to the end")
    if model in (Kind.adaboost, Kind.bagging):
        given |= {"n_estimators": 200 if model is Kind.adaboost else 50, "random_state": 0}
    for name, value in options.items():
        if value is None:
            continue
        if model not in owners[name] and not (model is Kind.rbf and name in of_kernel):
            *others, last = owners[name]
            wanted = f"{', '.join(others)} or {last}" if others else last
            raise typer.BadParameter(f"--{name.replace('_', '-')} belongs to --model {wanted}, not {model}")
        given[name] = value.value if isinstance(value, StrEnum) else value
    if model in margin:
        given["penalize_intercept"] = offset is Offset.penalised
    elif offset is Offset.penalised:
        raise typer.BadParameter(f"--offset penalised belongs to --model {' or '.join(margin)}, not {model}")
    return getattr(gapless, ESTIMATORS[model])(**given)
