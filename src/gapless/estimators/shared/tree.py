"""What the two decision trees share: parameters, reading of the data, growth, and everything that walks the tree."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, MultiOutputMixin, clone
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from gapless._runtime.clock import Stopwatch
from gapless._runtime.threads import in_background, one_blas_thread, thread_team
from gapless.certificates.tree import TreeCertificate, TreeData, certify_tree
from gapless.encode.lazy_frames import refuse_lazy
from gapless.encode.weights import check_sample_weight
from gapless.fits.tree import EncodedTarget, check_signs, choose_bins, fit_tree, hash_rows, training_error
from gapless.solvers.tree.codes import prepare_columns
from gapless.solvers.tree.paths import find_paths, share_importance
from gapless.solvers.tree.prune import find_pruning_path
from gapless.solvers.tree.thresholds import TREE_THRESHOLDS
from gapless.solvers.tree.tree import PackedTree, Tree, TreeLimits, find_leaves, pack_tree

from .certified_model import CertifiedModel
from .constraints import integer, nothing, number, options, shared


class BaseDecisionTree(CertifiedModel, MultiOutputMixin, BaseEstimator):
    """scikit-learn's trees over ``solvers.tree``."""

    criterion: Any
    splitter: Any
    max_depth: Any
    min_samples_split: Any
    min_samples_leaf: Any
    min_weight_fraction_leaf: Any
    max_features: Any
    random_state: Any
    max_leaf_nodes: Any
    min_impurity_decrease: Any
    ccp_alpha: Any
    monotonic_cst: Any
    categorical_features: Any
    max_bins: Any
    n_jobs: Any
    class_weight: Any = None
    certificate_: TreeCertificate
    n_features_in_: int
    n_outputs_: int
    _tree: Tree
    _levels: list[np.ndarray | None] | None  # the categories of each feature that has some
    _made: dict[str, Any]  # of the tree when first asked for: the walk's arrays, scikit-learn's Tree

    # -- parameters

    _parameter_constraints = {
        "splitter": [options("best", "random")],
        "max_depth": [integer(1), nothing()],
        "min_samples_split": [integer(2), number(0.0, 1.0, "right", integers=False)],
        "min_samples_leaf": [integer(1), number(0.0, 1.0, integers=False)],
        "min_weight_fraction_leaf": [number(0.0, 0.5, "both")],
        "max_features": [integer(1), number(0.0, 1.0, "right", integers=False), options("sqrt", "log2"), nothing()],
        "max_leaf_nodes": [integer(2), nothing()],
        "min_impurity_decrease": [number(0.0, closed="left")],
        "ccp_alpha": [number(0.0, closed="left")],
        "max_bins": [integer(2, 65_535), options("auto"), nothing()],
        **shared("n_jobs"),
    }

    def _limits(self, n: int, d: int, total_weight: float) -> TreeLimits:
        least = self.min_samples_leaf
        leaf = int(least) if isinstance(least, Integral) else ceil(least * n)
        split = self.min_samples_split
        split = int(split) if isinstance(split, Integral) else max(2, ceil(split * n))
        most = self.max_features
        if most is None:
            most = d
        elif isinstance(most, str):
            most = max(1, int(np.sqrt(d) if most == "sqrt" else np.log2(d)))
        elif not isinstance(most, Integral):
            most = max(1, int(most * d))
        self.max_features_ = int(most)
        return TreeLimits(
            max_depth=2**31 - 1 if self.max_depth is None else int(self.max_depth),
            min_split=max(split, 2 * leaf),
            min_leaf=leaf,
            min_weight=float(self.min_weight_fraction_leaf) * total_weight,
            max_features=int(most),
            max_leaves=-1 if self.max_leaf_nodes is None else int(self.max_leaf_nodes),
            min_decrease=float(self.min_impurity_decrease),
            at_random=self.splitter == "random",
            entropy=self.criterion in ("entropy", "log_loss"),
            signs=self._signs(d),
        )

    def _signs(self, d: int) -> tuple[int, ...] | None:
        """1, -1 or 0 of each feature: whether values rise or fall with it; None where nothing is asked."""
        if self.monotonic_cst is None:
            return None
        n_classes = int(np.max(getattr(self, "n_classes_", 2)))
        return check_signs(self.monotonic_cst, self._categorical(d), self.n_outputs_, n_classes)

    def _categorical(self, d: int) -> np.ndarray:
        """Which columns hold categories, from a mask, indices or names."""
        given = self.categorical_features
        mask = np.zeros(d, dtype=np.bool_)
        if given is None:
            return mask
        given = np.atleast_1d(np.asarray(given))
        if given.size == 0:
            return mask
        if given.dtype.kind == "b":
            if given.shape != (d,):
                raise ValueError(
                    f"categorical_features set as a boolean mask should have shape (n_features,), got: {given.shape}"
                )
            return given.copy()
        if given.dtype.kind in "OU" and all(isinstance(name, str) for name in given.tolist()):
            names = getattr(self, "feature_names_in_", None)
            if names is None:
                raise ValueError(
                    "categorical_features should be passed as an array of integers or as a boolean mask when the model "
                    "is fitted on data without feature names."
                )
            unknown = [name for name in given.tolist() if name not in names]
            if unknown:
                raise ValueError(
                    f"categorical_features has a item value '{unknown[0]}' which is not a valid feature name"
                )
            return np.isin(names, given.astype(object))
        if given.dtype.kind not in "iu":
            raise ValueError(
                "categorical_features must be an array-like of bool, int or str, got: " + f"{given.dtype.name}."
            )
        if given.min() < 0 or given.max() >= d:
            raise ValueError("categorical_features set as integer indices must be in [0, n_features - 1]")
        mask[given] = True
        return mask

    # -- fit

    def _encode(self, y: np.ndarray, weight: np.ndarray) -> EncodedTarget:
        """y and the weights as the tree reads them. Sets n_outputs_ and the attributes about classes."""
        raise NotImplementedError

    def _read_rows(self, X: Any, y: Any, check_input: bool) -> tuple[Any, np.ndarray]:
        """X as float32 (dense or CSC) and y, which may have several columns that hold anything."""
        if check_input:
            with np.errstate(over="ignore"):  # a value beyond float32 becomes infinite, and is refused below
                X, y = validate_data(
                    self, X, y,
                    validate_separately=(
                        {"dtype": np.float32, "accept_sparse": "csc", "ensure_all_finite": False},
                        {"ensure_2d": False, "dtype": None},
                    ),
                )  # fmt: skip
        else:
            X = X.tocsc().astype(np.float32) if sparse.issparse(X) else np.asarray(X, dtype=np.float32)
            y = np.asarray(y)
            self.n_features_in_ = X.shape[1]
        _refuse_infinite(self, X)
        n, d = X.shape
        most = TREE_THRESHOLDS.sparse_codes
        if n * d > most and sparse.issparse(X):
            raise ValueError(
                f"X is sparse with {n} x {d} places, whose codes take more than {most / 1e9:.0f} GB: use "
                f"sklearn.tree.{type(self).__name__}, or select features"
            )
        y = np.atleast_1d(y)
        if y.shape[0] != n:
            raise ValueError(f"Number of labels={y.shape[0]} does not match number of samples={n}")
        return X, y

    def _fit(self, X: Any, y: Any, sample_weight: Any, check_input: bool, tick: Callable[[], None]) -> None:
        stopwatch = Stopwatch()
        self._check_parameters()
        random = check_random_state(self.random_state)
        refuse_lazy(X)
        X, y = self._read_rows(X, y, check_input)
        n, d = X.shape
        weight = check_sample_weight(sample_weight, n)
        with one_blas_thread(), thread_team(self.n_jobs):
            encoded = self._encode(y, weight)
            limits = self._limits(n, d, float(encoded.weights.sum()))
            kinds = self._categorical(d)
            if kinds.any() and self.criterion == "absolute_error":
                raise ValueError("criterion='absolute_error' cuts numbers alone: leave categorical_features out.")
            hashes = in_background(lambda: hash_rows(X))
            columns = prepare_columns(X, kinds, choose_bins(self.max_bins, n))
            tick()
            seed = int(random.randint(np.iinfo(np.int32).max)) if self._uses_chance(limits, d) else 0
            weights = None if sample_weight is None and self.class_weight is None else encoded.weights
            grown = fit_tree(columns, encoded.target, weights, limits, seed, tick, self.ccp_alpha)
            self._tree, self._levels, self._made = grown.tree, grown.levels, {}
            if limits.signs is not None:
                grown = grown._replace(error=training_error(grown.tree, self._leaves(X, False), encoded))
            data = TreeData.build(hashes(), encoded.marks, encoded.document)
            self.certificate_ = certify_tree(self, grown, data, weight, stopwatch)
        self._confirm(X, y, None if sample_weight is None else weight)

    @staticmethod
    def _uses_chance(limits: TreeLimits, d: int) -> bool:
        return limits.at_random or limits.max_features < d

    # -- the way to the leaves

    def _door(self, X: Any, check_input: bool) -> Any:
        """X as float32 rows, or CSR."""
        check_is_fitted(self)
        refuse_lazy(X)
        if not check_input and not sparse.issparse(X):
            X = np.asarray(X, dtype=np.float32)
        return validate_data(
            self, X, dtype=np.float32, accept_sparse="csr", reset=False, order="C",
            ensure_all_finite=True if sparse.issparse(X) else "allow-nan",
        )  # fmt: skip

    def _leaves(self, X: Any, check_input: bool = True, of: np.ndarray | None = None) -> np.ndarray:
        """The leaf of each row, or what ``of`` has for it."""
        found = self._leaves_at_once(X, of)
        if found is not None:
            return found
        X = self._door(X, check_input)
        with thread_team(self.n_jobs):
            if not sparse.issparse(X):
                return find_leaves(self._walk(), self._ranked(X), missing=True, of=of)
            step = max(1, TREE_THRESHOLDS.dense_values // max(1, X.shape[1]))
            parts = [
                find_leaves(
                    self._walk(),
                    self._ranked(X[start : start + step].toarray()),
                    missing=self._levels is not None,
                    of=of,
                )
                for start in range(0, X.shape[0], step)
            ]
            return np.concatenate(parts)

    def _leaves_at_once(self, X: Any, of: np.ndarray | None) -> np.ndarray | None:
        """The same for an array of finite numbers, which needs no other check than that; None for anything else."""
        if (
            type(X) is not np.ndarray
            or X.ndim != 2
            or X.dtype.kind != "f"
            or X.shape[0] == 0
            or not hasattr(self, "_tree")
        ):
            return None
        if self._levels is not None or X.shape[1] != self.n_features_in_:
            return None
        if hasattr(self, "feature_names_in_"):
            validate_data(self, X, reset=False, skip_check_array=True)  # has words for names that are not there
        if X.dtype != np.float32 or not X.flags.c_contiguous:
            with np.errstate(over="ignore"):
                X = np.ascontiguousarray(X, dtype=np.float32)
        if self.n_jobs in (None, 1) or X.shape[0] <= TREE_THRESHOLDS.rows_per_thread:
            return find_leaves(self._walk(), X, missing=None, of=of)
        with thread_team(self.n_jobs):
            return find_leaves(self._walk(), X, missing=None, of=of)

    def _walk(self) -> PackedTree:
        if "packed" not in self._made:
            self._made["packed"] = pack_tree(self._tree)
        return self._made["packed"]

    def _ranked(self, X: np.ndarray) -> np.ndarray:
        """Categories as their ranks; NaN where one was never seen."""
        if self._levels is None:
            return X
        X = X.copy()
        for j, known in enumerate(self._levels):
            if known is None:
                continue
            rank = np.searchsorted(known, X[:, j])
            rank = np.minimum(rank, known.size - 1)
            X[:, j] = np.where(known[rank] == X[:, j], rank, np.nan) if known.size else np.nan
        return X

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {**state, "_made": {}} if "_made" in state else state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_tree")

    def apply(self, X: Any, check_input: bool = True) -> np.ndarray:
        """The number of the leaf of each row."""
        return self._leaves(X, check_input).astype(np.int64)

    def decision_path(self, X: Any, check_input: bool = True) -> sparse.csr_matrix:
        """(rows, nodes), CSR: 1 where a row goes through a node."""
        at = self._leaves(X, check_input)
        path = find_paths(self._tree, at)
        lengths = np.array([len(path[leaf]) for leaf in at.tolist()], dtype=np.int64)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        indices = np.concatenate([path[leaf] for leaf in at.tolist()]) if at.size else np.empty(0, dtype=np.int64)
        ones = np.ones(indices.size, dtype=np.int64)
        return sparse.csr_matrix((ones, indices, indptr), shape=(at.size, self._tree.n_nodes))

    # -- the tree itself

    def get_depth(self) -> int:
        """The largest distance from the root to a leaf."""
        check_is_fitted(self)
        return self._tree.depth

    def get_n_leaves(self) -> int:
        """The number of leaves."""
        check_is_fitted(self)
        return self._tree.n_leaves

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of each feature in the decrease of the impurity; zeros where nothing was split."""
        check_is_fitted(self)
        return share_importance(self._tree, self.n_features_in_)

    @property
    def tree_(self) -> Any:
        """scikit-learn's own Tree, made of our arrays: plot_tree, export_text and others read it."""
        if not hasattr(self, "_tree"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: it has no tree_")
        if "tree_" not in self._made:
            self._made["tree_"] = self._rebuilt()
        return self._made["tree_"]

    def _rebuilt(self) -> Any:
        from sklearn.tree import ExtraTreeRegressor

        tree = self._tree
        if np.isnan(tree.threshold).any():
            raise NotImplementedError(
                "scikit-learn's Tree knows thresholds only, and this tree splits sets of categories: see export_text"
            )
        pattern = ExtraTreeRegressor().fit([[0.0]], [0.0]).tree_
        state = pattern.__getstate__()
        nodes = np.zeros(tree.n_nodes, dtype=state["nodes"].dtype)
        nodes["left_child"], nodes["right_child"] = tree.left, tree.right
        nodes["feature"], nodes["threshold"] = tree.feature, tree.threshold
        nodes["impurity"], nodes["n_node_samples"] = tree.impurity, tree.n_samples
        nodes["weighted_n_node_samples"] = tree.weighted_n
        nodes["missing_go_to_left"] = tree.missing_left
        parts = self._parts()
        values = np.zeros((tree.n_nodes, len(parts) - 1, int(np.diff(parts).max())))
        for o in range(len(parts) - 1):
            values[:, o, : parts[o + 1] - parts[o]] = tree.value[:, parts[o] : parts[o + 1]]
        made = type(pattern)(self.n_features_in_, np.diff(parts).astype(np.intp), len(parts) - 1)
        made.__setstate__(
            {**state, "max_depth": tree.depth, "node_count": tree.n_nodes, "nodes": nodes, "values": values}
        )
        return made

    def _parts(self) -> np.ndarray:
        """Where the columns of each output start in the tree's values."""
        raise NotImplementedError

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """``ccp_alphas`` at which the pruned tree changes, and the ``impurities`` of its leaves from there on."""
        model = clone(self).set_params(ccp_alpha=0.0)
        model.fit(X, y, sample_weight=sample_weight)
        alphas, risks = find_pruning_path(model._tree)
        return Bunch(ccp_alphas=alphas, impurities=risks)

    def _arrays_now(self) -> dict[str, np.ndarray]:
        return self.certificate_.tree_arrays(self._tree, self._levels)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _refuse_infinite(model: Any, X: Any) -> None:
    """NaN is a value of its own in dense data; infinity is none."""
    values = X.data if sparse.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        fine = np.isfinite(values.sum(dtype=np.float64))
    if not fine:
        check_array(
            X, accept_sparse=True, dtype=np.float32, input_name="X", estimator=model,
            ensure_all_finite=True if sparse.issparse(X) else "allow-nan",
        )  # fmt: skip
