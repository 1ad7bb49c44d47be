"""Perceptron criterion: max(0, -yz), y = +1 or -1.  Conjugate: l*(y, v) = 0 on -1 <= vy <= 0.

Its sum over the rows is Rosenblatt's D(w, b); one subgradient step on one row is the perceptron's update.  It has no
margin: the sum is 0, its least value, at (w, b) = (0, 0) on any data, separable or not, so that its minimum says nothing.
What the perceptron looks for is a point where every row has yz > 0, and there the sum is 0 as well.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gapless.losses.arrays import answer, numbers, signs
from gapless.losses.facts import declare_facts


@declare_facts(smooth=False, largest_slope=1.0, largest_conjugate=0.0, least_sum=0.0)
class Perceptron(NamedTuple):
    """``max(0, -yz)``, Rosenblatt's criterion: 0 on the right side, without a margin.

    Its sum over any data is 0, its least value, at w = 0 and b = 0: the minimum alone says nothing.
    ``y`` is -1 or +1, ``z`` the score. Numbers give a number; arrays are broadcast.
    """

    def value(self, z: Any, y: Any) -> Any:
        """The loss of the score z."""
        return answer(np.maximum(0.0, -signs(y) * numbers("z", z)))

    def slope(self, z: Any, y: Any) -> Any:
        """Its derivative in z: -y on the wrong side, else 0; at the kink z = 0 the one nearest to 0."""
        y = signs(y)
        return answer(np.where(y * numbers("z", z) < 0.0, -y, 0.0))

    def conjugate(self, v: Any, y: Any) -> Any:
        """``sup over z of vz - loss``: 0 where -1 <= vy <= 0, infinite elsewhere, at ``v``."""
        product = numbers("v", v) * signs(y)
        return answer(np.where((product >= -1.0) & (product <= 0.0), 0.0, math.inf))
