"""The form of a document of an ensemble that optimises nothing, and of the learners that stand inside a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..document import (
    CLOCK,
    SHARED,
    STATUSES,
    TOP,
    Arrays,
    Table,
    agree,
    free,
    is_count,
    is_dict,
    is_finite,
    is_flag,
    is_size,
    is_text,
    number,
    one_of,
    or_none,
)
from ..schema import derived, optional, recomputed, unchecked

CLASSIFIERS = ("BaggingClassifier",)
ESTIMATORS = (*CLASSIFIERS, "BaggingRegressor", "AdaBoostRegressor")
#: Ensembles of ensembles of ensembles are not read.
MOST_DEPTH = 3


def is_learners(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(map(is_dict, value)))


def _share(value: Any) -> bool:
    return is_size(value) and number(value) <= 1.0


_TOP: Table = {
    **TOP,
    "estimator": derived(one_of(*ESTIMATORS), "the problem, the parameters"),
    "classes": derived(or_none(is_dict), "entry by entry below"),
    "dtype": derived(one_of("float64"), "the only one"),
    "learners": unchecked(is_learners, "what a bag makes of a learner is judged with bounds on new rows alone"),
}
_PROBLEM: Table = {
    "members": derived(lambda value: is_count(value) and value > 0, "the arrays; parameter n_estimators"),
    "draws": derived(lambda value: is_count(value) and value > 0, "parameter max_samples and the rows"),
    "features": derived(lambda value: is_count(value) and value > 0, "parameter max_features and the columns"),
    "replacement": derived(is_flag, "parameter bootstrap"),
    "features_replacement": derived(is_flag, "parameter bootstrap_features"),
    "weighted": recomputed(is_flag, "true where the sample weights are not all 1"),
    "seeds": derived(is_count, "the array seeds: one a bag"),
    "labels": derived(one_of("i", "f"), "the type of the targets"),
}
_CERTIFICATE: Table = {
    "kind": derived(one_of("heuristic"), "the only one"),
    "status": unchecked(one_of(*STATUSES), "how a run ended leaves no trace, but for the number of rounds"),
    "reason": unchecked(is_text, "words on how a run ended"),
    "in_bag_probability": recomputed(or_none(_share), "rows and draws; null where rows have chances of their own"),
    "in_bag_share": recomputed(or_none(_share), "bags drawn again from their seeds, where rows are put back"),
    "estimate": unchecked(or_none(is_finite), "an out-of-bag score needs the learners, and bounds nothing"),
    "estimated": unchecked(or_none(is_count), "rows of the out-of-bag score"),
    **CLOCK,
    "fingerprint": derived(is_dict, "entry by entry below"),
}
_ARRAYS: Table = {
    "seeds": recomputed(is_dict, "the share of the rows that their bags hold"),
    "feature_lists": recomputed(is_dict, "columns of X; drawn again from the seeds where they repeat"),
    "errors": unchecked(is_dict, "mean losses need the learners; they lie in [0, 1]"),
    "stage_weights": derived(is_dict, "errors and parameter learning_rate"),
}
_WAY = "it leaves no trace beside the learners"
_BAGS: Table = {
    **agree("bootstrap", "bootstrap_features", "max_features", "max_samples", "n_estimators"),
    "oob_score": optional(derived(is_flag, "an estimate only where it was asked for")),
    "random_state": optional(derived(or_none(is_count), "the array seeds, where it is a number")),
    **free("estimator", "n_jobs", "verbose", "warm_start", why=_WAY),
}
TABLES: dict[str, Table] = {
    "": _TOP,
    "BaggingClassifier.parameters.": _BAGS,
    "BaggingRegressor.parameters.": _BAGS,
    "AdaBoostRegressor.parameters.": agree("learning_rate", "n_estimators")
    | free("estimator", "loss", "n_jobs", "random_state", "time_limit", why=_WAY),
    "problem.": _PROBLEM,
    "certificate.": _CERTIFICATE,
    "arrays.": _ARRAYS,
    **SHARED,
}


def flaw(document: Any) -> str | None:
    """The first thing wrong with the entries of a document taken together, in words; None where there is nothing."""
    if (document["estimator"] in CLASSIFIERS) is not isinstance(document["classes"], dict):
        return "classes do not go with the estimator"
    return flaw_of_learners(document, document["problem"]["members"])


def flaw_of_arrays(document: dict[str, Any], arrays: Mapping[str, Any]) -> str | None:
    """The first array that names columns that there are not, or that is no seed."""
    lists, d = arrays.get("feature_lists"), document["n_features"]
    if lists is not None and not ((lists >= 0) & (lists < d)).all():
        return f"the array feature_lists names columns beyond the {d} of the model"
    good = ((arrays["seeds"] >= 0) & (arrays["seeds"] < 2**32)).all()
    return None if good else "the array seeds is not of whole numbers below 2^32"


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
        found = flaw_of_any(learner) or _misfit(document, learner)
        found = found or (None if _sort(learner) == _sort(learners[0]) else "it is of another sort than the first")
        if found:
            return f"learner {k}: {found}"
    return None


def _sort(learner: dict[str, Any]) -> tuple[Any, ...]:
    """What decides which answers a learner has, and how wide they are; all learners are made from one."""
    inner = learner.get("learners")
    shape = learner["parameters"].get("decision_function_shape")
    return learner["estimator"], shape, _sort(inner[0]) if inner else inner


def _misfit(document: dict[str, Any], learner: dict[str, Any]) -> str | None:
    """Why a learner cannot answer for an ensemble: other columns, several outputs, or other classes."""
    bagged = document["estimator"] != "AdaBoostRegressor" and "features" in document["problem"]
    width = document["problem"]["features"] if bagged else document["n_features"]
    if learner["n_features"] != width:
        return f"it has {learner['n_features']} features, and is given {width}"
    outputs = learner["problem"].get("outputs", 1)
    if (outputs != 1 and (isinstance(outputs, int) or len(outputs) != 1)) or learner["problem"].get("columns_of_y"):
        return "it has several outputs"
    own, inner = document["classes"], learner["classes"]
    if own is None:
        return "its answers are no numbers" if inner is not None and inner["type"] == "str" else None
    if inner is None:
        return "it is no classifier" if bagged or own["type"] == "str" else None
    # A bag's learner answers with the number of a class, a round's with the class.
    kind, values = ("int", range(len(own["values"]))) if bagged else (own["type"], own["values"])
    good = inner["type"] == kind and {*inner["values"]} <= {*values}
    return None if good else "its classes are not those of the ensemble"


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
