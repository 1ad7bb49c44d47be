"""LinearDiscriminantAnalysis and QuadraticDiscriminantAnalysis: scikit-learn's surface over Gaussian classes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from gapless._runtime.clock import Stopwatch
from gapless.encode.labels import Labels, encode_labels
from gapless.estimators.shared.constraints import integer, nothing, number, options
from gapless.estimators.shared.gaussian import (
    DiscriminantAnalysis,
    one_row_error,
    refuse_lost_axes,
    singular_class_error,
    warn_condition,
    warn_outside,
)
from gapless.solvers import gaussian
from gapless.solvers.gaussian import ILL_CONDITIONED, Root, Whitening, moments, pooled, regularised, whiten
from gapless.solvers.gaussian_scores import (
    project_by_covariance,
    project_by_svd,
    scores_along_axes,
)
from gapless.solvers.loop import interruptible


class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DiscriminantAnalysis):
    """Gaussian classes with one covariance: a linear classifier, and the projection that separates the classes best.

    Nothing is optimised and there is no gap: ``certificate_``, of kind "moments", states that the estimates are the
    moments of the data, exact up to rounding (there is none with a ``covariance_estimator``, which nobody can recompute);
    ``rank_`` and ``condition_`` say what rounding can do. Sums are float64; results have the dtype of X.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}
        The same answer wherever the within-class covariance is regular and ``priors`` is None. "svd" pools the classes
        by their share of the data, the other two by ``priors``, as in scikit-learn; "lsqr" has no ``transform``. On a
        singular covariance "svd" and "lsqr" answer on its range, with a warning where the class means differ outside
        it, and "eigen" raises.
    shrinkage : None, "auto" or float in [0, 1]
        s turns each class's covariance S into ``(1 - s) S + s * mean(diag S) * identity``; "auto" takes s from the
        Ledoit-Wolf lemma on features of unit variance. With every solver (scikit-learn: not with "svd").
    priors : array of n_classes numbers, or None
        None: the shares of the classes. Divided by their sum, with a warning, if it is not 1.
    n_components : int or None
        Columns that ``transform`` gives, at most min(n_classes - 1, n_features).
    store_covariance : bool
        Whether "svd" keeps ``covariance_``; the other two always do.
    tol : float
        "svd": singular values of the within-class data, its columns scaled to unit variance, that are not larger count
        as 0, and so do those of the class means relative to the largest.
    covariance_estimator : object with ``fit`` and ``covariance_``, or None
        In place of the covariance of each class; not with "svd", and not with shrinkage.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (1 or n_classes, n_features) and (1 or n_classes,)
        As in scikit-learn, but for what all scores have in common: of three and more classes far from 0, "lsqr" and "eigen"
        leave it out, because its digits would take the place of those that tell the classes apart.
    covariance_ : array of shape (n_features, n_features)
        sum_k prior_k covariance_k; not with "svd" unless ``store_covariance``.
    explained_variance_ratio_ : array of shape (n_components,); not with "lsqr"
    means_, priors_, classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    certificate_ : what is claimed and can be checked: ``gapless.verify(model, X, y)``
    scalings_ : what ``transform`` multiplies with; not with "lsqr"
    xbar_ : array of shape (n_features,), the mean of the class means weighted by the priors; only with "svd"
    rank_, condition_ : rank and condition of the within-class covariance, features scaled to unit variance
    """

    _parameter_constraints = {**DiscriminantAnalysis._parameter_constraints, "n_components": [integer(1), nothing()]}
    #: The arrays of a model file, and the attributes that they are.
    _arrays: ClassVar = {
        "means": "means_", "priors": "priors_", "coef": "coef_", "intercept": "intercept_", "scalings": "scalings_",
        "ratio": "explained_variance_ratio_", "xbar": "xbar_",
    }  # fmt: skip

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def fit(self, X: Any, y: Any) -> LinearDiscriminantAnalysis:
        """Estimate the model.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
        y : array of n_samples labels of any type
        """
        with interruptible(self) as interruption:
            stopwatch = Stopwatch()
            self._check_parameters()
            X, y = validate_data(self, X, y, ensure_min_samples=2, dtype=[np.float64, np.float32])
            labels = encode_labels(y)
            n, d = X.shape
            if n == labels.n_classes:
                raise ValueError(
                    f"The number of samples must be more than the number of classes; there are {n} of each, so that "
                    "nothing is known of the variation within a class."
                )
            most = min(labels.n_classes - 1, d)
            if self.n_components is not None and self.n_components > most:
                raise ValueError(
                    "n_components cannot be larger than min(n_features, n_classes - 1). "
                    f"Got {self.n_components}, at most {most}."
                )
            for stale in ("covariance_", "xbar_", "scalings_", "explained_variance_ratio_", "certificate_"):
                self.__dict__.pop(stale, None)
            self._set_components(most)
            roots, within = self._estimate(X, labels)
            if self.covariance_estimator is None:
                arrays = {"covariance": (within.C.T @ within.C)[None], **self._arrays_now()}
                if "ratio" in arrays and "xbar" not in arrays:
                    arrays["xbar"] = np.zeros(d, X.dtype)
                self._certify(
                    X, labels.index, None, stopwatch,
                    rule="shared", shrinkage=[root.shrinkage for root in roots], dtype=X.dtype, arrays=arrays,
                    pooled_by="shares" if self.solver == "svd" else "priors",
                    directions=arrays["scalings"].shape[1] if "ratio" in arrays else 0,
                    components=arrays["ratio"].size if "ratio" in arrays else 0,
                )  # fmt: skip
                self._confirm(X, y, None)
            interruption.check()
        return self

    def _set_components(self, most: int) -> None:
        """Set the number of columns that ``transform`` gives, at most ``most``."""
        self._max_components = most if self.n_components is None else int(self.n_components)
        self._n_features_out = self._max_components

    def _estimate(self, X: np.ndarray, labels: Labels) -> tuple[list[Root], Root]:
        """Set the attributes of the fitted model; the covariance roots of the classes, and the pooled one."""
        n = X.shape[0]
        parts = [np.flatnonzero(labels.index == k) for k in range(labels.n_classes)]
        of_class = [moments(X, rows) for rows in parts]
        share = np.array([rows.size for rows in parts]) / n
        priors = self._resolve_priors(share)
        roots = [self._estimate_root(X, rows, m) for rows, m in zip(parts, of_class)]
        means = np.array([m.mean for m in of_class])
        by_svd, eps = self.solver == "svd", float(np.finfo(X.dtype).eps)
        within = pooled(roots, share if by_svd else priors)
        total = None
        if self.solver == "eigen":
            everybody = np.arange(n)
            total = self._estimate_root(X, everybody, moments(X, everybody))
        whitening = whiten(within, eps, tol=float(self.tol) if by_svd else 0.0)
        self.rank_, self.condition_ = whitening.rank, whitening.condition
        self._require_variation(whitening, total, n)
        self._warn_of_directions(whitening, means - priors @ means, n)
        if by_svd:
            found = project_by_svd(whitening, means, priors, n, self.tol)
        else:
            found = project_by_covariance(whitening, total, means, priors, eps)
        scores = found.scores.of_two()
        fitted: dict[str, Any] = {
            "means_": means,
            "priors_": priors,
            "coef_": scores.coef,
            "intercept_": scores.intercept,
        }
        fitted |= {"scalings_": found.scalings, "xbar_": found.centre}
        fitted["explained_variance_ratio_"] = None if found.ratio is None else found.ratio[: self._max_components]
        if not by_svd or self.store_covariance:
            C = pooled(roots, priors).C
            fitted["covariance_"] = C.T @ C
        self.classes_ = labels.classes
        for name, value in fitted.items():
            if value is not None:
                setattr(self, name, value.astype(X.dtype, copy=False))
        return roots, within

    def _arrays_now(self) -> dict[str, np.ndarray]:
        return {key: getattr(self, name) for key, name in self._arrays.items() if hasattr(self, name)}

    def _take_model(self) -> None:
        certificate, arrays = self.certificate_, self.certificate_.arrays
        self.rank_, self.condition_ = certificate.rank[0], certificate.condition[0]
        for key, name in self._arrays.items():
            if key in arrays and (key != "xbar" or self.solver == "svd"):
                setattr(self, name, arrays[key])
        if self.solver != "svd" or (self.store_covariance and self.priors is None):
            self.covariance_ = arrays["covariance"][0].astype(self.coef_.dtype)
        self._set_components(min(len(self.classes_) - 1, self.n_features_in_))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.solver == "svd" and self.covariance_estimator is not None:
            raise ValueError("covariance estimator is not supported with svd solver. Try another solver")

    def _require_variation(self, whitening: Whitening, total: Root | None, n: int) -> None:
        """Refuse a covariance of 0 and, with solver="eigen" (which has ``total``), a singular one."""
        d = whitening.W.shape[0]
        if total is not None and not whitening.full:
            raise np.linalg.LinAlgError(
                f"The within-class covariance matrix is not full rank: rank {whitening.rank} of {d} features from {n} "
                "samples, and solver='eigen' needs its inverse. Set shrinkage (for example shrinkage='auto'), drop the "
                "features that are constant or collinear, or use solver='svd'."
            )
        if whitening.rank == 0:
            raise np.linalg.LinAlgError(
                "The within-class covariance is zero: every row equals the mean of its class (to rounding), so the classes "
                "have no density. There must be a class with two different rows."
            )

    def _warn_of_directions(self, whitening: Whitening, apart: np.ndarray, n: int) -> None:
        name, d = type(self).__name__, apart.shape[1]
        if whitening.misses(apart):
            warn_outside(name, whitening.rank, d, n, stacklevel=5)
        elif ILL_CONDITIONED < whitening.condition < np.inf:
            warn_condition(name, whitening.condition, "within the classes", stacklevel=5)

    def decision_function(self, X: Any) -> np.ndarray:
        """The log-odds of ``classes_[1]``; of more than two classes the log posterior of each, up to what they have in common."""
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        scores = X @ self.coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def transform(self, X: Any) -> np.ndarray:
        """The rows in the directions that separate the classes best, (n_samples, n_components)."""
        if self.solver == "lsqr":
            raise NotImplementedError("transform not implemented for 'lsqr' solver (use 'svd' or 'eigen').")
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        if self.solver == "svd":
            X = X - self.xbar_
        return (X @ self.scalings_)[:, : self._max_components]


class QuadraticDiscriminantAnalysis(DiscriminantAnalysis):
    """Gaussian classes with a covariance each: a quadratic classifier.

    Nothing is optimised and there is no gap: ``certificate_``, of kind "moments", states that the estimates are the
    moments of the data, exact up to rounding (there is none with a ``covariance_estimator``, which nobody can recompute);
    ``rank_`` and ``condition_`` say what rounding can do. Sums are float64; results have the dtype of X.

    Parameters
    ----------
    solver : {"svd", "eigen"}
        The same answer. As in scikit-learn, "svd" without shrinkage refuses a class with no more samples than
        features, and takes no ``covariance_estimator``.
    shrinkage : None, "auto" or float in [0, 1]
        s turns each class's covariance S into ``(1 - s) S + s * mean(diag S) * identity``; "auto" takes s from the
        Ledoit-Wolf lemma on features of unit variance. With every solver (scikit-learn: not with "svd").
    priors : array of n_classes numbers, or None
        None: the shares of the classes. Divided by their sum, with a warning, if it is not 1.
    reg_param : float in [0, 1]
        S becomes ``(1 - reg_param) S + reg_param * identity``, with both solvers (scikit-learn: "eigen" ignores it).
    store_covariance : bool
        Whether ``covariance_`` is kept.
    tol : float
        Absolute threshold on the variances along the principal axes: a class with one that is not larger counts as
        singular, which is an error.
    covariance_estimator : object with ``fit`` and ``covariance_``, or None
        In place of the covariance of each class; not with "svd", and not with shrinkage.

    Attributes
    ----------
    covariance_ : list of n_classes arrays of shape (n_features, n_features); only with ``store_covariance``
    means_, priors_, classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    certificate_ : what is claimed and can be checked: ``gapless.verify(model, X, y)``
    rotations_ : list of n_classes arrays of shape (n_features, n_features), the principal axes of each class
    scalings_ : list of n_classes arrays of shape (n_features,), the variances along them, falling
    rank_, condition_ : arrays of shape (n_classes,): rank and condition of each covariance, features scaled to unit
        variance
    """

    _parameter_constraints = {
        **DiscriminantAnalysis._parameter_constraints,
        "solver": [options("svd", "eigen")],
        "reg_param": [number(0.0, 1.0, "both")],
    }

    def __init__(
        self,
        *,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        reg_param: float = 0.0,
        store_covariance: bool = False,
        tol: float = 1.0e-4,
        covariance_estimator: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def fit(self, X: Any, y: Any) -> QuadraticDiscriminantAnalysis:
        """Estimate the model.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
        y : array of n_samples labels of any type
        """
        with interruptible(self) as interruption:
            stopwatch = Stopwatch()
            self._check_parameters()
            X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
            labels = encode_labels(y)
            parts = [np.flatnonzero(labels.index == k) for k in range(labels.n_classes)]
            for label, rows in zip(labels.classes, parts):
                if rows.size == 1:
                    raise one_row_error(label, "LinearDiscriminantAnalysis can use the class as it is")
            priors = self._resolve_priors(np.array([rows.size for rows in parts], dtype=np.float64))
            limits = np.finfo(X.dtype)
            means, covariances, scalings, rotations, ranks, conditions, applied = [], [], [], [], [], [], []
            for label, rows in zip(labels.classes, parts):
                m = moments(X, rows)
                root = self._estimate_root(X, rows, m)
                # Without shrinkage "svd" knows only the directions of the rows: scikit-learn's error.
                few = self.solver == "svd" and rows.size <= X.shape[1] and not self.shrinkage
                if not few and self.reg_param > 0.0:
                    root = regularised(root, 1.0 - self.reg_param, self.reg_param)
                _, S, Vt = np.linalg.svd(root.C, full_matrices=False)
                variances = S**2
                relative_rank, condition = gaussian.rank_and_condition(root, float(limits.eps))
                rank = min(int(np.count_nonzero(variances > self.tol)), relative_rank)
                if rank < X.shape[1]:
                    raise singular_class_error(self, label, (rank, relative_rank), m, variances, few)
                refuse_lost_axes(label, root.C, Vt, variances, X.dtype)
                means.append(m.mean.astype(X.dtype))
                scalings.append(variances.astype(X.dtype))
                rotations.append(Vt.T.astype(X.dtype))
                covariances.append(root.C.T @ root.C)
                applied.append(root.shrinkage)
                ranks.append(rank)
                conditions.append(condition)
            worst = int(np.argmax(conditions))
            if conditions[worst] > ILL_CONDITIONED:
                which = f"of class {labels.classes[worst]}"
                warn_condition(
                    type(self).__name__, conditions[worst], which, "Set shrinkage or reg_param", stacklevel=3
                )
            for stale in ("covariance_", "certificate_"):
                self.__dict__.pop(stale, None)
            if self.store_covariance:
                self.covariance_ = [matrix.astype(X.dtype) for matrix in covariances]
            self.classes_, self.priors_, self.means_ = labels.classes, priors, np.array(means)
            self.scalings_, self.rotations_ = scalings, rotations
            self.rank_, self.condition_ = np.array(ranks), np.array(conditions)
            if self.covariance_estimator is None:
                arrays = {"covariance": np.array(covariances), **self._arrays_now()}
                self._certify(
                    X, labels.index, None, stopwatch, rule="axes", shrinkage=applied, dtype=X.dtype, arrays=arrays
                )
                self._confirm(X, y, None)
            interruption.check()
        return self

    def _arrays_now(self) -> dict[str, np.ndarray]:
        arrays = {"means": self.means_, "priors": self.priors_}
        return arrays | {"rotations": np.array(self.rotations_), "scalings": np.array(self.scalings_)}

    def _take_model(self) -> None:
        certificate, arrays = self.certificate_, self.certificate_.arrays
        self.means_, self.priors_ = arrays["means"], arrays["priors"]
        self.scalings_, self.rotations_ = list(arrays["scalings"]), list(arrays["rotations"])
        self.rank_, self.condition_ = np.array(certificate.rank), np.array(certificate.condition)
        if self.store_covariance:
            self.covariance_ = [matrix.astype(self.means_.dtype) for matrix in arrays["covariance"]]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.solver == "svd" and self.covariance_estimator is not None:
            raise ValueError("covariance_estimator is not supported with solver='svd'. Try solver='eigen' instead.")

    def decision_function(self, X: Any) -> np.ndarray:
        """The log-odds of ``classes_[1]``; of more than two classes the log posterior of each, up to what they have in common."""
        check_is_fitted(self, "means_")
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return scores_along_axes(X, self.means_, self.rotations_, self.scalings_, self.priors_)
