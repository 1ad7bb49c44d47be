"""The form of a document of an ensemble that optimises nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..form.document import PARTS, SHARED, STATUSES, agree, free
from ..form.entries import is_count, is_dict, is_finite, is_flag, is_share, is_text, list_of, one_of, or_none
from ..form.schema import Arrays, Table, derived, optional, recomputed, unchecked

TABLES: dict[str, Table] = {
    **SHARED,
    "": {
        **SHARED[""],
        "estimator": derived(
            one_of("BaggingClassifier", "BaggingRegressor", "AdaBoostRegressor"), "the problem, the parameters"
        ),
        "classes": derived(or_none(is_dict), "entry by entry below"),
        "dtype": derived(one_of("float64"), "the only one"),
        "learners": unchecked(
            or_none(list_of(is_dict)), "what a bag makes of a learner is judged with bounds on new rows alone"
        ),
    },
    **{
        f"{name}.parameters.": {
            **agree("bootstrap", "bootstrap_features", "max_features", "max_samples", "n_estimators"),
            "oob_score": optional(derived(is_flag, "an estimate only where it was asked for")),
            "random_state": optional(derived(or_none(is_count), "the array seeds, where it is a number")),
            **free("estimator", "n_jobs", "verbose", "warm_start", why="it leaves no trace beside the learners"),
        }
        for name in ("BaggingClassifier", "BaggingRegressor")
    },
    "AdaBoostRegressor.parameters.": {
        **agree("learning_rate", "n_estimators"),
        **free(
            *("estimator", "loss", "n_jobs", "random_state", "time_limit"), why="it leaves no trace beside the learners"
        ),
    },
    "problem.": {
        "members": derived(lambda value: is_count(value) and value > 0, "the arrays; parameter n_estimators"),
        "draws": derived(lambda value: is_count(value) and value > 0, "parameter max_samples and the rows"),
        "features": derived(lambda value: is_count(value) and value > 0, "parameter max_features and the columns"),
        "replacement": derived(is_flag, "parameter bootstrap"),
        "features_replacement": derived(is_flag, "parameter bootstrap_features"),
        "weighted": recomputed(is_flag, "true where the sample weights are not all 1"),
        "seeds": derived(is_count, "the array seeds: one a bag"),
        "labels": derived(one_of("i", "f"), "the type of the targets"),
    },
    "certificate.": {
        "kind": derived(one_of("heuristic"), "the only one"),
        "status": unchecked(one_of(*STATUSES), "how a run ended leaves no trace, but for the number of rounds"),
        "reason": unchecked(is_text, "words on how a run ended"),
        "in_bag_probability": recomputed(
            or_none(is_share), "rows and draws; null where rows have chances of their own"
        ),
        "in_bag_share": recomputed(or_none(is_share), "bags drawn again from their seeds, where rows are put back"),
        "estimate": unchecked(or_none(is_finite), "an out-of-bag score needs the learners, and bounds nothing"),
        "estimated": unchecked(or_none(is_count), "rows of the out-of-bag score"),
        **PARTS["clock"],
        "fingerprint": derived(is_dict, "entry by entry below"),
    },
    "arrays.": {
        "seeds": recomputed(is_dict, "the share of the rows that their bags hold"),
        "feature_lists": recomputed(is_dict, "columns of X; drawn again from the seeds where they repeat"),
        "errors": unchecked(is_dict, "mean losses need the learners; they lie in [0, 1]"),
        "stage_weights": derived(is_dict, "errors and parameter learning_rate"),
    },
}


def defect(document: Any) -> str | None:
    if (document["estimator"] == "BaggingClassifier") is not isinstance(document["classes"], dict):
        return "classes do not go with the estimator"
    return None


def defect_of_arrays(document: dict[str, Any], arrays: Mapping[str, Any]) -> str | None:
    """The first array that names columns that there are not, or that is no seed."""
    lists, d = arrays.get("feature_lists"), document["n_features"]
    if lists is not None and not ((lists >= 0) & (lists < d)).all():
        return f"the array feature_lists names columns beyond the {d} of the model"
    good = ((arrays["seeds"] >= 0) & (arrays["seeds"] < 2**32)).all()
    return None if good else "the array seeds is not of whole numbers below 2^32"


def array_shapes(document: dict[str, Any]) -> Arrays:
    problem = document["problem"]
    bagged = document["estimator"] != "AdaBoostRegressor"
    shapes: Arrays = {"seeds": ("<i8", [problem["seeds"]])}
    if bagged:
        shapes["feature_lists"] = ("<i4", [problem["members"], problem["features"]])
    else:
        shapes |= {"errors": ("<f8", [problem["members"]]), "stage_weights": ("<f8", [problem["members"]])}
    return shapes
