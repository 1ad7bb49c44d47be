"""Exponential loss: e^(-yz), y = +1 or -1.  Conjugate: l*(y, v) = a ln a - a with a = -vy >= 0."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from gapless.losses.arrays import answer, numbers, signs
from gapless.losses.facts import declare_facts


@declare_facts(smooth=True, dual_ends=(0.0, math.inf))
class Exponential(NamedTuple):
    """``e^(-yz)``: the loss that AdaBoost lowers round by round, above the 0-1 loss everywhere.

    ``y`` is -1 or +1, ``z`` the score. Numbers give a number; arrays are broadcast.
    """

    def value(self, z: Any, y: Any) -> Any:
        """The loss of the score z; infinite where it is beyond the largest float (yz < -709.7)."""
        with np.errstate(over="ignore"):
            return answer(np.exp(-signs(y) * numbers("z", z)))

    def slope(self, z: Any, y: Any) -> Any:
        """Its derivative in z."""
        y = signs(y)
        with np.errstate(over="ignore"):
            return answer(-y * np.exp(-y * numbers("z", z)))

    def conjugate(self, v: Any, y: Any) -> Any:
        """``sup over z of vz - loss``: a ln a - a with a = -vy where a >= 0, infinite elsewhere, at ``v``."""
        a = -numbers("v", v) * signs(y)
        share = np.maximum(a, 0.0)
        return answer(np.where(a >= 0.0, xlogy(share, share) - share, math.inf))
