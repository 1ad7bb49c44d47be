"""Classes with few rows: they cost no folds, no error, and are scored where they can be."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import gapless
from gapless.tuning.search.folds import make_folds

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 3))


def labels(few):
    y = np.where(X[:, 0] > 0, "a", "b").astype("<U4")
    y[10 : 10 + few] = "rare"
    return y


@pytest.mark.parametrize("few", [1, 2, 4])
@pytest.mark.parametrize("cv", [5, 0.3])
def test_a_rare_class(few, cv):
    y = labels(few)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        folds = make_folds(cv, X, y, classifier=True)
    assert len(folds) == (5 if cv == 5 else 1)
    for (train, test), lacking in zip(folds.splits, folds.lacking):
        assert sorted([*train.tolist(), *test.tolist()]) == list(range(60))
        assert lacking == (not {"a", "b", "rare"} <= set(y[test]))
        if cv == 0.3:
            assert len(test) in (17, 18)
            assert "rare" in y[train]
            for label in ("a", "b"):
                assert abs((y[test] == label).sum() - 0.3 * (y == label).sum()) <= 1


def test_every_class_is_rare():
    y = np.repeat(np.arange(6), 3)
    folds = make_folds(5, np.zeros((18, 1)), y, classifier=True)
    assert len(folds) == 5
    for train, test in folds.splits:
        assert set(y[train]) == set(range(6))
        assert len(set(y[test])) == len(test)


@pytest.mark.parametrize("model", [gapless.SVC(), gapless.LinearSVC(), gapless.LogisticRegression()])
def test_a_class_of_one_row_is_an_error_on_its_fold(model):
    """The share of correct rows, counted by hand with fits of their own."""
    from sklearn.base import clone

    y = labels(1)
    found = gapless.tune(model, X, y, {"C": [0.5, 1.0]}, cv=5)
    for row in found.tuning_.table:
        right = [
            np.mean(clone(model).set_params(**row["params"]).fit(X[train], y[train]).predict(X[test]) == y[test])
            for train, test in found.tuning_.folds.splits
        ]
        assert row["folds"] == pytest.approx(right)
        assert row["score"] == pytest.approx(np.mean(right))


@pytest.mark.filterwarnings("ignore:Only one class is present")
def test_two_classes_one_of_them_with_few_rows():
    y = (np.arange(60) < 1).astype(int)
    found = gapless.tune(gapless.LinearSVC(), X, y, {"C": [0.1, 1.0]}, cv=5)
    assert found.tuning_.best_score == pytest.approx(59 / 60)
    y = (np.arange(60) < 3).astype(int)
    X_told = X + 3.0 * y[:, None]
    found = gapless.tune(gapless.LinearSVC(), X_told, y, {"C": [0.1]}, cv=5, scoring="roc_auc")
    defined = []
    for train, test in found.tuning_.folds.splits:
        if len(set(y[test])) == 2:
            scores = gapless.LinearSVC(C=0.1).fit(X_told[train], y[train]).decision_function(X_told[test])
            defined.append(roc_auc_score(y[test], scores))
    assert len(defined) == 3
    assert found.tuning_.best_score == pytest.approx(np.mean(defined))


def test_probabilities_that_a_model_does_not_give():
    with pytest.raises(ValueError, match="LinearSVC gives no probabilities, which the score needs"):
        gapless.tune(gapless.LinearSVC(), X, labels(4), {"C": [1.0]}, cv=3, scoring="neg_log_loss")
