"""The studies of averaging and of over- and underfitting: identities that hold exactly, and shapes that must be seen."""

from __future__ import annotations

import numpy as np
import pytest

from gapless import DecisionTreeRegressor, Ridge
from gapless.theory.samples.averaging import averaging
from gapless.theory.samples.overfitting import overfitting


def sine(n, random):
    x = random.random(n)
    return x[:, None], np.sin(2 * np.pi * x) + 0.3 * random.normal(size=n)


def test_the_variance_of_a_mean_is_what_correlation_says():
    x = np.linspace(0.02, 0.98, 30)
    found = averaging(
        DecisionTreeRegressor(), sine, x[:, None], truth=np.sin(2 * np.pi * x), n=60, members=6, repetitions=120
    )
    for scheme in found.values():
        assert scheme.seen != pytest.approx(
            scheme.predicted, rel=1e-10
        )  # an identity, if both came from the same draws
        assert scheme.seen == pytest.approx(scheme.predicted, rel=0.35)
        assert scheme.error == scheme.squared_bias + scheme.seen
    fresh, splits, bootstrap = found["fresh"], found["splits"], found["bootstrap"]
    assert abs(fresh.correlation) < 0.1
    assert abs(splits.correlation) < 0.1
    assert 0.2 < bootstrap.correlation < 0.8
    assert fresh.seen == pytest.approx(fresh.variance / 6, rel=0.3)
    assert bootstrap.seen > 1.5 * bootstrap.variance / 6  # sigma^2/m is false for it
    assert bootstrap.seen < 0.9 * bootstrap.variance  # and averaging helps
    assert splits.rows == 10
    assert splits.squared_bias > bootstrap.squared_bias  # fewer rows, worse trees
    assert fresh.error < min(bootstrap.error, splits.error)  # six times the data


class Mean:
    """The mean of y: its variances are known exactly."""

    def get_params(self, deep=True):
        return {}

    def fit(self, X, y):
        self.mean = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean)


def test_averages_of_means_as_theory_has_them():
    # y of variance 1, n = 40, m = 5. A mean of n has 1/n. Two bootstrap means share the sample: covariance 1/n, and each has
    # 1/n + (n - 1)/n^2 (what drawing again adds). The mean of m of them: 1/n + (n - 1)/(n^2 m).
    n, m, R = 40, 5, 4000

    def sample(n, random):
        return np.zeros((n, 1)), random.normal(size=n)

    found = averaging(Mean(), sample, np.zeros((1, 1)), n=n, members=m, repetitions=R)
    again = (n - 1) / n**2
    wanted = {
        "fresh": (1 / n, 0.0, 1 / (n * m)),
        "splits": (m / n, 0.0, 1 / n),
        "bootstrap": (1 / n + again, (1 / n) / (1 / n + again), 1 / n + again / m),
    }
    for name, (variance, correlation, of_mean) in wanted.items():
        scheme = found[name]
        # A variance of R/2 draws is known to sqrt(2 / (R/2)) = 3 %; 4 of these.
        assert scheme.variance == pytest.approx(variance, rel=0.13)
        assert scheme.correlation == pytest.approx(correlation, abs=0.06)
        assert scheme.predicted == pytest.approx(of_mean, rel=0.13)
        assert scheme.seen == pytest.approx(of_mean, rel=0.13)
        assert scheme.seen != pytest.approx(scheme.predicted, rel=1e-10)


def test_a_stable_learner_gains_nothing_from_bags():
    x = np.linspace(0.1, 0.9, 9)
    found = averaging(Ridge(alpha=1e-6), sine, x[:, None], n=60, members=5, repetitions=30)["bootstrap"]
    assert found.correlation > 0.4
    assert found.squared_bias is None
    with pytest.raises(ValueError, match="at least 2 members"):
        averaging(Ridge(), sine, x[:, None], members=1)


def test_depth_shows_both_ends():
    study = overfitting("depth", repetitions=20)
    assert np.allclose(study.test, study.squared_bias + study.variance + 0.09, rtol=1e-12)
    assert (np.diff(study.train) <= 1e-12).all()
    assert study.train[-1] < 1e-3  # every row is a leaf
    k = study.values.index(study.best)
    for end in (0, -1):  # both ends are worse, by more than chance: 4 standard errors
        assert study.test[end] - study.test[k] > 4 * np.hypot(study.test_error[end], study.test_error[k])
    bias, variance = study.squared_bias, study.variance
    assert bias[0] - bias[-1] > 4 * np.hypot(study.bias_error[0], study.bias_error[-1])
    assert variance[-1] - variance[1] > 4 * np.hypot(study.variance_error[-1], study.variance_error[1])
    assert "least error on new data" in str(study)


class Noise:
    """Predicts the sine and noise of its own of variance 1/4: no bias at all."""

    random = np.random.default_rng(0)

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.sin(2 * np.pi * X[:, 0]) + 0.5 * self.random.normal()


def test_the_bias_has_no_variance_in_it():
    # The mean of 5 predictions has 1/20 of variance: a squared bias that is not corrected would be some 0.05 in every study.
    studies = [
        overfitting(values=[1], model=lambda size: Noise(), n=2, repetitions=5, seed=seed) for seed in range(400)
    ]
    bias = np.array([study.squared_bias[0] for study in studies])
    assert abs(bias.mean()) < 4 * bias.std() / 20
    assert 4 * bias.std() / 20 < 0.02  # the test would see it
    variance = np.array([study.variance[0] for study in studies])
    assert variance.mean() == pytest.approx(0.25, abs=4 * variance.std() / 20)
    for study in studies[:3]:
        assert study.test == pytest.approx(study.squared_bias + study.variance + study.noise**2, rel=1e-12)


@pytest.mark.parametrize("noise", [-1, -1e-9, np.nan, np.inf, np.float64(-1.0), "much"])
def test_noise_is_not_negative(noise):
    with pytest.raises(
        ValueError, match=r"noise must be a number( of at least 0)?; got (-1|-1e-09|nan|inf|-1.0|'much')$"
    ):
        overfitting("depth", (1,), noise=noise)


def test_the_standard_errors_are_those_of_other_seeds():
    studies = [overfitting("depth", (2, 6), n=40, repetitions=12, seed=seed) for seed in range(40)]
    for name, error in (("test", "test_error"), ("variance", "variance_error"), ("squared_bias", "bias_error")):
        seen = np.std([getattr(study, name) for study in studies], axis=0, ddof=1)
        said = np.sqrt(np.mean([getattr(study, error) ** 2 for study in studies], axis=0))
        # 40 seeds know a standard deviation to 11 %; the bias of the first order and the 12 samples take the rest.
        assert (np.abs(np.log(seen / said)) < 0.5).all(), (name, seen, said)


def test_bags_lower_the_variance_and_leave_the_bias():
    study = overfitting("bags", (1, 5, 25), repetitions=15)
    assert (np.diff(study.variance) < 0).all()
    assert study.variance[-1] < 0.75 * study.variance[0]
    rounds = overfitting("rounds", (1, 10), repetitions=8)
    assert rounds.test[1] < rounds.test[0]
    with pytest.raises(ValueError, match="varied is one of"):
        overfitting("width")
