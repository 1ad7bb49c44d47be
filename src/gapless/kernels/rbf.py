"""K(x, z) = exp(-gamma |x - z|^2)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def squared_distances(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """|x - z|^2 of all pairs from their differences, column by column: right to its last digits wherever the rows are."""
    square = np.zeros((X.shape[0], Z.shape[0]))
    with np.errstate(over="ignore"):
        for x, z in zip(X.T.astype(np.float64), Z.T.astype(np.float64), strict=True):
            square += (x[:, None] - z[None, :]) ** 2
    return square


@dataclass(frozen=True)
class RBF:
    gamma: float
    name = "rbf"
    of_distances = True
    positive = True

    def from_distances(self, square: np.ndarray) -> np.ndarray:
        """Kernel values from |x - z|^2."""
        return np.exp(-self.gamma * square)

    def from_products(self, inner: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Kernel values from inner products and squared norms, in place: |x - z|^2 = |x|^2 + |z|^2 - 2<x, z>."""
        inner *= 2.0
        inner -= left[:, None]
        inner -= right[None, :]
        np.minimum(inner, 0.0, out=inner)
        inner *= self.gamma
        return np.exp(inner, out=inner)

    def diagonal(self, norms2: np.ndarray) -> np.ndarray:
        return np.ones_like(norms2)

    def error(self, d: int, norm2: float) -> float:
        """No value computed in float64 is further than this from the exact one, for d columns and |x|^2 <= norm2.

        |x|^2 and |z|^2 have gamma_d each, and their sum with 2<x, z>, at most 4 norm2 in all, has gamma_(d + 2) more; taking
        the column means away moves a distance by 8u norm2 at most.  exp is within 4 units in the last place.
        """
        return min(1.0, self.gamma * norm2 * 2.0**-53 * (6.0 * (d + 6) + 8.0) + 2.0**-49)

    def relative_error(self, d: int, norm2: float) -> float:
        """The same against the value itself: far from each other rows have small values, and small errors."""
        return float(np.expm1(min(50.0, self.gamma * norm2 * 2.0**-53 * (4.0 * (d + 6) + 8.0)))) + 2.0**-49
