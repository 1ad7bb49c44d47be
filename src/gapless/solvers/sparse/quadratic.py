"""A quadratic model of a working set, with its matrix: coordinate descent and Newton steps on the support.

    minimise over w   1/2 (w - w0)' G (w - w0) + g' (w - w0) + l1 |w|_1 + l2/2 |w|^2,   w >= 0 where positive

Where the signs of the optimum are known this is a linear system on the support.  Sweeps find the signs; a Newton step solves
the system, and where a coefficient would change its sign it goes to 0: to the first such, or all of them, whichever is lower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from gapless.solvers.sparse.sweeps import sweep_gram
from gapless.solvers.sparse.thresholds import thresholds


class Charge(NamedTuple):
    """The penalty of each coefficient."""

    l1: float
    l2: float
    positive: bool


def violation(w: np.ndarray, g: np.ndarray, charge: Charge) -> float:
    """The largest distance of -g_j from the subdifferential of the penalty at w_j."""
    if w.size == 0:
        return 0.0
    smooth = g + charge.l2 * w
    at_zero = -smooth - charge.l1 if charge.positive else np.abs(smooth) - charge.l1
    off = np.where(w == 0.0, np.maximum(at_zero, 0.0), np.abs(smooth + charge.l1 * np.sign(w)))
    return float(off.max())


def minimise_gram(
    G: np.ndarray, w: np.ndarray, g: np.ndarray, charge: Charge, enough: float, tick: Callable[[], None]
) -> tuple[np.ndarray, int]:
    """The w that keeps the optimality conditions to within ``enough``, and the sweeps it took."""
    w, g, passes, last = w.copy(), g.copy(), 0, np.inf
    for _ in range(thresholds.rounds):
        passes += sweep_gram(G, w, g, charge, thresholds.sweeps, 0.25 * enough)
        off = violation(w, g, charge)
        if off <= enough:
            break
        tick()
        for _ in range(3):
            kept = step_on_support(G, w, g, charge)
            passes += 1
            if kept:
                break
        now = violation(w, g, charge)
        if now <= enough or (now >= last and now <= 1e-13 * float(np.abs(g).max(initial=0.0))):
            break
        last = now
    return w, passes


def step_on_support(G: np.ndarray, w: np.ndarray, g: np.ndarray, charge: Charge) -> bool:
    """A Newton step on the coefficients that are not 0; w and g are changed. True where no sign changed, or nothing is left
    to do."""
    S = np.flatnonzero(w)
    if S.size == 0:
        return True
    signs, old = np.sign(w[S]), w[S].copy()
    slope = g[S] + charge.l1 * signs + charge.l2 * old
    H = G[np.ix_(S, S)]
    H[np.diag_indices(S.size)] += charge.l2
    step = _solve(H, -slope)
    if step is None:
        return True
    new = old + step
    crossed = new * signs < 0.0
    if not crossed.any():
        w[S] = new
        g += step @ G[S]
        return True
    # Along the step coefficients whose sign would change stop at 0, one after another: the lowest of some places on the way.
    at = np.where(crossed, np.divide(-old, step, out=np.ones_like(step), where=crossed), np.inf)
    times = np.sort(at[crossed])
    choices = []
    for t in {float(times[k]) for k in (np.array([0.0, 0.1, 0.25, 0.5, 0.75]) * times.size).astype(int)} | {1.0}:
        candidate = np.where(at <= t, 0.0, old + t * step)
        move = candidate - old
        choices.append((float(slope @ move + 0.5 * move @ (H @ move)), candidate))
    value, candidate = min(choices, key=lambda choice: choice[0])
    if not value < 0.0:
        return True
    w[S] = candidate
    g += (candidate - old) @ G[S]
    return False


def _solve(H: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """H x = right by Cholesky's factors, with a little more on the diagonal where the columns are dependent."""
    size = float(np.trace(H)) / len(H)
    for extra in (0.0, 1e-12, 1e-9):
        try:
            K = H if extra == 0.0 else H + extra * size * np.eye(len(H))
            x = cho_solve(cho_factor(K, lower=True, check_finite=False), right, check_finite=False)
        except np.linalg.LinAlgError:
            continue
        if np.isfinite(x).all():
            return np.asarray(x)
    return None
