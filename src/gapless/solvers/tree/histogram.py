"""A column of a node as a histogram of its codes: its best cut, and for categories its best set."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless._compile.jit import compiled

from .criteria.monotone import in_order
from .score import allowed, better, score_classes, score_many, score_one


@compiled(inner=True)
def fill_pair(codes: Any, rows: Any, start: int, m: int, work: Any, low: int, W: float) -> None:
    """One target, and only the codes ``low`` and the next one: the sums of one of them give those of the other, and no row waits
    for the one before it to be stored."""
    w, t, H = work.w, work.t, work.H
    ones = np.int64(0)
    t0, t1, w0, w1 = 0.0, 0.0, 0.0, 0.0
    even = m - m % 2
    for i in range(0, even, 2):
        c0 = np.int64(codes[rows[start + i]]) - low
        c1 = np.int64(codes[rows[start + i + 1]]) - low
        ones += c0 + c1
        t0 += c0 * t[i]
        w0 += c0 * w[i]
        t1 += c1 * t[i + 1]
        w1 += c1 * w[i + 1]
    if even < m:
        c0 = np.int64(codes[rows[start + even]]) - low
        ones += c0
        t0 += c0 * t[even]
        w0 += c0 * w[even]
    H[2 * low + 2] = t0 + t1
    H[2 * low + 3] = w0 + w1
    if ones < m:  # nothing is left by rounding where there is nobody
        H[2 * low] = work.T[0] - (t0 + t1)
        H[2 * low + 1] = W - (w0 + w1)


@compiled(inner=True)
def fill_histogram(
    codes: Any, rows: Any, node: Any, work: Any, k: Any, Y: Any, low: int, high: int, counted: bool
) -> None:
    """Sums of every code from ``low`` to ``high``, and where ``counted`` their rows."""
    w, t, H, tally, start, m = work.w, work.t, work.H, work.tally, node.start, node.n
    if Y is not None:
        M = Y.shape[1]
        for i in range(m):
            c = np.int64(codes[rows[start + i]]) * (M + 1)
            for o in range(M):
                H[c + o] += Y[i, o]
            H[c + M] += w[i]
    elif k is not None:
        for i in range(m):
            H[np.int64(codes[rows[start + i]]) * node.M + k[i]] += w[i]
    elif high == low + 1 and not counted:
        fill_pair(codes, rows, start, m, work, low, node.W)
    else:
        for i in range(m):
            c = np.int64(codes[rows[start + i]]) * 2
            H[c] += t[i]
            H[c + 1] += w[i]
    if counted:
        for i in range(m):
            tally[codes[rows[start + i]]] += 1


@compiled(inner=True)
def empty_histogram(work: Any, width: int, first: int, last: int, counted: bool) -> None:
    for c in range(first * width, (last + 1) * width):
        work.H[c] = 0.0
    if counted:
        for c in range(first, last + 1):
            work.tally[c] = 0


@compiled(inner=True)
def weight_of(H: Any, c: int, M: int, k: Any) -> float:
    """The weight of a code."""
    if k is None:
        return H[c * (M + 1) + M]
    weight = 0.0
    for o in range(M):
        weight += H[c * M + o]
    return weight


@compiled(inner=True)
def score_of(work: Any, k: Any, Y: Any, M: int, WL: float, W: float, entropy: Any) -> float:
    """The score of a cut whose left sums are ``work.L``."""
    if Y is not None:
        return score_many(work.L, work.T, work.parts, WL, W, entropy)
    if k is not None:
        return score_classes(work.L, work.T, M, WL, W, entropy)
    return score_one(work.L[0], WL, work.T[0], W, entropy)


@compiled(inner=True)
def scan_histogram(
    work: Any,
    k: Any,
    Y: Any,
    node: Any,
    found: Any,
    counted: bool,
    first: Any,
    last_too: bool,
    stops: Any,
    entropy: Any,
) -> Any:
    """The best cut between the codes of a node: its score, and the codes on both sides of it; the right code is -1 where only
    missing values lie right. ``work.L`` and ``first`` hold the sums of the missing values that go left of every cut."""
    H, L, M, W, lo, hi = work.H, work.L, node.M, node.W, found.lo, found.hi
    width = M if k is not None else M + 1
    c_left: Any = np.int64(-1)
    c_right: Any = np.int64(-1)
    previous: Any = np.int64(-1)
    best, WL, nl = -np.inf, first.W, first.n
    for c in range(lo, hi + 2 if last_too else hi + 1):
        wc = weight_of(H, c, M, k) if c <= hi else 0.0
        if wc == 0.0 and c <= hi:
            continue
        # Rows are not counted where a leaf may have one.
        good = previous >= 0 and allowed(nl if counted else 1, node.n if counted else 2, WL, W - WL, stops)
        if good and in_order(stops.fence, L[0], WL, work.T[0], W):
            score = score_of(work, k, Y, M, WL, W, entropy)
            if score > best and better(score, best, node.scale):
                best, c_left, c_right = score, previous, c if c <= hi else np.int64(-1)
        if c <= hi:
            for o in range(M):
                L[o] += H[c * width + o]
            WL += wc
            if counted:
                nl += work.tally[c]
            previous = np.int64(c)
    return best, c_left, c_right


@compiled(inner=True)
def order_by_share(H: Any, k: Any, M: int, target: int, there: int, share: Any, order: Any) -> None:
    """Categories in order of their mean of one target."""
    width = M if k is not None else M + 1
    for g in range(there):
        c = order[g]
        share[c] = H[c * width + target] / weight_of(H, c, M, k)
    for g in range(1, there):
        c = order[g]
        p = g - 1
        while p >= 0 and (share[order[p]] > share[c] or (share[order[p]] == share[c] and order[p] > c)):
            order[p + 1] = order[p]
            p -= 1
        order[p + 1] = c


@compiled(inner=True)
def best_categories(
    work: Any, categories: Any, codes: int, k: Any, Y: Any, node: Any, stops: Any, entropy: Any
) -> float:  # fmt: skip
    """The best of the sets that are a prefix of the categories in order of their mean target (of each target in turn).

    For one target some prefix is the best of all sets (Fisher 1958; Breiman et al. 1984, theorem 4.5); for more it is a rule of
    thumb. Writes which codes go left; category ``codes`` is the missing value.
    """
    H, L, M, order, left = work.H, work.L, node.M, categories.order, categories.left
    width = M if k is not None else M + 1
    best = -np.inf
    there = np.int64(0)
    for c in range(codes + 1):
        if work.tally[c] > 0:
            order[there] = c
            there += 1
    for target in range(M):
        order_by_share(H, k, M, target, there, categories.share, order)
        for o in range(M):
            L[o] = 0.0
        WL, nl = 0.0, np.int64(0)
        for g in range(there - 1):
            c = order[g]
            for o in range(M):
                L[o] += H[c * width + o]
                WL += H[c * width + o] if k is not None else 0.0
            WL += H[c * width + M] if k is None else 0.0
            nl += work.tally[c]
            if allowed(nl, node.n, WL, node.W - WL, stops):
                score = score_of(work, k, Y, M, WL, node.W, entropy)
                if better(score, best, node.scale):
                    best = score
                    for q in range(codes + 1):
                        left[q] = 0
                    for q in range(g + 1):
                        left[order[q]] = 1
    return best
