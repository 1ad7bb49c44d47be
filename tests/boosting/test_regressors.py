"""Regressors of every kind, ours and scikit-learn's, in bags and in boosting."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression as SkLinear
from sklearn.linear_model import SGDRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR as SkSVR
from sklearn.tree import DecisionTreeRegressor as SkTree

import gapless
from gapless import AdaBoostRegressor, BaggingRegressor
from gapless.estimators.shared import ensemble_trees
from gapless.estimators.shared.ensemble_trees import SharedTrees
from tests.boosting.cases import blobs

BASES = [
    gapless.LinearRegression(),
    gapless.Ridge(),
    gapless.SVR(),
    gapless.NuSVR(),
    gapless.DecisionTreeRegressor(max_depth=3),
    BaggingRegressor(n_estimators=2),
    AdaBoostRegressor(n_estimators=2),
    SkLinear(),
    SkTree(max_depth=3),
    SkSVR(),
    SGDRegressor(random_state=0),
    KNeighborsRegressor(),
]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("ensemble", [BaggingRegressor, AdaBoostRegressor])
@pytest.mark.parametrize("base", BASES, ids=lambda b: f"{type(b).__module__[:7]}.{type(b).__name__}")
def test_any_base_learner(base, ensemble, kind):
    X, _ = blobs(120, 2, 0)
    y = X[:, 0] + 0.3 * X[:, 1] ** 2
    X = sparse.csr_matrix(X) if kind == "sparse" else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ensemble(base, n_estimators=3, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.5
    assert gapless.verify(model, X, y)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_trees_that_count_their_draws_are_the_trees_of_the_rows_drawn(kind, monkeypatch):
    """The way of any learner copies the rows that are drawn; here columns are ranked once, and each row has a count."""
    X, _ = blobs(150, 3, 1)
    y = X[:, 0] + 0.3 * X[:, 1] ** 2
    X = sparse.csr_matrix(np.where(np.abs(X) < 0.4, 0.0, X)) if kind == "sparse" else X
    model = AdaBoostRegressor(n_estimators=8, random_state=4).fit(X, y)
    random = np.random.RandomState(4)
    random.randint(2**31 - 1)
    counts = np.bincount(random.choice(150, size=150, replace=True, p=np.full(150, 1.0 / 150.0)), minlength=150)
    assert gapless.verify(model.estimators_[0], X, y, sample_weight=counts)
    monkeypatch.setattr(SharedTrees, "build", lambda *given: None)
    copied = AdaBoostRegressor(n_estimators=8, random_state=4).fit(X, y)
    np.testing.assert_allclose(model.estimator_errors_, copied.estimator_errors_, rtol=1e-12)
    for learner, other in zip(model.estimators_, copied.estimators_, strict=True):
        np.testing.assert_allclose(learner.predict(X), other.predict(X), rtol=1e-12, atol=1e-12)
        assert learner.random_state == other.random_state


def test_an_error_of_a_handler_is_not_taken_for_one_of_a_tree(monkeypatch):
    """Trees on shared columns were given up for any ValueError, also for one that the handler of a signal raised."""

    class Alarm(ValueError):
        pass

    def ring(*given):
        raise Alarm

    monkeypatch.setattr(ensemble_trees, "prepare_columns", ring)
    X = np.arange(12.0).reshape(6, 2)
    with pytest.raises(Alarm):
        AdaBoostRegressor().fit(X, X[:, 0])


def test_targets_that_are_no_numbers_are_refused():
    X = np.arange(12.0).reshape(6, 2)
    with pytest.raises(ValueError, match="needs numbers as targets: y has the dtype datetime64"):
        AdaBoostRegressor().fit(X, np.full(6, np.datetime64("2020-01-01")))
