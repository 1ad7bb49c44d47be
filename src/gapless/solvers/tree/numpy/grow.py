"""Growth of a small tree, node by node, the columns of a node side by side: what `tree.sorted` does with kernels.

Each sum is made in the order of the kernels (`cumsum` adds one term after the other), each score by the same products, and of
the scores of a node only those are looked at in Python that are larger than all before them: a cut that is better is one of
these. So the splits, their scores and every figure of a node are those of the kernels to the bit. Squared error and Gini only:
a logarithm of numpy's is not the kernels' one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gapless.solvers.tree.node import threshold_between
from gapless.solvers.tree.numpy.choose import count_nodes
from gapless.solvers.tree.numpy.search import Cut, Grid, Line, Search, add_up, find_cut


class Place(NamedTuple):
    """A node that waits: its rows in their order, its columns, and its place in the tree."""

    rows: np.ndarray
    grid: Grid
    lines: list[Line]
    depth: int
    parent: int
    is_left: int


class Figures(NamedTuple):
    """The sums of a node."""

    W: float
    impurity: float
    T: np.ndarray
    mean: np.ndarray
    pure: bool


def grow_by_numpy(
    columns: Any, target: Any, w: np.ndarray, rows: np.ndarray, stops: Any, nodes: Any
) -> tuple[int, int]:
    """Write the tree of these rows, with their weights: the number of its nodes, and the depth of the deepest."""
    with np.errstate(all="ignore"):
        count, depth = Grower(columns, target, w, rows, stops).grow(start_columns(columns, rows), nodes)
    count_nodes(count)
    return count, depth


class Grower:
    """A tree that grows on the rows of a part."""

    def __init__(self, columns: Any, target: Any, w: np.ndarray, rows: np.ndarray, stops: Any) -> None:
        self.columns, self.stops, self.w = columns, stops, w
        self.y = target.y[rows] if target.centred else None
        self.k = target.k_of[rows].astype(np.int64) if target.k_of.size else None
        self.t = np.empty(w.size) if target.centred or self.k is not None else w * target.y[rows]
        self.M = target.M

    def grow(self, columns: tuple[Grid, list[Line]], nodes: Any) -> tuple[int, int]:
        """Write the nodes; how many there are, and the depth of the deepest."""
        count, deepest = 0, 0
        waiting = [Place(np.arange(self.w.size), *columns, 0, -1, 0)]
        while waiting:
            place = waiting.pop()
            node, count = count, count + 1
            deepest = max(deepest, place.depth)
            found = self._sums(place.rows)
            _write(nodes, node, place, found)
            cut = self._best_cut(place, found) if self._may_grow(place, found) else None
            if cut is not None:
                waiting += self._split(place, cut, node, nodes)
        return count, deepest

    def _may_grow(self, place: Place, found: Figures) -> bool:
        stops, m = self.stops, place.rows.size
        few = m < stops.min_split or m < 2 * stops.min_leaf or found.W < 2.0 * stops.min_weight
        return not (found.pure or few or place.depth >= stops.max_depth)

    def _sums(self, rows: np.ndarray) -> Figures:
        """Sums and means of a node; of regression also its targets, which lose the mean."""
        w = self.w[rows]
        W = add_up(w)
        if self.k is not None:
            k = self.k[rows]
            T = np.bincount(k, weights=w, minlength=self.M)
            return Figures(W, 1.0 - add_up(T * T) / (W * W), T, T / W, bool((k == k[0]).all()))
        if self.y is not None:
            y = self.y[rows]
            centre = float(y[0]) + add_up(w * (y - y[0])) / W
            gap = y - centre
            self.t[rows] = t = w * gap
            whole, mean = np.array([add_up(t)]), np.array([centre])
            return Figures(W, add_up(t * gap) / W, whole, mean, bool((y == y[0]).all()))
        t = self.t[rows]
        S, ones = add_up(t), int(np.count_nonzero(t > 0.0))
        impurity = 1.0 - (S * S + (W - S) * (W - S)) / (W * W)
        return Figures(W, impurity, np.array([S]), np.array([S / W]), ones in (0, rows.size))

    def _best_cut(self, place: Place, found: Figures) -> Cut | None:
        """The best cut of a node that may be made."""
        W, T, stops, k = found.W, found.T, self.stops, self.k
        S = float(T[0])
        if k is not None and np.count_nonzero(T > 0.0) == 2:
            second = int(np.flatnonzero(T > 0.0)[1])  # two classes that are left are one target of 0 and 1
            self.t[place.rows] = np.where(k[place.rows] == second, self.w[place.rows], 0.0)
            k, S = None, float(T[second])
        search = Search(self.w, self.t, k, place.rows.size, W, S, T, stops)
        cut = find_cut(search, place.grid, place.lines, self.columns.common)
        if cut.column < 0:
            return None
        if k is None:
            decrease = cut.score / (W * W) if self.y is not None else cut.score / (W * W) * 2.0
        else:
            decrease = (cut.score - add_up(T * T) / W) / W
        return None if decrease * W / stops.total_weight + 2.0**-52 < stops.min_decrease else cut

    def _split(self, place: Place, cut: Cut, node: int, nodes: Any) -> list[Place]:
        """The two sides of a cut; the left one is taken first."""
        left = np.zeros(self.w.size, dtype=np.bool_)
        if cut.bulk_left:
            line = next(line for line in place.lines if line.column == cut.column)
            left[place.rows] = True
            left[line.rows] = False
        left[cut.there] = True
        here = left[place.rows]
        nodes.feature[node] = cut.column
        nodes.threshold[node] = threshold_between_codes(self.columns, cut)
        nodes.goes_left[node] = 1 if 2 * int(np.count_nonzero(here)) > here.size else 0
        sides = []
        for side in (0, 1):
            mine = left if side else ~left
            chosen = mine[place.grid.rows]
            shape = (place.grid.columns.size, -1) if place.grid.columns.size else (0, 0)
            grid = Grid(
                place.grid.columns, place.grid.rows[chosen].reshape(shape), place.grid.codes[chosen].reshape(shape)
            )
            lines = [Line(j, rows[mine[rows]], codes[mine[rows]]) for j, rows, codes in place.lines]
            sides.append(Place(place.rows[here if side else ~here], grid, lines, place.depth + 1, node, side))
        return sides


def threshold_between_codes(columns: Any, cut: Cut) -> float:
    """`node.threshold_between`, as Python runs it."""
    plain = getattr(threshold_between, "py_func", threshold_between)
    return float(plain(columns, cut.column, cut.left, cut.right))


def _write(nodes: Any, node: int, place: Place, found: Figures) -> None:
    """A leaf, for the time being, and the child of its parent."""
    if place.parent >= 0:
        (nodes.left if place.is_left == 1 else nodes.right)[place.parent] = node
    nodes.feature[node], nodes.threshold[node], nodes.goes_left[node] = -2, -2.0, 0
    nodes.left[node], nodes.right[node] = -1, -1
    nodes.samples[node], nodes.weight[node], nodes.impurity[node] = place.rows.size, found.W, found.impurity
    nodes.value[node] = found.mean


def start_columns(columns: Any, rows: np.ndarray) -> tuple[Grid, list[Line]]:
    """The lines of all columns, of the rows that take part, by their places."""
    place = np.full(columns.codes.shape[1], -1)
    place[rows] = np.arange(rows.size)
    order = columns.order & np.uint32(0x7FFFFFFF)
    whole = np.flatnonzero(columns.common < 0)
    there = place[order[whole]]
    there = there[there >= 0].reshape(whole.size, rows.size)
    codes = columns.codes[:, rows]
    grid = Grid(whole, there, np.take_along_axis(codes[whole], there, axis=1))
    lines = []
    for j in np.flatnonzero(columns.common >= 0).tolist():
        mine = place[order[j, : columns.ordered[j, 0]]]
        mine = mine[mine >= 0]
        lines.append(Line(j, mine, codes[j, mine]))
    return grid, lines
