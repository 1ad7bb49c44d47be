"""Pick-to-Learn: any learner becomes a compression, by training it on rows that it gets wrong, one after the other.

    T = ();  h = a hypothesis fixed in advance
    while a row outside T is wrong:   put the worst of them into T,  h = learner(T)

The rows of T, in their order, determine h, and a new row that h gets wrong would have been picked: so epsilon_|T| of
`theory.compression` bounds P(error) (Paccagnan, Campi, Garatti 2023).  Stopped early with e rows wrong, k = |T| + e at
delta/N, a union over when to stop: the rows may choose the step, and choose the one with the smallest k.

Which of the wrong rows is picked may be any order that the hypothesis alone decides: the worst first makes few rows enough
where the classes do not overlap; where they do, the worst are the noise, and the nearest to the boundary teach more.

The learner must give the same hypothesis for the same rows in the same order, and know nothing else of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.theory.generalisation.compression_bounds import Compression, one_sided
from gapless.theory.inputs import as_probability, as_whole

__all__ = ["Picked", "pick_to_learn"]


@result
@dataclass(frozen=True, eq=False)
class Picked:
    """The model trained on ``rows``, in the order in which they were picked, and the bound on its error.

    Attributes
    ----------
    model : model trained on the picked rows
    rows : picked rows, in the order of picking
    errors : rows outside that are still wrong
    n : number of rows
    delta : probability with which the statement may fail
    compression : the bound that follows
    """

    model: Any
    rows: np.ndarray
    errors: int
    n: int
    delta: float
    compression: Compression

    @property
    def high(self) -> float:
        """Upper end of the error on new rows."""
        return self.compression.high

    def predict(self, X: Any) -> np.ndarray:
        """Labels of the rows X, by the model of the picked rows."""
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


def pick_to_learn(
    learner: Any, X: Any, y: Any, first: Any = None, delta: Any = 0.05, most: Any = None, pick: str = "worst",
    patience: Any = None,
) -> Picked:  # fmt: skip
    """Train ``learner`` on as few rows as it takes to get the others right.

    Parameters
    ----------
    X, y : rows and their labels
    delta : probability with which the statement may fail
    learner : an estimator; a clone is trained each time (a random one needs a fixed random_state)
    first : the label that is given before anything is picked; it must be fixed without the data (the smallest label otherwise)
    most : stop after this many rows at the latest, where rows and errors left together are fewest; None: go on until no row
        outside is wrong
    pick : "worst" or "nearest" of the wrong rows, by the score of their own class
    patience : stop early, too, where so many picks one after the other have not made rows and errors fewer
    """
    from sklearn.base import clone

    X, y = np.asarray(X), np.asarray(y).ravel()
    if X.ndim != 2 or len(X) != len(y) or len(y) == 0:
        raise ValueError(f"X must be a matrix with a row for each of {len(y)} labels; got shape {X.shape}")
    if pick not in ("worst", "nearest"):
        raise ValueError(f'pick is "worst" or "nearest"; got {written(pick)}')
    n, delta = len(y), as_probability(delta)
    early = most is not None or patience is not None
    limit = n if most is None else min(n, as_whole(most, "most"))
    wait = n if patience is None else as_whole(patience, "patience")
    model: Any = _Always(np.min(y) if first is None else first)
    picked: list[int] = []
    outside = np.ones(n, dtype=bool)
    best: tuple[int, int, Any] = (n + 1, 0, model)  # |T| + e, |T|, the model
    while True:
        wrong = np.flatnonzero(outside & (np.asarray(model.predict(X)) != y))
        if not early or len(picked) + wrong.size < best[0]:
            best = (len(picked) + int(wrong.size), len(picked), model)
        if wrong.size == 0 or len(picked) >= limit or len(picked) - best[1] >= wait:
            break
        own = _agreement(model, X[wrong], y[wrong])
        chosen = int(wrong[np.argmin(own) if pick == "worst" else np.argmax(own)])  # ties: the first row
        picked.append(chosen)
        outside[chosen] = False
        labels = y[picked]
        model = _Always(labels[0]) if (labels == labels[0]).all() else clone(learner).fit(X[picked], labels)
    k, size, model = best
    rows, errors = np.array(picked[:size], dtype=np.int64), k - size
    found = one_sided(min(n, len(rows) + errors), n, delta / n if early else delta)
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
