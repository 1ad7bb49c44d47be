"""K(x, z) = tanh(gamma <x, z> + coef0): no kernel in Mercer's sense, so that its dual bounds nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Sigmoid:
    gamma: float
    coef0: float
    name = "sigmoid"
    of_distances = False
    positive = False

    def from_products(self, inner: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Kernel values from inner products and squared norms, in place."""
        inner *= self.gamma
        inner += self.coef0
        return np.tanh(inner, out=inner)

    def diagonal(self, norms2: np.ndarray) -> np.ndarray:
        return np.tanh(self.gamma * norms2 + self.coef0)

    def error(self, d: int, norm2: float) -> float:
        """No value computed in float64 is further than this from the exact one, for d columns and |x|^2 <= norm2."""
        return min(2.0, (d + 6) * 2.0**-53 * (self.gamma * norm2 + abs(self.coef0)) + 2.0**-49)
