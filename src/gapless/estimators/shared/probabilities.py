"""Probabilities of a kernel classifier that is asked for them when it is fitted (``probability=True``).

Scores of the rows that a model was trained on are too sure. So each row gets the score of a clone that was fitted without its
fold (five folds, each with its share of every class; a row that is the only one of its class stays in all of them, and keeps the
score of the model), and the map from scores to probabilities is fitted to these: Platt's sigmoid for two classes, softmax(t f)
for more. Both keep the order of the scores, so that for two classes the probability
rises with ``decision_function``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from gapless.certificates.model_document import decode_float, encode_float
from gapless.readings.calibration_maps import Sigmoid, Temperature, logistic


def fit_probabilities(model: Any, X: Any, index: np.ndarray, sample_weight: Any) -> Sigmoid | Temperature:
    """The map of a fitted classifier; ``index`` is the class of each row, by its place among the classes."""
    weights = np.ones(index.size) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64).ravel()
    rows = np.flatnonzero(weights > 0.0)
    counts = np.bincount(index[rows])
    several = counts[counts > 1]
    folds = min(5, int(several.min(initial=5)))
    scores = np.asarray(model._pair_scores(take_rows(X, rows)), dtype=np.float64)
    scores = scores[:, 0] if scores.shape[1] == 1 else model._by_class(scores)
    alone = counts[index[rows]] == 1
    if not alone.all():
        scores[~alone] = _left_out_scores(model, X, (rows, index[rows], weights[rows]), sample_weight, folds)[~alone]
    if scores.ndim == 1:
        return Sigmoid.fit(scores, index[rows] == 1, weights[rows])
    return Temperature.fit(scores, index[rows], weights[rows])


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Some rows of an array, a matrix or a list."""
    return (X if hasattr(X, "shape") else np.asarray(X))[rows]


def _left_out_scores(
    model: Any, X: Any, counted: tuple[np.ndarray, np.ndarray, np.ndarray], sample_weight: Any, folds: int
) -> np.ndarray:
    """The score of each row that counts by a clone that was fitted without its fold; rows, classes, weights are ``counted``."""
    rows, index, weights = counted
    seed = model.random_state
    draws = StratifiedKFold(folds, shuffle=True, random_state=0 if seed is None else seed)
    alone = np.bincount(index)[index] == 1
    others = np.flatnonzero(~alone)
    splits = [
        (np.concatenate([others[train], np.flatnonzero(alone)]), others[test])
        for train, test in draws.split(others, index[others])
    ]
    if alone.any():  # every row is left out once: those, too, by a fit whose answer nobody reads
        splits[0] = (splits[0][0], np.concatenate([splits[0][1], np.flatnonzero(alone)]))
    other = clone(model).set_params(probability="deprecated", decision_function_shape="ovr", verbose=0, init=None)
    if model.time_limit is not None:
        other.set_params(time_limit=model.time_limit / folds)
    given = {} if sample_weight is None else {"sample_weight": weights}
    among = take_rows(X, rows) if model.kernel != "precomputed" else X[np.ix_(rows, rows)]
    labels = model.classes_[index]
    found: np.ndarray = cross_val_predict(other, among, labels, cv=splits, method="decision_function", params=given)
    return found


def map_document(map_: Sigmoid | Temperature) -> dict[str, Any]:
    """The map as an entry of the model document."""
    if isinstance(map_, Temperature):
        return {"temperature": encode_float(map_.t)}
    return {"slope": encode_float(map_.slope), "offset": encode_float(map_.offset)}


def map_from_document(block: Mapping[str, Any] | None) -> Sigmoid | Temperature | None:
    """The inverse; None where the document has none."""
    if block is None:
        return None
    if "temperature" in block:
        return Temperature(decode_float(block["temperature"]))
    return Sigmoid(decode_float(block["slope"]), decode_float(block["offset"]))


def probabilities(map_: Sigmoid | Temperature, scores: np.ndarray) -> np.ndarray:
    """A column a class, of the scores of new rows."""
    if isinstance(map_, Temperature):
        return map_.probabilities(scores)
    second = logistic(map_.odds(scores))
    return np.stack([logistic(-map_.odds(scores)), second], axis=1)
