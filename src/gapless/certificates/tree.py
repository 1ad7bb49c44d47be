"""What a decision tree claims: its splits and leaves, node by node, and its error on the training rows.

A tree is grown greedily, and nothing is known of how far it is from the best tree of its size: kind ``heuristic``, no gap.
What can be checked is that each split is the best of its node (where all thresholds of all features were tried), that each
leaf holds the shares or means of its rows, and the training error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gapless._compile.backend import backend
from gapless._runtime.clock import Stopwatch
from gapless._runtime.results import result
from gapless.certificates.base import NO_KEY, WithoutGap
from gapless.certificates.model_document import encode_float, statement
from gapless.judge.fingerprint import digest
from gapless.solvers.tree.tree import Tree, TreeLimits


@result
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TreeCertificate(WithoutGap):
    """``error``: the weighted share of training rows that are misclassified (of several outputs the mean), or the mean
    of what the criterion of a regression sums up. ``best``: whether every split is claimed to be the best of its node.

    Attributes
    ----------
    error : weighted share of training rows that are misclassified (several outputs: the mean), or the mean squared
        error, absolute error or half Poisson deviance, as the criterion says
    nodes : number of nodes
    leaves : number of leaves
    depth : levels below the root
    best : whether every split is claimed to be the best of its node
    seconds : seconds of work, compiling left out
    fingerprint : what identifies the data: numbers of rows and features, and hashes of rows, labels and weights
    statement : the model document without its certificate: estimator, parameters, classes, problem
    arrays : name -> array of the model file: coefficients, offsets, dual point
    kind : "heuristic": a tree is greedy, and no optimum is claimed
    status : how the fit ended: "converged", "max_iter", "time_limit", "stalled", "interrupted", ...
    backend : what computed it: "cpu", or the name of a device
    """

    kind: str = "heuristic"
    status: str = "converged"
    error: float
    nodes: int
    leaves: int
    depth: int
    best: bool
    seconds: float
    compile_seconds: float = 0.0
    backend: str = field(default_factory=backend)
    fingerprint: Mapping[str, Any]
    statement: Mapping[str, Any] = field(default_factory=dict, metadata=NO_KEY)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict, metadata=NO_KEY)

    @staticmethod
    def tree_arrays(tree: Tree, levels: Sequence[np.ndarray | None] | None) -> dict[str, np.ndarray]:
        """A tree as the arrays of a model file, and the values of the categories, feature after feature.

        ``levels`` are the values of each categorical feature.
        """
        arrays: dict[str, Any] = tree._asdict()
        del arrays["depth"]
        # The splits of features that have levels are sets: they need no NaN in the file.
        arrays["threshold"] = np.where(np.isnan(tree.threshold), 0.0, tree.threshold)
        known = [each for each in levels or [] if each is not None]
        arrays["levels"] = np.concatenate(known).astype(np.float32) if known else np.empty(0, dtype=np.float32)
        return arrays

    def tree(self) -> tuple[Tree, list[np.ndarray | None] | None]:
        """The inverse of ``tree_arrays``."""
        counts = self.statement["problem"]["levels"]
        arrays = {name: np.asarray(self.arrays[name]) for name in Tree._fields if name != "depth"}
        levels: list[np.ndarray | None] | None = None
        if any(counts):
            levels, start = [], 0
            for count in counts:
                levels.append(np.asarray(self.arrays["levels"])[start : start + count] if count else None)
                start += count
            sets = (arrays["left"] >= 0) & (np.array(counts)[np.maximum(arrays["feature"], 0)] > 0)
            arrays["threshold"] = np.where(sets, np.nan, arrays["threshold"])
        return Tree(**arrays, depth=int(self.depth)), levels

    def __str__(self) -> str:
        named = {"absolute_error": "mean absolute error", "poisson": "half the mean Poisson deviance"}
        criterion = self.statement["problem"]["criterion"]
        if criterion in ("gini", "entropy"):
            error = f"error {100 * self.error:.2f} %"
        else:
            error = f"{named.get(criterion, 'mean squared error')} {self.error:.4g}"
        splits = "each split is the best of its node" if self.best else "not every split was searched for"
        return (
            f"{self.estimator}: {self.leaves} leaves, depth {self.depth}, {error} on its {self.fingerprint['n_rows']} "
            f"training rows; {splits} ({self._duration}). A greedy tree: how far it is from the best tree of its "
            "size is not known."
        )

    def __repr__(self) -> str:
        return f"TreeCertificate({self.estimator}: leaves={self.leaves}, depth={self.depth}, error={self.error:.6g})"


class TreeData(NamedTuple):
    """The training rows of a tree, as its document names them."""

    rows: str  #: fingerprint of the rows
    labels: str  #: fingerprint of the class numbers or targets
    target: Mapping[str, Any]  #: entries of the document about y: its outputs, and the weights of classes

    @classmethod
    def build(cls, hashes: np.ndarray, marks: np.ndarray, target: Mapping[str, Any]) -> TreeData:
        """From the hashes of the rows, and class numbers (int64) or targets (float64)."""
        return cls(digest(hashes, "<u8"), digest(marks, "<f8" if marks.dtype.kind == "f" else "<i8"), target)


class GrownTree(NamedTuple):
    """A tree, and how it was grown."""

    tree: Tree
    limits: TreeLimits
    exact: bool  #: whether every threshold between two values was tried
    missing: np.ndarray  #: whether a column has missing values
    levels: list[np.ndarray | None] | None = None  #: the values of each column of categories
    error: float | None = None  #: on the training rows, where the impurities of the leaves do not say it


def certify_tree(
    model: Any, grown: GrownTree, data: TreeData, weight: np.ndarray, stopwatch: Stopwatch,
    parameters: Mapping[str, Any] | None = None,
) -> TreeCertificate:  # fmt: skip
    """The claims about a tree that was fitted to ``data`` with these weights; ``parameters`` replaces those of the model."""
    tree, limits, d = grown.tree, grown.limits, int(model.n_features_in_)
    outputs = data.target["outputs"]
    problem = {
        "criterion": "entropy" if limits.entropy else "gini",
        **data.target,
        "min_leaf": limits.min_leaf,
        "min_split": limits.min_split,
        "min_weight": encode_float(limits.min_weight),
        "max_features": limits.max_features,
        "exact": grown.exact,
        "levels": [0 if each is None else int(each.size) for each in grown.levels or [None] * d],
        "words": int(tree.categories.shape[1]),
        "missing": np.flatnonzero(grown.missing).tolist(),
    }
    told = statement(
        type(model).__name__, model.get_params(deep=False) if parameters is None else parameters, None, d, problem,
        feature_names=getattr(model, "feature_names_in_", None),
    )  # fmt: skip
    told["classes"] = outputs[0] if not isinstance(outputs, int) and len(outputs) == 1 else None
    fingerprint = {
        "n_rows": int(weight.shape[0]),
        "n_features": d,
        "rows": data.rows,
        "labels": data.labels,
        "weights": digest(np.asarray(weight) + 0.0, "<f8"),
    }
    error = _training_error(tree, outputs) if grown.error is None else grown.error
    return TreeCertificate(
        error=error, nodes=tree.n_nodes, leaves=tree.n_leaves, depth=tree.depth,
        best=grown.exact and not limits.at_random and limits.max_features >= d, seconds=stopwatch.seconds,
        compile_seconds=stopwatch.compile_seconds, fingerprint=fingerprint, statement=told,
        arrays=TreeCertificate.tree_arrays(tree, grown.levels),
    )  # fmt: skip


def _training_error(tree: Tree, outputs: Any) -> float:
    """The mean error, or the share of misclassified training rows (of several outputs the mean), from the leaves."""
    ends = tree.left < 0
    mass = tree.weighted_n[ends] / tree.weighted_n[0]
    if isinstance(outputs, int):
        return float(mass @ tree.impurity[ends])
    counts = [len(block["values"]) for block in outputs]
    stops = np.cumsum(counts)
    most = [tree.value[ends, stop - K : stop].max(axis=1) for stop, K in zip(stops, counts)]
    return float(mass @ (1.0 - np.mean(most, axis=0)))
