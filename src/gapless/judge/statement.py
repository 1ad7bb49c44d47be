"""What a classifier's document says of itself: the data it was fitted on, and parameters that agree with the problem."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .classes import class_weights_agree, label_index, sorted_unique, weights_of_rows
from .document import is_finite, is_number, number
from .errors import CertificateError
from .fingerprint import fingerprint
from .rows import Rows, first_non_finite
from .verdict import Claim

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
    claimed = document["certificate"]["fingerprint"]
    n, d = rows.shape
    if claimed["n_features"] != document["n_features"]:
        raise CertificateError("the certificate cannot be read: it gives two numbers of features")
    if (n, d) != (claimed["n_rows"], claimed["n_features"]):
        fit = f"{claimed['n_rows']} rows and {claimed['n_features']} features"
        raise CertificateError(f"other data: X has {n} rows and {d} features, the certificate speaks of {fit}")
    bad = first_non_finite(rows)
    if bad is not None:
        raise CertificateError(f"other data: row {bad} of X has a value that is not finite; no fit was made on it")
    weights = weights_of_rows(sample_weight, n)
    index = label_index(y, document["classes"], n)
    found = fingerprint(rows, index, weights)
    advice = "give the judge exactly what fit was given"
    if found["rows"] != claimed["rows"]:
        raise CertificateError(f"other data: the rows of X are not those of the fit ({advice})")
    if found["labels"] != claimed["labels"]:
        raise CertificateError(f"other labels: y is not that of the fit ({advice})")
    if found["weights"] != claimed["weights"]:
        missing = "no sample_weight was given" if sample_weight is None else "sample_weight is not that of the fit"
        raise CertificateError(f"other weights: {missing} ({advice})")
    return index, weights


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
    claims.append(Claim("classes", f"{len(values)} classes", None, sorted_unique(values), "sorted, each once"))
    present = np.unique(index).size
    claims.append(Claim("classes of y", len(values), present, present == len(values), "each has a row"))
    return good_C


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b if isinstance(a, bool | str) or a is None else a == b


def _equals(parameter: Any, value: float) -> bool:
    return is_number(parameter) and number(parameter) == value
