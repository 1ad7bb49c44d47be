"""P and D of a model, enclosed in floating point (tier T1): what was claimed is computed again from the data.

    P(w, b) = 1/2 |w|^2 + sum_i c_i l(y_i, <w, x_i> + b)            penalised offset: + 1/2 (b/s)^2
    D(u)    = sum_i (dual terms) - 1/2 |sum_i u_i x_i|^2            penalised: - 1/2 (s sum u)^2
                                                                    free offset: - B |sum u|

The hard margin (C = inf) has no loss: P is 1/2 |w|^2 where every y f >= 1 for certain, else infinite.

The products with X are ordinary BLAS, with Higham's bound |fl(x.w) - x.w| <= gamma_k |x|.|w|, which holds for any order of
summation, with or without FMA (not for Strassen's method, nor where subnormals are flushed to zero).  Everything after them is
interval arithmetic with one float outward, and sums over rows are compensated, so the bounds hardly grow with n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arithmetic.rounding import (
    HALF,
    TINY,
    UNIT,
    ZERO,
    Interval,
    Sums,
    down,
    exactly,
    middle_of,
    ratio_up,
    sum_interval,
    sum_pairs,
    two_sum,
    up,
)
from ..rows import Block, Rows, counted, place
from .losses import HARD, dual_bounds, feasible, loss_bounds, slope_bounds
from .offset import offset_bound, strong_convexity_bound


class Task(NamedTuple):
    """S problems on the same rows: targets y (S, n), weights c (n,), loss and offset.

    The softmax loss has one problem, and its targets (1, n) are class indices.
    """

    rows: Rows
    y: np.ndarray
    c: np.ndarray
    loss: str
    offset: str
    offset_scale: float = 1.0


@dataclass(frozen=True)
class Figures:
    """Primal and dual of one subproblem, enclosed."""

    primal: Interval
    dual: Interval
    feasible: bool
    #: What plain float64 sums in any order may be off by, generously; `check` caps claims with it: P - D, and P by itself.
    textbook: float
    own: float
    #: A hard margin: whether y f >= 1 holds for every row, for certain.
    kept: bool = True

    @property
    def gap(self) -> Interval:
        return self.primal - self.dual

    @property
    def finite(self) -> bool:
        ends = (self.primal.low, self.primal.up, self.dual.low, self.dual.up, self.textbook)
        return all(map(math.isfinite, ends))


def row_weights(C: float, sample_weight: np.ndarray, class_weight: np.ndarray, label_index: np.ndarray) -> np.ndarray:
    """c_i = (C * sample_weight_i) * class_weight[label_i], in this order: these floats define the problem."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return np.asarray((C * sample_weight) * np.asarray(class_weight, dtype=np.float64)[label_index])


class Combination:
    """sum_i g_i x_i over blocks, one line for each subproblem, with an error bound for each entry.

    A part of height m is off by gamma_m |g|.|x|.  Parts are added with two_sum, whose errors are summed in turn: N
    parts add at most N u * N u of the sum of the |g|.|x|, which is below u for N < 2^26, and the last rounding adds u.
    gamma_(m+4) covers all; the sizes |g|.|x| are themselves computed to gamma_(m+N).
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.high = np.zeros(shape)
        self.low = np.zeros(shape)
        self.size = np.zeros(shape)
        self.spread = np.zeros(shape)
        self.height = self.parts = self.rows = 0

    def add(self, block: Block, magnitude: Block, g: np.ndarray, spread: np.ndarray | None = None) -> None:
        """``spread`` bounds how far each g_i may be from the number it stands for."""
        for part in block.combine(g):
            self.high, error = two_sum(self.high, part)
            self.low += error
            self.parts += 1
        for part in magnitude.combine(np.abs(g)):
            self.size += part
        if spread is not None:
            for part in magnitude.combine(spread):
                self.spread += part
        self.height = max(self.height, block.height)
        self.rows += block.n

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """The entries and the bound on their errors."""
        depth = 2 * self.height + self.parts + 8
        reach = up(ratio_up(self.height + 4, depth) * self.size)
        reach = up(reach + up(self.spread * (1.0 + ratio_up(depth, depth))))
        return self.high + self.low, up(reach + (4.0 * self.rows + 8.0) * TINY)


def square_sums(values: np.ndarray, reach: np.ndarray | float = 0.0) -> list[Interval]:
    """|v|^2 for each line of ``values``, every entry known to within ``reach``."""
    largest = up(np.abs(values) + reach)
    smallest = np.maximum(0.0, down(np.abs(values) - reach))
    if np.ndim(reach) == 0 and reach == 0.0:
        largest = smallest = np.abs(values)
    ends = []
    for terms in (np.maximum(0.0, down(smallest * smallest)), up(largest * largest)):
        total, error, radius = sum_pairs(terms)
        ends.append([sum_interval(part[:2], part[2]) for part in zip(total, error, radius, strict=True)])
    return [Interval(max(0.0, low.low), high.up) for low, high in zip(*ends, strict=True)]


def score_bounds(block: Block, magnitude: Block, W: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """<w, x_i> + b between two arrays (S, rows): k products and k + 1 additions at most, so gamma_(k+1)."""
    k = block.depth
    z = np.ascontiguousarray(block.scores(W).T) + b[:, None]
    size = np.ascontiguousarray(magnitude.scores(np.abs(W)).T) + np.abs(b)[:, None]
    reach = up(up(ratio_up(k + 2, 2 * k + 6) * size) + (4.0 * k + 8.0) * TINY)
    return down(z - reach), up(z + reach)


def square_norms(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """|x_i|^2 between two arrays."""
    k = block.depth
    squares = block.squares()
    low = down(down(squares * (1.0 - ratio_up(k + 1, k + 1))) - k * TINY)
    return np.maximum(0.0, low), up(up(squares * (1.0 + ratio_up(k + 1, 2 * k + 4))) + 2.0 * k * TINY)


class _Pass:
    """One walk over the rows: everything that P, D and B need."""

    def __init__(self, task: Task, W: np.ndarray, b: np.ndarray, U: np.ndarray) -> None:
        S, d = W.shape
        self.task, self.W, self.b, self.U = task, W, b, U
        self.loss_low, self.loss_up, self.term_low, self.term_up = (Sums(S) for _ in range(4))
        self.u, self.plus, self.minus = (Sums(S) for _ in range(3))
        self.combined = Combination((S, d))
        self.feasible = np.ones(S, dtype=bool)
        self.kept, self.broken = np.ones(S, dtype=bool), np.zeros(S, dtype=bool)
        self.square = ZERO
        self.largest_target = np.zeros(S)
        # For the textbook bound, in plain floats: sums of c |l'| |x|, roots of c |l''| |x|^2, |u| |x|, |dual terms|, |u|, c.
        self.rough = np.zeros((6, S))
        self.n = 0
        constant = {"none": 0.0, "penalised": task.offset_scale, "free": 1.0}[task.offset]
        self.constant2 = constant * constant
        for block in task.rows.blocks():
            self._block(block)

    def _block(self, block: Block) -> None:
        task, part = self.task, place(block)
        c, y, u = task.c[part], task.y[:, part].astype(np.float64), self.U[:, part]
        inside = feasible(task.loss, y, c, u)
        self.feasible &= inside.all(axis=1)
        u = np.where(inside, u, 0.0)
        keep = c > 0
        if not keep.all():
            block, c, y, u = block.take(keep), c[keep], y[:, keep], u[:, keep]
        if block.n == 0:
            return
        magnitude = block.absolute()
        z_low, z_high = score_bounds(block, magnitude, self.W, self.b)
        low, high = loss_bounds(task.loss, y, z_low, z_high)
        hard = task.loss == HARD
        if hard:  # no sum of infinities: a loss is 0, or the primal is infinite
            self.kept &= (high == 0.0).all(axis=1)
            self.broken |= (low > 0.0).any(axis=1)
            low = high = np.zeros_like(low)
        self.loss_low.add(np.maximum(0.0, down(c * low)))
        self.loss_up.add(up(c * high))
        d_low, d_high = dual_bounds(task.loss, y, c, u)
        self.term_low.add(d_low)
        self.term_up.add(d_high)
        self.u.add(u)
        self.combined.add(block, magnitude, u)
        norm_low, norm_up = square_norms(block)
        self.square = Interval(max(self.square.low, float(norm_low.max())), max(self.square.up, float(norm_up.max())))
        if task.offset == "free":
            self.plus.add(np.where(y > 0, c, 0.0))
            self.minus.add(np.where(y > 0, 0.0, c))
            self.largest_target = np.maximum(self.largest_target, np.abs(y).max(axis=1))
        bent = task.loss.startswith("squared")
        slope = np.sqrt(high) if bent else float(not hard)  # |l'|, or half of it
        norms = np.maximum(np.sqrt(norm_up + self.constant2), TINY)
        size, lengths = np.abs(u), np.sqrt(norm_up) if hard and task.offset == "free" else norms
        self.rough += [
            (c * slope * norms * np.ones_like(u)).sum(1),
            np.full(len(u), float(bent) * float(norms.max()) * math.sqrt(float(c @ (norms / norms.max()) ** 2))),
            size @ lengths,
            np.maximum(np.abs(d_low), np.abs(d_high)).sum(1),
            size.sum(1),
            np.full(len(u), 0.0 if hard else c.sum()),
        ]
        self.n += block.n

    def textbook(self, s: int, primal: float, combined: float, w: float, bound: float) -> tuple[float, float]:
        """What P - D, and P by itself, may be off by in plain float64: gamma_d for scores, sums over rows in blocks of 1024.

        Cauchy-Schwarz in place of |x|.|w|, and generous constants: this caps claims, it proves nothing.
        """
        # Blocks have up to 512 rows, and a fit need not say that its own were shorter.
        n, d = max(128, min(self.n, 1024)) + self.n / 512 + 64, self.task.rows.shape[1] + 64
        slopes, bends, lengths, terms, sizes, weights = self.rough[:, s].tolist()
        theta = math.sqrt(w + (float(self.b[s]) * float(self.b[s]) / self.constant2 if self.constant2 else 0.0))
        own = 2.0 * d * slopes * theta + (n + d) * primal + 64 * weights
        total = own + (n + d) * (terms + sizes + combined) + (bound * n * sizes if sizes > 0.0 else 0.0)
        off = n * UNIT * lengths
        shaken = d * UNIT * theta * bends
        second = shaken * shaken
        return total * UNIT + off * (math.sqrt(combined) + off) + second, own * UNIT + second


def evaluate(task: Task, W: np.ndarray, b: np.ndarray, U: np.ndarray) -> list[Figures]:
    """Enclosures of P(w, b) and of the certified dual at u, for each of the S problems.

    W (S, d), b (S,) and U (S, n) are finite.  A u outside the domain of the dual has D = -inf.
    """
    W, b, U = (np.asarray(a, dtype=np.float64) for a in (W, b, U))
    with np.errstate(all="ignore"):
        done = _Pass(task, W, b, U)
        w2 = square_sums(W)
        v2 = square_sums(*done.combined.result())
        ends = (done.loss_low, done.loss_up, done.term_low, done.term_up, done.u, done.plus, done.minus)
        loss_low, loss_up, term_low, term_up, sums, plus, minus = (each.intervals() for each in ends)
        scale = exactly(task.offset_scale)
        figures = []
        for s in range(len(W)):
            primal = HALF * w2[s] + Interval(loss_low[s].low, loss_up[s].up)
            bound = 0.0
            if task.offset == "penalised":  # one more weight, of a column of constants
                primal = primal + HALF * (exactly(abs(float(b[s]))) / scale).square()
                v2[s] = v2[s] + (scale * sums[s]).square()
            dual = Interval(term_low[s].low, term_up[s].up) - HALF * v2[s]
            primal = primal.positive()
            if not done.kept[s]:
                primal = Interval(math.inf if done.broken[s] else primal.low, math.inf)
            if task.offset == "free":
                B = offset_bound(task.loss, primal, done.square, done.largest_target[s], plus[s], minus[s])
                dual = dual - B * abs(sums[s])
                bound = B.up
            if not done.feasible[s]:
                dual = Interval(-math.inf, -math.inf)
            rough = done.textbook(s, primal.up, v2[s].up, w2[s].up, bound)
            figures.append(Figures(primal, dual, bool(done.feasible[s]), *rough, bool(done.kept[s])))
    return figures


def distance_bound(task: Task, w: np.ndarray, b: float) -> float:
    """An upper bound on P(w, b) - P* from the gradient alone, for one problem (S = 1) with a differentiable loss."""
    W, offset = np.atleast_2d(np.asarray(w, dtype=np.float64)), np.array([float(b)])
    gradient, slopes, values = Combination(W.shape), Sums(1), Sums(1)
    plus, minus, square, target = Sums(1), Sums(1), 0.0, 0.0
    with np.errstate(all="ignore"):
        for block, c, y in counted(task.rows, task.c, task.y.astype(np.float64)):
            magnitude = block.absolute()
            z = score_bounds(block, magnitude, W, offset)
            low, high = slope_bounds(task.loss, y, *z)
            middle, spread = middle_of(down(c * low), up(c * high))
            gradient.add(block, magnitude, middle, spread)
            slopes.add(middle, spread)
            values.add(up(c * loss_bounds(task.loss, y, *z)[1]))
            plus.add(np.where(y > 0, c, 0.0))
            minus.add(np.where(y > 0, 0.0, c))
            square = max(square, float(square_norms(block)[1].max()))
            target = max(target, float(np.abs(y).max()))
        v, reach = gradient.result()
        moved = v + W
        total = square_sums(moved, up(reach + up(np.abs(moved) * UNIT)))[0]
        slope = slopes.intervals()[0]
        bound = 0.0
        if task.offset == "penalised":
            scale = exactly(task.offset_scale)
            total = total + (scale * slope + exactly(float(b)) / scale).square()
        elif task.offset == "free":
            primal = HALF * square_sums(W)[0] + values.intervals()[0]
            weights = plus.intervals()[0], minus.intervals()[0]
            bound = offset_bound(task.loss, primal, exactly(square), target, *weights).up
        return strong_convexity_bound(total, slope, task.offset, float(b), bound)
