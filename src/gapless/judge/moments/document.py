"""The form of a document of Gaussian classes: moments of the data and the rule that follows from them."""

from __future__ import annotations

from typing import Any

from ..document import (
    REALS,
    STATUSES,
    TOP,
    Arrays,
    Test,
    flaw_of_classes,
    flaw_of_parts,
    is_count,
    is_dict,
    is_number,
    is_text,
    one_of,
)

GAUSSIAN, LINEAR, QUADRATIC = "GaussianDiscriminant", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"
ESTIMATORS = (GAUSSIAN, LINEAR, QUADRATIC)
#: The rules of each estimator.
RULES = {GAUSSIAN: ("spherical", "shared", "per_class"), LINEAR: ("shared",), QUADRATIC: ("axes",)}


def _each(test: Test) -> Test:
    return lambda value: isinstance(value, list) and len(value) > 0 and all(map(test, value))


_TOP: dict[str, Test] = {**TOP, "estimator": one_of(*ESTIMATORS)}
_PROBLEM: dict[str, Test] = {
    "rule": one_of("spherical", "shared", "per_class", "axes"),
    "shrinkage": _each(is_number),  # of each class, as it was applied
    "pooled_by": one_of("shares", "priors"),
    "directions": is_count,  # columns of scalings
    "components": is_count,  # of transform
}
_CERTIFICATE: dict[str, Test] = {
    "kind": one_of("moments"),
    "status": one_of(*STATUSES),
    "rank": _each(is_count),
    "condition": _each(is_number),
    "seconds": is_number,
    "backend": is_text,
    "fingerprint": is_dict,
}


def flaw(document: Any) -> str | None:
    """The first thing wrong with the form of a document, in words; None where there is nothing."""
    found = flaw_of_parts(document, _TOP, _PROBLEM, _CERTIFICATE) or flaw_of_classes(document["classes"])
    if found:
        return found
    certificate, problem, d = document["certificate"], document["problem"], document["n_features"]
    K = len(document["classes"]["values"])
    if problem["rule"] not in RULES[document["estimator"]]:
        return f"problem.rule is not one of {document['estimator']}"
    if len(problem["shrinkage"]) != K:
        return "problem.shrinkage has not one number for each class"
    ranks = K if problem["rule"] in ("per_class", "axes") else 1
    if len(certificate["rank"]) != ranks or len(certificate["condition"]) != ranks:
        return f"certificate.rank and condition are not {ranks}"
    most = d if document["estimator"] == LINEAR else 0
    if problem["directions"] > most or problem["components"] > most:
        return f"problem.directions and components are beyond {most}"
    return None


def array_forms(document: dict[str, Any]) -> Arrays:
    """Type and shape of the arrays that go with a document."""
    name, problem, d = document["estimator"], document["problem"], document["n_features"]
    K, rule, real = len(document["classes"]["values"]), problem["rule"], REALS[document["dtype"]]
    M, side = (K if rule in ("per_class", "axes") else 1), (1 if rule == "spherical" else d)
    forms: Arrays = {
        "means": (real, [K, d]),
        "priors": (real if name == LINEAR else "<f8", [K]),
        "covariance": ("<f8", [M, side, side]),
    }
    if rule == "per_class":
        return {**forms, "whitening": ("<f8", [K, d, d]), "log_det": ("<f8", [K])}
    if rule == "axes":
        return {**forms, "rotations": (real, [K, d, d]), "scalings": (real, [K, d])}
    lines = 1 if K == 2 else K
    forms |= {"coef": (real, [lines, d]), "intercept": (real, [lines])}
    if problem["components"]:
        forms |= {"scalings": (real, [d, problem["directions"]]), "ratio": (real, [problem["components"]])}
        forms |= {"xbar": (real, [d])}
    return forms
