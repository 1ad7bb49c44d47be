"""Probabilities of a kernel classifier that is asked for them when it is fitted (``probability=True``).

Scores of the rows that a model was trained on are too sure. So each row gets the score of a clone that was fitted without its
fold (five folds, each with its share of every class), and the map from scores to probabilities is fitted to these: Platt's
sigmoid for two classes, softmax(t f) for more. Both keep the order of the scores, so that for two classes the probability
rises with ``decision_function``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from gapless.readings.calibration_maps import Sigmoid, Temperature, logistic


def fit_probabilities(
    model: Any, X: Any, y: np.ndarray, index: np.ndarray, sample_weight: Any
) -> Sigmoid | Temperature:
    """The map of a fitted classifier; ``index`` is the class of each row, by its place among the classes."""
    weights = np.ones(index.size) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64).ravel()
    counted = weights > 0.0
    fewest = int(np.bincount(index[counted]).min())
    if fewest < 2:
        raise ValueError(
            "probability=True fits the scores of rows that were left out, and needs two rows of each class at least. "
            "Leave `probability` out, or give more rows."
        )
    folds = min(5, fewest)
    seed = model.random_state
    splits = StratifiedKFold(folds, shuffle=True, random_state=0 if seed is None else seed)
    other = clone(model).set_params(probability="deprecated", decision_function_shape="ovr", verbose=0, init=None)
    if model.time_limit is not None:
        other.set_params(time_limit=model.time_limit / folds)
    rows = np.flatnonzero(counted)
    given = {} if sample_weight is None else {"sample_weight": weights[rows]}
    among = X[rows] if model.kernel != "precomputed" else X[np.ix_(rows, rows)]
    scores = cross_val_predict(other, among, y[rows], cv=splits, method="decision_function", params=given)
    if scores.ndim == 1:
        return Sigmoid.fit(scores, index[rows] == 1, weights[rows])
    return Temperature.fit(scores, index[rows], weights[rows])


def probabilities(map_: Sigmoid | Temperature, scores: np.ndarray) -> np.ndarray:
    """A column a class, of the scores of new rows."""
    if isinstance(map_, Temperature):
        return map_.probabilities(scores)
    second = logistic(map_.odds(scores))
    return np.stack([logistic(-map_.odds(scores)), second], axis=1)
