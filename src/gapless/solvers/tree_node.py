"""The rows of one node, one after the other, and their sums."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gapless._jit import compiled

from .tree_score import impurity_classes, impurity_many, impurity_two

__all__ = ["Node", "Source", "Work", "classes_here", "copy_block", "node_sums"]


class Source(NamedTuple):
    """Codes and targets of rows by their number; arrays of length 0 where a target is of another kind."""

    codes: np.ndarray  #: (columns, rows) of uint16 or uint32
    w: np.ndarray
    y: np.ndarray
    k: np.ndarray  #: int32
    Y: np.ndarray


class Node(NamedTuple):
    """Numbers of one node."""

    start: int
    n: int
    W: float
    M: int  #: classes that are there, or targets
    scale: float  #: of the rounding of scores


class Work(NamedTuple):
    """Memory of one node. ``w`` and ``t`` have a place more, for rows that are taken together."""

    w: np.ndarray
    t: np.ndarray  #: weighted targets
    keys: np.ndarray  #: uint64 (2, rows + 1): code above, place below
    digits: np.ndarray  #: int64: memory for sorting
    H: np.ndarray  #: a histogram: for each code its sums, then its weight
    count: np.ndarray  #: int64: rows of each code
    T: np.ndarray  #: sums of the targets
    L: np.ndarray  #: the same of the left side
    missing: np.ndarray  #: the same of the missing values
    mean: np.ndarray
    present: np.ndarray  #: int64: the number of each class among those that are there
    parts: np.ndarray  #: where each output's classes start
    lo: np.ndarray  #: int64: the smallest code of each column
    hi: np.ndarray  #: int64: the largest


@compiled(inner=True)
def copy_block(source: Any, block: Any, k: Any, Y: Any, rows: Any, start: int, m: int) -> None:
    """Copies of the rows start to start + m, which are then numbered from 0."""
    for j in range(source.codes.shape[0]):
        for i in range(m):
            block.codes[j, i] = source.codes[j, rows[start + i]]
    for i in range(m):
        r = rows[start + i]
        block.w[i] = source.w[r]
        if Y is not None:
            for o in range(Y.shape[1]):
                block.Y[i, o] = source.Y[r, o]
        elif k is not None:
            block.k[i] = source.k[r]
        else:
            block.y[i] = source.y[r]
        rows[start + i] = i


@compiled(inner=True)
def node_sums(
    w: Any, y: Any, classes: Any, outputs: Any, rows: Any, start: int, end: int, work: Any, k: Any, Y: Any, centred: bool,
    entropy: Any,
) -> Any:  # fmt: skip
    """Weights and targets of a node's rows, one after the other; their sums T; weight, impurity, and whether it is pure.

    ``centred``: targets lose the node's mean, so that no digits are lost where it is far from 0."""
    here = work.w
    W = 0.0
    for i in range(end - start):
        here[i] = w[rows[start + i]]
        W += here[i]
    if Y is not None:
        impurity, pure = sum_outputs(outputs, rows, start, end, work, Y, W, centred)
        return W, impurity if centred else impurity_many(work.T, work.parts, W, entropy), pure
    if k is not None:
        pure = sum_classes(classes, rows, start, end, work, k, W)
        return W, impurity_classes(work.T, W, entropy), pure
    impurity, pure = sum_one(y, rows, start, end, work, W, centred)
    return W, impurity if centred else impurity_two(work.T[0], W, entropy), pure


@compiled(inner=True)
def sum_one(y: Any, rows: Any, start: int, end: int, work: Any, W: float, centred: bool) -> Any:
    w, t = work.w, work.t
    first = y[rows[start]]
    total, impurity, pure = 0.0, 0.0, True
    for i in range(end - start):
        value = y[rows[start + i]]
        pure = pure and value == first
        total += w[i] * (value - first)
        t[i] = value
    centre = first + total / W
    total = 0.0
    if centred:
        for i in range(end - start):
            gap = t[i] - centre
            t[i] = w[i] * gap
            total += t[i]
            impurity += t[i] * gap
    else:
        for i in range(end - start):
            t[i] *= w[i]
            total += t[i]
        centre = total / W
    work.T[0], work.mean[0] = total, centre
    return impurity / W, pure


@compiled(inner=True)
def sum_classes(k_of: Any, rows: Any, start: int, end: int, work: Any, k: Any, W: float) -> bool:
    w, T = work.w, work.T
    for c in range(T.size):
        T[c] = 0.0
    first = k_of[rows[start]]
    pure = True
    for i in range(end - start):
        c = k_of[rows[start + i]]
        pure = pure and c == first
        k[i] = c
        T[c] += w[i]
    for c in range(T.size):
        work.mean[c] = T[c] / W
    return pure


@compiled(inner=True)
def sum_outputs(source: Any, rows: Any, start: int, end: int, work: Any, Y: Any, W: float, centred: bool) -> Any:
    w, T, mean = work.w, work.T, work.mean
    M = T.size
    base = rows[start]
    impurity, pure = 0.0, True
    for o in range(M):
        T[o] = 0.0
    for i in range(end - start):
        for o in range(M):
            gap = source[rows[start + i], o] - source[base, o]
            pure = pure and gap == 0.0
            T[o] += w[i] * gap
    for o in range(M):
        mean[o] = source[base, o] + T[o] / W
        T[o] = 0.0
    for i in range(end - start):
        for o in range(M):
            gap = source[rows[start + i], o] - (mean[o] if centred else 0.0)
            Y[i, o] = w[i] * gap
            T[o] += Y[i, o]
            if centred:
                impurity += Y[i, o] * gap
    return impurity / (W * M), pure


@compiled(inner=True)
def classes_here(work: Any, k: Any, m: int) -> int:
    """Number the classes that are there, and how many they are: others take no part; two that are left are one target of 0 and 1."""
    T, present = work.T, work.present
    M = np.int64(0)
    for c in range(T.size):
        if T[c] > 0.0:
            present[c] = M
            T[M] = T[c]
            M += 1
    if M == 2:
        T[0] = T[1]
        for i in range(m):
            work.t[i] = work.w[i] if present[k[i]] == 1 else 0.0
    else:
        for i in range(m):
            k[i] = present[k[i]]
    return M
