"""The form of a document of AdaBoost: one number a round of each kind, and the stumps, or what other learners answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..form.document import PARTS, SHARED, STATUSES, agree, free
from ..form.entries import is_count, is_dict, is_finite, is_positive, is_size, is_text, list_of, one_of, or_none
from ..form.schema import Arrays, Table, derived, optional, recomputed, unchecked

TABLES: dict[str, Table] = {
    **SHARED,
    "": {
        **SHARED[""],
        "estimator": derived(one_of("AdaBoostClassifier"), "the problem, the parameters"),
        "dtype": derived(one_of("float64"), "the only one"),
        "learners": unchecked(
            or_none(list_of(is_dict)), "the judge does not run them: what they answered stands in the array answers"
        ),
    },
    "AdaBoostClassifier.parameters.": {
        **agree("learning_rate", "n_estimators"),
        **free("estimator", "random_state", "n_jobs", "time_limit", why="it leaves no trace beside the learners"),
    },
    "problem.": {
        "learner": derived(one_of("stump", "other"), "the arrays"),
        "rounds": derived(lambda value: is_count(value) and value > 0, "the arrays; parameter n_estimators"),
        "rate": derived(is_positive, "parameter learning_rate"),
        "cuts": derived(or_none(is_count), "the arrays; thresholds of stumps, where these are not all midpoints"),
    },
    "certificate.": {
        "kind": derived(one_of("bound"), "the only one"),
        "status": unchecked(one_of(*STATUSES), "how a run ended leaves no trace, but for the number of rounds"),
        "reason": unchecked(is_text, "words on how a run ended"),
        "mistakes": recomputed(is_count, "the votes on the rows"),
        "clean_round": recomputed(or_none(is_count), "the votes on the rows, round by round"),
        "enough": recomputed(or_none(is_count), "the errors, where two classes count alike"),
        "loss": recomputed(is_size, "the errors and stage weights on the rows"),
        "margin": recomputed(is_finite, "the votes on the rows"),
        "median_margin": recomputed(is_finite, "the votes on the rows"),
        "best": optional(recomputed(is_finite, "the array against and every threshold of every feature")),
        **PARTS["clock"],
        "fingerprint": derived(is_dict, "entry by entry below"),
    },
    "arrays.": {
        "errors": recomputed(is_dict, "the weights of the rows, round by round"),
        "stage_weights": recomputed(is_dict, "the errors"),
        "factors": recomputed(is_dict, "the errors and stage weights"),
        "training": recomputed(is_dict, "the votes on the rows, round by round"),
        "answers": unchecked(is_dict, "the judge does not run the learners"),
        **dict.fromkeys(
            ("feature", "threshold"),
            recomputed(is_dict, "that a stump has the least impurity is not checked; what follows from it is"),
        ),
        "classes": recomputed(is_dict, "the masses of each side"),
        "masses": recomputed(is_dict, "the weights of the rows on each side"),
        "counts": recomputed(is_dict, "the rows on each side"),
        "edges": recomputed(is_dict, "every threshold of every feature"),
        "against": unchecked(is_dict, "any weights prove a bound on the margin; which bound is recomputed"),
        "cuts": unchecked(is_dict, "which thresholds stumps could have is how the rows were coded"),
        "cut_ends": derived(is_dict, "the array cuts"),
    },
}


def defect(document: Any) -> str | None:
    if document["problem"]["cuts"] is not None and document["problem"]["learner"] != "stump":
        return "problem.cuts is of stumps alone"
    two_and_stumps = len(document["classes"]["values"]) == 2 and document["problem"]["learner"] == "stump"
    if "best" in document["certificate"] and not two_and_stumps:
        return "certificate.best is of two classes and stumps alone"
    if document["learners"] is not None and document["problem"]["learner"] == "stump":
        return "learners stand beside stumps"
    return None


def defect_of_arrays(document: dict[str, Any], arrays: Mapping[str, Any]) -> str | None:
    """The first array that names columns, classes or thresholds that there are not."""
    d, K = document["n_features"], len(document["classes"]["values"])
    if "feature" in arrays and not ((arrays["feature"] >= -1) & (arrays["feature"] < d)).all():
        return f"the array feature names columns beyond the {d} of the model"
    if "classes" in arrays and not ((arrays["classes"] >= 0) & (arrays["classes"] < K)).all():
        return f"the array classes names classes beyond the {K} of the model"
    # Of a learner that does not know a class, the answer K stands for none.
    if "answers" in arrays and not (arrays["answers"] <= K).all():
        return f"the array answers names classes beyond the {K} of the model"
    if "cuts" in arrays:
        ends = np.concatenate(([0], arrays["cut_ends"]))
        if not ((ends[1:] >= ends[:-1]).all() and ends[-1] == arrays["cuts"].size):
            return "the array cut_ends does not part the array cuts"
    return None


def array_shapes(document: dict[str, Any]) -> Arrays:
    T, K, problem = document["problem"]["rounds"], len(document["classes"]["values"]), document["problem"]
    n, d = document["certificate"]["fingerprint"]["n_rows"], document["n_features"]
    shapes: Arrays = {name: ("<f8", [T]) for name in ("errors", "stage_weights", "factors", "training")}
    if problem["learner"] == "other":
        return {**shapes, "answers": ("|u1" if K < 256 else "<u2", [T, n])}
    shapes |= {"feature": ("<i4", [T]), "threshold": ("<f8", [T]), "classes": ("<i4", [T, 2])}
    shapes |= {"masses": ("<f8", [T, 2, K]), "counts": ("<i8", [T, 2])}
    if K == 2:
        shapes["edges"] = ("<f8", [T])
        shapes |= {"against": ("<f8", [n])} if "best" in document["certificate"] else {}
    if problem["cuts"] is not None:
        shapes |= {"cuts": ("<f8", [problem["cuts"]]), "cut_ends": ("<i8", [d])}
    return shapes
