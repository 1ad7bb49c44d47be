"""K(x, z) = exp(-gamma |x - z|^2)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RBF:
    gamma: float
    name = "rbf"
    positive = True

    def of(self, inner: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Kernel values from inner products and squared norms, in place: |x - z|^2 = |x|^2 + |z|^2 - 2<x, z>."""
        inner *= 2.0
        inner -= left[:, None]
        inner -= right[None, :]
        np.minimum(inner, 0.0, out=inner)
        inner *= self.gamma
        return np.exp(inner, out=inner)

    def diagonal(self, norms2: np.ndarray) -> np.ndarray:
        return np.ones_like(norms2)
