"""The form of a document of a decision tree: its limits, its classes, and the arrays of its nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..form.document import PARTS, SHARED, STATUSES, agree, defect_of_classes, free
from ..form.entries import is_count, is_dict, is_flag, is_number, is_size, list_of, number, one_of, or_none
from ..form.schema import Arrays, Table, derived, recomputed, unchecked

_PARAMETERS: Table = {
    **agree(
        *("criterion", "splitter", "max_depth", "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf"),
        *("max_features", "max_leaf_nodes", "min_impurity_decrease", "ccp_alpha"),
        how="a limit that the tree keeps, or that the problem repeats",
    ),
    **free("random_state", "n_jobs", why="it leaves no trace where all splits are tried"),
    **free("categorical_features", "max_bins", why="problem.levels and problem.exact stand for it"),
    **agree("monotonic_cst", how="the values of the nodes, and the cuts that may be made"),
}
TABLES: dict[str, Table] = {
    **SHARED,
    "": {
        **SHARED[""],
        "estimator": derived(
            one_of("DecisionTreeClassifier", "DecisionTreeRegressor"), "the criterion, the outputs, the parameters"
        ),
        "classes": derived(or_none(is_dict), "problem.outputs"),
        "dtype": unchecked(one_of("float64", "float32"), "a tree reads float32, whatever it was given"),
    },
    "DecisionTreeClassifier.parameters.": agree("class_weight") | _PARAMETERS,
    "DecisionTreeRegressor.parameters.": _PARAMETERS,
    "problem.": {
        "criterion": derived(
            one_of("gini", "entropy", "squared_error", "absolute_error", "poisson"), "parameter criterion"
        ),
        "outputs": recomputed(
            lambda v: list_of(is_dict, 1)(v) or (is_count(v) and v > 0), "the labels, or the columns of y"
        ),
        "class_weight": recomputed(or_none(list_of(list_of(is_size))), "parameter class_weight and the labels"),
        "min_leaf": derived(is_count, "parameter min_samples_leaf"),
        "min_split": derived(is_count, "parameters min_samples_split and min_samples_leaf"),
        "min_weight": derived(is_size, "parameter min_weight_fraction_leaf and the weights"),
        "max_features": derived(is_count, "parameter max_features"),
        "exact": unchecked(
            is_flag, "whether bins were used leaves no trace; splits are the best only where it is true"
        ),
        "levels": derived(list_of(is_count), "the array levels"),
        "words": derived(is_count, "levels"),
        "missing": recomputed(list_of(is_count), "the columns of X with missing values"),
    },
    "problem.outputs[].": SHARED["classes."],
    "certificate.": {
        "kind": derived(one_of("heuristic"), "the only one"),
        "status": derived(one_of(*STATUSES), "growth ends by itself"),
        "error": recomputed(is_size, "the rows, sent through the tree"),
        "nodes": derived(is_count, "the arrays"),
        "leaves": recomputed(is_count, "the arrays left and right"),
        "depth": recomputed(is_count, "the arrays left and right"),
        "best": derived(
            is_flag, "problem.exact, parameters splitter and max_features; then every split is tried again"
        ),
        **PARTS["clock"],
        "fingerprint": derived(is_dict, "entry by entry below"),
    },
    "arrays.": {
        "feature": recomputed(is_dict, "every cut of every feature, where all were tried"),
        "threshold": recomputed(is_dict, "the rows that it sends left; where between two values is not checked"),
        "left": recomputed(is_dict, "a tree: every node but the root has one parent, above it"),
        "right": recomputed(is_dict, "a tree: every node but the root has one parent, above it"),
        "missing_left": recomputed(is_dict, "the rows that it sends left"),
        "value": recomputed(is_dict, "the rows of the node"),
        "impurity": recomputed(is_dict, "the rows of the node"),
        "weighted_n": recomputed(is_dict, "the rows of the node"),
        "n_samples": recomputed(is_dict, "the rows of the node"),
        "categories": recomputed(is_dict, "the rows that it sends left; what no row has goes where more rows go"),
        "levels": recomputed(is_dict, "the values of the columns of categories"),
    },
}


def defect_of_limits(p: dict[str, Any]) -> str | None:
    """What is wrong with the parameters that limit growth; absent counts as fine."""
    for name in ("max_depth", "max_leaf_nodes"):
        if not or_none(is_count)(p.get(name)):
            return f"the parameter {name} is no count"
    for name in ("min_impurity_decrease", "ccp_alpha", "min_weight_fraction_leaf"):
        if not is_size(p.get(name, 0.0)):
            return f"the parameter {name} is no number >= 0"
    for name, least in (("min_samples_split", 2), ("min_samples_leaf", 1)):
        value = p.get(name, least)
        if not ((is_count(value) and value >= least) or (isinstance(value, float) and 0.0 < value <= 1.0)):
            return f"the parameter {name} is neither a count nor a share"
    share = p.get("max_features")
    good = share is None or share in ("sqrt", "log2") or is_count(share) or (is_size(share) and number(share) <= 1.0)
    return None if good else "the parameter max_features is neither a count nor a share"


def defect(document: Any) -> str | None:
    if found := defect_of_limits(document["parameters"]):
        return found
    problem, outputs = document["problem"], document["problem"]["outputs"]
    of_numbers = ("squared_error", "absolute_error", "poisson")
    criteria = of_numbers if document["estimator"] == "DecisionTreeRegressor" else ("gini", "entropy")
    signs = document["parameters"].get("monotonic_cst")
    if signs is not None and not (list_of(is_number)(signs) and len(signs) == document["n_features"]):
        return "the parameter monotonic_cst has not one number for each feature"
    if signs is not None and any(number(s) not in (-1.0, 0.0, 1.0) for s in signs):
        return "the parameter monotonic_cst has a number that is not 1, -1 or 0"
    if problem["criterion"] not in criteria:
        return f"problem.criterion is not one of {document['estimator']}"
    if isinstance(outputs, int) == (document["estimator"] == "DecisionTreeClassifier"):
        return "problem.outputs does not go with the estimator"
    widest = outputs if isinstance(outputs, int) else max(len(outputs), *(len(b["values"]) - 1 for b in outputs))
    if signs is not None and any(signs) and widest > 1:
        return "the parameter monotonic_cst is for one output, of two classes at most"
    single = outputs[0] if isinstance(outputs, list) and len(outputs) == 1 else None
    if document["classes"] != single or (single is not None and document["classes"]["type"] != single["type"]):
        return "classes are not those of problem.outputs"
    for block in outputs if isinstance(outputs, list) else []:
        found = defect_of_classes(block, 1)  # a tree of one class is a leaf
        if found:
            return found
    weights = problem["class_weight"]
    sizes = [0] if isinstance(outputs, int) else [len(block["values"]) for block in outputs]
    if weights is not None and [len(each) for each in weights] != sizes:
        return "problem.class_weight has not one number for each class"
    if len(problem["levels"]) != document["n_features"]:
        return "problem.levels has not one number for each feature"
    if problem["words"] != (max(problem["levels"], default=0) + 32) // 32 * any(problem["levels"]):
        return "problem.words does not hold problem.levels"
    if document["certificate"]["nodes"] < 1:
        return "certificate.nodes is 0; a tree has a root"
    return None


def defect_of_arrays(document: dict[str, Any], arrays: Mapping[str, Any]) -> str | None:
    """Whether the arrays are no tree: every node but the root has one parent, above it, and leaves have no cut."""
    left, right, feature = (arrays[name].astype(np.int64) for name in ("left", "right", "feature"))
    threshold, N, d = arrays["threshold"], left.size, document["n_features"]
    ends, own = left < 0, np.arange(N)
    inner = ~ends
    children = np.concatenate([left[inner], right[inner]])
    if not (ends == (right < 0)).all() or not np.array_equal(np.sort(children), np.arange(1, N)):
        return "the arrays left and right are no tree"
    if not ((left > own)[inner].all() and (right > own)[inner].all()):
        return "the arrays left and right have a child above its parent"
    if not ((feature >= 0) & (feature < d))[inner].all():
        return f"the array feature names columns beyond the {d} of the model"
    # A leaf has no cut, and says so in one way.
    bare = (feature == -2) & (threshold == -2.0) & (left == -1) & (right == -1) & (arrays["missing_left"] == 0)
    if not bare[ends].all() or arrays["categories"][ends].any() or not (arrays["missing_left"] <= 1).all():
        return "a leaf has a cut, or missing_left is neither 0 nor 1"
    ordered = [np.diff(part) > 0 for part in np.split(arrays["levels"], np.cumsum(document["problem"]["levels"]))]
    good = all(map(np.all, ordered)) and np.isfinite(arrays["levels"]).all() and not np.isnan(threshold).any()
    return None if good else "the levels of a feature do not rise, or a threshold is no number"


def array_shapes(document: dict[str, Any]) -> Arrays:
    problem, N = document["problem"], document["certificate"]["nodes"]
    outputs = problem["outputs"]
    P = outputs if isinstance(outputs, int) else sum(len(block["values"]) for block in outputs)
    types = {"<i4": ("feature", "left", "right"), "<f8": ("threshold", "impurity", "weighted_n"), "<i8": ("n_samples",)}
    shapes: Arrays = {name: (dtype, [N]) for dtype, names in types.items() for name in names}
    shapes |= {"missing_left": ("|u1", [N]), "value": ("<f8", [N, P])}
    return {**shapes, "categories": ("<u4", [N, problem["words"]]), "levels": ("<f4", [sum(problem["levels"])])}
