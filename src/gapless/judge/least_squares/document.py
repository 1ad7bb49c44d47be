"""The form of a least squares document: every entry there, of its type, none beyond."""

from __future__ import annotations

from typing import Any

from ..form.document import PARTS, SHARED, STATUS, agree, free, real_of
from ..form.entries import is_count, is_dict, is_finite, is_number, is_size, list_of, one_of, or_none
from ..form.schema import Arrays, Choice, Table, derived, optional, recomputed, unchecked

_PARAMETERS: Table = {
    **agree("fit_intercept", "tol"),
    **free("copy_X", "time_limit", "n_jobs", "device", "max_iter", "solver", "schedule", "random_state"),
}
_SQUARES: Table = {
    "rss": recomputed(is_number, "model and data"),
    "r2": recomputed(is_number, "model and data"),
    "rounding": recomputed(is_number, "at most what float64 needs on these data"),
}
TABLES: dict[str, Table | Choice] = {
    **SHARED,
    "": {
        **SHARED[""],
        "estimator": derived(
            one_of("LinearRegression", "Ridge", "LeastSquaresClassifier"),
            "the parameters; LinearRegression has no penalty",
        ),
        "classes": derived(or_none(is_dict), "entry by entry below"),
    },
    "LinearRegression.parameters.": agree("positive") | _PARAMETERS,
    "Ridge.parameters.": agree("alpha", "positive") | _PARAMETERS,
    "LeastSquaresClassifier.parameters.": agree("alpha", "class_weight") | _PARAMETERS,
    "problem.": {
        "loss": derived(one_of("squared"), "the only one"),
        "offset": derived(one_of("free", "none"), "parameter fit_intercept"),
        "alpha": derived(list_of(is_size, 1), "parameter alpha; 0 of LinearRegression"),
        "class_weight": recomputed(or_none(list_of(is_size, 1)), "parameter class_weight and the labels"),
        "columns_of_y": derived(
            or_none(lambda v: is_count(v) and v > 0), "the columns of y; null: y was a vector, or one column"
        ),
        "common_part": optional(
            recomputed(
                list_of(is_finite, 1), "the first value of each target, where the others and b are near it; else 0"
            )
        ),
    },
    "certificate.": {
        "kind": derived(one_of("gap", "orthogonality"), "a gap where every alpha > 0"),
        "tol": derived(is_size, "parameter tol"),
        "status": STATUS,
        "rank": recomputed(or_none(is_count), "the columns, between two numbers"),
        "condition": unchecked(is_number, "it decides nothing: rooms come from the judge's own figures"),
        **PARTS["way"],
        **PARTS["clock"],
        "fingerprint": derived(is_dict, "entry by entry below"),
        "targets": derived(list_of(is_dict, 1), "entry by entry below"),
    },
    "certificate.targets[].": Choice(
        lambda certificate, target: certificate["kind"],
        {
            "gap": {"status": STATUS, **PARTS["gap"], **_SQUARES},
            "orthogonality": {
                "status": STATUS,
                "orthogonality": recomputed(is_number, "model and data: the largest cosine"),
                **_SQUARES,
            },
        },
    ),
    "arrays.": {
        "coef": recomputed(is_dict, "the residuals"),
        "intercept": recomputed(is_dict, "the residuals"),
        "dual": recomputed(is_dict, "the dual"),
    },
}


def defect(document: Any) -> str | None:
    certificate, problem = document["certificate"], document["problem"]
    S, classes, weights = len(certificate["targets"]), document["classes"], problem["class_weight"]
    for name in ("alpha", "common_part"):
        if len(problem.get(name, certificate["targets"])) != S:
            return f"problem.{name} has not one number for each target"
    if (document["estimator"] == "LeastSquaresClassifier") != (classes is not None):
        return "classes do not go with the estimator"
    if classes is None:
        if weights is not None:
            return "there are class weights without classes"
        return None if (problem["columns_of_y"] or 1) == S else f"problem.columns_of_y is not {S}"
    K = len(classes["values"])
    if weights is None or len(weights) != K:
        return "problem.class_weight has not one number for each class"
    if S != (1 if K == 2 else K) or problem["columns_of_y"] is not None:
        return f"{K} classes do not go with {S} targets"
    return None


def array_shapes(document: dict[str, Any]) -> Arrays:
    """Type and shape of the arrays that go with a document; without a gap there is no dual."""
    certificate = document["certificate"]
    S, d, n = len(certificate["targets"]), document["n_features"], certificate["fingerprint"]["n_rows"]
    real = real_of(document)
    shapes: Arrays = {"coef": (real, [S, d]), "intercept": (real, [S])}
    return {**shapes, "dual": ("<f8", [S, n])} if certificate["kind"] == "gap" else shapes
