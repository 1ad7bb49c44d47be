"""The same optimum as scikit-learn's solvers, where theirs reach it, and our own where they do not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn.linear_model
import sklearn.svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import gapless
from gapless import LinearSVC, LogisticRegression
from tests.linear.sets import LOSSES, load, model, objective, trusted


@pytest.mark.parametrize("C", [1e-2, 1.0, 10.0])
@pytest.mark.parametrize("name", ["breast_cancer_scaled", "digits_two", "iris_two"])
def test_logistic_regression(name, C):
    X, y = load(name)
    ours = LogisticRegression(C=C, tol=1e-12).fit(X, y)
    theirs = sklearn.linear_model.LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=1_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    assert objective(ours, X, y, C) <= objective_of(theirs, X, y, C) * (1 + 1e-12)


@pytest.mark.parametrize("C", [1e-2, 1.0])
@pytest.mark.parametrize("name", ["iris", "digits", "discrete_three"])
def test_multinomial_logistic_regression(name, C):
    X, y = load(name)
    ours = LogisticRegression(C=C, tol=1e-13).fit(X, y)
    theirs = sklearn.linear_model.LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=1_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        ours.intercept_ - ours.intercept_.mean(), theirs.intercept_ - theirs.intercept_.mean(), atol=1e-6
    )
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    trusted(ours, X, y)


def objective_of(theirs, X, y, C, **given):
    """Their coefficients in our formula."""
    twin = model(
        "logistic" if isinstance(theirs, sklearn.linear_model.LogisticRegression) else given.pop("loss"), **given
    )
    twin.coef_, twin.intercept_, twin.classes_ = theirs.coef_, np.atleast_1d(theirs.intercept_), theirs.classes_
    return objective(twin, X, y, C)


def test_logistic_regression_against_lbfgs_with_weights():
    X, y = load("breast_cancer_scaled")
    weights = np.random.default_rng(0).random(y.size)
    ours = LogisticRegression(tol=1e-12).fit(X, y, sample_weight=weights)
    theirs = sklearn.linear_model.LogisticRegression(tol=1e-12, max_iter=10_000).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5, atol=1e-6)


def test_logistic_regression_with_a_penalised_offset_is_liblinears():
    X, y = load("breast_cancer_scaled")
    for scaling in (1.0, 4.0):
        ours = LogisticRegression(penalize_intercept=True, intercept_scaling=scaling, tol=1e-12).fit(X, y)
        theirs = sklearn.linear_model.LogisticRegression(
            solver="liblinear", tol=1e-10, max_iter=10_000, intercept_scaling=scaling
        ).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("more", [{}, {"intercept_scaling": 4.0}, {"fit_intercept": False}], ids=str)
def test_the_solver_liblinear_is_liblinears_problem(more):
    """The same call gives the same probabilities; without its name the offset is free, and they differ."""
    X, y = load("breast_cancer")
    X = X[:, :3] / X[:, :3].std(axis=0)
    ours = LogisticRegression(solver="liblinear", tol=1e-12, **more).fit(X, y)
    theirs = sklearn.linear_model.LogisticRegression(solver="liblinear", tol=1e-10, max_iter=10_000, **more).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    assert gapless.verify(ours, X, y)
    assert ours.certificate_.statement["problem"]["offset"] == ("none" if "fit_intercept" in more else "penalised")
    if not more:
        free = LogisticRegression(tol=1e-12).fit(X, y)
        assert np.abs(free.predict_proba(X) - theirs.predict_proba(X)).max() > 1e-3
    with pytest.raises(ValueError, match="does not support multiclass"):
        LogisticRegression(solver="liblinear").fit(X, np.arange(len(y)) % 3)


@pytest.mark.parametrize("scaling", [0.5, 10.0])
def test_an_intercept_scaling_penalises_the_offset_of_a_machine(scaling):
    X, y = load("iris_two")
    ours = LinearSVC(intercept_scaling=scaling, tol=1e-12).fit(X, y)
    theirs = sklearn.svm.LinearSVC(intercept_scaling=scaling, tol=1e-12, max_iter=10**6).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-4, atol=1e-5)
    named = LinearSVC(penalize_intercept=True, intercept_scaling=scaling, tol=1e-12).fit(X, y)
    assert ours.coef_.tobytes() == named.coef_.tobytes()
    assert gapless.verify(ours, X, y)


@pytest.mark.parametrize("C", [1e-2, 1.0])
@pytest.mark.parametrize("name", ["breast_cancer_scaled", "iris_two", "discrete_two"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_linear_svc_with_a_penalised_offset_is_liblinears(loss, name, C):
    X, y = load(name)
    ours = LinearSVC(loss=loss, C=C, penalize_intercept=True, tol=1e-10).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = sklearn.svm.LinearSVC(loss=loss, C=C, dual=True, tol=1e-10, max_iter=10**6, random_state=0).fit(X, y)
    certificate = trusted(ours, X, y)
    at_theirs = objective_of(theirs, X, y, C, loss=loss, offset="penalised")
    slack = certificate.rounding + 1e-12 * certificate.primal
    assert at_theirs >= certificate.dual - slack  # nobody gets below our dual bound
    assert at_theirs <= certificate.primal * (1 + 1e-6)  # and they got there too, so the problem is the same
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("C", [1e-2, 1.0, 10.0])
@pytest.mark.parametrize("name", ["breast_cancer_scaled", "iris_two", "discrete_two", "digits_two"])
def test_linear_svc_with_a_free_offset_is_libsvms(name, C):
    X, y = load(name)
    ours = LinearSVC(loss="hinge", C=C, tol=1e-10).fit(X, y)
    theirs = sklearn.svm.SVC(kernel="linear", C=C, tol=1e-8).fit(X, y)
    certificate = trusted(ours, X, y)
    at_theirs = objective_of(theirs, X, y, C, loss="hinge")
    slack = certificate.rounding + 1e-12 * certificate.primal
    assert at_theirs >= certificate.dual - slack
    assert at_theirs <= certificate.primal * (1 + 1e-4) + slack  # LIBSVM keeps its kernel in float32
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-4)


def test_libsvms_alpha():
    """Where the dual point is unique, it is the same one."""
    X, y = load("breast_cancer_scaled")
    ours = LinearSVC(loss="hinge", tol=1e-10).fit(X, y)
    theirs = sklearn.svm.SVC(kernel="linear", tol=1e-8).fit(X, y)
    alpha = np.zeros(y.size)
    alpha[theirs.support_] = np.abs(theirs.dual_coef_[0])
    np.testing.assert_allclose(ours.alpha_, alpha, atol=1e-5)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "newton-cholesky", "sag", "saga", "auto", "newton"])
def test_scikit_learns_solver_names_change_nothing(solver):
    X, y = load("breast_cancer_scaled")
    assert LogisticRegression(solver=solver).fit(X, y).coef_.tobytes() == LogisticRegression().fit(X, y).coef_.tobytes()


@pytest.mark.parametrize("dual", [True, False])
def test_dual_changes_nothing(dual):
    X, y = load("breast_cancer_scaled")
    for estimator in (LinearSVC, LogisticRegression):
        assert estimator(dual=dual).fit(X, y).coef_.tobytes() == estimator().fit(X, y).coef_.tobytes()


# -- unscaled data, scikit-learn issue 15583 ---------------------------------------------------------------------


def uneven():
    """Columns of scales 1e-6 to 1e6, whose labels depend on all of them."""
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 13))
    y = (X @ random.normal(size=13) + random.normal(size=500) > 0).astype(int)
    return X * 10.0 ** np.arange(-6, 7) + 10.0 ** np.arange(-6, 7), y


UNSCALED = {"wine": lambda: load("wine"), "breast_cancer": lambda: load("breast_cancer"), "uneven": uneven}


@pytest.mark.parametrize("offset", ["free", "penalised", "none"])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("name", UNSCALED)
@pytest.mark.parametrize("loss", LOSSES)
def test_unscaled_data_with_default_arguments(loss, name, C, offset):
    X, y = UNSCALED[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = model(loss, offset, C=C).fit(X, y)
    assert fitted.status_ == "converged"
    certificate = trusted(fitted, X, y)
    assert certificate.relative_gap <= 1e-4
    assert all(part.relative_gap <= 1e-4 for part in certificate.subproblems)


def test_lbfgs_stops_early_there_and_we_do_not():
    """The point of the issue: their objective, in the same formula, is above ours on the raw columns."""
    X, y = load("breast_cancer")
    ours = LogisticRegression().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sklearn.linear_model.LogisticRegression().fit(X, y)
    assert objective(ours, X, y) < objective_of(theirs, X, y, 1.0)
    assert objective(ours, X, y) <= ours.certificate_.dual + ours.certificate_.gap + ours.certificate_.rounding


def test_scaling_by_powers_of_two_scales_the_model():
    """With x -> 2^k x and C -> C / 4^k the problem is the same: w -> w / 2^k."""
    X, y = load("breast_cancer_scaled")
    for loss in LOSSES:
        for k in (-12, 9):
            plain = model(loss, C=0.5, tol=1e-10).fit(X, y)
            scaled = model(loss, C=0.5 / 4.0**k, tol=1e-10).fit(X * 2.0**k, y)
            np.testing.assert_allclose(scaled.coef_ * 2.0**k, plain.coef_, rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(scaled.intercept_, plain.intercept_, rtol=1e-6, atol=1e-8)


def test_a_shift_of_the_columns_only_moves_a_free_offset():
    X, y = load("breast_cancer_scaled")
    shift = np.linspace(-5, 5, X.shape[1])
    for loss in LOSSES:
        plain, moved = model(loss, tol=1e-10).fit(X, y), model(loss, tol=1e-10).fit(X + shift, y)
        np.testing.assert_allclose(moved.coef_, plain.coef_, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(moved.intercept_, plain.intercept_ - plain.coef_ @ shift, rtol=1e-6, atol=1e-7)


def test_standardised_and_raw_columns_agree_on_a_diagonal_penalty():
    """Raw columns with a nearly free w give the predictions of the scaled ones: the limit is the same model."""
    X, y = load("iris_two")
    scaled = StandardScaler().fit_transform(X)
    random = np.random.default_rng(0)
    labels = np.where(random.random(y.size) < 0.15, 3 - y, y)  # not separable: the limit exists
    raw, std = LogisticRegression(C=1e8).fit(X, labels), LogisticRegression(C=1e8).fit(scaled, labels)
    np.testing.assert_allclose(raw.predict_proba(X), std.predict_proba(scaled), atol=1e-5)
