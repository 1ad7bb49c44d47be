"""Hinge loss: max(0, 1 - yz), y = +1 or -1.  Conjugate: l*(y, v) = vy on -1 <= vy <= 0."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gapless.losses.arrays import answer, numbers, signs
from gapless.losses.facts import declare_facts


@declare_facts(smooth=False, conjugate_curvature=0.0, largest_slope=1.0)
class Hinge(NamedTuple):
    """``max(0, 1 - yz)``, the loss of the support vector machine: 0 from the margin yz = 1 on.

    ``y`` is -1 or +1, ``z`` the score. Numbers give a number; arrays are broadcast.
    """

    def value(self, z: Any, y: Any) -> Any:
        """The loss of the score z."""
        return answer(np.maximum(0.0, 1.0 - signs(y) * numbers("z", z)))

    def slope(self, z: Any, y: Any) -> Any:
        """Its derivative in z: -y below the margin, 0 from there on; at the kink yz = 1 the one nearest to 0."""
        y = signs(y)
        return answer(np.where(y * numbers("z", z) < 1.0, -y, 0.0))

    def conjugate(self, v: Any, y: Any) -> Any:
        """``sup over z of vz - loss``: vy where -1 <= vy <= 0, infinite elsewhere, at ``v``."""
        product = numbers("v", v) * signs(y)
        return answer(np.where((product >= -1.0) & (product <= 0.0), product, math.inf))
