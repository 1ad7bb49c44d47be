"""The forms of documents, by the estimator that was fitted: what is wrong with one, and the arrays that go with it."""

from __future__ import annotations

from typing import Any

from . import document as classifier
from . import training_rows
from .boosting import document as boosting
from .bounds import document as bounds
from .ensemble import document as ensemble
from .gradient import document as gradient
from .inputs import flaw_of_input, flaw_of_origin, without_input
from .kernel_machines import document as kernel_machines
from .least_squares import document as least_squares
from .mistakes import document as mistakes
from .moments import document as moments
from .tree import document as tree

_FORMS: dict[str, Any] = {
    **dict.fromkeys(kernel_machines.ESTIMATORS, kernel_machines),
    **dict.fromkeys(boosting.ESTIMATORS, boosting),
    **dict.fromkeys(ensemble.ESTIMATORS, ensemble),
    **dict.fromkeys(least_squares.ESTIMATORS, least_squares),
    **dict.fromkeys(mistakes.ESTIMATORS, mistakes),
    **dict.fromkeys(moments.ESTIMATORS, moments),
    **dict.fromkeys(tree.ESTIMATORS, tree),
}


def _form(document: Any) -> Any:
    if gradient.speaks_of(document):
        return gradient
    name = document.get("estimator") if isinstance(document, dict) else None
    return _FORMS.get(name, classifier) if isinstance(name, str) else classifier


def flaw(document: Any) -> str | None:
    """The first thing wrong with the form of a document, in words; None where there is nothing."""
    if isinstance(document, dict) and "input" in document:
        wrong = flaw_of_input(document)
        if wrong:
            return wrong
        document = without_input(document)
    if isinstance(document, dict) and training_rows.ENTRY in document:
        wrong = training_rows.flaw(document)
        if wrong:
            return wrong
        document = training_rows.without(document)
    found: str | None = _form(document).flaw(document)
    found = found or classifier.flaw_of_tuning(document) or flaw_of_origin(document)
    return found or (bounds.flaw(document["bounds"]) if "bounds" in document else None)


def array_forms(document: dict[str, Any]) -> classifier.Arrays:
    """Type and shape of the arrays of a document without a flaw."""
    forms: classifier.Arrays = _form(document).array_forms(training_rows.without(document))
    return {**forms, **training_rows.array_forms(document)}
