"""What a classifier's document says of itself: the data it was fitted on, and parameters that agree with the problem."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from .classes import class_weights_agree, label_index, sorted_unique, weights_of_rows
from .document import is_finite, is_number, number
from .errors import CertificateError
from .fingerprint import digest, row_hashes
from .rows import Rows, first_non_finite
from .verdict import Claim

ADVICE = "give the judge exactly what fit was given"
#: Estimators, the losses they have, and parameters that would make another problem of it (absent counts as
#: fine).
ESTIMATORS: dict[str, tuple[str, ...]] = {
    "LinearSVC": ("hinge", "squared_hinge"),
    "LogisticRegression": ("logistic", "softmax"),
}
_L2_ONLY: dict[str, tuple[Any, ...]] = {
    "penalty": ("l2", "deprecated"),
    "l1_ratio": (0, None, "deprecated"),
    "multi_class": ("ovr", "auto", "deprecated"),
}


def same_data(document: dict[str, Any], rows: Rows, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
    """Class indices and weights of the rows; CertificateError unless they are those of the fit."""
    index = label_index(y, document["classes"], rows.shape[0])
    weights = same_rows(document, rows, sample_weight)
    same_targets(document, index, "<i8")
    return index, weights


def same_rows(document: Mapping[str, Any], rows: Rows, sample_weight: Any, gaps: bool = False) -> np.ndarray:
    """The weights of the rows; CertificateError unless both are those of the fit. ``gaps``: values may be missing."""
    mark, (n, d) = document["certificate"]["fingerprint"], rows.shape
    if (n, d) != (mark["n_rows"], mark["n_features"]) or d != document["n_features"]:
        fit = f"{mark['n_rows']} rows and {mark['n_features']} features"
        raise CertificateError(f"other data: X has {n} rows and {d} features, the certificate speaks of {fit}")
    bad = None if gaps else first_non_finite(rows)
    if bad is not None:
        raise CertificateError(f"other data: row {bad} of X has a value that is not finite; no fit was made on it")
    if digest(row_hashes(rows), "<u8") != mark["rows"]:
        raise CertificateError(f"other data: the rows of X are not those of the fit ({ADVICE})")
    weights = weights_of_rows(sample_weight, n)
    if digest(weights, "<f8") != mark["weights"]:
        missing = "no sample_weight was given" if sample_weight is None else "sample_weight is not that of the fit"
        raise CertificateError(f"other weights: {missing} ({ADVICE})")
    return weights


def same_targets(document: Mapping[str, Any], targets: np.ndarray, kind: str, name: str = "labels") -> None:
    """CertificateError unless the labels, or targets, are those of the fit."""
    if digest(targets, kind) != document["certificate"]["fingerprint"]["labels"]:
        raise CertificateError(f"other {name}: y is not that of the fit ({ADVICE})")


def statement_claims(
    claims: list[Claim], document: dict[str, Any], index: np.ndarray, weights: np.ndarray, *, penalty: bool = True
) -> bool:
    """Parameters, classes and problem agree. False where the problem they state cannot be evaluated: every claim that is not
    made then is one that does not hold.

    Without a penalty C is infinite, and an offset is free whatever ``penalize_intercept`` says.
    """
    parameters, problem = document["parameters"], document["problem"]
    tol, name, losses = (
        document["certificate"]["tol"],
        document["estimator"],
        ESTIMATORS[document["estimator"]],
    )
    K = len(document["classes"]["values"])
    loss = parameters.get("loss") if name == "LinearSVC" else losses[K > 2]
    claims.append(Claim("loss", problem["loss"], loss, problem["loss"] == loss and loss in losses, f"of {name}"))
    for key, allowed in _L2_ONLY.items():
        if key == "multi_class" and loss == "softmax":
            allowed = ("multinomial", *allowed[1:])
        if key in parameters and not any(_same(parameters[key], value) for value in allowed):
            claims.append(Claim(key, parameters[key], None, False, "is another problem than the one certified"))
    C, scale = number(problem["C"]), number(problem["offset_scale"])
    # An SVM with C = inf is the hard margin.
    good_C = math.isfinite(C) or name == "LinearSVC" if penalty else C == math.inf
    claims.append(Claim("C", C, parameters.get("C"), good_C and _equals(parameters.get("C"), C)))
    tol = number(tol)
    claims.append(Claim("tol", tol, parameters.get("tol"), _equals(parameters.get("tol"), tol)))
    fit = parameters.get("fit_intercept")
    penalised = parameters.get("penalize_intercept", False)
    scaling = parameters.get("intercept_scaling", 1.0)
    offset = "penalised" if penalised is True and penalty else "free"
    offset = "none" if fit is False else offset
    stated = isinstance(fit, bool) and isinstance(penalised, bool) and is_finite(scaling)
    stated = stated and (offset != "free" or penalised is True or number(scaling) == 1.0)  # it acts on a penalised one
    claims.append(Claim("offset", problem["offset"], offset, stated and problem["offset"] == offset))
    wanted_scale = number(scaling) if stated and offset == "penalised" else 1.0
    claims.append(Claim("offset scale", scale, wanted_scale, scale == wanted_scale))
    values = document["classes"]["values"]
    resolved = [number(w) for w in problem["class_weight"]]
    agree, expected = class_weights_agree(parameters.get("class_weight", ""), values, resolved, index, weights)
    claims.append(Claim("class weights", resolved, expected, agree))
    claims.append(classes_claim(values, index))
    return good_C


def classes_claim(values: list[Any], index: np.ndarray) -> Claim:
    """That the classes are the labels."""
    present = np.unique(index).size
    holds = sorted_unique(values) and present == len(values)
    return Claim("classes", len(values), present, holds, "sorted, each once, each has a row")


def unused(document: dict[str, Any]) -> list[str]:
    """Parameters of an offset that the problem has no use for."""
    offset, free = document["problem"]["offset"], document["certificate"]["kind"] == "gradient"
    idle = ["penalize_intercept"] if free or offset == "none" else []
    if offset == "none" or (document["parameters"].get("penalize_intercept") and free):
        idle.append("intercept_scaling")
    return [f"parameter {name}: no offset is penalised" for name in idle]


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b if isinstance(a, bool | str) or a is None else a == b


def _equals(parameter: Any, value: float) -> bool:
    return is_number(parameter) and number(parameter) == value
