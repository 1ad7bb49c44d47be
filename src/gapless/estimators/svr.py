"""SVR and NuSVR: support vector regression with kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from gapless.estimators.shared.constraints import number, shared
from gapless.estimators.shared.kernel_machine import KernelMachine


class KernelRegressor(RegressorMixin, KernelMachine):
    """f(x) = <w, phi(x)> + b"""

    def predict(self, X: Any) -> np.ndarray:
        """<w, phi(x)> + b"""
        return (self._sums(X)[0] + self.intercept_).ravel()

    @property
    def slack_(self) -> np.ndarray:
        """max(0, |y - f| - epsilon) of each training row; NaN for rows of weight 0."""
        scalars = self._certificate("slack_").arrays["scalars"][0]
        epsilon = float(scalars[1]) if self._kind == "nu_svr" else float(getattr(self, "epsilon", 0.0))
        off = np.abs(self._targets - self._training_scores()[0])
        return np.maximum(0.0, off - epsilon)


class SVR(KernelRegressor):
    """Epsilon-support vector regression, certified.

    Minimises ``1/2 |w|^2 + C * sum_i weight_i * max(0, |y_i - <w, phi(x_i)> - b| - epsilon)``.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, time_limit, warm_start, init, n_jobs, device :
        as for SVC
    C : float
        Multiplies the sum of the losses.
    epsilon : float
        Errors up to this cost nothing.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, fit_status_, shape_fit_, n_iter_ : as in scikit-learn
    class_weight_, n_features_in_, feature_names_in_ : as in scikit-learn
    coef_ : where the kernel is linear
    certificate_ : what is claimed and can be checked: ``gapless.verify(model, X, y)``
    status_ : how the fit ended, as in ``certificate_``
    history_ : primal and dual value and seconds, as the fit went on
    objective_ : the formula that was minimised, with its numbers
    alpha_ : multiplier of each training row
    slack_ : slack xi of each training row
    """

    _kind = "epsilon_svr"
    _parameter_constraints = {
        **KernelMachine._parameter_constraints,
        **shared("C"),
        "epsilon": [number(0.0, closed="left")],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        epsilon: float = 0.1,
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
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.init = init
        self.n_jobs = n_jobs
        self.device = device


class NuSVR(KernelRegressor):
    """nu-support vector regression, certified: epsilon is found, not given.

    Minimises ``1/2 |w|^2 + C * sum_i weight_i * (nu * eps + max(0, |y_i - <w, phi(x_i)> - b| - eps))`` over w, b and eps.

    Parameters
    ----------
    nu : float in (0, 1]
        At most this share of the weight has an error above eps.
    C, kernel, degree, gamma, coef0, shrinking, tol, cache_size : as for SVR
    verbose, max_iter, time_limit, warm_start, init, n_jobs, device : as for SVR

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, fit_status_, shape_fit_, n_iter_ : as in scikit-learn
    class_weight_, n_features_in_, feature_names_in_ : as in scikit-learn
    epsilon_ : the eps that was found
    coef_ : where the kernel is linear
    certificate_ : what is claimed and can be checked: ``gapless.verify(model, X, y)``
    status_ : how the fit ended, as in ``certificate_``
    history_ : primal and dual value and seconds, as the fit went on
    objective_ : the formula that was minimised, with its numbers
    alpha_ : multiplier of each training row
    slack_ : slack xi of each training row
    """

    _kind = "nu_svr"
    _parameter_constraints = {**KernelMachine._parameter_constraints, **shared("C", "nu")}

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-4,
        cache_size: float = 200,
        verbose: int = False,
        max_iter: int | None = -1,
        time_limit: float | None = None,
        warm_start: bool = False,
        init: Any = None,
        n_jobs: int | None = None,
        device: str = "auto",
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.init = init
        self.n_jobs = n_jobs
        self.device = device

    @property
    def epsilon_(self) -> float:
        """The width that was found."""
        return float(self._certificate("epsilon_").arrays["scalars"][0, 1])
