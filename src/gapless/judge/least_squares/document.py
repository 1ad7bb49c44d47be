"""The form of a least squares document: every entry there, of its type, none beyond."""

from __future__ import annotations

from typing import Any

from ..document import (
    REALS,
    STATUSES,
    TOP,
    Arrays,
    Test,
    flaw_of,
    flaw_of_classes,
    flaw_of_parts,
    is_count,
    is_dict,
    is_number,
    is_text,
    one_of,
)

ESTIMATORS = ("LinearRegression", "Ridge", "LeastSquaresClassifier")
GAP = ("primal", "dual", "gap", "relative_gap")


def _is_numbers(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(map(is_number, value))


_TOP: dict[str, Test] = {**TOP, "estimator": one_of(*ESTIMATORS), "classes": lambda v: v is None or is_dict(v)}
_PROBLEM: dict[str, Test] = {
    "loss": one_of("squared"),
    "offset": one_of("free", "none"),
    "alpha": _is_numbers,
    "class_weight": lambda v: v is None or _is_numbers(v),
    "columns_of_y": lambda v: v is None or is_count(v),  # null: y is a vector
}
_CERTIFICATE: dict[str, Test] = {
    "kind": one_of("gap", "orthogonality"),
    "tol": is_number,
    "status": one_of(*STATUSES),
    "rank": lambda v: v is None or is_count(v),
    "condition": is_number,
    "n_iter": is_count,
    "seconds": is_number,
    "backend": is_text,
    "solver": is_text,
    "fingerprint": is_dict,
    "targets": lambda v: isinstance(v, list) and len(v) > 0 and all(map(is_dict, v)),
}
_TARGET: dict[str, Test] = {
    "status": one_of(*STATUSES),
    "rss": is_number,
    "r2": is_number,
    "rounding": is_number,
}


def flaw(document: Any) -> str | None:
    """The first thing wrong with the form of a document, in words; None where there is nothing."""
    found = flaw_of_parts(document, _TOP, _PROBLEM, _CERTIFICATE)
    if found:
        return found
    certificate, problem = document["certificate"], document["problem"]
    wanted = {**_TARGET, **dict.fromkeys(GAP if certificate["kind"] == "gap" else ("orthogonality",), is_number)}
    for k, target in enumerate(certificate["targets"]):
        found = found or flaw_of(target, wanted, f"certificate.targets[{k}].")
    if found:
        return found
    S, classes, weights = len(certificate["targets"]), document["classes"], problem["class_weight"]
    if len(problem["alpha"]) != S:
        return "problem.alpha has not one number for each target"
    if (document["estimator"] == "LeastSquaresClassifier") != (classes is not None):
        return "classes do not go with the estimator"
    if classes is None:
        if weights is not None:
            return "there are class weights without classes"
        return None if (problem["columns_of_y"] or 1) == S else f"problem.columns_of_y is not {S}"
    found = flaw_of_classes(classes)
    if found:
        return found
    K = len(classes["values"])
    if weights is None or len(weights) != K:
        return "problem.class_weight has not one number for each class"
    if S != (1 if K == 2 else K) or problem["columns_of_y"] is not None:
        return f"{K} classes do not go with {S} targets"
    return None


def array_forms(document: dict[str, Any]) -> Arrays:
    """Type and shape of the arrays that go with a document; without a gap there is no dual."""
    certificate = document["certificate"]
    S, d, n = len(certificate["targets"]), document["n_features"], certificate["fingerprint"]["n_rows"]
    real = REALS[document["dtype"]]
    forms: Arrays = {"coef": (real, [S, d]), "intercept": (real, [S])}
    return {**forms, "dual": ("<f8", [S, n])} if certificate["kind"] == "gap" else forms
