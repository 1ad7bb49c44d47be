"""The state of a growing tree as tuples: what kernels read, and the memory that they write. Kernels take none of their own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Stops(NamedTuple):
    """Where growth stops, as a kernel reads it: numbers only."""

    max_depth: int
    min_split: int
    min_leaf: int
    min_weight: float
    min_decrease: float
    total_weight: float
    fence: Any = None  #: monotonic constraints


class Sums(NamedTuple):
    """Rows, their weight, and the sum of one target."""

    n: Any
    W: float
    S: float


class Facts(NamedTuple):
    """The columns of a training set as kernels read them, as in ``codes.Columns``."""

    codes: np.ndarray
    n_codes: np.ndarray
    missing: np.ndarray
    common: np.ndarray
    offset: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray

    @classmethod
    def of(cls, columns: Any) -> Facts:
        return cls(
            columns.codes, columns.n_codes, columns.missing, columns.common, columns.offset, columns.lowest, columns.highest
        )  # fmt: skip


class Nodes(NamedTuple):
    """Memory that is never written to is never taken."""

    feature: np.ndarray  #: int64; -2: none
    threshold: np.ndarray
    left: np.ndarray  #: int64; -1: none
    right: np.ndarray
    goes_left: np.ndarray  #: uint8: whether the missing value goes left
    value: np.ndarray
    impurity: np.ndarray
    weight: np.ndarray
    samples: np.ndarray  #: int64

    @classmethod
    def of(cls, room: int, M: int) -> Nodes:
        whole = [np.empty(room, dtype=np.int64) for _ in range(4)]
        return cls(
            whole[0], np.empty(room), whole[1], whole[2], np.empty(room, dtype=np.uint8), np.empty((room, M)),
            np.empty(room), np.empty(room), whole[3],
        )  # fmt: skip

    def first(self, count: int) -> Nodes:
        """The first so many."""
        feature, threshold, left, right, *others = (a[:count] for a in self)
        return Nodes(
            feature.astype(np.int32), threshold.copy(), left.astype(np.int32), right.astype(np.int32), *(a.copy() for a in others)
        )  # fmt: skip

    def close(self, count: int) -> None:
        """Nodes without children cut nothing, also those whose cut was found and not made."""
        leaf = np.flatnonzero(self.left[:count] < 0)
        self.feature[leaf], self.threshold[leaf], self.goes_left[leaf] = -2, -2.0, 0


class Source(NamedTuple):
    """Codes and targets of rows by their number; arrays of length 0 where a target is of another kind."""

    codes: np.ndarray  #: (columns, rows) of uint16 or uint32
    w: np.ndarray
    y: np.ndarray
    k: np.ndarray  #: int32
    Y: np.ndarray


class Room(NamedTuple):
    """The rows of the tree, and where they are read."""

    rows: np.ndarray  #: uint32: those of a node side by side
    aside: np.ndarray  #: uint32
    source: Source
    block: Source
    part: int  #: a node of at most so many rows is a part
    centred: bool  #: targets are numbers


class Work(NamedTuple):
    """Memory of one node. ``w`` and ``t`` have a place more, for rows that are taken together."""

    w: np.ndarray
    t: np.ndarray  #: weighted targets
    keys: np.ndarray  #: uint64 (2, rows + 1): code above, place below
    digits: np.ndarray  #: int64: memory for sorting
    H: np.ndarray  #: a histogram: for each code its sums, then its weight
    tally: np.ndarray  #: int64: rows of each code
    T: np.ndarray  #: sums of the targets
    L: np.ndarray  #: the same of the left side
    missing: np.ndarray  #: the same of the missing values
    mean: np.ndarray
    present: np.ndarray  #: int64: the number of each class among those that are there
    parts: np.ndarray  #: where each output's classes start
    lo: np.ndarray  #: int64: the smallest code of each column
    hi: np.ndarray  #: int64: the largest


class Lot(NamedTuple):
    """What is drawn by lot: the state of the generator, and columns in the order in which they were drawn."""

    state: np.ndarray  #: uint64
    turn: np.ndarray  #: int64
    columns: int  #: so many are looked at
    at_random: bool  #: one threshold a column is drawn, evenly between its values


class Task(NamedTuple):
    """All that the search for the cut of a node reads and writes."""

    room: Room
    facts: Facts
    work: Work
    lot: Lot
    stops: Stops
    nodes: Nodes
    entropy: int  #: 0: squares or Gini, 1: entropy, 2: Poisson's deviance
    medians: Any  #: memory for absolute errors, or None


class Node(NamedTuple):
    """Numbers of one node."""

    start: Any
    n: Any
    W: float
    M: Any  #: classes that are there, or targets
    scale: float  #: of the rounding of scores


class Categories(NamedTuple):
    """Memory for columns of categories."""

    column: np.ndarray  #: whether a column holds categories
    left: np.ndarray  #: uint8: which codes go left
    best: np.ndarray  #: uint8: the same of the best cut of the node
    seen: np.ndarray  #: uint8
    share: np.ndarray
    order: np.ndarray  #: int64
    sets: np.ndarray  #: uint32, (nodes, words): as in the tree


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
