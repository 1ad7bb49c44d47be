"""Gap-safe labels: on which side of the margin a row lies at the optimum, proved from any other point.

Let (w, b) have gap g = P(w, b) - (D(u) - B|r|), V = sum u x.  P is 1-strongly convex in w and least at (w*,
b*), and (1) of `offset` at (w*, b*) reads P* >= D(u) - B|r| + 1/2 |w* - V|^2, so

    g  >=  1/2 |w - w*|^2 + 1/2 |V - w*|^2  =  |(w + V)/2 - w*|^2 + 1/4 |w - V|^2 :

w* lies in the ball about m = (w + V)/2 of radius rho, rho^2 = g - |w - V|^2 / 4 <= g, whether w = V or not. (About w alone the
radius is sqrt(2g); sqrt(g) about w alone is right only where w = V.)  Hence <w*, x_i> is within |x_i| rho of <m, x_i>.

A free offset is not held by the gap: P can be flat along b.  It must be enclosed: b* minimises sum_i c_i l(y_i, s_i + b) for some
scores s in their intervals.  Slopes grow with s, so every minimiser lies between the smallest one for the largest scores and the
largest one for the smallest scores.  Taking the returned b for b* instead certifies false labels.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..arithmetic.rounding import HALF, UNIT, ZERO, Interval, Sums, down, exactly, sum_between, sum_of, up
from ..rows import as_rows, place
from .losses import slope_bounds
from .offset import best_between, offset_bound
from .recompute import Combination, Task, evaluate, score_bounds, square_norms, square_sums


class SafeLabels(NamedTuple):
    """``side``: +1 where y f(x) > threshold at every optimum, -1 where it is below, 0 where that is open."""

    side: np.ndarray
    offset: Interval
    radius: float


def gap_safe_labels(
    X: Any,
    y: np.ndarray,
    c: np.ndarray,
    loss: str,
    offset: str,
    w: np.ndarray,
    b: float,
    u: np.ndarray,
    offset_scale: float = 1.0,
    threshold: float = 1.0,
) -> SafeLabels:
    """Certify for each row whether y_i f(x_i) is above or below ``threshold`` at the optimum of one problem.

    y is +1 or -1, c the row weights, (w, b) and u any primal and dual point.  Hinge: above 1 means alpha = 0
    at the optimum, below 1 means alpha = c.
    """
    y, c, u = (np.asarray(a, dtype=np.float64) for a in (y, c, u))
    task = Task(as_rows(X), y[None, :], c, loss, offset, offset_scale)
    w, b = np.asarray(w, dtype=np.float64).reshape(1, -1), float(b)
    nothing = SafeLabels(np.zeros(y.size, dtype=np.int8), Interval(-math.inf, math.inf), math.inf)
    figures = evaluate(task, w, np.array([b]), u[None, :])[0]
    if not figures.finite:
        return nothing
    with np.errstate(all="ignore"):
        ball = _ball(task, w, b, u, figures.gap.up)
        low, high = _scores(task, ball)
        between = ZERO
        if offset == "free":
            between = _offsets(task, low, high, c, figures.primal)
            low, high = down(low + between.low), up(high + between.up)
        margin_low, margin_high = np.where(y > 0, low, -high), np.where(y > 0, high, -low)
        side = (margin_low > threshold).astype(np.int8) - (margin_high < threshold).astype(np.int8)
    return SafeLabels(side.reshape(-1), between, ball.radius)


class _Ball(NamedTuple):
    """|w* - centre| <= radius; ``constant`` is the centre's score of the penalised offset's feature."""

    centre: np.ndarray
    constant: float
    radius: float


def _ball(task: Task, w: np.ndarray, b: float, u: np.ndarray, gap: float) -> _Ball:
    combined, sums = Combination(w.shape), Sums(1)
    for block in task.rows.blocks():
        weighted = np.where(task.c[place(block)] > 0, u[place(block)], 0.0)[None, :]
        combined.add(block, block.absolute(), weighted)
        sums.add(weighted)
    v, reach = combined.result()
    centre = 0.5 * (w + v)
    # The computed centre is off by half the error of v, and by its own two roundings.
    off = up(0.5 * reach + np.abs(centre) * (4.0 * UNIT) + 1e-320)
    miss = square_sums(off)[0]
    difference = w - v
    apart = square_sums(difference, up(reach + np.abs(difference) * UNIT))[0]
    constant = 0.0
    if task.offset == "penalised":
        scale, r = exactly(task.offset_scale), sums.intervals()[0]
        weight, dual_weight = exactly(b) / scale, scale * r
        middle = HALF * (weight + dual_weight)
        constant = 0.5 * (b + task.offset_scale * (task.offset_scale * 0.5 * (r.low + r.up)))
        miss = miss + (exactly(constant) / scale - middle).square()
        apart = apart + (weight - dual_weight).square()
    rho = (exactly(gap) - exactly(0.25) * apart).positive().sqrt() + miss.sqrt()
    return _Ball(centre, constant, rho.up)


def _scores(task: Task, ball: _Ball) -> tuple[np.ndarray, np.ndarray]:
    """The score of every row at w* (with its penalised offset, without a free one)."""
    n = task.rows.shape[0]
    low, high = np.empty(n), np.empty(n)
    feature = task.offset_scale if task.offset == "penalised" else 0.0
    for block in task.rows.blocks():
        z_low, z_high = score_bounds(block, block.absolute(), ball.centre, np.array([ball.constant]))
        norms = up(np.sqrt(up(square_norms(block)[1] + up(feature * feature))))
        swing = up(norms * ball.radius)
        low[place(block)], high[place(block)] = down(z_low[0] - swing), up(z_high[0] + swing)
    return low, high


def _offsets(task: Task, low: np.ndarray, high: np.ndarray, c: np.ndarray, primal: Interval) -> Interval:
    """All b that are best for some scores between ``low`` and ``high``."""
    keep = c > 0
    y, weight, low, high = task.y[0][keep], c[keep], low[keep], high[keep]
    if not ((y > 0).any() and (y < 0).any()):
        return Interval(-math.inf, math.inf)
    if task.loss == "hinge":
        # The slope in b is -C+ plus the weights of all y_i - s_i that b has passed.
        return Interval(*best_between(down(y - high), up(y - low), weight, float(weight[y > 0].sum())))
    weights = [sum_of(np.where(side, weight, 0.0)) for side in (y > 0, y < 0)]
    # |<w*, x>| <= max(|low|, |high|): no need for R sqrt(2P) here.
    reach = float(np.maximum(np.abs(low), np.abs(high)).max())
    half = exactly(reach).square() * HALF  # sqrt(2 half) = reach
    bound = offset_bound(task.loss, half, exactly(1.0), float(np.abs(y).max()), weights[0], weights[1]).up
    if not math.isfinite(bound):
        return Interval(-math.inf, math.inf)

    def slope(b: float, scores: np.ndarray) -> Interval:
        s_low, s_high = slope_bounds(task.loss, y, down(scores + b), up(scores + b))
        return sum_between(down(weight * s_low), up(weight * s_high))

    # b below every minimiser: the slope at b is negative even for the largest scores; likewise above.
    smallest = _bisect(-bound, bound, lambda b: slope(b, high).up < 0)
    largest = -_bisect(-bound, bound, lambda b: slope(-b, low).low > 0)
    return Interval(smallest, largest)


def _bisect(low: float, high: float, still_below: Any) -> float:
    """The largest b found with still_below(b); ``low`` is known to be below."""
    for _ in range(100):
        middle = 0.5 * low + 0.5 * high
        if not low < middle < high or high - low <= 1e-13 * (1.0 + abs(low)):
            break
        low, high = (middle, high) if still_below(middle) else (low, middle)
    return low
