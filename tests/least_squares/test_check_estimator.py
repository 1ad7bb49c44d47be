"""scikit-learn's own checks of an estimator: all of them, none expected to fail."""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from gapless import LeastSquaresClassifier, LinearRegression, Ridge

VARIANTS = [
    LinearRegression(),
    LinearRegression(fit_intercept=False),
    Ridge(),
    Ridge(fit_intercept=False),
    Ridge(alpha=0.0),
    LeastSquaresClassifier(),
    LeastSquaresClassifier(alpha=1.0),
]


@parametrize_with_checks(VARIANTS)
def test_check(estimator, check):
    check(estimator)
