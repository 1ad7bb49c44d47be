"""Growth of one tree: greedy, depth first (or best first), each node split by its best cut over all columns.

    minimise over columns j and cuts c:   W_L impurity(left) + W_R impurity(right)

Columns hold codes, the ranks of their distinct values (or of bins of them), so that values are compared as integers and
no column is sorted as a whole again. At a node a column is either counted into a histogram, where its codes are fewer than
the rows, or its codes are sorted: insertion for few rows, radix for many. Each column remembers the range of
codes that a node can still have; where that is one code it is constant, and stays so below. Where all columns are
numbers without missing values and all of them are looked at, a part of at most 65,536 rows is left to ``tree_sorted``;
otherwise a node of few rows takes its codes along into a block of its own, which the cache holds for the whole subtree.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless._jit import compiled

from .tree_node import best_categories, fill_histogram, node_sums, split_decrease
from .tree_scan import CLASSES, MANY, ONE, TIE, better, draw, scan_histogram, scan_keys, score_of, sort_keys
from .tree_sorted import MOST_KEYS, PLACES, grow_part, more

#: A subtree of at most so many rows works on its own copy of the codes.
BLOCK = 4096
#: A histogram costs this many rows for each of its entries.
ENTRY = 1.0
#: The same where most rows have one code, and sorting is cheap.
COMMON = 4.0


@compiled
def heap_up(heap: Any, gain: Any, at: int) -> None:
    while at > 0:
        up = (at - 1) // 2
        a, b = heap[at], heap[up]
        if gain[a] > gain[b] or (gain[a] == gain[b] and a < b):
            heap[at], heap[up] = b, a
            at = up
        else:
            return


@compiled
def heap_down(heap: Any, gain: Any, size: int) -> None:
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size:
            a, b = heap[child + 1], heap[child]
            if gain[a] > gain[b] or (gain[a] == gain[b] and a < b):
                child += 1
        a, b = heap[child], heap[at]
        if gain[a] > gain[b] or (gain[a] == gain[b] and a < b):
            heap[child], heap[at] = b, a
            at = child
        else:
            return


@compiled
def grow_tree(
    codes: Any, n_codes: Any, missing: Any, categorical: Any, offset: Any, lowest: Any, highest: Any, common: Any,
    order_of: Any, ordered: Any, mode_of_all: int,
    entropy: bool, centred: bool, y: Any, k_of: Any, Y: Any, parts: Any, M_of_all: int, w: Any, max_depth: int, min_split: int,
    min_leaf: int, min_weight: float, max_features: int, max_leaves: int, min_decrease: float, at_random: bool, seed: Any,
) -> Any:  # fmt: skip
    """The nodes of a tree on the rows of positive weight. Codes: (column, row); code n_codes[j] is the missing value."""
    a: Any
    b: Any
    first_pass: Any
    best_missing: Any
    none_code: Any
    cut: Any
    p: Any
    i: Any
    c: Any
    d, n_all = codes.shape
    mode, M = mode_of_all, M_of_all
    node_parts = parts.copy()
    present = np.zeros(M, dtype=np.int64)
    rows = np.empty(n_all, dtype=np.uint32)
    n = 0
    total_weight = 0.0
    for i in range(n_all):
        if w[i] > 0.0:
            rows[n] = i
            n += 1
            total_weight += w[i]
    aside = np.empty(n, dtype=np.uint32)
    node_w = np.empty(n + 1)  # the last place is for rows that are taken together
    node_t = np.empty(n + 1 if mode != MANY else 0)
    node_k = np.empty(n if mode == CLASSES else 0, dtype=np.int64)
    node_Y = np.empty((n if mode == MANY else 0, M))
    T, L, mean, missing_T = np.zeros(M), np.zeros(M), np.zeros(M), np.zeros(M)
    keys = np.empty((2, n + 1), dtype=np.uint64)
    width = M if mode == CLASSES else M + 1
    widest = 0
    for j in range(d):
        widest = max(widest, n_codes[j])
    H = np.zeros((widest + 1) * width)
    count = np.zeros(widest + 1, dtype=np.int64)
    words = 0
    for j in range(d):
        if categorical[j]:
            words = max(words, (n_codes[j] + 32) // 32)
    left_set = np.zeros(32 * words + 1, dtype=np.uint8)
    best_set = np.zeros(32 * words + 1, dtype=np.uint8)
    share = np.zeros(32 * words + 1)
    order = np.zeros(32 * words + 1, dtype=np.int64)
    state = np.array([seed], dtype=np.uint64)
    turn = np.arange(d)
    lo, hi = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)

    # A subtree's own copies: codes, targets, weights.
    block_start, block_end = 0, 0
    plain = max_leaves < 0 and not at_random and max_features >= d and mode != MANY
    for j in range(d):
        plain = plain and not missing[j] and not categorical[j]
    part = min(PLACES, MOST_KEYS // d) if plain else 0
    cap = BLOCK if max_leaves < 0 and not plain else 0
    block_C = np.empty((d, min(cap, n)), dtype=codes.dtype)
    block_y = np.empty(block_C.shape[1] if mode == ONE else 0)
    block_k = np.empty(block_C.shape[1] if mode == CLASSES else 0, dtype=k_of.dtype)
    block_Y = np.empty((block_C.shape[1] if mode == MANY else 0, M))
    block_w = np.empty(block_C.shape[1])

    # Nodes: memory that is never written to is never taken.
    room = 2 * n - 1
    if max_leaves >= 0:
        room = min(room, 2 * max_leaves + 1)
    elif max_depth < 40:
        room = min(room, 2 ** (max_depth + 1) - 1)
    feature = np.empty(room, dtype=np.int64)
    threshold = np.empty(room)
    left, right = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    goes_left = np.empty(room, dtype=np.uint8)
    value = np.empty((room, M))
    impurity_of, weight_of = np.empty(room), np.empty(room)
    samples_of = np.empty(room, dtype=np.int64)
    sets = np.empty((room, words), dtype=np.uint32)
    gain = np.empty(room)
    middle = np.empty((room if max_leaves >= 0 else 0, 4), dtype=np.int64)  # start, cut, end, depth: best first only
    slot_of = np.empty(room, dtype=np.int64)
    cut_of = np.empty((room, 2), dtype=np.int64)
    nodes = 0

    # Waiting nodes: start, end, depth, parent, whether a left child, slot of its ranges.
    waiting = np.empty((n + 2, 6), dtype=np.int64)
    slots = np.empty((64, 2, d), dtype=np.int32)
    free = np.empty(room + 3, dtype=np.int64)
    n_free, n_slots = 0, 1
    for j in range(d):
        slots[0, 0, j], slots[0, 1, j] = 0, n_codes[j] - 1
    waiting[0] = np.array([0, n, 0, -1, 0, 0])
    n_waiting = 1
    heap = np.empty(min(max(0, max_leaves), n) + 2, dtype=np.int64)
    n_heap, leaves_left = 0, max_leaves - 1
    deepest = 0

    while True:
        if n_waiting == 0:
            if max_leaves < 0 or n_heap == 0 or leaves_left <= 0:
                break
            top = heap[0]  # the best split of all leaves is made
            n_heap -= 1
            heap[0] = heap[n_heap]
            heap_down(heap, gain, n_heap)
            leaves_left -= 1
            parent_slot = slot_of[top]
            start, cut, end, depth = middle[top]
            node, j = top, feature[top]
            for q in range(d):
                lo[q], hi[q] = slots[parent_slot, 0, q], slots[parent_slot, 1, q]
            free[n_free] = parent_slot
            n_free += 1
            c_left, c_right = cut_of[top]
            expand = True
        else:
            n_waiting -= 1
            start, end, depth, parent, is_left, slot = waiting[n_waiting]
            m = end - start
            for j in range(d):
                lo[j], hi[j] = slots[slot, 0, j], slots[slot, 1, j]
            free[n_free] = slot
            n_free += 1
            if m <= part:
                nodes, lowest_node = grow_part(
                    codes, n_codes, offset, lowest, highest, common, order_of, ordered, rows, start, end, depth, parent, is_left,
                    mode_of_all, entropy, centred, y, k_of, parts, M_of_all, w, max_depth, min_split, min_leaf, min_weight,
                    min_decrease, total_weight, nodes, feature, threshold, left, right, goes_left, value, impurity_of, weight_of,
                    samples_of,
                )  # fmt: skip
                deepest = max(deepest, lowest_node)
                continue
            node = nodes
            nodes += 1
            deepest = max(deepest, depth)
            if parent >= 0:
                if is_left == 1:
                    left[parent] = node
                else:
                    right[parent] = node
            feature[node], threshold[node], left[node], right[node], goes_left[node] = -2, -2.0, -1, -1, 0
            sets[node] = 0
            samples_of[node] = m
            mode, M = mode_of_all, M_of_all
            if m <= cap and not (start >= block_start and end <= block_end):
                for j in range(d):
                    for i in range(m):
                        block_C[j, i] = codes[j, rows[start + i]]
                for i in range(m):
                    r = rows[start + i]
                    block_w[i] = w[r]
                    if mode == ONE:
                        block_y[i] = y[r]
                    elif mode == CLASSES:
                        block_k[i] = k_of[r]
                    else:
                        for k in range(M):
                            block_Y[i, k] = Y[r, k]
                    rows[start + i] = i
                block_start, block_end = start, end
            inside = start >= block_start and end <= block_end and block_end > block_start
            C = block_C if inside else codes
            W, impurity, pure = node_sums(
                mode, entropy, rows, start, end, block_y if inside else y, block_k if inside else k_of,
                block_Y if inside else Y, block_w if inside else w, parts, M, centred, node_w, node_t, node_k, node_Y,
                T, mean,
            )  # fmt: skip
            for k in range(M):
                value[node, k] = mean[k]
            impurity_of[node], weight_of[node] = impurity, W
            if pure or depth >= max_depth or m < min_split or m < 2 * min_leaf or W < 2.0 * min_weight:
                continue

            # Classes that are not here take no part; two that are left are one target of 0 and 1.
            mode, M = mode_of_all, M_of_all
            if mode == CLASSES:
                M = 0
                for k in range(M_of_all):
                    if T[k] > 0.0:
                        present[k] = M
                        T[M] = T[k]
                        M += 1
                if M == 2:
                    mode, M = ONE, 1
                    T[0] = T[1]
                    for i in range(m):
                        node_t[i] = node_w[i] if present[node_k[i]] == 1 else 0.0
                else:
                    for i in range(m):
                        node_k[i] = present[node_k[i]]
                node_parts[1] = M
            width = M if mode == CLASSES else M + 1

            # The best cut of every column.
            best, best_j, c_left, c_right, best_missing = -np.inf, -1, -1, -1, 0
            scale = 0.0 if mode != CLASSES and not entropy else W
            looked = 0
            for q in range(d):
                if max_features < d:
                    if looked >= max_features and best_j >= 0:
                        break
                    p = q + np.int64(draw(state) % np.uint64(d - q))
                    turn[q], turn[p] = turn[p], turn[q]
                j = turn[q]
                if lo[j] == hi[j] and not missing[j]:
                    continue
                span = hi[j] - lo[j] + 1
                counted = min_leaf > 1 or missing[j] or categorical[j]
                direct = at_random and not categorical[j]
                together = mode == ONE and common[j] >= lo[j] and common[j] <= hi[j] and not direct
                histogram = not direct and (categorical[j] or span * width * (COMMON if together else ENTRY) <= m)
                together = together and not histogram
                bulk_n = 0
                n_missing, missing_W = 0, 0.0
                for k in range(M):
                    L[k] = 0.0
                    missing_T[k] = 0.0
                line, n_keys = 0, 0
                if histogram:
                    pair = lo[j] if mode == ONE and span == 2 and not counted else np.int64(-1)
                    fill_histogram(
                        C, j, rows, start, m, mode, M, counted, node_w, node_t, node_k, node_Y, H, count, pair, T[0], W
                    )  # fmt: skip
                    none = n_codes[j]
                    if missing[j]:
                        n_missing = count[none]
                        for k in range(M):
                            missing_T[k] = H[none * width + k]
                            missing_W += H[none * width + k] if mode == CLASSES else 0.0
                        missing_W += 0.0 if mode == CLASSES else H[none * width + M]
                    n_keys = m - n_missing
                    a, b = lo[j], hi[j]
                    if n_keys > 0:
                        empty = True
                        while empty:
                            for k in range(width):
                                empty = empty and H[a * width + k] == 0.0
                            a += 1 if empty else 0
                        empty = True
                        while empty:
                            for k in range(width):
                                empty = empty and H[b * width + k] == 0.0
                            b -= 1 if empty else 0
                else:
                    none_code = np.int64(n_codes[j]) if missing[j] else np.int64(-1)
                    base = lo[j]
                    a, b = hi[j], lo[j]
                    if together and none_code < 0:
                        # Only the rows that have not the common code are sorted; those that have it follow from the sums.
                        usual = np.int64(common[j])
                        bulk_T, bulk_W = T[0], W
                        for i in range(m):
                            c = np.int64(C[j, rows[start + i]])
                            keys[0, n_keys] = (np.uint64(c - base) << np.uint64(32)) | np.uint64(i)
                            n_keys += 1 if c != usual else 0
                        for at_key in range(n_keys):
                            at = keys[0, at_key] & np.uint64(0xFFFFFFFF)
                            bulk_T -= node_t[at]
                            bulk_W -= node_w[at]
                            c = np.int64(keys[0, at_key] >> np.uint64(32)) + base
                            a, b = min(a, c), max(b, c)
                        bulk_n = m - n_keys
                        if bulk_n > 0:
                            keys[0, n_keys] = (np.uint64(usual - base) << np.uint64(32)) | np.uint64(n)
                            node_t[n], node_w[n] = bulk_T, bulk_W
                            n_keys += 1
                            a, b = min(a, usual), max(b, usual)
                    for i in range(m if n_keys == 0 else 0):
                        c = np.int64(C[j, rows[start + i]])
                        if c == none_code:
                            n_missing += 1
                            missing_W += node_w[i]
                            if mode == ONE:
                                missing_T[0] += node_t[i]
                            elif mode == CLASSES:
                                missing_T[node_k[i]] += node_w[i]
                            else:
                                for k in range(M):
                                    missing_T[k] += node_Y[i, k]
                        else:
                            keys[0, n_keys] = (np.uint64(c - base) << np.uint64(32)) | np.uint64(i)
                            n_keys += 1
                            a, b = min(a, c), max(b, c)
                    if n_keys > 0 and a < b and not direct:
                        line = sort_keys(keys, n_keys, span)
                if n_keys > 0 and not categorical[j]:
                    old_lo, old_hi = lo[j], hi[j]
                    lo[j], hi[j] = a, b
                else:
                    old_lo, old_hi = lo[j], hi[j]
                if n_keys > 0 and (a < b or n_missing > 0):
                    looked += 1
                    if categorical[j]:
                        score = best_categories(
                            H, count, n_codes[j], mode, entropy, node_parts, T, M, W, L, m, min_leaf, min_weight, scale, share,
                            order, left_set,
                        )  # fmt: skip
                        if better(score, best, scale) or (
                            score >= best - TIE * max(scale, best) and best_j > j and score > -np.inf
                        ):
                            best, best_j, c_left, c_right, best_missing = (
                                score,
                                j,
                                -1,
                                -1,
                                np.int64(left_set[n_codes[j]]),
                            )
                            for s in range(n_codes[j] + 1):
                                best_set[s] = left_set[s]
                    else:
                        first_pass, passes = 0, 2 if n_missing > 0 else 1
                        if at_random:
                            # A threshold drawn evenly between the node's smallest and largest value.
                            passes = 1
                            x0, x1 = np.float64(lowest[offset[j] + a]), np.float64(highest[offset[j] + b])
                            u = np.float64(draw(state) >> np.uint64(11)) * 2.0**-53
                            cut_at = x0 + u * (x1 - x0)
                            if cut_at >= x1:
                                cut_at = x0
                            first_pass = np.int64(draw(state) & np.uint64(1)) if n_missing > 0 else 0
                            passes = first_pass + 1
                            split_code, above = a, b + 1  # the last code whose values are not beyond the threshold
                            while above - split_code > 1:
                                half = (split_code + above) // 2
                                if lowest[offset[j] + half] <= cut_at:
                                    split_code = half
                                else:
                                    above = half
                        for go in range(first_pass, passes):
                            for k in range(M):
                                L[k] = missing_T[k] if go == 1 else 0.0
                            first_W = missing_W if go == 1 else 0.0
                            first_n = n_missing if go == 1 else 0
                            last_too = go == 0 and n_missing > 0
                            if at_random:
                                score, cl, cr = -np.inf, split_code, split_code
                                WL, nl = first_W, first_n
                                reach = np.uint64(split_code - old_lo)
                                for key_at in range(n_keys):
                                    if keys[0, key_at] >> np.uint64(32) <= reach:
                                        at = keys[0, key_at] & np.uint64(0xFFFFFFFF)
                                        WL += node_w[at]
                                        nl += 1
                                        if mode == ONE:
                                            L[0] += node_t[at]
                                        elif mode == CLASSES:
                                            L[node_k[at]] += node_w[at]
                                        else:
                                            for k in range(M):
                                                L[k] += node_Y[at, k]
                                enough = nl >= min_leaf and m - nl >= min_leaf
                                if enough and WL > 0.0 and W - WL > 0.0 and WL >= min_weight and W - WL >= min_weight:
                                    score = score_of(mode, entropy, L, T, M, WL, W, node_parts)
                            elif histogram:
                                score, cl, cr = scan_histogram(
                                    H, count, counted, a, b, mode, entropy, node_parts, T, M, W, L, first_W, first_n, m,
                                    min_leaf, min_weight, scale, last_too,
                                )  # fmt: skip
                            else:
                                score, cl, cr = scan_keys(
                                    keys, line, n_keys, old_lo, mode, entropy, node_w, node_t, node_k, node_Y, node_parts, T, M,
                                    W, L, first_W, first_n, m, min_leaf, min_weight, scale, last_too, n, bulk_n,
                                )  # fmt: skip
                            if score > -np.inf and (
                                better(score, best, scale) or (score >= best - TIE * max(scale, best) and best_j > j)
                            ):
                                best, best_j, c_left, c_right, best_missing = score, j, cl, cr, go
                                if at_random:
                                    threshold[node] = cut_at
                                if n_missing == 0:
                                    best_missing = -1
                if histogram:
                    first, last = old_lo, old_hi
                    for c in range(first * width, (last + 1) * width):
                        H[c] = 0.0
                    if counted:
                        for c in range(first, last + 1):
                            count[c] = 0
                    if missing[j]:
                        none = n_codes[j]
                        for k in range(width):
                            H[none * width + k] = 0.0
                        count[none] = 0
            if best_j < 0:
                continue

            # The rows of the left side go before those of the right, each in their order.
            j = best_j
            if categorical[j]:
                for s in range(best_set.size):
                    left_set[s] = best_set[s] if s <= n_codes[j] else 0
            none_code = np.int64(n_codes[j]) if missing[j] else np.int64(-1)
            cut, out = start, 0
            for i in range(start, end):
                r = rows[i]
                c = np.int64(C[j, r])
                if categorical[j]:
                    here = left_set[c] == 1
                elif c == none_code:
                    here = best_missing == 1
                else:
                    here = c <= c_left
                rows[cut] = r
                aside[out] = r
                cut += 1 if here else 0
                out += 0 if here else 1
            for i in range(out):
                rows[cut + i] = aside[i]
            WL = 0.0
            source_w = block_w if inside else w
            for i in range(start, cut):
                WL += source_w[rows[i]]
            decrease = split_decrease(mode, entropy, centred, best, T, M, W, node_parts)
            gain[node] = decrease * W / total_weight
            if gain[node] + 2.0**-52 < min_decrease:
                continue
            feature[node] = j
            larger_left = cut - start > end - cut
            if categorical[j]:
                here_missing = False
                for i in range(start, end):
                    if C[j, rows[i]] == n_codes[j]:
                        here_missing = True
                        break
                goes_left[node] = left_set[n_codes[j]] if here_missing else (1 if larger_left else 0)
                seen = np.zeros(n_codes[j] + 1, dtype=np.uint8)
                for i in range(start, end):
                    seen[C[j, rows[i]]] = 1
                for c in range(n_codes[j]):
                    if left_set[c] == 1 or (seen[c] == 0 and larger_left):
                        sets[node, c // 32] |= np.uint32(1) << np.uint32(c % 32)
                threshold[node] = np.nan
            else:
                goes_left[node] = best_missing if best_missing >= 0 else (1 if larger_left else 0)
                if not at_random:
                    x0 = np.float64(highest[offset[j] + c_left])
                    if c_right < 0:
                        threshold[node] = np.inf
                    else:
                        x1 = np.float64(lowest[offset[j] + c_right])
                        threshold[node] = x0 / 2.0 + x1 / 2.0
                        if threshold[node] >= x1 or not np.isfinite(threshold[node]):
                            threshold[node] = x0
            expand = max_leaves < 0
            if not expand:
                middle[node, 0], middle[node, 1], middle[node, 2], middle[node, 3] = start, cut, end, depth
                cut_of[node, 0], cut_of[node, 1] = c_left, c_right
                if n_free > 0:
                    n_free -= 1
                    slot = free[n_free]
                else:
                    slot = n_slots
                    n_slots += 1
                    if n_slots > slots.shape[0]:
                        slots = more(slots, 2 * slots.shape[0])
                slot_of[node] = slot
                for q in range(d):
                    slots[slot, 0, q], slots[slot, 1, q] = lo[q], hi[q]
                heap[n_heap] = node
                n_heap += 1
                heap_up(heap, gain, n_heap - 1)
        if expand:
            for side in range(2):  # the right one first: the left one is taken first
                if n_free > 0:
                    n_free -= 1
                    slot = free[n_free]
                else:
                    slot = n_slots
                    n_slots += 1
                    if n_slots > slots.shape[0]:
                        slots = more(slots, 2 * slots.shape[0])
                for q in range(d):
                    slots[slot, 0, q], slots[slot, 1, q] = lo[q], hi[q]
                if not categorical[j] and c_left >= 0:
                    if side == 1:
                        slots[slot, 1, j] = c_left
                    elif c_right >= 0:
                        slots[slot, 0, j] = max(c_right, c_left + 1) if not at_random else c_left + 1
                waiting[n_waiting, 0] = start if side == 1 else cut
                waiting[n_waiting, 1] = cut if side == 1 else end
                waiting[n_waiting, 2], waiting[n_waiting, 3] = depth + 1, node
                waiting[n_waiting, 4], waiting[n_waiting, 5] = side, slot
                n_waiting += 1
    for node in range(nodes):
        if left[node] < 0:
            feature[node], threshold[node], goes_left[node] = -2, -2.0, 0
            sets[node] = 0
    return (
        feature[:nodes].copy(), threshold[:nodes].copy(), left[:nodes].copy(), right[:nodes].copy(), goes_left[:nodes].copy(),
        value[:nodes].copy(), impurity_of[:nodes].copy(), weight_of[:nodes].copy(), samples_of[:nodes].copy(),
        sets[:nodes].copy(), deepest,
    )  # fmt: skip
