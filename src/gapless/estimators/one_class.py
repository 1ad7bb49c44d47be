"""OneClassSVM: the region that holds all but a share of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import OutlierMixin

from gapless.estimators.shared.constraints import shared
from gapless.estimators.shared.kernel_machine import KernelMachine


class OneClassSVM(OutlierMixin, KernelMachine):
    """One-class support vector machine, certified.

    Minimises ``1/2 |w|^2 - nu rho sum_i weight_i + sum_i weight_i max(0, rho - <w, phi(x_i)>)`` over w and rho. At most a share
    nu of the weight lies outside (f < 0), at least a share nu belongs to support vectors.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, time_limit, warm_start, init, n_jobs, device :
        as for SVC
    nu : float in (0, 1]

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, offset_, fit_status_, shape_fit_, n_iter_ : as in scikit-learn
    class_weight_, n_features_in_, feature_names_in_ : as in scikit-learn
    coef_ : where the kernel is linear
    certificate_ : what is claimed and can be checked: ``gapless.verify(model, X, None)``
    status_ : how the fit ended, as in ``certificate_``
    history_ : primal and dual value and seconds, as the fit went on
    objective_ : the formula that was minimised, with its numbers
    alpha_ : multiplier of each training row
    slack_ : slack xi of each training row
    """

    _kind = "one_class"
    _parameter_constraints = {**KernelMachine._parameter_constraints, **shared("nu")}

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-4,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: int = False,
        max_iter: int | None = -1,
        time_limit: float | None = None,
        warm_start: bool = False,
        init: Any = None,
        n_jobs: int | None = None,
        device: str = "auto",
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.init = init
        self.n_jobs = n_jobs
        self.device = device

    @property
    def offset_(self) -> np.ndarray:
        """rho"""
        if not hasattr(self, "intercept_"):
            raise AttributeError("offset_")
        return -self.intercept_

    def score_samples(self, X: Any) -> np.ndarray:
        """<w, phi(x)>. Free support vectors lie on the boundary: what rounding leaves between them and rho is taken away."""
        f, rho = self._sums(X)[0].ravel(), -float(self.intercept_[0])
        return np.where(np.abs(f - rho) <= 1e-12 * self._size(rho), rho, f)

    def _size(self, rho: float) -> float:
        """What rounding errors of scores are relative to."""
        vectors = self.support_vectors_
        if not vectors.shape[0]:
            return abs(rho)
        if self._kernel_.of_distances:
            norms2 = np.zeros(1)  # the diagonal does not depend on them
        else:
            squares = vectors.multiply(vectors) if sparse.issparse(vectors) else vectors * vectors
            norms2 = np.asarray(squares.sum(axis=1)).ravel()
        top = float(np.abs(self._kernel_.diagonal(norms2)).max())
        return abs(rho) + 0.01 * top * float(np.abs(self._plain_dual()).sum())

    def decision_function(self, X: Any) -> np.ndarray:
        """<w, phi(x)> - rho: below 0 outside."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """+1 inside and on the boundary, -1 outside."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)

    @property
    def slack_(self) -> np.ndarray:
        """max(0, rho - f) of each training row; NaN for rows of weight 0."""
        self._certificate("slack_")
        return np.maximum(0.0, -self._training_scores()[0])
