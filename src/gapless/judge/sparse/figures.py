"""P and D of a model with a sparse or signed penalty, enclosed in floating point, and its proved zeros.

    P(w, b) = l1 |w|_1 + l2/2 |w|^2 + sum_i c_i l(y_i, <w, x_i> + b)          (w >= 0 where positive)
    D       = sum_i (dual terms) - cost - B |r|,     v = sum_i u_i x_i,  r = sum u,  e_j = max(|v_j| - l1, 0)  (positive: v_j)

Why D <= P*.  Fenchel's inequality, row by row, at the optimal (w*, b*): P* >= (terms) + Omega(w*) - <w*, v> - b* r.  There

    <w*, v> - l1 |w*|_1 <= sum_j |w*_j| e_j.   So Omega(w*) - <w*, v> is at least
        - max_j e_j |w*|_1 >= - max_j e_j P / l1                  as l1 |w*|_1 <= P* <= P
        - sum_j max over t >= 0 of (t e_j - l2/2 t^2) = - sum_j e_j^2 / (2 l2)

and cost is the smaller of the two that are there.  B >= |b*| as in `linear.offset`, with |<w*, x_i>| <= max |x_ij| P / l1, or
<= max |x_i| sqrt(2 P / l2), whichever is less.  A penalised offset is one more column of constants.

Zeros.  With L at least the curvature of the loss the terms are strongly concave, sum_i (u*_i - u_i)^2 / (c_i L) <= 2 (P - D), as
D above takes off everything by which u misses the constraints.  By Cauchy and Schwarz x_j'u* is within
sqrt(2 (P - D) L sum_i c_i (x_ij - m)^2) + |m| |r| of v_j for any number m, 0 where the offset is not free (else u* has no sum of
0 that m could use).  Where |x_j'u*| < l1 every optimal w*_j is 0: any other would not minimise l1 |t| + l2/2 t^2 - t x_j'u*.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..arithmetic.rounding import HALF, UNIT, ZERO, Interval, down, exactly, gamma, sum_of, up
from ..linear.offset import log_interval
from ..linear.recompute import Figures, Task, _Pass, square_sums
from ..rows import DenseBlock, counted


def largest_curvature(loss: str) -> float:
    """L, the largest second derivative of a loss."""
    return {"squared": 1.0, "logistic": 0.25, "squared_hinge": 2.0}[loss]


class Omega(NamedTuple):
    """The penalty."""

    l1: float
    l2: float
    positive: bool


class ColumnSums(NamedTuple):
    """Of each column: bounds on sum c x^2 and sum c x; bounds on the largest |x_ij| of all, and on sum c."""

    squares: np.ndarray
    sums: np.ndarray
    spread: np.ndarray
    largest: float
    mass: float


def column_sums(task: Task) -> ColumnSums:
    """One more walk over the rows that count."""
    d = task.rows.shape[1] + (task.offset == "penalised")
    squares, sums, sizes, largest, n = np.zeros(d), np.zeros(d), np.zeros(d), 0.0, 0
    mass = float(task.c[task.c > 0].sum())
    for block, c, _ in counted(task.rows, task.c, task.y.astype(np.float64)):
        values = block.values if isinstance(block, DenseBlock) else block.data
        largest = max(largest, float(np.abs(values).max(initial=0.0)))
        kept = slice(0, task.rows.shape[1])
        squares[kept] += _total(_squared(block), c)
        sums[kept] += _total(block, c)
        sizes[kept] += _total(block.absolute(), c)
        n += block.n
    if task.offset == "penalised":
        squares[-1] = task.offset_scale**2 * mass
        largest = max(largest, task.offset_scale)
    room = gamma(2.0 * n + 64)
    return ColumnSums(squares * (1.0 + room), sums, sizes * room, largest, mass)


def _total(block: Any, c: np.ndarray) -> np.ndarray:
    """The weighted sum of the rows of a block."""
    return np.sum([part[0] for part in block.combine(c[None, :])], axis=0)


def _squared(block: Any) -> Any:
    if isinstance(block, DenseBlock):
        return DenseBlock(block.start, block.values * block.values)
    return replace(block, data=block.data * block.data)


class Found(NamedTuple):
    """The figures of one problem, v with its error, and what zeros are proved from."""

    figures: Figures
    v: np.ndarray
    reach: np.ndarray
    missed: float  #: |r| at most


def evaluate_sparse(
    task: Task, omega: Omega, W: np.ndarray, b: np.ndarray, U: np.ndarray, columns: ColumnSums
) -> list[Found]:
    """Enclosures of P and of the certified dual, for each problem."""
    with np.errstate(all="ignore"):
        done = _Pass(task, W, b, U)
        V, reach = done.combined.result()
        ends = (done.loss_low, done.loss_up, done.term_low, done.term_up, done.u, done.plus, done.minus)
        loss_low, loss_up, term_low, term_up, sums, plus, minus = (each.intervals() for each in ends)
        scale, found = exactly(task.offset_scale), []
        for s in range(len(W)):
            w, v, off = W[s], V[s], reach[s]
            if not U[s].any():  # exactly
                v, off = np.zeros_like(v), np.zeros_like(off)
            penalty = _penalty(omega, w)
            if task.offset == "penalised":
                weight, more = exactly(abs(float(b[s]))) / scale, scale * sums[s]
                penalty = penalty + exactly(omega.l1) * weight + HALF * exactly(omega.l2) * weight.square()
                v = np.append(v, 0.5 * (more.low + more.up))
                off = np.append(off, up(more.up - more.low) if more != ZERO else 0.0)
            primal = (penalty + Interval(loss_low[s].low, loss_up[s].up)).positive()
            cost = _cost(omega, v, off, primal)
            dual = Interval(term_low[s].low, term_up[s].up) - cost
            bound = 0.0
            if task.offset == "free" and sums[s] != ZERO:
                B = _offset_bound(task, omega, primal, done, s, (plus[s], minus[s]), columns)
                dual, bound = dual - B * abs(sums[s]), B.up
            fine = bool(done.feasible[s]) and bool((w >= 0.0).all() or not omega.positive)
            if not done.feasible[s]:
                dual = Interval(-math.inf, -math.inf)
            w2, v2 = square_sums(W[s : s + 1])[0], ZERO
            total, own = done.textbook(s, primal.up, v2.up, w2.up, bound)
            total += _cost_room(omega, v, U[s], task, columns, primal)
            found.append(Found(Figures(primal, dual, fine, total, own), v, off, abs(sums[s]).up))
        return found


def _penalty(omega: Omega, w: np.ndarray) -> Interval:
    total = exactly(omega.l1) * sum_of(np.abs(w)) if omega.l1 > 0.0 else ZERO
    return total + HALF * exactly(omega.l2) * square_sums(w[None, :])[0] if omega.l2 > 0.0 else total


def _excess(omega: Omega, v: np.ndarray, off: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """e_j between two arrays."""
    size = v if omega.positive else np.abs(v)
    high = np.maximum(up(up(size + off) - omega.l1), 0.0)
    return np.maximum(down(down(size - off) - omega.l1), 0.0), np.where((off == 0.0) & (size <= omega.l1), 0.0, high)


def _cost(omega: Omega, v: np.ndarray, off: np.ndarray, primal: Interval) -> Interval:
    low, high = _excess(omega, v, off)
    if not high.any():
        return ZERO
    choices = []
    if omega.l1 > 0.0:
        top = Interval(float(low.max()), float(high.max()))
        choices.append(top * (primal / exactly(omega.l1)).positive())
    if omega.l2 > 0.0:
        squares = Interval(square_sums(low[None, :])[0].low, square_sums(high[None, :])[0].up)
        choices.append(HALF * (squares / exactly(omega.l2)))
    if not choices:
        return Interval(0.0 if not low.any() else math.inf, math.inf)
    return Interval(max(0.0, min(each.low for each in choices)), min(each.up for each in choices))


def _cost_room(omega: Omega, v: np.ndarray, u: np.ndarray, task: Task, columns: ColumnSums, primal: Interval) -> float:
    """What plain sums for v may move the cost by: a cap, by Cauchy and Schwarz with the weights c."""
    c = task.c
    keep = c > 0
    length = math.sqrt(float((u[keep] ** 2 / c[keep]).sum()))
    off = 2.0 * gamma(keep.sum() + 128.0) * np.sqrt(columns.squares) * length
    most, least = _cost(omega, v, off, primal), _cost(omega, v, -off, primal)
    return most.up - least.low if math.isfinite(most.up) else math.inf


def _offset_bound(
    task: Task,
    omega: Omega,
    primal: Interval,
    done: _Pass,
    s: int,
    masses: tuple[Interval, Interval],
    columns: ColumnSums,
) -> Interval:
    """B, enclosed."""
    reaches = []
    if omega.l1 > 0.0:
        reaches.append((primal / exactly(omega.l1)).positive() * exactly(columns.largest))
    if omega.l2 > 0.0:
        reaches.append((exactly(2.0) * primal * done.square.positive() / exactly(omega.l2)).positive().sqrt())
    if not reaches:
        return Interval(math.inf, math.inf)
    reach = Interval(min(each.low for each in reaches), min(each.up for each in reaches))
    if task.loss == "squared":
        return exactly(float(done.largest_target[s])) + reach
    if task.loss == "squared_hinge":
        return exactly(1.0) + reach
    if task.loss == "logistic":
        return abs(log_interval(masses[0]) - log_interval(masses[1])) + reach
    raise ValueError(f"no bound on the offset is known for the loss {task.loss!r}")


def proved_zeros(task: Task, omega: Omega, found: Found, columns: ColumnSums) -> np.ndarray:
    """Where every optimal w*_j is 0, for certain."""
    gap = found.figures.gap.up
    if not (omega.l1 > 0.0 and math.isfinite(gap)):
        return np.zeros(found.v.size, dtype=bool)
    spread = columns.squares
    means = np.zeros_like(spread)
    if task.offset == "free":
        # sum c (x - m)^2 = sum c x^2 - 2 m sum c x + m^2 sum c, for any m: here about the mean.
        means = columns.sums / columns.mass
        least = np.maximum(np.abs(columns.sums) - columns.spread, 0.0)
        spread = np.maximum(up(spread - 2.0 * np.abs(means) * least + means * means * columns.mass), 0.0)
        spread = spread + 16.0 * UNIT * (columns.squares + means * means * columns.mass)
    radius = np.sqrt(up(2.0 * max(gap, 0.0) * largest_curvature(task.loss) * spread)) * (1.0 + 8.0 * UNIT)
    size = found.v if omega.positive else np.abs(found.v)
    reach = up(up(up(size + found.reach) + radius) + np.abs(means) * found.missed * (1.0 + 8.0 * UNIT))
    return np.asarray(reach < omega.l1)
