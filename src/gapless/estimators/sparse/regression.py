"""What regressions with a sparse or signed penalty share: the data, the fit, the attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from gapless._runtime.progress import with_progress
from gapless.certificates.sparse.certificate import SparseCertificate
from gapless.encode.lazy_frames import refuse_lazy
from gapless.encode.offset import Offset
from gapless.estimators.shared.certified_model import CoefficientModel, DualModel, history_of
from gapless.estimators.shared.constraints import booleans, integer, minus_one, nothing, number, shared
from gapless.estimators.shared.loading import blank_model
from gapless.fits.sparse.fit import SparseFit, SparseRequest, fit_sparse
from gapless.solvers.loop import Stop, Watch, interruptible


class SparseRegression(CoefficientModel, DualModel, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """The fit and the attributes; a subclass gives its parameters and its penalty."""

    _progress: Any = None

    coef_: np.ndarray
    intercept_: Any
    certificate_: SparseCertificate

    _parameter_constraints = {
        **booleans("fit_intercept", "positive", "warm_start"),
        "tol": [number(0.0)],
        "max_iter": [integer(0), minus_one(), nothing()],
        **shared("time_limit", "n_jobs", "verbose", "device", "init"),
    }

    def _penalty(self) -> tuple[float, float]:
        """l1 and l2."""
        raise NotImplementedError

    def _request(self, dtype: Any, columns_of_y: int | None) -> SparseRequest:
        parameters = self.get_params(deep=False) | {
            "init": None, "positive": bool(self.positive), "fit_intercept": bool(self.fit_intercept)
        }  # fmt: skip
        l1, l2 = self._penalty()
        seconds = None if self.time_limit is None else float(self.time_limit)
        return SparseRequest(
            type(self).__name__, parameters, "squared", None, l1, l2, bool(self.positive),
            Offset("free" if self.fit_intercept else "none"), Stop(float(self.tol), self._pass_limit(), seconds), self.n_jobs,
            np.dtype(np.float32 if dtype == np.float32 else np.float64), columns_of_y=columns_of_y,
        )  # fmt: skip

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit, certify what is returned, and warn only where the certified gap is above ``tol``.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            float32 and float64 are read as they are, in C or Fortran order.
        y : array of shape (n_samples,) or (n_samples, n_targets); targets are fitted one by one
        sample_weight : array of n_samples weights, optional
            A weight counts how often a row stands: 2 is the row twice, 0 is no row.
        """
        with interruptible(self) as interruption:
            self._check_parameters()
            refuse_lazy(X)
            X, y = validate_data(
                self, X, y, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32], multi_output=True,
                y_numeric=True, accept_large_sparse=True,
            )  # fmt: skip
            X = X.tocsr() if sparse.issparse(X) else X
            Y = np.asarray(y, dtype=np.float64)
            columns = None if Y.ndim == 1 else Y.shape[1]
            start = self.init
            if start is None and self.warm_start and hasattr(self, "certificate_"):
                start = self.certificate_
            with with_progress(self) as callback:
                fitted = fit_sparse(
                    self._request(X.dtype, columns), X, Y.reshape(Y.shape[0], -1), sample_weight,
                    feature_names=getattr(self, "feature_names_in_", None), start=start,
                    watch=Watch(callback, interruption),
                )  # fmt: skip
            self._take(fitted)
        self._raise_interruption(interruption)
        self._warn(fitted, stacklevel=3)
        return self

    def _take(self, fitted: SparseFit) -> None:
        self.certificate_ = fitted.certificate
        self.history_ = history_of(fitted.history)
        self._take_model()

    def _take_model(self) -> None:
        """Set the attributes that follow from certificate_, in scikit-learn's shapes."""
        arrays, several = self.certificate_.arrays, self.certificate_.statement["problem"]["columns_of_y"]
        one = several in (None, 1)
        self.coef_ = arrays["coef"][0] if one else arrays["coef"]
        free = self.certificate_.statement["problem"]["offset"] != "none"
        self.intercept_ = (arrays["intercept"][0] if several is None else arrays["intercept"]) if free else 0.0
        steps = [part.n_iter for part in self.certificate_.subproblems]
        self.n_iter_ = steps[0] if one else steps

    @property
    def sparse_coef_(self) -> Any:
        """coef_ as a CSR matrix."""
        return sparse.csr_matrix(self.coef_)

    @property
    def dual_gap_(self) -> Any:
        """The certified gap of each target, P - D: `certificate_` has the figures beside it."""
        gaps = [part.gap for part in self._certificate("dual_gap_").subproblems]
        return gaps[0] if len(gaps) == 1 else np.array(gaps)

    @property
    def support_(self) -> np.ndarray:
        """The columns whose coefficients are not 0, in any target."""
        return np.flatnonzero(np.atleast_2d(self._certificate("support_").arrays["coef"]).any(axis=0))

    @property
    def proved_zeros_(self) -> np.ndarray:
        """Whether a coefficient is 0 in every optimal model, in the shape of ``coef_``."""
        zeros = self._certificate("proved_zeros_").proved_zeros
        return zeros.reshape(np.shape(self.coef_))

    def predict(self, X: Any) -> np.ndarray:
        """<w, x> + b: (n_samples,), or a column a target."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        found = safe_sparse_dot(X, np.atleast_2d(self.coef_).T, dense_output=True) + self.intercept_
        return found[:, 0] if self.coef_.ndim == 1 and np.ndim(self.intercept_) == 0 else found

    @classmethod
    def _from_document(cls, document: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
        """A fitted model from a document that the reader has checked."""
        model = blank_model(cls, document)
        model.certificate_ = SparseCertificate.from_document(document, arrays)
        model.history_ = []
        model._take_model()
        return model
