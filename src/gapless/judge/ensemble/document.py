"""The form of a document of an ensemble that optimises nothing, and of the learners that stand inside a document."""

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

CLASSIFIERS = ("BaggingClassifier",)
ESTIMATORS = (*CLASSIFIERS, "BaggingRegressor", "AdaBoostRegressor")
#: Ensembles of ensembles of ensembles are not read.
MOST_DEPTH = 3


def is_learners(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(map(is_dict, value)))


def _number_or_none(value: Any) -> bool:
    return value is None or is_number(value)


_TOP: dict[str, Test] = {
    **TOP,
    "estimator": one_of(*ESTIMATORS),
    "classes": lambda v: v is None or is_dict(v),
    "dtype": one_of("float64"),
    "learners": is_learners,
}
_PROBLEM: dict[str, Test] = {
    "members": lambda value: is_count(value) and value > 0,
    "draws": is_count,
    "features": is_count,
    "replacement": lambda value: isinstance(value, bool),
    "features_replacement": lambda value: isinstance(value, bool),
    "weighted": lambda value: isinstance(value, bool),  # whether rows have chances of their own
    "seeds": is_count,
    "labels": one_of("i", "f"),
}
_CERTIFICATE: dict[str, Test] = {
    "kind": one_of("heuristic"),
    "status": one_of(*STATUSES),
    "reason": is_text,
    "in_bag_probability": _number_or_none,
    "in_bag_share": _number_or_none,
    "estimate": _number_or_none,
    "estimated": lambda value: value is None or is_count(value),
    "seconds": is_number,
    "backend": is_text,
    "fingerprint": is_dict,
}


def flaw(document: Any) -> str | None:
    """The first thing wrong with the form of a document, in words; None where there is nothing."""
    found = flaw_of_parts(document, _TOP, _PROBLEM, _CERTIFICATE)
    if found:
        return found
    classifies = document["estimator"] in CLASSIFIERS
    if classifies is not isinstance(document["classes"], dict):
        return "classes do not go with the estimator"
    if classifies:
        found = flaw_of_classes(document["classes"])
        if found and not (found.startswith("there are 1 classes") and len(document["classes"]["values"]) == 1):
            return found
    return flaw_of_learners(document, document["problem"]["members"])


def array_forms(document: dict[str, Any]) -> Arrays:
    """Type and shape of the arrays that go with a document."""
    problem = document["problem"]
    bagged = document["estimator"] != "AdaBoostRegressor"
    forms: Arrays = {"seeds": ("<i8", [problem["seeds"]])}
    if bagged:
        forms["feature_lists"] = ("<i4", [problem["members"], problem["features"]])
    else:
        forms |= {"errors": ("<f8", [problem["members"]]), "stage_weights": ("<f8", [problem["members"]])}
    return {**forms, **forms_of_learners(document)}


# -- learners inside a document


def flaw_of_learners(document: dict[str, Any], members: int) -> str | None:
    """What is wrong with the documents of the learners, where a document has any."""
    learners = document["learners"]
    if learners is None:
        return None
    if len(learners) != members:
        return f"there are {len(learners)} learners for {members} members"
    if _depth(document) > MOST_DEPTH:
        return f"learners stand in learners more than {MOST_DEPTH} deep"
    from ..forms import flaw as flaw_of_any

    for k, learner in enumerate(learners):
        found = flaw_of_any(learner)
        if found:
            return f"learner {k}: {found}"
    return None


def forms_of_learners(document: dict[str, Any]) -> Arrays:
    """The arrays of the learners, each with the number of its learner before its name."""
    from ..forms import array_forms as forms_of_any

    forms: Arrays = {}
    for k, learner in enumerate(document["learners"] or []):
        forms |= {f"{k}.{name}": form for name, form in forms_of_any(learner).items()}
    return forms


def _depth(document: Any, level: int = 0) -> int:
    learners = document.get("learners") if isinstance(document, dict) else None
    if not isinstance(learners, list) or level > MOST_DEPTH:
        return level
    return max((_depth(learner, level + 1) for learner in learners), default=level)
