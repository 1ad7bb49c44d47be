"""Prior probabilities of classes as given, to float64 numbers with sum 1."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_priors(priors: Any, n_classes: int, *, renormalise: bool = True) -> np.ndarray:
    """float64 priors, one a class, none negative; with sum 1, or divided by their sum."""
    given = np.array(priors, dtype=np.float64)
    if given.shape != (n_classes,):
        raise ValueError(f"priors must give one number a class: shape {given.shape}, expected {(n_classes,)}")
    if not np.isfinite(given).all():
        raise ValueError(f"priors must be finite; got {given.tolist()}")
    if (given < 0.0).any():
        raise ValueError(f"priors must be non-negative; got {given.tolist()}")
    total = float(given.sum())
    if total == 0.0:
        raise ValueError("priors are all zero: at least one class must be possible")
    if abs(total - 1.0) > 1e-5:
        if not renormalise:
            raise ValueError(f"priors must sum to 1; they sum to {total:g}")
        given /= total
    return given
