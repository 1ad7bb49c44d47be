"""predict, decision_function and predict_proba say the same thing."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from gapless import LinearSVC, LogisticRegression, Perceptron, config_context
from tests.linear.sets import LOSSES, load, model


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["breast_cancer", "iris_two"])
def test_two_classes(loss, name):
    X, y = load(name)
    fitted = model(loss).fit(X, y)
    scores = fitted.decision_function(X)
    assert scores.shape == (y.size,)
    np.testing.assert_allclose(scores, X @ fitted.coef_[0] + fitted.intercept_[0], rtol=1e-12, atol=1e-12)
    assert fitted.coef_.shape == (1, X.shape[1])
    assert fitted.intercept_.shape == (1,)
    assert (fitted.predict(X) == fitted.classes_[(scores > 0).astype(int)]).all()
    if loss == "logistic":
        chances = fitted.predict_proba(X)
        assert chances.shape == (y.size, 2)
        assert (fitted.classes_[chances.argmax(axis=1)] == fitted.predict(X)).all()
        np.testing.assert_allclose(chances[:, 1], 1 / (1 + np.exp(-scores)), rtol=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["iris", "wine", "digits"])
def test_three_classes(loss, name):
    X, y = load(name)
    fitted = model(loss).fit(X, y)
    scores = fitted.decision_function(X)
    assert scores.shape == (y.size, 3)
    assert fitted.coef_.shape == (3, X.shape[1])
    assert fitted.intercept_.shape == (3,)
    assert (fitted.predict(X) == fitted.classes_[scores.argmax(axis=1)]).all()
    if loss == "logistic":
        chances = fitted.predict_proba(X)
        assert (fitted.classes_[chances.argmax(axis=1)] == fitted.predict(X)).all()
        each = np.exp(scores - scores.max(axis=1, keepdims=True))
        np.testing.assert_allclose(chances, each / each.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_each_column_is_its_class_against_the_rest(loss):
    X, y = load("wine")
    fitted = model(loss).fit(X, y)
    for k in range(3):
        one = model(loss).fit(X, (y == k).astype(int))
        np.testing.assert_allclose(fitted.decision_function(X)[:, k], one.decision_function(X), rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(fitted.alpha_[k], one.alpha_, rtol=1e-6, atol=1e-7)


def test_the_blobs_of_scikit_learn_issue_8276():
    X, y = make_blobs(n_samples=120, centers=3, random_state=1, cluster_std=3.0)
    for loss in LOSSES:
        fitted = model(loss).fit(X, y)
        grid = np.random.default_rng(0).uniform(X.min(0), X.max(0), size=(2_000, 2))
        assert (fitted.predict(grid) == fitted.classes_[fitted.decision_function(grid).argmax(axis=1)]).all()


def at_scores(scores):
    """A fitted model whose scores at the rows of the identity are these."""
    scores = np.asarray(scores, dtype=float)
    X, y = load("iris_two") if scores.ndim == 1 else load("iris")
    fitted = LogisticRegression().fit(X, y)
    fitted.coef_ = scores[None, :] if scores.ndim == 1 else scores.T.copy()
    fitted.intercept_ = np.zeros(fitted.coef_.shape[0])
    fitted.n_features_in_ = fitted.coef_.shape[1]
    return fitted, np.eye(fitted.coef_.shape[1])


def test_probabilities_of_two_classes_at_any_score():
    scores = [-1e4, -750.0, -40.0, -1.0, 0.0, 1.0, 40.0, 750.0, 1e4]
    fitted, rows = at_scores(scores)
    chances, logs = fitted.predict_proba(rows), fitted.predict_log_proba(rows)
    assert np.isfinite(chances).all()
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-15)
    with mpmath.workdps(40):
        for k, z in enumerate(scores):
            for column, sign in ((0, -1), (1, 1)):
                exact = 1 / (1 + mpmath.exp(-sign * mpmath.mpf(z)))
                assert chances[k, column] == pytest.approx(float(exact), rel=1e-14, abs=1e-320)
                assert logs[k, column] == pytest.approx(float(mpmath.log(exact)), rel=1e-14)


def test_probabilities_of_three_classes_at_any_score():
    scores = np.array(
        [
            [-1e4, -1e4, -1e4],
            [-1e4, -2e4, -1e4 - 1],
            [1e4, 1e4, -1e4],
            [1e4, -1e4, 0.0],
            [-800.0, -801.0, -900.0],
            [0.0, 1.0, 2.0],
        ]
    )
    fitted, rows = at_scores(scores)
    chances, logs = fitted.predict_proba(rows), fitted.predict_log_proba(rows)
    assert np.isfinite(chances).all()
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-12)
    assert (chances.max(axis=1) == chances[range(6), scores.argmax(axis=1)]).all()
    with mpmath.workdps(40):
        for k, row in enumerate(scores):
            each = [mpmath.exp(mpmath.mpf(z)) for z in row]
            for j in range(3):
                assert chances[k, j] == pytest.approx(float(each[j] / sum(each)), rel=1e-11, abs=1e-320)


def test_where_probabilities_round_to_the_same_number_the_scores_decide():
    up = np.nextafter(40.0, 41.0)
    fitted, rows = at_scores(np.array([[40.0, up, -5.0], [up, 40.0, -5.0], [-1e4, -1e4 + 1e-9, -2e4]]))
    assert fitted.predict(rows).tolist() == [1, 0, 1]
    chances = fitted.predict_proba(rows)
    assert (chances[range(3), fitted.predict(rows)] == chances.max(axis=1)).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_sparse_rows_and_sparse_coefficients(loss):
    X, y = load("digits")
    fitted = model(loss).fit(X, y)
    expected = fitted.decision_function(X)
    thin = sparse.csr_matrix(X)
    np.testing.assert_allclose(fitted.decision_function(thin), expected, rtol=1e-10, atol=1e-10)
    fitted.sparsify()
    assert sparse.issparse(fitted.coef_)
    for rows in (X, thin):
        scores = fitted.decision_function(rows)
        assert isinstance(scores, np.ndarray)
        np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-10)
    fitted.densify()
    assert isinstance(fitted.coef_, np.ndarray)


@pytest.mark.parametrize("loss", LOSSES)
def test_one_row_and_no_row(loss):
    X, y = load("iris")
    fitted = model(loss).fit(X, y)
    assert fitted.predict(X[:1]).shape == (1,)
    with pytest.raises(ValueError, match="0 sample"):
        fitted.predict(X[:0])


def test_score_takes_weights():
    X, y = load("iris")
    fitted = model("hinge").fit(X, y)
    right = fitted.predict(X) == y
    weights = np.random.default_rng(0).random(y.size)
    assert fitted.score(X, y, sample_weight=weights) == pytest.approx(np.average(right, weights=weights))


@pytest.mark.parametrize("estimator", [LinearSVC, LogisticRegression, Perceptron])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_coefficients_and_sparse_rows_of_either_precision(estimator, dtype):
    X, y = load("iris")
    rows = sparse.csr_matrix(X.astype(dtype))
    with config_context(convergence="ignore"):
        fitted = estimator().fit(rows, y)
    scores = fitted.decision_function(rows)
    np.testing.assert_allclose(fitted.sparsify().decision_function(rows), scores, rtol=1e-5, atol=1e-5)
