"""K(x, z) = <x, z>"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Linear:
    name = "linear"
    of_distances = False
    positive = True

    def from_products(self, inner: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Kernel values from inner products and squared norms, in place."""
        return inner

    def diagonal(self, norms2: np.ndarray) -> np.ndarray:
        return norms2.copy()

    def error(self, d: int, norm2: float) -> float:
        """No value computed in float64 is further than this from the exact one, for d columns and |x|^2 <= norm2."""
        return (d + 2) * 2.0**-53 * norm2

    def relative_error(self, d: int, norm2: float) -> float:
        """The same against ``bound``."""
        return (d + 2) * 2.0**-53

    def bound_sums(self, left: np.ndarray, right: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """A bound on sum_j weights_j |K(x, z_j)| from the lengths ``left`` of x and ``right`` of z."""
        return left * float(right @ weights)
