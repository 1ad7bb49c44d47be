"""What is drawn by lot: 64 bits, and a threshold of a column."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless._compile.jit import compiled


@compiled(inner=True)
def draw(state: Any) -> Any:
    """The next 64 bits of splitmix64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled(inner=True)
def draw_threshold(task: Any, found: Any, j: int) -> Any:
    """A threshold drawn evenly between the node's smallest and largest value, the last code that is not beyond it, and the side
    of the missing values."""
    facts, state = task.facts, task.lot.state
    offset, lowest = facts.offset[j], facts.lowest
    x0, x1 = np.float64(lowest[offset + found.lo]), np.float64(facts.highest[offset + found.hi])
    cut_at = x0 + np.float64(draw(state) >> np.uint64(11)) * 2.0**-53 * (x1 - x0)
    if cut_at >= x1:
        cut_at = x0
    go = np.int64(draw(state) & np.uint64(1)) if found.n_missing > 0 else np.int64(0)
    code, above = found.lo, found.hi + 1  # the last code whose values are not beyond the threshold
    while above - code > 1:
        half = (code + above) // 2
        if lowest[offset + half] <= cut_at:
            code = half
        else:
            above = half
    return max(cut_at, np.float64(facts.highest[offset + code])), code, go  # a code of many values goes left as a whole
