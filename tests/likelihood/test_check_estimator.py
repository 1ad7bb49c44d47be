"""scikit-learn's own checks without a penalty: all of them, none expected to fail."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn.linear_model
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapless import LogisticRegression


@parametrize_with_checks([LogisticRegression(C=np.inf), LogisticRegression(C=np.inf, fit_intercept=False)])
def test_check(estimator, check):
    with warnings.catch_warnings(action="ignore"):  # many of the checks' data sets are separable
        # This one wants class weights to move every prediction to one class, which only an offset can do.
        if not estimator.fit_intercept and check.func.__name__ == "check_class_weight_classifiers":
            with pytest.raises(AssertionError):
                check.func("LogisticRegression", sklearn.linear_model.LogisticRegression(C=np.inf, fit_intercept=False))
            return
        check(estimator)
