"""The bound on mistakes: never exceeded, for any start and rate, confirmed by the judge; and false neighbours that are."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from gapless import Perceptron, verify
from gapless.certificates.perceptron import mistake_bound, most_mistakes
from gapless.rows import as_rows
from tests.perceptron.cases import rosenblatt, separable


def run_bounds(seeds):
    over_plain = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        offset = bool(rng.integers(4))
        X, y = separable(rng, offset)
        d, start = X.shape[1], {}
        if seed % 3:
            size = 10.0 ** rng.uniform(-2, 2)
            start = {"coef_init": size * rng.normal(size=(1, d))}
            if offset:
                start["intercept_init"] = size * rng.normal(size=1)
        model = Perceptron(
            tol=None, max_iter=-1, eta0=10.0 ** rng.uniform(-3, 3), shuffle=bool(rng.integers(2)), fit_intercept=offset
        )
        model.fit(sparse.csr_matrix(X) if seed % 5 == 0 else X, y, **start)
        certificate = model.certificate_
        assert model.status_ == "converged"
        assert (model.predict(X) == y).all()
        assert model.mistakes_ <= certificate.bound, seed
        verdict = verify(model, X, y)
        assert verdict, (seed, [claim for claim in verdict.claims if not claim.holds])
        over_plain += model.mistakes_ > (certificate.radius / certificate.margin) ** 2
    return over_plain


def test_bounds_of_random_problems():
    assert run_bounds(range(200)) > 0  # (R/margin)^2 alone, which is for a start of 0, is exceeded


@pytest.mark.slow
def test_bounds_of_a_thousand_random_problems():
    assert run_bounds(range(1000)) > 0


def test_zero_start_is_novikoff():
    assert most_mistakes(3.0, 0.5, 0.0, 0.0, 4) == pytest.approx(36.0, rel=1e-8)
    assert most_mistakes(3.0, 0.5, -2.0, 2.0, 4) == pytest.approx(36.0 + 2 * 2.0 / 0.5, rel=1e-8)


def test_the_bound_is_the_root_that_it_should_be():
    """The least k for which (A + k margin)^2 > B^2 + k R^2 and A + k margin >= 0, by search in fractions."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        R, B = 10.0 ** rng.uniform(-1, 1), 10.0 ** rng.uniform(-2, 2) * rng.integers(2)
        margin, A = R * rng.uniform(0.05, 1.0), B * rng.uniform(-1, 1)
        bound = most_mistakes(R, margin, A, B, 3)
        g, a, b, r = (Fraction(v) for v in (margin, A, B, R))
        possible = [k for k in range(int(bound) + 50) if a + k * g < 0 or (a + k * g) ** 2 <= b * b + k * r * r]
        assert max(possible) <= bound <= max(possible) + 1 + 1e-6 * bound


def test_a_start_against_the_direction_needs_more_than_the_plain_bound():
    """One row x = 1: from -c each mistake adds 1, so that there are c + 1, though R = margin = 1."""
    X, y = np.array([[1.0], [-1.0]]), [1, 0]
    model = Perceptron(fit_intercept=False, tol=None, shuffle=False).fit(X, y, coef_init=[[-5.0]])
    assert model.mistakes_ == 6 > 1
    assert 6 <= model.certificate_.bound <= 1 + 2 * 5 + 1e-6
    assert verify(model, X, y)


def test_a_good_start_makes_the_bound_small():
    X, y = separable(np.random.default_rng(3))
    first = Perceptron(tol=None).fit(X, y)
    again = Perceptron(tol=None, init=first, eta0=1e-6).fit(X, y)
    assert again.mistakes_ == 0
    assert again.certificate_.bound < 1.0
    assert verify(again, X, y)


def test_no_direction_no_bound():
    rows, y = as_rows(np.array([[1.0], [-1.0], [2.0]]), 1.0), np.array([1, -1, 1], dtype=np.int8)
    visit, start = np.arange(3), np.zeros(2)
    assert mistake_bound(rows, y, visit, np.array([1.0, 0.0]), start, 1.0).bound == pytest.approx(5.0, rel=1e-8)
    assert mistake_bound(rows, y, visit, np.array([0.0, 1.0]), start, 1.0) is None  # separates nothing
    assert mistake_bound(rows, y, visit, np.zeros(2), start, 1.0) is None
    far = np.array([[1.0], [1.0 + 1e-14]])  # apart by less than rounding can hide
    assert mistake_bound(as_rows(far, 1.0), y[:2], visit[:2], np.array([-1.0, 1.0 + 5e-15]), start, 1.0) is None


@pytest.mark.parametrize(
    ("options", "weights", "word"),
    [
        ({"penalty": "l2"}, None, "penalty"),
        ({"class_weight": {1: 2.0}}, None, "weights"),
        ({}, np.r_[2.0, np.ones(39)], "weights"),
        ({"early_stopping": True}, None, "early_stopping"),
        ({"certify": False}, None, "certify=False"),
    ],
)
def test_where_there_is_none_it_says_so(options, weights, word):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    X[:, 0] += np.where(y, 0.5, -0.5)
    model = Perceptron(**options).fit(X, y, sample_weight=weights)
    assert model.certificate_.bound is None
    assert word in model.certificate_.subproblems[0].why
    assert word in str(model.certificate_)
    assert verify(model, X, y, sample_weight=weights)


def test_weights_of_one_are_none():
    X, y = separable(np.random.default_rng(5))
    model = Perceptron(tol=None).fit(X, y, sample_weight=np.ones(len(y)))
    assert model.certificate_.bound is not None
    assert verify(model, X, y)


def test_the_direction_is_that_of_the_largest_margin():
    """No direction has a larger margin than sqrt of the least distance from 0 to the hull of y (x, 1)."""
    X = np.array([[2.0, 0.0], [3.0, 5.0], [-2.0, 0.0], [-4.0, -1.0]])
    y = [1, 1, 0, 0]
    certificate = Perceptron(tol=None).fit(X, y).certificate_
    assert certificate.margin == pytest.approx(2.0, rel=1e-7)
    assert np.allclose(certificate.direction, [1.0, 0.0, 0.0], atol=1e-6)
    assert certificate.radius == pytest.approx(math.sqrt(35.0))


@pytest.mark.filterwarnings("ignore:Perceptron stopped at max_iter")
def test_the_run_is_rosenblatts():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, y = separable(rng, offset := bool(seed % 2))
        X = np.rint(64 * X) / 16  # dyadic: every operation is exact
        start = np.rint(8 * rng.normal(size=X.shape[1] + 1)) * offset
        theta, mistakes, passes, _ = rosenblatt(X, y, start, 0.25, 60, offset)
        model = Perceptron(eta0=0.25, tol=None, shuffle=False, fit_intercept=offset, max_iter=60, certify=False)
        model.fit(X, y, coef_init=start[None, :-1], intercept_init=start[-1:])
        if model.status_ in ("converged", "max_iter"):
            assert (model.mistakes_, model.passes_) == (mistakes, passes)
            assert np.array_equal(np.append(model.coef_, model.intercept_), theta if offset else [*theta, 0.0])


def test_trace():
    rng = np.random.default_rng(7)
    X, y = separable(rng)
    start = rng.normal(size=(1, X.shape[1]))
    model = Perceptron(tol=None, trace=True, shuffle=False, eta0=0.5, max_iter=-1).fit(X, y, coef_init=start)
    plain = Perceptron(tol=None, shuffle=False, eta0=0.5, max_iter=-1).fit(X, y, coef_init=start)
    assert np.allclose(model.coef_, plain.coef_, rtol=1e-12, atol=1e-12)
    assert [step.k for step in model.trace_] == list(range(1, model.mistakes_ + 1))
    rows, theta = np.column_stack([X, np.ones(len(y))]), np.append(start, 0.0)
    t = model.certificate_.direction
    for step in model.trace_:
        margins = y * (rows @ theta)
        assert step.before == pytest.approx(margins[step.row], abs=1e-9)
        assert step.before <= 0.0
        theta = theta + 0.5 * y[step.row] * rows[step.row]
        after = y * (rows @ theta)
        assert step.after == pytest.approx(after[step.row], abs=1e-9)
        assert step.after - step.before == pytest.approx(0.5 * rows[step.row] @ rows[step.row], rel=1e-9)
        assert set(step.broke) == set(np.flatnonzero((margins > 1e-9) & (after <= 0)))
        assert step.norm == pytest.approx(np.linalg.norm(theta))
        assert step.norm <= step.norm_most * (1 + 1e-12)
        assert step.along == pytest.approx(t @ theta, rel=1e-9, abs=1e-9)
        assert step.along >= step.along_least - 1e-9
        assert step.cosine == pytest.approx(t @ theta / np.linalg.norm(theta), rel=1e-9, abs=1e-9)
