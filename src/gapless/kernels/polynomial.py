"""K(x, z) = (gamma <x, z> + coef0)^degree"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Polynomial:
    degree: int
    gamma: float
    coef0: float
    name = "poly"
    of_distances = False

    @property
    def positive(self) -> bool | None:
        """Sums and products of kernels are kernels, and so is a constant >= 0; a negative one must be looked at."""
        return True if self.coef0 >= 0.0 or self.degree == 0 else None

    def from_products(self, inner: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Kernel values from inner products and squared norms, in place."""
        inner *= self.gamma
        inner += self.coef0
        return power(inner, self.degree)

    def diagonal(self, norms2: np.ndarray) -> np.ndarray:
        return power(self.gamma * norms2 + self.coef0, self.degree)

    def error(self, d: int, norm2: float) -> float:
        """No value computed in float64 is further than this from the exact one, for d columns and |x|^2 <= norm2."""
        top = self.gamma * norm2 + abs(self.coef0)
        return self.degree * (d + 8) * 2.0**-53 * top**self.degree if top < 1e30 else np.inf

    def relative_error(self, d: int, norm2: float) -> float:
        """The same against ``bound``."""
        return self.degree * (d + 8) * 2.0**-53

    def bound(self, lengths: np.ndarray) -> np.ndarray:
        """A bound on |K| from |x||z|."""
        return power(self.gamma * lengths + abs(self.coef0), self.degree)


def power(base: np.ndarray, degree: int) -> np.ndarray:
    """base^degree by repeated squaring, in place: at most 2 log2(degree) roundings, where pow has a bound of its own."""
    if degree == 0:
        base[...] = 1.0
        return base
    bits = bin(degree)[3:]
    if not bits:
        return base
    first = base.copy() if "1" in bits else base
    for bit in bits:
        base *= base
        if bit == "1":
            base *= first
    return base
