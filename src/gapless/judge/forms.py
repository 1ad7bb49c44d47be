"""The families of documents, by the estimator that was fitted and its kind of certificate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import training_rows
from .bagging import KIND as ENSEMBLE
from .boosting import KIND as BOOSTING
from .bounds.document import TABLES as BOUNDS
from .bounds.document import flaw as flaw_of_bounds
from .document import Arrays, flaw_of_parts, flaw_of_tuning
from .files.inputs import TABLES as INPUTS
from .files.inputs import flaw_of_input, flaw_of_origin
from .gaussian import KIND as MOMENTS
from .kernel import KIND as KERNEL
from .least_squares import KIND as LEAST_SQUARES
from .likelihood import KIND as GRADIENT
from .linear.case import KIND as LINEAR
from .perceptron import KIND as MISTAKES
from .schema import Kind, Table
from .tree import KIND as TREE


def _with_shared(schema: dict[str, Table]) -> dict[str, Table]:
    """The tables of a family with those of the entries that any document may have."""
    shared = {**BOUNDS, **INPUTS, **training_rows.TABLES}
    return {**schema, **shared, "arrays.": {**schema["arrays."], **training_rows.ARRAYS}}


KINDS = tuple(
    kind._replace(schema=_with_shared(kind.schema))
    for kind in (LINEAR, GRADIENT, LEAST_SQUARES, KERNEL, MISTAKES, MOMENTS, TREE, BOOSTING, ENSEMBLE)
)
_BY_NAME = {(name, kind): each for each in KINDS for name in each.estimators for kind in each.certificate_kinds}


def kind_of(document: Any) -> Kind:
    """The family that judges a document; that of linear classifiers, which refuses it, where there is none."""
    block = document.get("certificate") if isinstance(document, dict) else None
    name, kind = (document.get("estimator"), block.get("kind")) if isinstance(block, dict) else (None, None)
    known = (name if isinstance(name, str) else "", kind if isinstance(kind, str) else "")
    return _BY_NAME.get(known, _first(name))


def _first(name: Any) -> Kind:
    return next((each for each in KINDS if name in each.estimators), KINDS[0])


def flaw_of_form(document: Any) -> str | None:
    """The first thing wrong with the entries of a fit, each alone and all together; None where there is nothing."""
    kind = kind_of(document)
    return flaw_of_parts(document, kind.schema) or kind.flaw(document)


def flaw(document: Any) -> str | None:
    """The first thing wrong with the form of a document, in words; None where there is nothing."""
    if not isinstance(document, dict):
        return "the document is no JSON object"
    found = flaw_of_input(document) or flaw_of_tuning(document) or flaw_of_origin(document)
    found = found or training_rows.flaw(document) or flaw_of_form(document)
    return found or (flaw_of_bounds(document["bounds"]) if "bounds" in document else None)


def flaw_of_arrays(document: dict[str, Any], arrays: Mapping[str, Any]) -> str | None:
    """The first array, of a document without a flaw or of a learner in it, that points outside of another one, or that is
    no tree."""
    own = {name: array for name, array in arrays.items() if "." not in name}
    found = kind_of(document).flaw_of_arrays(document, own)
    for k, learner in enumerate(document.get("learners") or []):
        start = f"{k}."
        part = {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
        inside = None if found else flaw_of_arrays(learner, part)
        found = f"learner {k}: {inside}" if inside else found
    return found


def array_forms(document: dict[str, Any]) -> Arrays:
    """Type and shape of the arrays of a document without a flaw."""
    return {**kind_of(document).array_forms(document), **training_rows.array_forms(document)}
