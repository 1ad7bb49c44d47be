"""What a document with a sparse or signed penalty states: parameters that agree with the problem."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arithmetic.rounding import total_of
from ..case import Case
from ..form.entries import is_number, number


def statement_claims(case: Case, found: np.ndarray) -> bool:
    """Parameters and problem agree; False where what they state cannot be evaluated.

    ``found`` has the common parts of the targets.
    """
    before = len(case.claims)
    parameters, problem, name = case.parameters, case.problem, case.document["estimator"]
    wanted = {"Lasso": _lasso, "ElasticNet": _elastic_net, "LogisticRegression": _logistic, "LinearSVC": _svc}[name](
        parameters, case
    )
    for key in ("loss", "C", "l1", "l2", "epsilon", "positive"):
        stated = problem[key] if key in ("loss", "positive") else number(problem[key])
        case.claim(key, stated, wanted[key], stated == wanted[key], f"of {name}")
    case.number_claim("tol", case.block["tol"])
    case.claim("offset", problem["offset"], wanted["offset"], problem["offset"] == wanted["offset"])
    case.same_claim("offset scale", number(problem["offset_scale"]), wanted["offset_scale"])
    if case.K:
        case.class_claims(problem["class_weight"])
    stated = [sub["positive"] for sub in case.parts]
    case.same_claim("subproblems", stated, getattr(case, "positives", [None] * len(case.parts)))
    common = [number(value) for value in problem["common_part"]]
    case.claim(
        "common part",
        common,
        found.tolist(),
        common == found.tolist(),
        "the first target, where all are near",
    )
    return all(claim.holds for claim in case.claims[before:])


def _number(parameters: dict[str, Any], name: str) -> float:
    value = parameters.get(name)
    return number(value) if is_number(value) else math.nan


def _of_targets(parameters: dict[str, Any], case: Case, l1: float, l2: float) -> dict[str, Any]:
    fit, positive = parameters.get("fit_intercept"), parameters.get("positive")
    positive = positive if isinstance(positive, bool) else None
    total = total_of(case.weights)
    return {
        "loss": "squared", "C": 1.0 / total if total > 0.0 else math.nan, "l1": l1, "l2": l2, "epsilon": 0.0,
        "positive": positive, "offset": {True: "free", False: "none"}.get(fit) if isinstance(fit, bool) else None,
        "offset_scale": 1.0,
    }  # fmt: skip


def _lasso(parameters: dict[str, Any], case: Case) -> dict[str, Any]:
    return _of_targets(parameters, case, _number(parameters, "alpha"), 0.0)


def _elastic_net(parameters: dict[str, Any], case: Case) -> dict[str, Any]:
    alpha, ratio = _number(parameters, "alpha"), _number(parameters, "l1_ratio")
    return _of_targets(parameters, case, alpha * ratio, alpha * (1.0 - ratio))


def _of_classes(parameters: dict[str, Any], loss: str, l1: float) -> dict[str, Any]:
    """C counts as it stands; an offset is penalised where that was asked for."""
    fit, punished = parameters.get("fit_intercept"), parameters.get("penalize_intercept", False)
    scale = _number(parameters, "intercept_scaling") if "intercept_scaling" in parameters else 1.0
    offset = None
    if isinstance(fit, bool) and isinstance(punished, bool) and math.isfinite(scale) and scale > 0.0:
        offset = "none" if not fit else "penalised" if punished else "free" if scale == 1.0 else None
    return {
        "loss": loss, "C": _number(parameters, "C"), "l1": l1, "l2": 1.0 - l1, "epsilon": 0.0, "positive": False,
        "offset": offset, "offset_scale": scale if offset == "penalised" else 1.0,
    }  # fmt: skip


def _logistic(parameters: dict[str, Any], case: Case) -> dict[str, Any]:
    # With more classes there is no such problem, and a deprecated name of the penalty stands as l1_ratio.
    two = case.K == 2 and parameters.get("penalty", "deprecated") == "deprecated"
    return _of_classes(parameters, "logistic" if two else "", _number(parameters, "l1_ratio"))


def _svc(parameters: dict[str, Any], case: Case) -> dict[str, Any]:
    sparse = parameters.get("penalty") == "l1" and parameters.get("loss") == "squared_hinge"
    sparse = sparse and parameters.get("multi_class", "ovr") == "ovr"
    return _of_classes(parameters, "squared_hinge" if sparse else "", 1.0)
