"""The verbs of a loss on all examples at once, in numpy: for small data, where no kernel is compiled.

Written as the scalar verbs of `losses/compiled` are; exp and log are numpy's and scipy's, which are as sharp. A loss without an
entry here is computed by kernels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlog1py, xlogy

from gapless.losses.hinge import Hinge
from gapless.losses.logistic import Logistic
from gapless.losses.squared_hinge import SquaredHinge


class Derivatives(NamedTuple):
    """l, l' and l'' at the scores of all examples."""

    value: np.ndarray
    slope: np.ndarray
    curvature: np.ndarray


def curvatures(loss: Any, z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """l'' at the scores z, of a smooth loss."""
    if not loss.of_margin:
        return _differentiate_squared(z, y).curvature
    found: np.ndarray = differentiate(loss, z, y).curvature
    return found


def has_vectors(loss: type) -> bool:
    """Whether numpy can compute a loss."""
    return loss in _of_loss


def differentiate(loss: Any, z: np.ndarray, y: np.ndarray) -> Derivatives:
    """l, l' and l'' at the scores z."""
    found: Derivatives = _of_loss[type(loss)][0](z, y)
    return found


def conjugate(loss: Any, alpha: np.ndarray) -> np.ndarray:
    """l*(y, -u/c) for the shares alpha = uy/c."""
    found: np.ndarray = _of_loss[type(loss)][1](alpha)
    return found


def _differentiate_hinge(z: np.ndarray, y: np.ndarray) -> Derivatives:
    xi = np.maximum(0.0, 1.0 - y * z)
    return Derivatives(xi, np.where(xi > 0.0, -y, 0.0), np.zeros_like(xi))


def _conjugate_hinge(alpha: np.ndarray) -> np.ndarray:
    return np.where((alpha >= 0.0) & (alpha <= 1.0), -alpha, np.inf)


def _differentiate_squared_hinge(z: np.ndarray, y: np.ndarray) -> Derivatives:
    xi = np.maximum(0.0, 1.0 - y * z)
    return Derivatives(xi * xi, -2.0 * y * xi, np.where(xi > 0.0, 2.0, 0.0))


def _conjugate_squared_hinge(alpha: np.ndarray) -> np.ndarray:
    return np.where(alpha >= 0.0, alpha * (0.25 * alpha - 1.0), np.inf)


def _differentiate_logistic(z: np.ndarray, y: np.ndarray) -> Derivatives:
    # |yz| = |z|: one exponential and one quotient for all three.
    m = y * z
    e = np.exp(-np.abs(z))
    r = 1.0 / (1.0 + e)
    rest = e * r
    return Derivatives(np.maximum(-m, 0.0) + np.log1p(e), -y * np.where(m >= 0.0, rest, r), rest * r)


def _conjugate_logistic(alpha: np.ndarray) -> np.ndarray:
    inside = (alpha >= 0.0) & (alpha <= 1.0)
    share = np.where(inside, alpha, 0.0)
    return np.where(inside, xlogy(share, share) + xlog1py(1.0 - share, -share), np.inf)


def _differentiate_squared(z: np.ndarray, y: np.ndarray) -> Derivatives:
    off = z - y
    return Derivatives(0.5 * off * off, off, np.ones_like(off))


_of_loss: dict[type, Any] = {
    Hinge: (_differentiate_hinge, _conjugate_hinge),
    SquaredHinge: (_differentiate_squared_hinge, _conjugate_squared_hinge),
    Logistic: (_differentiate_logistic, _conjugate_logistic),
}
