"""Bias and variance against closed forms and quadrature; learning curves against linear regression's own."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gapless import LinearRegression, LogisticRegression
from gapless.theory.samples import bias_variance as bv
from gapless.theory.samples.learning_curve import learning_curve

NODES, WEIGHTS = np.polynomial.legendre.leggauss(80)


def sine(x):
    return np.sin(np.pi * x)


def two_points(random):
    x = random.uniform(-1.0, 1.0, 2)
    return x, sine(x)


def constant(x, y):
    return lambda t: np.full(len(t), y.mean())


def line(x, y):
    a = (y[1] - y[0]) / (x[1] - x[0])
    return lambda t: a * (t - x[0]) + y[0]


def through_zero(x, y):
    a = x @ y / (x @ x)
    return lambda t: a * t


def by_quadrature(coefficients):
    """Exact bias and variance of a function a x + b of two points, over a fine grid of pairs."""
    # An even and an odd number of nodes: no pair is twice the same point, where the slope has no value.
    x1, w1 = np.polynomial.legendre.leggauss(600)
    x2, w2 = np.polynomial.legendre.leggauss(601)
    W = np.outer(w1, w2) / 4.0
    a, b = coefficients(x1[:, None], x2[None, :])
    a, b = np.broadcast_to(a, W.shape), np.broadcast_to(b, W.shape)
    am, bm = (W * a).sum(), (W * b).sum()
    bias = WEIGHTS @ (am * NODES + bm - sine(NODES)) ** 2 / 2.0
    # E_x[(da x + db)^2] = da^2/3 + db^2 for x uniform on [-1, 1]
    return bias, (W * ((a - am) ** 2 / 3.0 + (b - bm) ** 2)).sum(), am


def slope_line(x, z):
    a = (sine(x) - sine(z)) / (x - z)
    return a, sine(x) - a * x


def slope_zero(x, z):
    return (x * sine(x) + z * sine(z)) / (x * x + z * z), np.zeros_like(x * z)


SINE = [
    (constant, 0.5, 0.25),
    (line, 0.20672, 1.67628),
    (through_zero, 0.27064, 0.23658),
]


def test_the_published_values_by_quadrature():
    bias, variance, slope = by_quadrature(slope_line)
    assert (round(bias, 5), round(variance, 4), round(slope, 3)) == (0.20672, 1.6763, 0.776)
    bias, variance, slope = by_quadrature(slope_zero)
    assert (round(bias, 5), round(variance, 5), round(slope, 3)) == (0.27064, 0.23658, 1.428)


@pytest.mark.parametrize(("fit", "bias", "variance"), SINE)
def test_a_sine_from_two_points(fit, bias, variance):
    found = bv.decompose(fit, two_points, NODES, sine, draws=20_000, weights=WEIGHTS, noise=0.0)
    assert abs(found.bias - bias) <= 3 * found.bias_error
    assert abs(found.variance - variance) <= 3 * found.variance_error
    assert found.bias_error < 0.01
    assert found.expected == pytest.approx(found.bias + found.variance, rel=1e-9)
    assert found.total == found.expected


@pytest.mark.parametrize(("fit", "bias", "variance"), SINE)
def test_the_errors_are_true(fit, bias, variance):
    # A hundred decompositions of few draws: right on average, and as far from it as they say.
    found = [bv.decompose(fit, two_points, NODES, sine, draws=40, weights=WEIGHTS, seed=seed) for seed in range(100)]
    for name, true in (("bias", bias), ("variance", variance)):
        away = np.array([getattr(one, name) for one in found]) - true
        said = math.sqrt(np.mean([getattr(one, name + "_error") ** 2 for one in found]))
        assert abs(away.mean()) < 4 * away.std() / 10
        assert (
            0.7 < said / away.std() < 1.7
        )  # where the first order vanishes the jackknife says up to sqrt(2) times as much


def test_the_mean_of_the_mean_is_not_its_error():
    # One point, g normal with mean 0 and variance 1, truth 0: the bias is 0, the plain (gbar - f)^2 would be 1/K.
    found = [
        bv.decompose(lambda X, y: lambda t: np.full(len(t), y[0]), lambda r: (None, r.normal(size=1)), [0.0], [0.0], draws=5,
                     seed=s).bias
        for s in range(400)
    ]  # fmt: skip
    assert abs(np.mean(found)) < 4 * np.std(found) / 20
    assert np.mean(found) < 0.1  # and 1/K = 0.2


def labels(random, n=30, turned=0.0):
    X = random.normal(size=(n, 2))
    y = np.where(X @ [1.0, 1.0] > 0.2, 1, -1)
    return X, np.where(random.random(n) < turned, -y, y)


def test_zero_one_loss_adds_up():
    random = np.random.default_rng(0)
    X, y = labels(random, 300)
    found = bv.decompose(LogisticRegression(C=0.05), labels, X, y, "zero_one", draws=60)
    assert found.expected == pytest.approx(found.bias + found.unbiased_variance - found.biased_variance, abs=1e-12)
    assert found.variance == pytest.approx(found.unbiased_variance + found.biased_variance)
    assert 0 < found.variance_error < 0.05
    assert set(np.unique(found.mean)) <= {-1, 1}


def test_zero_one_loss_of_a_coin():
    # g is right with probability 0.7 at the first point and 0.2 at the second: bias 1/2, variance 0.3 and 0.2.
    def toss(X, y):
        return lambda t: np.where(y < np.array([0.7, 0.2]), 1, 0)

    found = bv.decompose(toss, lambda r: (None, r.random(2)), [[0.0], [1.0]], [1, 1], "zero_one", draws=4000, noise=0.1)
    assert found.bias == 0.5
    assert found.variance == pytest.approx(0.25, abs=4 * found.variance_error)
    assert found.expected == pytest.approx((0.3 + 0.8) / 2, abs=4 * found.expected_error)
    assert found.expected == pytest.approx(found.bias + found.unbiased_variance - found.biased_variance)
    assert found.total == pytest.approx(found.expected * 0.8 + 0.1)


def test_bootstrap():
    random = np.random.default_rng(1)
    X, y = labels(random, 200, 0.1)
    X_test, y_test = labels(random, 200, 0.1)
    found = bv.bootstrap(LogisticRegression(), X, y, X_test, y_test, "zero_one", draws=40)
    assert found.distinct == pytest.approx(bv.distinct_share(200), abs=0.01)
    assert found.expected == pytest.approx(found.bias + found.unbiased_variance - found.biased_variance)
    assert "63." in str(found)


def test_a_bag_has_632_per_cent_of_the_rows():
    assert bv.distinct_share(1) == 1.0
    assert bv.distinct_share(2) == 0.75
    assert bv.distinct_share(10**7) == pytest.approx(1 - 1 / math.e, abs=1e-7)
    assert round(bv.distinct_share(1000), 3) == 0.632  # not 0.67
    random = np.random.default_rng(0)
    shares = [np.unique(random.integers(500, size=500)).size / 500 for _ in range(400)]
    assert abs(np.mean(shares) - bv.distinct_share(500)) < 4 * np.std(shares) / 20
    assert abs(np.mean(shares) - 0.67) > 10 * np.std(shares) / 20


def regression(n, random, d=5, deviation=0.5):
    X = random.normal(size=(n, d))
    return X, X @ np.arange(1.0, d + 1) + deviation * random.normal(size=n)


@pytest.fixture(scope="module")
def curve():
    return learning_curve(
        LinearRegression(fit_intercept=False), regression, [10, 20, 40, 80, 160], "squared", repeats=160, test=200,
        truth=lambda X: X @ np.arange(1.0, 6), noise=0.25, delta=0.001,
    )  # fmt: skip


def test_linear_regression_has_its_closed_forms(curve):
    n, p, s2 = curve.n, 5, 0.25
    assert (np.abs(curve.e_in - s2 * (1 - p / n)) <= curve.e_in_half).all()
    assert (np.abs(curve.e_out - s2 * (1 + p / (n - p - 1))) <= curve.e_out_half).all()
    assert (np.abs(curve.gap - s2 * (p / (n - p - 1) + p / n)) <= curve.gap_half).all()
    assert (curve.e_in_half > 0).all()


def test_the_two_readings(curve):
    assert curve.gap == pytest.approx(curve.e_out - curve.e_in)
    assert np.abs(curve.bias).max() < 0.02  # the truth is in the class
    assert curve.variance == pytest.approx(0.25 * 5 / (curve.n - 6), rel=0.3)
    assert (np.diff(curve.variance) < 0).all()
    # E_out = bias + variance + noise
    assert np.abs(curve.bias + curve.variance + 0.25 - curve.e_out).max() < 0.05
    assert 0.8 < curve.exponent < 1.5  # 1/n here, faster than 1/sqrt(n)
    assert (curve.gap <= curve.constant / np.sqrt(curve.n) * (1 + 1e-12)).all()
    assert "variance" in curve.table()


def test_a_curve_of_rows_at_hand():
    X, y = labels(np.random.default_rng(3), 600, 0.1)
    found = learning_curve(LogisticRegression(C=1.0), (X, y), [20, 100, 400], repeats=15)
    assert (found.e_out > 0.05).all()
    assert found.gap[0] > found.gap[-1]
    assert found.repeats == 15


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bv.decompose(constant, two_points, NODES, sine, "hinge"), "squared"),
        (lambda: bv.decompose(constant, two_points, NODES, [1.0]), "one value for each"),
        (lambda: bv.decompose(constant, two_points, NODES, sine, draws=1), "draws must be at least 2"),
        (lambda: bv.decompose(constant, two_points, NODES, sine, draws=10**7), "take fewer"),
        (lambda: bv.decompose(3, two_points, NODES, sine), "estimator, or a function"),
        (lambda: bv.decompose(constant, two_points, NODES, sine, weights=-WEIGHTS), "not negative"),
        (lambda: bv.decompose(constant, two_points, NODES, sine, noise=-1.0), "noise"),
        (lambda: bv.distinct_share(0.5), "whole number"),
        (lambda: learning_curve(constant, labels, [10, 10]), "sizes must grow"),
        (lambda: learning_curve(constant, labels, [10.5]), "whole number"),
        (lambda: learning_curve(constant, (np.zeros((5, 1)), np.zeros(5)), [5]), "leave none of 5"),
        (lambda: learning_curve(constant, labels, [10], delta=0), "strictly between"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
