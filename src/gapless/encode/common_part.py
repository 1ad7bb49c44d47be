"""Targets less what their values have in common: a free offset has it back, and no sum is lost to its rounding.

    y' = y - y_1,  b' = b - y_1        the residuals y - <w, x> - b are the same, and so are P and D

Where y and y_1 are within a factor of 2 of each other their difference is a float (Sterbenz): nothing is rounded.
"""

from __future__ import annotations

import numpy as np


def common_parts(Y: np.ndarray) -> np.ndarray:
    """The first value of each column of Y (n, K) that differs from it by at most 2^-10 of it; 0 for the others.

    Below that share rounding costs three digits of sixteen at most.
    """
    most_share, most_value = 2.0**-10, 2.0**500  # larger values are refused: their squares overflow
    if not len(Y):
        return np.zeros(Y.shape[1])
    first = Y[0].astype(np.float64)
    last = Y[-1] - first  # one look at the last row is enough for most targets
    near = (np.abs(last) <= most_share * np.abs(first)) & (np.abs(first) < most_value)
    for k in np.flatnonzero(near & (first != 0.0)).tolist():
        near[k] = bool((np.abs(Y[:, k] - first[k]) <= most_share * abs(first[k])).all())
    return np.where(near, first, 0.0)


def keeps(common: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether b - common is exact for each target: always where nothing is taken away."""
    return (common == 0.0) | (np.abs(b - common) <= 0.5 * np.abs(common))
