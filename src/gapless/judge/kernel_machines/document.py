"""The form of a document of a kernel machine: every entry there, of its type, none beyond."""

from __future__ import annotations

from typing import Any

from ..document import (
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

#: Estimators and the problems they pose.
ESTIMATORS = {
    "SVC": "c_svc",
    "NuSVC": "nu_svc",
    "SVR": "epsilon_svr",
    "NuSVR": "nu_svr",
    "OneClassSVM": "one_class",
}
CLASSIFIERS = ("SVC", "NuSVC")
NU_FORMS = ("nu_svc", "nu_svr")
KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed", "callable")
#: Kernels that are given as a matrix of the training rows.
MATRICES = ("precomputed", "callable")

_NUMBERS = ("primal", "dual", "gap", "relative_gap", "rounding", "seconds")


def _is_numbers(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(map(is_number, value))


def _count_or_none(value: Any) -> bool:
    return value is None or is_count(value)


_TOP: dict[str, Test] = {
    **TOP,
    "estimator": one_of(*ESTIMATORS),
    "classes": lambda v: v is None or is_dict(v),
    "dtype": one_of("float64"),
}
_PROBLEM: dict[str, Test] = {
    "kind": one_of(*ESTIMATORS.values()),
    "kernel": is_dict,
    "C": is_number,
    "nu": is_number,
    "epsilon": is_number,
    "class_weight": lambda v: v is None or _is_numbers(v),
    "support": is_dict,
}
_KERNEL: dict[str, Test] = {
    "name": one_of(*KERNELS),
    "degree": lambda v: is_count(v) and v <= 10_000,
    "gamma": is_number,
    "coef0": is_number,
    "shift": is_number,
}
_SUPPORT: dict[str, Test] = {"rows": is_count, "stored": one_of("dense", "csr", "none"), "values": is_count}
_CERTIFICATE: dict[str, Test] = {
    "kind": one_of("gap", "heuristic"),
    "tol": is_number,
    "status": one_of(*STATUSES),
    **dict.fromkeys(_NUMBERS, is_number),
    "n_iter": is_count,
    "backend": is_text,
    "solver": is_text,
    "fingerprint": is_dict,
    "subproblems": lambda v: isinstance(v, list) and len(v) > 0 and all(map(is_dict, v)),
}
_SUBPROBLEM: dict[str, Test] = {
    "positive": _count_or_none,
    "negative": _count_or_none,
    "status": one_of(*STATUSES),
    **dict.fromkeys(_NUMBERS, is_number),
    "violation": is_number,
    "n_iter": is_count,
    "solver": is_text,
}


def pairs_of(K: int) -> list[tuple[int, int]]:
    """(positive, negative) of each subproblem of K classes."""
    return [(1, 0)] if K == 2 else [(i, j) for i in range(K) for j in range(i + 1, K)]


def flaw(document: Any) -> str | None:
    """The first thing wrong with the form of a document, in words; None where there is nothing."""
    found = flaw_of_parts(document, _TOP, _PROBLEM, _CERTIFICATE)
    if found:
        return found
    problem, certificate, classes = document["problem"], document["certificate"], document["classes"]
    found = flaw_of(problem["kernel"], _KERNEL, "problem.kernel.")
    found = found or flaw_of(problem["support"], _SUPPORT, "problem.support.")
    if found:
        return found
    for k, sub in enumerate(certificate["subproblems"]):
        found = flaw_of(sub, _SUBPROBLEM, f"certificate.subproblems[{k}].")
        if found:
            return found
    if problem["kind"] != ESTIMATORS[document["estimator"]]:
        return f"problem.kind is not that of {document['estimator']}"
    if (document["estimator"] in CLASSIFIERS) != (classes is not None):
        return "classes do not go with the estimator"
    S = len(certificate["subproblems"])
    if classes is None:
        if S != 1 or problem["class_weight"] is not None:
            return "there is not one problem without class weights"
        return None
    found = flaw_of_classes(classes)
    if found:
        return found
    K = len(classes["values"])
    if problem["class_weight"] is None or len(problem["class_weight"]) != K:
        return "problem.class_weight has not one number for each class"
    return None if len(pairs_of(K)) == S else f"{K} classes do not go with {S} subproblems"


def array_forms(document: dict[str, Any]) -> Arrays:
    """Type and shape of the arrays that go with a document."""
    problem, certificate = document["problem"], document["certificate"]
    S, d, n = len(certificate["subproblems"]), document["n_features"], certificate["fingerprint"]["n_rows"]
    scalars = 2 if problem["kind"] in NU_FORMS else 1
    forms: Arrays = {"dual": ("<f8", [S, n]), "scalars": ("<f8", [S, scalars])}
    support = problem["support"]
    if support["stored"] == "dense":
        forms["vectors"] = ("<f8", [support["rows"], d])
    elif support["stored"] == "csr":
        forms |= {
            "vector_values": ("<f8", [support["values"]]),
            "vector_columns": ("<i8", [support["values"]]),
            "vector_starts": ("<i8", [support["rows"] + 1]),
        }
    return forms
