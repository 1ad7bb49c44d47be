"""Rows as they are read: by scikit-learn's reader, which a lazy frame must not reach."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data


def refuse_lazy(X: Any) -> None:
    """A lazy frame is a plan, not data: scikit-learn's reader would take it for an object and fail in riddles."""
    if hasattr(X, "collect") and type(X).__name__ == "LazyFrame":
        raise TypeError("X is a LazyFrame, a plan without rows: call .collect() first")


def read_rows(model: Any, *data: Any, **options: Any) -> Any:
    """X, or X and y, as an array or CSR matrix of float64 or float32; ``options`` are those of scikit-learn's validate_data."""
    refuse_lazy(data[0])
    return validate_data(model, *data, **{"accept_sparse": "csr", "dtype": [np.float64, np.float32], **options})
