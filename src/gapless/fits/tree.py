"""The way of the data through a decision tree: encoded target and ranked columns -> growth -> pruning -> certificate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gapless.certificates.tree import GrownTree
from gapless.rows.hashes import row_hashes
from gapless.solvers.tree.codes import Columns
from gapless.solvers.tree.prune import prune_tree
from gapless.solvers.tree.thresholds import TREE_THRESHOLDS
from gapless.solvers.tree.tree import Tree, TreeLimits, TreeTarget, grow_tree


class EncodedTarget(NamedTuple):
    """y and the weights as a tree reads them."""

    target: TreeTarget
    marks: np.ndarray  #: class numbers or targets, for the fingerprint
    weights: np.ndarray  #: weights of the rows times those of their classes
    document: Mapping[str, Any]  #: entries of the document about y


def choose_bins(max_bins: int | str | None, n_rows: int) -> int | None:
    """The most codes of a column; None where every value has its own."""
    if max_bins == "auto":
        return None if n_rows <= TREE_THRESHOLDS.exact_rows else TREE_THRESHOLDS.bins
    return None if max_bins is None else int(max_bins)


def hash_rows(X: Any) -> np.ndarray:
    """The hashes of the rows as the tree sees them: float32, with one bit pattern for all NaN."""
    if sparse.issparse(X):
        return row_hashes(X.tocsr())
    return row_hashes(np.where(np.isnan(X), np.float32(np.nan), X) if np.isnan(X).any() else X)


def fit_tree(
    columns: Columns, target: TreeTarget, weights: np.ndarray | None, limits: TreeLimits, seed: int,
    tick: Callable[[], None], ccp_alpha: float = 0.0,
) -> GrownTree:  # fmt: skip
    """Grow a tree and prune it; ``weights`` None: every row counts once. ``tick`` is called between kernels, and may raise."""
    tree = grow_tree(columns, target, weights, limits, seed, tick)
    if ccp_alpha > 0.0:
        tree = prune_tree(tree, float(ccp_alpha))
    levels = None
    if columns.categorical.any():
        places = zip(columns.offset, columns.n_codes, columns.categorical)
        levels = [columns.lowest[start : start + count].copy() if kind else None for start, count, kind in places]
    return GrownTree(tree, limits, columns.exact, columns.missing, levels)


def check_signs(given: Any, categorical: np.ndarray, n_outputs: int, n_classes: int) -> tuple[int, ...] | None:
    """Monotonic constraints as 1, -1 and 0 of each feature; None where nothing is asked."""
    signs, d = np.asarray(given), categorical.size
    if n_outputs > 1:
        raise ValueError("Monotonicity constraints are not supported with multiple outputs.")
    if n_classes > 2:
        raise ValueError("Monotonicity constraints are not supported with multiclass classification")
    if signs.ndim != 1 or signs.shape[0] != d:
        told = "x".join(map(str, signs.shape))
        raise ValueError(f"monotonic_cst has shape {told} but the input data X has {d} features.")
    if not np.isin(signs, (-1, 0, 1)).all():
        told = f"monotonic_cst must be None or an array-like of -1, 0 or 1, but got {np.unique(signs)}"
        raise ValueError(told)
    if (signs[categorical] != 0).any():
        raise ValueError("monotonic_cst asks for an order of values, and a categorical feature has none: give it 0.")
    return tuple(int(s) for s in signs) if signs.any() else None


def training_error(tree: Tree, leaves: np.ndarray, encoded: EncodedTarget) -> float:
    """The error on the training rows of a tree of one output whose constraints may have moved values away from the means."""
    target, there = encoded.target, encoded.weights > 0.0
    w = encoded.weights[there] / encoded.weights[there].sum()
    value, y = tree.value[leaves[there]], encoded.marks.reshape(-1)[there]
    if not target.centred and target.measure == "squares":
        return float(w @ (value.argmax(axis=1) != y))
    v = value[:, 0]
    if target.measure == "medians":
        return float(w @ np.abs(y - v))
    if target.measure == "deviance":
        ratio = np.divide(y, v, out=np.ones_like(y), where=y > 0.0)
        return float(w @ (y * np.log(ratio) - (y - v)))
    return float(w @ (y - v) ** 2)
