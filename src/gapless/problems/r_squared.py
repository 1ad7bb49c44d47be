"""R2 = 1 - (sum of squares about the model) / (sum of squares about the mean), and what it is where y is constant."""

from __future__ import annotations

from typing import Any

import numpy as np

#: y is constant where its values differ from their mean by this share of the largest of them, or less: rounding.
CONSTANT_SHARE = 2.0**-50


def is_constant(tss: Any, mass: Any, largest: Any) -> np.ndarray:
    """Whether y varies by rounding alone: tss is the sum of squares about the mean, mass the sum of the weights."""
    return np.asarray(tss) <= np.asarray(mass) * np.square(np.asarray(largest) * CONSTANT_SHARE)


def r_squared(rss: Any, tss: Any, mass: Any, largest: Any) -> np.ndarray:
    """R2 of each target. Where y is constant there is nothing to explain, and 0/0 is decided as scikit-learn does: 1 where the
    model predicts y, 0 where it does not; rounding of the mean decides nothing."""
    # residuals of a constant y, as a share of it, that are rounding: float32 models round to 2^-24
    predicted_share = 2.0**-20
    constant = is_constant(tss, mass, largest)
    predicted = np.asarray(rss) <= np.asarray(mass) * np.square(np.asarray(largest) * predicted_share)
    with np.errstate(all="ignore"):
        return np.where(constant, predicted * 1.0, 1.0 - np.asarray(rss) / np.where(constant, 1.0, tss))


def weighted_r_squared(y: np.ndarray, predicted: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """R2 of each column of y, from the values themselves."""
    s = np.ones(len(y)) if weight is None else weight
    y, predicted, s = y[s > 0.0], predicted[s > 0.0], s[s > 0.0]
    mean = np.average(y, axis=0, weights=s)
    return r_squared(s @ (y - predicted) ** 2, s @ (y - mean) ** 2, s.sum(), np.abs(y).max(axis=0))
