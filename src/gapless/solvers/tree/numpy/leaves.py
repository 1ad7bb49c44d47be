"""The way of rows to their leaves, all rows a level at a time: what the walks of `tree.tree` do with kernels."""

from __future__ import annotations

import numpy as np


def walk_by_numpy(X: np.ndarray, nodes: np.ndarray, thresholds: np.ndarray, out: np.ndarray) -> None:
    """Leaves of rows without missing values in a tree without categories; a leaf is its own left child."""
    rows, at = np.arange(X.shape[0]), np.zeros(X.shape[0], dtype=np.int64)
    while True:
        to = nodes[at, 2] + (X[rows, nodes[at, 0]] > thresholds[at, 1])
        if np.array_equal(to, at):
            break
        at = to
    out[:] = nodes[at, 3]


def number_by_level(left: np.ndarray, right: np.ndarray, number: np.ndarray, first: np.ndarray) -> None:
    """The node at each place, level by level, and the place of its left child, or its own where it has none."""
    lefts, rights, places, children = left.tolist(), right.tolist(), [0], []
    for place in range(len(lefts)):
        node = places[place]
        children.append(len(places) if lefts[node] >= 0 else place)
        if lefts[node] >= 0:
            places += [lefts[node], rights[node]]
    number[:], first[:] = places, children
