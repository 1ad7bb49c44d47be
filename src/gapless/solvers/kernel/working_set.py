"""Solve a working set of a kernel machine: pairs find the free variables, Newton steps on these do the rest, in turns."""

from __future__ import annotations

import numpy as np

from gapless.gram.class_pairs import PairRows
from gapless.rows.products import Tick
from gapless.solvers.kernel.free_set import take_newton_steps
from gapless.solvers.kernel.inner_loop import take_pairs
from gapless.solvers.kernel.level import extremes
from gapless.solvers.kernel.thresholds import WorkingSetLimits


class WorkingSet:
    """The matrix K[rows, rows], v and the box of some variables.

    ``u`` moves, and v with it; ``side`` says which of two equalities a variable belongs to, None where there is one. Rows of K
    that are not loaded yet come from ``pair_rows``. ``kink``: the price of |u|, for boxes with 0 inside.
    """

    def __init__(
        self,
        K: np.ndarray,
        v: np.ndarray,
        u: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        *,
        side: np.ndarray | None = None,
        diagonal: np.ndarray | None = None,
        pair_rows: PairRows | None = None,
        kink: float = 0.0,
    ) -> None:
        self.K, self.low, self.high, self.pair_rows, self.kink = K, low, high, pair_rows, kink
        self.before, self.u = u, u.copy()
        self.v = np.zeros(K.shape[1], K.dtype)
        self.v[: u.size] = v
        self.diagonal = np.ascontiguousarray(np.diagonal(K)) if diagonal is None else diagonal
        every = np.ones(u.size, bool)
        self.side = np.zeros(u.size, np.int8) if side is None else side
        self.allowed = [every] if side is None else [side == 0, side == 1]

    def solve(self, wanted: float, limits: WorkingSetLimits, tick: Tick) -> np.ndarray:
        """What u moves by, until no pair is out of order by more than ``wanted`` or the turns are over."""
        most = limits.pairs_per_row * self.u.size
        ends = self.low, self.high
        least, idle = np.inf, 0
        for _ in range(limits.turns):
            done = take_pairs(
                self.K, self.pair_rows, self.diagonal, self.v, self.u, ends, self.allowed, wanted, most, self.kink
            )
            tick()
            if done < most:
                break
            if self.pair_rows is not None:
                self.pair_rows.load(np.flatnonzero((self.u > self.low) & (self.u < self.high)), self.K)
            take_newton_steps(self.K, self.v, self.u, self.low, self.high, self.side, self.kink)
            top, bottom = extremes(self.u, self.v[: self.u.size].astype(np.float64), self.low, self.high, self.kink)
            idle = 0 if top - bottom < 0.9 * least else idle + 1
            least = min(least, top - bottom)
            if idle > limits.idle_turns:
                break
        return self.u - self.before
