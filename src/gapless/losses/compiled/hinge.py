"""Hinge loss: max(0, 1 - yz), y = +1 or -1.  Conjugate: l*(y, v) = vy on -1 <= vy <= 0."""

from __future__ import annotations

import math

from gapless.losses.hinge import Hinge
from gapless.losses.verbs import bind


def value(loss, z, y):
    return max(0.0, 1.0 - y * z)


def slope(loss, z, y):
    return -y if y * z < 1.0 else 0.0


def curvature(loss, z, y):
    return 0.0


def conjugate(loss, v, y):
    a = -v * y
    return -a if 0.0 <= a <= 1.0 else math.inf


def dual_of(loss, z, y):
    return y if y * z < 1.0 else 0.0


def dual_slope(loss, u, z, c, y):
    return z - y


def dual_step(loss, u, z, q, c, y):
    # D is quadratic in alpha = uy with slope 1 - yz and curvature -q: its top, pulled back into [0, c].
    alpha = u * y
    g = 1.0 - y * z
    if q > 0.0:
        alpha = min(max(alpha + g / q, 0.0), c)
    elif g > 0.0:
        alpha = c
    elif g < 0.0:
        alpha = 0.0
    return alpha * y


bind(Hinge, globals())
