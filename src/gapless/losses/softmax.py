"""Softmax loss of K scores: ln sum_k e^(z_k) - z_y, y the true class.

Conjugate: l*(y, v) = sum_k p_k ln p_k with p = v + e_y, where p is a point of the simplex, else infinity.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax, xlog1py, xlogy

from gapless.losses.arrays import answer, numbers
from gapless.losses.facts import declare_facts


@declare_facts(smooth=True, largest_curvature=0.5, of_margin=False, one_score=False, entropic=True)
class Softmax(NamedTuple):
    """``ln sum_k e^(z_k) - z_y``: minus the log-likelihood of class y under the shares e^(z_k) / sum e^z.

    For K = 2 it is the logistic loss of z_1 - z_0.
    ``z`` is (..., K), the scores of K classes; ``y`` (...), the number of the true class, from 0 on.
    """

    def value(self, z: Any, y: Any) -> Any:
        """The loss of the scores z: (...)."""
        z, y = _scores_and_classes("z", z, y)
        rest = z - np.take_along_axis(z, y[..., None], -1)  # 0 at y
        top = rest.max(axis=-1)
        others = np.exp(rest - top[..., None])
        np.put_along_axis(others, y[..., None], 0.0, -1)
        # e^(-top) is the true class's own term: taken apart, a tiny loss keeps its digits.
        own, left = np.exp(-top), others.sum(axis=-1)
        return answer(np.where(top > 0.0, top + np.log(own + left), np.log1p(left)))

    def slope(self, z: Any, y: Any) -> Any:
        """Its gradient in z, (..., K): the shares, less 1 at y."""
        z, y = _scores_and_classes("z", z, y)
        p = softmax(z, axis=-1)
        own = np.take_along_axis(p, y[..., None], -1)
        np.put_along_axis(p, y[..., None], 0.0, -1)
        small = p.sum(axis=-1, keepdims=True)
        np.put_along_axis(p, y[..., None], np.where(own > 0.5, -small, own - 1.0), -1)
        return p

    def conjugate(self, v: Any, y: Any) -> Any:
        """``sup over z of <v, z> - loss``: sum_k p_k ln p_k with p = v + e_y where p >= 0 and sum p = 1 (to 4K units of
        rounding), infinite elsewhere."""
        v, y = _scores_and_classes("v", v, y)
        off = v.sum(axis=-1)
        others = v.copy()
        np.put_along_axis(others, y[..., None], 0.0, -1)
        moved = others.sum(axis=-1)  # 1 - p_y
        room = 4.0 * v.shape[-1] * np.finfo(float).eps
        inside = (others >= 0.0).all(axis=-1) & (moved <= 1.0 + room) & (np.abs(off) <= room)
        shares, moved = np.where(inside[..., None], others, 0.0), np.where(inside, np.minimum(moved, 1.0), 0.0)
        return answer(np.where(inside, xlogy(shares, shares).sum(axis=-1) + xlog1py(1.0 - moved, -moved), math.inf))


def _scores_and_classes(name: str, given: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """(..., K) floats and (...) class numbers, broadcast against each other."""
    scores, classes = numbers(name, given), np.asarray(y)
    if scores.ndim == 0 or scores.shape[-1] < 2:
        raise ValueError(f"{name} must be an array (..., K) with K >= 2 scores; got shape {scores.shape}")
    K = scores.shape[-1]
    whole = numbers("y", y)
    wrong = whole[(whole != np.floor(whole)) | (whole < 0) | (whole >= K)]
    if wrong.size:
        raise ValueError(f"y must be the number of a class, 0 to {K - 1}; got {wrong.flat[0]:g}")
    lead = np.broadcast_shapes(scores.shape[:-1], classes.shape)
    return np.broadcast_to(scores, (*lead, K)), np.broadcast_to(whole.astype(np.intp), lead)
