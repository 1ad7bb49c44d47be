"""`threshold_for`: the cut of a classifier's scores when mistakes cost different amounts.

    costs[i][j]: what it costs to call class j a row of class i;   a = costs[1][0] - costs[1][1],   b = costs[0][1] - costs[0][0]
    theory: call the second class where its probability is above p* = b / (a + b), for calibrated probabilities
    data:   the cut with the least cost on the rows given

A model trained with class weights w0, w1 has the probabilities of a population where class k is w_k times as frequent: there the
cut is w1 p* / (w1 p* + w0 (1 - p*)).  Weights in the ratio of the costs put it at 1/2: weights and threshold are two ways to
the same rule, and both at once would count the costs twice.

Expected cost of a cut t:   R(t) = const + a P(y = 1, s <= t) + b P(y = 0, s > t).  Both probabilities are distribution
functions, so that for *all* t at once, and for any t that the rows chose,

    |R(t) - cost on n rows| <= (a + b) sqrt(ln(4/delta) / (2 n))                            (Massart 1990, twice at delta/2)
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.certificates.verify import last_step
from gapless.readings.calibration_maps import log_odds
from gapless.tuning.cuts import Cut, CutRows

from .calibrate import Calibrated, calibrate
from .intervals import row_scores, trained_on


@result
@dataclass(frozen=True, eq=False)
class Threshold:
    """The cuts, the cost of the model's own predict, and the role of its class weights.

    Attributes
    ----------
    theory : `Cut` at the probability that the costs give, None where the model has no probabilities
    data : `Cut` of the smallest cost on the rows given
    as_it_is : `Cut` of the model's own predict
    fixed : `Cut` of ``at``, None where none was given
    probability : p* of the costs, in the population of the rows
    costs : 2 x 2: cost of calling class i class j
    model : the model as it was given
    imbalance : what class weights and shares have to do with it, a sentence
    """

    theory: Cut | None
    data: Cut
    as_it_is: Cut
    probability: float
    costs: np.ndarray
    model: Any
    imbalance: str
    fixed: Cut | None = None

    def predictor(self, which: str | None = None) -> Thresholded:
        """The model with the cut: "data", "theory" or "fixed"; by default "fixed" where ``at`` was given, else "data".

        ``which`` names it.
        """
        which = which or ("data" if self.fixed is None else "fixed")
        cut = {"data": self.data, "theory": self.theory, "fixed": self.fixed}.get(which)
        if cut is None:
            raise ValueError(f"which is 'data', 'theory' or 'fixed' (where there is one); got {written(which)}")
        return Thresholded(self.model, cut.score)

    def _table(self) -> tuple[tuple[str, ...], list[list[Any]]]:
        """A line for each cut, as a notebook shows it."""
        cuts = {"theory": self.theory, "data": self.data, "as it is": self.as_it_is, "fixed": self.fixed}
        names = ("score", "probability", "cost", "interval", "counts")
        return ("cut", *names), [[k, *(getattr(c, n) for n in names)] for k, c in cuts.items() if c is not None]

    def __str__(self) -> str:
        theory = "no probabilities" if self.theory is None else str(self.theory)
        costs = f"its probability is above {self.probability:.6g}"
        asked = None if self.fixed is None else self.fixed.probability
        return "\n".join(
            [
                f"call it positive where {costs}"
                if asked is None
                else f"as asked, call it positive where its probability is at least {asked:.6g}; the costs say, where {costs}",
                f"theory   {theory}",
                f"data     {self.data}",
                f"as it is {self.as_it_is}",
                *([] if self.fixed is None else [f"fixed    {self.fixed}"]),
                self.imbalance,
            ]
        )


@result
class Thresholded:
    """predict by a cut; scores and probabilities are the model's own.

    Attributes
    ----------
    model_ : the model whose scores are cut
    threshold_ : the cut
    classes_ : classes of the model
    """

    _estimator_type = "classifier"

    def __init__(self, model: Any, cut: float) -> None:
        self.model_, self.threshold_, self.classes_ = model, float(cut), np.asarray(model.classes_)

    def decision_function(self, X: Any) -> np.ndarray:
        """The model's score above the cut."""
        return row_scores(self.model_, X) - self.threshold_

    def predict(self, X: Any) -> np.ndarray:
        """The second class where the score of a row of X is above the cut."""
        return self.classes_[(row_scores(self.model_, X) > self.threshold_).astype(np.intp)]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __str__(self) -> str:
        return f"{type(self.model_).__name__}, cut at score {self.threshold_:.6g}: above it, {self.classes_[1]!s} is called"


def threshold_for(
    model: Any,
    costs: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    delta: float = 0.05,
    positive: Any = None,
    at: float | None = None,
) -> Threshold:
    """The cut for a matrix of costs, by theory and on data, each with an interval for its expected cost.

    Parameters
    ----------
    model : a fitted classifier of two classes; probabilities are its own, else a sigmoid is fitted to these rows
    costs : 2 x 2, ``costs[i][j]`` for a row of class i (in the order of ``classes_``) that is called j; or a dict with
        "false_positive" and "false_negative"; None, where ``at`` is given: every mistake costs 1
    X, y : rows that the model was not trained on
    sample_weight : how often each row stands in the population that is meant
    delta : the probability that an interval fails
    positive : the positive class of a dict of costs, by default the second
    at : a cut that is fixed beforehand: call the second class where the model's probability is at least ``at``, as P >= 0.8. The
        model's probability is its ``predict_proba``, else the sigmoid's. ``fixed`` of the result has its cost beside the others
    """
    _check_arguments(model, costs, delta, at)
    classes = np.asarray(model.classes_)
    matrix = _cost_matrix([[0.0, 1.0], [1.0, 0.0]] if costs is None else costs, classes, positive)
    a, b = float(matrix[1, 0] - matrix[1, 1]), float(matrix[0, 1] - matrix[0, 0])
    s, up, weights = _read_rows(model, X, y, sample_weight)
    known = trained_on(model, X)
    if known:
        warnings.warn(
            "these rows were trained on: the cuts are given, without intervals. Give other rows.",
            UserWarning,
            stacklevel=2,
        )
    rows = CutRows(s, up, weights, matrix, a, b, float(delta), known)
    best = b / (a + b)
    own, imbalance = _account_for_weights(model, best, classes)
    level, chosen = math.nan, not hasattr(model, "predict_proba")
    if not chosen:
        cut = _score_at_probability(model, X, s, own)
        level = math.nan if at is None else _score_at_probability(model, X, s, float(at), least=True)
    elif np.unique(up).size == 2:
        # The sigmoid is of these rows, whatever the model was trained with: p* itself.
        own = best
        cut, level = (math.nan, math.nan) if known else _sigmoid_cuts(model, X, y, sample_weight, best, at)
        imbalance += " The probabilities are those of a sigmoid on these rows."
    else:
        cut = math.nan
    theory = None if math.isnan(cut) else rows.cut(cut, own, chosen)
    fixed = None if at is None else _fixed_cut(rows, level, float(at), chosen)
    near = cut if not math.isnan(cut) else 0.0
    data = rows.cut(rows.cheapest(near), None, True)
    return Threshold(theory, data, rows.cut(_model_cut(model), None, False), best, matrix, model, imbalance, fixed)


def _check_arguments(model: Any, costs: Any, delta: float, at: float | None) -> None:
    if not hasattr(model, "classes_") or len(model.classes_) != 2:
        raise ValueError("threshold_for is for fitted classifiers of two classes; bayes_rule takes costs of more")
    if not 0.0 < float(delta) < 1.0:
        raise ValueError(f"delta must be between 0 and 1; got {written(delta)}")
    if at is not None and (isinstance(at, bool | str) or not 0.0 < float(at) < 1.0):
        raise ValueError(f"at is a probability strictly between 0 and 1; got {written(at)}")
    if costs is None and at is None:
        raise ValueError("give costs, or a fixed cut: at=0.8")


def _read_rows(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The score of each row, whether it is of the second class, and the weights where they differ."""
    truth = np.asarray(y).ravel()
    strange = np.setdiff1d(truth, model.classes_)
    if strange.size:
        raise ValueError(f"y has the label {written(strange[0])}, which the model does not know")
    up = truth == np.asarray(model.classes_)[1]
    s = row_scores(model, X)
    if s.shape != up.shape:
        raise ValueError(f"X has {s.size} rows, y {up.size}")
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64).ravel()
    if weights is not None and (weights.shape != s.shape or not (weights >= 0.0).all() or not weights.any()):
        raise ValueError("sample_weight must be a number >= 0 for each row, not all 0")
    return s, up, None if weights is None or np.ptp(weights) == 0.0 else weights


def _sigmoid_cuts(model: Any, X: Any, y: Any, sample_weight: Any, best: float, at: float | None) -> tuple[float, float]:
    """The scores at which a sigmoid fitted to these rows is ``best`` and ``at``; NaN where scores fall with the class."""
    fitted = calibrate(model, X, y, "sigmoid", sample_weight=sample_weight)
    if not fitted.map_.slope > 0.0:
        return math.nan, math.nan
    level = math.nan if at is None else math.nextafter(_sigmoid_score_at(fitted, float(at)), -math.inf)
    return _sigmoid_score_at(fitted, best), level


def _fixed_cut(rows: CutRows, level: float, at: float, chosen: bool) -> Cut:
    """The cost of calling the second class from a probability ``at`` on, which is the score ``level``."""
    if math.isnan(level):
        raise ValueError(
            "at= needs probabilities: the model has no predict_proba, and no sigmoid can be fitted to these rows (rows that were "
            "trained on, one class, or scores that fall where the class is likelier)"
        )
    return replace(rows.cut(level, at, chosen), inclusive=True)


def _cost_matrix(costs: Any, classes: np.ndarray, positive: Any) -> np.ndarray:
    if isinstance(costs, Mapping):
        unknown = set(costs) - {"false_positive", "false_negative"}
        if unknown or len(costs) != 2:
            raise ValueError(f"costs needs 'false_positive' and 'false_negative'; got {sorted(map(str, costs))}")
        found = np.array([[0.0, float(costs["false_positive"])], [float(costs["false_negative"]), 0.0]])
        if positive is not None and positive == classes[0]:
            found = found[::-1, ::-1].copy()
        elif positive is not None and positive != classes[1]:
            raise ValueError(f"positive={written(positive)} is no class; there are {classes.tolist()}")
    else:
        found = np.asarray(costs, dtype=np.float64)
    if found.shape != (2, 2):
        raise ValueError(f"costs must be a 2 x 2 matrix of numbers; got shape {found.shape}")
    if not np.isfinite(found).all():
        i, j = (int(k) for k in np.argwhere(~np.isfinite(found))[0])
        place, value = (
            f"costs[{i}][{j}], for rows of class {written(classes[i])} called {written(classes[j])},",
            found[i, j],
        )
        if np.isnan(value):
            raise ValueError(f"{place} is not a number")
        raise ValueError(
            f"{place} is {'minus ' * bool(value < 0)}infinite: no expected cost compares with it, and no cut but the one that "
            "never gives this answer has another. Give a finite cost, as large as you like."
        )
    if found[1, 0] < found[1, 1] or found[0, 1] < found[0, 0]:
        raise ValueError(
            "a mistake that costs less than the right answer: costs[i][j] is for rows of class i that are called j"
        )
    if found[1, 0] == found[1, 1] and found[0, 1] == found[0, 0]:
        raise ValueError("mistakes cost no more than right answers: every cut is as good")
    return found


def _account_for_weights(model: Any, best: float, classes: np.ndarray) -> tuple[float, str]:
    """p* as a probability of the model, whose class weights shift it, and a sentence on these weights."""
    inner = model.model_ if isinstance(model, Calibrated) else model
    if isinstance(model, Calibrated):
        return best, "Calibrated on rows as they are: class weights of the fit do not move the cut."
    step, _ = last_step(inner, None) if hasattr(inner, "steps") else (inner, None)
    certificate = getattr(step, "certificate_", None)
    stated = getattr(certificate, "statement", None) or {}
    weight = (stated.get("problem") or {}).get("class_weight")
    if weight is None or len(weight) != 2 or float(weight[0]) == float(weight[1]):
        return best, "The classes had equal weight in the fit: the threshold alone carries the costs."
    w0, w1 = float(weight[0]), float(weight[1])
    moved = w1 * best / (w1 * best + w0 * (1.0 - best))
    said = (
        f"The fit weighed class {written(classes[1])} {w1 / w0:.4g} times as much as {written(classes[0])}: its "
        f"probabilities are of such a population, and the cut there is {moved:.6g} instead of {best:.6g}."
    )
    if abs(moved - 0.5) < 1e-9:
        said += " The weights carry the costs already; a threshold of its own would count them twice."
    return moved, said


def _score_at_probability(model: Any, X: Any, s: np.ndarray, p: float, least: bool = False) -> float:
    """The score at which the model's probability passes p; probabilities rise with scores. ``least``: p itself is passed."""

    def below(score: float) -> float:
        return math.nextafter(score, -math.inf) if least else score

    if not hasattr(model, "decision_function"):
        return below(float(log_odds(np.array([p]))[0]))
    if isinstance(model, Calibrated):
        return below(_log_odds(p))
    probabilities = np.asarray(model.predict_proba(X))[:, 1]
    order = np.argsort(s, kind="stable")
    if np.allclose(np.log(probabilities) - np.log1p(-probabilities), s, rtol=1e-6, atol=1e-6):
        return below(_log_odds(p))  # the scores are log-odds
    above = np.flatnonzero(probabilities[order] >= p if least else probabilities[order] > p)
    if above.size == 0:
        return math.inf
    k = int(above[0])
    return -math.inf if k == 0 else 0.5 * float(s[order[k - 1]] + s[order[k]])


def _log_odds(p: float) -> float:
    if p <= 0.0 or p >= 1.0:
        return -math.inf if p <= 0.0 else math.inf
    return math.log(p) - math.log1p(-p)


def _sigmoid_score_at(fitted: Calibrated, p: float) -> float:
    """The score at which a sigmoid passes p."""
    return (_log_odds(p) - fitted.map_.offset) / fitted.map_.slope


def _model_cut(model: Any) -> float:
    return float(model.threshold_) if isinstance(model, Thresholded) else 0.0
