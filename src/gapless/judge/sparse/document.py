"""The form of a document of a model with a sparse or signed penalty."""

from __future__ import annotations

from typing import Any

from ..form.document import real_of
from ..form.schema import Arrays
from .tables import tables as TABLES

__all__ = ["TABLES", "array_shapes", "defect"]


def defect(document: Any) -> str | None:
    problem, classes = document["problem"], document["classes"]
    S = len(document["certificate"]["subproblems"])
    if (classes is not None) != (problem["loss"] in ("logistic", "squared_hinge")):
        return "classes do not go with the loss"
    if len(problem["common_part"]) != S:
        return "problem.common_part has not one number for each target"
    if classes is None:
        if problem["class_weight"] is not None:
            return "there are class weights without classes"
        return None if (problem["columns_of_y"] or 1) == S else f"problem.columns_of_y is not {S}"
    K = len(classes["values"])
    if problem["class_weight"] is None or len(problem["class_weight"]) != K:
        return "problem.class_weight has not one number for each class"
    if S != (1 if K == 2 else K) or problem["columns_of_y"] is not None:
        return f"{K} classes do not go with {S} problems"
    return None


def array_shapes(document: dict[str, Any]) -> Arrays:
    """Type and shape of the arrays: a line of each for each problem."""
    S, d = len(document["certificate"]["subproblems"]), document["n_features"]
    n, real = document["certificate"]["fingerprint"]["n_rows"], real_of(document)
    return {"coef": (real, [S, d]), "intercept": (real, [S]), "dual": ("<f8", [S, n]), "zeros": ("|i1", [S, d])}
