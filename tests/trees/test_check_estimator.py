"""scikit-learn's own checks, without exceptions."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapless import DecisionTreeClassifier, DecisionTreeRegressor

pytestmark = pytest.mark.filterwarnings("ignore")


@parametrize_with_checks(
    [
        DecisionTreeClassifier(),
        DecisionTreeRegressor(),
        DecisionTreeClassifier(max_bins=20, splitter="random", random_state=0),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
