"""Many machines on one kernel matrix: every fold and every C of a cross-validation reads the same K.

    minimise 1/2 u'Ku - y'u,    0 <= y_i u_i <= C c_i (c_i = 0: not in training),    sum u = 0       for C = C_1 <= C_2 <= ...

K of all rows, training and left out alike, is made once, in single precision.  A fold is a vector c, so that nothing is copied,
and the scores Ku of the left-out rows come with those of the training rows.  From one C to the next u is multiplied by their
ratio: a variable at its bound stays there.  Then working sets are solved by pairs and Newton steps, on the block of K of the
rows near the margin; the block is kept from one C to the next as long as it holds the rows that matter.

A fit ends by its relative gap, computed from these scores, or by its worst pair.  Nothing here is certified: the fit of the
chosen setting is made anew, in double precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.gram.blocks import build_gram
from gapless.gram.dense import DenseTiles, gather_square
from gapless.gram.tiles import CHUNK, COLUMNS
from gapless.numbers import relative_gap
from gapless.problems.kernel import KernelDual, evaluate_point
from gapless.solvers.kernel.level import extremes, violations
from gapless.solvers.kernel.thresholds import KERNEL_THRESHOLDS
from gapless.solvers.kernel.working_set import WorkingSet
from gapless.solvers.loop import Loop


def hold_matrix(kernel: Any, X: Any) -> DenseTiles:
    """Compute K of all rows, its columns padded to a whole number of tiles, on the team's threads."""
    n = X.shape[0]
    found = build_gram(kernel, X, 1 << 60)
    dtype = (
        np.float32
        if float(np.max(found.diagonal, initial=0.0)) <= KERNEL_THRESHOLDS.single_precision_values
        else np.float64
    )
    every = np.arange(n)
    laid_out = getattr(found, "laid_out", None)
    if laid_out is not None:
        return DenseTiles(laid_out.reorder(every, dtype).square(every), n)
    K = np.zeros((n, -(-n // COLUMNS) * COLUMNS), dtype)
    for start in range(0, n, CHUNK):
        rows = every[start : start + CHUNK]
        K[rows, :n] = found.block(rows)
    return DenseTiles(K, n)


def bytes_needed(n: int) -> int:
    """The memory of the matrix of n rows and of two blocks, in float32."""
    return 4 * (n * n + 2 * KERNEL_THRESHOLDS.folds.rows**2)


@dataclass(frozen=True, eq=False)
class ChainPoint:
    """One machine of a chain: f(x_i) of every row, training or left out, and its relative gap."""

    scores: np.ndarray
    relative_gap: float
    support: int
    converged: bool


class DiagonalGram:
    """The part of a Gram matrix that `KernelDual` needs to compute P and D from scores."""

    error, relative_error, cache_bytes = 0.0, None, 0

    def __init__(self, diagonal: np.ndarray) -> None:
        self.diagonal, self.n = diagonal, diagonal.size


def solve_chain(
    held: DenseTiles, y: np.ndarray, c: np.ndarray, Cs: Any, tol: float, loop: Loop, finest: float = 1e-7
) -> Iterator[ChainPoint]:
    """A machine for each C, ascending.  y is +1 or -1 (of any sign where c = 0).  A fit ends where its relative gap is at most
    ``tol``, or where no pair is out of order by more than ``finest``."""
    # the worst pair at which the gap is first evaluated, and the factor to the next evaluation
    loose, closer = 1e-2, 4.0
    train = np.flatnonzero(c > 0.0)
    sign, weight = y[train].astype(np.float64), c[train]
    points: Any = DiagonalGram(np.diagonal(held.K)[: held.n][train].astype(np.float64))
    fold = _Fold(held, y, train, loop)
    before, wanted = None, loose
    for C in Cs:
        problem = KernelDual.c_svc(points, sign, C * weight)
        fold.set_box(np.minimum(0.0, sign * problem.c), np.maximum(0.0, sign * problem.c))
        if before is not None:
            fold.scale(C / before)
        before = C
        wanted, settled = min(loose, closer * wanted), True
        while True:
            settled = fold.solve(wanted) and settled
            scalars, primal, _, gap = evaluate_point(problem, sign * fold.u[train], fold.scores[train])
            found = relative_gap(primal, primal - gap)
            if found <= tol or not settled or wanted <= finest:
                break
            wanted = max(finest, wanted / closer)
        yield ChainPoint(fold.scores + scalars[0], found, int(np.count_nonzero(fold.u)), found <= tol)


class SquareBuffer:
    """K[index, index] for one index after another, in the same memory: fresh memory costs as much as the values."""

    def __init__(self, dtype: Any) -> None:
        self.memory = np.empty(0, dtype)

    def fill(self, K: np.ndarray, index: np.ndarray) -> np.ndarray:
        """The square, its columns padded to a whole number of tiles."""
        columns = -(-index.size // COLUMNS) * COLUMNS
        if self.memory.size < index.size * columns:
            self.memory = np.empty(0, self.memory.dtype)  # frees the old memory before the new is taken
            self.memory = np.empty(index.size * columns, self.memory.dtype)
        out = self.memory[: index.size * columns].reshape(index.size, columns)
        gather_square(K, index, out)
        return out


class WorkingBlock:
    """K[rows, rows] of the rows near the margin."""

    def __init__(self, held: DenseTiles) -> None:
        self.held, self.rows = held, np.empty(0, np.int64)
        self.K, self.inside = np.empty((0, 0), held.dtype), np.zeros(held.n, bool)
        self._square, self._part = SquareBuffer(held.dtype), SquareBuffer(held.dtype)

    def take(self, rows: np.ndarray) -> None:
        self.rows = rows
        self.inside[:] = False
        self.inside[rows] = True
        self.K = self._square.fill(self.held.K, rows)

    def part(self, some: np.ndarray) -> np.ndarray:
        """K of some of the rows; valid until the next call."""
        return self._part.fill(self.K, some)


class _Fold:
    """u and its scores for one fold, and the block of rows near its margin. Left-out rows have the box [0, 0]."""

    def __init__(self, held: DenseTiles, y: np.ndarray, train: np.ndarray, loop: Loop) -> None:
        n = held.n
        self.held, self.y, self.train, self.loop = held, y, train, loop
        self.u, self.scores, self.low, self.high = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
        self.block = WorkingBlock(held)
        self.random = np.random.default_rng(0)

    def set_box(self, low: np.ndarray, high: np.ndarray) -> None:
        self.low[self.train], self.high[self.train] = low, high

    def scale(self, factor: float) -> None:
        """Multiply u and its scores; rounding must not leave u outside its box."""
        self.u *= factor
        self.scores *= factor
        np.clip(self.u, self.low, self.high, out=self.u)

    def solve(self, wanted: float) -> bool:
        """Solve until no pair is out of order by more than ``wanted``; False where no variable moves any more."""
        block, train = self.block, self.train
        least, idle = np.inf, 0
        a, b = self.low[train], self.high[train]
        while True:
            self.loop.tick()
            v, own = self.y[train] - self.scores[train], self.u[train]
            top, bottom = extremes(own, v, a, b, 0.0)
            violation = top - bottom
            if violation <= wanted:
                return True
            idle = 0 if violation < 0.95 * least else idle + 1
            least = min(least, violation)
            if idle > KERNEL_THRESHOLDS.idle_passes or not np.isfinite(violation):
                return False
            self.loop.advance()
            middle = 0.5 * (top + bottom)
            out_by = violations(own, v - middle, a, b)
            outside_by = self._renew_block(out_by, violation, wanted)
            aim = 0.5 * wanted if outside_by <= 0.5 * wanted else max(0.5 * wanted, 0.1 * violation)
            du = self._solve_block(middle, aim)
            moved = block.rows[du != 0.0]
            if moved.size == 0:
                return False
            self.held.add(self.scores, moved, du[du != 0.0])

    def _renew_block(self, out_by: np.ndarray, violation: float, wanted: float) -> float:
        """Choose the block's rows anew where it misses rows that matter, or holds twice as many as do.

        Returns the worst violation outside the block.
        """
        train, block = self.train, self.block
        own, a, b = self.u[train], self.low[train], self.high[train]
        near = max(violation, 0.1)  # rows so near to the margin may soon matter
        # rows of a block that is never too large, and times the rows that matter of one that is
        smallest, factor = 500, 2.0
        wide = block.rows.size > max(smallest, factor * np.count_nonzero((out_by > -near) | ((own > a) & (own < b))))
        outside_by = float(np.max(out_by, initial=-np.inf, where=~block.inside[train]))
        if wide or outside_by > max(0.5 * wanted, 0.3 * violation):
            block.take(self._choose_rows(out_by, near, wanted))
            outside_by = -np.inf if block.rows.size < KERNEL_THRESHOLDS.folds.rows else 0.5 * violation
        return outside_by

    def _choose_rows(self, out_by: np.ndarray, reach: float, wanted: float) -> np.ndarray:
        """The rows out of order, the rows inside their box, and the rows within ``reach`` of the margin; the worst of these where
        they are more than a block holds."""
        train = self.train
        u, low, high = self.u[train], self.low[train], self.high[train]
        most = KERNEL_THRESHOLDS.folds.rows if u.any() else KERNEL_THRESHOLDS.first_block_rows
        violating = np.flatnonzero(out_by > 0.5 * wanted)
        if violating.size >= most:
            order = violating[np.argpartition(-out_by[violating], most // 4)]
            drawn = self.random.choice(order[most // 4 :], most - most // 4, replace=False)
            return train[np.sort(np.concatenate([order[: most // 4], drawn]))]
        free = (u > low) & (u < high)
        near = np.flatnonzero((out_by > -reach) | free)
        if near.size > most:
            rank = np.where(free[near], np.maximum(out_by[near], 0.0), out_by[near])
            near = near[np.argpartition(-rank, most)[:most]]
        return train[np.sort(np.union1d(near, violating))]

    def _solve_block(self, middle: float, aim: float) -> np.ndarray:
        """Solve the block by working sets of the rows inside their box and near it; u moves, and its change is returned."""
        rows, held = self.block.rows, DenseTiles(self.block.K, self.block.rows.size)
        before = self.u[rows]
        own, a, b = before.copy(), self.low[rows], self.high[rows]
        f = self.scores[rows]
        target = self.y[rows] - middle
        least, idle = np.inf, 0
        for _ in range(60):  # working sets of a block: after these the scores of all rows are worth computing anew
            v = target - f
            top, bottom = extremes(own, v, a, b, 0.0)
            violation = top - bottom
            if violation <= aim:
                break
            idle = 0 if violation < 0.9 * least else idle + 1
            least = min(least, violation)
            if idle > KERNEL_THRESHOLDS.idle_passes:
                break
            shift = 0.5 * (top + bottom)
            # A working set of more than 70 % of the block is the whole block, which need not be gathered.
            near = violations(own, v - shift, a, b) > -0.25 * violation
            near |= (own > a) & (own < b)
            some = np.flatnonzero(near)
            whole = some.size > 0.7 * rows.size
            if whole:
                some = np.arange(rows.size)
            K = self.block.K if whole else self.block.part(some)
            chosen = WorkingSet(K, v[some] - shift, own[some], a[some], b[some])
            du = chosen.solve(max(aim, 0.1 * violation), KERNEL_THRESHOLDS.folds, self.loop.tick)
            own[some] = chosen.u
            moved = du != 0.0
            if not moved.any():
                break
            held.add(f, some[moved], du[moved])
        self.u[rows] = own
        return own - before
