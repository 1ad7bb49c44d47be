"""How long fits take: in turns, as often as it needs to say which is faster.

The clock is that of the wall. On a machine that others work on, processor time says more, with one thread for all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
#: Seconds of a fit up to which it is repeated as often as wished, and those from which one turn may do.
QUICK, SLOW = 1.0, 5.0
#: Two fits of which one takes so many times as long as the other need no second turn where they are slow.
PLAIN = 1.5


def timed(fit: Callable[[], Any], clock: str) -> tuple[Any, float]:
    """What the fit returned, and its seconds."""
    start = CLOCKS[clock]()
    found = fit()
    return found, CLOCKS[clock]() - start


def in_turns(
    fits: dict[str, Callable[[], Any]], repeats: int, clock: str = "wall", longest: float = 0.0
) -> dict[str, float]:
    """The median seconds of each; ``longest`` is what the slowest of them is known to take."""
    seconds: dict[str, list[float]] = {name: [] for name in fits}
    turns = repeats if longest < QUICK else min(repeats, 3)
    for _ in range(turns):
        for name, fit in fits.items():
            seconds[name].append(timed(fit, clock)[1])
        last = [each[-1] for each in seconds.values()]
        if longest >= SLOW and max(last) > PLAIN * min(last):
            break
    return {f"{name}_s": float(np.median(each)) for name, each in seconds.items()}
