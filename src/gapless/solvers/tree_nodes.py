"""What growing reads of the columns, and what it writes of the nodes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gapless._jit import compiled

__all__ = ["Facts", "Nodes", "threshold_between", "write_node"]


class Facts(NamedTuple):
    """The columns of a training set as kernels read them, as in ``tree_codes.Columns``."""

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
        """The first so many, where those without children cut nothing."""
        nodes = Nodes(*(a[:count].copy() for a in self))
        leaf = nodes.left < 0
        nodes.feature[leaf], nodes.threshold[leaf], nodes.goes_left[leaf] = -2, -2.0, 0
        return nodes


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
    nodes.feature[node], nodes.left[node], nodes.right[node], nodes.goes_left[node] = -2, -1, -1, 0
    nodes.samples[node], nodes.weight[node], nodes.impurity[node] = n, W, impurity
    for k in range(mean.size):
        nodes.value[node, k] = mean[k]


@compiled(inner=True)
def threshold_between(facts: Any, j: int, left: int, right: int) -> float:
    """A threshold t with x_left <= t < x_right: the middle, or the lower value where there is none; infinite without a right side."""
    x0 = np.float64(facts.highest[facts.offset[j] + left])
    if right < 0:
        return np.inf
    x1 = np.float64(facts.lowest[facts.offset[j] + right])
    middle = x0 / 2.0 + x1 / 2.0
    return x0 if middle >= x1 or not np.isfinite(middle) else middle
