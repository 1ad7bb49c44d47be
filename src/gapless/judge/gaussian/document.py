"""The form of a document of Gaussian classes: moments of the data and the rule that follows from them."""

from __future__ import annotations

from typing import Any

from ..form.document import PARTS, SHARED, STATUSES, agree, free, real_of
from ..form.entries import is_count, is_dict, is_number, is_share, is_size, list_of, number, one_of
from ..form.schema import Arrays, Table, derived, optional, recomputed, unchecked

_AXES = "the axes of transform decide no answer of predict"
TABLES: dict[str, Table] = {
    **SHARED,
    "": {
        **SHARED[""],
        "estimator": derived(
            one_of("GaussianDiscriminant", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
            "the rule, the parameters",
        ),
    },
    "GaussianDiscriminant.parameters.": agree("covariance", "shrinkage", "priors"),
    "LinearDiscriminantAnalysis.parameters.": {
        **agree("shrinkage", "priors", "covariance_estimator"),
        "solver": optional(derived(one_of("svd", "lsqr", "eigen"), "pooled_by; svd: the arrays")),
        "tol": optional(derived(is_size, "the rank, where the solver is svd")),
        **free("n_components", "store_covariance", why="it changes what is stored, not what is true"),
    },
    "QuadraticDiscriminantAnalysis.parameters.": {
        **agree("shrinkage", "priors", "reg_param", "covariance_estimator"),
        **free("solver", "store_covariance", "tol", why="it changes what is stored, not what is true"),
    },
    "problem.": {
        "rule": derived(one_of("spherical", "shared", "per_class", "axes"), "estimator, parameter covariance"),
        "shrinkage": recomputed(list_of(is_share, 1), "parameter shrinkage; auto: Ledoit and Wolf, from the rows"),
        "pooled_by": derived(one_of("shares", "priors"), "estimator, parameter solver"),
        "directions": derived(is_count, "the columns of the array scalings"),
        "components": derived(is_count, "the entries of the array ratio"),
    },
    "certificate.": {
        "kind": derived(one_of("moments"), "the estimator"),
        "status": derived(one_of(*STATUSES), "a closed form has no other ending"),
        "rank": recomputed(list_of(is_count, 1), "the eigenvalues of the covariance, between two numbers"),
        "condition": unchecked(
            list_of(is_number, 1), "it decides nothing: rooms come from the judge's own eigenvalues"
        ),
        **PARTS["clock"],
        "fingerprint": derived(is_dict, "entry by entry below"),
    },
    "arrays.": {
        "means": recomputed(is_dict, "the rows of each class"),
        "priors": recomputed(is_dict, "the weights of the classes, or the parameter priors"),
        "covariance": recomputed(is_dict, "the rows of each class, shrunk and pooled"),
        "coef": recomputed(is_dict, "covariance and means; but for what all scores have in common"),
        "intercept": recomputed(is_dict, "coef, means and priors; but for what all scores have in common"),
        "whitening": recomputed(is_dict, "W'SW = I"),
        "log_det": recomputed(is_dict, "the eigenvalues of the covariance"),
        "rotations": recomputed(is_dict, "W'SW = I, with scalings"),
        "scalings": unchecked(is_dict, _AXES + "; those of QuadraticDiscriminantAnalysis are recomputed"),
        **dict.fromkeys(("ratio", "xbar"), unchecked(is_dict, _AXES)),
    },
}


def defect(document: Any) -> str | None:
    certificate, problem, d = document["certificate"], document["problem"], document["n_features"]
    K = len(document["classes"]["values"])
    rules = {
        "GaussianDiscriminant": ("spherical", "shared", "per_class"),
        "LinearDiscriminantAnalysis": ("shared",),
        "QuadraticDiscriminantAnalysis": ("axes",),
    }
    if problem["rule"] not in rules[document["estimator"]]:
        return f"problem.rule is not one of {document['estimator']}"
    if len(problem["shrinkage"]) != K:
        return "problem.shrinkage has not one number for each class"
    ranks = K if problem["rule"] in ("per_class", "axes") else 1
    if not d:
        return "there are no features"
    if len(certificate["rank"]) != ranks or len(certificate["condition"]) != ranks:
        return f"certificate.rank and condition are not {ranks}"
    most = d if document["estimator"] == "LinearDiscriminantAnalysis" else 0
    if problem["directions"] > most or problem["components"] > most:
        return f"problem.directions and components are beyond {most}"
    if problem["directions"] and not problem["components"]:
        return "problem.directions are of transform, and there are no components"
    for name in ("shrinkage", "reg_param"):
        value = document["parameters"].get(name)
        if not (value is None or (name == "shrinkage" and value == "auto") or is_share(value)):
            return f"the parameter {name} is no share"
    priors = document["parameters"].get("priors")
    if priors is not None and not (list_of(is_size, K)(priors) and len(priors) == K and sum(map(number, priors)) > 0.0):
        return "the parameter priors is not one number for each class"
    return None


def array_shapes(document: dict[str, Any]) -> Arrays:
    name, problem, d = document["estimator"], document["problem"], document["n_features"]
    K, rule, real = len(document["classes"]["values"]), problem["rule"], real_of(document)
    M, side = (K if rule in ("per_class", "axes") else 1), (1 if rule == "spherical" else d)
    shapes: Arrays = {"means": (real, [K, d]), "priors": (real if name == "LinearDiscriminantAnalysis" else "<f8", [K])}
    shapes |= {"covariance": ("<f8", [M, side, side])}
    if rule == "per_class":
        return {**shapes, "whitening": ("<f8", [K, d, d]), "log_det": ("<f8", [K])}
    if rule == "axes":
        return {**shapes, "rotations": (real, [K, d, d]), "scalings": (real, [K, d])}
    lines = 1 if K == 2 else K
    shapes |= {"coef": (real, [lines, d]), "intercept": (real, [lines])}
    if problem["components"]:
        shapes |= {"scalings": (real, [d, problem["directions"]]), "ratio": (real, [problem["components"]])}
        shapes |= {"xbar": (real, [d])}
    return shapes
