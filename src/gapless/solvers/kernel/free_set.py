"""Newton steps on the free variables of a working set, each in the place of many thousand pairs.

    minimise 1/2 du'K du - v'du   over the variables strictly inside their box, with the sum of du 0 on each side

is a linear system, solved by Cholesky with a little added to the diagonal, which keeps the direction one of descent.  Where
the full step leaves the box, its end is brought back to the nearest point of the box with the same sums, and the best point
on the way there is taken, if that way goes down; else the step is cut where the first variable meets its bound.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve


def take_newton_steps(
    K: np.ndarray,
    v: np.ndarray,
    u: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    side: np.ndarray,
    kink: float = 0.0,
) -> None:
    """Take up to three steps, in place; v may be longer than u. Where |u| has a price, the ``kink``, 0 is a bound, too."""
    largest_system = 1500  # free variables: of more, the Cholesky factor costs more time than pairs do
    for _ in range(3):
        free = np.flatnonzero((u > low) & (u < high) & ((u != 0.0) | (kink == 0.0)))
        if not 2 <= free.size <= largest_system:
            return
        at, slope, a, b = u[free], v[free].astype(np.float64), low[free], high[free]
        if kink > 0.0:
            slope, a, b = slope - kink * np.sign(at), np.where(at > 0.0, 0.0, a), np.where(at < 0.0, 0.0, b)
        direction = _direction(K, slope, free, side[free])
        if direction is None:
            return
        way = _inside(at + direction, at, a, b, side[free]) - at
        if not (_move(K, v, u, slope, a, b, free, way) or _move(K, v, u, slope, a, b, free, _cut(direction, at, a, b))):
            return


def _move(
    K: np.ndarray,
    v: np.ndarray,
    u: np.ndarray,
    slope: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    free: np.ndarray,
    way: np.ndarray,
) -> bool:
    """Take the best step along the way, at most all of it; False where the way does not go down. ``slope`` and the box are those
    of the free variables."""
    scores = way.astype(K.dtype) @ K[free]
    rise = float(slope @ way)
    bend = float(scores[free].astype(np.float64) @ way)
    if not (rise > 0.0 and bend > 0.0):
        return False
    step = min(1.0, rise / bend)
    u[free] = np.clip(u[free] + step * way, low, high)
    v -= K.dtype.type(step) * scores
    return True


def _cut(direction: np.ndarray, u: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The direction, shortened to the first bound that it meets."""
    moves = direction != 0.0
    room = np.where(direction > 0.0, high - u, low - u)[moves] / direction[moves]
    return direction * min(1.0, float(room.min(initial=1.0)))


def _inside(end: np.ndarray, u: np.ndarray, low: np.ndarray, high: np.ndarray, side: np.ndarray) -> np.ndarray:
    """The nearest point of the box with the same sums as u: clip(end - shift) on each side."""
    out = end.copy()
    for which in np.unique(side):
        own = side == which
        e, a, b = end[own], low[own], high[own]
        total = float(u[own].sum())
        near = np.clip(e - _shift(e, a, b, total), a, b)
        inside = (near > a) & (near < b)
        if inside.any():  # what rounding left goes to the variables inside their box
            near[inside] += (total - float(near.sum())) / np.count_nonzero(inside)
            near = np.clip(near, a, b)
        out[own] = near
    return out


def _shift(e: np.ndarray, a: np.ndarray, b: np.ndarray, total: float) -> float:
    """The shift for which clip(e - shift, a, b) sums to ``total``, between sum(a) and sum(b).

    The sum falls with the shift, by straight pieces: at e - b a variable leaves its upper bound, at e - a it meets the lower one.
    """
    ends = np.concatenate([e - b, e - a])
    order = np.argsort(ends, kind="stable")
    ends, moving = ends[order], np.cumsum(np.where(order < e.size, 1.0, -1.0))
    sums = float(b.sum()) - np.concatenate([np.zeros(1), np.cumsum(moving[:-1] * np.diff(ends))])
    last = max(0, int(np.searchsorted(-sums, -total, side="right")) - 1)
    return float(ends[last] + ((sums[last] - total) / moving[last] if moving[last] > 0.0 else 0.0))


def _direction(K: np.ndarray, slope: np.ndarray, free: np.ndarray, side: np.ndarray) -> np.ndarray | None:
    """The Newton direction of the free variables; None where the system has no factor."""
    system = K[np.ix_(free, free)].astype(np.float64)
    little = (1e-6 if K.dtype == np.float32 else 1e-12) * float(np.abs(np.diagonal(system)).max())
    system[np.diag_indices(free.size)] += little
    sides = np.unique(side)
    edges = (side[:, None] == sides[None, :]).astype(np.float64)
    try:
        factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        solved = cho_solve(factor, np.column_stack([slope, edges]), check_finite=False)
        prices = np.linalg.solve(edges.T @ solved[:, 1:], edges.T @ solved[:, 0])
    except (LinAlgError, np.linalg.LinAlgError):
        return None
    direction = solved[:, 0] - solved[:, 1:] @ prices
    for which in sides:  # rounding left a sum that is not 0
        own = side == which
        direction[own] -= direction[own].mean()
    return direction if np.isfinite(direction).all() else None
