"""Monotonic constraints: what a cut has to keep so that the tree's value rises, or falls, with a feature.

A cut of a feature whose sign is s = 1 (rising) or -1 (falling) is allowed where s value_left <= s value_right and both values lie
within the bounds of the node. All of the left child then stays on its side of the middle of both values, and all of the right
child on the other: the middle becomes a bound of both. Other features cut freely, and a value beyond a bound is moved to it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gapless._compile.jit import compiled


class Fence(NamedTuple):
    """What the constraints ask of each node."""

    sign: np.ndarray  #: of each column: 1, -1, or 0 where nothing is asked
    lower: np.ndarray  #: of each node: bounds of its value, and of all below
    upper: np.ndarray
    middle: np.ndarray  #: of each node: between the values of its children
    now: np.ndarray  #: the sign of the column that is looked at; the bounds of the node, less its centre; this centre

    @classmethod
    def of(cls, sign: np.ndarray, size: int) -> Fence:
        """For so many nodes."""
        return cls(np.asarray(sign, dtype=np.float64), np.empty(size), np.empty(size), np.zeros(size), np.zeros(4))


@compiled(inner=True)
def look_at(fence: Any, j: int) -> None:
    """From now on column j is cut."""
    if fence is not None:
        fence.now[0] = fence.sign[j]


@compiled(inner=True)
def values_in_order(fence: Any, left: float, right: float) -> bool:
    """Whether both sides may have these values, less the centre of the node."""
    if fence is None:
        return True
    now = fence.now
    return now[0] == 0.0 or (
        (left - right) * now[0] <= 0.0 and now[1] <= left and now[1] <= right and left <= now[2] and right <= now[2]
    )


@compiled(inner=True)
def in_order(fence: Any, SL: float, WL: float, S: float, W: float) -> bool:
    """The same for the means of both sides."""
    if fence is None:
        return True
    return values_in_order(fence, SL / WL, (S - SL) / (W - WL))


@compiled(inner=True)
def enter(fence: Any, node: int, parent: int, is_left: int, feature: Any, mean: Any, centred: bool) -> None:
    """The bounds of a node; its value is moved to them."""
    if fence is not None:
        lower, upper = -np.inf, np.inf
        if parent >= 0:
            lower, upper = fence.lower[parent], fence.upper[parent]
            sign = fence.sign[feature[parent]]
            if sign != 0.0 and (sign > 0.0) == (is_left == 1):
                upper = fence.middle[parent]
            elif sign != 0.0:
                lower = fence.middle[parent]
        centre = mean[0] if centred else 0.0
        fence.lower[node], fence.upper[node] = lower, upper
        fence.now[1], fence.now[2], fence.now[3] = lower - centre, upper - centre, centre
        mean[0] = min(max(mean[0], lower), upper)


@compiled(inner=True)
def mean_of(source: Any, rows: Any, start: int, end: int) -> float:
    """The mean target of some rows."""
    base = source.y[rows[start]]
    W, S = 0.0, 0.0
    for i in range(start, end):
        W += source.w[rows[i]]
        S += source.w[rows[i]] * (source.y[rows[i]] - base)
    return base + S / W


@compiled(inner=True)
def note_middle(fence: Any, medians: Any, source: Any, rows: Any, node: int, start: int, middle: int, end: int) -> None:
    """The middle between the values of the children of a node that was split."""
    if fence is not None:
        if medians is not None:
            left, right = medians.of_best[0] + fence.now[3], medians.of_best[1] + fence.now[3]
        else:
            left, right = mean_of(source, rows, start, middle), mean_of(source, rows, middle, end)
        fence.middle[node] = left / 2.0 + right / 2.0
