"""A decision tree as arrays: what grows it, and the way from rows to leaves.

    columns = prepare_columns(X)                                      ranks or bins of every column, once
    target = TreeTarget.from_classes(index, K)  or  TreeTarget.from_values(y)
    tree = grow_tree(columns, target, weights, TreeLimits(), seed)    as often as wanted, in any thread; weight 0 is no row
    find_leaves(pack_tree(tree), X)                                   tree.value[leaf] is what it predicts

The same arguments give the same bits. Of cuts that are equally good (scores equal but for rounding) the one of the lowest
column and, there, of the lowest threshold is taken. Nothing is known of how far a greedy tree is from the best one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gapless._compile.jit import compiled
from gapless._compile.on_demand import awake
from gapless._runtime.results import result
from gapless._runtime.threads import run_in_parts

from .codes import Columns
from .grow import grow_nodes
from .numpy.choose import numpy_walks
from .numpy.leaves import number_by_level, walk_by_numpy
from .thresholds import TREE_THRESHOLDS


class TreeLimits(NamedTuple):
    """Where growth stops; scikit-learn's parameters as numbers."""

    max_depth: int = 2**31 - 1
    min_split: int = 2
    min_leaf: int = 1
    min_weight: float = 0.0  #: the least weight of a leaf
    max_features: int = 2**31 - 1
    max_leaves: int = -1  #: best first, up to so many leaves; -1: depth first
    min_decrease: float = 0.0
    at_random: bool = False  #: one threshold a column, drawn at random
    entropy: bool = False
    signs: tuple[int, ...] | None = None  #: of each column 1 or -1 where values rise or fall with it, else 0


class TreeTarget(NamedTuple):
    """What is predicted: one number a row, one of K classes, or several of either."""

    mode: str  #: "one" number or one of two classes, one of many "classes", "many" outputs of either, or "medians"
    centred: bool
    y: np.ndarray
    k_of: np.ndarray
    Y: np.ndarray
    parts: np.ndarray  #: where each output's classes start
    M: int
    unit: float = 1.0  #: numbers are y / unit, a power of two: their squares neither overflow nor vanish
    measure: str = "squares"  #: or Gini and entropy; "deviance": Poisson's; "medians": absolute error

    def in_units(self, impurity: Any) -> Any:
        """An impurity of y as one of the numbers; squares of a unit may overflow, so it is divided by one after the other."""
        return impurity / self.unit / self.unit if self.measure == "squares" else impurity / self.unit

    def of_targets(self, impurity: Any) -> Any:
        """The inverse."""
        return impurity * self.unit * self.unit if self.measure == "squares" else impurity * self.unit

    @classmethod
    def from_classes(cls, index: np.ndarray, n_classes: int | np.ndarray) -> TreeTarget:
        """Class numbers of shape (n,), or (n, outputs) with the number of classes of each output."""
        index = np.asarray(index)
        if index.ndim == 2 and index.shape[1] == 1:
            index, n_classes = index[:, 0], int(np.atleast_1d(n_classes)[0])
        if index.ndim == 1:
            K = int(np.atleast_1d(n_classes)[0])
            if K == 2:
                return cls("one", False, index.astype(np.float64), _NO_K, _NO_Y, np.array([0, 1]), 1)
            return cls("classes", False, _NO_y, index.astype(np.int32), _NO_Y, np.array([0, K]), K)
        parts = np.concatenate([[0], np.cumsum(n_classes)]).astype(np.int64)
        Y = np.zeros((index.shape[0], int(parts[-1])))
        for o in range(index.shape[1]):
            Y[np.arange(index.shape[0]), parts[o] + index[:, o]] = 1.0
        return cls("many", False, _NO_y, _NO_K, Y, parts, int(parts[-1]))

    @classmethod
    def from_values(cls, y: np.ndarray, measure: str = "squares") -> TreeTarget:
        """Numbers of shape (n,) or (n, outputs)."""
        y = np.array(y, dtype=np.float64)
        unit = _unit_of(y, 1e60)
        y = y / unit if unit != 1.0 else y
        if measure == "medians":
            Y = np.ascontiguousarray(y.reshape(y.shape[0], -1))
            K, first = Y.shape[1], np.ascontiguousarray(Y[:, 0])
            return cls("medians", True, first, _NO_K, Y, np.arange(K + 1), K, unit, measure)
        centred = measure == "squares"
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.ndim == 1:
            return cls("one", centred, np.ascontiguousarray(y), _NO_K, _NO_Y, np.array([0, 1]), 1, unit, measure)
        outputs = y.shape[1]
        values = np.ascontiguousarray(y)
        return cls("many", centred, _NO_y, _NO_K, values, np.arange(outputs + 1), outputs, unit, measure)


def _unit_of(values: np.ndarray, ordinary: float) -> float:
    """A power of two near the largest of the values, 1 where that is within 1 / ``ordinary`` and ``ordinary``.

    Scores are fourth powers of weights and squares of targets, which would leave the range of floats."""
    largest = float(np.abs(values).max(initial=0.0))
    return 1.0 if largest == 0.0 or 1.0 / ordinary < largest < ordinary else 2.0 ** (math.frexp(largest)[1] - 1)


_NO_y, _NO_K, _NO_Y = np.empty(0), np.empty(0, dtype=np.int32), np.empty((0, 0))


@result
class Tree(NamedTuple):
    """Node 0 is the root; a node's children are its ``left`` and ``right``, -1 where it is a leaf.

    Depth first, children stand after their parent, the left one next to it; this is scikit-learn's numbering.

    Attributes
    ----------
    feature : int32; -2 for leaves
    threshold : float64; left is x <= threshold; -2 for leaves, NaN for a split of categories
    left : int32
    right : int32
    missing_left : uint8: whether NaN goes left
    value : float64, (nodes, classes of all outputs, or outputs): shares of the classes, or means
    impurity : impurity of each node
    weighted_n : sum of the weights of each node
    n_samples : int64, rows of positive weight
    categories : uint32, (nodes, words): bit c of a split's set is 1 where the category of rank c goes left
    depth : levels below the root
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray
    impurity: np.ndarray
    weighted_n: np.ndarray
    n_samples: np.ndarray
    categories: np.ndarray
    depth: int

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.feature.size

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.left < 0))

    @property
    def nbytes(self) -> int:
        """Memory of its arrays in bytes."""
        return sum(a.nbytes for a in self if isinstance(a, np.ndarray))

    def __str__(self) -> str:
        return f"{self.n_nodes:,} nodes, {self.n_leaves:,} of them leaves, {self.depth} levels"


def grow_tree(
    columns: Columns,
    target: TreeTarget,
    weights: np.ndarray | None,
    limits: TreeLimits,
    seed: int = 0,
    tick: Callable[[], None] | None = None,
) -> Tree:
    """One tree on the rows whose weight is positive; ``tick`` is called between kernels, and may raise."""
    unit = 1.0 if weights is None else _unit_of(weights, 1e20)
    if weights is not None and unit != 1.0:
        weights, limits = weights / unit, limits._replace(min_weight=limits.min_weight / unit)
    nodes, sets, depth = grow_nodes(columns, target, weights, limits, seed, tick)
    value, impurity = nodes.value, nodes.impurity
    if target.mode == "one" and not target.centred and target.measure == "squares":
        value = np.concatenate([1.0 - value, value], axis=1)
    if target.unit != 1.0:
        value, impurity = value * target.unit, target.of_targets(impurity)
    return Tree(
        nodes.feature, nodes.threshold, nodes.left, nodes.right, nodes.goes_left, value, impurity,
        nodes.weight * unit if unit != 1.0 else nodes.weight, nodes.samples, sets, depth,
    )  # fmt: skip


# -- from rows to leaves


class PackedTree(NamedTuple):
    """A tree as the walk reads it, level by level, the two children of a node side by side: the next node is
    ``left + (x > threshold)``, and nothing has to be guessed.

    x <= t for a float32 x and a float64 t is x <= the largest float32 that is not above t."""

    nodes: np.ndarray  #: int32, (nodes, 4): feature, bits of the threshold, left child, number in the tree
    thresholds: np.ndarray  #: the same memory as float32; infinite for a leaf, which is its own left child
    missing_left: np.ndarray
    categorical: np.ndarray  #: uint8: whether the split is one of categories
    sets: np.ndarray
    plain: bool  #: no categories


@compiled(allocates=False)
def _level_by_level(left: Any, right: Any, number: Any, first: Any) -> None:
    """The node at each place, and the place of its left child, or its own where it has none."""
    number[0] = 0
    end = 1
    for place in range(number.size):
        node = number[place]
        first[place] = place
        if left[node] >= 0:
            first[place] = end
            number[end], number[end + 1] = left[node], right[node]
            end += 2


def pack_tree(tree: Tree) -> PackedTree:
    number, first = np.empty(tree.n_nodes, dtype=np.int64), np.empty(tree.n_nodes, dtype=np.int64)
    by_level = _level_by_level if awake() else number_by_level
    by_level(np.array(tree.left), np.array(tree.right), number, first)  # copies: a file's cannot be written to
    leaf = tree.left[number] < 0
    threshold = tree.threshold[number]
    with np.errstate(over="ignore"):
        below = threshold.astype(np.float32)
        below = np.where(below > threshold, np.nextafter(below, np.float32(-np.inf)), below)
    nodes = np.empty((number.size, 4), dtype=np.int32)
    nodes[:, 0] = np.where(leaf, 0, tree.feature[number])
    nodes[:, 1] = np.where(leaf, np.float32(np.inf), below).astype(np.float32).view(np.int32)
    nodes[:, 2] = first
    nodes[:, 3] = number
    categorical = (~leaf & np.isnan(threshold)).astype(np.uint8)
    return PackedTree(
        nodes, nodes.view(np.float32), tree.missing_left[number], categorical, tree.categories[number],
        not categorical.any(),
    )  # fmt: skip


@compiled(inner=True)
def _step(X: Any, i: int, at: Any, nodes: Any, thresholds: Any) -> Any:
    return np.uint64(np.uint32(nodes[at, 2])) + np.uint64(X[i, np.uint32(nodes[at, 0])] > thresholds[at, 1])


@compiled(allocates=False)
def _walk(X: Any, nodes: Any, thresholds: Any, start: int, stop: int, out: Any) -> None:
    """Leaves of the rows start to stop, eight rows at a time: while one waits for its node the others go on."""
    i = start
    while i + 8 <= stop:
        a, b, c, d = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
        e, f, g, h = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
        moving = True
        while moving:
            a, b = _step(X, i, a, nodes, thresholds), _step(X, i + 1, b, nodes, thresholds)
            c, d = _step(X, i + 2, c, nodes, thresholds), _step(X, i + 3, d, nodes, thresholds)
            e, f = _step(X, i + 4, e, nodes, thresholds), _step(X, i + 5, f, nodes, thresholds)
            g, h = _step(X, i + 6, g, nodes, thresholds), _step(X, i + 7, h, nodes, thresholds)
            a1, b1 = _step(X, i, a, nodes, thresholds), _step(X, i + 1, b, nodes, thresholds)
            c1, d1 = _step(X, i + 2, c, nodes, thresholds), _step(X, i + 3, d, nodes, thresholds)
            e1, f1 = _step(X, i + 4, e, nodes, thresholds), _step(X, i + 5, f, nodes, thresholds)
            g1, h1 = _step(X, i + 6, g, nodes, thresholds), _step(X, i + 7, h, nodes, thresholds)
            moving = ((a ^ a1) | (b ^ b1) | (c ^ c1) | (d ^ d1) | (e ^ e1) | (f ^ f1) | (g ^ g1) | (h ^ h1)) != 0
            a, b, c, d, e, f, g, h = a1, b1, c1, d1, e1, f1, g1, h1
        out[i], out[i + 1], out[i + 2], out[i + 3] = nodes[a, 3], nodes[b, 3], nodes[c, 3], nodes[d, 3]
        out[i + 4], out[i + 5], out[i + 6], out[i + 7] = nodes[e, 3], nodes[f, 3], nodes[g, 3], nodes[h, 3]
        i += 8
    while i < stop:
        at = np.uint64(0)
        to = _step(X, i, at, nodes, thresholds)
        while to != at:
            at = to
            to = _step(X, i, at, nodes, thresholds)
        out[i] = nodes[at, 3]
        i += 1


@compiled(allocates=False)
def _walk_with_care(
    X: Any, nodes: Any, thresholds: Any, missing_left: Any, categorical: Any, sets: Any, start: int, stop: int, out: Any
) -> None:
    """The same with missing values and categories; a category is its rank, one never seen is NaN."""
    for i in range(start, stop):
        at = 0
        while nodes[at, 2] != at:
            x = X[i, nodes[at, 0]]
            if x != x:
                goes_left = missing_left[at] == 1
            elif categorical[at] == 1:
                c = np.int64(x)
                goes_left = (sets[at, c // 32] >> np.uint32(c % 32)) & np.uint32(1) == 1
            else:
                goes_left = x <= thresholds[at, 1]
            at = nodes[at, 2] + (0 if goes_left else 1)
        out[i] = nodes[at, 3]


def find_leaves(tree: PackedTree, X: np.ndarray, *, missing: bool | None = True, of: np.ndarray | None = None) -> Any:
    """The leaf of each row of X (float32, rows one after the other), or what ``of`` has for it.

    ``missing``: whether X can have NaN; None: unknown, and where some value is not finite the answer is None."""
    n = X.shape[0]
    out = np.empty(n, dtype=np.int32)
    answer = out if of is None else np.empty(n, dtype=of.dtype)
    strange = []
    step = TREE_THRESHOLDS.rows_per_thread

    def work(part: int) -> None:
        start, stop = part * step, min(n, (part + 1) * step)
        if missing is None and not all_finite(X[start:stop]):
            strange.append(part)
            return
        if tree.plain and not missing and numpy_walks(*X.shape):
            walk_by_numpy(X[start:stop], tree.nodes, tree.thresholds, out[start:stop])
        elif tree.plain and not missing:
            _walk(X, tree.nodes, tree.thresholds, start, stop, out)
        else:
            _walk_with_care(
                X, tree.nodes, tree.thresholds, tree.missing_left, tree.categorical, tree.sets, start, stop, out
            )

        if of is not None:
            of.take(out[start:stop], out=answer[start:stop], mode="clip")

    run_in_parts(work, -(-n // step))
    return None if strange else answer


@compiled(vectorise=True, allocates=False)
def _sum_of_zeros(X: Any) -> Any:
    total = np.float32(0.0)
    for i in range(X.shape[0]):
        total += X[i] * np.float32(0.0)
    return total


def all_finite(X: np.ndarray) -> bool:
    """Whether every value of a float32 array in one piece is finite: 0 times it is 0, and so is their sum."""
    if numpy_walks(X.size, 1):
        return bool(np.isfinite(X).all())
    return bool(_sum_of_zeros(X.reshape(-1)) == 0.0)
