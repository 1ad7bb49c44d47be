"""Decision trees of an ensemble: stumps as trees, many trees on columns that are ranked once, and the sum of their answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state

from gapless._compile.on_demand import awake
from gapless._runtime.clock import Stopwatch
from gapless._runtime.threads import run_in_parts
from gapless.certificates.tree import TreeData, certify_tree
from gapless.fits.tree import choose_bins, fit_tree, hash_rows
from gapless.solvers.bagging import add_leaf_values
from gapless.solvers.boosting.stumps import Stumps
from gapless.solvers.tree.codes import prepare_columns
from gapless.solvers.tree.thresholds import TREE_THRESHOLDS
from gapless.solvers.tree.tree import Tree, all_finite, find_leaves

from .ensemble import SEEDS


def default_tree(name: str, **parameters: Any) -> Any:
    """A decision tree. Its module is loaded late: it brings sklearn.tree, which takes 0.13 s."""
    from gapless.estimators import tree

    return getattr(tree, name)(**parameters)


def is_tree(learner: Any) -> bool:
    """Whether the learner is a decision tree of this package, and of no subclass."""
    return type(learner).__module__ == "gapless.estimators.tree"


def stump_tree(base: Any, stumps: Stumps, t: int, owner: Any) -> Any:
    """The stump of round t as a fitted tree; its weights are those of the round."""
    whole = stumps.masses[t].sum(axis=0)
    split = bool(stumps.feature[t] >= 0)
    masses = np.vstack((whole, stumps.masses[t])) if split else whole[None]
    counts = np.concatenate(([stumps.counts[t].sum()], stumps.counts[t])) if split else stumps.counts[t].sum()[None]
    total = masses.sum(axis=1)
    shares = masses / total[:, None]
    leaves = np.array([False, True, True]) if split else np.array([True])
    model: Any = clone(base)
    model.n_outputs_, model.classes_, model.n_classes_ = 1, owner.classes_, owner.n_classes_
    model.n_features_in_, model.max_features_, model._levels = owner.n_features_in_, owner.n_features_in_, None
    model._made = {}
    model._tree = Tree(
        feature=np.where(leaves, -2, stumps.feature[t]).astype(np.int32),
        threshold=np.where(leaves, -2.0, stumps.threshold[t]),
        left=np.where(leaves, -1, 1).astype(np.int32),
        right=np.where(leaves, -1, 2).astype(np.int32),
        missing_left=np.where(leaves, 0, stumps.counts[t, 0] > stumps.counts[t, 1]).astype(np.uint8),
        value=shares,
        impurity=1.0 - (shares**2).sum(axis=1),
        weighted_n=total,
        n_samples=counts.astype(np.int64),
        categories=np.zeros((leaves.size, 0), dtype=np.uint32),
        depth=int(split),
    )
    return model


class SharedTrees:
    """Trees with the same parameters on the same rows; each has its own weights."""

    @classmethod
    def build(cls, base: Any, X: Any, y: np.ndarray) -> SharedTrees | None:
        """For a tree of ours without categories, class weights, constraints and pruning, on a matrix of numbers; else None.

        Sparse rows are filled with zeros where that takes little memory: a tree ranks the zeros, too."""
        if not is_tree(base):
            return None
        plain = base.categorical_features is None and base.class_weight is None and base.ccp_alpha == 0.0
        plain = plain and base.monotonic_cst is None
        thin = sparse.issparse(X) and X.shape[0] * X.shape[1] <= TREE_THRESHOLDS.dense_values
        if not (plain and (thin or isinstance(X, np.ndarray)) and X.dtype.kind in "fiub" and X.shape[0] > 0):
            return None
        with np.errstate(over="ignore"):
            rows = X.astype(np.float32).toarray(order="C") if thin else np.ascontiguousarray(X, dtype=np.float32)
        # Missing values, and targets that the fit of a single tree refuses in its own words. No error is caught here: it may
        # be one that the handler of a signal raised.
        finite = y.dtype.kind in "iub" or (y.dtype.kind == "f" and bool(np.isfinite(y).all()))
        return cls(base, rows, y) if all_finite(rows) and (finite or is_classifier(base)) else None

    def __init__(self, base: Any, X: np.ndarray, y: np.ndarray) -> None:
        self.X, self.y, self.base = X, y, base
        base._check_parameters()
        kinds = np.zeros(X.shape[1], dtype=np.bool_)
        self.columns = prepare_columns(self.X, kinds, choose_bins(base.max_bins, X.shape[0]))
        model = clone(base)
        model.n_features_in_ = X.shape[1]
        encoded = model._encode(y, np.ones(X.shape[0]))
        self.target, self.data = encoded.target, TreeData.build(hash_rows(self.X), encoded.marks, encoded.document)
        self.like, self.parameters = model, model.get_params(deep=False)

    @property
    def counts_stand_for_rows(self) -> bool:
        """Whether a row that counts m times grows the tree that m equal rows do: not where sizes of nodes are limited."""
        return self.base.min_samples_leaf == 1 and self.base.min_samples_split == 2

    def copy(self, random: np.random.RandomState) -> Any:
        """The learner that ``Ensemble._copy`` makes of a tree, which has one ``random_state``."""
        learner: Any = object.__new__(type(self.like))
        learner.__dict__.update(self.like.__dict__)
        learner.random_state = random.randint(SEEDS)
        return learner

    def fit(self, learner: Any, counts: np.ndarray, tick: Callable[[], None]) -> Any:
        """Fit the learner to the rows, row i repeated ``counts[i]`` times."""
        stopwatch = Stopwatch()
        weight = counts.astype(np.float64)
        n, d = self.X.shape
        learner.n_features_in_, learner.n_outputs_, learner._levels = d, self.like.n_outputs_, None
        if hasattr(self.like, "classes_"):
            learner.classes_, learner.n_classes_ = self.like.classes_, self.like.n_classes_
        limits = learner._limits(n, d, float(weight.sum()))
        seed = 0
        if learner._uses_chance(limits, d):
            seed = int(check_random_state(learner.random_state).randint(np.iinfo(np.int32).max))
        grown = fit_tree(self.columns, self.target, weight, limits, seed, tick)
        learner._tree, learner._made = grown.tree, {}
        parameters = {**self.parameters, "random_state": learner.random_state}
        learner.certificate_ = certify_tree(learner, grown, self.data, weight, stopwatch, parameters)
        return learner

    def predict(self, learner: Any) -> np.ndarray:
        """What a regression tree of one output predicts for the rows that all trees share."""
        return np.asarray(find_leaves(learner._walk(), self.X, missing=False, of=learner._tree.value[:, 0]))


def sum_tree_answers(learners: list[Any], X: Any) -> np.ndarray | None:
    """The sum over the trees, in their order, of the values of the leaf of each row; None for other learners and other data.

    X is read once: a block of rows goes through all trees while it is in the cache.
    """
    if not all(map(is_tree, learners)) or not isinstance(X, np.ndarray) or X.dtype.kind != "f" or X.shape[0] == 0:
        return None
    width = learners[0]._tree.value.shape[1]
    if any(each._levels is not None or each._tree.value.shape[1] != width for each in learners):
        return None
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(X, dtype=np.float32)
    if not all_finite(rows):
        return None
    walks = [(each._walk(), each._tree.value) for each in learners]
    total = np.zeros((X.shape[0], walks[0][1].shape[1]))
    step = TREE_THRESHOLDS.ensemble_rows

    def part(k: int) -> None:
        block = slice(k * step, (k + 1) * step)
        for walk, value in walks:
            at = find_leaves(walk, rows[block], missing=False)
            if awake():
                add_leaf_values(value, at, total[block])
            else:
                total[block] += value.take(at, axis=0)

    run_in_parts(part, -(-X.shape[0] // step))
    return total
