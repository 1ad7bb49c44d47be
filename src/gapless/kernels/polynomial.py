"""K(x, z) = (gamma <x, z> + coef0)^degree"""

from __future__ import annotations

import math
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

    def bound_sums(self, left: np.ndarray, right: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """A bound on sum_j weights_j |K(x, z_j)| from the lengths ``left`` of x and ``right`` of z.

        sum_j v_j (gamma l r_j + c)^p = sum_k binom(p, k) c^(p - k) (gamma l R)^k sum_j v_j (r_j / R)^k, R = max r: p + 1 sums of
        the columns in the place of a matrix of rows and columns.
        """
        longest, total, many = float(right.max(initial=0.0)), np.zeros(left.size), 1000
        with np.errstate(over="ignore", invalid="ignore"):
            steps, shares = self.gamma * longest * left, right / (longest or 1.0)
            if self.degree > many:  # binomials overflow
                return power(steps + abs(self.coef0), self.degree) * float(weights.sum())
            power_of_shares = np.ones(right.size)
            for k in range(self.degree + 1):
                factor = math.comb(self.degree, k) * float(weights @ power_of_shares)
                total += factor * power(np.full(1, abs(self.coef0)), self.degree - k) * power(steps.copy(), k)
                power_of_shares *= shares
        return np.nan_to_num(total, nan=np.inf, posinf=np.inf)  # 0 times what overflows


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
