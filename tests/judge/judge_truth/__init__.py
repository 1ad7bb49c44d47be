"""Whether a document is true: everything that it says, made anew from the data, in higher precision and without the judge.

`lies_of` names what is false by more than the room that a figure has. The rooms are of this package: a stated rounding, and
never more than a small share of the figure's own size. Entries that nobody checks, by the judge's own tables, may say anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import bags, bounds, gaussian, kernel, likelihood, linear, perceptron, rounds, separation, sparse, squares, tree
from .case import Case, Facts, Lies

__all__ = ["facts_of", "lies_of"]

FAMILIES: dict[str, Callable[[Case, Lies], None]] = {
    "LinearSVC": linear.find,
    "LogisticRegression": linear.find,
    **dict.fromkeys(("LinearRegression", "Ridge", "LeastSquaresClassifier"), squares.find),
    **dict.fromkeys(("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"), kernel.find),
    **dict.fromkeys(
        ("GaussianDiscriminant", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"), gaussian.find
    ),
    **dict.fromkeys(("Lasso", "ElasticNet"), sparse.find),
    "Perceptron": perceptron.find,
    **dict.fromkeys(("DecisionTreeClassifier", "DecisionTreeRegressor"), tree.find),
    **dict.fromkeys(("AdaBoostClassifier", "AdaBoostRegressor"), rounds.find),
    **dict.fromkeys(("BaggingClassifier", "BaggingRegressor"), bags.find),
}
_FACTS: dict[str, Facts] = {}


def facts_of(fit: Any) -> Facts:
    """What the data of a fit say by themselves; made once."""
    if fit.name not in _FACTS:
        _FACTS[fit.name] = Facts(fit.data, fit.document.get("estimator", ""))
    return _FACTS[fit.name]


def lies_of(fit: Any, document: dict[str, Any], arrays: dict[str, Any]) -> list[str]:
    """What is false of a document that was made of ``fit``; what cannot even be read is false."""
    lies = Lies()
    try:
        if "estimator" not in fit.document:
            separation.find(document, fit.document, facts_of(fit), lies)
            return list(lies)
        name = fit.document["estimator"]
        case = Case(document, arrays, facts_of(fit), fit.document)
        without = fit.document["certificate"]["kind"] == "gradient"
        perceived = ("bound", "heuristic") if name == "Perceptron" else ()  # files of before say bound without one
        kinds = (fit.document["certificate"]["kind"], "gap", "orthogonality", *perceived)
        lies.unless(case.block["kind"] in kinds, "kind")
        with np.errstate(all="ignore"):
            finder = sparse.find if "l1" in fit.document["problem"] else FAMILIES[name]
            (likelihood.find if without else finder)(case, lies)
            lies.unless(("bounds" in document) == ("bounds" in fit.document), "bounds")
            if "bounds" in document:
                bounds.find(case, fit.document, fit.new, lies)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        lies.append(f"cannot be read ({type(error).__name__}: {error})")
    return list(lies)
