"""Squared hinge loss: max(0, 1 - yz)^2, y = +1 or -1.  Conjugate: l*(y, v) = vy + v^2/4 on vy <= 0."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gapless.losses.arrays import answer, numbers, signs
from gapless.losses.facts import declare_facts


@declare_facts(smooth=True, largest_curvature=2.0, dual_ends=(0.0, math.inf), conjugate_curvature=0.5)
class SquaredHinge(NamedTuple):
    """``max(0, 1 - yz)^2``: the hinge without its kink.

    ``y`` is -1 or +1, ``z`` the score. Numbers give a number; arrays are broadcast.
    """

    def value(self, z: Any, y: Any) -> Any:
        """The loss of the score z."""
        return answer(np.maximum(0.0, 1.0 - signs(y) * numbers("z", z)) ** 2)

    def slope(self, z: Any, y: Any) -> Any:
        """Its derivative in z."""
        y = signs(y)
        return answer(-2.0 * y * np.maximum(0.0, 1.0 - y * numbers("z", z)))

    def conjugate(self, v: Any, y: Any) -> Any:
        """``sup over z of vz - loss``: vy + v^2/4 where vy <= 0, infinite elsewhere."""
        a = -numbers("v", v) * signs(y)
        return answer(np.where(a >= 0.0, a * (0.25 * a - 1.0), math.inf))
