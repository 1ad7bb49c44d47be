"""Least squares in numpy: the sums of its gap over all rows at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapless.problems.least_squares import LeastSquares


@dataclass(frozen=True, eq=False)
class NumpyLeastSquares(LeastSquares):
    """Rows, targets, weights and penalties."""

    def _own_sums(self, k: int, r: np.ndarray, mean: float) -> tuple[np.ndarray, np.ndarray]:
        y, alpha = self.Y[:, k], float(self.alpha[k])
        c = 1.0 / alpha if self.s is None else self.s / alpha
        u = c * (r - mean)
        product, half = u * y, 0.5 * u * u / c
        sums = (
            0.5 * (c * r * r).sum(), (product - half).sum(), (np.abs(product) + half).sum(), np.abs(u).sum(), u.sum(),
            product.sum(), half.sum(), np.abs(y).max(initial=0.0),
        )  # fmt: skip
        return u, np.array([sums])
