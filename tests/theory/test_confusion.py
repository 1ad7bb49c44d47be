"""Confusion matrices: counts against scikit-learn's, exact intervals, and no interval on the training rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.metrics import confusion_matrix, precision_score, recall_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gapless import LogisticRegression, theory
from gapless.theory.samples.confusion import confusion
from gapless.theory.samples.hoeffding import clopper_pearson


@pytest.fixture(scope="module")
def parts():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    order = np.random.default_rng(0).permutation(150)
    return X[order[:90]], names[order[:90]], X[order[90:]], names[order[90:]]


def test_counts_and_rates(parts):
    X, y, X_test, y_test = parts
    model = LogisticRegression(C=0.01).fit(X, y)
    found = confusion(model, X_test, y_test)
    predicted = model.predict(X_test)
    assert (found.counts == confusion_matrix(y_test, predicted)).all()
    assert found.trained_on is False
    for i, label in enumerate(found.classes):
        for name, score in (("recall", recall_score), ("precision", precision_score)):
            rate = getattr(found, name)(label)
            assert rate.rate == pytest.approx(score(y_test, predicted, average=None, zero_division=0)[i])
    assert found.error.low == clopper_pearson(int((predicted != y_test).sum()), 60).low
    assert "each" in str(found)
    together = confusion(model, X_test, y_test, simultaneous=True)
    assert together.error.high == clopper_pearson(int((predicted != y_test).sum()), 60, 0.05 / 7).high


def test_the_training_rows_have_no_intervals(parts):
    X, y, *_ = parts
    for model, rows in ((LogisticRegression(), X), (make_pipeline(StandardScaler(), LogisticRegression()), X)):
        model.fit(X, y)
        with pytest.warns(UserWarning, match="trained on"):
            found = confusion(model, rows, y)
        assert found.trained_on
        assert "nothing of new rows" in str(found)
        with pytest.raises(ValueError, match="trained on"):
            found.error  # noqa: B018


def test_two_classes_and_other_models(parts):
    X, y, X_test, y_test = parts
    target, truth = y == "virginica", y_test == "virginica"
    model = Peer(C=0.05).fit(X, target)
    found = confusion(model, X_test, truth)
    assert found.trained_on is None
    assert "neither trained on" in str(found)
    predicted = model.predict(X_test)
    assert found.false_positive_rate.rate == pytest.approx(np.mean(predicted[~truth]))
    assert found.false_negative_rate.rate == pytest.approx(1 - np.mean(predicted[truth]))
    again = confusion(None, y=truth, predicted=predicted)
    assert (again.counts == found.counts).all()


def test_a_class_that_is_never_called():
    found = confusion(None, y=[0, 1, 2, 2], predicted=[0, 0, 0, 0])
    assert found.precision(1) is None
    assert found.recall(2).rate == 0.0
    assert "no rows" in str(found)
    with pytest.raises(ValueError, match="3 classes"):
        found.false_positive_rate  # noqa: B018
    with pytest.raises(ValueError, match="no class 7"):
        found.recall(7)


def test_coverage():
    # A known error rate per class: the interval misses it at most delta of the time.
    random = np.random.default_rng(1)
    missed = 0
    for _ in range(400):
        y = random.integers(2, size=80)
        predicted = np.where(random.random(80) < np.where(y == 1, 0.3, 0.1), 1 - y, y)
        missed += 0.7 not in confusion(None, y=y, predicted=predicted, delta=0.1).recall(1)
    assert missed <= 40 + 4 * np.sqrt(400 * 0.1 * 0.9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": None, "y": [1]}, "a model with X, or predicted"),
        ({"model": None, "predicted": [1]}, "true labels"),
        ({"model": None, "y": [1, 2], "predicted": [1]}, "2 true labels and 1 predicted"),
        ({"model": None, "y": [1], "predicted": [1], "delta": 1}, "strictly between"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        confusion(**arguments)


def test_the_room_and_its_modules():
    assert theory.confusion.confusion is confusion
    assert {"hoeffding", "growth", "vc", "bias_variance", "learning_curve", "convexity", "global_minimum"} <= set(
        dir(theory)
    )
    with pytest.raises(AttributeError, match="hoeffding"):
        theory.nothing  # noqa: B018
