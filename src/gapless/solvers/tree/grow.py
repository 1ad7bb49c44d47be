"""Growth of one tree: greedy, depth first (or best first), each node split by its best cut over all columns.

    minimise over columns j and cuts c:   W_L impurity(left) + W_R impurity(right)

Columns hold codes, the ranks of their distinct values (or of bins of them), so that values are compared as integers and
no column is sorted as a whole again. Where all columns are numbers without missing values and all of them are looked at, a
part of at most 65,536 rows is left to `sorted`; otherwise a node of few rows takes its codes along into a block of its
own, which the cache holds for the whole subtree.

The kernels take no memory: ``grow_nodes`` makes it, and goes on where a kernel stopped for more of it, or for a part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gapless._compile.jit import compiled

from .column import best_cut
from .criteria.medians import Medians
from .criteria.monotone import Fence, enter, note_middle
from .keys import DIGITS
from .node import classes_here, copy_block, sums_of, threshold_between, write_node
from .numpy.choose import numpy_grows
from .numpy.grow import grow_by_numpy
from .queue import COUNT, heap_pop, heap_push, push_children, save_ranges, take_node, take_ranges
from .score import decrease_classes, decrease_many, decrease_one
from .sorted import grow_part
from .state import Categories, Facts, Heap, Lot, Node, Nodes, Queue, Room, Source, Stops, Task, Work
from .thresholds import TREE_THRESHOLDS


class Split(NamedTuple):
    """How a node was split; column -1: it is a leaf."""

    column: Any
    left: Any
    right: Any
    middle: Any
    gain: float


# -- one node


@compiled(inner=True)
def scale_of(work: Any, W: float, entropy: Any) -> float:
    """Of the rounding in the scores of one target, or of several."""
    if entropy == 2:
        total = 0.0
        for o in range(work.T.size):
            total += work.T[o]
        return total
    return W if entropy else 0.0


@compiled(inner=True)
def decrease_of(best: float, work: Any, k: Any, Y: Any, node: Any, centred: bool, entropy: Any) -> float:
    if Y is not None:
        return decrease_many(best, work.T, work.parts, node.W, centred, entropy)
    if k is not None:
        return decrease_classes(best, work.T, node.M, node.W, entropy)
    return decrease_one(best, work.T[0], node.W, centred, entropy)


@compiled(inner=True)
def search(codes: Any, start: int, m: int, W: float, task: Any, categories: Any, k: Any, Y: Any) -> Any:
    """The best cut of a node, and what it takes off the impurity."""
    work, centred, entropy = task.work, task.room.centred, task.entropy
    if k is None:
        M = work.T.size
    else:
        M = classes_here(work, k, m)
    if k is not None and M != 2:
        node = Node(start, m, W, M, W)
        cut = best_cut(codes, task, categories, k, Y, node)
        return cut, decrease_of(cut.score, work, k, Y, node, centred, entropy)
    node = Node(start, m, W, M if Y is not None else np.int64(1), scale_of(work, W, entropy))
    cut = best_cut(codes, task, categories, None, Y, node)
    return cut, decrease_of(cut.score, work, None, Y, node, centred, entropy)


@compiled(inner=True)
def search_any(
    codes: Any, start: int, m: int, W: float, impurity: float, task: Any, medians: Any, categories: Any, k: Any, Y: Any
) -> Any:
    """The same by any criterion."""
    if medians is not None:
        total = impurity * W * medians.code.shape[0]
        cut = best_cut(codes, task, None, None, None, Node(start, m, W, np.int64(1), total))
        return cut, max(total + cut.score, 0.0) / (W * medians.code.shape[0])  # no cut adds to it, but for rounding
    return search(codes, start, m, W, task, categories, k, Y)


@compiled(inner=True)
def split_rows(codes: Any, rows: Any, aside: Any, start: int, end: int, cut: Any, none: int, categories: Any) -> Any:
    """The rows of the left side go before those of the right, each in their order; where the right ones begin."""
    middle, out = np.int64(start), np.int64(0)
    of_categories = False
    if categories is not None:
        of_categories = categories.column[cut.column]
    for i in range(start, end):
        r = rows[i]
        c = np.int64(codes[r])
        here = cut.missing == 1 if c == none else c <= cut.left
        if categories is not None and of_categories:
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
def split(codes: Any, start: int, end: int, node: int, task: Any, cut: Any, categories: Any) -> Any:
    """Split a node; where its right rows begin."""
    j, facts, nodes, room = cut.column, task.facts, task.nodes, task.room
    none = np.int64(facts.n_codes[j]) if facts.missing[j] else np.int64(-1)
    middle = split_rows(codes, room.rows, room.aside, start, end, cut, none, categories)
    larger_left = middle - start > end - middle
    nodes.feature[node] = j
    if categories is not None and categories.column[j]:
        write_categories(codes, room.rows, start, end, facts.n_codes[j], larger_left, node, nodes, categories)
        return middle
    nodes.goes_left[node] = cut.missing if cut.missing >= 0 else np.int64(larger_left)
    if task.lot.at_random:
        nodes.threshold[node] = cut.threshold
    else:
        nodes.threshold[node] = threshold_between(facts, j, cut.left, cut.right)
    return middle


@compiled(inner=True)
def visit(entry: Any, node: int, task: Any, state: Any, categories: Any, k: Any, Y: Any) -> Any:
    """Write a node, and split it if it may be."""
    room, work, stops, rows = task.room, task.work, task.stops, task.room.rows
    start, end, depth = entry[0], entry[1], entry[2]
    m = end - start
    leaf = Split(np.int64(-1), np.int64(-1), np.int64(-1), start, 0.0)
    inside = start >= state[COUNT.block_start] and end <= state[COUNT.block_end]
    if m <= room.block.w.size and not inside:
        copy_block(room.source, room.block, k, Y, rows, start, m)
        state[COUNT.block_start], state[COUNT.block_end] = start, end
        inside = True
    source = room.block if inside else room.source
    W, impurity, pure = sums_of(source, rows, start, end, task, task.medians, k, Y)
    enter(stops.fence, node, entry[3], entry[4], task.nodes.feature, work.mean, room.centred)
    write_node(task.nodes, node, entry[3], entry[4], m, W, impurity, work.mean)
    if categories is not None:
        for s in range(categories.sets.shape[1]):
            categories.sets[node, s] = 0
    few = m < stops.min_split or m < 2 * stops.min_leaf or W < 2.0 * stops.min_weight
    if pure or few or depth >= stops.max_depth:
        return leaf
    cut, decrease = search_any(source.codes, start, m, W, impurity, task, task.medians, categories, k, Y)
    gain = decrease * W / stops.total_weight
    if cut.column < 0 or gain + 2.0**-52 < stops.min_decrease:
        return leaf
    middle = split(source.codes[cut.column], start, end, node, task, cut, categories)
    note_middle(stops.fence, task.medians, source, rows, node, start, middle, end)
    return Split(cut.column, cut.left, cut.right, middle, gain)


# -- the order of nodes


@compiled(allocates=False)
def depth_first(queue: Any, task: Any, categories: Any, k: Any, Y: Any) -> None:
    """Until no node waits, or the next one is a part, or more slots are needed."""
    entry, state = queue.entry, queue.state
    while state[COUNT.waiting] > 0 and state[COUNT.slots] + 2 <= queue.slots.shape[0]:
        if entry[state[COUNT.waiting] - 1, 1] - entry[state[COUNT.waiting] - 1, 0] <= task.room.part:
            return
        at, node = take_node(queue, task.work)
        how = visit(entry[at], node, task, state, categories, k, Y)
        if how.column >= 0:
            push_children(queue, task.work, how, entry[at, 0], entry[at, 1], entry[at, 2], node)


@compiled(allocates=False)
def best_first(queue: Any, heap: Any, task: Any, categories: Any, k: Any, Y: Any) -> None:
    """Until there are as many leaves as wanted, or more slots are needed."""
    entry, state, cut = queue.entry, queue.state, heap.cut
    while state[COUNT.waiting] > 0 or (state[COUNT.heap] > 0 and state[COUNT.leaves] > 0):
        if state[COUNT.waiting] == 0:
            top = heap_pop(heap, state)  # the best split of all leaves is made
            state[COUNT.leaves] -= 1
            take_ranges(queue, cut[top, 7], task.work)
            made = Split(cut[top, 4], cut[top, 5], cut[top, 6], cut[top, 1], 0.0)
            push_children(queue, task.work, made, cut[top, 0], cut[top, 2], cut[top, 3], top)
            continue
        if state[COUNT.slots] + 4 > queue.slots.shape[0]:
            return
        at, node = take_node(queue, task.work)
        how = visit(entry[at], node, task, state, categories, k, Y)
        if how.column >= 0:
            heap.gain[node] = how.gain
            cut[node, 0], cut[node, 1] = entry[at, 0], how.middle
            cut[node, 2], cut[node, 3] = entry[at, 1], entry[at, 2]
            cut[node, 4], cut[node, 5], cut[node, 6] = how.column, how.left, how.right
            cut[node, 7] = save_ranges(queue, task.work)
            heap_push(heap, state, node)


# -- a tree


def grow_nodes(
    columns: Any,
    target: Any,
    weights: np.ndarray | None,
    limits: Any,
    seed: int,
    tick: Callable[[], None] | None = None,
) -> Any:
    """The nodes of a tree on the rows of positive weight, the sets of its splits of categories, and its depth.

    ``tick`` is called between the kernels, and may raise.
    """
    w = np.ones(columns.n_rows) if weights is None else np.asarray(weights, dtype=np.float64)
    rows = (w > 0.0).nonzero()[0]
    of_rows = w[rows]
    n, d, by_gain = rows.size, columns.codes.shape[0], limits.max_leaves >= 0
    stops = Stops(
        int(limits.max_depth), int(limits.min_split), int(limits.min_leaf), float(limits.min_weight),
        target.in_units(float(limits.min_decrease)), float(of_rows.cumsum()[-1]),
    )  # fmt: skip
    room = 2 * n - 1
    if by_gain:
        room = min(room, 2 * int(limits.max_leaves) + 1)
    elif stops.max_depth < 40:
        room = min(room, 2 ** (stops.max_depth + 1) - 1)
    nodes = Nodes.of(room, target.M)
    entropy = True if limits.entropy else None
    plain = not (by_gain or limits.at_random or limits.max_features < d or target.mode == "many")
    plain = plain and target.measure == "squares" and limits.signs is None
    plain = plain and not (columns.missing.any() or columns.categorical.any())
    # A place of 16 bits tells so many rows apart.
    part = min(1 << 16, TREE_THRESHOLDS.part_keys // d) if plain else 0
    if n <= part and entropy is None and numpy_grows(n, d):
        count, depth = grow_by_numpy(columns, target, of_rows, rows, stops, nodes)
        return nodes.first(count), np.zeros((count, 0), dtype=np.uint32), depth
    if n <= part:
        count, depth = grow_part(columns, target, of_rows, rows, (0, -1, 0), stops, entropy, nodes, 0)
        return nodes.first(count), np.zeros((count, 0), dtype=np.uint32), depth
    if limits.signs is not None:
        stops = stops._replace(fence=Fence.of(np.array(limits.signs), room))
    # A copy, as in Target: kernels are compiled once more for arrays that cannot be written to.
    growth = Growth(columns, target, w.copy(), rows, part, limits, stops, entropy, nodes, seed)
    count, depth, sets = growth.run(tick)
    nodes.close(count)
    return nodes.first(count), sets[:count] * (nodes.left[:count] >= 0)[:, None], depth


class Growth:
    """A tree that grows node by node."""

    def __init__(
        self, columns: Any, target: Any, w: np.ndarray, rows: np.ndarray, part: int, limits: Any, stops: Stops, entropy: Any,
        nodes: Nodes, seed: int,
    ) -> None:  # fmt: skip
        n, d, M, size = rows.size, columns.codes.shape[0], target.M, nodes.feature.size
        by_gain = limits.max_leaves >= 0
        if target.mode == "many":  # compiled for codes of 32 bits alone: such trees grow as fast on these
            columns = columns._replace(codes=columns.codes.astype(np.uint32, copy=False))
        self.columns, self.target, self.w, self.entropy = columns, target, w, entropy
        self.k = np.empty(n, dtype=np.int64) if target.mode == "classes" else None
        self.Y = np.empty((n, M)) if target.mode == "many" else None
        medians = Medians.of(target.Y) if target.measure == "medians" else None
        as_one_piece = by_gain or part > 0 or medians is not None  # medians know their rows by their numbers
        room = _room(columns, target, w, rows, part, 0 if as_one_piece else min(TREE_THRESHOLDS.block_rows, n))
        state = np.array([seed % 2**64], dtype=np.uint64)
        lot = Lot(state, np.arange(d), min(int(limits.max_features), d), bool(limits.at_random))
        measure = 2 if target.measure == "deviance" else int(entropy is not None)
        self.task = Task(room, Facts.of(columns), _work(columns, target, n), lot, stops, nodes, measure, medians)
        self.categories = _categories(columns, size)
        self.heap = None
        if by_gain:
            leaves = min(int(limits.max_leaves), n) + 2
            self.heap = Heap(np.empty(leaves, dtype=np.int64), np.empty(size), np.empty((size, 8), dtype=np.int64))
        # At first there is room for the ranges of 64 nodes that wait.
        self.queue = Queue(
            np.empty((n + 2, 6), dtype=np.int64), np.empty((64, 2, d), dtype=np.int32), np.empty(size + 3, dtype=np.int64),
            np.zeros(len(COUNT), dtype=np.int64),
        )  # fmt: skip
        self.queue.slots[0, 0], self.queue.slots[0, 1] = 0, columns.n_codes - 1
        self.queue.entry[0] = 0, n, 0, -1, 0, 0
        self.queue.state[COUNT.waiting], self.queue.state[COUNT.slots], self.queue.state[COUNT.leaves] = (
            1,
            1,
            limits.max_leaves - 1,
        )

    def run(self, tick: Callable[[], None] | None = None) -> tuple[int, int, np.ndarray]:
        """The number of nodes, the depth, and the sets of categories."""
        state, entry = self.queue.state, self.queue.entry
        kinds = (self.task, self.categories, self.k, self.Y)
        while state[COUNT.waiting] > 0:
            if tick is not None:
                tick()
            if self.heap is None:
                depth_first(self.queue, *kinds)
            else:
                best_first(self.queue, self.heap, *kinds)
            if state[COUNT.waiting] > 0:
                start, end, *_ = waiting = entry[state[COUNT.waiting] - 1].tolist()
                if end - start <= self.task.room.part:
                    self._grow_part(*waiting)
                else:
                    slots = self.queue.slots
                    self.queue = self.queue._replace(slots=np.concatenate([slots, np.empty_like(slots)]))
        count = int(state[COUNT.nodes])
        sets = np.zeros((count, 0), dtype=np.uint32) if self.categories is None else self.categories.sets
        return count, int(state[COUNT.deepest]), sets

    def _grow_part(self, start: int, end: int, depth: int, parent: int, is_left: int, slot: int) -> None:
        state, root = self.queue.state, (depth, parent, is_left)
        rows, count = self.task.room.rows[start:end].astype(np.int64), int(state[COUNT.nodes])
        state[COUNT.nodes], deepest = grow_part(
            self.columns, self.target, self.w[rows], rows, root, self.task.stops, self.entropy, self.task.nodes, count
        )  # fmt: skip
        state[COUNT.deepest] = max(state[COUNT.deepest], deepest)
        state[COUNT.waiting] -= 1
        self.queue.free[state[COUNT.free]] = slot
        state[COUNT.free] += 1


def _room(columns: Any, target: Any, w: np.ndarray, rows: np.ndarray, part: int, own: int) -> Room:
    """``own``: rows of a block."""
    mode, outputs = target.mode, target.Y.shape[1]
    source = Source(columns.codes, w, target.y, target.k_of, target.Y)
    block = Source(
        np.empty((columns.codes.shape[0], own), dtype=columns.codes.dtype), np.empty(own), np.empty(own if mode == "one" else 0),
        np.empty(own if mode == "classes" else 0, dtype=np.int32), np.empty((own if mode == "many" else 0, outputs)),
    )  # fmt: skip
    aside = np.empty(rows.size, dtype=np.uint32)
    return Room(rows.astype(np.uint32), aside, source, block, part, bool(target.centred))


def _work(columns: Any, target: Any, n: int) -> Work:
    M, widest = target.M, int(columns.n_codes.max(initial=0)) + 1
    width = M if target.mode == "classes" else M + 1
    return Work(
        np.empty(n + 1), np.empty(n + 1 if target.mode != "many" else 0), np.empty((2, n + 1), dtype=np.uint64),
        np.empty(DIGITS, dtype=np.int64), np.zeros(widest * width), np.zeros(widest, dtype=np.int64), np.zeros(M),
        np.zeros(M), np.zeros(M), np.zeros(M), np.zeros(M, dtype=np.int64), target.parts,
        np.empty(columns.n_codes.size, dtype=np.int64), np.empty(columns.n_codes.size, dtype=np.int64),
    )  # fmt: skip


def _categories(columns: Any, size: int) -> Categories | None:
    if not columns.categorical.any():
        return None
    words = int((columns.n_codes[columns.categorical].max() + 32) // 32)
    size_of_set = 32 * words + 1
    left, best, seen = np.zeros((3, size_of_set), dtype=np.uint8)
    return Categories(
        columns.categorical, left, best, seen, np.zeros(size_of_set), np.zeros(size_of_set, dtype=np.int64),
        np.empty((size, words), dtype=np.uint32),
    )  # fmt: skip
