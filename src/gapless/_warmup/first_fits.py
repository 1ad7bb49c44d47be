"""A fit of each model that `gapless train` compares: the kernels that a small dense table needs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import gapless


def first_fits() -> dict[str, Callable[[], Any]]:
    """The fits by the words that `_background` is sent, on 120 rows of 5 columns."""
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 5))
    target = X[:, 0] + X[:, 1] ** 2 + random.normal(size=120)
    two, three = np.asarray(["no", "yes"])[(target > 1.0).astype(int)], np.digitize(target, [0.5, 1.5])
    trees = {"n_estimators": 2, "random_state": 0}
    fit = partial(_fit, X)
    fits: dict[str, Callable[[], Any]] = {
        "LinearSVC": partial(fit, "LinearSVC", two),
        "LogisticRegression": partial(fit, "LogisticRegression", two),
        "LogisticRegression, many classes": partial(fit, "LogisticRegression", three),
        "AdaBoostClassifier": partial(fit, "AdaBoostClassifier", two, **trees),
        "AdaBoostClassifier, many classes": partial(fit, "AdaBoostClassifier", three, **trees),
        "BaggingClassifier": partial(fit, "BaggingClassifier", two, **trees),
        "BaggingRegressor": partial(fit, "BaggingRegressor", target, **trees),
        "LeastSquaresClassifier": partial(fit, "LeastSquaresClassifier", two),
    }
    for name in ("SVC", "SVR", "LinearRegression", "Ridge", "Lasso", "ElasticNet"):
        fits[name] = partial(fit, name, two if name == "SVC" else target)
    return fits


def _fit(X: np.ndarray, name: str, y: np.ndarray, **parameters: Any) -> None:
    with gapless.config_context(convergence="ignore"):
        getattr(gapless, name)(**parameters).fit(X, y).predict(X[:20])
