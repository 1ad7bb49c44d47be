"""Minimal cost-complexity pruning (Breiman, Friedman, Olshen and Stone 1984, chapter 3).

    R_alpha(T) = sum over leaves of (weight / total weight) * impurity + alpha * number of leaves

For each alpha one subtree is the smallest that minimises R_alpha; as alpha rises they are nested, and the inner node of
weakest link, min over nodes t of (R(t) - R(subtree of t)) / (leaves of it - 1), is the next to become a leaf.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless._compile.jit import compiled

from .paths import find_parents
from .tree import Tree


@compiled
def _collapse_weakest_links(
    left: Any, right: Any, parent: Any, risk: Any, alpha: float, leaf: Any, alphas: Any, risks: Any
) -> int:
    """Make the inner node of the weakest link a leaf, again and again, while its link is at most ``alpha``; the number of steps.

    Writes the path: alphas and risks. A step changes the links, leaf counts and risks of the nodes above alone."""
    n = left.size
    below = np.zeros(n)  # the risk of the leaves below
    leaves = np.zeros(n, dtype=np.int64)
    for t in range(n - 1, -1, -1):  # children stand after their parents
        if left[t] < 0:
            below[t], leaves[t], leaf[t] = risk[t], 1, 1
        else:
            below[t] = below[left[t]] + below[right[t]]
            leaves[t] = leaves[left[t]] + leaves[right[t]]
            leaf[t] = 0
    gone = np.zeros(n, dtype=np.uint8)
    stack = np.empty(n + 1, dtype=np.int64)
    steps = 0
    alphas[0], risks[0] = 0.0, below[0]
    while leaf[0] == 0:
        weakest, at = np.inf, -1
        for t in range(n):
            if leaf[t] == 0 and gone[t] == 0:
                link = (risk[t] - below[t]) / (leaves[t] - 1)
                if link < weakest:
                    weakest, at = link, t
        if weakest > alpha or at < 0:
            break
        drop, fewer = risk[at] - below[at], leaves[at] - 1
        leaf[at] = 1
        # The nodes below the new leaf are gone.
        stack[0], stack[1], size = left[at], right[at], 2
        while size > 0:
            size -= 1
            t = stack[size]
            gone[t] = 1
            if leaf[t] == 0:
                stack[size], stack[size + 1] = left[t], right[t]
                size += 2
        t = at
        while t >= 0:
            below[t] += drop
            leaves[t] -= fewer
            t = parent[t]
        steps += 1
        alphas[steps], risks[steps] = weakest, below[0]
    return steps


def _collapse(tree: Tree, alpha: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = tree.n_nodes
    risk = tree.impurity * tree.weighted_n / tree.weighted_n[0]
    leaf = np.zeros(n, dtype=np.uint8)
    alphas, risks = np.zeros(n + 1), np.zeros(n + 1)
    steps = _collapse_weakest_links(tree.left, tree.right, find_parents(tree), risk, alpha, leaf, alphas, risks)
    return leaf, alphas[: steps + 1], risks[: steps + 1]


def find_pruning_path(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """The alphas at which the best subtree changes, and the risk of its leaves from there on."""
    _, alphas, risks = _collapse(tree, np.inf)
    return alphas, risks


def prune_tree(tree: Tree, alpha: float) -> Tree:
    """The smallest subtree that minimises R_alpha."""
    leaf, _, _ = _collapse(tree, alpha)
    number = np.full(tree.n_nodes, -1, dtype=np.int64)
    keep: list[int] = []
    stack, depth = [(0, 0)], 0
    while stack:
        t, level = stack.pop()
        number[t] = len(keep)
        keep.append(t)
        depth = max(depth, level)
        if not leaf[t]:
            stack += [(int(tree.right[t]), level + 1), (int(tree.left[t]), level + 1)]
    kept = np.array(keep)
    taken = {name: getattr(tree, name)[kept].copy() for name in tree._fields if name != "depth"}
    ends = leaf[kept] == 1
    for name in ("left", "right"):
        taken[name] = np.where(ends, -1, number[np.where(ends, 0, taken[name])]).astype(np.int32)
    taken["feature"][ends] = -2
    taken["threshold"][ends] = -2.0
    taken["missing_left"][ends] = 0
    taken["categories"][ends] = 0
    return Tree(**taken, depth=depth)
