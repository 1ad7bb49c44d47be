"""The registry of the families of documents, by the estimator that was fitted and its kind of certificate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import training_rows
from .bagging import BaggingCase
from .bagging import document as bagging
from .boosting import BoostingCase
from .boosting import document as boosting
from .bounds import document as bounds
from .case import Case
from .files import inputs
from .form.document import defect_of_parts
from .form.learners import arrays_of_learner, defect_of_learners, members_of, shapes_of_learners
from .form.schema import Arrays, Form, Kind, union
from .gaussian import GaussianCase
from .gaussian import document as gaussian
from .kernel import KernelCase
from .kernel import document as kernel
from .least_squares import SquaresCase
from .least_squares import document as least_squares
from .likelihood import document as likelihood
from .likelihood.case import LikelihoodCase
from .linear import document as linear
from .linear.case import LinearCase
from .perceptron import PerceptronCase
from .perceptron import document as perceptron
from .sparse import SparseCase
from .sparse import document as sparse
from .tree import TreeCase
from .tree import document as tree


def _kind(name: str, certificates: tuple[str, ...], case: type[Case], form: Form, *unchecked: str) -> Kind:
    """A family: its estimators have tables of parameters in its form, to which the entries come that any document may have."""
    estimators = tuple(path.partition(".")[0] for path in form.TABLES if path.endswith(".parameters."))
    arrays = {**union(form.TABLES["arrays."]), **training_rows.ARRAYS}
    schema = {**form.TABLES, **bounds.TABLES, **inputs.TABLES, **training_rows.TABLES, "arrays.": arrays}
    outside = getattr(form, "defect_of_arrays", lambda document, arrays: None)
    return Kind(name, estimators, certificates, schema, case, form.array_shapes, form.defect, outside, unchecked)


KINDS = (
    _kind("Linear classifiers", ("gap",), LinearCase, linear, "which ending, if not converged"),
    _kind("Logistic regression without a penalty", ("gradient",), LikelihoodCase, likelihood,
          "which ending, if neither converged nor infeasible", "what all scores have in common"),
    _kind("Least squares", ("gap", "orthogonality"), SquaresCase, least_squares,
          "which ending, if not converged", "whether y was a vector or one column"),
    _kind("Sparse and signed penalties", ("gap",), SparseCase, sparse, "which ending, if not converged",
          "whether y was a vector or one column"),
    _kind("Kernel machines", ("gap", "heuristic"), KernelCase, kernel, "which ending, if not converged"),
    _kind("Perceptrons", ("bound", "heuristic"), PerceptronCase, perceptron, "which ending, if not converged"),
    _kind("Gaussian classes", ("moments",), GaussianCase, gaussian, "what all scores have in common"),
    _kind("Trees", ("heuristic",), TreeCase, tree,
          "which of equally good splits, and where between two values a threshold lies"),
    _kind("AdaBoost", ("bound",), BoostingCase, boosting),
    _kind("Ensembles that optimise nothing", ("heuristic",), BaggingCase, bagging),
)  # fmt: skip


def kind_of(document: Any) -> Kind:
    """The family that judges a document; one that refuses it, where there is none: that of the estimator, or the first."""
    block = document.get("certificate") if isinstance(document, dict) else None
    name, kind = (document.get("estimator"), block.get("kind")) if isinstance(block, dict) else (None, None)
    fitting = [each for each in KINDS if name in each.estimators]
    agreeing = [each for each in fitting if kind in each.certificate_kinds]
    if len(agreeing) > 1:  # one estimator, two penalties: the problem has the entries of one of them
        entries = document.get("problem")
        known = [each for each in agreeing if isinstance(entries, dict) and set(entries) <= set(_problem_of(each))]
        agreeing = known or agreeing
    return (*agreeing, *fitting, KINDS[0])[0]


def _problem_of(kind: Kind) -> Mapping[str, Any]:
    """The entries of the problem in documents of a family."""
    return union(kind.schema.get("problem.", {}))


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
