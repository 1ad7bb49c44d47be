"""Logistic loss: ln(1 + e^(-yz)), y = +1 or -1.  Conjugate: a ln a + (1 - a) ln(1 - a) with a = -vy in [0, 1]."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from gapless.losses.arrays import answer, numbers, signs
from gapless.losses.facts import declare_facts


# The entropy is at most ln 2 = 0.693.
@declare_facts(smooth=True, largest_curvature=0.25, entropic=True, largest_slope=1.0, largest_conjugate=0.7)
class Logistic(NamedTuple):
    """``ln(1 + e^(-yz))``: minus the log-likelihood of y, where the probability of +1 is 1/(1 + e^(-z)).

    ``y`` is -1 or +1, ``z`` the score; of labels t = 0 and 1 it is the cross-entropy -t ln p - (1 - t) ln(1 - p), y = 2t - 1
    (`gapless.theory.cross_entropy`). Numbers give a number; arrays are broadcast.
    """

    def value(self, z: Any, y: Any) -> Any:
        """The loss of the score z."""
        m = signs(y) * numbers("z", z)
        return answer(np.maximum(-m, 0.0) + np.log1p(np.exp(-np.abs(m))))

    def slope(self, z: Any, y: Any) -> Any:
        """Its derivative in z: p - 1 for y = +1 and p for y = -1, with p = 1/(1 + e^(-z))."""
        y = signs(y)
        return answer(-y * expit(-y * numbers("z", z)))

    def conjugate(self, v: Any, y: Any) -> Any:
        """``sup over z of vz - loss``: a ln a + (1 - a) ln(1 - a) with a = -vy where 0 <= a <= 1, else infinite, at ``v``."""
        a = -numbers("v", v) * signs(y)
        inside = (a >= 0.0) & (a <= 1.0)
        share = np.where(inside, a, 0.0)
        return answer(np.where(inside, xlogy(share, share) + xlog1py(1.0 - share, -share), math.inf))
