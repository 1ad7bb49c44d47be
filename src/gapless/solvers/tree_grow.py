"""Growth of one tree: greedy, depth first (or best first), each node split by its best cut over all columns.

    minimise over columns j and cuts c:   W_L impurity(left) + W_R impurity(right)

Columns hold codes, the ranks of their distinct values (or of bins of them), so that values are compared as integers and
no column is sorted as a whole again. Where all columns are numbers without missing values and all of them are looked at, a
part of at most 65,536 rows is left to ``tree_sorted``; otherwise a node of few rows takes its codes along into a block of its own,
which the cache holds for the whole subtree.

The kernels take no memory: ``grow_nodes`` makes it, and goes on where a kernel stopped for more of it, or for a part.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gapless._jit import compiled

from .tree_column import Lot, best_cut
from .tree_histogram import Categories
from .tree_keys import DIGITS
from .tree_node import Node, Source, Work, classes_here, copy_block, node_sums
from .tree_nodes import Facts, Nodes, threshold_between, write_node
from .tree_score import Stops, decrease_classes, decrease_many, decrease_one
from .tree_sorted import MOST_KEYS, PLACES, grow_part

__all__ = ["CLASSES", "MANY", "ONE", "grow_nodes"]

#: Targets: one number (or one of two classes), one of many classes, several of either.
ONE, CLASSES, MANY = 1, 2, 3
#: A subtree of at most so many rows works on its own copy of the codes.
BLOCK = 4096
#: What ``Queue.state`` counts.
WAITING, FREE, SLOTS, NODES, DEEPEST, BLOCK_START, BLOCK_END, HEAP, LEAVES = range(9)
#: Waiting nodes whose ranges there is room for at first.
ROOM = 64


class Queue(NamedTuple):
    """Nodes that wait."""

    entry: np.ndarray  #: start, end, depth, parent, whether left, slot
    slots: np.ndarray  #: int32 (slots, 2, columns): the smallest and the largest code of each column
    free: np.ndarray  #: slots that can be taken again
    state: np.ndarray  #: int64


class Heap(NamedTuple):
    """Best first: leaves with their cuts, those of the largest gain on top."""

    node: np.ndarray
    gain: np.ndarray  #: of each node
    cut: np.ndarray  #: of each node: start, middle, end, depth, column, left code, right code, slot


class Room(NamedTuple):
    """The rows of the tree, and where they are read."""

    rows: np.ndarray  #: uint32: those of a node side by side
    aside: np.ndarray  #: uint32
    source: Source
    block: Source
    part: int  #: a node of at most so many rows is a part
    centred: bool  #: targets are numbers


class Split(NamedTuple):
    """How a node was split; column -1: it is a leaf."""

    column: int
    left: int
    right: int
    middle: int
    gain: float


# -- one node


@compiled(inner=True)
def decrease_of(best: float, work: Any, k: Any, Y: Any, node: Any, centred: bool, entropy: Any) -> float:
    if Y is not None:
        return decrease_many(best, work.T, work.parts, node.W, centred, entropy)
    if k is not None:
        return decrease_classes(best, work.T, node.M, node.W, entropy)
    return decrease_one(best, work.T[0], node.W, centred, entropy)


@compiled(inner=True)
def search(
    codes: Any, rows: Any, start: int, m: int, W: float, facts: Any, work: Any, categories: Any, k: Any, Y: Any, lot: Any,
    at_random: Any, stops: Any, entropy: Any, centred: bool,
) -> Any:  # fmt: skip
    """The best cut of a node, and what it takes off the impurity."""
    if k is None:
        M = work.T.size
    else:
        M = classes_here(work, k, m)
    if k is not None and M != 2:
        node = Node(start, m, W, M, W)
        cut = best_cut(codes, rows, facts, work, categories, k, Y, node, lot, at_random, stops, entropy)
        return cut, decrease_of(cut.score, work, k, Y, node, centred, entropy)
    node = Node(start, m, W, M if Y is not None else np.int64(1), 0.0 if entropy is None else W)
    cut = best_cut(codes, rows, facts, work, categories, None, Y, node, lot, at_random, stops, entropy)
    return cut, decrease_of(cut.score, work, None, Y, node, centred, entropy)


@compiled(inner=True)
def split_rows(codes: Any, rows: Any, aside: Any, start: int, end: int, cut: Any, none: int, categories: Any) -> int:
    """The rows of the left side go before those of the right, each in their order; where the right ones begin."""
    middle, out = np.int64(start), np.int64(0)
    of_categories = False
    if categories is not None:
        of_categories = categories.column[cut.column]
    for i in range(start, end):
        r = rows[i]
        c = np.int64(codes[r])
        here = cut.missing == 1 if c == none else c <= cut.left
        if categories is not None:
            if of_categories:
                here = categories.best[c] == 1
        rows[middle] = r
        aside[out] = r
        middle += 1 if here else 0
        out += 0 if here else 1
    for i in range(out):
        rows[middle + i] = aside[i]
    return middle


@compiled(inner=True)
def write_categories(
    codes: Any, rows: Any, start: int, end: int, n_codes: int, larger_left: bool, node: int, nodes: Any, categories: Any
) -> None:  # fmt: skip
    """The set of categories that go left; a category that is not here goes with most rows, as do missing values."""
    seen, left, sets = categories.seen, categories.best, categories.sets
    for c in range(n_codes + 1):
        seen[c] = 0
    for i in range(start, end):
        seen[codes[rows[i]]] = 1
    most = 1 if larger_left else 0
    nodes.goes_left[node] = left[n_codes] if seen[n_codes] == 1 else most
    for c in range(n_codes):
        if (left[c] if seen[c] == 1 else most) == 1:
            sets[node, c // 32] |= np.uint32(1) << np.uint32(c % 32)
    nodes.threshold[node] = np.nan


@compiled(inner=True)
def split(
    codes: Any, room: Any, start: int, end: int, node: int, nodes: Any, facts: Any, cut: Any, categories: Any, at_random: Any
) -> int:  # fmt: skip
    """Split a node; where its right rows begin."""
    j = cut.column
    none = np.int64(facts.n_codes[j]) if facts.missing[j] else np.int64(-1)
    middle = split_rows(codes, room.rows, room.aside, start, end, cut, none, categories)
    larger_left = middle - start > end - middle
    nodes.feature[node] = j
    if categories is not None:
        if categories.column[j]:
            write_categories(codes, room.rows, start, end, facts.n_codes[j], larger_left, node, nodes, categories)
            return middle
    nodes.goes_left[node] = cut.missing if cut.missing >= 0 else np.int64(larger_left)
    nodes.threshold[node] = threshold_between(facts, j, cut.left, cut.right) if at_random is None else cut.threshold
    return middle


@compiled(inner=True)
def visit(
    entry: Any, node: int, room: Any, facts: Any, work: Any, nodes: Any, categories: Any, k: Any, Y: Any, lot: Any,
    at_random: Any, stops: Any, entropy: Any, state: Any,
) -> Any:  # fmt: skip
    """Write a node, and split it if it may be."""
    start, end, depth, rows = entry[0], entry[1], entry[2], room.rows
    m = end - start
    leaf = Split(np.int64(-1), np.int64(-1), np.int64(-1), start, 0.0)
    inside = start >= state[BLOCK_START] and end <= state[BLOCK_END]
    if m <= room.block.codes.shape[1] and not inside:
        copy_block(room.source, room.block, k, Y, rows, start, m)
        state[BLOCK_START], state[BLOCK_END] = start, end
        inside = True
    codes = room.block.codes if inside else room.source.codes
    W, impurity, pure = node_sums(
        room.block.w if inside else room.source.w, room.block.y if inside else room.source.y,
        room.block.k if inside else room.source.k, room.block.Y if inside else room.source.Y, rows, start, end, work, k, Y,
        room.centred, entropy,
    )  # fmt: skip
    write_node(nodes, node, entry[3], entry[4], m, W, impurity, work.mean)
    if categories is not None:
        for s in range(categories.sets.shape[1]):
            categories.sets[node, s] = 0
    few = m < stops.min_split or m < 2 * stops.min_leaf or W < 2.0 * stops.min_weight
    if pure or few or depth >= stops.max_depth:
        return leaf
    cut, decrease = search(
        codes, rows, start, m, W, facts, work, categories, k, Y, lot, at_random, stops, entropy, room.centred
    )  # fmt: skip
    gain = decrease * W / stops.total_weight
    if cut.column < 0 or gain + 2.0**-52 < stops.min_decrease:
        return leaf
    middle = split(codes[cut.column], room, start, end, node, nodes, facts, cut, categories, at_random)
    return Split(cut.column, cut.left, cut.right, middle, gain)


# -- nodes that wait


@compiled(inner=True)
def free_slot(queue: Any) -> int:
    state = queue.state
    if state[FREE] > 0:
        state[FREE] -= 1
        return queue.free[state[FREE]]
    state[SLOTS] += 1
    return state[SLOTS] - 1


@compiled(inner=True)
def save_ranges(queue: Any, work: Any) -> int:
    """The slot that holds the ranges of all columns."""
    slot = free_slot(queue)
    for j in range(work.lo.size):
        queue.slots[slot, 0, j], queue.slots[slot, 1, j] = work.lo[j], work.hi[j]
    return slot


@compiled(inner=True)
def take_ranges(queue: Any, slot: int, work: Any) -> None:
    for j in range(work.lo.size):
        work.lo[j], work.hi[j] = queue.slots[slot, 0, j], queue.slots[slot, 1, j]
    queue.free[queue.state[FREE]] = slot
    queue.state[FREE] += 1


@compiled(inner=True)
def push_children(queue: Any, work: Any, how: Any, start: int, end: int, depth: int, node: int) -> None:
    entry, state, j = queue.entry, queue.state, how.column
    for side in range(2):  # the right one first: the left one is taken first
        slot = save_ranges(queue, work)
        if how.left >= 0:  # no categories
            if side == 1:
                queue.slots[slot, 1, j] = how.left
            elif how.right >= 0:
                queue.slots[slot, 0, j] = max(how.right, how.left + 1)
        at = state[WAITING]
        entry[at, 0], entry[at, 1] = start if side == 1 else how.middle, how.middle if side == 1 else end
        entry[at, 2], entry[at, 3], entry[at, 4], entry[at, 5] = depth + 1, node, side, slot
        state[WAITING] += 1


@compiled(inner=True)
def take_node(queue: Any, work: Any) -> tuple[int, int]:
    """The place of the node that is next, and its number."""
    entry, state = queue.entry, queue.state
    at, node = state[WAITING] - 1, state[NODES]
    state[WAITING] = at
    state[NODES] += 1
    state[DEEPEST] = max(state[DEEPEST], entry[at, 2])
    take_ranges(queue, entry[at, 5], work)
    return at, node


@compiled(allocates=False)
def depth_first(
    queue: Any, room: Any, facts: Any, work: Any, nodes: Any, categories: Any, k: Any, Y: Any, lot: Any, at_random: Any,
    stops: Any, entropy: Any,
) -> None:  # fmt: skip
    """Until no node waits, or the next one is a part, or more slots are needed."""
    entry, state = queue.entry, queue.state
    while state[WAITING] > 0 and state[SLOTS] + 2 <= queue.slots.shape[0]:
        if entry[state[WAITING] - 1, 1] - entry[state[WAITING] - 1, 0] <= room.part:
            return
        at, node = take_node(queue, work)
        how = visit(
            entry[at], node, room, facts, work, nodes, categories, k, Y, lot, at_random, stops, entropy, state
        )  # fmt: skip
        if how.column >= 0:
            push_children(queue, work, how, entry[at, 0], entry[at, 1], entry[at, 2], node)


@compiled(inner=True)
def above(heap: Any, a: int, b: int) -> bool:
    """Whether node a has the larger gain; of equal ones the first has."""
    return heap.gain[a] > heap.gain[b] or (heap.gain[a] == heap.gain[b] and a < b)


@compiled(inner=True)
def heap_push(heap: Any, state: Any, node: int) -> None:
    order, at = heap.node, state[HEAP]
    order[at] = node
    state[HEAP] += 1
    while at > 0 and above(heap, order[at], order[(at - 1) // 2]):
        up = (at - 1) // 2
        order[at], order[up] = order[up], order[at]
        at = up


@compiled(inner=True)
def heap_pop(heap: Any, state: Any) -> int:
    order = heap.node
    top = order[0]
    state[HEAP] -= 1
    size, at = state[HEAP], 0
    order[0] = order[size]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and above(heap, order[child + 1], order[child]):
            child += 1
        if not above(heap, order[child], order[at]):
            break
        order[child], order[at] = order[at], order[child]
        at = child
    return top


@compiled(allocates=False)
def best_first(
    queue: Any, heap: Any, room: Any, facts: Any, work: Any, nodes: Any, categories: Any, k: Any, Y: Any, lot: Any,
    at_random: Any, stops: Any, entropy: Any,
) -> None:  # fmt: skip
    """Until there are as many leaves as wanted, or more slots are needed."""
    entry, state, cut = queue.entry, queue.state, heap.cut
    while state[WAITING] > 0 or (state[HEAP] > 0 and state[LEAVES] > 0):
        if state[WAITING] == 0:
            top = heap_pop(heap, state)  # the best split of all leaves is made
            state[LEAVES] -= 1
            take_ranges(queue, cut[top, 7], work)
            made = Split(cut[top, 4], cut[top, 5], cut[top, 6], cut[top, 1], 0.0)
            push_children(queue, work, made, cut[top, 0], cut[top, 2], cut[top, 3], top)
            continue
        if state[SLOTS] + 4 > queue.slots.shape[0]:
            return
        at, node = take_node(queue, work)
        how = visit(
            entry[at], node, room, facts, work, nodes, categories, k, Y, lot, at_random, stops, entropy, state
        )  # fmt: skip
        if how.column >= 0:
            heap.gain[node] = how.gain
            cut[node, 0], cut[node, 1], cut[node, 2], cut[node, 3] = (
                entry[at, 0],
                how.middle,
                entry[at, 1],
                entry[at, 2],
            )
            cut[node, 4], cut[node, 5], cut[node, 6] = how.column, how.left, how.right
            cut[node, 7] = save_ranges(queue, work)
            heap_push(heap, state, node)


# -- a tree


def grow_nodes(columns: Any, target: Any, weights: np.ndarray | None, limits: Any, seed: int) -> Any:
    """The nodes of a tree on the rows of positive weight, the sets of its splits of categories, and its depth."""
    # A copy, as in Target: kernels are compiled once more for arrays that cannot be written to.
    w = np.ones(columns.n_rows) if weights is None else np.array(weights, dtype=np.float64)
    rows = np.flatnonzero(w > 0.0)
    of_rows = w[rows]
    n, d, by_gain = rows.size, columns.codes.shape[0], limits.max_leaves >= 0
    stops = Stops(
        int(limits.max_depth), int(limits.min_split), int(limits.min_leaf), float(limits.min_weight),
        float(limits.min_decrease), float(np.cumsum(of_rows)[-1]),
    )  # fmt: skip
    room = 2 * n - 1
    if by_gain:
        room = min(room, 2 * int(limits.max_leaves) + 1)
    elif stops.max_depth < 40:
        room = min(room, 2 ** (stops.max_depth + 1) - 1)
    nodes = Nodes.of(room, target.M)
    entropy = True if limits.entropy else None
    plain = not (by_gain or limits.at_random or limits.max_features < d or target.mode == MANY)
    plain = plain and not (columns.missing.any() or columns.categorical.any())
    part = min(PLACES, MOST_KEYS // d) if plain else 0
    if n <= part:
        count, depth = grow_part(columns, target, of_rows, rows, (0, -1, 0), stops, entropy, nodes, 0)
        return nodes.first(count), np.zeros((count, 0), dtype=np.uint32), depth
    growth = Growth(columns, target, w, rows, part, limits, stops, entropy, nodes, seed)
    count, depth, sets = growth.run()
    return nodes.first(count), sets[:count] * (nodes.left[:count] >= 0)[:, None], depth


class Growth:
    """The memory of a tree that grows node by node."""

    def __init__(
        self, columns: Any, target: Any, w: np.ndarray, rows: np.ndarray, part: int, limits: Any, stops: Stops, entropy: Any,
        nodes: Nodes, seed: int,
    ) -> None:  # fmt: skip
        n, d, M, size = rows.size, columns.codes.shape[0], target.M, nodes.feature.size
        mode, by_gain = target.mode, limits.max_leaves >= 0
        self.columns, self.target, self.w, self.stops, self.entropy = columns, target, w, stops, entropy
        self.nodes = nodes
        own = 0 if by_gain or part > 0 else min(BLOCK, n)
        source = Source(columns.codes, w, target.y, target.k_of, target.Y)
        block = Source(
            np.empty((d, own), dtype=columns.codes.dtype), np.empty(own), np.empty(own if mode == ONE else 0),
            np.empty(own if mode == CLASSES else 0, dtype=np.int32), np.empty((own if mode == MANY else 0, target.Y.shape[1])),
        )  # fmt: skip
        self.room = Room(
            rows.astype(np.uint32), np.empty(n, dtype=np.uint32), source, block, part, bool(target.centred)
        )
        self.facts = Facts.of(columns)
        widest = int(columns.n_codes.max(initial=0)) + 1
        self.k = np.empty(n, dtype=np.int64) if mode == CLASSES else None
        self.Y = np.empty((n, M)) if mode == MANY else None
        self.work = Work(
            np.empty(n + 1), np.empty(n + 1 if mode != MANY else 0), np.empty((2, n + 1), dtype=np.uint64),
            np.empty(DIGITS, dtype=np.int64), np.zeros(widest * (M if mode == CLASSES else M + 1)), np.zeros(widest, dtype=np.int64), np.zeros(M), np.zeros(M),
            np.zeros(M), np.zeros(M), np.zeros(M, dtype=np.int64), target.parts, np.empty(d, dtype=np.int64),
            np.empty(d, dtype=np.int64),
        )  # fmt: skip
        self.lot = Lot(np.array([seed % 2**64], dtype=np.uint64), np.arange(d), min(int(limits.max_features), d))
        self.at_random = True if limits.at_random else None
        self.categories = _categories(columns, size)
        self.heap = None
        if by_gain:
            leaves = min(int(limits.max_leaves), n) + 2
            self.heap = Heap(np.empty(leaves, dtype=np.int64), np.empty(size), np.empty((size, 8), dtype=np.int64))
        self.queue = Queue(
            np.empty((n + 2, 6), dtype=np.int64), np.empty((ROOM, 2, d), dtype=np.int32), np.empty(size + 3, dtype=np.int64),
            np.zeros(9, dtype=np.int64),
        )  # fmt: skip
        self.queue.slots[0, 0], self.queue.slots[0, 1] = 0, columns.n_codes - 1
        self.queue.entry[0] = 0, n, 0, -1, 0, 0
        self.queue.state[WAITING], self.queue.state[SLOTS], self.queue.state[LEAVES] = 1, 1, limits.max_leaves - 1

    def run(self) -> tuple[int, int, np.ndarray]:
        """The number of nodes, the depth, and the sets of categories."""
        state, entry = self.queue.state, self.queue.entry
        with_room = (
            self.room,
            self.facts,
            self.work,
            self.nodes,
            self.categories,
            self.k,
            self.Y,
            self.lot,
            self.at_random,
        )
        while state[WAITING] > 0:
            if self.heap is None:
                depth_first(self.queue, *with_room, self.stops, self.entropy)
            else:
                best_first(self.queue, self.heap, *with_room, self.stops, self.entropy)
            if state[WAITING] > 0:
                start, end = entry[state[WAITING] - 1, :2]
                if end - start <= self.room.part:
                    self._grow_part(*entry[state[WAITING] - 1].tolist())
                else:
                    slots = self.queue.slots
                    self.queue = self.queue._replace(slots=np.concatenate([slots, np.empty_like(slots)]))
        count = int(state[NODES])
        sets = np.zeros((count, 0), dtype=np.uint32) if self.categories is None else self.categories.sets
        return count, int(state[DEEPEST]), sets

    def _grow_part(self, start: int, end: int, depth: int, parent: int, is_left: int, slot: int) -> None:
        state, root = self.queue.state, (depth, parent, is_left)
        rows, count = self.room.rows[start:end].astype(np.int64), int(state[NODES])
        state[NODES], deepest = grow_part(
            self.columns, self.target, self.w[rows], rows, root, self.stops, self.entropy, self.nodes, count
        )  # fmt: skip
        state[DEEPEST] = max(state[DEEPEST], deepest)
        state[WAITING] -= 1
        self.queue.free[state[FREE]] = slot
        state[FREE] += 1


def _categories(columns: Any, size: int) -> Categories | None:
    if not columns.categorical.any():
        return None
    words = int((columns.n_codes[columns.categorical].max() + 32) // 32)
    marks = [np.zeros(32 * words + 1, dtype=np.uint8) for _ in range(3)]
    return Categories(
        columns.categorical, *marks, np.zeros(32 * words + 1), np.zeros(32 * words + 1, dtype=np.int64),
        np.empty((size, words), dtype=np.uint32),
    )  # fmt: skip
