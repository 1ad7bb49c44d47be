"""L1 penalties of LogisticRegression and LinearSVC: scikit-learn's optimum, what is refused, the judge."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.linear_model
import sklearn.svm
from scipy import sparse

import gapless
from gapless import LinearSVC, LogisticRegression, verify


def data(classes=2, n=120, d=20):
    r = np.random.default_rng(0)
    X = r.normal(size=(n, d))
    return X, np.digitize(X[:, 0] - X[:, 1] + r.normal(size=n), [0.0] if classes == 2 else [-0.7, 0.7])


@pytest.mark.parametrize("ratio", [0.5, 1.0])
@pytest.mark.parametrize("form", ["dense", "CSR"])
def test_logistic_regression_is_that_of_scikit_learn(ratio, form):
    X, y = data()
    rows = sparse.csr_matrix(X) if form == "CSR" else X
    weights = np.random.default_rng(1).integers(0, 3, size=y.size).astype(float)
    model = LogisticRegression(l1_ratio=ratio, C=0.3, tol=1e-12).fit(rows, y, weights)
    theirs = sklearn.linear_model.LogisticRegression(l1_ratio=ratio, C=0.3, solver="saga", tol=1e-12, max_iter=20_000)
    theirs.fit(X, y, weights)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, theirs.intercept_, rtol=0, atol=1e-6)
    assert verify(model, rows, y, weights)
    assert verify(model, rows, y, weights, rigorous=True)
    zeros = model.certificate_.proved_zeros
    assert not theirs.coef_[zeros].any()
    assert zeros.sum() == (np.abs(theirs.coef_) < 1e-9).sum() > 0
    assert model.predict_proba(rows).shape == (120, 2)


def test_a_penalised_offset_is_that_of_liblinear():
    X, y = data()
    model = LinearSVC(penalty="l1", C=0.1, penalize_intercept=True, tol=1e-12).fit(X, y)
    theirs = sklearn.svm.LinearSVC(penalty="l1", dual=False, C=0.1, tol=1e-10, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=0, atol=1e-5)
    np.testing.assert_allclose(model.intercept_, theirs.intercept_, rtol=0, atol=1e-5)
    assert verify(model, X, y, rigorous=True)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(l1_ratio=1.0, C=0.2), LogisticRegression(l1_ratio=0.9, fit_intercept=False, class_weight="balanced"),
        LinearSVC(penalty="l1", C=0.1), LogisticRegression(l1_ratio=1.0, solver="liblinear"),
    ],
)  # fmt: skip
def test_every_tier_of_the_judge_agrees_and_files_are_read(model, tmp_path):
    X, y = data(n=30, d=6)
    model.fit(X, y)
    assert model.status_ == "converged"
    for rigorous in (False, True, "exact"):
        assert verify(model, X, y, rigorous=rigorous)
    gapless.save(model, tmp_path / "m.gapless")
    again = gapless.load(tmp_path / "m.gapless")
    assert verify(again, X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_classes_one_against_the_rest():
    X, y = data(3)
    model = LinearSVC(penalty="l1", C=0.1).fit(X, y)
    assert model.coef_.shape == (3, 20)
    assert verify(model, X, y)
    assert (model.coef_ == 0.0).any()
    with pytest.raises(NotImplementedError, match="sklearn.linear_model.LogisticRegression"):
        LogisticRegression(l1_ratio=1.0).fit(X, y)


def test_what_has_no_way_is_refused_in_words():
    X, y = data()
    with pytest.raises(ValueError, match="penalty='l1' and loss='hinge'"):
        LinearSVC(penalty="l1", loss="hinge").fit(X, y)
    with pytest.raises(ValueError, match="finite C"):
        LinearSVC(penalty="l1", C=np.inf).fit(X, y)
    with pytest.raises(ValueError, match="solver='auto'"):
        LogisticRegression(l1_ratio=1.0, solver="newton").fit(X, y)
    with pytest.raises(NotImplementedError, match="L1"):
        gapless.path(LogisticRegression(l1_ratio=1.0), X, y, [0.1, 1.0])
    with pytest.raises(NotImplementedError, match="L1"):
        LogisticRegression(l1_ratio=1.0).fit([(X, y)])
    with pytest.raises(TypeError, match="cannot be reduced"):
        gapless.reduce(LinearSVC(penalty="l1").fit(X, y), X, y)


def test_a_small_C_gives_the_zero_model_proved():
    X, y = data()
    model = LogisticRegression(l1_ratio=1.0, C=1e-4).fit(X, y)
    assert model.certificate_.proved_zeros.all()
    assert model.intercept_[0] == pytest.approx(np.log(y.mean() / (1.0 - y.mean())), rel=1e-9)
    assert verify(model, X, y)
