"""Rows in blocks that are given to ``fit``: which walk goes over them, and what the estimator then knows of its columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless._runtime.lazy import load
from gapless.backends.choose import walk_for


def walk_of(X: Any, y: Any, sample_weight: Any = None) -> Any:
    """The walk over the blocks that X is; None for rows in memory."""
    if type(X) is np.ndarray:
        return None
    walk = walk_for(X, y, sample_weight)
    if walk is not None and y is not None and not walk.takes_labels:
        raise ValueError("blocks bring their labels and weights with them: fit(blocks), without y and sample_weight")
    return walk


def answer_lazily(model: Any, method: str, X: Any) -> Any:
    """What a method of a fitted model says of a Dask collection: an array of Dask."""
    ask: Any = load("gapless.backends.dask.predict", "lazily")
    return ask(model, method, X)


def note_columns(estimator: Any, walk: Any) -> None:
    """``n_features_in_`` and ``feature_names_in_``, as scikit-learn sets them."""
    estimator.n_features_in_ = walk.d
    estimator.__dict__.pop("feature_names_in_", None)
    if walk.feature_names is not None:
        estimator.feature_names_in_ = np.asarray(walk.feature_names, dtype=object)
