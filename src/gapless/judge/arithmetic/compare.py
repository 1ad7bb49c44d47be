"""The one way to compare a claim with what the judge found.

A comparison holds only for finite numbers and a finite room >= 0: NaN and infinity, in the claim, in the judge's figure or in
the room, make it false. A room comes from the data and from figures of the judge's own, and `capped` keeps it below a stated
share of what it excuses. Arrays are compared entry by entry, and all entries have to hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def at_most(claimed: Any, bound: Any, room: Any = 0.0) -> bool:
    """claimed <= bound + room."""
    with np.errstate(all="ignore"):
        a, b, r = (np.asarray(value, dtype=np.float64) for value in (claimed, bound, room))
        known = np.isfinite(a) & np.isfinite(b) & np.isfinite(r)
        return bool(np.all(known & (r >= 0.0) & (a - b <= r)))


def equal(claimed: Any, found: Any, room: Any = 0.0) -> bool:
    """|claimed - found| <= room."""
    return at_most(claimed, found, room) and at_most(found, claimed, room)


def between(claimed: Any, low: Any, high: Any, room: Any = 0.0) -> bool:
    """low - room <= claimed <= high + room."""
    return at_most(low, claimed, room) and at_most(claimed, high, room)


def above(claimed: Any, bound: Any) -> bool:
    """claimed > bound."""
    with np.errstate(all="ignore"):
        a, b = np.asarray(claimed, dtype=np.float64), np.asarray(bound, dtype=np.float64)
        return bool(np.all(np.isfinite(a) & np.isfinite(b) & (a > b)))


def capped(room: Any, whole: Any, share: float) -> Any:
    """The room, at most ``share`` of the size of what it excuses; that share itself where the room is no number."""
    most = share * np.abs(np.asarray(whole, dtype=np.float64))
    return np.fmin(np.asarray(room, dtype=np.float64), most)


def worst(claimed: Any, found: Any, room: Any) -> float:
    """The largest distance in units of its room, to be shown; infinite where something is no number."""
    with np.errstate(all="ignore"):
        off = np.abs(np.asarray(claimed, dtype=np.float64) - np.asarray(found, dtype=np.float64))
        ratio = np.where(off == 0.0, 0.0, off / np.asarray(room, dtype=np.float64))
    return float(np.max(np.where(np.isnan(ratio), np.inf, ratio), initial=0.0))
