"""LinearRegression, Ridge and LeastSquaresClassifier by descent: what they reach, what they claim, and what the judge says."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris

from gapless import (
    ConvergenceWarning,
    LeastSquaresClassifier,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Ridge,
    Schedule,
    load,
    save,
    verify,
)

METHODS = ("gd", "sgd", "minibatch", "momentum", "adam")
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 5))
T = X @ RANDOM.normal(size=5) + 0.3 + 0.5 * RANDOM.normal(size=300)
LABELS = np.where(T > 0, "a", "b")
ROWS = np.column_stack([X, np.ones(300)])


def quietly(model, *given, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*given, **named)


@pytest.mark.parametrize("method", METHODS)
def test_linear_regression_by_descent(method):
    best = np.linalg.lstsq(ROWS, T, rcond=None)[0]
    least = np.sum((T - ROWS @ best) ** 2)
    model = quietly(LinearRegression(solver=method, max_iter=300), X, T)
    rss = np.sum((T - model.predict(X)) ** 2)
    assert rss <= least * (1.0 + (1e-9 if method in ("gd", "momentum") else 2e-3))
    certificate = model.certificate_
    assert (certificate.kind, certificate.solver, certificate.gap) == ("orthogonality", method, None)
    assert certificate.rss == pytest.approx(rss, rel=1e-12)
    residuals = T - model.predict(X)
    centred = X - X.mean(axis=0)
    cosines = np.abs(centred.T @ residuals) / (np.linalg.norm(centred, axis=0) * np.linalg.norm(residuals))
    away = abs(residuals.sum()) / (np.sqrt(300) * np.linalg.norm(residuals))
    assert certificate.orthogonality == pytest.approx(max(cosines.max(), away), rel=1e-6, abs=1e-12)
    assert (certificate.status == "converged") == (certificate.orthogonality <= certificate.tol + certificate.rounding)
    assert 1 <= model.n_iter_ <= 300
    assert model.rank_ is None
    assert verify(model, X, T)


@pytest.mark.parametrize("method", METHODS)
def test_ridge_by_descent_has_a_gap(method):
    """Several targets, each with its penalty; P and D bracket the objective of the closed form."""
    targets = np.column_stack([T, -2.0 * T + X[:, 0]])
    alpha = np.array([3.0, 40.0])
    exact = Ridge(alpha=alpha).fit(X, targets)
    model = quietly(Ridge(alpha=alpha, solver=method, max_iter=200), X, targets)
    assert model.solver_ == method
    assert model.certificate_.kind == "gap"
    for found, true in zip(model.certificate_.targets, exact.certificate_.targets):
        assert found.dual <= true.primal + found.rounding
        assert found.primal >= true.dual - found.rounding
        assert (found.status == "converged") == (found.relative_gap <= 1e-4)
    assert verify(model, X, targets)
    assert model.coef_ == pytest.approx(exact.coef_, abs=0.05)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("alpha", [0.0, 5.0])
def test_classifier_by_descent(method, alpha):
    rows, y = load_iris(return_X_y=True)
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    exact = LeastSquaresClassifier(alpha=alpha).fit(rows, y)
    model = quietly(LeastSquaresClassifier(alpha=alpha, solver=method, class_weight="balanced"), rows, y)
    assert model.certificate_.kind == ("gap" if alpha else "orthogonality")
    assert np.mean(model.predict(rows) == exact.predict(rows)) > 0.97
    assert verify(model, rows, y)


@pytest.mark.parametrize("given", ["weights", "sparse", "float32", "no offset"])
def test_forms_of_the_data(given):
    weights = RANDOM.uniform(0.0, 2.0, size=300) * (RANDOM.random(300) > 0.1) if given == "weights" else None
    rows = sparse.csr_matrix(X) if given == "sparse" else X.astype(np.float32) if given == "float32" else X
    options = {"fit_intercept": given != "no offset"}
    exact = Ridge(alpha=2.0, **options).fit(rows, T, sample_weight=weights)
    model = Ridge(alpha=2.0, solver="gd", **options).fit(rows, T, sample_weight=weights)  # no warning
    assert model.status_ == "converged"
    assert model.coef_ == pytest.approx(exact.coef_, abs=2e-2)
    assert verify(model, rows, T, sample_weight=weights)


def test_a_rate_too_long_says_which_rates_descend():
    top = np.linalg.eigvalsh(ROWS.T @ ROWS / 300)[-1]
    with pytest.warns(
        ConvergenceWarning, match=r"steps were too long: rate 3; below 2/L = 1\.\d+ every step of a full"
    ):
        model = LinearRegression(solver="gd", schedule=3.0).fit(X, T)
    assert 3.0 > 2 / top
    assert np.allclose(model.predict(X), T.mean())  # at worst the best constant
    assert model.status_ != "converged"
    assert verify(model, X, T)
    assert LinearRegression(solver="gd", schedule=1.9 / (1.01 * top)).fit(X, T).status_ == "converged"  # the advice


def test_a_limit_is_said_and_its_advice_helps():
    rows, y = load_diabetes(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="max_iter=5 .*relative duality gap"):
        model = Ridge(solver="gd", max_iter=5).fit(rows, y)
    assert verify(model, rows, y)
    assert Ridge(solver="gd", max_iter=5000).fit(rows, y).status_ == "converged"
    with pytest.warns(ConvergenceWarning, match="ended as max_iter .* cosine of .* Raise max_iter or tol"):
        LinearRegression(solver="sgd", max_iter=2).fit(rows, y)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (LinearRegression(solver="sgd"), T),
        (Ridge(solver="minibatch"), T),
        (LeastSquaresClassifier(solver="sgd"), LABELS),
        (LinearSVC(solver="sgd", loss="hinge"), LABELS),
        (LogisticRegression(solver="minibatch"), LABELS),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize(
    "schedule", [0.01, "inverse_root", Schedule.inverse(2.0, shift=20), Schedule.cosine(0.05, 900)]
)
def test_estimators_take_a_rate_or_a_schedule(model, y, schedule, tmp_path):
    """The rates are used, another seed is another way, the same seed the same bits; and a file gives them back."""
    if isinstance(model, LinearRegression | LeastSquaresClassifier | Ridge) and isinstance(schedule, Schedule):
        schedule = Schedule(**{**schedule.__dict__, "rate": 0.05})
    schedule = Schedule.inverse_root(0.05) if schedule == "inverse_root" else schedule
    model = clone(model).set_params(schedule=schedule, max_iter=3, random_state=1)
    quietly(model, X, y)
    own = quietly(clone(model).set_params(schedule=None), X, y)
    assert not np.array_equal(model.coef_, own.coef_)
    assert np.array_equal(quietly(clone(model), X, y).coef_, model.coef_)
    assert verify(model, X, y)
    save(model, tmp_path / "model.gapless")
    assert load(tmp_path / "model.gapless").schedule == schedule


def test_what_has_no_rates_refuses_them():
    for model, y in (
        (Ridge(schedule=0.1), T),
        (LinearSVC(schedule=0.1), LABELS),
        (LogisticRegression(schedule=0.1), LABELS),
    ):
        with pytest.raises(ValueError, match="schedule=0.1 gives the rates of a descent, and solver=.* has none"):
            model.fit(X, y)
    with pytest.raises(ValueError, match="looks at the whole objective at every step; a fit takes rates"):
        LinearSVC(solver="sgd", schedule="backtracking").fit(X, LABELS)
    with pytest.raises(ValueError, match="rate must be a float in the range"):
        Ridge(solver="sgd", schedule=-1.0).fit(X, T)
    with pytest.raises(ValueError, match=r"1/\(lam t\), and lam is 0 here"):
        LinearRegression(solver="sgd", schedule="pegasos").fit(X, T)
    with pytest.raises(ValueError, match="The 'solver' parameter of LinearRegression must be a str among"):
        LinearRegression(solver="lbfgs").fit(X, T)
    with pytest.raises(ValueError, match="The 'max_iter' parameter of LeastSquaresClassifier"):
        LeastSquaresClassifier(solver="gd", max_iter=0).fit(X, LABELS)


def test_a_clock_that_is_over_leaves_the_best_constant():
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = LinearRegression(solver="sgd", time_limit=1e-9).fit(X, T)
    assert np.allclose(model.predict(X), T.mean())
    assert verify(model, X, T)
