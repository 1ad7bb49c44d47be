"""Regressors of every kind, ours and scikit-learn's, in bags and in boosting."""

from __future__ import annotations

import warnings

import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression as SkLinear
from sklearn.linear_model import SGDRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR as SkSVR
from sklearn.tree import DecisionTreeRegressor as SkTree

import gapless
from gapless import AdaBoostRegressor, BaggingRegressor
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
