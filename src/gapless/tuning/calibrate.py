"""`calibrate`: probabilities from the scores of a fitted classifier, on rows that it was not trained on.

Two classes, s the score of a row, every map non-decreasing in s:

    sigmoid     p = 1 / (1 + exp(-(a s + b))),  a >= 0                                        (Platt 1999; Lin, Lin and Weng 2007)
    beta        p = 1 / (1 + exp(-(a ln sigma(s) - b ln(1 - sigma(s)) + c))),  a, b >= 0      (Kull, Silva Filho and Flach 2017)
    isotonic    the non-decreasing steps that fit best                                        (Ayer and others 1955: pooling)

sigmoid and beta maximise the likelihood of smoothed labels, (N1 + 1)/(N1 + 2) and 1/(N0 + 2), so that the optimum is finite where
scores separate the classes; isotonic stays between the same two values.  More than two classes: softmax(t f), one t >= 0, the
only map here that keeps the order of the classes of a row.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.readings.calibration_maps import Beta, Sigmoid, Steps, Temperature, logistic
from gapless.solvers.loop import audible
from gapless.theory.samples.hoeffding import clopper_pearson
from gapless.tuning.search.folds import make_folds, take
from gapless.tuning.search.tune import fit_rows, hash_values

from .intervals import MeanInterval, mean_interval, row_scores, trained_on


@audible()
def calibrate(
    model: Any, X: Any, y: Any, method: str = "sigmoid", *, cv: Any = None, sample_weight: Any = None, seed: int = 0
) -> Calibrated:
    """A fitted classifier with probabilities, in the order of its scores.

    Parameters
    ----------
    model : a fitted classifier with decision_function or predict_proba
    X, y, sample_weight : rows that it was not trained on; with ``cv`` its training rows
    method : {"sigmoid", "isotonic", "beta"}; more than two classes: "sigmoid"
    cv : folds; each row then has the score of a clone that was fitted without it, and the model stays as it is
    seed : of the folds
    """
    maps: dict[str, Any] = {"sigmoid": Sigmoid, "isotonic": Steps, "beta": Beta}
    if method not in maps:
        raise ValueError(f"method must be one of {', '.join(map(repr, maps))}; got {written(method)}")
    if not hasattr(model, "classes_"):
        raise ValueError(f"{type(model).__name__} is no fitted classifier")
    classes = np.asarray(model.classes_)
    truth = np.asarray(y).ravel()
    unknown = np.setdiff1d(truth, classes)
    if unknown.size:
        raise ValueError(f"y has the label {written(unknown[0])}, which the model does not know")
    index = np.searchsorted(classes, truth)
    weights = np.ones(truth.size) if sample_weight is None else np.asarray(sample_weight, np.float64).ravel()
    if weights.shape != truth.shape or not (np.isfinite(weights).all() and (weights >= 0.0).all() and weights.any()):
        raise ValueError("sample_weight must be a number >= 0 for each row, not all 0")
    if cv is None:
        if trained_on(model, X):
            warnings.warn(
                "these rows were trained on: the scores of a model on its own rows are too sure. Give other rows, or cv=5.",
                UserWarning,
                stacklevel=3,
            )
        scores = _class_scores(model, X, classes.size)
    else:
        scores = _left_out_scores(model, X, y, cv, sample_weight, seed, classes)
    if scores.shape[0] != truth.size:
        raise ValueError(f"X has {scores.shape[0]} rows, y {truth.size}")
    if not np.isfinite(scores).all():
        raise ValueError("the scores are not finite")
    if classes.size > 2:
        if method != "sigmoid":
            raise ValueError(
                f"method={written(method)} is for two classes: maps of single classes do not keep the order of the "
                "classes of a row. Use method='sigmoid'."
            )
        return Calibrated(model, method, Temperature.fit(scores, index, weights), hash_values(X))
    if np.unique(index[weights > 0.0]).size < 2:
        raise ValueError("calibration needs rows of both classes")
    return Calibrated(model, method, maps[method].fit(scores, index == 1, weights), hash_values(X))


def _class_scores(model: Any, X: Any, n_classes: int) -> np.ndarray:
    """The scores of rows: (n,) for two classes, else (n, K)."""
    if n_classes == 2:
        return row_scores(model, X)
    if hasattr(model, "decision_function"):
        found = np.asarray(model.decision_function(X), np.float64)
        if found.ndim == 2 and found.shape[1] == n_classes:
            return found
        raise ValueError("decision_function must have a column for each class (decision_function_shape='ovr')")
    return np.log(np.clip(np.asarray(model.predict_proba(X), np.float64), 1e-300, None))


def _left_out_scores(
    model: Any, X: Any, y: Any, cv: Any, sample_weight: Any, seed: int, classes: np.ndarray
) -> np.ndarray:
    folds = make_folds(cv, X, y, classifier=True, seed=seed)
    found: np.ndarray | None = None
    for train, test in folds.splits:
        fitted = fit_rows(clone(model), X, y, sample_weight, train)
        if not np.array_equal(fitted.classes_, classes):
            raise ValueError("a fold lacks a class: use fewer folds")
        part = _class_scores(fitted, take(X, test), classes.size)
        found = np.full((folds.n_rows, *part.shape[1:]), np.nan) if found is None else found
        found[test] = part
    assert found is not None
    if np.isnan(found).any():
        raise ValueError("cv must leave every row out once")
    return found


@result
class Calibrated:
    """A fitted classifier with probabilities: ``predict_proba``, ``predict``, ``decision_function``, ``reliability``.

    Attributes
    ----------
    classes_ : classes of the model
    model_ : the model whose scores are mapped
    method : "sigmoid", "isotonic" or "beta"
    map_ : the fitted map from scores to probabilities
    """

    _estimator_type = "classifier"

    def __init__(self, model: Any, method: str, map_: Any, named: str) -> None:
        self.model_, self.method, self.map_ = model, method, map_
        self.classes_ = np.asarray(model.classes_)
        self._named = named

    def decision_function(self, X: Any) -> np.ndarray:
        """Two classes: the calibrated log-odds, in the order of the model's scores and above 0 where p > 1/2."""
        scores = _class_scores(self.model_, X, self.classes_.size)
        return self.map_.odds(scores) if scores.ndim == 1 else self.map_.t * scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, K): the calibrated probability of each class."""
        scores = _class_scores(self.model_, X, self.classes_.size)
        if scores.ndim == 2:
            return self.map_.probabilities(scores)
        if isinstance(self.map_, Steps):
            up = self.map_.values[np.searchsorted(self.map_.edges, scores, side="right")]
        else:
            up = logistic(self.map_.odds(scores))
        return np.column_stack([1.0 - up, up])

    def predict(self, X: Any) -> np.ndarray:
        """The more probable class; of equally probable ones the first."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def score(self, X: Any, y: Any) -> float:
        """The share of rows whose more probable class is y."""
        return float(np.mean(self.predict(X) == np.asarray(y).ravel()))

    def reliability(self, X: Any, y: Any, bins: int = 10, delta: float = 0.05) -> Reliability:
        """How far the probabilities are from the frequencies, on rows that neither trained nor calibrated.

        ``bins`` groups of equally many rows; all intervals together fail with probability ``delta``.
        """
        if hash_values(X) == self._named or trained_on(self.model_, X):
            raise ValueError(
                "these rows calibrated the model, or trained it: they say nothing of its reliability on new rows"
            )
        return reliability(self.predict_proba(X), np.searchsorted(self.classes_, np.asarray(y).ravel()), bins, delta)

    def __repr__(self) -> str:
        return f"Calibrated({self.model_!r}, method={written(self.method)})"

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __str__(self) -> str:
        return f"{type(self.model_).__name__}, its scores mapped to probabilities ({self.method})"


@result
@dataclass(frozen=True, eq=False)
class Reliability:
    """Bins of equal counts of the probability of the second class (of more: of the class that was called), and three numbers.

    Attributes
    ----------
    edges : ends of the bins
    predicted : the mean probability in each bin
    observed : the frequency in each bin, with its exact interval; all together hold at 1 - delta
    counts : rows of each bin
    calibration_error : sum over bins of |mean probability - frequency|, weighted by their rows
    brier : the mean of (p - label)^2 (of more classes half the sum over them)
    log_loss : mean of -ln of the probability of the true class
    delta : probability with which the statement may fail
    """

    edges: np.ndarray
    predicted: np.ndarray
    observed: tuple[Any, ...]
    counts: np.ndarray
    calibration_error: MeanInterval
    brier: MeanInterval
    log_loss: float
    delta: float

    @property
    def consistent(self) -> bool:
        """Whether every bin's mean probability is inside its interval."""
        return all(p in interval for p, interval in zip(self.predicted, self.observed))

    def __str__(self) -> str:
        lines = [
            f"calibration error {self.calibration_error}",
            f"Brier score {self.brier}",
            f"log loss {self.log_loss:.6g}",
        ]
        for p, interval, n in zip(self.predicted, self.observed, self.counts):
            inside = "" if p in interval else "  <- outside"
            seen = f"seen {interval.rate:.4f}, between {interval.low:.4f} and {interval.high:.4f}"
            lines.append(f"  said {p:.4f}, {seen} ({n:,} rows){inside}")
        return "\n".join(lines)


def reliability(probabilities: np.ndarray, index: np.ndarray, bins: int, delta: float) -> Reliability:
    """The reliability of probabilities on independent rows that had no part in fitting or calibrating.

    Given the rows, the labels in a bin are independent with different probabilities.  The exact binomial interval still holds for
    their mean: tails beyond the mean are largest where all probabilities are equal (Hoeffding 1956).
    """
    if not 0.0 < float(delta) < 1.0:
        raise ValueError(f"delta must be between 0 and 1; got {written(delta)}")
    n, K = probabilities.shape
    if n < 2 or index.size != n or not 1 <= int(bins):
        raise ValueError("reliability needs at least 2 rows, as many labels, and at least 1 bin")
    if K == 2:
        p, hit = probabilities[:, 1], index == 1
    else:
        p, hit = probabilities.max(axis=1), probabilities.argmax(axis=1) == index
    cuts = np.unique(np.quantile(p, np.linspace(0.0, 1.0, int(bins) + 1)[1:-1]))
    which = np.searchsorted(cuts, p, side="right")
    kept, which = np.unique(which, return_inverse=True)
    counts = np.bincount(which)
    said = np.bincount(which, p) / counts
    seen = np.bincount(which, hit)
    share = 0.5 * float(delta) / counts.size
    observed = tuple(clopper_pearson(int(k), int(m), share) for k, m in zip(seen, counts))
    weight = counts / n
    low = float(weight @ [max(0.0, i.low - q, q - i.high) for q, i in zip(said, observed)])
    high = float(weight @ [max(q - i.low, i.high - q) for q, i in zip(said, observed)])
    error = float(weight @ np.abs(said - seen / counts))
    truth = np.zeros((n, K))
    truth[np.arange(n), index] = 1.0
    squares = 0.5 * ((probabilities - truth) ** 2).sum(axis=1)
    return Reliability(
        np.concatenate([[0.0], cuts, [1.0]])[[*kept, kept[-1] + 1]],
        said,
        observed,
        counts,
        MeanInterval(error, low, high, 0.5 * float(delta), "exact binomial in every bin"),
        mean_interval(squares, 0.0, 1.0, 0.5 * float(delta)),
        float(-np.mean(np.log(np.clip(probabilities[np.arange(n), index], 1e-300, None)))),
        float(delta),
    )
