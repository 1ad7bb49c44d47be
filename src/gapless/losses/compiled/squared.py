"""Squared loss: (y - z)^2 / 2, any real y.  Conjugate: l*(y, v) = vy + v^2/2."""

from __future__ import annotations

from gapless.losses.squared import Squared
from gapless.losses.verbs import bind


def value(loss, z, y):
    return 0.5 * (y - z) * (y - z)


def slope(loss, z, y):
    return z - y


def curvature(loss, z, y):
    return 1.0


def conjugate(loss, v, y):
    return v * (y + 0.5 * v)


def dual_of(loss, z, y):
    return y - z


def dual_slope(loss, u, z, c, y):
    return z - y + u / c


def dual_step(loss, u, z, q, c, y):
    return u + (y - z - u / c) / (q + 1.0 / c)


bind(Squared, globals())
