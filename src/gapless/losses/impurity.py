"""Gini impurity 1 - sum_k p_k^2, entropy -sum_k p_k log2 p_k, and the share of a target y in half of Poisson's deviance,
y ln(y / mean): how mixed a node is, compiled.

p_k is the share of class k in the weight W of a node. ``entropy`` is None or 0 for Gini. Several outputs have the mean of theirs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gapless._compile.jit import compiled


@compiled(inner=True)
def xlogx(x: float) -> float:
    return x * math.log(x) if x > 0.0 else 0.0


@compiled(inner=True)
def share_of_deviance(y: float, mean: float) -> float:
    return y * math.log(y / mean) if y > 0.0 else 0.0


@compiled(inner=True)
def impurity_two(S: float, W: float, entropy: Any) -> float:
    if entropy is None or not entropy:
        return 1.0 - (S * S + (W - S) * (W - S)) / (W * W)
    p1 = S / W
    p0 = (W - S) / W
    return 0.0 - ((p0 * np.log2(p0) if p0 > 0.0 else 0.0) + (p1 * np.log2(p1) if p1 > 0.0 else 0.0))


@compiled(inner=True)
def impurity_classes(T: Any, W: float, entropy: Any) -> float:
    total = 0.0
    for k in range(T.size):
        if entropy is None or not entropy:
            total += T[k] * T[k]
        else:
            p = T[k] / W
            total -= p * np.log2(p) if p > 0.0 else 0.0
    return 1.0 - total / (W * W) if entropy is None or not entropy else total


@compiled(inner=True)
def impurity_many(T: Any, parts: Any, W: float, entropy: Any) -> float:
    total = 0.0
    for o in range(parts.size - 1):
        squares = 0.0
        for k in range(parts[o], parts[o + 1]):
            if entropy is None or not entropy:
                squares += T[k] * T[k]
            else:
                p = T[k] / W
                total -= p * np.log2(p) if p > 0.0 else 0.0
        if entropy is None or not entropy:
            total += 1.0 - squares / (W * W)
    return total / (parts.size - 1)
