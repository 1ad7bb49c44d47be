"""The form of a document whose certificate is of kind "gradient"."""

from __future__ import annotations

from typing import Any

from ..form.document import PARTS, SHARED, STATUS, real_of
from ..form.entries import is_count, is_dict, is_number, is_size, one_of, or_none
from ..form.schema import Arrays, Table, derived, recomputed, unchecked
from ..linear.document import TABLES as LINEAR

TABLES: dict[str, Table] = {
    **SHARED,
    "LogisticRegression.parameters.": LINEAR["LogisticRegression.parameters."],
    "problem.": {
        **LINEAR["problem."],
        "loss": derived(one_of("logistic", "softmax"), "the number of classes"),
        "offset": derived(one_of("none", "free"), "parameter fit_intercept"),
    },
    "certificate.": {
        "kind": derived(one_of("gradient"), "C is infinite"),
        "tol": derived(is_size, "parameter tol"),
        "status": STATUS,
        "loss": recomputed(is_number, "model and data"),
        "decrement": recomputed(is_number, "gradient and curvature at the model; nan: not known"),
        "reach": recomputed(is_number, "decrement, and the widest row; 1 or more proves nothing"),
        "excess": recomputed(is_number, "decrement and reach; the loss itself where nothing is proved"),
        "relative_excess": derived(is_number, "excess and loss"),
        "rounding": derived(is_number, "a part of excess"),
        "rank": recomputed(or_none(is_count), "the columns, between two numbers"),
        "condition": unchecked(is_number, "it decides nothing: rooms come from the judge's own figures"),
        **PARTS["way"],
        **PARTS["clock"],
        "fingerprint": derived(is_dict, "entry by entry below"),
    },
    "arrays.": {
        "coef": recomputed(is_dict, "the loss and its gradient; but for what all scores have in common"),
        "intercept": recomputed(is_dict, "the loss and its gradient; but for what all scores have in common"),
    },
}


def defect(document: Any) -> str | None:
    K = len(document["classes"]["values"])
    if len(document["problem"]["class_weight"]) != K:
        return "problem.class_weight has not one number for each class"
    if (document["problem"]["loss"] == "softmax") != (K > 2):
        return "the loss does not go with the number of classes"
    return None


def array_shapes(document: dict[str, Any]) -> Arrays:
    """Type and shape of the arrays: the model alone. There is no dual point to keep."""
    K = len(document["classes"]["values"])
    S, real = K if K > 2 else 1, real_of(document)
    return {"coef": (real, [S, document["n_features"]]), "intercept": (real, [S])}
