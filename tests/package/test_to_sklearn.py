"""`to_sklearn`: scikit-learn's own classes answer as our models do; ONNX asks for its package."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris

import gapless

CLASSIFIERS = {
    "LinearSVC": {}, "LogisticRegression": {}, "Perceptron": {}, "LeastSquaresClassifier": {}, "SVC": {}, "NuSVC": {"nu": 0.2},
    "LinearDiscriminantAnalysis": {}, "QuadraticDiscriminantAnalysis": {}, "DecisionTreeClassifier": {"max_depth": 3},
    "AdaBoostClassifier": {"n_estimators": 3}, "BaggingClassifier": {"n_estimators": 2, "max_features": 0.5, "random_state": 0},
}  # fmt: skip
REGRESSORS = {
    "LinearRegression": {}, "Ridge": {}, "SVR": {}, "NuSVR": {}, "DecisionTreeRegressor": {"max_depth": 3},
    "AdaBoostRegressor": {"n_estimators": 2, "random_state": 0}, "BaggingRegressor": {"n_estimators": 2, "random_state": 0},
}  # fmt: skip


def same_answers(model, X):
    twin = gapless.to_sklearn(model)
    assert type(twin).__module__.startswith("sklearn.")
    assert type(twin).__module__.split(".")[0] != type(model).__module__.split(".")[0]
    np.testing.assert_allclose(twin.predict(X), model.predict(X), rtol=1e-10)
    for ask in ("decision_function", "predict_proba", "score_samples"):
        if hasattr(model, ask) and hasattr(twin, ask):
            np.testing.assert_allclose(getattr(twin, ask)(X), getattr(model, ask)(X), rtol=1e-9, atol=1e-12)
    return twin


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(name, K):
    X, y = load_iris(return_X_y=True)
    same_answers(getattr(gapless, name)(**CLASSIFIERS[name]).fit(X, y if K == 3 else y == 1), X)


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(name):
    X, y = load_diabetes(return_X_y=True)
    same_answers(getattr(gapless, name)(**REGRESSORS[name]).fit(X[:60], y[:60]), X[:60])


def test_sparse_rows_outliers_and_probabilities():
    X, y = load_iris(return_X_y=True)
    same_answers(gapless.OneClassSVM(nu=0.2).fit(X), X)
    model = gapless.SVC().fit(sparse.csr_matrix(X), y)
    twin = gapless.to_sklearn(model)
    np.testing.assert_allclose(twin.decision_function(X), model.decision_function(X), rtol=1e-9)
    with pytest.warns(FutureWarning, match="probability"):
        model = gapless.SVC(probability=True).fit(X, y == 1)
    # LIBSVM couples even two classes by a loop that ends at 0.0025.
    np.testing.assert_allclose(gapless.to_sklearn(model).predict_proba(X), model.predict_proba(X), atol=5e-3)


def test_a_patched_scikit_learn_gives_its_own_classes():
    gapless.patch()
    try:
        X, y = load_iris(return_X_y=True)
        same_answers(gapless.LogisticRegression().fit(X, y), X)
    finally:
        gapless.unpatch()


def test_what_scikit_learn_does_not_have_is_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="no estimator that answers"):
        gapless.to_sklearn(gapless.Perceptron(variant="voted").fit(X, y))
    with pytest.raises(ValueError, match="no estimator that answers"):
        gapless.to_sklearn(gapless.GaussianDiscriminant().fit(X, y))
    with pytest.raises(ValueError, match="not fitted"):
        gapless.to_sklearn(gapless.SVC())
    assert gapless.to_sklearn("else") == "else"


@pytest.mark.skipif(importlib.util.find_spec("skl2onnx") is not None, reason="skl2onnx is there")
def test_onnx_says_what_it_needs():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ImportError, match="gapless\\[onnx\\]"):
        gapless.to_onnx(gapless.LogisticRegression().fit(X, y), X)
