"""The sums of one node, its histograms, the best set of categories, and what a split gains."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless._jit import compiled

from .tree_scan import CLASSES, ONE, better, score_of


@compiled
def class_impurity(mode: int, entropy: bool, T: Any, W: float, parts: Any) -> float:
    """The mean over the outputs of 1 - sum of squared shares, or of -sum share log2 share."""
    impurity = 0.0
    outputs = parts.size - 1
    for o in range(outputs):
        if mode == ONE:
            p1 = T[0] / W
            p0 = (W - T[0]) / W
            if entropy:
                impurity -= (p0 * np.log2(p0) if p0 > 0.0 else 0.0) + (p1 * np.log2(p1) if p1 > 0.0 else 0.0)
            else:
                impurity += 1.0 - (T[0] * T[0] + (W - T[0]) * (W - T[0])) / (W * W)
        else:
            squares = 0.0
            for k in range(parts[o], parts[o + 1]):
                p = T[k] / W
                if entropy:
                    impurity -= p * np.log2(p) if p > 0.0 else 0.0
                else:
                    squares += T[k] * T[k]
            if not entropy:
                impurity += 1.0 - squares / (W * W)
    return impurity / outputs


@compiled
def node_sums(
    mode: int, entropy: bool, rows: Any, start: int, end: int, y: Any, k_of: Any, Y: Any, w: Any, parts: Any, M: int,
    centred: bool, node_w: Any, node_t: Any, node_k: Any, node_Y: Any, T: Any, mean: Any,
) -> tuple[float, float, bool]:  # fmt: skip
    """Weights and targets of a node's rows, one after the other; their sums T; weight, impurity, and whether it is pure.

    ``centred``: targets lose the node's mean, so that no digits are lost where it is far from 0."""
    m = end - start
    W = 0.0
    for i in range(m):
        node_w[i] = w[rows[start + i]]
        W += node_w[i]
    for k in range(M):
        T[k] = 0.0
        mean[k] = 0.0
    impurity, pure = 0.0, True
    if mode == ONE:
        first = y[rows[start]]
        total = 0.0
        for i in range(m):
            value = y[rows[start + i]]
            pure = pure and value == first
            total += node_w[i] * (value - first)
            node_t[i] = value
        centre = first + total / W
        mean[0] = centre
        if centred:
            for i in range(m):
                gap = node_t[i] - centre
                node_t[i] = node_w[i] * gap
                T[0] += node_t[i]
                impurity += node_t[i] * gap
            impurity /= W
        else:
            for i in range(m):
                node_t[i] *= node_w[i]
                T[0] += node_t[i]
            mean[0] = T[0] / W
    elif mode == CLASSES:
        first_k = k_of[rows[start]]
        for i in range(m):
            k = k_of[rows[start + i]]
            pure = pure and k == first_k
            node_k[i] = k
            T[k] += node_w[i]
        for k in range(M):
            mean[k] = T[k] / W
    else:
        base = rows[start]
        for i in range(m):
            for k in range(M):
                gap = Y[rows[start + i], k] - Y[base, k]
                pure = pure and gap == 0.0
                T[k] += node_w[i] * gap
        for k in range(M):
            mean[k] = Y[base, k] + T[k] / W
            T[k] = 0.0
        for i in range(m):
            for k in range(M):
                gap = Y[rows[start + i], k] - (mean[k] if centred else 0.0)
                node_Y[i, k] = node_w[i] * gap
                T[k] += node_Y[i, k]
                if centred:
                    impurity += node_Y[i, k] * gap
        impurity /= W * M
    if not centred:
        impurity = class_impurity(mode, entropy, T, W, parts)
    return W, impurity, pure


@compiled
def fill_histogram(
    C: Any, j: int, rows: Any, start: int, m: int, mode: int, M: int, counted: bool, w: Any, t: Any, k_of: Any, Y: Any,
    H: Any, count: Any, pair: int, T: float, W: float,
) -> None:  # fmt: skip
    """Sums of every code. ``pair`` >= 0: one target, and only the codes ``pair`` and the next one: the sums of one of them
    give those of the other, and no row waits for the one before it to be stored."""
    if pair >= 0:
        ones: Any = 0
        t0, t1, w0, w1 = 0.0, 0.0, 0.0, 0.0
        even = m - m % 2
        for i in range(0, even, 2):
            c0 = np.int64(C[j, rows[start + i]]) - pair
            c1 = np.int64(C[j, rows[start + i + 1]]) - pair
            ones += c0 + c1
            t0 += c0 * t[i]
            w0 += c0 * w[i]
            t1 += c1 * t[i + 1]
            w1 += c1 * w[i + 1]
        if even < m:
            c0 = np.int64(C[j, rows[start + even]]) - pair
            ones += c0
            t0 += c0 * t[even]
            w0 += c0 * w[even]
        H[2 * pair + 2] = t0 + t1
        H[2 * pair + 3] = w0 + w1
        if ones < m:  # nothing is left by rounding where there is nobody
            H[2 * pair] = T - (t0 + t1)
            H[2 * pair + 1] = W - (w0 + w1)
    elif mode == ONE:
        for i in range(m):
            c = np.int64(C[j, rows[start + i]]) * 2
            H[c] += t[i]
            H[c + 1] += w[i]
    elif mode == CLASSES:
        for i in range(m):
            H[np.int64(C[j, rows[start + i]]) * M + k_of[i]] += w[i]
    else:
        for i in range(m):
            c = np.int64(C[j, rows[start + i]]) * (M + 1)
            for k in range(M):
                H[c + k] += Y[i, k]
            H[c + M] += w[i]
    if counted:
        for i in range(m):
            count[C[j, rows[start + i]]] += 1


@compiled
def best_categories(
    H: Any, count: Any, codes: int, mode: int, entropy: bool, parts: Any, T: Any, M: int, W: float, L: Any, n: int,
    min_leaf: int, min_weight: float, scale: float, share: Any, order: Any, left_set: Any,
) -> float:  # fmt: skip
    """The best of the sets that are a prefix of the categories in order of their mean target (of each target in turn).

    For one target some prefix is the best of all sets (Fisher 1958; Breiman et al. 1984, theorem 4.5); for more it is a rule of
    thumb. Writes which codes go left; category ``codes`` is the missing value.
    """
    width = M if mode == CLASSES else M + 1
    best = -np.inf
    there = 0
    for c in range(codes + 1):
        if count[c] > 0:
            order[there] = c
            there += 1
    for target in range(M):
        for g in range(there):
            c = order[g]
            wc = 0.0
            if mode == CLASSES:
                for k in range(M):
                    wc += H[c * width + k]
            else:
                wc = H[c * width + M]
            share[c] = H[c * width + target] / wc
        for g in range(1, there):
            c = order[g]
            p = g - 1
            while p >= 0 and (share[order[p]] > share[c] or (share[order[p]] == share[c] and order[p] > c)):
                order[p + 1] = order[p]
                p -= 1
            order[p + 1] = c
        for k in range(M):
            L[k] = 0.0
        WL, nl = 0.0, 0
        for g in range(there - 1):
            c = order[g]
            for k in range(M):
                L[k] += H[c * width + k]
                WL += H[c * width + k] if mode == CLASSES else 0.0
            WL += 0.0 if mode == CLASSES else H[c * width + M]
            nl += count[c]
            if nl >= min_leaf and n - nl >= min_leaf and WL >= min_weight and W - WL >= min_weight:
                score = score_of(mode, entropy, L, T, M, WL, W, parts)
                if better(score, best, scale):
                    best = score
                    for q in range(codes + 1):
                        left_set[q] = 0
                    for q in range(g + 1):
                        left_set[order[q]] = 1
    return best


@compiled
def split_decrease(mode: int, entropy: bool, centred: bool, best: float, T: Any, M: int, W: float, parts: Any) -> float:
    """What a split of this score takes off the node's impurity: impurity - (W_L impurity_L + W_R impurity_R) / W."""
    outputs = parts.size - 1
    if entropy:
        nothing = 0.0
        for o in range(outputs):
            if mode == ONE:
                nothing += xlogx_sum(T[0], W)
            else:
                for k in range(parts[o], parts[o + 1]):
                    nothing += T[k] * np.log(T[k]) if T[k] > 0.0 else 0.0
                nothing -= W * np.log(W)
        return (best - nothing) / (W * outputs * np.log(2.0))
    if mode == CLASSES:
        squares = 0.0
        for k in range(M):
            squares += T[k] * T[k]
        return (best - squares / W) / W
    if centred:
        return best / (W * W * M)
    return best / (W * W) * (2.0 if mode == ONE else 1.0 / outputs)


@compiled
def xlogx_sum(part: float, W: float) -> float:
    rest = W - part
    total = part * np.log(part) if part > 0.0 else 0.0
    total += rest * np.log(rest) if rest > 0.0 else 0.0
    return total - W * np.log(W)
