"""Entropy, cross-entropy and the divergence between two distributions; and why the logistic loss is one of them.

    H(p)     = -sum_k p_k ln p_k              what an outcome of p tells, on average
    H(p, q)  = -sum_k p_k ln q_k              the same, told by somebody who believes q
    KL(p, q) =  sum_k p_k ln(p_k / q_k)       what that belief costs: 0 where q = p, positive elsewhere
    H(p, q)  =  H(p) + KL(p, q)

H(p) does not depend on the model q: to minimise the cross-entropy over models is to minimise the divergence.  A label is a
distribution too, all on one class.  With t = 0 or 1 and q = 1/(1 + e^(-z)) its cross-entropy is -t ln q - (1 - t) ln(1 - q) =
ln(1 + e^(-yz)) with y = 2t - 1, and its derivative in the score z is q - t = -y / (1 + e^(yz)): both label forms have one loss,
the logistic, and one gradient.  With K classes and q = softmax(z) it is the softmax loss.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import entr, kl_div, xlogy

from gapless._runtime.written import written

__all__ = ["cross_entropy", "entropy", "kl"]


def entropy(p: Any, *, base: float = math.e) -> Any:
    """``H(p) = -sum p ln p``: 0 where one outcome is certain, ln K where all K are alike.

    Parameters
    ----------
    p : array (..., K) of probabilities that sum to 1 along the last axis; or a number, the probability of one of two outcomes
    base : float
        Of the logarithm: e gives nats, 2 gives bits.

    Returns
    -------
    float, or an array (...)
    """
    return _in_units(entr(_distribution("p", p)).sum(axis=-1), base)


def cross_entropy(p: Any, q: Any, *, base: float = math.e) -> Any:
    """``H(p, q) = -sum p ln q``, infinite where q excludes what p does not. ``H(p, q) = entropy(p) + kl(p, q)``.

    With p the label (all on the true class) and q the probabilities of a model it is the logistic, or the softmax, loss.

    Parameters
    ----------
    p, q : arrays (..., K) of probabilities that sum to 1 along the last axis, broadcast; numbers are those of two outcomes
    base : float
        Of the logarithm: e gives nats, 2 gives bits.
    """
    p, q = _pair(p, q)
    return _in_units(-xlogy(p, q).sum(axis=-1) + 0.0, base)


def kl(p: Any, q: Any, *, base: float = math.e) -> Any:
    """``KL(p, q) = sum p ln(p/q)``, Kullback and Leibler's divergence: 0 where q = p, positive elsewhere, not symmetric.

    Parameters
    ----------
    p, q : arrays (..., K) of probabilities that sum to 1 along the last axis, broadcast; numbers are those of two outcomes
    base : float
        Of the logarithm: e gives nats, 2 gives bits.
    """
    p, q = _pair(p, q)
    # p ln(p/q) - p + q: no term is negative, so that nothing cancels where p and q are close; -p + q adds up to 0.
    return _in_units(kl_div(p, q).sum(axis=-1), base)


def _pair(p: Any, q: Any) -> tuple[np.ndarray, np.ndarray]:
    first, second = _distribution("p", p), _distribution("q", q)
    if first.shape[-1] != second.shape[-1]:
        raise ValueError(f"p has {first.shape[-1]} outcomes and q has {second.shape[-1]}")
    return first, second


def _distribution(name: str, given: Any) -> np.ndarray:
    """(..., K) probabilities; a number p is (1 - p, p)."""
    # By how much the shares of a distribution may miss 1: more than the rounding of a million of them.
    sum_tolerance = 1e-9
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number or an array of probabilities; got {written(given)}") from None
    if found.ndim == 0:
        if not 0.0 <= found <= 1.0:
            raise ValueError(f"{name} must be a probability, in the range [0, 1]; got {found:g}")
        found = np.stack([1.0 - found, found])
    if found.shape[-1] == 0:
        raise ValueError(f"{name} has no outcomes: its shape is {found.shape}")
    wrong = ~((found >= 0.0) & (found <= 1.0 + sum_tolerance))
    if wrong.any():
        place = tuple(int(k) for k in np.argwhere(wrong)[0])
        raise ValueError(f"{name}{list(place)} must be a probability, in the range [0, 1]; got {found[place]:g}")
    off = np.abs(found.sum(axis=-1) - 1.0)
    if (off > sum_tolerance).any():
        place = tuple(int(k) for k in np.argwhere(off > sum_tolerance)[0])
        total, where = found.sum(axis=-1)[place], f"{name}{list(place)}" if place else name
        raise ValueError(f"{where} must sum to 1 along the last axis; its sum is {total:.12g}")
    return found


def _in_units(nats: np.ndarray, base: float) -> Any:
    if not isinstance(base, Real) or isinstance(base, bool) or not 1.0 < base < math.inf:
        raise ValueError(f"base must be a float in the range (1.0, inf); got {written(base)}")
    found = nats if base == math.e else nats / math.log(base)
    return float(found) if np.ndim(found) == 0 else found
