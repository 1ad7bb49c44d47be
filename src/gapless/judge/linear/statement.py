"""What a document of a linear classifier states: parameters that agree with the problem, and the weights of the rows."""

from __future__ import annotations

import math
from typing import Any

from ..case import Case
from ..form.entries import is_finite, number
from .document import ESTIMATORS


def statement_claims(case: Case, *, penalty: bool = True) -> bool:
    """Parameters, classes and problem agree. False where the problem they state cannot be evaluated: every claim that is not
    made then is one that does not hold.

    Without a penalty C is infinite, and an offset is free whatever ``penalize_intercept`` says.
    """
    parameters, problem, name = case.parameters, case.problem, case.document["estimator"]
    losses = ESTIMATORS[name]
    loss = parameters.get("loss") if name == "LinearSVC" else losses[case.K > 2]
    case.claim("loss", problem["loss"], loss, problem["loss"] == loss and loss in losses, f"of {name}")
    # Parameters that would make another problem of it; an absent one counts as fine.
    several = ("multinomial",) if loss == "softmax" else ("ovr",)
    for key, allowed in (
        ("penalty", ("l2", "deprecated")),
        ("l1_ratio", (0, None, "deprecated")),
        ("multi_class", (*several, "auto", "deprecated")),
    ):
        if key in parameters and not any(_same(parameters[key], value) for value in allowed):
            case.claim(key, parameters[key], None, False, "is another problem than the one certified")
    C, scale = number(problem["C"]), number(problem["offset_scale"])
    # An SVM with C = inf is the hard margin.
    good_C = math.isfinite(C) or name == "LinearSVC" if penalty else C == math.inf
    case.number_claim("C", problem["C"], also=good_C)
    case.number_claim("tol", case.block["tol"])
    fit = parameters.get("fit_intercept")
    penalised = parameters.get("penalize_intercept", False)
    scaling = parameters.get("intercept_scaling", 1.0)
    offset = "penalised" if penalised is True and penalty else "free"
    offset = "none" if fit is False else offset
    stated = isinstance(fit, bool) and isinstance(penalised, bool) and is_finite(scaling)
    stated = stated and (offset != "free" or penalised is True or number(scaling) == 1.0)  # it acts on a penalised one
    case.claim("offset", problem["offset"], offset, stated and problem["offset"] == offset)
    wanted_scale = number(scaling) if stated and offset == "penalised" else 1.0
    case.same_claim("offset scale", scale, wanted_scale)
    case.class_claims(problem["class_weight"])
    return good_C


def unused_parameters(document: dict[str, Any]) -> list[str]:
    """Parameters of an offset that the problem has no use for."""
    offset, free = document["problem"]["offset"], document["certificate"]["kind"] == "gradient"
    idle = ["penalize_intercept"] if free or offset == "none" else []
    if offset == "none" or (document["parameters"].get("penalize_intercept") and free):
        idle.append("intercept_scaling")
    return [f"parameter {name}: no offset is penalised" for name in idle]


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b if isinstance(a, bool | str) or a is None else a == b
