"""Epsilon-insensitive loss: max(0, |y - z| - epsilon), any real y.  Conjugate: l*(y, v) = vy + epsilon |v| on |v| <= 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from gapless._runtime.written import written
from gapless.losses.arrays import answer, numbers


@dataclass(frozen=True)
class EpsilonInsensitive:
    """``max(0, |y - z| - epsilon)``, the loss of support vector regression: residuals up to epsilon cost nothing.

    ``y`` is any number, ``z`` the score. Numbers give a number; arrays are broadcast.

    Attributes
    ----------
    epsilon : half the width of the tube within which nothing is paid
    """

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        good = isinstance(self.epsilon, Real) and not isinstance(self.epsilon, bool)
        if not good or not 0.0 <= float(self.epsilon) < math.inf:
            raise ValueError(f"epsilon must be a float in the range [0.0, inf); got {written(self.epsilon)}")

    @property
    def largest_curvature(self) -> float:
        """The largest second derivative; infinite where the slope jumps."""
        return math.inf

    def value(self, z: Any, y: Any) -> Any:
        """The loss of the score z."""
        return answer(np.maximum(0.0, np.abs(numbers("y", y) - numbers("z", z)) - self.epsilon))

    def slope(self, z: Any, y: Any) -> Any:
        """Its derivative in z: +1 above the tube, -1 below, else 0; at a kink the one nearest to 0."""
        off = numbers("z", z) - numbers("y", y)
        return answer(np.where(np.abs(off) > self.epsilon, np.sign(off), 0.0))

    def conjugate(self, v: Any, y: Any) -> Any:
        """``sup over z of vz - loss``: vy + epsilon |v| where |v| <= 1, infinite elsewhere."""
        v = numbers("v", v)
        return answer(np.where(np.abs(v) <= 1.0, v * numbers("y", y) + self.epsilon * np.abs(v), math.inf))
