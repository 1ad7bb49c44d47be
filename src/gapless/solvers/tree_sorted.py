"""Growth of a subtree of at most 65,536 rows whose columns are sorted once.

A column is its rows in order of their values, a key of 32 bits each: the rank of the value above, the row's place below.
A split parts every column into the keys of its left and of its right side, each still in order, and gives the rows new places,
those of a node side by side: a scan reads the weights and targets of its node alone, and nothing is ever sorted again.
Where more than half of all rows have one value, only the others have keys; those follow from the sums of the node.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless._jit import compiled

from .tree_node import class_impurity, split_decrease
from .tree_scan import CLASSES, ONE, TIE, better, score_of, sort_keys

#: Rows that a place of 16 bits can tell apart.
PLACES = 65_536
#: Keys of one part, 4 bytes each.
MOST_KEYS = 1 << 25
LOW = np.uint32(0xFFFF)
HIGH = np.uint32(0xFFFF0000)


@compiled
def keys_of_order(order: Any, length: int, below: int, whole: bool, place: Any, keys: Any, base: int) -> Any:
    """The keys of a column from its sorted rows, of those that have a place; where they end, and the rank of the
    value that has no keys (-1 where every row has one).

    The highest bit of ``order`` says that a value begins. ``below``: so many rows are below the value without keys."""
    at: Any = base
    fresh: Any = np.uint32(1)
    rank, common = np.int64(-1), np.int64(-1)
    for part in range(2):
        first, last = (0, below) if part == 0 else (below, length)
        for i in range(first, last):
            here = place[order[i] & np.uint32(0x7FFFFFFF)]
            fresh |= order[i] >> np.uint32(31)
            there = np.uint32(1) if here >= 0 else np.uint32(0)
            rank += np.int64(fresh & there)
            fresh &= np.uint32(1) - there
            keys[at] = np.uint32(rank << 16) | np.uint32(here)
            at += np.int64(there)
        if part == 0 and not whole:
            rank += 1
            common = rank
            fresh = np.uint32(1)
    return at, common


@compiled
def keys_of_codes(
    code: Any, rows: Any, start: int, m: int, common: int, span: int, wide: Any, keys: Any, base: int
) -> Any:
    """The same from the codes of a node's rows."""
    count = 0
    for i in range(m):
        c = np.int64(code[rows[start + i]])
        wide[0, count] = (np.uint64(c) << np.uint64(32)) | np.uint64(i)
        count += 1 if c != common else 0
    line = sort_keys(wide, count, span)
    rank, before, usual = np.int64(-1), np.int64(-1), np.int64(-1)
    for p in range(count):
        c = np.int64(wide[line, p] >> np.uint64(32))
        if count < m and before < common and common < c:
            rank += 1
            usual = rank
        rank += 1 if c != before else 0
        before = c
        keys[base + p] = np.uint32(rank << 16) | np.uint32(wide[line, p] & np.uint64(0xFFFF))
    if count < m and usual < 0:
        usual = rank + 1
    return base + count, usual


@compiled
def grow_part(
    codes: Any, n_codes: Any, offset: Any, lowest: Any, highest: Any, common: Any, order: Any, ordered: Any, rows: Any,
    start: int, end: int, depth: int, parent: int, is_left: int, mode: int, entropy: bool, centred: bool, y: Any, k_of: Any,
    parts: Any, M: int, w: Any, max_depth: int, min_split: int, min_leaf: int, min_weight: float, min_decrease: float,
    total_weight: float, nodes: int, feature: Any, threshold: Any, left: Any, right: Any, goes_left: Any, value: Any,
    impurity: Any, weight: Any, samples: Any,
) -> tuple[int, int]:  # fmt: skip
    """The subtree of rows start to end, with its thresholds; how many nodes there are then, and the depth of the deepest."""
    d, m = codes.shape[0], end - start
    ends, usual = np.zeros(d + 1, dtype=np.int64), np.empty(d, dtype=np.int64)
    if parent < 0 and order.shape[0] > 0:
        place = np.full(codes.shape[1], -1, dtype=np.int32)
        for i in range(m):
            place[rows[start + i]] = i
        many = 1
        for j in range(d):
            many += min(m, ordered[j, 0])
        keys = np.empty(many, dtype=np.uint32)
        for j in range(d):
            ends[j + 1], usual[j] = keys_of_order(
                order[j], ordered[j, 0], ordered[j, 1], common[j] < 0, place, keys, ends[j]
            )  # fmt: skip
    else:
        keys = np.empty(m * d + 1, dtype=np.uint32)
        wide = np.empty((2, m + 1), dtype=np.uint64)
        for j in range(d):
            ends[j + 1], usual[j] = keys_of_codes(
                codes[j], rows, start, m, common[j], n_codes[j], wide, keys, ends[j]
            )  # fmt: skip
    own_w, own_t = np.empty(m), np.empty(m)
    own_y = np.empty(m if centred else 0)
    own_k = np.empty(m if mode == CLASSES else 0, dtype=k_of.dtype)
    row_of = np.empty(m, dtype=np.uint32)
    for i in range(m):
        r = rows[start + i]
        own_w[i], row_of[i] = w[r], r
        if mode == CLASSES:
            own_k[i] = k_of[r]
        elif centred:
            own_y[i] = y[r]
        else:
            own_t[i] = w[r] * y[r]
    sides = np.empty((2 * m, 2), dtype=np.int64)
    before = nodes
    nodes, deepest = grow_sorted(
        keys, ends, usual, m, depth, parent, is_left, mode, entropy, centred, parts, M, own_w, own_y, own_t, own_k, row_of,
        max_depth, min_split, min_leaf, min_weight, min_decrease, total_weight, nodes, feature, left, right, goes_left, value,
        impurity, weight, samples, sides,
    )  # fmt: skip
    for node in range(before, nodes):
        j = feature[node]
        if j >= 0:
            a, b = sides[node - before]
            c_left = common[j] if a < 0 else np.int64(codes[j, a])
            c_right = common[j] if b < 0 else np.int64(codes[j, b])
            x0, x1 = np.float64(highest[offset[j] + c_left]), np.float64(lowest[offset[j] + c_right])
            threshold[node] = x0 / 2.0 + x1 / 2.0
            if threshold[node] >= x1 or not np.isfinite(threshold[node]):
                threshold[node] = x0
    return nodes, deepest


@compiled
def scan_one(
    keys: Any, start: int, end: int, on: bool, w: Any, t: Any, W: float, S: float, WL: float, SL: float, before: int,
    n: int, min_leaf: int, min_weight: float, best: float,
) -> tuple[float, int, float, float]:  # fmt: skip
    """Cuts after each key, one target; ``on``: also after the last. What lies left so far: ``before`` rows, WL, SL."""
    at: Any = -1
    for p in range(start, end):
        key = keys[p]
        i = key & LOW
        WL += w[i]
        SL += t[i]
        gap = SL * W - S * WL
        WR = W - WL
        # Most cuts end here: what is not above best * WL * WR is no better, whatever the division rounds to.
        if gap * gap >= best * (WL * WR):
            if p + 1 == end:
                if not on:
                    break
            elif (keys[p + 1] ^ key) <= LOW:
                continue
            nl = before + p - start + 1
            if (
                nl >= min_leaf
                and n - nl >= min_leaf
                and WL >= min_weight
                and WR >= min_weight
                and WL > 0.0
                and WR > 0.0
            ):
                score = gap * gap / (WL * WR)
                if better(score, best, 0.0):
                    best, at = score, p
    return best, at, WL, SL


@compiled
def scan_one_down(
    keys: Any, start: int, end: int, w: Any, t: Any, W: float, S: float, n: int, min_leaf: int, min_weight: float,
    best: float,
) -> tuple[float, int]:  # fmt: skip
    """The same from the last key to the first, where all rows without keys lie below: they need not be known.

    The cut is after the key that comes back, -2: below all of them. Of equal cuts the lowest is taken, which here is the last."""
    at: Any = -1
    top, WR, SR = best, 0.0, 0.0
    for p in range(end - 1, start - 1, -1):
        key = keys[p]
        i = key & LOW
        WR += w[i]
        SR += t[i]
        gap = SR * W - S * WR
        WL = W - WR
        if gap * gap * (1.0 + 2.0**-40) >= top * (WL * WR):
            if p > start and (keys[p - 1] ^ key) <= LOW:
                continue
            nr = end - p
            if (
                nr >= min_leaf
                and n - nr >= min_leaf
                and WL >= min_weight
                and WR >= min_weight
                and WL > 0.0
                and WR > 0.0
            ):
                score = gap * gap / (WL * WR)
                if better(score, best, 0.0) and (at == -1 or score >= top - TIE * top):
                    top, at = max(top, score), p - 1 if p > start else -2
    return top, at


@compiled
def scan_classes(
    keys: Any, start: int, end: int, on: bool, w: Any, k_of: Any, entropy: bool, parts: Any, W: float, T: Any, M: int, L: Any,
    WL: float, a: float, b: float, before: int, n: int, min_leaf: int, min_weight: float, best: float,
) -> tuple[float, int, float, float, float]:  # fmt: skip
    """The same for classes: a and b are the sums of the squares of the left and of the right side."""
    at: Any = -1
    for p in range(start, end):
        key = keys[p]
        i = key & LOW
        wi, k = w[i], k_of[i]
        lk = L[k]
        rk = T[k] - lk
        WL += wi
        a += wi * (2.0 * lk + wi)
        b += wi * (wi - 2.0 * rk)
        L[k] = lk + wi
        WR = W - WL
        if entropy or a * WR + b * WL >= best * (WL * WR):
            if p + 1 == end:
                if not on:
                    break
            elif (keys[p + 1] ^ key) <= LOW:
                continue
            nl = before + p - start + 1
            if (
                nl >= min_leaf
                and n - nl >= min_leaf
                and WL >= min_weight
                and WR >= min_weight
                and WL > 0.0
                and WR > 0.0
            ):
                score = score_of(CLASSES, entropy, L, T, M, WL, W, parts) if entropy else (a * WR + b * WL) / (WL * WR)
                if better(score, best, W):
                    best, at = score, p
    return best, at, WL, a, b


@compiled
def scan_entropy(
    keys: Any, start: int, end: int, on: bool, w: Any, t: Any, parts: Any, W: float, T: Any, L: Any, WL: float, SL: float,
    before: int, n: int, min_leaf: int, min_weight: float, best: float,
) -> tuple[float, int, float, float]:  # fmt: skip
    """The same for the entropy of two classes."""
    at: Any = -1
    for p in range(start, end):
        key = keys[p]
        i = key & LOW
        WL += w[i]
        SL += t[i]
        if p + 1 == end:
            if not on:
                break
        elif (keys[p + 1] ^ key) <= LOW:
            continue
        WR = W - WL
        nl = before + p - start + 1
        if nl >= min_leaf and n - nl >= min_leaf and WL >= min_weight and WR >= min_weight and WL > 0.0 and WR > 0.0:
            L[0] = SL
            score = score_of(ONE, True, L, T, 1, WL, W, parts)
            if better(score, best, W):
                best, at = score, p
    return best, at, WL, SL


@compiled
def totals(
    mode: int, entropy: bool, centred: bool, parts: Any, M: int, start: int, end: int, w: Any, y: Any, t: Any, k_of: Any,
    T: Any, mean: Any,
) -> tuple[float, float, bool]:  # fmt: skip
    """Sums T and means of the rows start to end; weight, impurity, and whether they are pure. Writes the targets t of regression,
    which lose the node's mean."""
    W, impurity, pure = 0.0, 0.0, True
    if mode == CLASSES:
        for k in range(M):
            T[k] = 0.0
        first = k_of[start]
        for i in range(start, end):
            k = k_of[i]
            pure = pure and k == first
            W += w[i]
            T[k] += w[i]
        for k in range(M):
            mean[k] = T[k] / W
    elif centred:
        total, base = 0.0, y[start]
        for i in range(start, end):
            pure = pure and y[i] == base
            W += w[i]
            total += w[i] * (y[i] - base)
        mean[0] = base + total / W
        T[0] = 0.0
        for i in range(start, end):
            gap = y[i] - mean[0]
            t[i] = w[i] * gap
            T[0] += t[i]
            impurity += t[i] * gap
        return W, impurity / W, pure
    else:
        T[0] = 0.0
        ones = 0
        for i in range(start, end):
            W += w[i]
            T[0] += t[i]
            ones += 1 if t[i] > 0.0 else 0
        mean[0] = T[0] / W
        pure = ones == 0 or ones == end - start
    return W, class_impurity(mode, entropy, T, W, parts), pure


@compiled
def grow_sorted(
    keys: Any, ends: Any, usual: Any, m_all: int, depth_of_root: int, parent_of_root: int, left_of_root: int, mode_of_all: int,
    entropy: bool, centred: bool, parts: Any, M_of_all: int, w: Any, y: Any, t: Any, k_of: Any, row_of: Any, max_depth: int,
    min_split: int, min_leaf: int, min_weight: float, min_decrease: float, total_weight: float, nodes: int, feature: Any,
    left: Any, right: Any, goes_left: Any, value: Any, impurity_of: Any, weight_of: Any, samples_of: Any, sides: Any,
) -> tuple[int, int]:  # fmt: skip
    """Add the nodes of the subtree; how many nodes there are then, and how deep the deepest is.

    ``ends[j]`` is where the keys of column j end (those of the next begin), ``usual[j]`` the rank of its value without keys.
    ``sides``: for a split the rows that lie left and right of the cut (-1: the value without keys)."""
    d, numbered = ends.size - 1, nodes
    at: Any
    border_of_best: Any = -1  # the first key above the value without keys, in the best column
    size = 64
    # Waiting nodes; a node's place is taken by its right child, the next one by its left child.
    entry = np.empty((size, 6), dtype=np.int64)  # start, end, depth, parent, whether left, number of columns
    column = np.empty((size, 3, d), dtype=np.int32)  # columns that are not constant, where their keys begin and end
    sums = np.empty((size, 2))  # weight, impurity
    T_of, mean_of = np.empty((size, M_of_all)), np.empty((size, M_of_all))
    T, L, mean = np.empty(M_of_all), np.empty(M_of_all), np.empty(M_of_all)
    now = np.empty((3, d), dtype=np.int32)
    to = np.empty(m_all, dtype=np.uint16)
    aside = np.empty(m_all, dtype=np.uint32)
    other = np.empty(m_all)
    other_k = np.empty(m_all if mode_of_all == CLASSES else 0, dtype=k_of.dtype)
    other_parts = parts.copy()
    deepest = 0

    W, impurity, pure = totals(mode_of_all, entropy, centred, parts, M_of_all, 0, m_all, w, y, t, k_of, T, mean)
    entry[0] = np.array([0, m_all, depth_of_root, parent_of_root, left_of_root, d])
    sums[0, 0], sums[0, 1] = W, impurity
    few = m_all < min_split or m_all < 2 * min_leaf or W < 2.0 * min_weight
    if pure or few or depth_of_root >= max_depth:
        entry[0, 5] = 0
    for k in range(M_of_all):
        T_of[0, k], mean_of[0, k] = T[k], mean[k]
    for j in range(d):
        column[0, 0, j], column[0, 1, j], column[0, 2, j] = j, ends[j], ends[j + 1]
    waiting = 1
    while waiting > 0:
        waiting -= 1
        slot = waiting
        start, end, depth, parent, is_left, columns = entry[slot]
        m = end - start
        W, impurity = sums[slot, 0], sums[slot, 1]
        node = nodes
        nodes += 1
        deepest = max(deepest, depth)
        if parent >= 0:
            if is_left == 1:
                left[parent] = node
            else:
                right[parent] = node
        feature[node], left[node], right[node], goes_left[node], samples_of[node] = -2, -1, -1, 0, m
        impurity_of[node], weight_of[node] = impurity, W
        for k in range(M_of_all):
            value[node, k] = mean_of[slot, k]
            T[k] = T_of[slot, k]
        if columns == 0:
            continue  # pure, or beyond a limit

        # Two classes that are left are one target of 0 and 1.
        mode, M = mode_of_all, M_of_all
        if mode == CLASSES:
            present, second = 0, -1
            for k in range(M):
                if T[k] > 0.0:
                    present += 1
                    second = k
            if present == 2:
                mode, M = ONE, 1
                T[0] = T[second]
                for i in range(start, end):
                    t[i] = w[i] if k_of[i] == second else 0.0
                other_parts[1] = 1
            else:
                other_parts[1] = M

        # The best cut of every column that is not constant.
        best, best_q, best_at = -np.inf, -1, -1
        kept = 0
        for q in range(columns):
            j, s, e = column[slot, 0, q], np.int64(column[slot, 1, q]), np.int64(column[slot, 2, q])
            bulk = m - (e - s)
            if e == s or (bulk == 0 and (keys[s] ^ keys[e - 1]) <= LOW):
                continue
            now[0, kept], now[1, kept], now[2, kept] = j, s, e
            if bulk > 0 and mode == ONE and not entropy and keys[s] >= np.uint32(usual[j] << 16):
                best, at = scan_one_down(keys, s, e, w, t, W, T[0], m, min_leaf, min_weight, best)
                if at != -1:
                    best_q, best_at, border_of_best = kept, at, s
                kept += 1
                continue
            half, WL, a, b = (
                s,
                0.0,
                0.0,
                0.0,
            )  # a, b: the sum of the left targets; for classes those of both sides' squares
            bulk_W, bulk_S = W, T[0]
            if mode == CLASSES:
                for k in range(M):
                    L[k] = 0.0
                    b += T[k] * T[k]
            if bulk > 0:
                # What the rows without keys weigh; the keys below their value come first, then they, then the others.
                edge = np.uint32(usual[j] << 16)
                for p in range(s, e):
                    i = keys[p] & LOW
                    bulk_W -= w[i]
                    half += 1 if keys[p] < edge else 0
                    if mode == ONE:
                        bulk_S -= t[i]
                if mode == CLASSES:
                    for p in range(s, e):
                        i = keys[p] & LOW
                        L[k_of[i]] += w[i]
            else:
                half = e
            at = -1
            if mode == CLASSES:
                if bulk > 0:
                    for k in range(M):
                        mean[k] = T[k] - L[k]  # of the rows without keys
                        L[k] = 0.0
                best, at, WL, a, b = scan_classes(
                    keys, s, half, bulk > 0, w, k_of, entropy, other_parts, W, T, M, L, WL, a, b, 0, m, min_leaf, min_weight, best
                )  # fmt: skip
                if bulk > 0 and half < e:
                    a, b = 0.0, 0.0
                    for k in range(M):
                        L[k] += mean[k]
                        a += L[k] * L[k]
                        b += (T[k] - L[k]) * (T[k] - L[k])
                    WL += bulk_W
                    nl, WR = half - s + bulk, W - WL
                    if (
                        nl >= min_leaf
                        and m - nl >= min_leaf
                        and WL >= min_weight
                        and WR >= min_weight
                        and WL > 0.0
                        and WR > 0.0
                    ):
                        score = score_of(CLASSES, entropy, L, T, M, WL, W, other_parts)
                        if better(score, best, W):
                            best, at = score, -2
                    best, after, WL, a, b = scan_classes(
                        keys, half, e, False, w, k_of, entropy, other_parts, W, T, M, L, WL, a, b, nl, m, min_leaf, min_weight,
                        best,
                    )  # fmt: skip
                    at = after if after >= 0 else at
            else:
                S = T[0]
                if entropy:
                    best, at, WL, a = scan_entropy(
                        keys, s, half, bulk > 0, w, t, other_parts, W, T, L, WL, a, 0, m, min_leaf, min_weight, best
                    )  # fmt: skip
                else:
                    best, at, WL, a = scan_one(
                        keys, s, half, bulk > 0, w, t, W, S, WL, a, 0, m, min_leaf, min_weight, best
                    )  # fmt: skip
                if bulk > 0 and half < e:
                    WL += bulk_W
                    a += bulk_S
                    nl, WR = half - s + bulk, W - WL
                    if (
                        nl >= min_leaf
                        and m - nl >= min_leaf
                        and WL >= min_weight
                        and WR >= min_weight
                        and WL > 0.0
                        and WR > 0.0
                    ):
                        L[0] = a
                        score = score_of(ONE, entropy, L, T, 1, WL, W, other_parts)
                        if better(score, best, W if entropy else 0.0):
                            best, at = score, -2
                    if entropy:
                        best, after, WL, a = scan_entropy(
                            keys, half, e, False, w, t, other_parts, W, T, L, WL, a, nl, m, min_leaf, min_weight, best
                        )  # fmt: skip
                    else:
                        best, after, WL, a = scan_one(
                            keys, half, e, False, w, t, W, S, WL, a, nl, m, min_leaf, min_weight, best
                        )  # fmt: skip
                    at = after if after >= 0 else at
            if at != -1:
                best_q, best_at, border_of_best = kept, at, half
            kept += 1
        if best_q < 0:
            continue
        decrease = split_decrease(mode, entropy, centred, best, T, M, W, other_parts)
        if decrease * W / total_weight + 2.0**-52 < min_decrease:
            continue

        # Which rows go left: first their number, and the rows on both sides of the cut.
        j, s, e = now[0, best_q], np.int64(now[1, best_q]), np.int64(now[2, best_q])
        bulk = m - (e - s)
        stop: Any = border_of_best if best_at == -2 else best_at + 1  # the keys before it go left
        bulk_left = bulk > 0 and (best_at == -2 or best_at >= border_of_best)
        n_left = stop - s + (bulk if bulk_left else 0)
        sides[node - numbered, 0] = -1 if best_at == -2 else row_of[keys[stop - 1] & LOW]
        sides[node - numbered, 1] = (
            -1 if bulk > 0 and not bulk_left and stop == border_of_best else row_of[keys[stop] & LOW]
        )
        cut = start + n_left
        feature[node] = j
        goes_left[node] = 1 if n_left > m - n_left else 0
        if bulk > 0:
            for i in range(start, end):
                to[i] = 1 if bulk_left else 0
        for p in range(s, stop):
            to[keys[p] & LOW] = 1
        for p in range(stop, e):
            to[keys[p] & LOW] = 0
        lefts, rights = start, cut
        for i in range(start, end):
            here = to[i] == 1
            to[i] = lefts if here else rights
            lefts += 1 if here else 0
            rights += 0 if here else 1
        # Weights, targets and row numbers go to the new places.
        for i in range(start, end):
            other[to[i]] = w[i]
            aside[to[i]] = row_of[i]
        for i in range(start, end):
            w[i] = other[i]
            row_of[i] = aside[i]
        if mode_of_all == CLASSES:
            for i in range(start, end):
                other_k[to[i]] = k_of[i]
            for i in range(start, end):
                k_of[i] = other_k[i]
        else:
            source = y if centred else t
            for i in range(start, end):
                other[to[i]] = source[i]
            for i in range(start, end):
                source[i] = other[i]

        if waiting + 2 > entry.shape[0]:
            size = 2 * entry.shape[0]
            entry, column, sums, T_of, mean_of = (
                more(entry, size), more(column, size), more(sums, size), more(T_of, size), more(mean_of, size)
            )  # fmt: skip
        grows = np.zeros(2, dtype=np.bool_)  # right, left
        for side in range(2):  # the right one first: the left one is taken first
            slot = waiting + side
            first, last = (start, cut) if side == 1 else (cut, end)
            n_here = last - first
            W, impurity, pure = totals(
                mode_of_all, entropy, centred, parts, M_of_all, first, last, w, y, t, k_of, T, mean
            )  # fmt: skip
            sums[slot, 0], sums[slot, 1] = W, impurity
            for k in range(M_of_all):
                T_of[slot, k], mean_of[slot, k] = T[k], mean[k]
            few = n_here < min_split or n_here < 2 * min_leaf or W < 2.0 * min_weight
            grows[side] = not (pure or few or depth + 1 >= max_depth)
            entry[slot, 0], entry[slot, 1], entry[slot, 2], entry[slot, 3] = first, last, depth + 1, node
            entry[slot, 4], entry[slot, 5] = side, kept if grows[side] else 0
        if grows[0] and grows[1]:
            border = np.uint16(cut)
            for q in range(kept):
                s, e = np.int64(now[1, q]), np.int64(now[2, q])
                lefts, rights = s, 0
                for p in range(s, e):
                    i = to[keys[p] & LOW]
                    key = (keys[p] & HIGH) | i
                    keys[lefts] = key
                    aside[rights] = key
                    lefts += 1 if i < border else 0
                    rights += 0 if i < border else 1
                for p in range(rights):
                    keys[lefts + p] = aside[p]
                column[waiting, 0, q], column[waiting, 1, q], column[waiting, 2, q] = now[0, q], lefts, e
                column[waiting + 1, 0, q], column[waiting + 1, 1, q], column[waiting + 1, 2, q] = now[0, q], s, lefts
        elif grows[0] or grows[1]:
            slot, border = waiting + (1 if grows[1] else 0), np.uint16(cut)
            for q in range(kept):
                s, e = np.int64(now[1, q]), np.int64(now[2, q])
                lefts = s
                for p in range(s, e):
                    i = to[keys[p] & LOW]
                    keys[lefts] = (keys[p] & HIGH) | i
                    lefts += 1 if (i < border) == grows[1] else 0
                column[slot, 0, q], column[slot, 1, q], column[slot, 2, q] = now[0, q], s, lefts
        waiting += 2
    return nodes, deepest


@compiled
def more(array: Any, size: int) -> Any:
    """The array with room for ``size`` lines."""
    larger = np.zeros((size, *array.shape[1:]), dtype=array.dtype)
    larger[: array.shape[0]] = array
    return larger
