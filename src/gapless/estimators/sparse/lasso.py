"""Lasso and ElasticNet: least squares with an L1 penalty, certified."""

from __future__ import annotations

from typing import Any

from gapless.estimators.shared.constraints import number, options
from gapless.estimators.sparse.regression import SparseRegression


class ElasticNet(SparseRegression):
    """Least squares with L1 and L2 penalties, with a duality gap and proved zeros.

    Minimises ``1/(2n) sum_i weight_i (y_i - <w, x_i> - b)^2 + alpha l1_ratio |w|_1 + alpha (1 - l1_ratio)/2 |w|^2`` as
    scikit-learn does; n is the sum of the weights. ``certificate_`` says how far the result can be from the optimum, and
    ``proved_zeros_`` which coefficients are 0 in every optimal model.

    Parameters
    ----------
    alpha : float
        The penalty; 0 is least squares, of which no gap is known: use ``LinearRegression``.
    l1_ratio : float from 0 to 1
        The share of the L1 penalty; 0 is ridge regression, 1 the Lasso.
    fit_intercept : bool
        Whether there is an offset b. It is not penalised.
    precompute : bool or array
        Without effect: the matrix of a working set is kept where that pays.
    max_iter : int
        Sweeps over the columns of working sets; -1 or None: a finite cap of ours.
    copy_X : bool
        Without effect: X is never written to.
    tol : float
        The relative duality gap at which a fit may stop: ``(primal - dual) / max(|primal|, |dual|)``.
    warm_start : bool
        Start from the previous fit of this object.
    positive : bool
        No coefficient below 0.
    random_state : int, RandomState or None
        Without effect: nothing is drawn.
    selection : {"cyclic", "random"}
        Without effect: the optimum is the same.
    time_limit : float or None
        Seconds of work; compiling does not count. The model that comes back is usable (at worst the best constant) and its gap
        is true.
    n_jobs : int or None
        Threads. The bits do not depend on it.
    init : fitted model, certificate or None
        Start from another fit.
    verbose : int
        1 prints the falling gap.
    device : {"auto", "cpu"}
        Where to compute.

    Attributes
    ----------
    coef_, intercept_, n_iter_, sparse_coef_ : as in scikit-learn; coef_ is float32 where X is
    dual_gap_ : the certified gap
    support_ : the columns whose coefficients are not 0
    proved_zeros_ : whether a coefficient is 0 in every optimal model
    certificate_ : what is claimed and can be checked: ``gapless.verify(model, X, y)``
    n_features_in_, feature_names_in_ : as in scikit-learn
    status_ : how the fit ended, as in ``certificate_``
    history_ : primal and dual value and seconds, as the fit went on
    objective_ : the formula that was minimised, with its numbers
    alpha_ : the dual variable of each training row, without its sign
    """

    _parameter_constraints = {
        **SparseRegression._parameter_constraints,
        "alpha": [number(0.0, closed="left")],
        "l1_ratio": [number(0.0, 1.0, "both")],
        "selection": [options("cyclic", "random")],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: Any = False,
        max_iter: int | None = 1000,
        copy_X: bool = True,
        tol: float = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        init: Any = None,
        verbose: int = 0,
        device: str = "auto",
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.init = init
        self.verbose = verbose
        self.device = device

    def _penalty(self) -> tuple[float, float]:
        alpha, ratio = float(self.alpha), float(self.l1_ratio)
        return alpha * ratio, alpha * (1.0 - ratio)


class Lasso(ElasticNet):
    """Least squares with an L1 penalty, with a duality gap and proved zeros.

    Minimises ``1/(2n) sum_i weight_i (y_i - <w, x_i> - b)^2 + alpha |w|_1`` as scikit-learn does; n is the sum of the weights.
    ``certificate_`` says how far the result can be from the optimum, and ``proved_zeros_`` which coefficients are 0 in every
    optimal model.

    Parameters
    ----------
    alpha : float
        The penalty. From ``max_j |x_j'(y - mean)| / n`` on all coefficients are 0; 0 is least squares, of which no gap is known:
        use ``LinearRegression``.
    fit_intercept : bool
        Whether there is an offset b. It is not penalised.
    precompute : bool or array
        Without effect: the matrix of a working set is kept where that pays.
    copy_X : bool
        Without effect: X is never written to.
    max_iter : int
        Sweeps over the columns of working sets; -1 or None: a finite cap of ours.
    tol : float
        The relative duality gap at which a fit may stop: ``(primal - dual) / max(|primal|, |dual|)``.
    warm_start : bool
        Start from the previous fit of this object.
    positive : bool
        No coefficient below 0.
    random_state : int, RandomState or None
        Without effect: nothing is drawn.
    selection : {"cyclic", "random"}
        Without effect: the optimum is the same.
    time_limit : float or None
        Seconds of work; compiling does not count. The model that comes back is usable (at worst the best constant) and its gap
        is true.
    n_jobs : int or None
        Threads. The bits do not depend on it.
    init : fitted model, certificate or None
        Start from another fit.
    verbose : int
        1 prints the falling gap.
    device : {"auto", "cpu"}
        Where to compute.

    Attributes
    ----------
    coef_, intercept_, n_iter_, sparse_coef_ : as in scikit-learn; coef_ is float32 where X is
    dual_gap_ : the certified gap
    support_ : the columns whose coefficients are not 0
    proved_zeros_ : whether a coefficient is 0 in every optimal model
    certificate_ : what is claimed and can be checked: ``gapless.verify(model, X, y)``
    n_features_in_, feature_names_in_ : as in scikit-learn
    status_ : how the fit ended, as in ``certificate_``
    history_ : primal and dual value and seconds, as the fit went on
    objective_ : the formula that was minimised, with its numbers
    alpha_ : the dual variable of each training row, without its sign
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        init: Any = None,
        verbose: int = 0,
        device: str = "auto",
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.init = init
        self.verbose = verbose
        self.device = device

    _parameter_constraints = {
        name: wanted for name, wanted in ElasticNet._parameter_constraints.items() if name != "l1_ratio"
    }

    def _penalty(self) -> tuple[float, float]:
        return float(self.alpha), 0.0
