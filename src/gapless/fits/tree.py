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
from gapless.solvers.tree.tree import TreeLimits, TreeTarget, grow_tree


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
