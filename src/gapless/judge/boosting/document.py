"""The form of a document of AdaBoost: one number a round of each kind, and the stumps, or what other learners answered."""

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
from ..ensemble.document import flaw_of_learners, forms_of_learners, is_learners

ESTIMATORS = ("AdaBoostClassifier",)


def _count_or_none(value: Any) -> bool:
    return value is None or is_count(value)


_TOP: dict[str, Test] = {**TOP, "estimator": one_of(*ESTIMATORS), "dtype": one_of("float64"), "learners": is_learners}
_PROBLEM: dict[str, Test] = {
    "learner": one_of("stump", "other"),
    "rounds": lambda value: is_count(value) and value > 0,
    "rate": is_number,
    "cuts": _count_or_none,  # thresholds that stumps could have, where these are not all midpoints of values
}
_CERTIFICATE: dict[str, Test] = {
    "kind": one_of("bound"),
    "status": one_of(*STATUSES),
    "reason": is_text,
    "mistakes": is_count,
    "clean_round": _count_or_none,
    "enough": _count_or_none,
    "loss": is_number,
    "margin": is_number,
    "median_margin": is_number,
    "seconds": is_number,
    "backend": is_text,
    "fingerprint": is_dict,
}


def flaw(document: Any) -> str | None:
    """The first thing wrong with the form of a document, in words; None where there is nothing."""
    found = flaw_of_parts(document, _TOP, _PROBLEM, _CERTIFICATE) or flaw_of_classes(document["classes"])
    if found:
        return found
    if document["problem"]["cuts"] is not None and document["problem"]["learner"] != "stump":
        return "problem.cuts is of stumps alone"
    if document["learners"] is not None and document["problem"]["learner"] == "stump":
        return "learners stand beside stumps"
    return flaw_of_learners(document, document["problem"]["rounds"])


def array_forms(document: dict[str, Any]) -> Arrays:
    """Type and shape of the arrays that go with a document."""
    T, K, problem = document["problem"]["rounds"], len(document["classes"]["values"]), document["problem"]
    n, d = document["certificate"]["fingerprint"]["n_rows"], document["n_features"]
    forms: Arrays = {name: ("<f8", [T]) for name in ("errors", "stage_weights", "factors", "training")}
    if problem["learner"] == "other":
        return {**forms, "answers": ("|u1" if K < 256 else "<u2", [T, n]), **forms_of_learners(document)}
    forms |= {"feature": ("<i4", [T]), "threshold": ("<f8", [T]), "classes": ("<i4", [T, 2])}
    forms |= {"masses": ("<f8", [T, 2, K]), "counts": ("<i8", [T, 2])}
    if K == 2:
        forms["edges"] = ("<f8", [T])
    if problem["cuts"] is not None:
        forms |= {"cuts": ("<f8", [problem["cuts"]]), "cut_ends": ("<i8", [d])}
    return forms
