"""A fit that is judged, for the calls of `rare_calls`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import gapless
from tests.package.calls import shaped

Call = tuple[str, Callable[[], Any]]
#: Words of an honest refusal: of sparse rows or missing values, of a nu that is too large, of options that exclude each other.
REFUSED = ("sparse", "too", "infeasible", "nu ", "missing", "is for penalty=none")


def quietly(run: Callable[[], Any]) -> Callable[[], Any]:
    def call() -> None:
        with warnings.catch_warnings(), gapless.config_context(convergence="ignore"):
            warnings.simplefilter("ignore")
            run()

    return call


def fit(make: Callable[[], Any], X: Any, y: Any, judged: bool = True, **more: Any) -> Any:
    """Fit a new model, predict, judge; None where such rows are refused."""
    try:
        model = make().fit(X, y, **more)
    except (gapless.NotSeparable, NotImplementedError):
        return None
    except (ValueError, TypeError) as refused:
        if not any(
            word in str(refused).lower()
            for word in ("sparse", "too", "infeasible", "nu ", "missing", "is for penalty=none")
        ):
            raise
        return None  # sparse rows where none are taken, a nu that is too large
    model.predict(X)
    for name in ("decision_function", "predict_proba"):
        if hasattr(model, name):
            getattr(model, name)(X)
    if judged:
        gapless.verify(model, X, y if y is not None else np.zeros(len(model.predict(X))), **more)
    return model


def fit_shaped(make: Callable[[], Any], X: np.ndarray, form: str, y: np.ndarray) -> None:
    """The form is made when it is needed: of many rows it takes much memory."""
    fit(make, shaped(X, form), y, judged=False)
