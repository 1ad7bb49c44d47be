"""Entropy, cross-entropy, divergence: against exact sums, the identity between them, and the loss that they are."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit, softmax

from gapless import LogisticRegression, losses, theory, verify


def draws(K, n=200, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(K, 0.4), size=n)
    p[0] = np.eye(K)[0]
    return p


@pytest.mark.parametrize("K", [2, 3, 10])
def test_against_sums_of_fifty_digits(K):
    p, q = draws(K), np.roll(draws(K, seed=1), 1, axis=0)
    q[q == 0.0] = 1e-9
    q /= q.sum(axis=1, keepdims=True)
    with mpmath.workdps(50):
        for i in range(40):
            pairs = [(mpmath.mpf(a), mpmath.mpf(b)) for a, b in zip(p[i], q[i]) if a > 0]
            assert theory.entropy(p[i]) == pytest.approx(float(-sum(a * mpmath.log(a) for a, _ in pairs)), rel=1e-14)
            cross = float(-sum(a * mpmath.log(b) for a, b in pairs))
            assert theory.cross_entropy(p[i], q[i]) == pytest.approx(cross, rel=1e-14)
            divergence = float(sum(a * mpmath.log(a / b) for a, b in pairs))
            assert theory.kl(p[i], q[i]) == pytest.approx(divergence, rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("K", [2, 3, 10])
def test_the_identity(K):
    p, q = draws(K), draws(K, seed=2)[::-1]
    left, right = theory.cross_entropy(p, q), theory.entropy(p) + theory.kl(p, q)
    assert left.shape == (200,)
    np.testing.assert_allclose(left, right, rtol=1e-13)
    assert (theory.kl(p, q) >= 0.0).all()
    np.testing.assert_allclose(theory.kl(p, p), 0.0, atol=1e-15)
    np.testing.assert_allclose(theory.cross_entropy(p, p), theory.entropy(p), rtol=1e-14)


def test_known_values_and_units():
    assert theory.entropy(0.5) == pytest.approx(math.log(2))
    assert theory.entropy(0.5, base=2) == 1.0
    assert theory.entropy([1.0, 0.0]) == 0.0
    assert theory.entropy(np.full(8, 1 / 8), base=2) == pytest.approx(3.0)
    assert theory.cross_entropy(1, 0.25) == pytest.approx(math.log(4))
    assert theory.cross_entropy(0, 0.25) == pytest.approx(-math.log(0.75))
    assert theory.cross_entropy([0.5, 0.5], [1.0, 0.0]) == math.inf
    assert theory.kl([0.5, 0.5], [1.0, 0.0]) == math.inf
    assert theory.kl([1.0, 0.0], [0.5, 0.5], base=2) == pytest.approx(1.0)
    assert theory.kl(0.2, 0.7) != pytest.approx(theory.kl(0.7, 0.2))
    # Close to each other nothing cancels: KL ~ (difference)^2 / (2 q (1 - q)).
    assert theory.kl(0.5, 0.5 + 1e-9) == pytest.approx(2e-18, rel=1e-6)


# -- the logistic loss is the cross-entropy of a label, in both forms -----------------------------------------


def test_both_label_forms_have_one_loss_and_one_gradient():
    z = np.linspace(-30, 30, 601)
    q = expit(z)
    logistic = losses.Logistic()
    h = 1e-6
    for t in (0, 1):
        y = 2 * t - 1  # the same label as -1 and +1
        model = np.stack([expit(-z), q], axis=-1)
        label = np.eye(2)[t]
        np.testing.assert_allclose(
            theory.cross_entropy(label, model), logistic.value(z, y), rtol=1e-12, atol=2e-16
        )  # of a q near 1
        # The gradient in the score, from the cross-entropy alone, is q - t, and is that of ln(1 + e^(-yz)).
        up, down = (np.stack([expit(-z - s * h), expit(z + s * h)], axis=-1) for s in (1, -1))
        slope = (theory.cross_entropy(label, up) - theory.cross_entropy(label, down)) / (2 * h)
        np.testing.assert_allclose(slope, q - t, atol=1e-8)
        np.testing.assert_allclose(logistic.slope(z, y), q - t, rtol=1e-9, atol=1e-15)


def test_softmax_is_the_cross_entropy_of_a_label():
    rng = np.random.default_rng(3)
    z, y = rng.normal(size=(100, 5)) * 4, rng.integers(5, size=100)
    found = theory.cross_entropy(np.eye(5)[y], softmax(z, axis=1))
    np.testing.assert_allclose(found, losses.Softmax().value(z, y), rtol=1e-11, atol=1e-15)


def test_the_best_model_for_soft_labels_is_their_distribution():
    p = np.array([0.15, 0.6, 0.25])
    best = optimize.minimize(lambda z: theory.cross_entropy(p, softmax(z)), np.zeros(3), method="BFGS", tol=1e-10)
    np.testing.assert_allclose(softmax(best.x), p, atol=1e-6)
    assert best.fun == pytest.approx(theory.entropy(p), abs=1e-12)


def test_minimising_it_over_the_model_is_logistic_regression():
    """Labels 0 and 1, and -1 and +1: the same fit, to the bit, and that of a minimiser that knows the cross-entropy alone."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(120, 3))
    t = (X @ [1.0, -2.0, 0.5] + rng.normal(size=120) > 0.3).astype(int)
    C = 2.0
    one, two = (LogisticRegression(C=C, tol=1e-10).fit(X, labels) for labels in (t, 2 * t - 1))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)
    assert (one.certificate_.primal, one.certificate_.dual) == (two.certificate_.primal, two.certificate_.dual)
    assert verify(one, X, t)
    assert verify(two, X, 2 * t - 1)

    def objective(theta):
        z = X @ theta[:3] + theta[3]
        model = np.stack([expit(-z), expit(z)], axis=-1)
        return 0.5 * theta[:3] @ theta[:3] + C * theory.cross_entropy(np.eye(2)[t], model).sum()

    best = optimize.minimize(objective, np.zeros(4), method="BFGS", tol=1e-8)
    assert best.fun == pytest.approx(one.certificate_.primal, rel=1e-10)
    np.testing.assert_allclose(np.append(one.coef_, one.intercept_), best.x, atol=1e-5)


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.entropy([0.5, 0.6]), "p must sum to 1 along the last axis; its sum is 1.1"),
        (lambda: theory.kl([[0.5, 0.5], [0.4, 0.5]], [0.5, 0.5]), r"p\[1\] must sum to 1 .* its sum is 0.9"),
        (lambda: theory.cross_entropy([0.5, 0.5], [-0.1, 1.1]), r"q\[0\] must be a probability"),
        (lambda: theory.entropy([0.5, math.nan]), r"p\[1\] must be a probability"),
        (lambda: theory.kl([0.5, 0.5], [0.2, 0.3, 0.5]), "p has 2 outcomes and q has 3"),
        (lambda: theory.entropy(1.5), r"p must be a probability, in the range \[0, 1\]; got 1.5"),
        (lambda: theory.kl(0.5, math.nan), "q must be a probability.* got nan"),
        (lambda: theory.entropy(0.5, base=1), "base must be a float"),
        (lambda: theory.entropy([]), "has no outcomes"),
    ],
)
def test_what_is_no_distribution_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
    with pytest.raises(TypeError, match="p must be a number or an array"):
        theory.entropy("half")
