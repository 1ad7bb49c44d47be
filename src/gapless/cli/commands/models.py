"""The models that `gapless train --model` fits alone, and the options of the command line that each of them has."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import typer

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
#: The options that only some models have.
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
SCALED = (Kind.auto, Kind.rbf)  # need columns of one size
REGRESSIONS = (Kind.linear, Kind.ridge)


def make_estimator(model: Kind, offset: Offset, time_limit: float | None, **options: Any) -> Any:
    """The estimator with what was asked for; an option that it does not have is an error, not a silence."""
    kernel = ("C", "tol", "max_iter", "class_weight")  # of --model rbf too
    import gapless

    given: dict[str, Any] = {"time_limit": time_limit, "fit_intercept": offset is not Offset.none}
    if model in (Kind.rbf, Kind.adaboost, Kind.bagging):
        given = {} if model is Kind.bagging else {"time_limit": time_limit}
        if offset is not Offset.free:
            raise typer.BadParameter(f"--offset belongs to --model {' or '.join(_MARGIN)}, not {model}")
    if model is Kind.bagging and time_limit is not None:
        raise typer.BadParameter("--time-limit: --model bagging has no time limit; its 50 trees are fitted to the end")
    if model in (Kind.adaboost, Kind.bagging):
        given |= {"n_estimators": 200 if model is Kind.adaboost else 50, "random_state": 0}
    for name, value in options.items():
        if value is None:
            continue
        owners = _OPTIONS.get(name, (model,))
        if model not in owners and not (model is Kind.rbf and name in kernel):
            raise typer.BadParameter(
                f"--{name.replace('_', '-')} belongs to --model {' or '.join(owners)}, not {model}"
            )
        given[name] = value
    if model in _MARGIN:
        given["penalize_intercept"] = offset is Offset.penalised
    elif offset is Offset.penalised:
        raise typer.BadParameter(f"--offset penalised belongs to --model {' or '.join(_MARGIN)}, not {model}")
    return getattr(gapless, ESTIMATORS[model])(**given)
