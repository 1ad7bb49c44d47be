"""Pick-to-Learn: any learner becomes a compression, by training it on rows that it gets wrong, one after the other.

    T = ();  h = a hypothesis fixed in advance
    while a row outside T is wrong:   put the worst of them into T,  h = learner(T)

The rows of T, in their order, determine h, and a new row that h gets wrong would have been picked: so epsilon_|T| of
`theory.compression` bounds P(error) (Paccagnan, Campi, Garatti 2023).  Stopped early with e rows wrong, k = |T| + e at
delta/N, a union over when to stop.

The learner must give the same hypothesis for the same rows in the same order, and know nothing else of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.theory._inputs import probability, whole
from gapless.theory.compression import Compression, one_sided

__all__ = ["Picked", "pick_to_learn"]


@dataclass(frozen=True, eq=False)
class Picked:
    """The model trained on ``rows``, in the order in which they were picked, and the bound on its error."""

    model: Any
    rows: np.ndarray
    errors: int  #: rows outside that are still wrong
    n: int
    delta: float
    compression: Compression

    @property
    def high(self) -> float:
        return self.compression.high

    def predict(self, X: Any) -> np.ndarray:
        return self.model.predict(X)

    def __str__(self) -> str:
        left = f", {self.errors} others left wrong" if self.errors else ""
        said = f"{len(self.rows)} of {self.n:,} rows were picked{left}: the error on new rows is at most {self.high:.6g}, but "
        return said + f"for a failure of probability {self.delta:g} (Pick-to-Learn)"


class _Always:
    """The hypothesis that gives one label: before the first row, and as long as all picked rows have the same."""

    def __init__(self, label: Any) -> None:
        self.label = label

    def predict(self, X: Any) -> np.ndarray:
        return np.full(np.shape(X)[0], self.label)


def pick_to_learn(learner: Any, X: Any, y: Any, first: Any = None, delta: Any = 0.05, most: Any = None) -> Picked:
    """Train ``learner`` on as few rows as it takes to get the others right.

    Parameters
    ----------
    learner : an estimator; a clone is trained each time (a random one needs a fixed random_state)
    first : the label that is given before anything is picked; it must be fixed without the data (the smallest label otherwise)
    most : stop after this many rows, with the errors that are left; None: go on until no row outside is wrong
    """
    from sklearn.base import clone

    X, y = np.asarray(X), np.asarray(y).ravel()
    if X.ndim != 2 or len(X) != len(y) or len(y) == 0:
        raise ValueError(f"X must be a matrix with a row for each of {len(y)} labels; got shape {X.shape}")
    n, delta = len(y), probability(delta)
    limit = n if most is None else min(n, whole(most, "most"))
    model: Any = _Always(np.min(y) if first is None else first)
    picked: list[int] = []
    outside = np.ones(n, dtype=bool)
    while True:
        wrong = np.flatnonzero(outside & (np.asarray(model.predict(X)) != y))
        if wrong.size == 0 or len(picked) >= limit:
            break
        worst = int(wrong[np.argmin(_agreement(model, X[wrong], y[wrong]))])  # ties: the first row
        picked.append(worst)
        outside[worst] = False
        labels = y[picked]
        model = _Always(labels[0]) if (labels == labels[0]).all() else clone(learner).fit(X[picked], labels)
    rows = np.array(picked, dtype=np.int64)
    errors = int(wrong.size)
    found = one_sided(min(n, len(rows) + errors), n, delta if most is None else delta / n)
    return Picked(model, rows, errors, n, delta, found)


def _agreement(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How little a wrong row is wrong: the score of its own class, where the model has scores."""
    if not hasattr(model, "decision_function"):
        return np.zeros(len(y))
    scores = np.asarray(model.decision_function(X), float)
    place = np.searchsorted(model.classes_, y)
    known = (place < len(model.classes_)) & (model.classes_[np.minimum(place, len(model.classes_) - 1)] == y)
    if scores.ndim == 1:
        own = np.where(place == 1, scores, -scores)
    else:
        own = scores[np.arange(len(y)), np.minimum(place, scores.shape[1] - 1)] - scores.max(axis=1)
    return np.where(known, own, -np.inf)  # a class that has not been picked yet comes first
