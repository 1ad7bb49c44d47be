"""What the two decision trees share: parameters, reading of the data, growth, and everything that walks the tree."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, MultiOutputMixin, clone
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from gapless._runtime.clock import Stopwatch
from gapless._runtime.threads import aside, one_blas_thread, team
from gapless._runtime.written import written
from gapless.certificates.tree import TreeCertificate, certify_tree, fingerprints
from gapless.encode.lazy_frames import refuse_lazy
from gapless.encode.weights import check_sample_weight
from gapless.errors import invalid_parameter
from gapless.solvers.tree.prune import find_pruning_path, prune_tree
from gapless.solvers.tree.tree import (
    ROWS,
    PackedTree,
    Tree,
    TreeLimits,
    TreeTarget,
    find_leaves,
    grow_tree,
    pack_tree,
    prepare_columns,
)

from .notebook import Shown

#: From so many rows on columns are cut into 255 bins, unless asked otherwise.
EXACT_ROWS = 200_000
BINS = 255
#: Codes of sparse data take a byte or two each, zeros too.
MOST_CODES = 2 * 10**9
#: Values of sparse rows that are filled with zeros at a time.
FILLED = 1 << 24


class BaseDecisionTree(Shown, MultiOutputMixin, BaseEstimator):
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
    _criteria: tuple[str, ...] = ()
    _foreign: tuple[str, ...] = ()

    # -- parameters

    def _invalid(self, name: str, wanted: str) -> None:
        raise ValueError(invalid_parameter(type(self).__name__, name, wanted, getattr(self, name)))

    def _one_of(self, name: str, options: tuple[str, ...]) -> None:
        if not isinstance(getattr(self, name), str) or getattr(self, name) not in options:
            self._invalid(name, f"a str among {{{', '.join(sorted(map(repr, options)))}}}")

    def _require(self, name: str, wanted: str, *good: Any) -> None:
        value = getattr(self, name)
        if isinstance(value, bool | np.bool_) or not any(test(value) for test in good):
            self._invalid(name, wanted)

    def _check_parameters(self) -> None:
        if isinstance(self.criterion, str) and self.criterion in self._foreign:
            instead = "criterion='squared_error', which is the same" if self.criterion == "friedman_mse" else ""
            instead = instead or f"sklearn.tree.{type(self).__name__}, which has it"
            raise NotImplementedError(f"criterion={written(self.criterion)} is not ours: use {instead}")
        self._one_of("criterion", self._criteria)
        self._one_of("splitter", ("best", "random"))
        none, whole, share = (lambda v: v is None), _whole, _share
        self._require("max_depth", "an int in the range [1, inf) or None", none, whole(1))
        self._require(
            "min_samples_split",
            "an int in the range [2, inf) or a float in the range (0.0, 1.0]",
            whole(2),
            share(True),
        )
        self._require(
            "min_samples_leaf",
            "an int in the range [1, inf) or a float in the range (0.0, 1.0)",
            whole(1),
            share(False),
        )
        self._require(
            "min_weight_fraction_leaf",
            "a float in the range [0.0, 0.5]",
            lambda v: isinstance(v, Real) and 0 <= float(v) <= 0.5,
        )
        self._require(
            "max_features",
            "an int in the range [1, inf), a float in the range (0.0, 1.0], a str among {'log2', 'sqrt'} or None",
            none, whole(1), share(True), lambda v: isinstance(v, str) and v in ("sqrt", "log2"),
        )  # fmt: skip
        self._require("max_leaf_nodes", "an int in the range [2, inf) or None", none, whole(2))
        for name in ("min_impurity_decrease", "ccp_alpha"):
            self._require(
                name, "a float in the range [0.0, inf)", lambda v: isinstance(v, Real) and 0 <= float(v) < np.inf
            )
        self._require(
            "max_bins", "an int in the range [2, 65535], a str among {'auto'} or None",
            none, lambda v: isinstance(v, str) and v == "auto", lambda v: isinstance(v, Integral) and 2 <= int(v) <= 65_535,
        )  # fmt: skip
        self._require("n_jobs", "an int other than 0, or None", none, lambda v: isinstance(v, Integral) and v != 0)
        if self.monotonic_cst is not None:
            raise NotImplementedError(
                f"monotonic_cst is not ours: use sklearn.tree.{type(self).__name__}, which has it"
            )

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
        )

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

    def _encode(self, y: np.ndarray, weight: np.ndarray) -> tuple[TreeTarget, np.ndarray, np.ndarray, dict[str, Any]]:
        """The target, what stands for y in the fingerprint, weights with class weights, and what the document says of it."""
        raise NotImplementedError

    def _fit(self, X: Any, y: Any, sample_weight: Any, check_input: bool, tick: Callable[[], None]) -> None:
        stopwatch = Stopwatch()
        self._check_parameters()
        random = check_random_state(self.random_state)
        refuse_lazy(X)
        if check_input:
            # y is not read together with X: it may have several columns, and they may hold anything.
            with np.errstate(over="ignore"):  # beyond float32 is infinite, which is refused below
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
        if n * d > MOST_CODES and sparse.issparse(X):
            raise ValueError(
                f"X is sparse with {n} x {d} places, whose codes take more than {MOST_CODES / 1e9:.0f} GB: use "
                f"sklearn.tree.{type(self).__name__}, or select features"
            )
        y = np.atleast_1d(y)
        if y.shape[0] != n:
            raise ValueError(f"Number of labels={y.shape[0]} does not match number of samples={n}")
        weight = check_sample_weight(sample_weight, n)
        with one_blas_thread(), team(self.n_jobs):
            target, marks, weights, said = self._encode(y, weight)
            limits = self._limits(n, d, float(weights.sum()))
            kinds = self._categorical(d)
            if self.max_bins == "auto":
                bins = None if n <= EXACT_ROWS else BINS
            else:
                bins = None if self.max_bins is None else int(self.max_bins)
            hashes = aside(lambda: certify_rows(X))
            columns = prepare_columns(X, kinds, bins)
            tick()
            seed = int(random.randint(np.iinfo(np.int32).max)) if self._uses_chance(limits, d) else 0
            tree = grow_tree(
                columns,
                target,
                None if sample_weight is None and self.class_weight is None else weights,
                limits,
                seed,
                tick,
            )
            if self.ccp_alpha > 0.0:
                tree = prune_tree(tree, float(self.ccp_alpha))
            self._levels = [
                columns.lowest[start : start + count].copy() if kind else None
                for start, count, kind in zip(columns.offset, columns.n_codes, columns.categorical)
            ] if columns.categorical.any() else None  # fmt: skip
            self._tree, self._made = tree, {}
            self.certificate_ = certify_tree(
                self, tree, limits, fingerprints(hashes(), marks), weight, said, self._levels,
                exact=columns.exact, missing=columns.missing, stopwatch=stopwatch,
            )  # fmt: skip

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
        with team(self.n_jobs):
            if not sparse.issparse(X):
                return find_leaves(self._walk(), self._ranked(X), missing=True, of=of)
            step = max(1, FILLED // max(1, X.shape[1]))
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
        if self.n_jobs in (None, 1) or X.shape[0] <= ROWS:
            return find_leaves(self._walk(), X, missing=None, of=of)
        with team(self.n_jobs):
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
        tree = self._tree
        parent = np.full(tree.n_nodes, -1, dtype=np.int64)
        inner = np.flatnonzero(tree.left >= 0)
        parent[tree.left[inner]] = inner
        parent[tree.right[inner]] = inner
        path: dict[int, list[int]] = {}
        for leaf in np.unique(at).tolist():
            way, node = [], leaf
            while node >= 0:
                way.append(node)
                node = int(parent[node])
            path[leaf] = way[::-1]
        lengths = np.array([len(path[leaf]) for leaf in at.tolist()], dtype=np.int64)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        indices = np.concatenate([path[leaf] for leaf in at.tolist()]) if at.size else np.empty(0, dtype=np.int64)
        ones = np.ones(indices.size, dtype=np.int64)
        return sparse.csr_matrix((ones, indices, indptr), shape=(at.size, tree.n_nodes))

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
        tree = self._tree
        inner = np.flatnonzero(tree.left >= 0)
        mass = tree.weighted_n * tree.impurity
        drop = mass[inner] - mass[tree.left[inner]] - mass[tree.right[inner]]
        total = np.bincount(tree.feature[inner], weights=drop, minlength=self.n_features_in_)
        total = total / tree.weighted_n[0]
        return total / total.sum() if total.sum() > 0.0 else total

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


def _whole(least: int) -> Any:
    return lambda v: isinstance(v, Integral) and int(v) >= least


def _share(one_too: bool) -> Any:
    return lambda v: (
        isinstance(v, Real) and not isinstance(v, Integral) and (0 < float(v) < 1 or (one_too and float(v) == 1))
    )


def certify_rows(X: Any) -> np.ndarray:
    """The hashes of the rows as the tree sees them: float32, one NaN for all."""
    from gapless.rows.hashes import row_hashes

    if sparse.issparse(X):
        return row_hashes(X.tocsr())
    return row_hashes(np.where(np.isnan(X), np.float32(np.nan), X) if np.isnan(X).any() else X)


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
