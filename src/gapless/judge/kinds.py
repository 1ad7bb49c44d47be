"""The registry of the families of documents, by the estimator that was fitted and its kind of certificate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import training_rows
from .bagging import KIND as BAGGING
from .boosting import KIND as BOOSTING
from .bounds import document as bounds
from .files import inputs
from .form.document import defect_of_parts
from .form.learners import arrays_of_learner, defect_of_learners, members_of, shapes_of_learners
from .form.schema import Arrays, Kind, Schema, union
from .gaussian import KIND as GAUSSIAN
from .kernel import KIND as KERNEL
from .least_squares import KIND as LEAST_SQUARES
from .likelihood import KIND as LIKELIHOOD
from .linear.case import KIND as LINEAR
from .perceptron import KIND as PERCEPTRON
from .tree import KIND as TREE


def _with_shared(schema: Schema) -> Schema:
    """The tables of a family with those of the entries that any document may have."""
    arrays = {**union(schema["arrays."]), **training_rows.ARRAYS}
    return {**schema, **bounds.TABLES, **inputs.TABLES, **training_rows.TABLES, "arrays.": arrays}


KINDS = tuple(
    kind._replace(schema=_with_shared(kind.schema))
    for kind in (LINEAR, LIKELIHOOD, LEAST_SQUARES, KERNEL, PERCEPTRON, GAUSSIAN, TREE, BOOSTING, BAGGING)
)


def kind_of(document: Any) -> Kind:
    """The family that judges a document; one that refuses it, where there is none: that of the estimator, or the first."""
    block = document.get("certificate") if isinstance(document, dict) else None
    name, kind = (document.get("estimator"), block.get("kind")) if isinstance(block, dict) else (None, None)
    fitting = [each for each in KINDS if name in each.estimators]
    return next((each for each in fitting if kind in each.certificate_kinds), (*fitting, KINDS[0])[0])


def defect(document: Any) -> str | None:
    """The first thing wrong with the form of a document, in words; None where there is nothing."""
    kind = kind_of(document)
    found = defect_of_parts(document, kind.schema) or kind.defect(document)
    found = found or inputs.defect(document) or bounds.defect(document)
    return found or defect_of_learners(document, defect)


def defect_of_arrays(document: dict[str, Any], arrays: Mapping[str, Any]) -> str | None:
    """The first array, of a document without a defect or of a learner in it, that points outside of another one, or that is
    no tree."""
    own = {name: array for name, array in arrays.items() if "." not in name}
    found = kind_of(document).defect_of_arrays(document, own)
    for k, learner in enumerate(members_of(document)):
        inside = None if found else defect_of_arrays(learner, arrays_of_learner(dict(arrays), k))
        found = f"learner {k}: {inside}" if inside else found
    return found


def array_shapes(document: dict[str, Any]) -> Arrays:
    """Type and shape of the arrays of a document without a defect, those of its learners and of the training rows included."""
    own = kind_of(document).array_shapes(document)
    return {**own, **shapes_of_learners(document, array_shapes), **training_rows.array_shapes(document)}
