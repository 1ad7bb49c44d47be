"""The form of a document of a perceptron: counts, a bound with the direction that proves it, or multipliers."""

from __future__ import annotations

import re
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

ESTIMATORS = ("Perceptron",)
VARIANTS = ("plain", "pocket", "averaged", "voted")


def _number_or_none(value: Any) -> bool:
    return value is None or is_number(value)


def _counts(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_count, value))


def _fractions(value: Any) -> bool:
    pattern = r"[0-9]{1,2000}(/[1-9][0-9]{0,1999})?"
    return isinstance(value, list) and all(isinstance(m, str) and re.fullmatch(pattern, m) for m in value)


_TOP: dict[str, Test] = {**TOP, "estimator": one_of(*ESTIMATORS), "dtype": one_of("float64")}
_PROBLEM: dict[str, Test] = {
    "offset": one_of("none", "constant"),
    "rate": is_number,
    "penalty": lambda value: value is None or isinstance(value, str),
    "variant": one_of(*VARIANTS),
    "class_weight": lambda value: isinstance(value, list) and all(map(is_number, value)),
    "voters": _counts,  # of each subproblem; 0 where nobody votes
}
_CERTIFICATE: dict[str, Test] = {
    "kind": one_of("bound"),
    "status": one_of(*STATUSES),
    "n_iter": is_count,
    "seconds": is_number,
    "backend": is_text,
    "fingerprint": is_dict,
    "subproblems": lambda value: isinstance(value, list) and len(value) > 0 and all(map(is_dict, value)),
}
_SUBPROBLEM: dict[str, Test] = {
    "positive": is_count,
    "status": one_of(*STATUSES),
    "mistakes": is_count,
    "passes": is_count,
    "errors": is_count,
    "why": is_text,
    "radius": _number_or_none,
    "margin": _number_or_none,
    "bound": _number_or_none,
    "witness": lambda value: value is None or is_dict(value),
}
_WITNESS: dict[str, Test] = {"rows": _counts, "multipliers": _fractions}


def flaw(document: Any) -> str | None:
    """The first thing wrong with the form of a document, in words; None where there is nothing."""
    found = flaw_of_parts(document, _TOP, _PROBLEM, _CERTIFICATE) or flaw_of_classes(document["classes"])
    if found:
        return found
    subs, problem = document["certificate"]["subproblems"], document["problem"]
    K = len(document["classes"]["values"])
    for k, sub in enumerate(subs):
        found = flaw_of(sub, _SUBPROBLEM, f"certificate.subproblems[{k}].")
        if not found and sub["witness"] is not None:
            found = flaw_of(sub["witness"], _WITNESS, f"certificate.subproblems[{k}].witness.")
        if found:
            return found
        if len({sub[name] is None for name in ("radius", "margin", "bound")}) > 1:
            return f"certificate.subproblems[{k}] has not all of radius, margin and bound, or none"
    if len(subs) != (1 if K == 2 else K) or len(problem["voters"]) != len(subs):
        return "there is not one subproblem and one number of voters for each class"
    if len(problem["class_weight"]) != K:
        return "problem.class_weight has not one number for each class"
    if problem["variant"] != "voted" and any(problem["voters"]):
        return "problem.voters are of another variant"
    return None


def array_forms(document: dict[str, Any]) -> Arrays:
    """Type and shape of the arrays that go with a document."""
    S, d = len(document["certificate"]["subproblems"]), document["n_features"]
    n, V = document["certificate"]["fingerprint"]["n_rows"], sum(document["problem"]["voters"])
    forms: Arrays = {
        "coef": ("<f8", [S, d]),
        "intercept": ("<f8", [S]),
        "last": ("<f8", [S, d + 1]),
        "start": ("<f8", [S, d + 1]),
        "direction": ("<f8", [S, d + 1]),
        "updates": ("<i8", [S, n]),
    }
    if document["problem"]["variant"] == "voted":
        forms |= {"voters": ("<f8", [V, d + 1]), "votes": ("<i8", [V])}
    return forms
