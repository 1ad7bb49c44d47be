"""Multinomial logistic regression in numpy: the verbs of `problems/multinomial` on all rows at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from gapless._runtime.cached import lazy
from gapless.numbers import UNIT
from gapless.problems.multinomial import Multinomial


@dataclass(frozen=True, eq=False)
class NumpyMultinomial(Multinomial):
    """P, D and the maps between them."""

    @lazy
    def own(self) -> tuple[np.ndarray, np.ndarray]:
        """The places of the true classes in a matrix of a column a class."""
        return np.arange(self.n), self.y

    def probabilities(self, Z: np.ndarray) -> tuple[np.ndarray, float]:
        top = Z.max(axis=1)
        P = np.exp(Z - top[:, None])
        total, behind = P.sum(axis=1), top - Z[self.own]
        # Where the true class has the largest score the logarithm is that of 1 + the others: a tiny loss keeps its digits.
        others = P.copy()
        others[self.own] = 0.0
        loss = np.where(behind == 0.0, np.log1p(others.sum(axis=1)), np.log(total) + behind)
        P /= total[:, None]
        return P, float((self.c * loss).sum())

    def entropy(self, U: np.ndarray) -> float:
        P = U / -self.c[:, None]
        P[self.own] = 0.0
        others = P.sum(axis=1)
        own = 1.0 - others
        last = np.where(own > 0.0, own, 0.0) * np.log1p(-np.where(own > 0.0, others, 0.0))
        return float((self.c * (-xlogy(P, P).sum(axis=1) - last)).sum())

    def dual_of(self, P: np.ndarray) -> np.ndarray:
        U = P * (-self.c * (1.0 - 4.0 * self.K * UNIT))[:, None]
        U[self.own] = 0.0
        U[self.own] = -U.sum(axis=1)
        return U
