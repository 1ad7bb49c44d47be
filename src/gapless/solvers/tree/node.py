"""The rows of one node, one after the other, their sums, and what is written of the node."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless._compile.jit import compiled
from gapless.losses.impurity import impurity_classes, impurity_many, impurity_two, share_of_deviance

from .criteria.medians import sum_medians


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
    source: Any, rows: Any, start: int, end: int, work: Any, k: Any, Y: Any, centred: bool, entropy: Any
) -> Any:  # fmt: skip
    """Weights and targets of a node's rows, one after the other; their sums T; weight, impurity, and whether it is pure.

    ``centred``: targets lose the node's mean, so that no digits are lost where it is far from 0."""
    here = work.w
    W = 0.0
    for i in range(end - start):
        here[i] = source.w[rows[start + i]]
        W += here[i]
    if Y is not None:
        impurity, pure = sum_outputs(source.Y, rows, start, end, work, Y, W, centred)
        return W, impurity if centred else impurity_many(work.T, work.parts, W, entropy), pure
    if k is not None:
        pure = sum_classes(source.k, rows, start, end, work, k, W)
        return W, impurity_classes(work.T, W, entropy), pure
    impurity, pure = sum_one(source.y, rows, start, end, work, W, centred)
    return W, impurity if centred else impurity_two(work.T[0], W, entropy), pure


@compiled(inner=True)
def sums_of(source: Any, rows: Any, start: int, end: int, task: Any, medians: Any, k: Any, Y: Any) -> Any:
    """The same by any criterion."""
    if medians is not None:
        return sum_medians(medians, source, rows, start, end, task.work)
    W, impurity, pure = node_sums(source, rows, start, end, task.work, k, Y, task.room.centred, task.entropy)
    if task.entropy == 2:
        impurity = deviance(source, rows, start, end, task.work, k, Y, W)
    return W, impurity, pure


@compiled(inner=True)
def deviance(source: Any, rows: Any, start: int, end: int, work: Any, k: Any, Y: Any, W: float) -> float:
    """Half of Poisson's deviance from the means of a node; of outputs the mean."""
    total = 0.0
    if Y is not None:
        for o in range(Y.shape[1]):
            for i in range(end - start):
                total += work.w[i] * share_of_deviance(source.Y[rows[start + i], o], work.mean[o])
        return total / (W * Y.shape[1])
    if k is None:
        for i in range(end - start):
            total += work.w[i] * share_of_deviance(source.y[rows[start + i]], work.mean[0])
    return total / W


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
def classes_here(work: Any, k: Any, m: int) -> Any:
    """Number the classes that are there; how many they are. Others take no part; two are one target of 0 and 1."""
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


@compiled(inner=True)
def write_node(
    nodes: Any, node: int, parent: int, is_left: int, n: int, W: float, impurity: float, mean: Any
) -> None:  # fmt: skip
    """A leaf, for the time being, and the child of its parent."""
    if parent >= 0:
        if is_left == 1:
            nodes.left[parent] = node
        else:
            nodes.right[parent] = node
    nodes.feature[node], nodes.threshold[node], nodes.goes_left[node] = -2, -2.0, 0
    nodes.left[node], nodes.right[node] = -1, -1
    nodes.samples[node], nodes.weight[node], nodes.impurity[node] = n, W, impurity
    for k in range(mean.size):
        nodes.value[node, k] = mean[k]


@compiled(inner=True)
def threshold_between(facts: Any, j: int, left: int, right: int) -> float:
    """A threshold t, x_left <= t < x_right: the middle, or x_left where rounding leaves none; infinite without a right side."""
    x0 = np.float64(facts.highest[facts.offset[j] + left])
    if right < 0:
        return np.inf
    x1 = np.float64(facts.lowest[facts.offset[j] + right])
    middle = x0 / 2.0 + x1 / 2.0
    return x0 if middle >= x1 or not np.isfinite(middle) else middle
