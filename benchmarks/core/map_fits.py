"""Who fits the cells of the map: every estimator of ours beside scikit-learn's, and the judged distance of scikit-learn's.

    distance = (P(theta) - lower) / P(theta)       P what scikit-learn minimises, in float64, from what it returned;
                                                   lower the dual value of a fit of ours, as our judge recomputes it

A tight fit is made only where one at our own tol leaves open whether scikit-learn ends farther, and of what remains open the
lower end counts, (P(theta) - P of our fit) / P(theta).

Where scikit-learn's own default ends farther from its optimum than our tol, we are asked for that distance and no more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from benchmarks.core.map_cells import Cell
from benchmarks.studies import kernel

#: Seconds for the tight fit that gives the lower bound; without it a distance is not known.
TIGHT, TIGHT_SECONDS = 1e-8, 20.0
#: Rows up to which the judge of kernel machines, who reads all pairs of rows, is asked.
KERNEL_ROWS = 20_000


@dataclass(frozen=True)
class Kind:
    """An estimator that both libraries have, and the data that it takes."""

    name: str
    estimator: str  #: the class of ours
    module: str  #: of scikit-learn's
    task: str  #: "classes", "numbers" or "rows"
    parameters: Callable[[float], dict[str, Any]] = lambda C: {}
    strengths: bool = False
    weights: bool = True
    sparse: bool = True
    judged: str = ""  #: "linear" or "kernel"

    def ours(self, C: float | None, **more: Any) -> Any:
        import gapless

        return getattr(gapless, self.estimator)(**self.parameters(C or 1.0), **more)

    def peer(self, C: float | None) -> Any:
        from importlib import import_module

        return getattr(import_module(f"sklearn.{self.module}"), self.estimator)(**self.parameters(C or 1.0))


def _of_C(**more: Any) -> Callable[[float], dict[str, Any]]:
    return lambda C: {"C": C, **more}


def _drawn(C: float) -> dict[str, Any]:
    return {"random_state": 0}


_ALL = (
    Kind("LinearSVC", "LinearSVC", "svm", "classes", _of_C(random_state=0), strengths=True, judged="linear"),
    Kind("LinearSVC hinge", "LinearSVC", "svm", "classes", _of_C(loss="hinge", random_state=0), strengths=True, judged="linear"),
    Kind("LogisticRegression", "LogisticRegression", "linear_model", "classes", _of_C(), strengths=True, judged="linear"),
    Kind("SVC", "SVC", "svm", "classes", _of_C(), strengths=True, judged="kernel"),
    Kind("NuSVC", "NuSVC", "svm", "classes", lambda C: {"nu": 0.1}, judged="kernel"),
    Kind("SVR", "SVR", "svm", "numbers", _of_C(), strengths=True, judged="kernel"),
    Kind("NuSVR", "NuSVR", "svm", "numbers", _of_C(), strengths=True, judged="kernel"),
    Kind("OneClassSVM", "OneClassSVM", "svm", "rows", judged="kernel"),
    Kind("Perceptron", "Perceptron", "linear_model", "classes"),
    Kind("LinearRegression", "LinearRegression", "linear_model", "numbers"),
    Kind("Ridge", "Ridge", "linear_model", "numbers", lambda C: {"alpha": 1.0 / C}, strengths=True),
    Kind("LDA", "LinearDiscriminantAnalysis", "discriminant_analysis", "classes", weights=False, sparse=False),
    Kind("QDA", "QuadraticDiscriminantAnalysis", "discriminant_analysis", "classes", weights=False, sparse=False),
    Kind("DecisionTreeClassifier", "DecisionTreeClassifier", "tree", "classes", _drawn),
    Kind("DecisionTreeRegressor", "DecisionTreeRegressor", "tree", "numbers", _drawn),
    Kind("BaggingClassifier", "BaggingClassifier", "ensemble", "classes", _drawn),
    Kind("BaggingRegressor", "BaggingRegressor", "ensemble", "numbers", _drawn),
    Kind("AdaBoostClassifier", "AdaBoostClassifier", "ensemble", "classes", _drawn),
    Kind("AdaBoostRegressor", "AdaBoostRegressor", "ensemble", "numbers", _drawn),
)  # fmt: skip
KINDS = {kind.name: kind for kind in _ALL}


def arguments(cell: Cell, X: Any, y: np.ndarray, weights: np.ndarray | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What ``fit`` is called with."""
    given = {} if weights is None else {"sample_weight": weights}
    return ((X,) if KINDS[cell.estimator].task == "rows" else (X, y)), given


def subproblems(cell: Cell) -> int:
    """Pairs of classes of a kernel machine, classes of a linear one; 1 elsewhere."""
    if cell.classes <= 2:
        return 1
    return (
        cell.classes * (cell.classes - 1) // 2
        if "SV" in cell.estimator and "Linear" not in cell.estimator
        else cell.classes
    )


def distance(cell: Cell, model: Any, X: Any, y: np.ndarray, weights: np.ndarray | None) -> float | None:
    """How far at least scikit-learn's result is judged to be from its optimum, relative; None where that is not known."""
    judged = KINDS[cell.estimator].judged
    if judged == "kernel":
        if len(y) > KERNEL_ROWS:
            return None
        if cell.estimator != "SVC":
            from benchmarks.core.map_distance import distance_of_kernel_machine

            return distance_of_kernel_machine(cell, model, X, y, weights)
        dense = X.toarray() if sparse.issparse(X) else X
        return kernel.relative_gap(model, dense, y, float(cell.C or 1.0), float(model._gamma), weights)
    if judged != "linear":
        return None
    import gapless

    loss = "logistic" if cell.estimator == "LogisticRegression" else str(model.loss)
    more = {} if loss == "logistic" else {"penalize_intercept": True}
    value = linear_primal(loss, model.coef_, model.intercept_, (X, y, weights), float(cell.C or 1.0))
    own = float(KINDS[cell.estimator].ours(cell.C).get_params()["tol"])
    for tol in (own, TIGHT):
        near = KINDS[cell.estimator].ours(cell.C, tol=tol, max_iter=None, time_limit=TIGHT_SECONDS, **more)
        near.fit(X, y, sample_weight=weights)
        lower = sum(low for _, low, _ in gapless.verify(near, X, y, sample_weight=weights, rigorous=True).bounds)
        found = (value - lower) / max(value, 1e-300)
        if found <= max(own, 10.0 * TIGHT):  # no farther than we are asked for anyway
            return found
        least = (value - float(near.certificate_.primal)) / max(value, 1e-300)  # P* is no higher than our P
        if least >= 0.9 * found:
            break
    return least


def linear_primal(loss: str, coef: Any, intercept: Any, data: tuple[Any, np.ndarray, Any], C: float) -> float:
    """What scikit-learn's linear classifiers minimise: machines penalise the offset, logistic regression does not."""
    X, y, weights = data
    W, b = np.atleast_2d(np.asarray(coef, dtype=np.float64)), np.atleast_1d(np.asarray(intercept, dtype=np.float64))
    c = C * (np.ones(len(y)) if weights is None else weights)
    labels, index = np.unique(y, return_inverse=True)
    z = np.asarray(X @ W.T) + b
    if loss == "logistic":
        scores = np.column_stack([np.zeros(len(y)), z[:, 0]]) if labels.size == 2 else z
        losses = logsumexp(scores, axis=1) - scores[np.arange(len(y)), index]
        return float(0.5 * np.sum(W * W) + c @ losses)
    sides = np.where(index[:, None] == (np.arange(labels.size) if labels.size > 2 else np.array([1])), 1.0, -1.0)
    short = np.maximum(0.0, 1.0 - sides * z)
    losses = short if loss == "hinge" else short * short
    return float(0.5 * (np.sum(W * W) + b @ b) + c @ losses.sum(axis=1))
