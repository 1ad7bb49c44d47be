"""Two columns that say the same in other units (Celsius and Kelvin) differ from each other's multiples by rounding alone."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import gapless


@pytest.mark.parametrize("make", [gapless.LinearRegression, gapless.LeastSquaresClassifier])
@pytest.mark.parametrize("seed", range(10))
def test_a_column_in_other_units_changes_no_prediction(seed, make):
    """What two such columns differ by is no direction: coefficients of 1e13 along it gave R2 = -600,000."""
    rng = np.random.default_rng(seed)
    n, spread, mean = int(rng.choice([5, 8, 12, 30, 90])), 10.0 ** rng.uniform(-2, 2), 10.0 ** rng.uniform(0, 6)
    celsius = mean + spread * rng.normal(size=n)
    other = 10.0 ** rng.uniform(-3, 3) * celsius + 10.0 ** rng.uniform(-3, 4)
    y = rng.normal(size=n)
    targets = y if make is gapless.LinearRegression else (y > np.median(y)).astype(int)
    X = np.column_stack([celsius, other])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gapless.IllConditionedWarning)
        both, alone = make().fit(X, targets), make().fit(X[:, :1], targets)
    assert both.certificate_.converged
    assert both.certificate_.rank == 1
    assert gapless.verify(both, X, targets)
    of_both, of_one = (
        m.predict(rows) if make is gapless.LinearRegression else m.decision_function(rows)
        for m, rows in ((both, X), (alone, X[:, :1]))
    )
    assert of_both == pytest.approx(of_one, abs=1e-6)


def test_columns_that_differ_by_more_than_rounding_keep_their_direction():
    """The neighbour of the above: a difference of 1e-9 of the mean is there, is found, and is what the targets are."""
    rng = np.random.default_rng(0)
    first = 1e4 + rng.normal(size=200)
    X = np.column_stack([first, first + 1e-5 * rng.normal(size=200)])
    y = 1e5 * (X[:, 1] - X[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gapless.IllConditionedWarning)
        model = gapless.LinearRegression().fit(X, y)
    assert model.rank_ == 2
    assert model.score(X, y) > 0.99
