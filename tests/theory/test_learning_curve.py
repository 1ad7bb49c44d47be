"""Learning curves say what their E_out comes from."""

from __future__ import annotations

import numpy as np
import pytest

from gapless import LinearRegression, Ridge
from gapless.plots import LearningCurveDisplay
from gapless.theory.samples.learning_curve import learning_curve


def rows(n, random):
    X = random.normal(size=(n, 1))
    return X, X[:, 0] + random.normal(size=n)


@pytest.mark.parametrize(("left", "told"), [(1, "comes from one row (one squared residual)"), (2, "comes from 2 rows")])
def test_arrays_that_leave_few_rows(left, told):
    data = rows(20 + left, np.random.default_rng(0))
    curve = learning_curve(Ridge(), data, [5, 20], loss="squared", repeats=4)
    assert curve.test_rows == left
    assert told in str(curve)
    assert told in curve.table()
    assert f"is of {left} row" in LearningCurveDisplay.from_curve(curve).title


def test_enough_rows_are_told_without_alarm():
    curve = learning_curve(LinearRegression(), rows, [5, 20], loss="squared", repeats=4, test=100)
    assert curve.test_rows == 100
    assert str(curve).endswith("each E_out comes from 100 rows")
    assert "is of" not in LearningCurveDisplay.from_curve(curve).title


def test_right_or_wrong():
    from gapless import LinearSVC

    random = np.random.default_rng(1)
    X = np.concatenate([random.normal(size=(20, 2)) - 1.0, random.normal(size=(21, 2)) + 1.0])
    y = np.repeat([0, 1], [20, 21])
    curve = learning_curve(LinearSVC(), (X, y), [40], repeats=5)
    assert "each E_out comes from one row (right or wrong), and its mean from the 5 repeats alone" in str(curve)
    assert np.isin(curve.e_out * 5, np.arange(6)).all()  # a mean of five zeros and ones
