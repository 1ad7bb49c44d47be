"""The form of a document of a decision tree: its limits, its classes, and the arrays of its nodes."""

from __future__ import annotations

from typing import Any

from ..document import (
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

CLASSIFIER, REGRESSOR = "DecisionTreeClassifier", "DecisionTreeRegressor"
ESTIMATORS = (CLASSIFIER, REGRESSOR)
CRITERIA = {CLASSIFIER: ("gini", "entropy"), REGRESSOR: ("squared_error",)}


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _weights(value: Any) -> bool:
    lists = isinstance(value, list) and all(isinstance(each, list) and all(map(is_number, each)) for each in value)
    return value is None or lists


def _outputs(value: Any) -> bool:
    return (is_count(value) and value > 0) or (isinstance(value, list) and len(value) > 0 and all(map(is_dict, value)))


_TOP: dict[str, Test] = {**TOP, "estimator": one_of(*ESTIMATORS), "classes": lambda v: v is None or is_dict(v)}
_PROBLEM: dict[str, Test] = {
    "criterion": one_of("gini", "entropy", "squared_error"),
    "outputs": _outputs,  # the classes of each output, or the number of targets
    "class_weight": _weights,  # of each output, for each class
    "min_leaf": is_count,
    "min_split": is_count,
    "min_weight": is_number,
    "max_features": is_count,
    "exact": _is_bool,  # whether a threshold between any two values could be taken
    "levels": lambda v: isinstance(v, list) and all(map(is_count, v)),  # categories of each feature; 0: numbers
    "words": is_count,  # of 32 bits, that hold a set of categories
    "missing": lambda v: isinstance(v, list) and all(map(is_count, v)),  # features with missing values
}
_CERTIFICATE: dict[str, Test] = {
    "kind": one_of("heuristic"),
    "status": one_of(*STATUSES),
    "error": is_number,
    "nodes": is_count,
    "leaves": is_count,
    "depth": is_count,
    "best": _is_bool,
    "seconds": is_number,
    "backend": is_text,
    "fingerprint": is_dict,
}


def flaw(document: Any) -> str | None:
    """The first thing wrong with the form of a document, in words; None where there is nothing."""
    found = flaw_of_parts(document, _TOP, _PROBLEM, _CERTIFICATE)
    if found:
        return found
    problem, outputs = document["problem"], document["problem"]["outputs"]
    if problem["criterion"] not in CRITERIA[document["estimator"]]:
        return f"problem.criterion is not one of {document['estimator']}"
    if isinstance(outputs, int) == (document["estimator"] == CLASSIFIER):
        return "problem.outputs does not go with the estimator"
    single = outputs[0] if isinstance(outputs, list) and len(outputs) == 1 else None
    if document["classes"] != single:
        return "classes are not those of problem.outputs"
    for block in outputs if isinstance(outputs, list) else []:
        found = flaw_of_classes(block)
        if found and not found.startswith("there are 1 classes"):  # a tree of one class is a leaf
            return found
        if found and "values" in block and len(block["values"]) != 1:
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


def array_forms(document: dict[str, Any]) -> Arrays:
    """Type and shape of the arrays that go with a document."""
    problem, N = document["problem"], document["certificate"]["nodes"]
    outputs = problem["outputs"]
    P = outputs if isinstance(outputs, int) else sum(len(block["values"]) for block in outputs)
    return {
        "feature": ("<i4", [N]),
        "threshold": ("<f8", [N]),
        "left": ("<i4", [N]),
        "right": ("<i4", [N]),
        "missing_left": ("|u1", [N]),
        "value": ("<f8", [N, P]),
        "impurity": ("<f8", [N]),
        "weighted_n": ("<f8", [N]),
        "n_samples": ("<i8", [N]),
        "categories": ("<u4", [N, problem["words"]]),
        "levels": ("<f4", [sum(problem["levels"])]),
    }
