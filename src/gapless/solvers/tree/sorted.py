"""Growth of a subtree of at most 65,536 rows whose columns are sorted once.

A split parts the keys of every column into those of its left and of its right side, each still in order, and gives the rows new
places, those of a node side by side: a scan reads the weights and targets of its node alone, and nothing is ever sorted again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gapless._compile.jit import compiled
from gapless.losses.impurity import impurity_classes, impurity_two

from .keys import DIGITS, keys_of_codes, keys_of_order
from .node import threshold_between, write_node
from .score import decrease_classes, decrease_one
from .sorted_scan import AT_BULK, LOW, ClassRows, cut_classes, cut_one
from .state import Facts, Nodes, Stops, Sums

HIGH = np.uint32(0xFFFF0000)


class Part(NamedTuple):
    """The rows of a part, by place, and the keys of its columns."""

    keys: np.ndarray  #: uint32
    usual: np.ndarray  #: of each column the rank of its value without keys, or -1
    row: np.ndarray  #: uint32
    w: np.ndarray
    t: np.ndarray  #: weighted targets
    to: np.ndarray  #: uint16: the places after a split
    aside: np.ndarray  #: uint32: memory for moving
    spare: np.ndarray  #: float64: memory for moving


class Place(NamedTuple):
    """The rows of a node, and its place in the tree."""

    start: int
    end: int
    depth: int
    parent: int
    is_left: int


class Stack(NamedTuple):
    """Waiting nodes; a node's place is taken by its right child, the next one by its left child."""

    entry: np.ndarray  #: start, end, depth, parent, whether left, number of columns (0: a leaf)
    column: np.ndarray  #: int32: columns that are not constant, where their keys begin and end
    sums: np.ndarray  #: weight, impurity
    T: np.ndarray  #: sums of the targets
    mean: np.ndarray

    @classmethod
    def of(cls, size: int, d: int, M: int) -> Stack:
        return cls(
            np.empty((size, 6), dtype=np.int64), np.empty((size, 3, d), dtype=np.int32), np.empty((size, 2)),
            np.empty((size, M)), np.empty((size, M)),
        )  # fmt: skip

    def doubled(self) -> Stack:
        return Stack(*(np.concatenate([a, np.empty_like(a)]) for a in self))


class Work(NamedTuple):
    """Memory of one node."""

    now: np.ndarray  #: int32: as ``Stack.column``
    L: np.ndarray
    rest: np.ndarray


@compiled(inner=True)
def node_sums(w: Any, t: Any, y: Any, k: Any, start: int, end: int, T: Any, mean: Any, entropy: Any) -> Any:
    """Sums T and means of the rows start to end; weight, impurity, and whether they are pure. Writes the targets t of regression,
    which lose the node's mean."""
    W, impurity, pure = 0.0, 0.0, True
    if k is not None:
        for c in range(T.size):
            T[c] = 0.0
        first = k[start]
        for i in range(start, end):
            c = k[i]
            pure = pure and c == first
            W += w[i]
            T[c] += w[i]
        for c in range(T.size):
            mean[c] = T[c] / W
        return W, impurity_classes(T, W, entropy), pure
    total = 0.0
    if y is not None:
        base = y[start]
        for i in range(start, end):
            pure = pure and y[i] == base
            W += w[i]
            total += w[i] * (y[i] - base)
        centre = base + total / W
        total = 0.0
        for i in range(start, end):
            gap = y[i] - centre
            t[i] = w[i] * gap
            total += t[i]
            impurity += t[i] * gap
        T[0], mean[0] = total, centre
        return W, impurity / W, pure
    ones = 0
    for i in range(start, end):
        W += w[i]
        total += t[i]
        ones += 1 if t[i] > 0.0 else 0
    T[0], mean[0] = total, total / W
    return W, impurity_two(total, W, entropy), ones == 0 or ones == end - start


@compiled(inner=True)
def best_cut(part: Any, y: Any, k: Any, stack: Any, slot: int, work: Any, stops: Any, entropy: Any) -> Any:
    """The best cut of a waiting node, and the decrease of the impurity that it brings."""
    entry, column, T, W = stack.entry, stack.column[slot], stack.T[slot], stack.sums[slot, 0]
    start, end, columns = entry[slot, 0], entry[slot, 1], entry[slot, 5]
    m = end - start
    if k is not None:
        present, second = 0, 0
        for c in range(T.size):
            if T[c] > 0.0:
                present += 1
                second = c
        if present != 2:
            rows = ClassRows(part.w, k, T, work.L, work.rest)
            cut = cut_classes(part.keys, part.usual, rows, column, columns, work.now, Sums(m, W, 0.0), stops, entropy)
            return cut, decrease_classes(cut.score, T, T.size, W, entropy)
        # Two classes that are left are one target of 0 and 1.
        for i in range(start, end):
            part.t[i] = part.w[i] if k[i] == second else 0.0
        S = T[second]
    else:
        S = T[0]
    cut = cut_one(part.keys, part.usual, part.w, part.t, column, columns, work.now, Sums(m, W, S), stops, entropy)
    return cut, decrease_one(cut.score, S, W, y is not None, entropy)


@compiled(inner=True)
def move(values: Any, to: Any, spare: Any, start: int, end: int) -> None:
    """Values of the rows start to end go to the new places."""
    for i in range(start, end):
        spare[to[i]] = values[i]
    for i in range(start, end):
        values[i] = spare[i]


@compiled(inner=True)
def place_rows(
    keys: Any, to: Any, s: int, stop: int, e: int, start: int, end: int, middle: int, bulk_left: bool
) -> None:
    """The new places of the rows start to end: those of the keys s to stop go left, as does the bulk if it is said so."""
    if e - s < end - start:
        for i in range(start, end):
            to[i] = 1 if bulk_left else 0
    for p in range(s, stop):
        to[keys[p] & LOW] = 1
    for p in range(stop, e):
        to[keys[p] & LOW] = 0
    lefts, rights = start, middle
    for i in range(start, end):
        here = to[i] == 1
        to[i] = lefts if here else rights
        lefts += 1 if here else 0
        rights += 0 if here else 1


@compiled(inner=True)
def split_rows(part: Any, y: Any, k: Any, now: Any, cut: Any, start: int, end: int, sides: Any) -> Any:
    """Give the rows of a node their new places, left ones first; where the right ones begin.

    ``sides``: the rows that lie left and right of the cut (-1: the value without keys)."""
    keys, row = part.keys, part.row
    s, e = np.int64(now[1, cut.line]), np.int64(now[2, cut.line])
    bulk = end - start - (e - s)
    stop = cut.border if cut.at == AT_BULK else cut.at + 1  # the keys before it go left
    bulk_left = bulk > 0 and (cut.at == AT_BULK or cut.at >= cut.border)
    sides[0] = -1 if cut.at == AT_BULK else np.int64(row[keys[stop - 1] & LOW])
    at_border = bulk > 0 and not bulk_left and stop == cut.border
    sides[1] = -1 if at_border else np.int64(row[keys[stop] & LOW])
    middle = start + stop - s + (bulk if bulk_left else 0)
    place_rows(keys, part.to, s, stop, e, start, end, middle, bulk_left)
    move(part.w, part.to, part.spare, start, end)
    move(row, part.to, part.aside, start, end)
    if k is not None:
        move(k, part.to, part.aside, start, end)
    elif y is not None:
        move(y, part.to, part.spare, start, end)
    else:
        move(part.t, part.to, part.spare, start, end)
    return middle


@compiled(inner=True)
def part_keys(keys: Any, to: Any, aside: Any, now: Any, kept: int, border: int, right: Any, left: Any) -> None:
    """Keys of both sides of a split, and where they are in each column."""
    for q in range(kept):
        s, e = np.int64(now[1, q]), np.int64(now[2, q])
        lefts, rights = s, np.int64(0)
        for p in range(s, e):
            i = to[keys[p] & LOW]
            key = (keys[p] & HIGH) | i
            keys[lefts] = key
            aside[rights] = key
            lefts += 1 if i < border else 0
            rights += 0 if i < border else 1
        for p in range(rights):
            keys[lefts + p] = aside[p]
        right[0, q], right[1, q], right[2, q] = now[0, q], lefts, e
        left[0, q], left[1, q], left[2, q] = now[0, q], s, lefts


@compiled(inner=True)
def keep_keys(keys: Any, to: Any, now: Any, kept: int, border: int, is_left: bool, side: Any) -> None:
    """Keys of one side of a split, where the other is a leaf."""
    for q in range(kept):
        s, e = np.int64(now[1, q]), np.int64(now[2, q])
        lefts = s
        for p in range(s, e):
            i = to[keys[p] & LOW]
            keys[lefts] = (keys[p] & HIGH) | i
            lefts += 1 if (i < border) == is_left else 0
        side[0, q], side[1, q], side[2, q] = now[0, q], s, lefts


@compiled(allocates=False)
def push(part: Any, y: Any, k: Any, stack: Any, slot: int, place: Any, columns: int, stops: Any, entropy: Any) -> bool:
    """Let a node wait; whether it may be split."""
    start, end, depth, parent, is_left = place
    W, impurity, pure = node_sums(part.w, part.t, y, k, start, end, stack.T[slot], stack.mean[slot], entropy)
    m = end - start
    few = m < stops.min_split or m < 2 * stops.min_leaf or W < 2.0 * stops.min_weight
    grows = not (pure or few or depth >= stops.max_depth)
    entry, sums = stack.entry, stack.sums
    entry[slot, 0], entry[slot, 1], entry[slot, 2], entry[slot, 3] = start, end, depth, parent
    entry[slot, 4], entry[slot, 5] = is_left, columns if grows else 0
    sums[slot, 0], sums[slot, 1] = W, impurity
    return grows


@compiled(allocates=False)
def grow_sorted(
    part: Any, y: Any, k: Any, stack: Any, work: Any, nodes: Any, sides: Any, stops: Any, entropy: Any, state: Any
) -> None:  # fmt: skip
    """Add nodes until none waits, or the stack is full. ``state``: waiting nodes, nodes, depth of the deepest,
    the number of the first node."""
    entry, column = stack.entry, stack.column
    now = work.now
    waiting, count, deepest = state[0], state[1], state[2]
    while waiting > 0 and waiting < entry.shape[0]:
        waiting -= 1
        node, slot = count, waiting
        count += 1
        start, end, depth, columns = entry[slot, 0], entry[slot, 1], entry[slot, 2], entry[slot, 5]
        W = stack.sums[slot, 0]
        deepest = max(deepest, depth)
        write_node(nodes, node, entry[slot, 3], entry[slot, 4], end - start, W, stack.sums[slot, 1], stack.mean[slot])
        if columns == 0:
            continue  # pure, or beyond a limit
        cut, decrease = best_cut(part, y, k, stack, slot, work, stops, entropy)
        if cut.line < 0 or decrease * W / stops.total_weight + 2.0**-52 < stops.min_decrease:
            continue
        middle = split_rows(part, y, k, now, cut, start, end, sides[node - state[3]])
        nodes.feature[node] = now[0, cut.line]
        nodes.goes_left[node] = 1 if middle - start > end - middle else 0
        right, left = False, False
        for side in range(2):  # the right one first: the left one is taken first
            first, last = (start, middle) if side == 1 else (middle, end)
            right = left
            place = Place(first, last, depth + 1, node, side)
            left = push(part, y, k, stack, slot + side, place, cut.kept, stops, entropy)
        if right and left:
            part_keys(part.keys, part.to, part.aside, now, cut.kept, middle, column[slot], column[slot + 1])
        elif right or left:
            keep_keys(part.keys, part.to, now, cut.kept, middle, left, column[slot + 1 if left else slot])
        waiting += 2
    state[0], state[1], state[2] = waiting, count, deepest


@compiled(allocates=False)
def set_thresholds(columns: Any, nodes: Any, sides: Any, first: int, last: int) -> None:
    """In the middle between the values on both sides of each cut."""
    for node in range(first, last):
        j = nodes.feature[node]
        if j >= 0:
            a, b = sides[node - first, 0], sides[node - first, 1]
            c_left = columns.common[j] if a < 0 else np.int64(columns.codes[j, a])
            c_right = columns.common[j] if b < 0 else np.int64(columns.codes[j, b])
            nodes.threshold[node] = threshold_between(columns, j, c_left, c_right)


# -- a part


def grow_part(
    columns: Any, target: Any, w: np.ndarray, rows: np.ndarray, root: tuple[int, int, int], stops: Stops, entropy: Any,
    nodes: Nodes, count: int,
) -> tuple[int, int]:  # fmt: skip
    """Add the subtree of these rows to the nodes; how many there are then, and the depth of the deepest.

    ``w`` are the weights of the rows, which are moved; ``root`` is (depth, parent, whether left)."""
    m, d, M = rows.size, columns.codes.shape[0], target.M
    keys, ends, usual = _keys(columns, rows, root[1] < 0)
    y, k, t = None, None, np.empty(m)
    if target.k_of.size:  # more than two classes
        k = target.k_of[rows]
    elif target.centred:
        y = target.y[rows]
    else:
        np.multiply(w, target.y[rows], out=t)
    part = Part(
        keys, usual, rows.astype(np.uint32), w, t, np.empty(m, dtype=np.uint16), np.empty(m, dtype=np.uint32), np.empty(m)
    )  # fmt: skip
    stack = Stack.of(64, d, M)  # waiting nodes that there is room for at first
    stack.column[0, 0], stack.column[0, 1], stack.column[0, 2] = np.arange(d), ends[:-1], ends[1:]
    work = Work(np.empty((3, d), dtype=np.int32), np.empty(M), np.empty(M))
    sides = np.empty((2 * m, 2), dtype=np.int64)
    push(part, y, k, stack, 0, Place(0, m, *root), d, stops, entropy)
    state = np.array([1, count, 0, count])
    while state[0] > 0:
        grow_sorted(part, y, k, stack, work, nodes, sides, stops, entropy, state)
        stack = stack.doubled() if state[0] > 0 else stack
    last = int(state[1])
    set_thresholds(Facts.of(columns), nodes, sides, count, last)
    return last, int(state[2])


def _keys(columns: Any, rows: np.ndarray, whole: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The keys of each column, where they end, and the ranks of the values without keys."""
    m, (d, n) = rows.size, columns.codes.shape
    ends, usual = np.zeros(d + 1, dtype=np.int64), np.empty(d, dtype=np.int64)
    if whole and columns.order.shape[0] > 0:
        place = np.full(n, -1, dtype=np.int32)
        place[rows] = np.arange(m, dtype=np.int32)
        keys = np.empty(int(np.minimum(columns.ordered[:, 0], m).sum()) + 1, dtype=np.uint32)
        keys_of_order(columns.order, columns.ordered, columns.common, place, keys, ends, usual)
    else:
        keys = np.empty(m * d + 1, dtype=np.uint32)
        wide, digits = np.empty((2, m + 1), dtype=np.uint64), np.empty(DIGITS, dtype=np.int64)
        keys_of_codes(columns.codes, columns.n_codes, columns.common, rows, wide, digits, keys, ends, usual)
    return keys, ends, usual
