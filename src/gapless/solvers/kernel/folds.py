"""Many machines on one kernel matrix: every fold and every C of a cross-validation reads the same K.

    minimise 1/2 u'Ku - y'u,    0 <= y_i u_i <= C c_i (c_i = 0: not in training),    sum u = 0       for C = C_1 <= C_2 <= ...

K of all rows, training and left out alike, is made once, in single precision.  A fold is a vector c, so that nothing is copied,
and the scores Ku of the rows that were left out come with those of the others.  From one C to the next u goes up in proportion:
what was at its bound is at its bound.  Then pairs, and Newton steps on those inside their box, on the block of K of the rows
that are near the margin; the block is kept from one C to the next as long as it holds the rows that matter.

What ends a fit is its relative gap, computed from these scores, or the worst pair; what is certified is the fit of the chosen
setting, anew and in double precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless import kernels
from gapless.gram.blocks import build_gram
from gapless.gram.dense import DenseTiles, gather_square
from gapless.gram.tiles import CHUNK, COLUMNS
from gapless.numbers import relative_gap
from gapless.problems.kernel import KernelDual, evaluate_point
from gapless.solvers.kernel.free_set import take_newton_steps
from gapless.solvers.kernel.inner_loop import solve_pairs
from gapless.solvers.kernel.smo import extremes, violations
from gapless.solvers.loop import Loop

#: Rows of a block, and of the first ones, which are chosen before anything is known.
BLOCK, FIRST = 4096, 2048
#: A block of more rows is made anew where it is so many times larger than it need be.
SMALL, ROOM = 500, 2.0
#: Rows so near to the margin may soon matter; others wait until they are among the worst.
NEAR, LATER = 0.1, 0.3
#: Pairs for each row before Newton steps on the free ones are tried, how often, and how many choices of rows in a block.
STEPS, ROUNDS, TURNS = 4, 5, 60
#: Of a block those rows go through pairs that are inside their box, or less than this part of the worst violation from it; all
#: of them where these are more than this part.
REACH, WHOLE = 0.25, 0.7
#: Blocks without progress after which a problem is left as it is.
IDLE = 8
#: The worst pair at which the gap is looked at first, and how much closer the next look is.
LOOSE, CLOSER = 1e-2, 4.0
#: Kernel values beyond which single precision has too few digits.
LARGEST = 1e4


def hold_matrix(kernel: Any, X: Any) -> DenseTiles:
    """K of all rows, its columns up to a whole number of tiles, on the team's threads."""
    n = X.shape[0]
    found = build_gram(kernel, X, 1 << 60)
    dtype = np.float32 if float(np.max(found.diagonal, initial=0.0)) <= LARGEST else np.float64
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
    """Of the matrix and of two blocks."""
    return 4 * (n * n + 2 * BLOCK * BLOCK)


@dataclass(frozen=True, eq=False)
class ChainPoint:
    """One machine of a chain: f(x_i) of every row, training or not, and how far from its optimum it can be."""

    scores: np.ndarray
    relative_gap: float
    support: int
    converged: bool


class DiagonalGram:
    """What `KernelDual` asks of a Gram matrix to say P and D from scores."""

    error, relative_error, cache_bytes = 0.0, None, 0

    def __init__(self, diagonal: np.ndarray) -> None:
        self.diagonal, self.n = diagonal, diagonal.size


def solve_chain(
    held: DenseTiles, y: np.ndarray, c: np.ndarray, Cs: Any, tol: float, loop: Loop, finest: float = 1e-7
) -> Iterator[ChainPoint]:
    """A machine for each C, ascending.  y is +1 or -1 (of any sign where c = 0).  A fit ends where its relative gap is at most
    ``tol``, or where no pair is out of order by more than ``finest``."""
    n, K = held.n, held.K
    train = np.flatnonzero(c > 0.0)
    sign, weight = y[train].astype(np.float64), c[train]
    diagonal = np.ascontiguousarray(np.diagonal(K)[:n])
    points: Any = DiagonalGram(diagonal[train].astype(np.float64))
    u, scores = np.zeros(n), np.zeros(n)
    block = WorkingBlock(held)
    random = np.random.default_rng(0)
    before, wanted = None, LOOSE
    for C in Cs:
        problem = KernelDual.c_svc(points, sign, C * weight)
        low, high = np.zeros(n), np.zeros(n)
        low[train], high[train] = np.minimum(0.0, sign * problem.c), np.maximum(0.0, sign * problem.c)
        if before is not None:
            u *= C / before
            scores *= C / before
            np.clip(u, low, high, out=u)  # what rounding left
        before = C
        wanted, settled = min(LOOSE, CLOSER * wanted), True
        while True:
            settled = _solve(held, block, y, train, u, scores, low, high, wanted, loop, random) and settled
            scalars, primal, _, gap = evaluate_point(problem, sign * u[train], scores[train])
            found = relative_gap(primal, primal - gap)
            if found <= tol or not settled or wanted <= finest:
                break
            wanted = max(finest, wanted / CLOSER)
        yield ChainPoint(scores + scalars[0], found, int(np.count_nonzero(u)), found <= tol)


class SquareBuffer:
    """K[index, index] for one index after another, in the same memory: fresh memory costs as much as the values."""

    def __init__(self, dtype: Any) -> None:
        self.memory = np.empty(0, dtype)

    def fill(self, K: np.ndarray, index: np.ndarray) -> np.ndarray:
        """With columns up to a whole number of tiles."""
        columns = -(-index.size // COLUMNS) * COLUMNS
        if self.memory.size < index.size * columns:
            self.memory = np.empty(0, self.memory.dtype)  # the old one goes first
            self.memory = np.empty(index.size * columns, self.memory.dtype)
        out = self.memory[: index.size * columns].reshape(index.size, columns)
        gather_square(K, index, out)
        return out


class WorkingBlock:
    """K[rows, rows] of the rows that are worked on."""

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
        """K of some of the rows, until the next call."""
        return self._part.fill(self.K, some)


def _solve(
    held: DenseTiles, block: WorkingBlock, y: np.ndarray, train: np.ndarray, u: np.ndarray, scores: np.ndarray, low: np.ndarray,
    high: np.ndarray, wanted: float, loop: Loop, random: np.random.Generator,
) -> bool:  # fmt: skip
    """u and its scores, in place, until no pair is out of order by more than ``wanted``; False where nothing moves any more."""
    least, idle = np.inf, 0
    a, b = low[train], high[train]
    while True:
        loop.tick()
        v, own = y[train] - scores[train], u[train]
        top, bottom = extremes(own, v, a, b)
        violation = top - bottom
        if violation <= wanted:
            return True
        idle = 0 if violation < 0.95 * least else idle + 1
        least = min(least, violation)
        if idle > IDLE or not np.isfinite(violation):
            return False
        loop.advance()
        middle = 0.5 * (top + bottom)
        out_by = violations(own, v - middle, a, b)
        near = max(violation, NEAR)
        wide = block.rows.size > max(SMALL, ROOM * np.count_nonzero((out_by > -near) | ((own > a) & (own < b))))
        outside_by = float(np.max(out_by, initial=-np.inf, where=~block.inside[train]))
        if wide or outside_by > max(0.5 * wanted, LATER * violation):
            block.take(_rows(train, own, a, b, out_by, near, wanted, random))
            outside_by = -np.inf if block.rows.size < BLOCK else 0.5 * violation
        aim = 0.5 * wanted if outside_by <= 0.5 * wanted else max(0.5 * wanted, 0.1 * violation)
        du = _move(block, y, u, scores, low, high, middle, aim, loop)
        moved = block.rows[du != 0.0]
        if moved.size == 0:
            return False
        held.add(scores, moved, du[du != 0.0])


def _rows(
    train: np.ndarray, u: np.ndarray, low: np.ndarray, high: np.ndarray, out_by: np.ndarray, reach: float,
    wanted: float, random: np.random.Generator,
) -> np.ndarray:  # fmt: skip
    """Those out of order, those inside their box, and those that may soon be either; the worst where these are too many."""
    cold = not u.any()
    most = FIRST if cold else BLOCK
    violating = np.flatnonzero(out_by > 0.5 * wanted)
    if violating.size >= most:
        order = violating[np.argpartition(-out_by[violating], most // 4)]
        chosen = np.concatenate(
            [order[: most // 4], random.choice(order[most // 4 :], most - most // 4, replace=False)]
        )
        return train[np.sort(chosen)]
    free = (u > low) & (u < high)
    near = np.flatnonzero((out_by > -reach) | free)
    if near.size > most:
        rank = np.where(free[near], np.maximum(out_by[near], 0.0), out_by[near])
        near = near[np.argpartition(-rank, most)[:most]]
    return train[np.sort(np.union1d(near, violating))]


def _move(
    block: WorkingBlock, y: np.ndarray, u: np.ndarray, scores: np.ndarray, low: np.ndarray, high: np.ndarray, middle: float,
    aim: float, loop: Loop,
) -> np.ndarray:  # fmt: skip
    """What u of the block's rows moves by; u has moved.  Pairs go through the rows inside their box and those near it."""
    rows, held = block.rows, DenseTiles(block.K, block.rows.size)
    before = u[rows]
    own, a, b = before.copy(), low[rows], high[rows]
    f = scores[rows]
    target = y[rows] - middle
    least, idle = np.inf, 0
    for _ in range(TURNS):
        v = target - f
        top, bottom = extremes(own, v, a, b)
        violation = top - bottom
        if violation <= aim:
            break
        idle = 0 if violation < 0.9 * least else idle + 1
        least = min(least, violation)
        if idle > IDLE:
            break
        shift = 0.5 * (top + bottom)
        near = violations(own, v - shift, a, b) > -REACH * violation
        near |= (own > a) & (own < b)
        some = np.flatnonzero(near)
        whole = some.size > WHOLE * rows.size
        if whole:
            some = np.arange(rows.size)
        K = block.K if whole else block.part(some)
        du = _pairs(K, v[some] - shift, own, a, b, some, max(aim, 0.1 * violation), loop)
        moved = du != 0.0
        if not moved.any():
            break
        held.add(f, some[moved], du[moved])
    u[rows] = own
    return own - before


def _pairs(
    K: np.ndarray,
    v: np.ndarray,
    u: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    some: np.ndarray,
    aim: float,
    loop: Loop,
) -> np.ndarray:
    """What u of some rows moves by; u has moved: pairs, then Newton steps on those inside their box, in turns."""
    own, a, b = u[some], low[some], high[some]
    full = np.zeros(K.shape[1], K.dtype)
    full[: some.size] = v
    allowed, side = b > a, np.zeros(some.size, np.int8)
    diagonal = np.ascontiguousarray(np.diagonal(K))
    most = STEPS * some.size
    for _ in range(ROUNDS):
        done = solve_pairs(K, diagonal, full, own, a, b, allowed, aim, most)
        loop.tick()
        if done < most:
            break
        take_newton_steps(K, full, own, a, b, side)
    moved = own - u[some]
    u[some] = own
    return moved


def resolve_kernel(task: Any, X: Any, weights: np.ndarray) -> Any:
    """The kernel with its numbers, of these training rows."""
    from gapless.encode.gamma import resolve_gamma

    gamma = resolve_gamma(task.gamma, X, np.asarray(weights, dtype=np.float64))
    return {
        "linear": lambda: kernels.Linear(),
        "poly": lambda: kernels.Polynomial(int(task.degree), gamma, float(task.coef0)),
        "rbf": lambda: kernels.RBF(gamma),
        "precomputed": lambda: kernels.Precomputed(),
    }[task.kernel]()
