"""The hard margin with a kernel: C-SVC with c = inf.

    P = 1/2 u'Ku   where y_i ((Ku)_i + b) >= 1 for all i for certain, else infinite          w = sum_i u_i phi(x_i)
    D = (sum |u|)^2 / (2 u'Ku) - B |sum u| (sum |u|) / u'Ku                                   alpha = t |u|, the best t >= 0

alpha = t u y >= 0 is dual feasible for every t where sum u = 0, and t sum|u| - t^2/2 u'Ku is largest at t = sum|u| / u'Ku.
B = 1 + R sqrt(2P) >= |b*| prices what sum u misses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapless.gram.blocks import Gram
from gapless.numbers import gamma


class HardMarginFigures(NamedTuple):
    """A point and its figures; ``primal`` is infinite unless every margin is kept for certain."""

    u: np.ndarray
    b: float
    scores: np.ndarray
    primal: float
    dual: float
    gap: float
    rounding: float
    least: float  #: the smallest y f, less a bound on its rounding


def evaluate_hard_margin(gram: Gram, y: np.ndarray, u: np.ndarray, b: float) -> HardMarginFigures:
    """P, D and the gap of (u, b)."""
    rows = np.flatnonzero(u)
    scores = gram.product(rows, u[rows])
    mass = float(np.abs(u).sum())
    R2 = float(np.max(gram.diagonal, initial=0.0))
    norms = np.sqrt(np.maximum(gram.diagonal, 0.0))  # |K_ij| <= norms_i norms_j
    off = mass * gram.error + gamma(rows.size + 2) * float(np.abs(u) @ norms) * norms + 4e-16 * abs(b)
    caution = (
        16.0  # times the rounding bound of scores: the judge's own bound is looser, and must accept the point as well
    )
    least = float((y * (scores + b) - caution * off).min(initial=np.inf))
    square = max(float(u @ scores), 1e-300)
    primal = 0.5 * square if least >= 1.0 else np.inf
    bound = (1.0 + np.sqrt(R2 * square)) * (1.0 + 1e-12)
    missed = abs(float(u.sum()))
    ratio = mass / square
    dual = (0.5 * mass - bound * missed) * ratio
    rounding = float(np.abs(u) @ off) * (1.0 + ratio**2) + gamma(u.size + 8) * (square + mass * ratio * (1.0 + bound))
    return HardMarginFigures(u, b, scores, primal, dual, primal - dual, rounding, least)


def stretch_to_margins(gram: Gram, y: np.ndarray, u: np.ndarray, b: float) -> HardMarginFigures:
    """The multiple of (u, b) that keeps every margin for certain, if some multiple does."""
    found = evaluate_hard_margin(gram, y, u, b)
    for _ in range(4):
        if not found.least > 0.0 or 1.0 <= found.least <= 1.0 + 1e-12:
            break
        stretch = (1.0 + 1e-15) / found.least
        found = evaluate_hard_margin(gram, y, found.u * stretch, found.b * stretch)
    return found
