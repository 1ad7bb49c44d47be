"""scikit-learn's own checks of the three discriminants: all of them, none expected to fail.

solver="lsqr" is not here: its transform raises NotImplementedError, scikit-learn's as well as ours.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapless import (
    GaussianDiscriminant,
    IllConditionedWarning,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)

VARIANTS = [
    GaussianDiscriminant(),
    GaussianDiscriminant(covariance="spherical"),
    GaussianDiscriminant(covariance="per_class"),
    GaussianDiscriminant(covariance="per_class", shrinkage="auto"),
    GaussianDiscriminant(shrinkage="auto"),
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(shrinkage="auto"),
    LinearDiscriminantAnalysis(solver="eigen"),
    QuadraticDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.1),
]


#: The rows of these checks have classes of equal rows, or of two points: there is no covariance for each class.
NO_DENSITY = {
    "check_sample_weights_shape",
    "check_sample_weights_not_overwritten",
    "check_sample_weight_equivalence_on_dense_data",
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(VARIANTS)
def test_check(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IllConditionedWarning)  # some checks have more columns than rows
        if getattr(estimator, "covariance", None) == "per_class" and check.func.__name__ in NO_DENSITY:
            with pytest.raises(np.linalg.LinAlgError, match="is not full rank: rank . of"):
                check(estimator)
            return
        check(estimator)
