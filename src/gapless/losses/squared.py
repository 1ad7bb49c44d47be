"""Squared loss: (y - z)^2 / 2, any real y.  Conjugate: l*(y, v) = vy + v^2/2."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from gapless.losses.arrays import answer, numbers
from gapless.losses.facts import declare_facts


@declare_facts(
    smooth=True, largest_curvature=1.0, of_margin=False, dual_ends=(-math.inf, math.inf), conjugate_curvature=1.0
)
class Squared(NamedTuple):
    """``(y - z)^2 / 2``: the loss of least squares.

    ``y`` is any number, ``z`` the score. Numbers give a number; arrays are broadcast.
    """

    def value(self, z: Any, y: Any) -> Any:
        """The loss of the score z."""
        return answer(0.5 * (numbers("y", y) - numbers("z", z)) ** 2)

    def slope(self, z: Any, y: Any) -> Any:
        """Its derivative in z."""
        return answer(numbers("z", z) - numbers("y", y))

    def conjugate(self, v: Any, y: Any) -> Any:
        """``sup over z of vz - loss``: vy + v^2/2, finite for every v."""
        v = numbers("v", v)
        return answer(v * (numbers("y", y) + 0.5 * v))
