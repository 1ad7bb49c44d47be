"""scikit-learn's own checks, and the laws of weights that stand in for those that random draws cannot satisfy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapless import AdaBoostClassifier, AdaBoostRegressor, BaggingClassifier, BaggingRegressor, LogisticRegression

MODELS = [AdaBoostClassifier(n_estimators=5), BaggingClassifier(n_estimators=3)]
OTHERS = [
    AdaBoostClassifier(LogisticRegression(), n_estimators=5),
    AdaBoostRegressor(n_estimators=5),
    BaggingClassifier(LogisticRegression(), n_estimators=3),
    BaggingRegressor(n_estimators=5),
]
#: Rows are drawn: a row of weight 2 and the row twice are the same in distribution, not to the bit.
DRAWS = {"check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(MODELS)
def test_check(estimator, check):
    run(estimator, check)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(OTHERS)
def test_check_of_others(estimator, check):
    run(estimator, check)


def run(estimator, check):
    if check.func.__name__ in DRAWS and not isinstance(estimator, AdaBoostClassifier):
        pytest.skip("the law holds in distribution: see below")
    if check.func.__name__ == "check_decision_proba_consistency" and estimator.estimator is not None:
        pytest.skip("the mean of the learners' probabilities is no function of the mean of their scores")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        check(estimator)


@pytest.mark.parametrize("kind", ["bagging", "boosting"])
def test_weights_are_repetitions_in_distribution(kind):
    """The mean prediction over many seeds: of weights, and of rows repeated so often (with as many draws)."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(25, 2)), rng.normal(size=25)
    weight = rng.integers(0, 4, 25)
    again = np.repeat(np.arange(25), weight)

    def predictions(X_, y_, w, draws=150):
        found = []
        for seed in range(draws):
            if kind == "bagging":
                model = BaggingRegressor(n_estimators=3, random_state=seed, max_samples=int(weight.sum()))
            else:
                model = AdaBoostRegressor(n_estimators=1, random_state=seed)
            found.append(model.fit(X_, y_, sample_weight=w).predict(X))
        found = np.array(found)
        return found.mean(axis=0), found.std(axis=0) / np.sqrt(draws)

    weighted, a = predictions(X, y, weight.astype(float))
    if kind == "boosting":  # it draws as many rows as there are: compare where that number is the same
        X, y, again = X, y, np.repeat(np.arange(25), weight)
    repeated, b = predictions(X[again], y[again], None)
    off = np.abs(weighted - repeated) / np.hypot(a, b).clip(1e-12)
    if kind == "bagging":
        assert off.max() < 4.5
        unweighted, c = predictions(X, y, None)
        assert (np.abs(unweighted - repeated) / np.hypot(c, b).clip(1e-12)).max() > 6.0  # the test can fail
    else:
        assert np.mean(off) < 3.0
