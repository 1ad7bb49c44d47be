"""scikit-learn's own checks."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapless import ElasticNet, Lasso


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([Lasso(alpha=0.1), ElasticNet(alpha=0.1)])
def test_check(estimator, check):
    check(estimator)
