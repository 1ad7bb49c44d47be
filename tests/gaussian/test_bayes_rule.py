"""Bayes rule for given densities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from gapless import GaussianDiscriminant, bayes_rule


def test_densities_as_functions_arrays_and_logarithms_agree():
    x = np.linspace(-5, 5, 41)
    laws = [norm(-1, 1), norm(1, 2), norm(0, 0.5)]
    priors = [0.5, 0.3, 0.2]
    rule = bayes_rule([law.pdf for law in laws], priors, x, classes=["left", "right", "middle"])
    table = np.column_stack([law.pdf(x) for law in laws])
    expected = table * priors / (table * priors).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(rule.posterior, expected, atol=1e-14)
    assert rule.decision.tolist() == np.array(["left", "right", "middle"])[expected.argmax(axis=1)].tolist()
    np.testing.assert_allclose(rule.error, 1.0 - expected.max(axis=1), atol=1e-14)
    for other in (
        bayes_rule(table, priors),
        bayes_rule(list(table.T), priors),
        bayes_rule([law.logpdf for law in laws], priors, x, log=True),
    ):
        np.testing.assert_allclose(other.posterior, rule.posterior, atol=1e-14)
    assert not rule.undefined.any()


def test_two_gaussians_of_one_variance_are_logistic():
    x = np.linspace(-4, 4, 9)
    rule = bayes_rule([norm(-1, 1).pdf, norm(1, 1).pdf], [0.5, 0.5], x)
    np.testing.assert_allclose(rule.posterior[:, 1], 1.0 / (1.0 + np.exp(-2.0 * x)), rtol=1e-13)
    assert rule.decision.tolist() == (x > 0).astype(int).tolist()


def test_the_bayes_error_of_uniform_densities():
    x = (np.arange(3000) + 0.5) / 1000.0  # f0 on [0, 2], f1 on [1, 3]: half of the overlap is lost
    f0, f1 = np.where(x < 2, 0.5, 0.0), np.where(x > 1, 0.5, 0.0)
    rule = bayes_rule([f0, f1], [0.5, 0.5])
    mixture = 0.5 * f0 + 0.5 * f1
    assert (rule.error * mixture).sum() / 1000.0 == pytest.approx(0.25)


def test_never_nan():
    tiny = bayes_rule([[-2000.0, -1e308], [-2001.0, -1e308]], [0.5, 0.5], log=True)
    np.testing.assert_allclose(tiny.posterior[0], [1 / (1 + np.exp(-1)), 1 / (1 + np.e)])
    np.testing.assert_allclose(tiny.posterior[1], [0.5, 0.5])
    rule = bayes_rule(
        np.array([[0.0, 0.0, 0.0], [np.inf, 1.0, 0.0], [np.inf, np.inf, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, np.inf]]),
        [0.25, 0.75, 0.0],
    )
    expected = [[0.25, 0.75, 0.0], [1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.25, 0.75, 0.0], [0.25, 0.75, 0.0]]
    np.testing.assert_allclose(rule.posterior, expected)
    assert rule.undefined.tolist() == [True, False, False, True, True]
    assert rule.decision.tolist() == [1, 0, 1, 1, 1]
    assert not np.isnan(rule.log_posterior).any()


def test_is_what_the_discriminant_does():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, size=50)
    X = random.normal(size=(50, 1)) + y[:, None]
    model = GaussianDiscriminant(covariance="per_class").fit(X, y)
    laws = [norm(m[0], np.sqrt(c[0, 0])).logpdf for m, c in zip(model.means_, model.covariance_)]
    rule = bayes_rule(laws, model.priors_, X, log=True)
    np.testing.assert_allclose(rule.posterior, model.predict_proba(X), atol=1e-13)


@pytest.mark.parametrize(
    ("densities", "priors", "given", "words"),
    [
        ([[0.5], [0.5]], [0.5, 0.6], {}, "priors must sum to 1"),
        ([[0.5], [0.5]], [1.5, -0.5], {}, "non-negative"),
        ([[0.5], [0.5]], [1.0], {}, "one number a class"),
        ([[0.5], [-0.5]], [0.5, 0.5], {}, "density 1 is -0.5 at point 0"),
        ([[0.5], [np.nan]], [0.5, 0.5], {}, "density 1 is NaN at point 0"),
        ([[0.5], [0.5, 0.1]], [0.5, 0.5], {}, "n values each"),
        ([norm.pdf, norm.pdf], [0.5, 0.5], {}, "X gives the points"),
        ([[0.5], [0.5]], [0.5, 0.5], {"classes": [1, 2, 3]}, "there are 2 densities"),
        (np.zeros(3), [0.5, 0.5], {}, "must be an array of shape"),
    ],
)
def test_bad_input(densities, priors, given, words):
    with pytest.raises(ValueError, match=words):
        bayes_rule(densities, priors, **given)
