"""What a fitted model tells about itself, and that it survives every way models travel."""

from __future__ import annotations

import pickle

import cloudpickle
import joblib
import numpy as np
import pytest
from sklearn.base import clone

import gapless
from gapless import LinearSVC, LogisticRegression
from tests.linear.sets import LOSSES, OFFSETS, bits, load, model, objective, trusted

STATUSES = {"converged", "max_iter", "time_limit", "stalled", "interrupted", "infeasible", "not_finite"}


# -- the certificate -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["breast_cancer", "breast_cancer_scaled", "digits_two"])
def test_primal_is_the_formula(name, loss, offset):
    """P(w, b) computed here, from the docstring's formula, is what the certificate says."""
    X, y = load(name)
    weights = np.random.default_rng(0).integers(0, 3, y.size) / 2
    fitted = model(loss, offset, C=0.7).fit(X, y, sample_weight=weights)
    certificate = fitted.certificate_
    expected = objective(fitted, X, y, 0.7, weights)
    assert certificate.primal == pytest.approx(expected, rel=1e-10)
    assert certificate.gap == pytest.approx(certificate.primal - certificate.dual, abs=1e-9 * expected)
    assert certificate.relative_gap == pytest.approx(
        certificate.gap / max(certificate.primal, certificate.dual), abs=1e-15
    )
    assert certificate.relative_gap <= certificate.tol == fitted.tol
    assert 0 <= certificate.rounding < 1e-6 * expected
    # No other model can be better than the dual bound: try some that are close.
    random = np.random.default_rng(1)
    other = clone(fitted)
    other.classes_ = fitted.classes_
    for scale in (1e-6, 1e-3, 1e-1):
        other.coef_ = fitted.coef_ * (1 + scale * random.normal(size=fitted.coef_.shape))
        other.intercept_ = fitted.intercept_ + (scale * random.normal() if offset != "none" else 0.0)
        assert objective(other, X, y, 0.7, weights) >= certificate.dual - certificate.rounding


@pytest.mark.parametrize("loss", LOSSES)
def test_what_the_certificate_says(loss):
    X, y = load("wine")
    fitted = model(loss).fit(X, y)
    certificate = trusted(fitted, X, y)
    assert certificate.kind == "gap"
    assert certificate.status == fitted.status_ == "converged"
    assert fitted.status_ in STATUSES
    assert certificate.backend == "cpu numpy"
    assert certificate.seconds > 0
    # The SVMs are one problem a class against the rest, softmax is one problem of all classes.
    assert len(certificate.subproblems) == (1 if loss == "logistic" else 3)
    assert certificate.primal == pytest.approx(sum(part.primal for part in certificate.subproblems), rel=1e-14)
    assert certificate.dual == pytest.approx(sum(part.dual for part in certificate.subproblems), rel=1e-14)
    assert [part.positive for part in certificate.subproblems] == ([None] if loss == "logistic" else [0, 1, 2])
    text = str(certificate)
    for word in (type(fitted).__name__, "relative gap", "converged", "above its optimum"):
        assert word in text
    assert "<table>" in certificate._repr_html_()
    assert certificate.document()["certificate"]["fingerprint"]["n_rows"] == y.size
    if loss == "logistic":
        assert fitted.n_iter_.tolist() == [part.n_iter for part in certificate.subproblems]
    else:
        assert fitted.n_iter_ == max(part.n_iter for part in certificate.subproblems)


@pytest.mark.parametrize("loss", LOSSES)
def test_other_data_is_not_verified(loss):
    X, y = load("wine")
    fitted = model(loss).fit(X, y)
    other = X.copy()
    other[17, 3] = np.nextafter(other[17, 3], np.inf)
    with pytest.raises(gapless.CertificateError, match="rows of X"):
        gapless.verify(fitted, other, y)
    labels = y.copy()
    labels[5] = (labels[5] + 1) % 3
    with pytest.raises(gapless.CertificateError):
        gapless.verify(fitted, X, labels)
    with pytest.raises(gapless.CertificateError):
        gapless.verify(fitted, X, y, sample_weight=np.linspace(1, 2, y.size))


def test_a_changed_model_is_not_verified():
    X, y = load("wine")
    fitted = model("hinge").fit(X, y)
    fitted.coef_ = fitted.coef_ * 1.01
    verdict = None
    try:
        verdict = gapless.verify(fitted, X, y)
    except gapless.CertificateError:
        return
    assert not verdict, str(verdict)


# -- history ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "given"),
    [
        ("hinge", {}),
        ("hinge", {"solver": "coordinate_descent", "max_iter": 3_000, "tol": 1e-9}),
        ("hinge", {"solver": "semismooth"}),
        ("squared_hinge", {}),
        ("logistic", {}),
        ("logistic", {"solver": "coordinate_descent", "max_iter": 1_000, "tol": 1e-9}),
    ],
)
@pytest.mark.parametrize("name", ["breast_cancer_scaled", "wine"])
def test_history(name, loss, given):
    X, y = load(name)
    with gapless.config_context(convergence="ignore"):
        fitted = model(loss, **given).fit(X, y)
    history = fitted.history_
    assert 1 <= len(history) <= 201
    passes, seconds, primal, dual, gap = (np.array(column) for column in zip(*history))
    assert (np.diff(passes) >= 0).all()
    assert (np.diff(seconds) >= 0).all()
    assert (np.diff(primal) <= 0).all()
    assert (np.diff(dual) >= 0).all()
    assert (np.diff(gap) <= 0).all()
    assert (gap == primal - dual).all()
    # The last point is where the fit ended; what is returned may only be better (the best offset comes last).
    worst = fitted.certificate_.worst
    assert primal[-1] >= worst.primal * (1 - 1e-9)
    assert dual[-1] <= worst.dual * (1 + 1e-9)
    if fitted.status_ == "converged":
        assert primal[-1] == pytest.approx(worst.primal, rel=1e-9)
        assert dual[-1] == pytest.approx(worst.dual, rel=1e-9)


# -- alpha, slack, slackness -----------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["breast_cancer", "breast_cancer_scaled", "discrete_two"])
def test_alpha_gives_the_coefficients_back(name, loss, offset):
    """w = sum alpha y x, 0 <= alpha <= c, and sum alpha y = 0 where the offset is free."""
    X, y = load(name)
    weights = np.random.default_rng(0).integers(0, 3, y.size) / 2
    C = 0.5
    fitted = model(loss, offset, C=C, tol=1e-10).fit(X, y, sample_weight=weights)
    alpha, signs = fitted.alpha_, np.where(y == fitted.classes_[1], 1.0, -1.0)
    assert alpha.shape == y.shape
    assert (alpha >= 0).all()
    if loss != "squared_hinge":
        assert (alpha <= C * weights).all()
    u = alpha * signs
    scale = np.abs(alpha) @ np.abs(X)
    np.testing.assert_allclose(u @ X, fitted.coef_[0], atol=1e-4 * np.abs(scale).max())
    if offset == "free":
        assert abs(u.sum()) <= 1e-12 * alpha.sum()
    if offset == "penalised":
        assert u.sum() == pytest.approx(fitted.intercept_[0], abs=1e-4 * alpha.sum())
    # The dual value, from the formula of each loss.
    c = C * weights
    on = c > 0
    a, k = alpha[on], c[on]
    if loss == "hinge":
        terms = a
    elif loss == "squared_hinge":
        terms = a - a * a / (4 * k)
    else:
        t = np.clip(a / k, 1e-300, 1 - 1e-16)
        terms = -k * (t * np.log(t) + (1 - t) * np.log1p(-t))
    combined = u @ X
    value = terms.sum() - 0.5 * (combined @ combined)
    if offset == "penalised":
        value -= 0.5 * u.sum() ** 2
    assert fitted.certificate_.dual == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_slack(loss):
    X, y = load("breast_cancer_scaled")
    fitted = model(loss).fit(X, y)
    margins = np.where(y == 1, 1, -1) * fitted.decision_function(X)
    np.testing.assert_allclose(fitted.slack_, np.maximum(0, 1 - margins), atol=1e-9)
    if loss == "squared_hinge":  # alpha = 2 c xi at the optimum
        np.testing.assert_allclose(fitted.alpha_, 2 * fitted.slack_, atol=1e-5)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("name", ["breast_cancer", "breast_cancer_scaled", "digits_two"])
def test_slackness_of_the_hinge(name, offset):
    X, y = load(name)
    fitted = model("hinge", offset, tol=1e-12).fit(X, y)
    reading = fitted.slackness_
    assert reading.consistent.all(), str(reading)
    counts = reading.counts
    assert counts.sum() == y.size
    alpha = fitted.alpha_
    margins = np.where(y == 1, 1, -1) * fitted.decision_function(X) if name != "digits_two" else None
    # Counted here: bounded at 0, free, bounded at c.
    assert counts.sum(axis=1).tolist() == [
        (alpha <= 1e-9).sum(),
        ((alpha > 1e-9) & (alpha < 1 - 1e-9)).sum(),
        (alpha >= 1 - 1e-9).sum(),
    ]
    if margins is not None:
        free = (alpha > 1e-6) & (alpha < 1 - 1e-6)
        np.testing.assert_allclose(margins[free], 1.0, atol=1e-6)
        assert (margins[alpha <= 1e-9] >= 1 - 1e-6).all()
        assert (margins[alpha >= 1 - 1e-9] <= 1 + 1e-6).all()
    assert str(y.size) in str(reading)


@pytest.mark.parametrize("loss", LOSSES)
def test_many_classes_have_a_row_each(loss):
    X, y = load("wine")
    fitted = model(loss).fit(X, y)
    assert fitted.alpha_.shape == (3, y.size)
    assert (fitted.alpha_ >= 0).all()
    if loss == "logistic":
        with pytest.raises(AttributeError, match="softmax"):
            getattr(fitted, "slack_")  # noqa: B009
    else:
        assert fitted.slack_.shape == (3, y.size)
        assert fitted.slackness_.from_dual.shape == (3, y.size)
    for k in range(3):
        signs = np.where(y == k, 1.0, -1.0)
        np.testing.assert_allclose(
            (fitted.alpha_[k] * signs) @ X, fitted.coef_[k], atol=1e-6 * (np.abs(fitted.alpha_[k]) @ np.abs(X)).max()
        )


# -- the objective in words --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (LinearSVC(loss="hinge", C=0.25), ["0.25", "max"]),
        (LinearSVC(C=3.0), ["3", "max"]),
        (LogisticRegression(C=2.5), ["2.5"]),
        (LinearSVC(class_weight={0: 7.0}), ["7"]),
        (LinearSVC(penalize_intercept=True, intercept_scaling=5.0), ["5"]),
    ],
)
def test_objective_has_the_users_numbers(estimator, words):
    X, y = load("breast_cancer_scaled")
    fitted = estimator.fit(X, y)
    text = str(fitted.objective_)
    for word in words:
        assert word in text, text
    assert str(fitted.objective_) == str(fitted.certificate_.objective)


def test_objective_knows_of_weights():
    X, y = load("breast_cancer_scaled")
    plain = str(model("hinge").fit(X, y).objective_)
    weighted = str(model("hinge").fit(X, y, sample_weight=np.linspace(1, 2, y.size)).objective_)
    assert plain != weighted


# -- the ways models travel ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["breast_cancer", "wine"])
def test_round_trips(loss, name, tmp_path):
    X, y = load(name)
    labels = np.array(["low", "middle", "high"])[y]
    fitted = model(loss).fit(X, labels)
    joblib.dump(fitted, tmp_path / "model.joblib")
    gapless.save(fitted, tmp_path / "model.gapless")
    travelled = {
        "pickle": pickle.loads(pickle.dumps(fitted)),
        "old pickle": pickle.loads(pickle.dumps(fitted, protocol=2)),
        "cloudpickle": cloudpickle.loads(cloudpickle.dumps(fitted)),
        "joblib": joblib.load(tmp_path / "model.joblib"),
        "our file": gapless.load(tmp_path / "model.gapless"),
    }
    for how, other in travelled.items():
        assert type(other) is type(fitted), how
        assert other.get_params() == fitted.get_params(), how
        assert bits(other) == bits(fitted), how
        assert (other.decision_function(X) == fitted.decision_function(X)).all(), how
        assert (other.predict(X) == fitted.predict(X)).all(), how
        assert other.classes_.tolist() == fitted.classes_.tolist(), how
        assert other.status_ == fitted.status_, how
        assert np.array_equal(other.n_iter_, fitted.n_iter_), how
        assert other.certificate_ == fitted.certificate_, how
        assert str(other.objective_) == str(fitted.objective_), how
        trusted(other, X, labels)
        if how != "our file":
            assert other.history_ == fitted.history_, how
            if loss != "logistic":
                assert np.array_equal(other.slack_, fitted.slack_), how
    with pytest.raises(AttributeError, match="margins|softmax"):
        getattr(travelled["our file"], "slack_")  # noqa: B009


@pytest.mark.parametrize("estimator", [LinearSVC, LogisticRegression])
def test_parameters(estimator):
    default = estimator().get_params()
    changed = {"C": 2.0, "tol": 1e-3, "class_weight": {1: 2.0}, "time_limit": 3.0, "penalize_intercept": True}
    made = estimator(**changed)
    copied = clone(made)
    assert copied is not made
    assert copied.get_params() == made.get_params() == {**default, **changed}
    assert estimator().set_params(**changed).get_params() == made.get_params()
    assert "C=2.0" in repr(made)
    with pytest.raises(ValueError, match="Invalid parameter"):
        made.set_params(gamma=1)
    fitted = clone(made).fit(*load("iris_two"))
    assert not hasattr(clone(fitted), "coef_")


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (LinearSVC, "sklearn.svm:LinearSVC"),
        (LogisticRegression, "sklearn.linear_model:LogisticRegression"),
    ],
)
def test_parameters_of_scikit_learn_are_all_there_with_their_defaults(ours, theirs):
    import importlib

    module, name = theirs.split(":")
    peer = getattr(importlib.import_module(module), name)()
    known = peer.get_params()
    mine = ours().get_params()
    for name, value in known.items():
        assert name in mine, name
        assert mine[name] == value, name


def test_the_notebook_representation():
    X, y = load("iris")
    for loss in LOSSES:
        html = model(loss).fit(X, y)._repr_html_()
        assert "C" in html


def test_verbose_prints_the_falling_gap(capsys):
    X, y = load("breast_cancer_scaled")
    model("hinge", verbose=1).fit(X, y)
    out = capsys.readouterr().out
    assert "[LinearSVC]" in out
    assert "relative gap" in out
    model("hinge").fit(X, y)
    assert capsys.readouterr().out == ""
