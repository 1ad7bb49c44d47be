"""GaussianDiscriminant: Bayes rule for Gaussian classes whose means and covariances come from the data."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from gapless._runtime.clock import Stopwatch
from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.encode.labels import Labels, encode_labels
from gapless.encode.weights import check_sample_weight
from gapless.estimators.shared.constraints import options
from gapless.estimators.shared.gaussian import (
    DiscriminantClassifier,
    describe_rank,
    one_row_error,
    singular_fix,
    warn_condition,
    warn_outside,
)
from gapless.solvers.gaussian import ILL_CONDITIONED, Moments, Root, class_root, moments, pooled, whiten
from gapless.solvers.gaussian_scores import log_priors, quadratic_boundary, quadratic_scores, scores_from_centre
from gapless.solvers.loop import interruptible


@result
class Boundary(NamedTuple):
    """Where two classes are equally probable: x'Qx + q'x + c = 0. The left side is the log-odds of the second.

    Attributes
    ----------
    kind : "line" or "conic" in the plane; "point(s)" for one feature; "plane" or "quadric" beyond
    quadratic : Q, symmetric (d, d); all zero where the covariance is shared
    linear : q, (d,)
    constant : c
    """

    kind: str
    quadratic: np.ndarray
    linear: np.ndarray
    constant: float

    def log_odds(self, X: Any) -> np.ndarray:
        """x'Qx + q'x + c of each row."""
        X = np.asarray(X, dtype=np.float64)
        return np.einsum("ij,ij->i", X @ self.quadratic, X) + X @ self.linear + self.constant

    def __str__(self) -> str:
        return f"a {self.kind}: x'Qx + q'x {self.constant:+.6g} = 0, {len(self.linear)} features"


class GaussianDiscriminant(DiscriminantClassifier):
    """Bayes rule for Gaussian classes, with means, covariances and priors estimated from the data.

    The class of x is the largest of ``ln N(x; mean_k, covariance_k) + ln prior_k``. With one covariance for all classes
    that is linear in x, and the posterior is a logistic function of it (``logistic_coef_``); with a covariance for each
    class it is quadratic.

    Nothing is optimised and there is no gap: ``certificate_``, of kind "moments", states that the estimates are the
    moments of the data, exact up to rounding; ``rank_`` and ``condition_`` say what rounding can do.

    Parameters
    ----------
    covariance : {"spherical", "shared", "per_class"}
        ``sigma^2 * identity`` for all classes, one matrix for all classes, or one matrix for each class. All are
        maximum-likelihood estimates (division by n, not n - 1).
    shrinkage : None, "auto" or float in [0, 1]
        s turns each class's covariance S into ``(1 - s) S + s * mean(diag S) * identity``; "auto" takes s from the
        Ledoit-Wolf lemma, on features scaled to unit variance, as scikit-learn does. Without effect on "spherical".
    priors : array of n_classes numbers, or None
        None: the (weighted) shares of the classes. They do not enter the covariance.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    certificate_ : what is claimed and can be checked: ``gapless.verify(model, X, y)``
    means_ : array of shape (n_classes, n_features)
    covariance_ : sigma^2 ("spherical"), (n_features, n_features) ("shared"), (n_classes, n_features, n_features)
    priors_ : array of shape (n_classes,), sum 1
    rank_ : int, or one for each class: the rank of the covariance
    condition_ : float, or one for each class: the condition of the covariance of features scaled to unit variance; inf
        where the rank is less than n_features
    logistic_coef_, logistic_intercept_ : arrays of shape (1 or n_classes, n_features) and (1 or n_classes,)
        "spherical" and "shared": the posterior is the logistic (two classes) or softmax (more) function of
        ``X @ logistic_coef_.T + logistic_intercept_``, which is ``decision_function(X)``, and has the shape of
        ``LogisticRegression``'s ``coef_``.

    Notes
    -----
    Where a shared covariance is singular but all class means differ only within its range (a collinear or a constant
    feature), the answer is that on the range, with the smallest coefficients for features of unit variance. Where they
    differ outside, an ``IllConditionedWarning`` says so. A singular covariance of one of several classes has no
    density, and is an error that names the class, its rank and its samples.

    float32 data are read as they are; all sums and results are float64.

    Examples
    --------
    >>> model = GaussianDiscriminant().fit([[0, 0], [1, 0], [0, 1], [3, 3], [4, 3], [3, 4]], [0, 0, 0, 1, 1, 1])
    >>> model.predict([[1, 1], [3, 2]])
    array([0, 1])
    """

    means_: np.ndarray
    covariance_: Any
    priors_: np.ndarray
    rank_: Any
    condition_: Any

    _parameter_constraints = {
        "covariance": [options("spherical", "shared", "per_class")],
        **DiscriminantClassifier._parameter_constraints,
    }

    def __init__(self, *, covariance: str = "shared", shrinkage: Any = None, priors: Any = None) -> None:
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.priors = priors

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GaussianDiscriminant:
        """Estimate means, covariances and priors.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
        y : array of n_samples labels of any type
        sample_weight : array of n_samples weights, optional
            A weight counts how often a row stands: 2 is the row twice, 0 is no row.
        """
        with interruptible(self) as interruption:
            stopwatch = Stopwatch()
            self._check_parameters()
            X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
            weight = None if sample_weight is None else check_sample_weight(sample_weight, X.shape[0])
            labels, index = _encode_weighted(y, weight)
            parts = [np.flatnonzero(index == k) for k in range(labels.n_classes)]
            if self.covariance == "per_class":
                for label, rows in zip(labels.classes, parts):
                    if rows.size == 1:
                        raise one_row_error(label, "covariance='shared' can use the class as it is")
            of_class = [moments(X, rows, weight) for rows in parts]
            mass = np.array([m.mass for m in of_class])
            priors = self._resolve_priors(mass)
            eps = float(np.finfo(np.float64).eps)  # of the results, for float32 rows, too: the judge goes by them
            shrinkage = None if self.covariance == "spherical" else self.shrinkage
            roots = [class_root(X, rows, weight, m, shrinkage) for rows, m in zip(parts, of_class)]
            means = np.array([m.mean for m in of_class])
            for stale in ("_whitening", "_log_det", "logistic_coef_", "logistic_intercept_"):
                self.__dict__.pop(stale, None)
            if self.covariance == "per_class":
                self._fit_per_class(roots, of_class, labels, eps)
            else:
                self._fit_shared(pooled(roots, mass / mass.sum()), of_class, means, mass / mass.sum(), priors, eps)
            self.classes_ = labels.classes
            self.means_, self.priors_ = means, priors
            self._certify(
                X, index, weight, stopwatch,
                rule=self.covariance, shrinkage=[root.shrinkage for root in roots], dtype=np.float64,
                arrays=self._arrays_now(),
            )  # fmt: skip
            self._confirm(X, y, weight)
            interruption.check()
        return self

    def _arrays_now(self) -> dict[str, np.ndarray]:
        matrices = np.atleast_2d(np.asarray(self.covariance_, dtype=np.float64))
        arrays = {"means": self.means_, "priors": self.priors_}
        if hasattr(self, "logistic_coef_"):
            arrays |= {"covariance": matrices[None], "coef": self.logistic_coef_}
            return arrays | {"intercept": self.logistic_intercept_}
        return arrays | {"covariance": matrices, "whitening": self._whitening, "log_det": self._log_det}

    def _take_model(self) -> None:
        certificate, arrays = self.certificate_, self.certificate_.arrays
        self.means_, self.priors_ = arrays["means"], arrays["priors"]
        if certificate.statement["problem"]["rule"] == "per_class":
            self.covariance_, self._whitening = arrays["covariance"], arrays["whitening"]
            self._log_det = arrays["log_det"]
            self.rank_, self.condition_ = np.array(certificate.rank), np.array(certificate.condition)
            return
        matrix = arrays["covariance"][0]
        self.covariance_ = float(matrix[0, 0]) if self.covariance == "spherical" else matrix
        self.rank_, self.condition_ = certificate.rank[0], certificate.condition[0]
        self.logistic_coef_, self.logistic_intercept_ = arrays["coef"], arrays["intercept"]

    def _fit_per_class(self, roots: list[Root], of_class: list[Moments], labels: Labels, eps: float) -> None:
        d = roots[0].C.shape[1]
        whitenings = [whiten(root, eps) for root in roots]
        for label, whitening, m in zip(labels.classes, whitenings, of_class):
            if not whitening.full:
                raise np.linalg.LinAlgError(
                    f"The covariance matrix of class {label} is not full rank: {describe_rank(whitening.rank, d, m)}, so "
                    f"the class has no density. {singular_fix(whitening.rank, self.shrinkage)}, or use "
                    "covariance='shared'."
                )
        worst = int(np.argmax([whitening.condition for whitening in whitenings]))
        if whitenings[worst].condition > ILL_CONDITIONED:
            warn_condition(type(self).__name__, whitenings[worst].condition, f"of class {labels.classes[worst]}")
        self._whitening = np.array([whitening.W for whitening in whitenings])
        self._log_det = np.array([whitening.log_det for whitening in whitenings])
        self.covariance_ = np.array([root.C.T @ root.C for root in roots])
        self.rank_ = np.array([whitening.rank for whitening in whitenings])
        self.condition_ = np.array([whitening.condition for whitening in whitenings])

    def _fit_shared(
        self, root: Root, of_class: list[Moments], means: np.ndarray, share: np.ndarray, priors: np.ndarray, eps: float
    ) -> None:
        d, n = means.shape[1], sum(m.n_rows for m in of_class)
        centre = share @ means
        apart = means - centre
        if self.covariance == "spherical":
            variance = float(np.sum(root.C**2)) / d
            if variance <= (4.0 * eps * float(root.largest.max(initial=0.0))) ** 2:
                raise np.linalg.LinAlgError(
                    f"The variance is zero: each of the {n} rows equals the mean of its class (to rounding), so the "
                    "classes have no density. There must be a class with two different rows."
                )
            self.covariance_, self.rank_, self.condition_ = variance, d, 1.0
            scaled = apart / np.sqrt(variance)
            coef = apart / variance
        else:
            whitening = whiten(root, eps)
            if whitening.rank == 0:
                raise np.linalg.LinAlgError(
                    f"The shared covariance matrix is zero: each of the {n} rows equals the mean of its class (to rounding), "
                    "so the classes have no density. There must be a class with two different rows."
                )
            if whitening.misses(apart):
                warn_outside(type(self).__name__, whitening.rank, d, n, ", or use covariance='spherical'")
            elif ILL_CONDITIONED < whitening.condition < np.inf:
                warn_condition(type(self).__name__, whitening.condition, "of the classes")
            self.covariance_ = root.C.T @ root.C
            self.rank_, self.condition_ = whitening.rank, whitening.condition
            scaled = apart @ whitening.W
            coef = scaled @ whitening.W.T
        scores = scores_from_centre(scaled, coef, centre, priors)
        self.logistic_coef_, self.logistic_intercept_ = scores

    def decision_function(self, X: Any) -> np.ndarray:
        """Two classes: the log-odds of ``classes_[1]``; more: ln density + ln prior of each class, up to what is the
        same for all. Linear scores where the covariance is shared.
        """
        check_is_fitted(self, "means_")
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        if hasattr(self, "logistic_coef_"):
            scores = X @ self.logistic_coef_.T + self.logistic_intercept_
            return scores[:, 0] if scores.shape[1] == 1 else scores
        return quadratic_scores(X, self.means_, self._whitening, self._log_det, self.priors_)

    def boundary(self, first: Any = None, second: Any = None) -> Boundary:
        """Where two classes are equally probable, as the coefficients of ``x'Qx + q'x + c = 0``.

        The left side is the log-odds of ``second`` against ``first``, ``ln P(second | x) - ln P(first | x)``. With two
        classes the names may be left out: they are ``classes_[0]`` and ``classes_[1]``.
        """
        check_is_fitted(self, "means_")
        a, b = self._find_pair(first, second)
        d = self.means_.shape[1]
        if hasattr(self, "logistic_coef_"):
            coef, intercept = self.logistic_coef_, self.logistic_intercept_
            if len(self.classes_) == 2:
                sign = 1.0 if (a, b) == (0, 1) else -1.0
                q, c = sign * coef[0], sign * float(intercept[0])
            else:
                q, c = coef[b] - coef[a], float(intercept[b] - intercept[a])
            return Boundary({1: "point", 2: "line"}.get(d, "plane"), np.zeros((d, d)), q, c)
        pair, log_prior = [a, b], log_priors(self.priors_)
        Q, q, c = quadratic_boundary(
            self.means_[pair], self._whitening[pair], self._log_det[pair], float(log_prior[b] - log_prior[a])
        )
        return Boundary({1: "points", 2: "conic"}.get(d, "quadric"), Q, q, c)

    def _find_pair(self, first: Any, second: Any) -> tuple[int, int]:
        """The indices of two classes; without names there must be two classes."""
        known = self.classes_.tolist()
        if first is None and second is None:
            if len(known) != 2:
                raise ValueError(f"boundary needs the names of two classes; there are {len(known)}: {known}")
            return 0, 1
        for name in (first, second):
            if name not in known:
                raise ValueError(f"boundary knows no class {name!r}; the classes are {known}")
        if first == second:
            raise ValueError(f"boundary needs two different classes; got {written(first)} twice")
        return known.index(first), known.index(second)


def _encode_weighted(y: Any, weight: np.ndarray | None) -> tuple[Labels, np.ndarray]:
    """The classes of the rows of positive weight, and the class of each row; -1 for a row of weight 0, which is no row."""
    if weight is None:
        labels = encode_labels(y)
        return labels, labels.index
    there = np.flatnonzero(weight > 0.0)
    labels = encode_labels(np.asarray(y)[there])
    index = np.full(weight.size, -1, dtype=labels.index.dtype)
    index[there] = labels.index
    return labels, index
