"""The losses as enclosures: l, its slope, and the terms of the dual, each between two floats.

    hinge           max(0, 1 - yz)        dual term  alpha                                0 <= alpha <= c
    squared_hinge   max(0, 1 - yz)^2                 alpha - alpha^2 / (4c)               0 <= alpha
    logistic        ln(1 + e^(-yz))                  c h(alpha / c)                       0 <= alpha <= c
    squared         1/2 (y - z)^2                    u y - u^2 / (2c)                     u free
    hard_margin     0 where yz >= 1, else inf        alpha                                0 <= alpha

with alpha = u y and h(p) = -p ln p - (1-p) ln(1-p).  y is +1 or -1 but for the squared loss, where it is any number.
"""

from __future__ import annotations

import numpy as np

from ..arithmetic.elementary import entropy_bounds, logistic_bounds, softplus_bounds
from ..arithmetic.rounding import down, up

#: In a document the hard margin is a hinge with C = inf.
HARD = "hard_margin"

Bounds = tuple[np.ndarray, np.ndarray]


def refuse_unknown(loss: str, *known: str) -> None:
    """A loss that has no formula is not judged by that of another one."""
    if loss not in known:
        raise ValueError(f"unknown loss {loss!r}")


def _margins(y: np.ndarray, z_low: np.ndarray, z_high: np.ndarray) -> Bounds:
    """yz, exactly, for y = +-1."""
    return np.where(y > 0, z_low, -z_high), np.where(y > 0, z_high, -z_low)


def _slack(y: np.ndarray, z_low: np.ndarray, z_high: np.ndarray) -> Bounds:
    """max(0, 1 - yz)"""
    low, high = _margins(y, z_low, z_high)
    return np.maximum(0.0, down(1.0 - high)), np.maximum(0.0, up(1.0 - low))


def loss_bounds(loss: str, y: np.ndarray, z_low: np.ndarray, z_high: np.ndarray) -> Bounds:
    """l(y, z) for every z in [z_low, z_high]."""
    if loss == "logistic":
        low, high = _margins(y, z_low, z_high)
        return softplus_bounds(-high)[0], softplus_bounds(-low)[1]
    if loss == "squared":
        low, high = down(y - z_high), up(y - z_low)
        nearest = np.maximum(0.0, np.maximum(low, -high))
        farthest = np.maximum(np.abs(low), np.abs(high))
        return np.maximum(0.0, down(0.5 * down(nearest * nearest))), up(0.5 * up(farthest * farthest))
    low, high = _slack(y, z_low, z_high)
    if loss == "hinge":
        return low, high
    if loss == HARD:
        # Without a subtraction: 1 - yz rounded outward would deny a margin that is exactly 1.
        low, high = _margins(y, z_low, z_high)
        return np.where(high < 1.0, np.inf, 0.0), np.where(low < 1.0, np.inf, 0.0)
    refuse_unknown(loss, "squared_hinge")
    return np.maximum(0.0, down(low * low)), up(high * high)


def slope_bounds(loss: str, y: np.ndarray, z_low: np.ndarray, z_high: np.ndarray) -> Bounds:
    """l'(y, z), the derivative in z, for every z in [z_low, z_high]; it grows with z. The hinge has none at its kink."""
    if loss == "squared":
        return down(z_low - y), up(z_high - y)
    if loss == "squared_hinge":
        low, high = _slack(y, z_low, z_high)
        low, high = 2.0 * low, 2.0 * high
    elif loss == "logistic":
        m_low, m_high = _margins(y, z_low, z_high)
        low, high = logistic_bounds(m_high)[0], logistic_bounds(m_low)[1]
    else:
        raise ValueError(f"the {loss} loss has no slope everywhere")
    # l' = -y * (a number in [low, high])
    return np.where(y > 0, -high, low), np.where(y > 0, -low, high)


def feasible(loss: str, y: np.ndarray, c: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Which u_i lie in the domain of the dual, decided without rounding; u_i = 0 where c_i = 0."""
    if loss == "squared":
        return np.isfinite(u) & ((c > 0) | (u == 0))
    refuse_unknown(loss, "hinge", "squared_hinge", "logistic", HARD)
    alpha = u * y  # exact
    inside = np.isfinite(u) & (alpha >= 0)
    return inside & ((c > 0) | (u == 0)) if loss in ("squared_hinge", HARD) else inside & (alpha <= c)


def dual_bounds(loss: str, y: np.ndarray, c: np.ndarray, u: np.ndarray) -> Bounds:
    """The terms -c l*(y, -u/c) of D for feasible u and c > 0."""
    if loss in ("hinge", HARD):
        alpha = u * y
        return alpha, alpha
    if loss == "logistic":
        alpha = u * y
        # h(p) = h(1 - p), and c - alpha is exact where alpha >= c/2 (Sterbenz): take the smaller share.
        small = np.minimum(alpha, c - alpha)
        small = np.where(alpha + alpha <= c, alpha, small)
        ratio = small / c
        low, high = entropy_bounds(np.maximum(0.0, down(ratio)), np.minimum(0.5, up(ratio)))
        zero = small == 0
        return np.where(zero, 0.0, np.maximum(0.0, down(c * low))), np.where(zero, 0.0, up(c * high))
    if loss == "squared_hinge":
        alpha, factor = u * y, 0.25
        linear_low = linear_high = alpha
    else:
        refuse_unknown(loss, "squared")
        factor = 0.5
        linear = u * y
        exact = np.abs(y) == 1.0
        linear_low = np.where(exact, linear, down(linear))
        linear_high = np.where(exact, linear, up(linear))
    # factor u^2 / c >= 0, as u * (u / c), which overflows only where the value does
    size = np.abs(u)
    ratio = size / c
    low = np.maximum(0.0, down(factor * down(size * np.maximum(0.0, down(ratio)))))
    high = up(factor * up(size * up(ratio)))
    return down(linear_low - high), up(linear_high - low)
