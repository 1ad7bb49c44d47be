"""The form of a document of a linear classifier with a penalty."""

from __future__ import annotations

from typing import Any

from ..form.document import PARTS, SHARED, STATUS, agree, free, real_of
from ..form.entries import is_count, is_dict, is_flag, is_number, is_positive, is_size, list_of, number, one_of, or_none
from ..form.schema import Arrays, Table, derived, optional, recomputed

#: Estimators and the losses they have: of two classes, and of more.
ESTIMATORS = {"LinearSVC": ("hinge", "squared_hinge"), "LogisticRegression": ("logistic", "softmax")}
PARAMETERS: Table = {
    **agree("C", "tol", "fit_intercept", "class_weight", "penalty", "l1_ratio", "multi_class"),
    "penalize_intercept": optional(derived(is_flag, "the offset, where there is one and a penalty")),
    "intercept_scaling": optional(derived(is_positive, "offset_scale, where the offset is penalised")),
    **free(
        "dual",
        "verbose",
        "random_state",
        "max_iter",
        "solver",
        "schedule",
        "time_limit",
        "warm_start",
        "init",
        "n_jobs",
    ),
    **free("device", "checkpoint"),
}
TABLES: dict[str, Table] = {
    **SHARED,
    "LinearSVC.parameters.": agree("loss") | PARAMETERS,
    "LogisticRegression.parameters.": PARAMETERS | free("on_separation"),
    "problem.": {
        "loss": derived(
            one_of("hinge", "squared_hinge", "logistic", "squared", "softmax"),
            "estimator, parameter loss, number of classes",
        ),
        "offset": derived(one_of("none", "penalised", "free"), "parameters fit_intercept and penalize_intercept"),
        "offset_scale": derived(is_positive, "parameter intercept_scaling"),
        "C": derived(lambda value: is_number(value) and number(value) > 0.0, "parameter C"),
        "class_weight": recomputed(list_of(is_size), "parameter class_weight and the labels"),
    },
    "certificate.": {
        "kind": derived(one_of("gap"), "estimator and C"),
        "tol": derived(is_size, "parameter tol"),
        "status": STATUS,
        **PARTS["gap"],
        **PARTS["clock"],
        **PARTS["way"],
        "fingerprint": derived(is_dict, "entry by entry below"),
        "subproblems": derived(list_of(is_dict, 1), "one for each class against the rest"),
    },
    "certificate.subproblems[].": {
        "positive": derived(or_none(is_count), "the classes, in order"),
        "status": STATUS,
        **PARTS["gap"],
        "seconds": PARTS["clock"]["seconds"],
        **PARTS["way"],
    },
    "arrays.": {
        "coef": recomputed(is_dict, "the primal"),
        "intercept": recomputed(is_dict, "the primal"),
        "dual": recomputed(is_dict, "the dual: feasible without rounding"),
    },
}


def defect(document: Any) -> str | None:
    certificate, problem = document["certificate"], document["problem"]
    for k, sub in enumerate(certificate["subproblems"]):
        if sub["positive"] is None and problem["loss"] != "softmax":
            return f"the entry certificate.subproblems[{k}].positive is None, which only the softmax loss has"
    if len(problem["class_weight"]) != len(document["classes"]["values"]):
        return "problem.class_weight has not one number for each class"
    return None


def array_shapes(document: dict[str, Any]) -> Arrays:
    """Type and shape of the arrays: a line of coef, intercept and dual for each subproblem; for the one of the softmax loss
    one for each class."""
    softmax = document["problem"]["loss"] == "softmax"
    S = len(document["classes"]["values"] if softmax else document["certificate"]["subproblems"])
    n, real = document["certificate"]["fingerprint"]["n_rows"], real_of(document)
    return {"coef": (real, [S, document["n_features"]]), "intercept": (real, [S]), "dual": ("<f8", [S, n])}
