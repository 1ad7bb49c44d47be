"""LinearDiscriminantAnalysis and QuadraticDiscriminantAnalysis: scikit-learn's surface over Gaussian classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from gapless._runtime.clock import Stopwatch
from gapless.encode.labels import Labels, encode_labels
from gapless.estimators.shared.constraints import Constraint, boolean, implementing, integer, nothing, number, options
from gapless.solvers.gaussian import (
    ILL_CONDITIONED,
    Moments,
    Root,
    Whitening,
    class_root,
    moments,
    pooled,
    quadratic_form,
    regularised,
    root_of_matrix,
    whiten,
)
from gapless.solvers.loop import interruptible

from .gaussian import (
    DiscriminantClassifier,
    describe,
    one_row_error,
    singular_fix,
    warn_condition,
    warn_outside,
)

__all__ = ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"]


class _Analysis(DiscriminantClassifier):
    """What both read and estimate."""

    shrinkage: Any
    covariance_estimator: Any
    means_: np.ndarray
    priors_: np.ndarray

    _parameter_constraints = {
        "solver": [options("svd", "lsqr", "eigen")],
        **DiscriminantClassifier._parameter_constraints,
        "store_covariance": [
            boolean(integers=False),
            Constraint("an instance of 'numpy.bool'", lambda value: isinstance(value, np.bool_)),
        ],
        "tol": [number(0.0, closed="left")],
        "covariance_estimator": [implementing("fit"), nothing()],
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.covariance_estimator is not None and self.shrinkage is not None and self.shrinkage != 0:
            raise ValueError(
                "covariance_estimator and shrinkage parameters are not None. Only one of the two can be set."
            )

    def _root(self, X: np.ndarray, rows: np.ndarray, m: Moments) -> Root:
        """The covariance of some rows, as the parameters ask for it."""
        if self.covariance_estimator is None:
            return class_root(X, rows, None, m, self.shrinkage)
        estimator = clone(self.covariance_estimator, safe=False)
        name = type(estimator).__name__
        estimator.fit(X[rows])
        if not hasattr(estimator, "covariance_"):
            raise ValueError(f"{name} does not have a covariance_ attribute")
        return root_of_matrix(estimator.covariance_, name)


def _parts(labels: Labels) -> list[np.ndarray]:
    return [np.flatnonzero(labels.index == k) for k in range(labels.n_classes)]


def _log(priors: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(priors)


def _lines(whitening: Whitening, means: np.ndarray, origin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of the scores of the classes, and what these scores are less, as seen from an origin."""
    apart = means - origin
    if not whitening.full:  # the smallest coefficients, as scikit-learn has them
        coef = whitening.smallest(apart)
        return coef, 0.5 * np.einsum("ij,ij->i", apart, coef) + coef @ origin
    scores = apart @ whitening.W
    coef = scores @ whitening.W.T
    return coef, 0.5 * np.einsum("ij,ij->i", scores, scores) + coef @ origin


#: A rounding of scores (log odds) that is felt: then they are taken from the middle of the classes.
FELT = 1e-4
#: Arrays of a model file and the attributes they are.
_LINEAR_ARRAYS = {
    "means": "means_",
    "priors": "priors_",
    "coef": "coef_",
    "intercept": "intercept_",
    "scalings": "scalings_",
    "ratio": "explained_variance_ratio_",
    "xbar": "xbar_",
}


class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _Analysis):
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

    _parameter_constraints = {**_Analysis._parameter_constraints, "n_components": [integer(1), nothing()]}

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
            self._max_components = most if self.n_components is None else int(self.n_components)
            self._n_features_out = self._max_components

            parts = _parts(labels)
            of_class = [moments(X, rows) for rows in parts]
            share = np.array([rows.size for rows in parts]) / n
            priors = self._priors(share)
            roots = [self._root(X, rows, m) for rows, m in zip(parts, of_class)]
            means = np.array([m.mean for m in of_class])
            eps = float(np.finfo(X.dtype).eps)
            if self.solver == "svd":
                within = pooled(roots, share)
                fitted = self._svd(within, means, priors, n, eps)
            else:
                within = pooled(roots, priors)
                total = None
                if self.solver == "eigen":
                    everybody = np.arange(n)
                    total = self._root(X, everybody, moments(X, everybody))
                fitted = self._dense(within, total, means, priors, n, eps)
            coef, intercept = fitted.pop("coef_"), fitted.pop("intercept_")
            if labels.n_classes == 2:
                coef, intercept = (coef[1] - coef[0])[None, :], (intercept[1] - intercept[0])[None]
            if self.solver != "svd" or self.store_covariance:
                C = pooled(roots, priors).C
                fitted["covariance_"] = C.T @ C
            fitted.update(coef_=coef, intercept_=intercept, means_=means, priors_=priors)
            self.classes_ = labels.classes
            for name, value in fitted.items():
                setattr(self, name, value.astype(X.dtype, copy=False))
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
            interruption.check()
        return self

    def _arrays_now(self) -> dict[str, np.ndarray]:
        return {key: getattr(self, name) for key, name in _LINEAR_ARRAYS.items() if hasattr(self, name)}

    def _take_model(self) -> None:
        certificate, arrays = self.certificate_, self.certificate_.arrays
        self.rank_, self.condition_ = certificate.rank[0], certificate.condition[0]
        for key, name in _LINEAR_ARRAYS.items():
            if key in arrays and (key != "xbar" or self.solver == "svd"):
                setattr(self, name, arrays[key])
        if self.solver != "svd" or (self.store_covariance and self.priors is None):
            self.covariance_ = arrays["covariance"][0].astype(self.coef_.dtype)
        most = min(len(self.classes_) - 1, self.n_features_in_)
        self._max_components = most if self.n_components is None else int(self.n_components)
        self._n_features_out = self._max_components

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.solver == "svd" and self.covariance_estimator is not None:
            raise ValueError("covariance estimator is not supported with svd solver. Try another solver")

    def _svd(self, within: Root, means: np.ndarray, priors: np.ndarray, n: int, eps: float) -> dict[str, np.ndarray]:
        """Whiten the variation within classes, then turn the axes to the variation between them."""
        K = means.shape[0]
        whitening = whiten(within, eps, tol=float(self.tol))
        self.rank_, self.condition_ = whitening.rank, whitening.condition
        xbar = priors @ means
        apart = means - xbar
        self._require_variation(whitening)
        self._warn_of_directions(whitening, apart, n)
        between = np.sqrt(n * priors / (K - 1))[:, None] * (apart @ whitening.W)
        _, S, Vt = np.linalg.svd(between, full_matrices=False)
        power = float(np.sum(S**2))
        rank = int(np.count_nonzero(S > self.tol * S[0])) if power > 0.0 else 0
        scalings = whitening.W @ Vt[:rank].T
        scores = apart @ scalings
        coef = scores @ scalings.T
        intercept = -0.5 * np.einsum("ij,ij->i", scores, scores) + _log(priors) - coef @ xbar
        ratio = S**2 / power if power > 0.0 else np.zeros_like(S)
        return {
            "coef_": coef, "intercept_": intercept, "xbar_": xbar, "scalings_": scalings,
            "explained_variance_ratio_": ratio[: self._max_components],
        }  # fmt: skip

    def _dense(
        self, within: Root, total: Root | None, means: np.ndarray, priors: np.ndarray, n: int, eps: float
    ) -> dict[str, np.ndarray]:
        """From the covariance: by least squares, or by the generalised eigenvectors of between and within."""
        d = means.shape[1]
        whitening = whiten(within, eps)
        self.rank_, self.condition_ = whitening.rank, whitening.condition
        if total is not None and not whitening.full:
            raise np.linalg.LinAlgError(
                f"The within-class covariance matrix is not full rank: rank {whitening.rank} of {d} features from {n} "
                "samples, and solver='eigen' needs its inverse. Set shrinkage (for example shrinkage='auto'), drop the "
                "features that are constant or collinear, or use solver='svd'."
            )
        self._require_variation(whitening)
        self._warn_of_directions(whitening, means - priors @ means, n)
        fitted = {}
        if total is not None:
            spread = total.C @ whitening.W
            values, vectors = np.linalg.eigh(spread.T @ spread - np.eye(d))  # between = total - within
            values, vectors = values[::-1], vectors[:, ::-1]
            power = float(values.sum())
            ratio = values / power if power != 0.0 else np.zeros_like(values)
            fitted["explained_variance_ratio_"] = np.sort(ratio)[::-1][: self._max_components]
            fitted["scalings_"] = whitening.W @ vectors
        # Two classes: from the middle, so that nothing of the difference is lost where the means are far from 0. More of them:
        # from 0, as scikit-learn does, and from the middle where the rounding of numbers so large would be felt in a score.
        coef, half = _lines(whitening, means, means.mean(axis=0) if len(means) == 2 else np.zeros(d))
        if len(means) > 2 and not eps * float(np.abs(half).max()) <= FELT:
            coef, half = _lines(whitening, means, priors @ means)
        return {**fitted, "coef_": coef, "intercept_": _log(priors) - half}

    def _require_variation(self, whitening: Whitening) -> None:
        if whitening.rank == 0:
            raise np.linalg.LinAlgError(
                "The within-class covariance is zero: every row equals the mean of its class (to rounding), so the classes "
                "have no density. There must be a class with two different rows."
            )

    def _warn_of_directions(self, whitening: Whitening, apart: np.ndarray, n: int) -> None:
        name, d = type(self).__name__, apart.shape[1]
        if whitening.misses(apart):
            warn_outside(name, whitening.rank, d, n, "Set shrinkage (for example shrinkage='auto')", stacklevel=5)
        elif ILL_CONDITIONED < whitening.condition < np.inf:
            warn_condition(
                name, whitening.condition, "within the classes",
                "Set shrinkage, or drop one of the features that are nearly collinear", stacklevel=5,
            )  # fmt: skip

    def decision_function(self, X: Any) -> np.ndarray:
        """Two classes: the log-odds of ``classes_[1]``; more: the log posterior of each class, up to what is the same
        for all.
        """
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


class QuadraticDiscriminantAnalysis(_Analysis):
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
        **_Analysis._parameter_constraints,
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
            parts = _parts(labels)
            for label, rows in zip(labels.classes, parts):
                if rows.size == 1:
                    raise one_row_error(label, "LinearDiscriminantAnalysis can use the class as it is")
            priors = self._priors(np.array([rows.size for rows in parts], dtype=np.float64))
            eps = float(np.finfo(X.dtype).eps)
            means, covariances, scalings, rotations, ranks, conditions, applied = [], [], [], [], [], [], []
            for label, rows in zip(labels.classes, parts):
                m = moments(X, rows)
                root = self._root(X, rows, m)
                # Without shrinkage "svd" knows only the directions of the rows: scikit-learn's error.
                few = self.solver == "svd" and rows.size <= X.shape[1] and not self.shrinkage
                if not few and self.reg_param > 0.0:
                    root = regularised(root, 1.0 - self.reg_param, self.reg_param)
                _, S, Vt = np.linalg.svd(root.C, full_matrices=False)
                variances = S**2
                whitening = whiten(root, eps)
                rank = min(int(np.count_nonzero(variances > self.tol)), whitening.rank)
                if rank < X.shape[1]:
                    raise self._singular(label, rank, whitening.rank, m, variances, few)
                limits = np.finfo(X.dtype)
                if not limits.tiny <= variances[-1] <= variances[0] <= limits.max:
                    raise ValueError(
                        f"The variances of class {label}, {variances[-1]:.3g} to {variances[0]:.3g}, are beyond the range "
                        f"of {X.dtype}. Scale the features (StandardScaler), or give X as float64."
                    )
                means.append(m.mean.astype(X.dtype))
                scalings.append(variances.astype(X.dtype))
                rotations.append(Vt.T.astype(X.dtype))
                covariances.append(root.C.T @ root.C)
                applied.append(root.shrinkage)
                ranks.append(rank)
                conditions.append(whitening.condition)
            worst = int(np.argmax(conditions))
            if conditions[worst] > ILL_CONDITIONED:
                warn_condition(
                    type(self).__name__, conditions[worst], f"of class {labels.classes[worst]}",
                    "Set shrinkage or reg_param, or drop one of the features that are nearly collinear", stacklevel=3,
                )  # fmt: skip
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

    def _singular(
        self, label: Any, rank: int, relative: int, m: Moments, variances: np.ndarray, few: bool
    ) -> np.linalg.LinAlgError:
        d = m.mean.size
        what = f"The covariance matrix of class {label} is not full rank."
        how = f"It has {describe(rank, d, m)}."
        if few:
            return np.linalg.LinAlgError(
                f"{what} When using `solver='svd'` the number of samples in each class should be more than the number "
                f"of features, but class {label} has {m.n_rows} samples and {d} features. {how} Try setting the "
                "parameter `shrinkage` for regularization (for example shrinkage='auto'), or use LinearDiscriminantAnalysis."
            )
        if relative == d:
            return np.linalg.LinAlgError(
                f"{what} {how} Its smallest variance, {variances[-1]:.3g}, is not above tol={self.tol:g}, which is "
                "absolute: scale the features (StandardScaler), or set a smaller `tol`, `shrinkage` or `reg_param`."
            )
        return np.linalg.LinAlgError(
            f"{what} {how} {singular_fix(rank, self.shrinkage, ', increase the value of `reg_param`')}, or use "
            "LinearDiscriminantAnalysis."
        )

    def decision_function(self, X: Any) -> np.ndarray:
        """Two classes: the log-odds of ``classes_[1]``; more: the log posterior of each class, up to what is the same
        for all.
        """
        check_is_fitted(self, "means_")
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        columns = []
        for mean, rotation, variances in zip(self.means_, self.rotations_, self.scalings_):
            wide = variances.astype(np.float64)
            W = rotation.astype(np.float64) / np.sqrt(wide)
            columns.append(-0.5 * (quadratic_form(X, mean.astype(np.float64), W) + np.log(wide).sum()))
        scores = np.column_stack(columns) + _log(self.priors_)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores
