"""Data that is ready as it comes, which most is, told in less time than scikit-learn's checks take on a small fit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse


def ready(estimator: Any, X: Any, y: Any) -> bool:
    """Whether X is a finite array in C order, or CSR matrix, of float32 or float64, and y an array of as many whole numbers.

    scikit-learn would return both as they are; ``n_features_in_`` is set as it would be. In doubt the answer is no: it has
    the words for what is wrong.
    """
    if type(X) is np.ndarray:
        values, fine = X, X.ndim == 2 and X.flags.c_contiguous
    elif type(X) in (sparse.csr_matrix, sparse.csr_array):
        values, fine = X.data, X.ndim == 2
    else:
        return False
    fine = fine and min(X.shape) > 0 and values.dtype in (np.float64, np.float32) and values.dtype.isnative
    if not fine or not (type(y) is np.ndarray and y.shape == X.shape[:1] and y.dtype.kind in "iub"):
        return False
    with np.errstate(all="ignore"):
        # A sum that is finite has finite terms; where it overflows others look closer. No BLAS: its threads stay awake after.
        if not math.isfinite(np.add.reduce(values, axis=None)):
            return False
    estimator.n_features_in_ = X.shape[1]
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return True
