"""Perceptron criterion: max(0, -yz), y = +1 or -1.  Conjugate: l*(y, v) = 0 on -1 <= vy <= 0.

Its sum over the rows is Rosenblatt's D(w, b); one subgradient step on one row is the perceptron's update.  It has no
margin: the sum is 0, its least value, at (w, b) = (0, 0) on any data, separable or not, so that its minimum says nothing.
What the perceptron looks for is a point where every row has yz > 0, and there the sum is 0 as well.
"""

from __future__ import annotations

import math

from gapless.losses.perceptron import Perceptron
from gapless.losses.verbs import bind


def value(loss, z, y):
    return max(0.0, -y * z)


def slope(loss, z, y):
    return -y if y * z < 0.0 else 0.0


def curvature(loss, z, y):
    return 0.0


def conjugate(loss, v, y):
    return 0.0 if 0.0 <= -v * y <= 1.0 else math.inf


def dual_of(loss, z, y):
    return y if y * z < 0.0 else 0.0


def dual_slope(loss, u, z, c, y):
    return z


def dual_step(loss, u, z, q, c, y):
    # As for the hinge, with slope -yz in the place of 1 - yz.
    alpha = u * y
    g = -y * z
    if q > 0.0:
        alpha = min(max(alpha + g / q, 0.0), c)
    elif g > 0.0:
        alpha = c
    elif g < 0.0:
        alpha = 0.0
    return alpha * y


bind(Perceptron, globals())
