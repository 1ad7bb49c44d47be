"""Regularised linear models in numpy: the verbs of `problems/linear`, by ufuncs on all examples at once.

Sums that a certificate is made of are numpy's own, which add pairwise: `linear_rounding` bounds their error, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapless._runtime.cached import lazy
from gapless.backends.numpy.hinge_band import NumpyHingeBand
from gapless.losses.vectors import conjugate, differentiate
from gapless.problems.linear import LinearProblem, Tick
from gapless.problems.linear_sums import LossAtScores


@dataclass(frozen=True, eq=False)
class NumpyLinearProblem(LinearProblem):
    """P, D and the maps between them."""

    @lazy
    def signs(self) -> np.ndarray:
        """y as floats."""
        return self.y.astype(float)

    @lazy
    def masses(self) -> tuple[float, float]:
        positive = self.y > 0
        return float(self.c[positive].sum()), float(self.c[~positive].sum())

    def use_fast_copy(self, large: int | None = None, many: bool = True) -> None:
        """Small rows are in the cache as they are."""

    def new_band(self, start: np.ndarray | None = None, by_changes: bool = False) -> NumpyHingeBand:
        return NumpyHingeBand(self, start, by_changes)

    # -- the loss and its conjugate ------------------------------------------------------------------------------

    def loss_and_gradient(self, theta: np.ndarray, at: LossAtScores, tick: Tick = None) -> tuple[float, np.ndarray]:
        self.scores(theta, tick, out=at.z)
        return self._differentiate_at(at, at.z), self.combine(at.g, tick)

    def derivatives_along(self, at: LossAtScores, along: np.ndarray, t: float) -> tuple[float, float, float]:
        loss = self._differentiate_at(at, at.z + t * along)
        return loss, float(at.g @ along), float((at.h * along) @ along)

    def _differentiate_at(self, at: LossAtScores, z: np.ndarray) -> float:
        """c l' and c l'' at the scores z, into g and h; the sum of c l."""
        found = differentiate(self.loss, z, self.signs)
        np.multiply(self.c, found.slope, out=at.g)
        np.multiply(self.c, found.curvature, out=at.h)
        return float((self.c * found.value).sum())

    def derivatives_in_offset(self, z: np.ndarray, b: float) -> tuple[float, float]:
        found = differentiate(self.loss, z + b, self.signs)
        return float(self.c @ found.slope), float(self.c @ found.curvature)

    def loss_sum(self, z: np.ndarray) -> float:
        return float((self.c * differentiate(self.loss, z, self.signs).value).sum())

    def conjugate_sum(self, u: np.ndarray) -> float:
        return -float((self.c * conjugate(self.loss, u * self.signs / self.c)).sum())

    def conjugate_sizes(self, u: np.ndarray) -> float:
        return float(np.abs(self.c * conjugate(self.loss, u * self.signs / self.c)).sum())

    def mass_below(self, t: np.ndarray, end: float) -> float:
        return float(self.c[t < end].sum())

    # -- maps between w and u ------------------------------------------------------------------------------------

    # Few scores are sorted in no time: where the offset of the hinge is near saves nothing.
    def best_offset(self, z: np.ndarray, near: float | None = None) -> float:
        return super().best_offset(z, near if self.loss.smooth else None)

    def offset_interval(self, z: np.ndarray, near: float | None = None) -> tuple[float, float]:
        return super().offset_interval(z)

    def dual_from_primal(self, theta: np.ndarray, z: np.ndarray | None = None) -> np.ndarray:
        z = self.scores(theta) if z is None else z
        u = -self.c * differentiate(self.loss, z, self.signs).slope
        return self.repair(u, out=u)

    def repair(self, u: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        y, c, bounded = self.signs, self.c, self.loss.dual_ends[1] < np.inf
        alpha = np.maximum(u * y, 0.0)
        if bounded:
            np.minimum(alpha, c, out=alpha)
        for _ in range(3 if self.free else 0):
            r = float((alpha * y).sum())
            if r == 0.0:
                break
            falls = (y > 0.0) == (r > 0.0)
            room = np.where(falls, alpha, c - alpha if bounded else 0.0)
            inside = (alpha > 0.0) & (alpha < c) if bounded else alpha > 0.0
            within = float(room[inside].sum())
            inside_only = within >= abs(r)
            total = within if inside_only else float(room.sum())
            if total <= 0.0:
                break
            moved = min(1.0, abs(r) / total) * room
            moved[falls] *= -1.0
            alpha += np.where(inside, moved, 0.0) if inside_only else moved
            np.maximum(alpha, 0.0, out=alpha)
            if bounded:
                np.minimum(alpha, c, out=alpha)
        return np.multiply(alpha, y, out=out)
