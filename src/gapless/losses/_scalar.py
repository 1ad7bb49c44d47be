"""Scalar functions that several losses need, written once and stably."""

from __future__ import annotations

import math

from numba.extending import register_jitable


@register_jitable
def log1pexp(t: float) -> float:
    """ln(1 + e^t). By sign, so that e^t never overflows and a tiny e^t is not lost against 1."""
    if t > 0.0:
        return t + math.log1p(math.exp(-t))
    return math.log1p(math.exp(t))


@register_jitable
def expit(t: float) -> float:
    """1 / (1 + e^-t), to full relative precision on both sides."""
    if t >= 0.0:
        return 1.0 / (1.0 + math.exp(-t))
    e = math.exp(t)
    return e / (1.0 + e)


@register_jitable
def entropy(a: float) -> float:
    """a ln a + (1 - a) ln(1 - a) on [0, 1], 0 at both ends. Both terms are negative: nothing cancels."""
    s = 0.0
    if a > 0.0:
        s += a * math.log(a)
    if a < 1.0:
        s += (1.0 - a) * math.log1p(-a)
    return s
