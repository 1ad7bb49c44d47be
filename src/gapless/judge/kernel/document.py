"""The form of a document of a kernel machine: every entry there, of its type, none beyond."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..form.document import PARTS, SHARED, STATUS, agree, free
from ..form.entries import is_count, is_dict, is_finite, is_number, is_size, is_text, list_of, number, one_of, or_none
from ..form.schema import Arrays, Table, derived, optional, recomputed, unchecked

#: Estimators and the problems they pose.
ESTIMATORS = {"SVC": "c_svc", "NuSVC": "nu_svc", "SVR": "epsilon_svr", "NuSVR": "nu_svr", "OneClassSVM": "one_class"}
#: Kernels that are given as a matrix of the training rows.
MATRICES = ("precomputed", "callable")

_GAP: Table = {
    "primal": recomputed(is_number, "dual point, scalars and data"),
    "dual": recomputed(or_none(is_number), "dual point and data; null where the kernel is not positive semidefinite"),
    "gap": recomputed(or_none(is_number), "dual point, scalars and data; null with the dual"),
    "relative_gap": derived(or_none(is_number), "gap, primal and dual; null with the dual"),
    "rounding": recomputed(is_number, "at most what float64 sums of this size can need"),
}
_PARAMETERS: Table = {
    **agree("kernel", "tol"),
    "degree": optional(derived(is_size, "has to agree with the problem, where the kernel has one")),
    "gamma": optional(
        derived(
            lambda v: v in ("scale", "auto") or is_size(v), "has to agree with the problem, where the kernel has one"
        )
    ),
    "coef0": optional(derived(is_finite, "has to agree with the problem, where the kernel has one")),
    **free("shrinking", "cache_size", "verbose", "max_iter", "time_limit", "warm_start", "init", "n_jobs", "device"),
}
_OF_CLASSES: Table = agree("class_weight") | free(
    "probability", "decision_function_shape", "break_ties", "random_state"
)
TABLES: dict[str, Table] = {
    **SHARED,
    "": {
        **SHARED[""],
        "estimator": derived(one_of(*ESTIMATORS), "the kind of problem, the parameters"),
        "classes": derived(or_none(is_dict), "entry by entry below"),
        "dtype": derived(one_of("float64"), "the only one"),
        "probabilities": optional(unchecked(is_dict, "nothing is claimed of them: fits without a fold leave no trace")),
    },
    "probabilities.": {
        name: optional(
            unchecked(is_finite, "the map from scores to probabilities, fitted to scores of rows that were left out")
        )
        for name in ("slope", "offset", "temperature")
    },
    "SVC.parameters.": agree("C") | _OF_CLASSES | _PARAMETERS,
    "NuSVC.parameters.": agree("nu") | _OF_CLASSES | _PARAMETERS,
    "SVR.parameters.": agree("C", "epsilon") | _PARAMETERS,
    "NuSVR.parameters.": agree("C", "nu") | _PARAMETERS,
    "OneClassSVM.parameters.": agree("nu") | _PARAMETERS,
    "problem.": {
        "kind": derived(one_of(*ESTIMATORS.values()), "the estimator"),
        "kernel": derived(is_dict, "entry by entry below"),
        "C": derived(lambda v: is_number(v) and number(v) > 0.0, "parameter C"),
        "nu": derived(is_size, "parameter nu"),
        "epsilon": derived(is_size, "parameter epsilon"),
        "class_weight": recomputed(or_none(list_of(is_size, 1)), "parameter class_weight and the labels"),
        "support": derived(is_dict, "entry by entry below"),
    },
    "problem.kernel.": {
        "name": derived(one_of("linear", "poly", "rbf", "sigmoid", *MATRICES), "parameter kernel"),
        "degree": derived(lambda v: is_count(v) and v <= 10_000, "parameter degree; 0 of kernels that have none"),
        "gamma": recomputed(is_size, "parameter gamma; scale: the variance of X; 0 of kernels that have none"),
        "coef0": derived(is_finite, "parameter coef0; 0 of kernels that have none"),
        "shift": recomputed(is_size, "a matrix needs it to be proved positive semidefinite, and no smaller one does"),
    },
    "problem.support.": {
        "rows": derived(is_count, "rows of the dual that are not 0"),
        "stored": derived(one_of("dense", "csr", "none"), "the arrays"),
        "values": derived(is_count, "the arrays"),
    },
    "certificate.": {
        "kind": recomputed(one_of("gap", "heuristic"), "a gap needs a kernel that is proved positive semidefinite"),
        "tol": derived(lambda v: is_finite(v) and number(v) > 0.0, "parameter tol"),
        "status": STATUS,
        **_GAP,
        **PARTS["clock"],
        **PARTS["way"],
        "engine": optional(unchecked(is_text, "whose solver found the dual point leaves no trace in it")),
        "fingerprint": derived(is_dict, "entry by entry below"),
        "subproblems": derived(list_of(is_dict, 1), "one for each pair of classes"),
    },
    "certificate.subproblems[].": {
        "positive": derived(or_none(is_count), "the pairs of classes, in order"),
        "negative": derived(or_none(is_count), "the pairs of classes, in order"),
        "status": STATUS,
        **_GAP,
        "seconds": PARTS["clock"]["seconds"],
        "violation": recomputed(is_number, "dual point and data"),
        **PARTS["way"],
    },
    "arrays.": {
        "dual": recomputed(is_dict, "primal and dual: feasible without rounding"),
        "scalars": recomputed(is_dict, "the primal"),
        "vectors": recomputed(is_dict, "rows of X"),
        "vector_values": recomputed(is_dict, "rows of X"),
        "vector_columns": recomputed(is_dict, "rows of X"),
        "vector_starts": recomputed(is_dict, "rows of X"),
    },
}


def pairs_of(K: int) -> list[tuple[int, int]]:
    """(positive, negative) of each subproblem of K classes."""
    return [(1, 0)] if K == 2 else [(i, j) for i in range(K) for j in range(i + 1, K)]


def defect(document: Any) -> str | None:
    problem, certificate, classes = document["problem"], document["certificate"], document["classes"]
    figures = [
        part[name] for part in (certificate, *certificate["subproblems"]) for name in ("dual", "gap", "relative_gap")
    ]
    none = (None, "nan") if certificate["kind"] == "heuristic" else ()  # "nan" in files of before
    if any(value not in none if none else value is None for value in figures):
        return "dual, gap and relative_gap are null for the kind heuristic, and for no other"
    if problem["kind"] != ESTIMATORS[document["estimator"]]:
        return f"problem.kind is not that of {document['estimator']}"
    if (document["estimator"] in ("SVC", "NuSVC")) != (classes is not None):
        return "classes do not go with the estimator"
    told = document.get("probabilities")
    two = classes is not None and len(classes["values"]) == 2
    if told is not None and (classes is None or set(told) != ({"slope", "offset"} if two else {"temperature"})):
        return "probabilities are not the map of so many classes"
    if document["parameters"].get("kernel") != problem["kernel"]["name"] != "callable":
        return "problem.kernel.name is not the parameter kernel"
    S, support = len(certificate["subproblems"]), problem["support"]
    if (support["stored"] == "none" and support["values"]) or (problem["kernel"]["name"] in MATRICES) != (
        support["stored"] == "none"
    ):
        return "problem.support does not go with the kernel"
    if support["stored"] == "dense" and support["values"] != support["rows"] * document["n_features"]:
        return "problem.support.values is not that of its rows"
    if classes is None:
        if S != 1 or problem["class_weight"] is not None:
            return "there is not one problem without class weights"
        return None
    K = len(classes["values"])
    if problem["class_weight"] is None or len(problem["class_weight"]) != K:
        return "problem.class_weight has not one number for each class"
    return None if len(pairs_of(K)) == S else f"{K} classes do not go with {S} subproblems"


def defect_of_arrays(document: dict[str, Any], arrays: Mapping[str, Any]) -> str | None:
    """Whether the stored rows are not as many as the dual has, or sparse ones name columns that there are not."""
    support, d = document["problem"]["support"], document["n_features"]
    if np.count_nonzero(arrays["dual"].any(axis=0)) != support["rows"]:
        return "problem.support.rows is not the number of rows whose dual is not 0"
    if support["stored"] != "csr":
        return None
    columns, starts = arrays["vector_columns"], arrays["vector_starts"]
    if starts[0] != 0 or starts[-1] != columns.size or (starts[1:] < starts[:-1]).any():
        return "the array vector_starts does not part the array vector_values"
    if not ((columns >= 0) & (columns < d)).all():
        return f"the array vector_columns names columns beyond the {d} of the model"
    rises = columns[1:] > columns[:-1]
    rises[starts[(starts > 0) & (starts < columns.size)] - 1] = True  # from one row to the next
    return None if rises.all() else "the array vector_columns does not rise within a row"


def array_shapes(document: dict[str, Any]) -> Arrays:
    problem, certificate = document["problem"], document["certificate"]
    S, d, n = len(certificate["subproblems"]), document["n_features"], certificate["fingerprint"]["n_rows"]
    scalars = 2 if problem["kind"] in ("nu_svc", "nu_svr") else 1
    shapes: Arrays = {"dual": ("<f8", [S, n]), "scalars": ("<f8", [S, scalars])}
    support = problem["support"]
    if support["stored"] == "dense":
        shapes["vectors"] = ("<f8", [support["rows"], d])
    elif support["stored"] == "csr":
        shapes |= {"vector_values": ("<f8", [support["values"]]), "vector_columns": ("<i8", [support["values"]])}
        shapes |= {"vector_starts": ("<i8", [support["rows"] + 1])}
    return shapes
