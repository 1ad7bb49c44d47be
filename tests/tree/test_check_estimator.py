"""scikit-learn's own checks, without exceptions."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapless import DecisionTreeClassifier, DecisionTreeRegressor

pytestmark = pytest.mark.filterwarnings("ignore")


@parametrize_with_checks([DecisionTreeClassifier(), DecisionTreeRegressor()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        DecisionTreeClassifier(max_bins=20, splitter="random", random_state=0),
        DecisionTreeRegressor(max_leaf_nodes=20, ccp_alpha=1e-3, max_features=0.5, random_state=0),
    ]
)
def test_with_other_parameters(estimator, check):
    check(estimator)
