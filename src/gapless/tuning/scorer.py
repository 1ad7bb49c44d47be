"""`gap_scorer`: the duality gap of each fit in the results of scikit-learn's searches."""

from __future__ import annotations

import math
from typing import Any


def gap_scorer(estimator: Any, X: Any = None, y: Any = None) -> float:
    """Minus the relative duality gap of a fitted model: 0 is the optimum, and larger is better, as for every scorer.

    For ``GridSearchCV(model, grid, scoring={"accuracy": "accuracy", "gap": gapless.gap_scorer}, refit="accuracy")``: the column
    ``mean_test_gap`` of ``cv_results_`` shows which fits stopped early. Of a pipeline the last step is asked. NaN where a model
    has no gap.

    Parameters
    ----------
    estimator : fitted model, or a pipeline that ends in one
    X, y : not read; scikit-learn passes them
    """
    from sklearn.pipeline import Pipeline

    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    certificate = getattr(estimator, "certificate_", None)
    if certificate is None:
        if hasattr(estimator, "relative_gap"):
            return -float(estimator.relative_gap)
        raise ValueError(f"{type(estimator).__name__} has no certificate_: gap_scorer is for fitted models of gapless")
    gap = getattr(certificate, "relative_gap", None)
    return math.nan if gap is None else -float(gap)
