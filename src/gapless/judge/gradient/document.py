"""The form of a document whose certificate is of kind "gradient"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..document import (
    FINGERPRINT,
    OPTIONAL,
    REALS,
    STATUSES,
    TOP,
    Arrays,
    Test,
    flaw_of,
    flaw_of_certificate,
    flaw_of_classes,
    flaw_of_head,
    flaw_of_names,
    is_count,
    is_dict,
    is_number,
    is_text,
    one_of,
)

NUMBERS = ("loss", "decrement", "reach", "excess", "relative_excess", "rounding")

_PROBLEM: dict[str, Test] = {
    "loss": one_of("logistic", "softmax"),
    "offset": one_of("none", "free"),
    "offset_scale": is_number,
    "C": is_number,
    "class_weight": lambda value: isinstance(value, list) and all(map(is_number, value)),
}
_CERTIFICATE: dict[str, Test] = {
    "kind": one_of("gradient"),
    "tol": is_number,
    "status": one_of(*STATUSES),
    **dict.fromkeys(NUMBERS, is_number),
    "rank": lambda value: value is None or is_count(value),
    "condition": is_number,
    "n_iter": is_count,
    "seconds": is_number,
    "backend": is_text,
    "solver": is_text,
    "fingerprint": is_dict,
}


def speaks_of(document: Any) -> bool:
    """Whether a document is one of these."""
    block = document.get("certificate") if isinstance(document, Mapping) else None
    return isinstance(block, Mapping) and block.get("kind") == "gradient"


def flaw(document: Any) -> str | None:
    """The first thing wrong with the form of a document, in words; None where there is nothing."""
    found = flaw_of_head(document) or flaw_of(document, TOP, "", optional=OPTIONAL)
    if found:
        return found
    if document["estimator"] != "LogisticRegression":
        return "only LogisticRegression has a certificate of kind 'gradient'"
    found = flaw_of(document["problem"], _PROBLEM, "problem.") or flaw_of_classes(document["classes"])
    found = found or flaw_of_certificate(document["certificate"], _CERTIFICATE)
    if found:
        return found
    found = flaw_of(document["certificate"]["fingerprint"], FINGERPRINT, "certificate.fingerprint.")
    found = found or flaw_of_names(document)
    if found:
        return found
    K = len(document["classes"]["values"])
    if len(document["problem"]["class_weight"]) != K:
        return "problem.class_weight has not one number for each class"
    if (document["problem"]["loss"] == "softmax") != (K > 2):
        return "the loss does not go with the number of classes"
    return None


def array_forms(document: dict[str, Any]) -> Arrays:
    """Type and shape of the arrays: the model alone. There is no dual point to keep."""
    K = len(document["classes"]["values"])
    S, real = K if K > 2 else 1, REALS[document["dtype"]]
    return {"coef": (real, [S, document["n_features"]]), "intercept": (real, [S])}
