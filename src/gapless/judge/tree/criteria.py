"""Criteria of regression trees beyond squares: absolute error, Poisson's deviance; and values that rise or fall with a feature.

absolute error    sum w |y - median| / W        deviance    sum w (y ln(y / v) - y + v) / W,  halved, at the mean v
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from ..arithmetic.rounding import gamma
from ..form.entries import number


def medians(w: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """The smallest and the largest number that is a median, but for the rounding of weights."""
    order = np.argsort(y, kind="stable")
    below, half = np.cumsum(w[order]), float(w.sum()) / 2.0
    room = gamma(4 * w.size + 8) * half
    low, high = int(np.searchsorted(below, half - room)), int(np.searchsorted(below, half + room, side="right"))
    return float(y[order[min(low, y.size - 1)]]), float(y[order[min(high, y.size - 1)]])


def loss(criterion: str, w: np.ndarray, Y: np.ndarray, value: np.ndarray) -> float:
    """The weighted sum over rows and outputs of what each loses where ``value`` is predicted."""
    if criterion == "absolute_error":
        return float((w @ np.abs(Y - value)).sum())
    if criterion == "squared_error":
        return float((w @ (Y - value) ** 2).sum())
    with np.errstate(divide="ignore"):
        logs = Y * np.log(np.where(Y > 0, Y, 1.0) / np.where(Y > 0, value, 1.0))
    return float((w @ (logs - (Y - value))).sum())


def signs_of(case: Any) -> np.ndarray:
    """1, -1 or 0 of each feature; zeros where nothing is asked."""
    asked = case.parameters.get("monotonic_cst")
    return np.zeros(case.d) if asked is None else np.array([number(s) for s in asked], dtype=np.float64)


def bounds_of(case: Any, low: np.ndarray, high: np.ndarray, room: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest bound of each node's value, (N, 2): below and above, from what means and medians can be.

    A split on a feature that is asked for puts the middle between its children's values between all that lies below them."""
    below, above = np.full((low.size, 2), -np.inf), np.full((low.size, 2), np.inf)
    for t in np.flatnonzero(~case.ends).tolist():
        a, b, sign = int(case.left[t]), int(case.right[t]), case.signs[case.feature[t]]
        for child in (a, b):
            below[child], above[child] = below[t], above[t]
        if sign != 0:
            wide = (room[a] + room[b]) / 2.0
            middle = np.array([(low[a] + low[b]) / 2.0 - wide, (high[a] + high[b]) / 2.0 + wide])
            lower, upper = (a, b) if sign > 0 else (b, a)
            above[lower], below[upper] = middle, middle
    return below, above


def in_order(case: Any) -> bool:
    """Whether all values below the one child are at most those below the other, wherever a feature is asked for."""
    value = np.asarray(case.arrays["value"])[:, -1]
    least, most = value.copy(), value.copy()
    good = True
    for t in range(case.left.size - 1, -1, -1):  # children stand behind their parents
        if not case.ends[t]:
            a, b, sign = int(case.left[t]), int(case.right[t]), case.signs[case.feature[t]]
            good = good and bool(sign == 0 or (most[a] <= least[b] if sign > 0 else most[b] <= least[a]))
            least[t], most[t] = min(least[a], least[b]), max(most[a], most[b])
    return good


def admits(fence: Any, left: Any, right: Any) -> Any:
    """Whether both sides of a cut may have these values, and no rounding decides."""
    sign, lower, upper, size = fence
    room = 1e-9 * size  # of the largest value of the node
    inside = (np.fmin(left, right) >= lower + room) & (np.fmax(left, right) <= upper - room)
    return inside & (sign * (right - left) >= room)


def best_absolute(case: Any, x: np.ndarray, w: np.ndarray, Y: np.ndarray, fence: Any) -> float | None:
    """The largest decrease of the absolute error by a cut of one column; missing values go left or right."""
    none = np.isnan(x)
    found = [_best_in_order(case, np.where(none, np.inf, x), w, Y, fence)]
    if none.any() and not none.all():
        found.append(_best_in_order(case, np.where(none, -np.inf, x), w, Y, fence))
    return max((each for each in found if each is not None), default=None)


def _best_in_order(case: Any, x: np.ndarray, w: np.ndarray, Y: np.ndarray, fence: Any) -> float | None:
    order = np.argsort(x, kind="stable")
    x, w, Y, m = x[order], w[order], Y[order], x.size
    cut = np.flatnonzero((x[:-1] < x[1:]) & np.isfinite(x[:-1]))  # missing values alone on the left are no cut
    nl, W = cut + 1, np.cumsum(w)[cut]
    least, light = case.problem["min_leaf"], number(case.problem["min_weight"]) * (1.0 + 1e-9)
    good = (nl >= least) & (m - nl >= least) & (W >= light) & (w.sum() - W >= light) & (W > 0) & (w.sum() > W)
    cut = cut[good]
    if cut.size == 0:
        return None
    total, whole = np.zeros(cut.size), 0.0
    for k in range(Y.shape[1]):
        left, right = _running(w, Y[:, k]), _running(w[::-1], Y[::-1, k])[::-1]
        total += left[cut, 0] + right[cut + 1, 0]
        whole += float(left[-1, 0])
        if fence is not None and fence[0] != 0:
            for a, b in ((1, 1), (1, 2), (2, 1), (2, 2)):  # whichever of the medians is taken
                total[~admits(fence, left[cut, a], right[cut + 1, b])] = np.inf
    return None if np.isinf(total).all() else whole - float(total.min())


def _running(w: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The absolute error of the first rows about their median, its least and its largest value, for each number of rows.

    The lower half of the weight lies in one heap, the rest in another, and a row moves between them where the half moves."""
    low: list[tuple[float, float]] = []
    high: list[tuple[float, float]] = []
    WL = SL = WH = SH = 0.0
    out, near = np.empty((y.size, 3)), gamma(4 * y.size + 8)
    for i, (weight, value) in enumerate(zip(w.tolist(), y.tolist(), strict=True)):
        heapq.heappush(low, (-value, weight))
        WL, SL = WL + weight, SL + weight * value
        while len(low) > 1 and ((high and -low[0][0] > high[0][0]) or WL - low[0][1] >= (WL + WH) / 2.0):
            top, mass = heapq.heappop(low)
            heapq.heappush(high, (-top, mass))
            WL, SL, WH, SH = WL - mass, SL + mass * top, WH + mass, SH - mass * top
        while high and WL < (WL + WH) / 2.0:
            top, mass = heapq.heappop(high)
            heapq.heappush(low, (-top, mass))
            WL, SL, WH, SH = WL + mass, SL + mass * top, WH - mass, SH - mass * top
        median = -low[0][0]
        even = high and WL <= (WL + WH) / 2.0 * (1.0 + near)
        out[i] = median * WL - SL + SH - median * WH, median, high[0][0] if even else median
    return out
