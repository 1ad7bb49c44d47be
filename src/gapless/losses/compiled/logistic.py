"""Logistic loss: ln(1 + e^(-yz)), y = +1 or -1.  Conjugate: a ln a + (1 - a) ln(1 - a) with a = -vy in [0, 1]."""

from __future__ import annotations

import math

from gapless.losses.logistic import Logistic
from gapless.losses.scalar import entropy, exp_below, expit, log1p_share
from gapless.losses.verbs import bind


# |yz| = |z|: written so that a loop over value, slope and curvature computes one exponential and one quotient.
def value(loss, z, y):
    return max(-y * z, 0.0) + log1p_share(exp_below(-abs(z)))


def slope(loss, z, y):
    e = exp_below(-abs(z))
    r = 1.0 / (1.0 + e)
    return -y * (e * r if y * z >= 0.0 else r)


def curvature(loss, z, y):
    e = exp_below(-abs(z))
    r = 1.0 / (1.0 + e)
    return (e * r) * r


def conjugate(loss, v, y):
    a = -v * y
    return entropy(a) if 0.0 <= a <= 1.0 else math.inf


def dual_of(loss, z, y):
    return y * expit(-y * z)


def dual_slope(loss, u, z, c, y):
    a = u * y / c
    return z + y * (math.log(a) - math.log1p(-a))


def dual_step(loss, u, z, q, c, y):
    # With a = alpha/c = expit(t) the top of D solves  t + qc (expit(t) - a_old) + yz = 0.  The left side rises with a
    # slope of at least 1: Newton inside a bracket, and bisection wherever Newton does not halve its last step.  It starts
    # where it ended last time: near the optimum one or two rounds will do.
    a_old = u * y / c
    qc = q * c
    base = y * z - qc * a_old
    low, high = -base - qc, -base
    a, t = a_old, low - 1.0
    if 0.0 < a_old < 1.0:
        t = math.log(a_old / (1.0 - a_old))
    if not low <= t <= high:
        t = 0.5 * (low + high)
        e = math.exp(-abs(t))  # one at a time libm is faster
        a = (1.0 if t >= 0.0 else e) / (1.0 + e)
    last = high - low
    for _ in range(200):
        f = t + qc * a + base
        if f > 0.0:
            high = t
        else:
            low = t
        t_new = t - f / (1.0 + qc * a * (1.0 - a))
        enough = 1e-3  # of a step of Newton's: what is left is below half its square
        # The ends belong to the bracket: where a is 0 or 1 but for rounding, one of them is the solution.
        if not (low <= t_new <= high) or abs(t_new - t) > 0.5 * last:
            t_new, enough = 0.5 * (low + high), 1e-15
        last = abs(t_new - t)
        t = t_new
        e = math.exp(-abs(t))
        a = (1.0 if t >= 0.0 else e) / (1.0 + e)
        if last <= max(enough, 1e-15 * abs(t)):
            break
    return y * c * a


bind(Logistic, globals())
