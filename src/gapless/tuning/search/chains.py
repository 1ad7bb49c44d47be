"""The ways to fit the candidates of a chain: each returns the answers of every fitted model, or None where it does not apply."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.dummy import DummyClassifier
from sklearn.metrics import r2_score
from sklearn.pipeline import Pipeline

from gapless.encode.gamma import resolve_gamma
from gapless.encode.labels import encode_labels
from gapless.encode.pairs import confidences_of_pairs, count_votes, pairs_of_classes
from gapless.encode.weights import check_sample_weight, costs, resolve_class_weight
from gapless.estimators.least_squares import Ridge
from gapless.estimators.svc import SVC
from gapless.kernels.named import named_kernel
from gapless.solvers.kernel.folds import hold_matrix, solve_chain
from gapless.solvers.least_squares.many_penalties import decomposition_pays, ridge_chain
from gapless.solvers.loop import Loop

from .folds import take


@dataclass(frozen=True)
class Chain:
    """Candidates that differ in C (alpha) only, in the order of their fits, on one fold."""

    group: int
    fold: int
    members: tuple[int, ...]
    folds: int


class AnswersOnTest(ClassifierMixin, BaseEstimator):
    """A fitted classifier's answers on the test rows, in the form of an estimator, for a scorer."""

    def __init__(self, classes: np.ndarray, scores: np.ndarray, predicted: np.ndarray, gap: float) -> None:
        self.classes, self.scores, self.predicted, self.gap = classes, scores, predicted, gap
        self.classes_ = classes
        self.relative_gap = gap

    def predict(self, X: Any) -> np.ndarray:
        return self.predicted

    def decision_function(self, X: Any) -> np.ndarray:
        return self.scores


class PredictionsOnTest(RegressorMixin, BaseEstimator):
    """A fitted regression's predictions on the test rows, in the form of an estimator, for a scorer."""

    relative_gap = math.nan

    def __init__(self, predicted: np.ndarray) -> None:
        self.predicted = predicted
        self.predicted_ = predicted

    def predict(self, X: Any) -> np.ndarray:
        return self.predicted


# -- kernel machines ---------------------------------------------------------------------------------------------


def fit_kernel_chain(
    ev: Any, chain: Chain, models: Sequence[Any], X: Any, front: Any, train: np.ndarray, test: np.ndarray, loop: Loop
) -> list[Any] | None:
    """Fit SVC with a finite C, on one matrix of all rows."""
    finest_pair = 1e-3  # the worst pair at which a fit inside a fold ends at the latest, as in scikit-learn
    machines = [_final_step(model) for model in models]
    first = machines[0]
    if type(first) is not SVC or any(math.isinf(float(m.C)) for m in machines):
        return None
    if (
        first.kernel not in ("rbf", "poly", "precomputed")
        or first.max_iter not in (-1, None)
        or first.time_limit is not None
    ):
        return None
    if first.init is not None or first.decision_function_shape not in ("ovr", "ovo") or first.break_ties:
        return None
    for machine in machines:
        machine._check_parameters()
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if n > ev.most_rows:
        return None
    rows = _float_rows(X)
    weights = check_sample_weight(ev.weights if ev.weights is None else ev.weights[train], train.size)
    task = first._task()
    gamma = resolve_gamma(task.gamma, rows[train], weights)
    kernel = named_kernel(task.kernel, task.degree, gamma, task.coef0)
    key = (kernel, None) if front is None else (kernel, chain.group, chain.fold)
    held = ev.matrix(key, chain, lambda: hold_matrix(kernel, rows))
    labels = encode_labels(take(ev.y, train))
    cost = costs(1.0, weights, resolve_class_weight(task.class_weight, labels, weights), labels.index)
    c = np.zeros(n)
    c[train] = cost.restore(cost.c)
    index = np.full(n, -1)
    index[train] = labels.index
    pairs = pairs_of_classes(labels.n_classes)
    Cs = [float(machine.C) for machine in machines]
    columns = np.empty((len(Cs), test.size, len(pairs)))
    gaps = np.zeros(len(Cs))
    with np.errstate(all="ignore"):
        for line, (i, j) in enumerate(pairs):
            member = ((index == i) | (index == j)) & (c > 0.0)
            y = np.where(index == i, 1.0, -1.0)
            present = np.unique(y[member])
            if present.size < 2:
                columns[:, :, line] = present[0] if present.size else 0.0
                continue
            fits = solve_chain(held, y, np.where(member, c, 0.0), Cs, float(first.tol), loop, finest_pair)
            for at, point in enumerate(fits):
                columns[at, :, line] = point.scores[test]
                gaps[at] = max(gaps[at], point.relative_gap)
    return [_votes(labels.classes, part, gap) for part, gap in zip(columns, gaps)]


def _votes(classes: np.ndarray, columns: np.ndarray, gap: float) -> AnswersOnTest:
    """SVC's predictions and decision values from the scores of its pairs."""
    if columns.shape[1] == 1:
        scores = columns.ravel()
        return AnswersOnTest(classes, scores, classes[(scores > 0.0).astype(np.intp)], gap)
    votes = count_votes(columns, classes.size)
    shaped = votes + confidences_of_pairs(columns, classes.size)
    return AnswersOnTest(classes, shaped, classes[votes.argmax(axis=1)], gap)


def _float_rows(X: Any) -> Any:
    """X as CSR or as a C-ordered array of floats; float32 stays float32."""
    if sparse.issparse(X):
        return sparse.csr_matrix(X)
    found = np.asarray(X)
    return np.ascontiguousarray(found, dtype=found.dtype if found.dtype in (np.float32, np.float64) else np.float64)


# -- ridge -------------------------------------------------------------------------------------------------------


def fit_ridge_chain(
    ev: Any, chain: Chain, models: Sequence[Any], X: Any, front: Any, train: np.ndarray, test: np.ndarray, loop: Loop
) -> list[Any] | None:
    """Fit Ridge with numbers for alpha, from one decomposition."""
    machines = [_final_step(model) for model in models]
    first = machines[0]
    if type(first) is not Ridge or len(machines) < 2 or first.time_limit is not None:
        return None
    alphas = [machine.alpha for machine in machines]
    rows = _float_rows(X)
    if not decomposition_pays(rows, alphas):
        return None
    for machine in machines:
        machine._check_parameters()
    y = np.asarray(ev.y, dtype=np.float64)
    weights = None if ev.weights is None else ev.weights[train]
    found = []
    Y = y[train].reshape(train.size, -1)
    for W, b in ridge_chain(rows[train], Y, weights, alphas, bool(first.fit_intercept)):
        loop.tick()
        predicted = np.asarray(rows[test] @ W) + b
        found.append(PredictionsOnTest(predicted.ravel() if y.ndim == 1 else predicted))
    return found


# -- anything ----------------------------------------------------------------------------------------------------


def fit_one_by_one(
    ev: Any, chain: Chain, models: Sequence[Any], X: Any, front: Any, train: np.ndarray, test: np.ndarray, loop: Loop
) -> list[Any]:
    """Call ``fit`` for each candidate, from the model before it where it has ``init``; this way applies to every model."""
    rows, y = take(X, train), take(ev.y, train)
    fitting: dict[str, Any] = {} if ev.weights is None else {"sample_weight": ev.weights[train]}
    found: list[Any] = []
    before: Any = None
    for model in models:
        loop.tick()
        last = _final_step(model)
        can = hasattr(last, "get_params") and "init" in last.get_params(deep=False) and len(models) > 1
        if can and before is not None:
            last.set_params(init=before)
        last.fit(rows, y, **fitting)
        if can:
            last.set_params(init=None)
            # A fit that ends by its gap ends at the same place from any start; a perceptron's end depends on its start.
            before = last if _gap_of(last) is not None else None
        asked = FittedOnTest(last, take(X, test))
        found.append(asked)
    return found


def _gap_of(model: Any) -> float | None:
    """The relative gap of a fitted model; None where its certificate has no gap, as for perceptrons and boosted models."""
    return getattr(getattr(model, "certificate_", None), "relative_gap", None)


class FittedOnTest:
    """A fitted model together with the test rows that its pipeline's earlier steps have transformed already."""

    def __init__(self, model: Any, rows: Any) -> None:
        self._model, self._rows = model, rows
        certificate = getattr(model, "certificate_", None)
        gap = getattr(certificate, "relative_gap", None)
        self.relative_gap = math.nan if gap is None else float(gap)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self._model, name)
        if name not in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
            return found

        def answer(X: Any) -> Any:
            return found(self._rows)

        answer.__name__ = name  # scorers read it
        return answer

    def __sklearn_tags__(self) -> Any:
        return self._model.__sklearn_tags__()


def fit_constant(ev: Any, train: np.ndarray, test: np.ndarray) -> Any:
    """A model that predicts the only class of the training rows."""
    rows = np.zeros((test.size, 1))
    return FittedOnTest(DummyClassifier().fit(np.zeros((train.size, 1)), take(ev.y, train)), rows)


def _final_step(model: Any) -> Any:
    while isinstance(model, Pipeline):
        model = model.steps[-1][1]
    return model


# -- scores ------------------------------------------------------------------------------------------------------


def score_fold(ev: Any, view: Any, train: np.ndarray, test: np.ndarray) -> list[Any]:
    """[score, relative gap, errors, rows] of a fitted model; errors are counted where the rows have no weights."""
    truth = take(ev.y, test)
    wrong = math.nan
    weights = None if ev.weights is None else ev.weights[test]
    if ev.classifier:
        predicted = np.asarray(view.predict(None if not isinstance(view, FittedOnTest) else view._rows)).ravel()
        off = predicted != np.asarray(truth).ravel()
        wrong = float(np.count_nonzero(off))
        if ev.scoring is None:
            score = 1.0 - (float(np.mean(off)) if weights is None else _weighted_mean(off, weights))
            return [score, float(view.relative_gap), wrong if weights is None else math.nan, float(test.size)]
    if ev.scoring is None:
        predicted = view.predict(None if not isinstance(view, FittedOnTest) else view._rows)
        score = r2_score(np.asarray(truth, dtype=np.float64), predicted, sample_weight=weights)
    else:
        rows = view._rows if isinstance(view, FittedOnTest) else take(ev.X, test)
        try:
            score = ev.scoring(view, rows, truth)
        except AttributeError as error:  # a scorer of probabilities, and a model that gives none
            if "predict_proba" not in str(error):
                raise
            raise ValueError(
                f"{type(_final_step(ev.model)).__name__} gives no probabilities, which the score needs"
            ) from None
    return [float(score), float(view.relative_gap), wrong if weights is None else math.nan, float(test.size)]


def _weighted_mean(values: np.ndarray, weights: np.ndarray) -> float:
    total = float(weights.sum())
    if total <= 0.0:
        raise ValueError("the test rows of a fold have no weight")
    return float(values @ weights) / total
