"""Squared hinge loss: max(0, 1 - yz)^2, y = +1 or -1.  Conjugate: l*(y, v) = vy + v^2/4 on vy <= 0."""

from __future__ import annotations

import math

from gapless.losses.squared_hinge import SquaredHinge
from gapless.losses.verbs import bind


def value(loss, z, y):
    xi = max(0.0, 1.0 - y * z)
    return xi * xi


def slope(loss, z, y):
    return -2.0 * y * max(0.0, 1.0 - y * z)


def curvature(loss, z, y):
    return 2.0 if y * z < 1.0 else 0.0


def conjugate(loss, v, y):
    a = -v * y
    return a * (0.25 * a - 1.0) if a >= 0.0 else math.inf


def dual_of(loss, z, y):
    return 2.0 * y * max(0.0, 1.0 - y * z)


def dual_slope(loss, u, z, c, y):
    return z - y + 0.5 * u / c


def dual_step(loss, u, z, q, c, y):
    # D is quadratic in alpha = uy with slope 1 - yz - alpha/(2c) and curvature -(q + 1/(2c)).
    alpha = u * y
    half = 0.5 / c
    return y * max(0.0, alpha + (1.0 - y * z - alpha * half) / (q + half))


bind(SquaredHinge, globals())
