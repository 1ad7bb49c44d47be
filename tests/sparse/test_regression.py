"""Lasso and ElasticNet: scikit-learn's optimum, weights as repetitions, what ends a fit, bad input, the judge."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn.linear_model
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import gapless
from gapless import ElasticNet, Lasso, verify


def data(n=60, d=30, seed=0, shift=5.0):
    r = np.random.default_rng(seed)
    X = r.normal(size=(n, d)) + shift * r.normal(size=d)
    return X, X[:, 0] * 3.0 - X[:, 1] + r.normal(size=n) + 5.0


OPTIONS = [
    ("Lasso", {"alpha": 0.1}),
    ("Lasso", {"alpha": 0.03, "fit_intercept": False}),
    ("Lasso", {"alpha": 0.05, "positive": True}),
    ("ElasticNet", {"alpha": 0.1}),
    ("ElasticNet", {"alpha": 0.1, "l1_ratio": 0.999}),
    ("ElasticNet", {"alpha": 0.3, "l1_ratio": 0.1, "positive": True}),
]


@pytest.mark.parametrize(("name", "options"), OPTIONS)
@pytest.mark.parametrize("form", ["C", "F", "CSR", "float32"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_optimum_is_that_of_scikit_learn(name, options, form, weighted):
    X, y = data(shift=0.5)
    weights = np.random.default_rng(1).integers(0, 3, size=y.size).astype(float) if weighted else None
    rows = {"C": X, "F": np.asfortranarray(X), "CSR": sparse.csr_matrix(X), "float32": X.astype(np.float32)}[form]
    model = getattr(gapless, name)(**options, tol=1e-12 if form != "float32" else 1e-5).fit(rows, y, weights)
    truth = rows.astype(np.float64) if form == "float32" else X
    theirs = getattr(sklearn.linear_model, name)(**options, tol=1e-13, max_iter=100_000).fit(truth, y, weights)
    room = 2e-4 if form == "float32" else 2e-8
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=0, atol=room * np.abs(theirs.coef_).max())
    assert model.intercept_ == pytest.approx(theirs.intercept_, rel=20 * room, abs=room)
    assert model.status_ == "converged"
    assert model.coef_.dtype == (np.float32 if form == "float32" else np.float64)
    assert verify(model, rows, y, weights)
    assert verify(model, rows, y, weights, rigorous=True)
    # proved zeros are zeros of scikit-learn's, and all of them are proved at this precision
    assert not theirs.coef_[model.proved_zeros_].any()
    if form != "float32":
        assert model.proved_zeros_.sum() == (np.abs(theirs.coef_) < 1e-12).sum()
    assert set(model.support_) == set(np.flatnonzero(model.coef_))


def test_exact_arithmetic_agrees():
    X, y = data(20, 8)
    for model in (Lasso(alpha=0.1), ElasticNet(alpha=0.1), Lasso(alpha=0.01, positive=True, fit_intercept=False)):
        assert verify(model.fit(X, y), X, y, rigorous="exact")


def test_several_targets_are_fits_one_by_one():
    X, y = data()
    Y = np.column_stack((y, X[:, 3] ** 2))
    model = Lasso(alpha=0.1, tol=1e-9).fit(X, Y)
    assert model.coef_.shape == (2, 30)
    assert model.intercept_.shape == (2,)
    assert len(model.n_iter_) == 2
    for k in range(2):
        one = Lasso(alpha=0.1, tol=1e-9).fit(X, Y[:, k])
        np.testing.assert_array_equal(model.coef_[k], one.coef_)
    assert verify(model, X, Y)
    assert model.predict(X).shape == (60, 2)


def test_a_weight_is_a_repetition_and_bits_do_not_depend_on_threads():
    X, y = data()
    weights = np.random.default_rng(2).integers(0, 4, size=y.size)
    one = Lasso(alpha=0.1, tol=1e-12).fit(X, y, weights)
    many = Lasso(alpha=0.1, tol=1e-12).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(one.coef_, many.coef_, rtol=1e-9, atol=1e-12)
    wide = np.random.default_rng(3).normal(size=(300, 1500))
    z = wide[:, 0] + wide[:, 1]
    np.testing.assert_array_equal(Lasso(0.01, n_jobs=1).fit(wide, z).coef_, Lasso(0.01, n_jobs=2).fit(wide, z).coef_)


def test_the_largest_penalty_gives_the_zero_model_proved():
    X, y = data()
    largest = np.abs(X.T @ (y - y.mean())).max() / y.size
    for share, zeros in ((1.0 + 1e-9, 30), (1.5, 30), (1.0 - 1e-3, 29)):
        model = Lasso(alpha=share * largest, tol=1e-12).fit(X, y)
        assert (model.coef_ == 0.0).sum() == zeros
        assert model.status_ == "converged"
    model = Lasso(alpha=1.5 * largest).fit(X, y)
    assert model.proved_zeros_.all()
    assert model.intercept_ == pytest.approx(y.mean(), rel=1e-14)
    assert verify(model, X, y)


def test_no_penalty_converges_to_least_squares_where_a_bound_is_known():
    X, y = data(shift=0.0)
    with pytest.warns(ConvergenceWarning):
        model = Lasso(alpha=0.0).fit(X, y)
    best = sklearn.linear_model.LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, best.coef_, rtol=1e-6)
    assert model.status_ != "converged"
    assert verify(model, X, y)


@pytest.mark.parametrize(
    "wrong", [{"alpha": -1.0}, {"l1_ratio": 1.5}, {"l1_ratio": -0.1}, {"tol": -1}, {"selection": "all"}]
)
def test_bad_parameters_are_refused_in_the_words_of_scikit_learn(wrong):
    X, y = data()
    name = next(iter(wrong))
    with pytest.raises(ValueError, match=f"The '{name}' parameter of ElasticNet must be"):
        ElasticNet(**wrong).fit(X, y)


@pytest.mark.parametrize(
    "case", ["constant columns", "one row", "constant y", "equal columns", "zeros", "far", "huge", "tiny"]
)
@pytest.mark.parametrize("model", [Lasso(alpha=0.1), ElasticNet(alpha=0.1, l1_ratio=0.5)])
def test_odd_data_converge_and_are_confirmed(case, model):
    X, y = data()
    if case == "constant columns":
        X[:, :5] = 3.0
    if case == "one row":
        X, y = X[:1], y[:1]
    if case == "constant y":
        y = np.full_like(y, 7.3)
    if case == "equal columns":
        X[:, 1] = X[:, 0]
    if case == "zeros":
        X = np.zeros_like(X)
    if case == "far":
        y = y + 1e9
    if case in ("huge", "tiny"):
        factor = 1e60 if case == "huge" else 1e-60
        X, y, model = X * factor, y * factor, type(model)(alpha=0.1 * factor**2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
    assert model.status_ == "converged"
    assert verify(model, X, y)
    if case == "constant columns":
        assert not model.coef_[:5].any()


def test_a_fit_that_is_stopped_says_how_far_it_is():
    X, y = data(200, 400)
    with pytest.warns(gapless.ConvergenceWarning, match="max_iter"):
        model = Lasso(alpha=0.01, max_iter=1, tol=1e-10).fit(X, y)
    assert model.status_ == "max_iter"
    assert verify(model, X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stopped = Lasso(alpha=0.01, time_limit=1e-9, tol=1e-10).fit(X, y)
    assert stopped.status_ == "time_limit"
    assert np.isfinite(stopped.certificate_.gap)
    resumed = Lasso(alpha=0.01, tol=1e-7, init=model).fit(X, y)
    assert resumed.status_ == "converged"


def test_warm_start_needs_fewer_sweeps():
    X, y = data(200, 400)
    model = Lasso(alpha=0.01, warm_start=True, tol=1e-8).fit(X, y)
    first = model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ <= first / 2


def test_a_model_file_holds_the_proof(tmp_path):
    X, y = data()
    model = ElasticNet(alpha=0.1).fit(X, y)
    gapless.save(model, tmp_path / "m.gapless")
    again = gapless.load(tmp_path / "m.gapless")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.proved_zeros_, model.proved_zeros_)
    assert verify(tmp_path / "m.gapless", X, y)
    assert "0 in every optimal model" in str(again.certificate_)
    assert "0.05 |w|_1" in str(again.objective_)


def test_a_false_zero_is_refused():
    X, y = data()
    model = Lasso(alpha=0.1).fit(X, y)
    j = int(model.support_[0])
    certificate = model.certificate_
    arrays = {name: array.copy() for name, array in certificate.arrays.items()}
    arrays["zeros"][0, j] = 1
    assert not gapless.judge.check(certificate.document(), arrays, X, y)
    arrays["coef"][0, j] = 0.0  # and a model that has a 0 there is another model
    assert not gapless.judge.check(certificate.document(), arrays, X, y)
