"""The objective of a linear model as a thing of its own, to be descended."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_X_y

from gapless import losses
from gapless._runtime.written import written
from gapless.encode.labels import encode_labels
from gapless.encode.weights import check_sample_weight
from gapless.problems.descent import LinearRisk
from gapless.problems.linear import OFFSETS, LinearProblem
from gapless.problems.multinomial import Multinomial

LOSSES = {**losses.BY_NAME, "perceptron": losses.Perceptron()}


def linear_risk(
    X: Any,
    y: Any,
    *,
    loss: str = "hinge",
    lam: float | None = None,
    C: float | None = None,
    offset: str = "free",
    sample_weight: Any = None,
) -> LinearRisk:
    """``lam/2 |w|^2 + mean loss(y, <w, x> + b)``, for `descend`.

    Of the perceptron criterion the minimum is 0, at w = 0 and b = 0, on any data: a descent from 0 stays there, and one from
    elsewhere ends where no row is on the wrong side, or shrinks to 0 where the rows cannot be separated.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array of n_samples labels; numbers for the squared loss
    loss : {"hinge", "squared_hinge", "logistic", "squared", "perceptron", "softmax"}
        Two classes become -1 and +1, in their sorted order; more than two need "softmax".
    lam, C : float
        One of them: lam beside the mean loss, or C before the sum, lam = 1/(n C). With weights n is their sum. lam = 0 is no
        penalty, the mean loss alone: there is no duality gap then.
    offset : {"free", "penalised", "none"}
    sample_weight : array of n_samples weights, optional
    """
    if loss not in (*LOSSES, "softmax"):
        raise ValueError(f"loss must be among {[*LOSSES, 'softmax']}; got {written(loss)}")
    if offset not in OFFSETS:
        raise ValueError(f"offset must be among {list(OFFSETS)}; got {written(offset)}")
    if (lam is None) == (C is None):
        raise ValueError("give lam (beside the mean loss) or C (before the sum), one of them")
    for name, value in (("lam", lam), ("C", C)):
        least = 0.0 if name == "lam" else math.nextafter(0.0, 1.0)
        good = isinstance(value, Real) and not isinstance(value, bool) and least <= value < math.inf
        if value is not None and not good:
            wanted = "[0.0, inf)" if name == "lam" else "(0.0, inf)"
            raise ValueError(f"{name} must be a float in the range {wanted}; got {written(value)}")
    X, y = check_X_y(X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", y_numeric=loss == "squared")
    weights = check_sample_weight(sample_weight, X.shape[0])
    keep = weights > 0.0
    if not keep.all():
        X, y, weights = X[keep], y[keep], weights[keep]
    total = float(weights.sum())
    strength = 1.0 / (total * (lam or 1.0)) if lam is not None else float(C or 0.0)
    c = strength * weights
    lam = float(lam) if lam is not None else 1.0 / (total * strength)
    if loss == "squared":
        return LinearRisk(LinearProblem.build(X, np.asarray(y, float), c, LOSSES[loss], offset), lam)
    labels = encode_labels(y)
    if loss == "softmax":
        return LinearRisk(Multinomial.build(X, labels.index, c, labels.n_classes, offset), lam)
    if labels.n_classes > 2:
        raise ValueError(f"loss={written(loss)} is for two classes and y has {labels.n_classes}; use loss='softmax'")
    signs = np.where(labels.index == 1, np.int8(1), np.int8(-1))
    return LinearRisk(LinearProblem.build(X, signs, c, LOSSES[loss], offset), lam)
