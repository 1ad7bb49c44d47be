"""Readings of a grown tree: the way from the root to each leaf, and the share of each feature in the fall of the impurity."""

from __future__ import annotations

import numpy as np

from .tree import Tree


def find_parents(tree: Tree) -> np.ndarray:
    """The parent of each node; -1 for the root."""
    parent = np.full(tree.n_nodes, -1, dtype=np.int64)
    inner = np.flatnonzero(tree.left >= 0)
    parent[tree.left[inner]] = inner
    parent[tree.right[inner]] = inner
    return parent


def find_paths(tree: Tree, leaves: np.ndarray) -> dict[int, list[int]]:
    """For each leaf the nodes from the root to it, the leaf included."""
    parent = find_parents(tree)
    paths: dict[int, list[int]] = {}
    for leaf in np.unique(leaves).tolist():
        path, node = [], leaf
        while node >= 0:
            path.append(node)
            node = int(parent[node])
        paths[leaf] = path[::-1]
    return paths


def share_importance(tree: Tree, n_features: int) -> np.ndarray:
    """The fall of the weighted impurity by the splits of each feature, as a share of the fall by all splits; 0 without splits."""
    inner = np.flatnonzero(tree.left >= 0)
    mass = tree.weighted_n * tree.impurity
    drop = mass[inner] - mass[tree.left[inner]] - mass[tree.right[inner]]
    total = np.bincount(tree.feature[inner], weights=drop, minlength=n_features)
    total = total / tree.weighted_n[0]
    return total / total.sum() if total.sum() > 0.0 else total
