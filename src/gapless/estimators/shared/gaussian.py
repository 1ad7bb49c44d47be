"""What the three discriminants share: labels and probabilities from scores, the certificate, and the words of their warnings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from gapless._runtime.backend import choose_backend, use_backend
from gapless._runtime.clock import Stopwatch
from gapless.certificates.fingerprint import fingerprint
from gapless.certificates.gaussian import MomentsCertificate
from gapless.certificates.model_document import encode_float, statement
from gapless.encode.labels import decode_labels
from gapless.encode.priors import check_priors
from gapless.errors import IllConditionedWarning
from gapless.solvers.gaussian import Moments, Root, class_root, log_posterior, root_of_matrix

from .certified_model import CertifiedModel
from .constraints import Constraint, boolean, implementing, nothing, number, options, refuse
from .loading import blank_model


class DiscriminantClassifier(CertifiedModel, ClassifierMixin, BaseEstimator):
    """Labels and probabilities from the scores ln density + ln prior."""

    classes_: np.ndarray
    certificate_: MomentsCertificate
    _parameter_constraints = {"shrinkage": [options("auto"), number(0.0, 1.0, "both"), nothing()]}

    def decision_function(self, X: Any) -> np.ndarray:
        raise NotImplementedError

    def _certify(
        self,
        X: np.ndarray,
        index: np.ndarray,
        weight: np.ndarray | None,
        stopwatch: Stopwatch,
        *,
        rule: str,
        shrinkage: list[float],
        dtype: Any,
        arrays: dict[str, np.ndarray],
        **problem: Any,
    ) -> None:
        """Set certificate_. ``index`` is the class of each row, -1 for rows of weight 0."""
        applied = [encode_float(s) for s in shrinkage]
        block: dict[str, Any] = {"rule": rule, "shrinkage": applied, "pooled_by": "shares"}
        block |= {"directions": 0, "components": 0, **problem}
        rank, condition = (np.atleast_1d(getattr(self, name)).tolist() for name in ("rank_", "condition_"))
        said = statement(
            type(self).__name__, self.get_params(deep=False), self.classes_, X.shape[1], block,
            feature_names=getattr(self, "feature_names_in_", None), dtype=dtype,
        )  # fmt: skip
        marks = fingerprint(X, index, weight)
        with use_backend(
            choose_backend(*X.shape)
        ):  # which the certificate tells; LAPACK and BLAS are all that it takes
            self.certificate_ = MomentsCertificate(
                rank=rank,
                condition=condition,
                seconds=stopwatch.seconds,
                fingerprint=marks,
                statement=said,
                arrays=arrays,
                compile_seconds=stopwatch.compile_seconds,
            )

    def _arrays_now(self) -> dict[str, np.ndarray]:
        """The attributes that are arrays of the certificate."""
        raise NotImplementedError

    def _take_model(self) -> None:
        """Set the attributes that follow from certificate_."""
        raise NotImplementedError

    @classmethod
    def _from_document(cls, document: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
        """A fitted model from a document that the reader has checked."""
        model = blank_model(cls, document)
        model.certificate_ = MomentsCertificate.from_document(document, arrays)
        model._take_model()
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "means_")

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class; the first one of equals."""
        scores = self.decision_function(X)
        index = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return decode_labels(self.classes_, index)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The posterior probability of each class, (n_samples, n_classes)."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack((expit(-scores), expit(scores)))
        return np.exp(log_posterior(scores))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of ``predict_proba``, also where the probability underflows."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack((log_expit(-scores), log_expit(scores)))
        return log_posterior(scores)

    def _resolve_priors(self, mass: np.ndarray) -> np.ndarray:
        """The priors: those that the user gave, divided by their sum, or the shares of the classes."""
        given = getattr(self, "priors")  # noqa: B009
        if given is None:
            return mass / mass.sum()
        if isinstance(given, str) or not np.iterable(given):
            refuse(self, "priors", "an array-like or None")
        priors = check_priors(given, mass.size)
        total = float(np.sum(np.asarray(given, dtype=np.float64)))
        if abs(total - 1.0) > 1e-5:
            warnings.warn(
                f"The priors do not sum to 1. Renormalizing: they sum to {total:g}; divide them by their sum.",
                UserWarning,
                stacklevel=4,
            )
        return priors


def one_row_error(name: Any, fix: str) -> ValueError:
    """The error about a class of one row, which has no covariance."""
    return ValueError(
        f"y has only 1 sample in class {name}, covariance is ill defined. Every class needs at least 2 rows; {fix}."
    )


def describe_rank(rank: int, d: int, m: Moments) -> str:
    """A text such as "rank 2 of 3 features from n_k = 5 samples"."""
    mass = "" if m.mass == m.n_rows else f" of total weight {m.mass:g}"
    return f"rank {rank} of {d} features from n_k = {m.n_rows} samples{mass}"


def singular_fix(rank: int, shrinkage: Any, others: str = "") -> str:
    """Advice that makes the singular covariance of a class regular."""
    if rank == 0:
        return "All its rows are equal, which no shrinkage changes: give the class rows that differ"
    if isinstance(shrinkage, str):
        how = f"Set shrinkage to a number, for example 0.1 ('auto' chose too little){others}"
    elif shrinkage:
        how = f"Increase the value of `shrinkage`{others}"
    else:
        how = f"Set shrinkage, for example 0.1{others}"
    return f"{how}, drop the features that are constant or collinear in the class"


def refuse_lost_axes(label: Any, C: np.ndarray, Vt: np.ndarray, variances: np.ndarray, dtype: Any) -> None:
    """Refuse a class whose axes and variances, as they are stored, do not make its covariance C'C the identity."""
    limits, lost = np.finfo(dtype), 0.005  # half of what the judge admits
    what = f"The variances of class {label}, {variances[-1]:.3g} to {variances[0]:.3g}, are"
    if not limits.tiny <= variances[-1] <= variances[0] <= limits.max:
        raise ValueError(
            f"{what} beyond the range of {dtype}. Scale the features (StandardScaler), or give X as float64."
        )
    # A singular value is off by some eps of the largest one, and so is what an axis loses when it is stored.
    if 100.0 * len(Vt) * limits.eps * np.sqrt(variances[0] / variances[-1]) <= lost:
        return
    white = C @ (Vt.astype(dtype).astype(np.float64).T / np.sqrt(variances.astype(dtype).astype(np.float64)))
    if not np.abs(white.T @ white - np.eye(len(Vt))).max() <= lost:
        raise ValueError(
            f"{what} so far apart that the axes of the small ones are rounding. Scale the features (StandardScaler), or set "
            "reg_param."
        )


def singular_class_error(
    model: Any, label: Any, ranks: tuple[int, int], m: Moments, variances: np.ndarray, few: bool
) -> np.linalg.LinAlgError:
    """The error about a class whose covariance is singular.

    ``ranks``: of the variances above ``tol``, and of the covariance of features scaled to unit variance. ``few``: the class has
    no more samples than features, and solver="svd" needs more."""
    rank, relative = ranks
    d = m.mean.size
    what = f"The covariance matrix of class {label} is not full rank."
    how = f"It has {describe_rank(rank, d, m)}."
    if few:
        return np.linalg.LinAlgError(
            f"{what} When using `solver='svd'` the number of samples in each class should be more than the number "
            f"of features, but class {label} has {m.n_rows} samples and {d} features. {how} Try setting the "
            "parameter `shrinkage` for regularization (for example shrinkage='auto'), or use LinearDiscriminantAnalysis."
        )
    if relative == d:
        return np.linalg.LinAlgError(
            f"{what} {how} Its smallest variance, {variances[-1]:.3g}, is not above tol={model.tol:g}, which is "
            "absolute: scale the features (StandardScaler), or set a smaller `tol`, `shrinkage` or `reg_param`."
        )
    return np.linalg.LinAlgError(
        f"{what} {how} {singular_fix(rank, model.shrinkage, ', increase the value of `reg_param`')}, or use "
        "LinearDiscriminantAnalysis."
    )


def warn_condition(name: str, condition: float, what: str, how: str = "Set shrinkage", stacklevel: int = 4) -> None:
    """Warn that rounding can show in the answer: in how many digits, and what to do."""
    warnings.warn(
        f"{name}: the covariance {what} has condition {condition:.1e} (features scaled to unit variance), so about "
        f"{max(0, int(16 - np.log10(condition)))} digits of the answer are certain. {how}, or drop one of the features that "
        "are nearly collinear.",
        IllConditionedWarning,
        stacklevel=stacklevel,
    )


def warn_outside(name: str, rank: int, d: int, n: int, other: str = "", stacklevel: int = 4) -> None:
    """Warn that class means differ in directions in which no class varies."""
    warnings.warn(
        f"{name}: the pooled covariance has rank {rank} of {d} features from {n} samples, and the class means "
        f"differ in directions in which no class varies. Those directions are left out of the model. Set shrinkage (for "
        f"example shrinkage='auto'){other}.",
        IllConditionedWarning,
        stacklevel=stacklevel,
    )


class DiscriminantAnalysis(DiscriminantClassifier):
    """Parameters of scikit-learn's two discriminant analyses, and the covariance that they ask for."""

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

    def _estimate_root(self, X: np.ndarray, rows: np.ndarray, m: Moments) -> Root:
        """The root of the covariance of some rows, shrunk or estimated as the parameters ask."""
        if self.covariance_estimator is None:
            return class_root(X, rows, None, m, self.shrinkage)
        estimator = clone(self.covariance_estimator, safe=False)
        name = type(estimator).__name__
        estimator.fit(X[rows])
        if not hasattr(estimator, "covariance_"):
            raise ValueError(f"{name} does not have a covariance_ attribute")
        return root_of_matrix(estimator.covariance_, name)
