"""warm_start and init=: a fit resumes where another ended, and ends where a cold one does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification

import gapless
from tests.linear.sets import LOSSES, OFFSETS, bits, form, load, model, trusted

RESUMED = [
    ("hinge", "coordinate_descent"),
    ("hinge", "semismooth"),
    ("squared_hinge", "newton"),
    ("squared_hinge", "coordinate_descent"),
    ("logistic", "newton"),
    ("logistic", "coordinate_descent"),
]


def passes(fitted):
    return int(np.max(fitted.n_iter_))


@pytest.mark.parametrize(("loss", "solver"), RESUMED)
@pytest.mark.parametrize("offset", OFFSETS)
def test_a_finished_fit_is_not_done_again(loss, solver, offset):
    X, y = make_classification(3_000, 8, n_informative=5, flip_y=0.1, random_state=0)
    X = form(X, "csr" if solver == "newton" else "dense")
    cold = model(loss, offset, solver=solver, tol=1e-5, max_iter=5_000).fit(X, y)
    again = clone(cold).set_params(init=cold).fit(X, y)
    assert again.status_ == "converged"
    assert passes(again) <= max(2, passes(cold) // 4)
    trusted(again, X, y)
    assert abs(again.certificate_.primal - cold.certificate_.primal) <= (
        again.certificate_.gap + cold.certificate_.gap + 1e-12 * cold.certificate_.primal
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_warm_start_is_init_from_oneself(loss):
    X, y = load("breast_cancer_scaled")
    warm = model(loss, warm_start=True)
    first = bits(warm.fit(X, y))
    assert first == bits(model(loss).fit(X, y))  # nothing to start from
    by_hand = model(loss, init=model(loss).fit(X, y)).fit(X, y)
    assert bits(warm.fit(X, y)) == bits(by_hand)


@pytest.mark.parametrize("loss", LOSSES)
def test_without_warm_start_nothing_is_remembered(loss):
    X, y = load("breast_cancer_scaled")
    estimator = model(loss).fit(X, y)
    estimator.set_params(C=5.0).fit(X, y)
    assert bits(estimator) == bits(model(loss, C=5.0).fit(X, y))


@pytest.mark.parametrize("name", ["breast_cancer_scaled", "wine", "large"])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_does_not_depend_on_the_start(loss, name):
    X, y = load(name)
    tol = 1e-4 if name == "large" else 1e-11
    warm = model(loss, warm_start=True, tol=tol)
    for C in (1e-2, 1.0, 10.0, 0.1):
        warm.set_params(C=C).fit(X, y)
        cold = model(loss, C=C, tol=tol).fit(X, y)
        assert warm.status_ == "converged"
        trusted(warm, X, y)
        ours, theirs = warm.certificate_, cold.certificate_
        slack = ours.rounding + theirs.rounding
        assert ours.primal >= theirs.dual - slack
        assert theirs.primal >= ours.dual - slack
        if name != "large":
            np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_other_rows(loss):
    """More rows, fewer rows, other rows: only the coefficients can be kept, and the answer is right."""
    X, y = load("breast_cancer_scaled")
    half = model(loss, tol=1e-12).fit(X[::2], y[::2])
    for rows in (slice(None), slice(0, 100), slice(1, None, 2)):
        resumed = model(loss, init=half, tol=1e-12).fit(X[rows], y[rows])
        trusted(resumed, X[rows], y[rows])
        cold = model(loss, tol=1e-12).fit(X[rows], y[rows])
        np.testing.assert_allclose(resumed.decision_function(X), cold.decision_function(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_other_weights_labels_and_offsets(loss):
    X, y = load("breast_cancer_scaled")
    first = model(loss).fit(X, y)
    weights = np.random.default_rng(0).integers(0, 3, y.size)
    for given, labels, kwargs in (
        (weights, y, {}),
        (None, 1 - y, {}),
        (None, np.where(y == 1, "b", "a"), {}),
        (None, y, {"penalize_intercept": True}),
        (None, y, {"fit_intercept": False}),
    ):
        resumed = model(loss, init=first, tol=1e-12, **kwargs).fit(X, labels, sample_weight=given)
        assert resumed.status_ == "converged"
        trusted(resumed, X, labels, given)
        cold = model(loss, tol=1e-12, **kwargs).fit(X, labels, sample_weight=given)
        np.testing.assert_allclose(resumed.decision_function(X), cold.decision_function(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_start_that_does_not_fit_is_no_harm(loss):
    """Other features or other classes: there is nothing to keep."""
    wine = model(loss).fit(*load("wine"))
    X, y = load("iris")
    assert bits(model(loss, init=wine).fit(X, y)) == bits(model(loss).fit(X, y))
    warm = model(loss, warm_start=True).fit(*load("wine"))
    assert bits(warm.fit(X, y)) == bits(model(loss).fit(X, y))


def test_from_another_loss():
    X, y = load("breast_cancer_scaled")
    for loss in LOSSES:
        for other in LOSSES:
            resumed = model(loss, init=model(other).fit(X, y)).fit(X, y)
            assert resumed.status_ == "converged"
            trusted(resumed, X, y)


def test_from_a_certificate():
    X, y = load("breast_cancer_scaled")
    first = model("hinge").fit(X, y)
    by_model, by_certificate = (model("hinge", init=start).fit(X, y) for start in (first, first.certificate_))
    assert bits(by_model) == bits(by_certificate)


def test_from_a_file(tmp_path):
    X, y = load("breast_cancer_scaled")
    first = model("hinge").fit(X, y)
    gapless.save(first, tmp_path / "model.gapless")
    loaded = gapless.load(tmp_path / "model.gapless")
    assert bits(model("hinge", init=loaded).fit(X, y)) == bits(model("hinge", init=first).fit(X, y))


def test_init_is_not_changed_and_not_part_of_the_certificate():
    X, y = load("iris")
    first = model("hinge").fit(X, y)
    before = bits(first)
    resumed = model("hinge", C=3.0, init=first).fit(X, y)
    assert resumed.init is first
    assert bits(first) == before
    assert resumed.certificate_.document()["parameters"]["init"] is None


def test_a_stopped_fit_can_be_carried_on_step_by_step():
    """Ten passes at a time: the gap falls, each time from where it was."""
    X, y = make_classification(5_000, 20, n_informative=10, flip_y=0.1, random_state=0)
    estimator = model("hinge", solver="coordinate_descent", warm_start=True, max_iter=10, tol=1e-6, C=0.1)
    gaps = []
    with gapless.config_context(convergence="ignore"):
        for _ in range(60):
            estimator.fit(X, y)
            assert passes(estimator) <= 10
            gaps.append(estimator.certificate_.relative_gap)
            if estimator.status_ == "converged":
                break
    assert gaps[-1] < 0.05 * gaps[0]
    assert all(after <= before * (1 + 1e-9) for before, after in itertools.pairwise(gaps))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_large_C_after_a_small_one(loss):
    X, y = load("breast_cancer")
    small = model(loss, C=1e-4).fit(X, y)
    large = model(loss, C=1e4, init=small).fit(X, y)
    assert large.status_ == "converged"
    trusted(large, X, y)
