"""What the five kernel machines share: parameters, fit, prediction, and the attributes of a certified fit."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from gapless import kernels
from gapless._runtime.config import report_convergence
from gapless._runtime.progress import with_progress
from gapless._runtime.threads import one_blas_thread, thread_team
from gapless.backends.choose import kernel_predictor
from gapless.backends.numpy.kernel_predict import predict_one
from gapless.certificates.confirmation.odd_scales import confirmed
from gapless.certificates.kernel import KernelCertificate
from gapless.certificates.model_document import decode_float
from gapless.encode.lazy_frames import refuse_lazy
from gapless.encode.pairs import classes_by_sign
from gapless.errors import IllConditionedWarning, short
from gapless.fits.kernel import KernelFit, fit_kernel
from gapless.fits.kernel_encode import KernelRequest
from gapless.gram.predict import predict_scores_by_part
from gapless.kernels.named import named_kernel
from gapless.solvers.loop import Stop, Watch, interruptible

from .certified_model import DualModel, history_of
from .constraints import Constraint, booleans, integer, nothing, number, options, shared
from .loading import blank_model


class KernelMachine(DualModel, BaseEstimator):
    """The fit and the attributes; a subclass gives its parameters and its kind."""

    _kind = ""
    _on_cards = True
    _progress: Any = None

    certificate_: KernelCertificate
    support_: np.ndarray
    support_vectors_: Any
    dual_coef_: Any
    intercept_: np.ndarray

    # -- parameters ------------------------------------------------------------------------------------------

    _parameter_constraints = {
        "kernel": [options("linear", "poly", "rbf", "sigmoid", "precomputed"), Constraint("a callable", callable)],
        "degree": [integer(0)],
        "gamma": [options("scale", "auto"), number(0.0)],
        "coef0": [number(-inf)],
        "tol": [number(0.0)],
        "cache_size": [number(0.0, with_inf=True)],
        "max_iter": [integer(-1), nothing("")],
        **shared("time_limit", "n_jobs", "verbose"),
        **booleans("shrinking", "warm_start"),
        **shared("device", "init"),
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if getattr(self, "C", 1.0) == inf and self._kind != "c_svc":
            raise ValueError(f"{type(self).__name__} has no hard form: C=inf is for SVC. Use a large finite C.")

    def _task(self) -> KernelRequest:
        parameters = self.get_params(deep=False)
        parameters["init"] = None  # a model to start from is not part of what was fitted
        return KernelRequest(
            estimator=type(self).__name__,
            parameters=parameters,
            kind=self._kind,
            kernel=self.kernel,
            degree=int(self.degree),
            gamma=self.gamma,
            coef0=float(self.coef0),
            C=float(getattr(self, "C", 1.0)),
            nu=float(getattr(self, "nu", 0.0)),
            epsilon=float(getattr(self, "epsilon", 0.0)),
            class_weight=getattr(self, "class_weight", None),
            stop=Stop(float(self.tol), self._pass_limit(), None if self.time_limit is None else float(self.time_limit)),
            n_jobs=self.n_jobs,
            cache_bytes=int(float(self.cache_size) * 2**20),
            device=self.device,
        )

    # -- fit -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, certify what is returned, and warn only where the certified gap is above ``tol``.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features); kernel="precomputed": the kernel matrix
        y : array of n_samples labels or targets
        sample_weight : array of n_samples weights, optional
            A weight counts how often a row stands: 2 is the row twice, 0 is no row.
        """
        with interruptible(self) as interruption:
            self._check_parameters()
            refuse_lazy(X)
            if self.kernel == "precomputed" and sparse.issparse(X):
                raise TypeError("Sparse precomputed kernels are not supported.")
            self._sparse = bool(sparse.issparse(X)) and not callable(self.kernel)
            X, y, judged = self._read(X, y)
            start = self.init
            if start is None and self.warm_start and hasattr(self, "certificate_"):
                start = self.certificate_
            with with_progress(self) as callback:
                fitted = fit_kernel(
                    self._task(),
                    judged,
                    y,
                    sample_weight,
                    feature_names=getattr(self, "feature_names_in_", None),
                    start=start,
                    watch=Watch(callback, interruption),
                )
            fitted = replace(fitted, certificate=confirmed(fitted.certificate, judged, y, sample_weight))
            self._take(fitted, X)
            self._after_fit(X, y, sample_weight)
        self._raise_interruption(interruption)
        self._warn(fitted)
        return self

    def _read(self, X: Any, y: Any) -> tuple[Any, Any, Any]:
        """X and y checked, and X as it is judged: the kernel matrix where it is given by a matrix or a function."""
        targets = {} if self._kind == "one_class" else {"y": y}
        if callable(self.kernel):
            n = X.shape[0] if hasattr(X, "shape") else len(X)
            if n == 0:
                raise ValueError(
                    f"Found array with 0 sample(s) while a minimum of 1 is required by {type(self).__name__}."
                )
            _refuse_too_large(n, type(self).__name__)
            judged = kernels.Function(self.kernel).values(X, X)
            self._fit_X = X
            if hasattr(X, "shape") and len(X.shape) == 2:
                self.n_features_in_ = int(X.shape[1])
        else:
            options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}
            found = validate_data(self, X, accept_large_sparse=False, **options, **targets)
            X = found if self._kind == "one_class" else found[0]
            y = None if self._kind == "one_class" else found[1]
            judged = X
        if self._kind in ("epsilon_svr", "nu_svr"):
            y = column_or_1d(y, warn=True).astype(np.float64, copy=False)
        if y is not None and len(y) != judged.shape[0]:
            raise ValueError(f"X and y have incompatible shapes.\nX has {judged.shape[0]} samples, but y has {len(y)}.")
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"Precomputed matrix must be a square matrix. Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        return X, y, judged

    def _take(self, fitted: KernelFit, X: Any) -> None:
        """scikit-learn's attributes from the dual point."""
        self.certificate_ = fitted.certificate
        self.history_ = history_of(fitted.history)
        self.class_weight_ = fitted.class_weight if fitted.labels is not None else np.empty(0)
        self._kernel_ = fitted.kernel
        self._gamma = float(getattr(fitted.kernel, "gamma", 0.0))
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (fitted.u.shape[1],)
        self._scores, self._scores_off = fitted.scores, fitted.off
        self._c, self._rows_of = fitted.c, fitted.rows
        self._targets = fitted.targets
        self._lengths = fitted.lengths
        self._label_index = None if fitted.labels is None else fitted.labels.index
        if fitted.labels is not None:
            self.classes_ = fitted.labels.classes
        self.support_ = self._support(fitted.u)
        vectors = self.certificate_.arrays
        if self.kernel == "precomputed" or callable(self.kernel):
            self.support_vectors_ = np.empty((0, 0))
        else:
            self.support_vectors_ = self._stored_vectors(vectors)
        self._set_coefficients(fitted.u, fitted.scalars)
        finite = self.dual_coef_.data if sparse.issparse(self.dual_coef_) else self.dual_coef_
        overflowed = any(
            sub.status == "not_finite" and not math.isfinite(sub.rounding) for sub in self.certificate_.subproblems
        )
        if overflowed or not (np.isfinite(finite).all() and np.isfinite(self.intercept_).all()):
            raise ValueError(
                "The dual coefficients or intercepts are not finite. The input data may contain large values and need to be "
                "preprocessed."
            )
        self.fit_status_ = 0 if self.certificate_.converged else 1
        passes = np.array([sub.n_iter for sub in self.certificate_.subproblems], dtype=np.int32)
        self.n_iter_: Any = passes if fitted.labels is not None else int(passes[0])

    def _support(self, u: np.ndarray) -> np.ndarray:
        """The rows with a part in some line; class by class where there are classes."""
        rows = np.flatnonzero(u.any(axis=0))
        if self._label_index is not None:
            rows = rows[np.argsort(self._label_index[rows], kind="stable")]
            self._n_support = np.bincount(self._label_index[rows], minlength=len(self.classes_)).astype(np.int32)
        else:
            self._n_support = np.array([rows.size, rows.size], dtype=np.int32)
        return rows.astype(np.int32)

    def _stored_vectors(self, arrays: Any) -> Any:
        """The support vectors of a certificate, which are in the order of rows, in the order of ``support_``."""
        order = np.argsort(np.argsort(self.support_, kind="stable"), kind="stable")
        if "vectors" in arrays:
            return arrays["vectors"][order]
        d = self.certificate_.statement["n_features"]
        m = self.support_.size
        parts = (arrays["vector_values"], arrays["vector_columns"], arrays["vector_starts"])
        return sparse.csr_matrix(parts, shape=(m, d))[order]

    def _set_coefficients(self, u: np.ndarray, scalars: np.ndarray) -> None:
        """dual_coef_ and intercept_ in scikit-learn's layout, where there are no classes."""
        self.intercept_ = scalars[:, 0] + 0.0
        lines = u[:, self.support_]
        self.dual_coef_ = sparse.csr_matrix(lines) if self._sparse else lines

    def _after_fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        """What is fitted beside the model."""

    def _warn(self, fitted: KernelFit, stacklevel: int = 4) -> None:
        """One warning a fit, last."""
        if getattr(self, "probability", "deprecated") != "deprecated":
            name = type(self).__name__
            warnings.warn(
                "The `probability` parameter was deprecated in scikit-learn 1.9 and ends with its 1.11. Use "
                f"`gapless.calibrate`, or `CalibratedClassifierCV({name}(), ensemble=False)`, instead of "
                f"`{name}(probability=True)`.",
                FutureWarning,
                stacklevel=3,
            )
        shortfall = self.certificate_.shortfall(self.max_iter, self.time_limit)
        if shortfall is not None:
            report_convergence(shortfall, stacklevel=stacklevel)
        elif fitted.positive.witness is not None:
            warnings.warn(
                f"the kernel matrix is not positive semidefinite: v'Kv = {short(fitted.positive.value)} for the vector v in "
                "certificate_.witness. There is no dual bound: the model is one where no pair of rows is out of order, and "
                "certificate_.kind is 'heuristic'.",
                IllConditionedWarning,
                stacklevel=3,
            )

    # -- prediction ------------------------------------------------------------------------------------------

    def _read_new(self, X: Any) -> Any:
        check_is_fitted(self)
        refuse_lazy(X)
        if callable(self.kernel):
            return X
        X = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=False, reset=False
        )  # fmt: skip
        if self.kernel == "precomputed" and X.shape[1] != self.shape_fit_[0]:
            raise ValueError(
                f"X.shape[1] = {X.shape[1]} should be equal to {self.shape_fit_[0]}, the number of samples at training time"
            )
        if sparse.issparse(X) and not self._sparse:
            raise ValueError(f"cannot use sparse input in {type(self).__name__!r} trained on dense data")
        vectors = self.support_vectors_
        if vectors.shape[0] and int(self._n_support[: max(1, len(self.n_support_))].sum()) != vectors.shape[0]:
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")
        return X

    def _matrix(self, X: Any) -> Any:
        """The kernel matrix of new rows, where a function gives it."""
        return kernels.Function(self.kernel).values(X, self._fit_X)

    def _plain_dual(self) -> np.ndarray:
        return self.dual_coef_.toarray() if sparse.issparse(self.dual_coef_) else np.asarray(self.dual_coef_)

    def _sums(self, X: Any, classes: list[slice] | None = None) -> np.ndarray:
        """For each slice of the support vectors, or all of them as one: (rows of X, lines of dual_coef_)."""
        X = self._read_new(X)
        dual = self._plain_dual()
        classes = [slice(0, self.support_.size)] if classes is None else classes
        kernel, vectors, predict = self._kernel_, self.support_vectors_, predict_scores_by_part
        if callable(self.kernel) or self.kernel == "precomputed":
            kernel, vectors = kernels.Precomputed(), self.support_
            X = self._matrix(X) if callable(self.kernel) else X
        else:
            predict = kernel_predictor(kernel, X, vectors, self._prediction_device())
        with np.errstate(under="ignore"):
            if predict is predict_one:  # which asks neither BLAS nor a team
                return predict_one(kernel, X, vectors, dual, classes)
            with one_blas_thread(), thread_team(self.n_jobs):
                return predict(kernel, X, vectors, dual, classes)

    def _prediction_device(self) -> str:
        """A kernel that a card has no way for predicts in memory."""
        return "cpu" if self.kernel == "sigmoid" else str(self.device)

    @property
    def n_support_(self) -> np.ndarray:
        """Support vectors of each class; one number where there are no classes."""
        if not hasattr(self, "_n_support"):
            raise AttributeError("n_support_")
        return self._n_support if self._label_index is not None else self._n_support[:1]

    @property
    def coef_(self) -> Any:
        """w, where the kernel is linear."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        if not hasattr(self, "dual_coef_"):
            raise AttributeError("coef_")
        coef = self._coefficients_of_features()
        if sparse.issparse(coef):
            coef.data.flags.writeable = False
        else:
            coef.flags.writeable = False
        return coef

    def _coefficients_of_features(self) -> Any:
        return self.dual_coef_ @ self.support_vectors_

    # -- what a certified fit knows --------------------------------------------------------------------------

    def _training_scores(self) -> np.ndarray:
        self._require_training_rows()
        return self._scores + self.certificate_.arrays["scalars"][:, :1]

    def _norms(self, rows: np.ndarray) -> np.ndarray:
        """|phi(x)| of training rows."""
        return self._lengths[rows]

    def _arrays_now(self) -> dict[str, np.ndarray]:
        """The arrays of the certificate as the attributes stand now."""
        claimed = self.certificate_.arrays
        kept = type(self).__new__(type(self))
        kept.__dict__.update(self.__dict__)
        kept._set_coefficients(claimed["dual"], claimed["scalars"])
        found = dict(claimed)
        mine, theirs = self._plain_dual(), kept._plain_dual()
        if mine.shape != theirs.shape or not np.array_equal(mine, theirs):
            found["dual"] = claimed["dual"] + np.nan  # not what was certified
        if not np.array_equal(self.intercept_, kept.intercept_):
            found["scalars"] = claimed["scalars"] + np.nan
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dual_coef_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    @classmethod
    def _from_document(cls, document: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
        """A fitted model from a document that the reader has checked."""
        block = document["problem"]["kernel"]
        if block["name"] == "callable":
            raise ValueError("a file holds no functions: the kernel of this model is lost")
        model = blank_model(cls, document)
        model.certificate_ = KernelCertificate.from_document(document, arrays)
        model.history_ = []
        model._gamma = decode_float(block["gamma"])
        model._kernel_ = named_kernel(block["name"], block["degree"], model._gamma, decode_float(block["coef0"]))
        weight = document["problem"]["class_weight"]
        model.class_weight_ = np.array([decode_float(w) for w in weight]) if weight is not None else np.empty(0)
        dual = arrays["dual"]
        model.shape_fit_ = (dual.shape[1], model.n_features_in_)
        model._sparse = "vector_values" in arrays
        model._label_index = None
        if document["classes"] is not None:
            model._label_index = classes_by_sign(dual, model.classes_.size)
        model.support_ = model._support(dual)
        model.support_vectors_ = np.empty((0, 0)) if block["name"] == "precomputed" else model._stored_vectors(arrays)
        model._set_coefficients(dual, arrays["scalars"])
        model.fit_status_ = 0 if model.certificate_.converged else 1
        passes = np.array([sub.n_iter for sub in model.certificate_.subproblems], dtype=np.int32)
        model.n_iter_ = passes if document["classes"] is not None else int(passes[0])
        return model


def _refuse_too_large(n: int, name: str) -> None:
    """A kernel function is asked for all values at once; say what that needs where it is not there."""
    needed = 3 * 8 * n * n
    try:
        import os

        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return
    if needed > there:
        raise MemoryError(
            f"{name}: a kernel function needs the matrix of all {n} x {n} values, {needed / 2**30:.1f} GB with its copies; "
            f"{there / 2**30:.1f} GB are free. Use kernel='rbf', 'poly' or 'linear', whose rows are computed in blocks within "
            "cache_size, or fewer rows."
        )
