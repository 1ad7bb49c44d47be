"""ONNX graphs answer as the models do: the same classes, probabilities and values within 1e-5."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gapless

pytest.importorskip("skl2onnx", reason="the extra `ecosystem`")
onnxruntime = pytest.importorskip("onnxruntime", reason="the extra `ecosystem`")

CLASSIFIERS = {
    "LinearSVC": {},
    "LogisticRegression": {},
    "Perceptron": {},
    "LeastSquaresClassifier": {},
    "SVC": {},
    "NuSVC": {"nu": 0.2},
    "LinearDiscriminantAnalysis": {},
    "QuadraticDiscriminantAnalysis": {},
    "DecisionTreeClassifier": {"max_depth": 3},
    "AdaBoostClassifier": {"n_estimators": 5},
    "BaggingClassifier": {"n_estimators": 3, "random_state": 0},
}
REGRESSORS = {
    "LinearRegression": {},
    "Ridge": {},
    "SVR": {},
    "NuSVR": {},
    "DecisionTreeRegressor": {"max_depth": 4},
    "AdaBoostRegressor": {"n_estimators": 4, "random_state": 0},
    "BaggingRegressor": {"n_estimators": 3, "random_state": 0},
}


def answers(model, X):
    graph = gapless.to_onnx(model, X)
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: X})


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(name, K):
    X, y = load_iris(return_X_y=True)
    X, y = X.astype(np.float32), y if K == 3 else (y == 1).astype(int)
    model = getattr(gapless, name)(**CLASSIFIERS[name]).fit(X, y)
    found = answers(model, X)
    np.testing.assert_array_equal(found[0].ravel(), model.predict(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(found[1], model.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(name):
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32)
    model = getattr(gapless, name)(**REGRESSORS[name]).fit(X[:200], y[:200])
    np.testing.assert_allclose(answers(model, X)[0].ravel(), model.predict(X), rtol=1e-5)


def test_outliers_and_pipelines():
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32)
    model = gapless.OneClassSVM(nu=0.2).fit(X)
    far = np.abs(model.decision_function(X)) > 1e-5
    np.testing.assert_array_equal(answers(model, X)[0].ravel()[far], model.predict(X)[far])
    model = make_pipeline(StandardScaler(), gapless.LogisticRegression()).fit(X, y)
    np.testing.assert_allclose(answers(model, X)[1], model.predict_proba(X), atol=1e-5)
