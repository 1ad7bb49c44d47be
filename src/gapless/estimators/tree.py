"""DecisionTreeClassifier and DecisionTreeRegressor: greedy trees that say of every split what can be checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from warnings import warn

import numpy as np
import sklearn.tree
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from gapless.certificates.model_document import decode_classes, encode_classes, encode_float
from gapless.certificates.tree import TreeCertificate
from gapless.encode.labels import Labels
from gapless.encode.weights import resolve_class_weight
from gapless.estimators.shared.constraints import options, refuse
from gapless.estimators.shared.loading import blank_model
from gapless.estimators.shared.tree import BaseDecisionTree
from gapless.estimators.shared.tree_text import tree_text
from gapless.fits.tree import EncodedTarget
from gapless.solvers.loop import interruptible
from gapless.solvers.tree.tree import TreeTarget

_COMMON = """
    splitter : {"best", "random"}
        "random" draws one threshold for each feature, evenly between its smallest and largest value in the node.
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_features, max_leaf_nodes : limits
        As in scikit-learn.
    min_impurity_decrease, ccp_alpha : float
        Scikit-learn's last limit, and its pruning.
    random_state : int, RandomState or None
        Counts only with ``splitter="random"`` or where ``max_features`` leaves features out: ties are not drawn.
    monotonic_cst : array of n_features numbers 1, -1 and 0, or None
        Whether what is predicted (the number, or the probability of the second of two classes) has to rise with a feature,
        or to fall; 0: neither. One output.
    categorical_features : array of bool, int or str, or None
        Columns whose values are names, not sizes. A split sends a set of them left; for two classes or one target it is
        the best set there is. A value that was never seen goes where most rows of the node went.
    max_bins : "auto", int or None
        None: every threshold between two values is tried. A number: columns with more values are cut into so many
        bins of about equally many rows, once, and thresholds lie between bins. "auto": None up to 200,000 rows, then 255.
    n_jobs : int or None
        Threads; the same bits for any number.
"""


class DecisionTreeClassifier(ClassifierMixin, BaseDecisionTree):
    __doc__ = f"""A classification tree: every node is split where the impurity falls most, until nothing can be split.

    A greedy tree has no optimality gap, and ``certificate_`` (kind "heuristic") makes none up: what it claims, and ``verify``
    recomputes, is that every split is the best one of its node, every leaf's shares, and the training error. Of splits that
    are equally good the one of the lowest feature and lowest threshold is taken, so that the same data give the same tree.
    X is read as float32; NaN is a value of its own, sent to the side where it does best. Several outputs are taken.

    Parameters
    ----------
    criterion : {{"gini", "entropy", "log_loss"}}
        The impurity.
    class_weight : dict, list of dicts (one for each output), "balanced" or None
        Weights of the classes.
    {_COMMON.strip()}

    Attributes
    ----------
    classes_, n_classes_, n_features_in_, feature_names_in_, n_outputs_, max_features_ : as in scikit-learn
    feature_importances_ : the share of each feature in what all splits gain
    tree_ : scikit-learn's Tree, made of the same arrays when it is asked for
    certificate_ : what is claimed
    """

    classes_: Any
    n_classes_: Any
    _parameter_constraints = {
        "criterion": [options("gini", "entropy", "log_loss")],
        **BaseDecisionTree._parameter_constraints,
    }

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        categorical_features: Any = None,
        max_bins: Any = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> DecisionTreeClassifier:
        """Grow the tree.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features); NaN is allowed in dense ones
        y : array of n_samples labels of any type, or of shape (n_samples, n_outputs)
        sample_weight : array of n_samples numbers, not negative; 0 leaves a row out
        check_input : False where X is known to be a finite float array
        """
        with interruptible(self) as interruption:
            self._fit(X, y, sample_weight, check_input, interruption.check)
            interruption.check()
        return self

    def _encode(self, y: np.ndarray, weight: np.ndarray) -> EncodedTarget:
        check_classification_targets(y)
        columns = y.reshape(y.shape[0], -1)
        self.n_outputs_ = columns.shape[1]
        several = y.ndim == 2 and y.shape[1] > 1
        found = [np.unique(columns[:, o], return_inverse=True) for o in range(columns.shape[1])]
        classes = [each for each, _ in found]
        index = np.column_stack([inverse.reshape(-1) for _, inverse in found]).astype(np.int64)
        weights, resolved = weight, None  # of several outputs the product
        if self.class_weight is not None:
            asked = self._class_weights(several)
            labels = [Labels(each, index[:, o]) for o, each in enumerate(classes)]
            each_output = [resolve_class_weight(given, known, weight) for given, known in zip(asked, labels)]
            for o, of_class in enumerate(each_output):
                weights = weights * of_class[index[:, o]]
            resolved = [[encode_float(w) for w in of_class] for of_class in each_output]
            if not (weights > 0.0).any():
                raise ValueError("Sample weights and class weights leave no row: every weight is zero.")
        counts = np.array([each.size for each in classes])
        self.classes_ = classes if several else classes[0]
        self.n_classes_ = counts.astype(np.intp) if several else int(counts[0])
        said = {"outputs": [encode_classes(each) for each in classes], "class_weight": resolved}
        target = TreeTarget.from_classes(index if several else index[:, 0], counts)
        return EncodedTarget(target, index, weights, said)

    def _class_weights(self, several: bool) -> list[Any]:
        """What is asked for each output."""
        given = self.class_weight
        if not several:
            if not isinstance(given, Mapping) and given != "balanced":
                refuse(
                    self,
                    "class_weight",
                    "an instance of 'dict', an instance of 'list', a str among {'balanced'} or None",
                )
            return [given]
        if isinstance(given, str):
            if given != "balanced":
                refuse(
                    self,
                    "class_weight",
                    "an instance of 'dict', an instance of 'list', a str among {'balanced'} or None",
                )
            return ["balanced"] * self.n_outputs_
        if not isinstance(given, list):
            raise ValueError("For multi-output, class_weight should be a list of dicts, or the string 'balanced'.")
        if len(given) != self.n_outputs_:
            raise ValueError("For multi-output, number of elements in class_weight should match number of outputs.")
        return given

    def _parts(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(np.atleast_1d(self.n_classes_))]).astype(np.int64)

    def _of_leaves(self) -> list[np.ndarray]:
        """The class that each node predicts, for each output: the first of those with the largest share."""
        if "labels" not in self._made:
            parts, classes = self._parts(), [self.classes_] if self.n_outputs_ == 1 else self.classes_
            self._made["labels"] = [
                np.asarray(known).take(self._tree.value[:, parts[o] : parts[o + 1]].argmax(axis=1))
                for o, known in enumerate(classes)
            ]
        return self._made["labels"]

    def predict(self, X: Any, check_input: bool = True) -> np.ndarray:
        """The class with the largest share in the leaf of each row; the first of equals."""
        if not hasattr(self, "_tree"):
            check_is_fitted(self)
        if self.n_outputs_ == 1:
            return self._leaves(X, check_input, self._of_leaves()[0])
        at = self._leaves(X, check_input)
        return np.column_stack([labels.take(at) for labels in self._of_leaves()]).astype(self.classes_[0].dtype)

    def predict_proba(self, X: Any, check_input: bool = True) -> Any:
        """The shares of the classes in the leaf of each row; with several outputs a list of them."""
        at = self._leaves(X, check_input)
        parts = self._parts()
        shares = [self._tree.value[:, parts[o] : parts[o + 1]].take(at, axis=0) for o in range(parts.size - 1)]
        return shares[0] if self.n_outputs_ == 1 else shares

    def predict_log_proba(self, X: Any) -> Any:
        """Its logarithm."""
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(shares) if self.n_outputs_ == 1 else [np.log(each) for each in shares]

    def to_text(self, feature_names: Any = None, decimals: int = 2, max_depth: int = 10) -> str:
        """The rules as text, one line a node; sets of categories are written out."""
        check_is_fitted(self)
        return tree_text(self, feature_names, decimals, max_depth)

    @classmethod
    def _from_document(cls, document: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
        model = blank_model(cls, document)
        classes = [decode_classes(block) for block in document["problem"]["outputs"]]
        model.n_outputs_ = len(classes)
        counts = np.array([each.size for each in classes], dtype=np.intp)
        model.classes_ = classes[0] if len(classes) == 1 else classes
        model.n_classes_ = int(counts[0]) if len(classes) == 1 else counts
        model.max_features_ = int(document["problem"]["max_features"])
        model.certificate_ = TreeCertificate.from_document(document, arrays)
        model._tree, model._levels = model.certificate_.tree()
        model._made = {}
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class DecisionTreeRegressor(RegressorMixin, BaseDecisionTree):
    __doc__ = f"""A regression tree: every node is split where the error falls most, until nothing can be split.

    A greedy tree has no optimality gap, and ``certificate_`` (kind "heuristic") makes none up: what it claims, and ``verify``
    recomputes, is that every split is the best one of its node, every leaf's value, and the training error. Of splits that
    are equally good the one of the lowest feature and lowest threshold is taken, so that the same data give the same tree.
    X is read as float32; NaN is a value of its own, sent to the side where it does best. Several outputs are taken.

    Parameters
    ----------
    criterion : {{"squared_error", "absolute_error", "poisson", "friedman_mse"}}
        What a split has to lower: the squared error about the mean, the absolute error about the median, or half of Poisson's
        deviance, which needs targets >= 0. "friedman_mse" is "squared_error" by a deprecated name.
    {_COMMON.strip()}

    Attributes
    ----------
    n_features_in_, feature_names_in_, n_outputs_, max_features_, feature_importances_ : as in scikit-learn
    tree_ : scikit-learn's Tree, made of the same arrays when it is asked for
    certificate_ : what is claimed
    """

    _parameter_constraints = {
        "criterion": [options("squared_error", "friedman_mse", "absolute_error", "poisson")],
        **BaseDecisionTree._parameter_constraints,
    }

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        categorical_features: Any = None,
        max_bins: Any = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.criterion == "friedman_mse":
            warn(
                'Value `"friedman_mse"` for `criterion` is deprecated and will be removed in 1.11. It maps to '
                '`"squared_error"` as both were always equivalent. Use `criterion="squared_error"` to remove this warning.',
                FutureWarning,
                stacklevel=4,
            )

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> DecisionTreeRegressor:
        """Grow the tree.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features); NaN is allowed in dense ones
        y : array of n_samples numbers, or of shape (n_samples, n_outputs)
        sample_weight : array of n_samples numbers, not negative; 0 leaves a row out
        check_input : False where X is known to be a finite float array
        """
        with interruptible(self) as interruption:
            self._fit(X, y, sample_weight, check_input, interruption.check)
            interruption.check()
        return self

    def _encode(self, y: np.ndarray, weight: np.ndarray) -> EncodedTarget:
        values = np.ascontiguousarray(y, dtype=np.float64).reshape(y.shape[0], -1)
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values).all(axis=1)))
            raise ValueError(f"Input y contains NaN or infinity: row {row}. Every row needs a number.")
        if self.criterion == "poisson" and (values < 0.0).any():
            raise ValueError("Some value(s) of y are negative which is not allowed for Poisson regression.")
        if self.criterion == "poisson" and not (values.sum() > 0.0):
            raise ValueError("Sum of y is not positive which is necessary for Poisson regression.")
        self.n_outputs_ = values.shape[1]
        criterion = "squared_error" if self.criterion == "friedman_mse" else self.criterion
        said = {"outputs": values.shape[1], "class_weight": None, "criterion": criterion}
        measure = {"absolute_error": "medians", "poisson": "deviance"}.get(self.criterion, "squares")
        return EncodedTarget(TreeTarget.from_values(values, measure), values + 0.0, weight, said)

    def _parts(self) -> np.ndarray:
        return np.arange(self.n_outputs_ + 1)

    def predict(self, X: Any, check_input: bool = True) -> np.ndarray:
        """The mean, or median, of the leaf of each row, (n_samples,) or (n_samples, n_outputs)."""
        if not hasattr(self, "_tree"):
            check_is_fitted(self)
        means = self._tree.value
        if self.n_outputs_ == 1:
            return self._leaves(X, check_input, means[:, 0])
        return means.take(self._leaves(X, check_input), axis=0)

    def _compute_partial_dependence_recursion(self, grid: Any, target_features: Any) -> np.ndarray:
        """What scikit-learn's ``partial_dependence`` asks a regression tree for: its mean over the training rows."""
        grid, features = np.asarray(grid, np.float32, order="C"), np.asarray(target_features, np.intp, order="C")
        found = np.zeros(grid.shape[0], order="C")
        self.tree_.compute_partial_dependence(grid, features, found)
        return found

    def to_text(self, feature_names: Any = None, decimals: int = 2, max_depth: int = 10) -> str:
        """The rules as text, one line a node; sets of categories are written out."""
        check_is_fitted(self)
        return tree_text(self, feature_names, decimals, max_depth)

    @classmethod
    def _from_document(cls, document: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
        model = blank_model(cls, document)
        model.n_outputs_ = int(document["problem"]["outputs"])
        model.max_features_ = int(document["problem"]["max_features"])
        model.certificate_ = TreeCertificate.from_document(document, arrays)
        model._tree, model._levels = model.certificate_.tree()
        model._made = {}
        return model


# scikit-learn's plot_tree and export_text take its own classes only; these have the same attributes.
sklearn.tree.DecisionTreeClassifier.register(DecisionTreeClassifier)
sklearn.tree.DecisionTreeRegressor.register(DecisionTreeRegressor)
