"""Absolute error: the median of a node, and the best cut of a column, where the medians of both sides change with each row.

    impurity = sum_i w_i |y_i - median| / W             score of a cut = - (W_L impurity_L + W_R impurity_R)

Targets are numbered by size once. The rows of a side lie in a tree of partial sums (Fenwick 1994) over these places, which
gives the median of the side, and the sums of weights and targets below it, in log m steps; one pass over a sorted column from
the left and one from the right give the errors of both sides of every cut. A median of equally heavy halves is their middle.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gapless._compile.jit import compiled
from gapless.solvers.tree.criteria.monotone import values_in_order
from gapless.solvers.tree.keys import HALF, LOW, sort_keys
from gapless.solvers.tree.score import allowed, better


class Medians(NamedTuple):
    """Memory for n rows and K outputs."""

    code: np.ndarray  #: (K, n) int64: the rank of each row's target, by the number of the row
    ranks: np.ndarray  #: int64: how many ranks an output has
    y: np.ndarray  #: (K, n): targets, by the number of the row
    gap: np.ndarray  #: (K, n): targets of the rows of the node, less its median
    place: np.ndarray  #: (K, n) int64: the place of each row of the node in the order of their targets
    order: np.ndarray  #: (K, n): ``gap`` in this order
    mass: np.ndarray  #: (n): the weight that stands at a place
    W: np.ndarray  #: (n + 1): partial sums of weights
    S: np.ndarray  #: (n + 1): the same of w times gap
    left: np.ndarray  #: (n): errors of the rows up to the p-th of a sorted column
    right: np.ndarray  #: (n): errors from the p-th on
    low: np.ndarray  #: (n): medians of the rows up to the p-th, of the first output
    high: np.ndarray  #: (n)
    of_best: np.ndarray  #: the medians of both sides of the best cut so far, less that of the node

    @classmethod
    def of(cls, y: np.ndarray) -> Medians:
        """For targets (n, K)."""
        n, K = y.shape
        found = [np.unique(y[:, k], return_inverse=True) for k in range(K)]
        code = np.stack([inverse.reshape(-1) for _, inverse in found]).astype(np.int64)
        ranks = np.array([values.size for values, _ in found], dtype=np.int64)
        rows, places = [np.empty(n) for _ in range(5)], np.empty((K, n), dtype=np.int64)
        return cls(
            code, ranks, np.ascontiguousarray(y.T), np.empty((K, n)), places, np.empty((K, n)), rows[0], np.zeros(n + 1),
            np.zeros(n + 1), rows[1], rows[2], rows[3], rows[4], np.empty(2),
        )  # fmt: skip


@compiled(inner=True)
def sum_medians(medians: Any, source: Any, rows: Any, start: int, end: int, work: Any) -> Any:
    """Weights and medians of a node; its weight, impurity, and whether it is pure."""
    m, keys, here = end - start, work.keys, work.w
    W, total, pure = 0.0, 0.0, True
    for i in range(m):
        here[i] = source.w[rows[start + i]]
        W += here[i]
    for k in range(medians.code.shape[0]):
        for i in range(m):
            keys[0, i] = (np.uint64(medians.code[k, rows[start + i]]) << HALF) | np.uint64(i)
        line = sort_keys(keys, m, medians.ranks[k], work.digits)
        pure = pure and keys[line, 0] >> HALF == keys[line, m - 1] >> HALF
        p, below = np.int64(0), 0.0
        while p < m - 1 and below + here[keys[line, p] & LOW] < W / 2.0:
            below += here[keys[line, p] & LOW]
            p += 1
        centre = medians.y[k, rows[start + np.int64(keys[line, p] & LOW)]]
        if p < m - 1 and below + here[keys[line, p] & LOW] == W / 2.0:
            centre = centre / 2.0 + medians.y[k, rows[start + np.int64(keys[line, p + 1] & LOW)]] / 2.0
        work.mean[k] = centre
        for q in range(m):
            at = np.int64(keys[line, q] & LOW)
            gap = medians.y[k, rows[start + at]] - centre
            medians.gap[k, at], medians.place[k, at], medians.order[k, q] = gap, q, gap
            total += here[at] * abs(gap)
    return W, total / (W * medians.code.shape[0]), pure


# -- partial sums


@compiled(inner=True)
def clear(medians: Any, m: int) -> None:
    """Nobody stands anywhere."""
    for p in range(m + 1):
        medians.W[p], medians.S[p] = 0.0, 0.0


@compiled(inner=True)
def stand(medians: Any, m: int, place: int, w: float, gap: float) -> None:
    """A row takes its place."""
    medians.mass[place] = w
    p = place + 1
    while p <= m:
        medians.W[p] += w
        medians.S[p] += w * gap
        p += p & -p


@compiled(inner=True)
def first_from(medians: Any, m: int, half: float, beyond: bool) -> Any:
    """The first place up to which the weights come to ``half`` (``beyond``: to more), and the sums before it."""
    at, W, S = np.int64(0), 0.0, 0.0
    step = np.int64(1)
    while 2 * step <= m:
        step *= 2
    while step > 0:
        to = at + step
        if to <= m and (W + medians.W[to] < half or (beyond and W + medians.W[to] == half)):
            at = to
            W += medians.W[to]
            S += medians.S[to]
        step //= 2
    return min(at, m - 1), W, S


@compiled(inner=True)
def error_here(medians: Any, k: int, m: int, W: float, S: float) -> Any:
    """The absolute error of the rows that stand, whose sums are W and S, and their median."""
    order = medians.order
    at, below, under = first_from(medians, m, W / 2.0, False)
    median = order[k, at]
    error = (S - under) - median * (W - below) + (median * below - under)
    if below + medians.mass[at] <= W / 2.0:
        after, _, _ = first_from(medians, m, W / 2.0, True)
        median = median / 2.0 + order[k, after] / 2.0
    return max(error, 0.0), median


# -- cuts


@compiled(inner=True)
def pass_over(medians: Any, k: int, keys: Any, line: int, m: int, w: Any, backwards: bool) -> None:
    """Errors and medians of the rows up to each of a sorted column, or from each on; only where the next one has another code."""
    clear(medians, m)
    W, S = 0.0, 0.0
    for step in range(m):
        p = m - 1 - step if backwards else step
        i = np.int64(keys[line, p] & LOW)
        gap = medians.gap[k, i]
        stand(medians, m, medians.place[k, i], w[i], gap)
        W += w[i]
        S += w[i] * gap
        following = p - 1 if backwards else p + 1
        if 0 <= following and following < m and keys[line, following] >> HALF != keys[line, p] >> HALF:
            error, median = error_here(medians, k, m, W, S)
            if backwards:
                medians.right[p] = error + (medians.right[p] if k > 0 else 0.0)
                medians.high[p] = median if k == 0 else medians.high[p]
            else:
                medians.left[p] = error + (medians.left[p] if k > 0 else 0.0)
                medians.low[p] = median if k == 0 else medians.low[p]


@compiled(inner=True)
def gather_all(codes: Any, rows: Any, node: Any, work: Any, possible: Any, go: int) -> Any:
    """Keys of all rows of a node by their code, counted from 1: missing values have 0 where they go left (``go`` 1), else the
    largest one. The smallest and largest code that is there, and how many values are missing."""
    lo, hi, keys, start = possible.lo, possible.hi, work.keys, node.start
    a, b, n_missing = np.int64(hi), np.int64(lo), np.int64(0)
    for i in range(node.n):
        c = np.int64(codes[rows[start + i]])
        at = c - lo + 1
        if c == possible.none:
            at = np.int64(0) if go == 1 else hi - lo + 2
            n_missing += 1
        else:
            a, b = min(a, c), max(b, c)
        keys[0, i] = (np.uint64(at) << HALF) | np.uint64(i)
    return a, b, n_missing


@compiled(inner=True)
def scan_medians(medians: Any, work: Any, node: Any, line: int, possible: Any, best_of_all: float, stops: Any) -> Any:
    """The best cut of a sorted column: its score, and the codes on both sides of it; the right code is -1 where only missing
    values lie right. ``best_of_all``: of the cuts before."""
    keys, w, m, lo = work.keys, work.w, node.n, possible.lo
    beyond = np.uint64(possible.hi - lo + 2)
    for k in range(medians.code.shape[0]):
        pass_over(medians, k, keys, line, m, w, False)
        pass_over(medians, k, keys, line, m, w, True)
    best, c_left, c_right = -np.inf, np.int64(-1), np.int64(-1)
    WL = 0.0
    for p in range(m - 1):
        WL += w[keys[line, p] & LOW]
        code, following = keys[line, p] >> HALF, keys[line, p + 1] >> HALF
        if code == following or code == 0 or not allowed(p + 1, m, WL, node.W - WL, stops):
            continue
        score = -(medians.left[p] + medians.right[p + 1])
        fits = values_in_order(stops.fence, medians.low[p], medians.high[p + 1])
        if fits and score > best and better(score, best, node.scale):
            best, c_left = score, np.int64(code) + lo - 1
            c_right = np.int64(following) + lo - 1 if following < beyond else np.int64(-1)
            if better(score, best_of_all, node.scale):
                medians.of_best[0], medians.of_best[1] = medians.low[p], medians.high[p + 1]
    return best, c_left, c_right


@compiled(inner=True)
def score_drawn(medians: Any, work: Any, node: Any, reach: Any, aside: Any, best_of_all: float, stops: Any) -> float:
    """The score of the cut that sends the keys up to ``reach`` left, and the key ``aside``; -inf where it may not be made."""
    keys, w, m = work.keys, work.w, node.n
    score, WL, nl, low, high = 0.0, 0.0, np.int64(0), 0.0, 0.0
    for k in range(medians.code.shape[0]):
        for side in range(2):
            clear(medians, m)
            W, S, n = 0.0, 0.0, np.int64(0)
            for p in range(m):
                key = keys[0, p] >> HALF
                if (key <= reach or key == aside) == (side == 0):
                    i = np.int64(keys[0, p] & LOW)
                    stand(medians, m, medians.place[k, i], w[i], medians.gap[k, i])
                    W += w[i]
                    S += w[i] * medians.gap[k, i]
                    n += 1
            if side == 0:
                WL, nl = W, n
            if not allowed(nl if side == 0 else m - n, m, WL, node.W - WL, stops):
                return -np.inf
            error, median = error_here(medians, k, m, W, S)
            score -= error
            if k == 0 and side == 0:
                low = median
            elif k == 0:
                high = median
    if not values_in_order(stops.fence, low, high):
        return -np.inf
    if better(score, best_of_all, node.scale):
        medians.of_best[0], medians.of_best[1] = low, high
    return score
