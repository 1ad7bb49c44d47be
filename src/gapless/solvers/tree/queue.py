"""Nodes that wait: their ranges, a stack of them, and best first a heap of leaves with the gains of their cuts."""

from __future__ import annotations

from typing import Any, NamedTuple

from gapless._compile.jit import compiled


class Counts(NamedTuple):
    """The places of ``Queue.state``."""

    waiting: int = 0
    free: int = 1
    slots: int = 2
    nodes: int = 3
    deepest: int = 4
    block_start: int = 5
    block_end: int = 6
    heap: int = 7
    leaves: int = 8


COUNT = Counts()


@compiled(inner=True)
def free_slot(queue: Any) -> Any:
    state = queue.state
    if state[COUNT.free] > 0:
        state[COUNT.free] -= 1
        return queue.free[state[COUNT.free]]
    state[COUNT.slots] += 1
    return state[COUNT.slots] - 1


@compiled(inner=True)
def save_ranges(queue: Any, work: Any) -> Any:
    """The slot that holds the ranges of all columns."""
    slot = free_slot(queue)
    for j in range(work.lo.size):
        queue.slots[slot, 0, j], queue.slots[slot, 1, j] = work.lo[j], work.hi[j]
    return slot


@compiled(inner=True)
def take_ranges(queue: Any, slot: int, work: Any) -> None:
    for j in range(work.lo.size):
        work.lo[j], work.hi[j] = queue.slots[slot, 0, j], queue.slots[slot, 1, j]
    queue.free[queue.state[COUNT.free]] = slot
    queue.state[COUNT.free] += 1


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
        at = state[COUNT.waiting]
        entry[at, 0], entry[at, 1] = start if side == 1 else how.middle, how.middle if side == 1 else end
        entry[at, 2], entry[at, 3], entry[at, 4], entry[at, 5] = depth + 1, node, side, slot
        state[COUNT.waiting] += 1


@compiled(inner=True)
def take_node(queue: Any, work: Any) -> Any:
    """The place of the node that is next, and its number."""
    entry, state = queue.entry, queue.state
    at, node = state[COUNT.waiting] - 1, state[COUNT.nodes]
    state[COUNT.waiting] = at
    state[COUNT.nodes] += 1
    state[COUNT.deepest] = max(state[COUNT.deepest], entry[at, 2])
    take_ranges(queue, entry[at, 5], work)
    return at, node


@compiled(inner=True)
def above(heap: Any, a: int, b: int) -> bool:
    """Whether node a has the larger gain; of equal ones the first has."""
    return heap.gain[a] > heap.gain[b] or (heap.gain[a] == heap.gain[b] and a < b)


@compiled(inner=True)
def heap_push(heap: Any, state: Any, node: int) -> None:
    order, at = heap.node, state[COUNT.heap]
    order[at] = node
    state[COUNT.heap] += 1
    while at > 0 and above(heap, order[at], order[(at - 1) // 2]):
        up = (at - 1) // 2
        order[at], order[up] = order[up], order[at]
        at = up


@compiled(inner=True)
def heap_pop(heap: Any, state: Any) -> Any:
    order = heap.node
    top = order[0]
    state[COUNT.heap] -= 1
    size, at = state[COUNT.heap], 0
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
