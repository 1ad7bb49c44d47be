"""What a cut is worth, and what it takes off the impurity of a node.

A node has rows i with weights w_i and targets; W = sum w, S = sum w t. A cut sends the codes <= c to the left:

    one target  (regression; two classes, t = 0 or 1)    score = (S_L W - S W_L)^2 / (W_L W_R)
    K classes                                            score = sum_k L_k^2 / W_L + sum_k R_k^2 / W_R
    M targets   (several outputs, classes as 0 and 1)    score = sum_m (S_L,m W - S_m W_L)^2 / (W_L W_R)
    entropy     (classes)                                score = sum L ln L - W_L ln W_L + sum R ln R - W_R ln W_R
    deviance    (Poisson, t >= 0)                        score = sum_m S_L ln(S_L W / (W_L S)) + S_R ln(S_R W / (W_R S))

Largest is best, and is where the weighted impurity of the two sides (squared error, Gini, entropy, half the deviance) is
smallest. A later cut must be better by more than rounding (TIE), so that equal cuts go to the lowest threshold.

A kernel of trees compiles only the paths of its fit: an argument that the fit does not have is None, of a type of its own, and
numba leaves the branches out that ask for it. ``k`` is None where the target is not one of many classes, ``Y`` where there
are not several outputs, ``categories`` where no column holds any; on sorted columns ``entropy`` is None for other criteria, and
elsewhere a number that is looked at while the tree grows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gapless._compile.jit import compiled
from gapless.losses.impurity import xlogx

#: Scores that agree to this share are equal: rounding stays well below, different fractions of small counts far above.
TIE = 2.0**-44


@compiled(inner=True)
def better(score: float, best: float, scale: float) -> bool:
    return score > best + TIE * max(scale, best)


@compiled(inner=True)
def allowed(n_left: int, n: int, WL: float, WR: float, stops: Any) -> bool:
    """Whether both sides of a cut are large enough."""
    return (
        n_left >= stops.min_leaf
        and n - n_left >= stops.min_leaf
        and WL >= stops.min_weight
        and WR >= stops.min_weight
        and WL > 0.0
        and WR > 0.0
    )


# -- scores


@compiled(inner=True)
def score_one(SL: float, WL: float, S: float, W: float, entropy: Any) -> float:
    """One target; with entropy, of 0 and 1."""
    WR = W - WL
    if entropy is None or not entropy:
        gap = SL * W - S * WL
        return gap * gap / (WL * WR)
    if entropy == 2:
        return score_deviance(SL, WL, S, W)
    total = xlogx(SL) + xlogx(WL - SL) + xlogx(S - SL) + xlogx(WR - (S - SL))
    return total - (xlogx(WL) + xlogx(WR))


@compiled(inner=True)
def score_deviance(SL: float, WL: float, S: float, W: float) -> float:
    """Of Poisson's deviance; -inf where a side has no targets but 0 (or none that the rounding of S does not hide)."""
    least = 1e-12  # of S: the mean of a side has to be positive, and S - S_L of such a side is rounding
    SR = S - SL
    if SL <= least * S or SR <= least * S:
        return -np.inf
    return SL * math.log(SL * W / (WL * S)) + SR * math.log(SR * W / ((W - WL) * S))


@compiled(inner=True)
def score_classes(L: Any, T: Any, M: int, WL: float, W: float, entropy: Any) -> float:
    """M classes whose left sums are L, out of T."""
    WR = W - WL
    if entropy is None or not entropy:
        a, b = 0.0, 0.0
        for k in range(M):
            a += L[k] * L[k]
            b += (T[k] - L[k]) * (T[k] - L[k])
        return (a * WR + b * WL) / (WL * WR)
    total = 0.0
    for k in range(M):
        total += xlogx(L[k]) + xlogx(T[k] - L[k])
    return total - (xlogx(WL) + xlogx(WR))


@compiled(inner=True)
def score_many(L: Any, T: Any, parts: Any, WL: float, W: float, entropy: Any) -> float:
    """Several outputs; with entropy, output o has the classes parts[o] to parts[o + 1]."""
    WR = W - WL
    total = 0.0
    if entropy is None or not entropy:
        for k in range(T.size):
            gap = L[k] * W - T[k] * WL
            total += gap * gap
        return total / (WL * WR)
    if entropy == 2:
        for k in range(T.size):
            total += score_deviance(L[k], WL, T[k], W)
        return total
    for o in range(parts.size - 1):
        for k in range(parts[o], parts[o + 1]):
            total += xlogx(L[k]) + xlogx(T[k] - L[k])
        total -= xlogx(WL) + xlogx(WR)
    return total


# -- what a split of a score takes off: impurity - (W_L impurity_L + W_R impurity_R) / W


@compiled(inner=True)
def decrease_one(best: float, S: float, W: float, centred: bool, entropy: Any) -> float:
    if entropy is None or not entropy:
        return best / (W * W) if centred else best / (W * W) * 2.0
    if entropy == 2:
        return best / W
    return (best - (xlogx(S) + xlogx(W - S) - xlogx(W))) / (W * math.log(2.0))


@compiled(inner=True)
def decrease_classes(best: float, T: Any, M: int, W: float, entropy: Any) -> float:
    if entropy is None or not entropy:
        squares = 0.0
        for k in range(M):
            squares += T[k] * T[k]
        return (best - squares / W) / W
    whole = 0.0
    for k in range(M):
        whole += xlogx(T[k])
    return (best - (whole - xlogx(W))) / (W * math.log(2.0))


@compiled(inner=True)
def decrease_many(best: float, T: Any, parts: Any, W: float, centred: bool, entropy: Any) -> float:
    outputs = parts.size - 1
    if entropy is None or not entropy:
        return best / (W * W * T.size) if centred else best / (W * W) * (1.0 / outputs)
    if entropy == 2:
        return best / (W * outputs)
    whole = 0.0
    for o in range(outputs):
        for k in range(parts[o], parts[o + 1]):
            whole += xlogx(T[k])
        whole -= xlogx(W)
    return (best - whole) / (W * outputs * math.log(2.0))
