"""scikit-learn's own checks of an estimator: all of them, none expected to fail."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapless import LinearSVC, LogisticRegression

VARIANTS = [
    LinearSVC(),
    LinearSVC(loss="hinge"),
    LogisticRegression(),
    LinearSVC(penalize_intercept=True),
    LinearSVC(loss="hinge", penalize_intercept=True),
    LogisticRegression(penalize_intercept=True),
    LinearSVC(fit_intercept=False),
    LinearSVC(loss="hinge", fit_intercept=False),
    LogisticRegression(fit_intercept=False),
    LinearSVC(n_jobs=2, warm_start=True),
]


@pytest.mark.filterwarnings("default")  # the checks provoke warnings of their own and judge them themselves
@parametrize_with_checks(VARIANTS)
def test_check(estimator, check):
    check(estimator)
