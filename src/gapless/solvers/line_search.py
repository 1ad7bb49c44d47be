"""How far along a step, for a convex objective: where its slope is nearly zero.

    find t > 0 with |dP/dt (t)| <= share |dP/dt (0)|

The slope is computed exactly down to rounding, where differences of P are not; it rises with t, so its root is bracketed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np


def find_step_length(
    slope_and_bend: Callable[[float], tuple[float, float]],
    share: float = 0.5,
    tries: int = 60,
    start: float | None = None,
) -> float:
    """The t, near 1 where that will do; 0 where the step does not lead downhill. The bend may be 0 where it is unknown.

    ``start`` is the slope at 0, where it is known. The last point asked for is the one returned, but for 0.
    """
    if start is None:
        start, _ = slope_and_bend(0.0)
    if not start < 0.0:
        return 0.0
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(tries):
        slope, bend = slope_and_bend(t)
        if abs(slope) <= share * abs(start):
            return t
        if slope < 0.0:
            low = t
        else:
            high = t
        new = t - slope / bend if bend > 0.0 else 2.0 * t
        if not low < new < high:
            new = 0.5 * (low + high) if np.isfinite(high) else 2.0 * t
        t = min(new, 4.0 * max(t, 1.0))
    return t


def search_along(
    slopes: Callable[[Sequence[float]], Sequence[tuple[float, float]]],
    start: float,
    *,
    share: float = 0.5,
    at_once: int = 1,
) -> float:
    """`find_step_length` where a pass over the data gives slope and bend at ``at_once`` step lengths; ``start``: the slope at 0.

    With one at a time the next is Newton's; with many the bracket is cut into equal parts, so that a few passes do.
    """
    if at_once == 1:
        return find_step_length(lambda t: slopes((t,))[0], share, start=start)
    if not start < 0.0:
        return 0.0
    low, high, best, least = 0.0, np.inf, 0.0, -start
    ts = [2.0 ** (2 - k) for k in range(at_once)]  # from 4 down
    for _ in range(60):
        for t, (slope, _) in zip(ts, slopes(ts)):
            if abs(slope) < least:
                best, least = t, abs(slope)
            low, high = (max(low, t), high) if slope < 0.0 else (low, min(high, t))
        if least <= share * abs(start) or not low < 0.5 * (low + high) < high:
            break
        steps = range(1, at_once + 1)
        ts = [low + (high - low) * k / (at_once + 1) if np.isfinite(high) else low * 2.0**k for k in steps]
    return best
