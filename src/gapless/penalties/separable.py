"""Omega(w) = sum_j l1 |w_j| + l2/2 w_j^2 where low <= w_j <= high, else infinity; low <= 0 <= high.

Conjugate, coordinate by coordinate, with s = sign(v) max(|v| - l1, 0), what is left of v beyond l1:

    l2 > 0     v w - omega(w) at w = s / l2, moved into [low, high]
    l2 = 0     high s where s > 0, low s where s < 0: infinite where that bound is
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Separable:
    """``sum l1 |w_j| + l2/2 w_j^2`` on ``low <= w_j <= high``.

    Attributes
    ----------
    l1 : the weight of the absolute values
    l2 : the weight of half the squares
    low : lower bound of every coordinate, at most 0
    high : upper bound of every coordinate, at least 0
    """

    l1: float = 0.0
    l2: float = 0.0
    low: float = -np.inf
    high: float = np.inf

    def __post_init__(self) -> None:
        if not (0.0 <= self.l1 < np.inf and 0.0 <= self.l2 < np.inf):
            raise ValueError(f"l1 and l2 have to be finite and at least 0; got {self.l1} and {self.l2}")
        if not self.low <= 0.0 <= self.high:
            raise ValueError(f"0 has to lie between low and high; got {self.low} and {self.high}")

    def value(self, w: Any) -> float:
        """Omega(w), infinite where a bound is not kept."""
        w = np.asarray(w, dtype=float)
        if w.size and (w.min() < self.low or w.max() > self.high):
            return np.inf
        return float(self.l1 * np.abs(w).sum() + 0.5 * self.l2 * (w * w).sum())

    def beyond(self, v: Any) -> Array:
        """s: what is left of v beyond l1."""
        v = np.asarray(v, dtype=float)
        return np.sign(v) * np.maximum(np.abs(v) - self.l1, 0.0)

    def excess(self, v: Any) -> Array:
        """How far each v_j is outside the domain of the conjugate, which is everything where l2 > 0 or a bound is finite."""
        s = self.beyond(v)
        out = np.zeros_like(s)
        if self.l2 == 0.0 and self.high == np.inf:
            out += np.maximum(s, 0.0)
        if self.l2 == 0.0 and self.low == -np.inf:
            out += np.maximum(-s, 0.0)
        return out

    def conjugate(self, v: Any) -> float:
        """Omega*(v), infinite outside its domain."""
        s = self.beyond(v)
        if self.l2 > 0.0:
            w = np.clip(s / self.l2, self.low, self.high)
            return float((s * w - 0.5 * self.l2 * w * w).sum())
        ends = np.where(s > 0.0, self.high, self.low)
        with np.errstate(invalid="ignore"):
            return float(np.where(s == 0.0, 0.0, s * ends).sum())

    def prox(self, v: Any, step: float = 1.0) -> Array:
        """argmin over w of ``1/2 |w - v|^2 + step Omega(w)``."""
        v = np.asarray(v, dtype=float)
        shrunk = np.sign(v) * np.maximum(np.abs(v) - step * self.l1, 0.0) / (1.0 + step * self.l2)
        return np.clip(shrunk, self.low, self.high)

    def distance(self, w: Any, g: Any) -> Array:
        """How far each ``-g_j`` is from the subdifferential of Omega at w_j, which has to lie within its bounds."""
        w, g = np.asarray(w, dtype=float), np.asarray(g, dtype=float)
        # The subdifferential is the interval [below, above].
        smooth = self.l2 * w
        above = np.where(w >= self.high, np.inf, smooth + np.where(w >= 0.0, self.l1, -self.l1))
        below = np.where(w <= self.low, -np.inf, smooth + np.where(w <= 0.0, -self.l1, self.l1))
        return np.maximum(np.maximum(below + g, -g - above), 0.0)


def l1(weight: float, *, positive: bool = False) -> Separable:
    """``weight |w|_1``, on ``w >= 0`` where ``positive``."""
    return Separable(l1=weight, low=0.0 if positive else -np.inf)


def l2(weight: float, *, positive: bool = False) -> Separable:
    """``weight/2 |w|^2``, on ``w >= 0`` where ``positive``."""
    return Separable(l2=weight, low=0.0 if positive else -np.inf)


def elastic_net(weight: float, ratio: float, *, positive: bool = False) -> Separable:
    """``weight (ratio |w|_1 + (1 - ratio)/2 |w|^2)``, on ``w >= 0`` where ``positive``."""
    return Separable(weight * ratio, weight * (1.0 - ratio), 0.0 if positive else -np.inf)


def box(low: float, high: float) -> Separable:
    """0 on ``low <= w_j <= high``, infinity elsewhere."""
    return Separable(low=low, high=high)
