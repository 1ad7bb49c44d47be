"""LinearRegression, Ridge and LeastSquaresClassifier: least squares, certified."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin

from gapless.encode.labels import encode_labels
from gapless.encode.weights import check_sample_weight, resolve_class_weight, weightless_classes
from gapless.estimators.shared.constraints import booleans, number, options, refuse
from gapless.estimators.shared.least_squares import LeastSquaresModel, Look, as_columns
from gapless.fits.blocks.given import answer_lazily, walk_of
from gapless.problems.r_squared import CONSTANT_SHARE, weighted_r_squared
from gapless.solvers.descent.as_solver import DESCENTS
from gapless.solvers.loop import interruptible


class _Regression(MultiOutputMixin, RegressorMixin, LeastSquaresModel):
    _parameter_constraints = {**LeastSquaresModel._parameter_constraints, **booleans("positive")}

    def _read_targets(self, X: Any, y: Any) -> tuple[Any, np.ndarray, int | None, Look]:
        """X, the targets (n, K), and K, or None where y is a vector; what looks for NaN and infinity."""
        X, y, look = self._read(X, y, multi_output=True, y_numeric=True)
        Y = as_columns(y)
        return X, Y, None if y.ndim == 1 else Y.shape[1], look

    def _per_target(self, name: str) -> Any:
        """An array of the certificate, without its first axis where y is a vector."""
        array = self.certificate_.arrays[name]
        return array[0] if self.certificate_.statement["problem"]["columns_of_y"] is None else array

    def predict(self, X: Any) -> np.ndarray:
        """<w, x> + b: (n_samples,), or a column a target. Of a Dask collection it is lazy."""
        if hasattr(X, "__dask_graph__"):
            return answer_lazily(self, "predict", X)
        return self._scores(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R2, the mean over the targets, as scikit-learn's; of a constant target 1 where it is predicted, else 0: scikit-learn
        means the same, but lets the rounding of the mean decide."""
        found = super().score(X, y, sample_weight)
        truth = as_columns(y)
        constant = np.ptp(truth, axis=0) <= CONSTANT_SHARE * np.abs(truth).max(axis=0)
        if len(truth) < 2 or not constant.any():
            return found
        weight = None if sample_weight is None else check_sample_weight(sample_weight, len(truth))
        return float(weighted_r_squared(truth, as_columns(self.predict(X)), weight).mean())


class LinearRegression(_Regression):
    """Ordinary least squares: minimises ``sum_i weight_i (y_i - <w, x_i> - b)^2``.

    There is no duality gap here; ``certificate_`` states how orthogonal the residuals are to the columns (a cosine, 0 at
    the optimum), the residual sum of squares, R2, rank and condition. Where the columns are dependent, the solution of
    least norm is returned. float32 data are summed in float64.

    Parameters
    ----------
    fit_intercept : bool
        Whether there is an offset b.
    copy_X : bool
        Without effect: X is never written to.
    tol : float
        The precision: the fit has converged where ``|x_j'r| <= tol |x_j| |r|`` for every column, beyond rounding. That
        implies ``|X'r| <= tol |X| |r|``, which is what scikit-learn asks of its solvers by ``tol``: where ``lsqr`` stops on
        sparse data, and what is left by the singular values below ``tol`` times the largest, which it takes as 0 on
        dense data. Here those count, unless they are at the level of rounding: leaving them out would make another
        solution than that of least squares.
    n_jobs : int or None
        Threads. The bits do not depend on it.
    positive : False
        True is not offered; use ``sklearn.linear_model.LinearRegression(positive=True)``.
    time_limit : float or None
        Seconds of work; compiling does not count. The model that comes back is usable (at worst the best constant), and its
        certificate true.
    device : {"auto", "cpu"}
        Where to compute.
    solver : {"auto", "gd", "sgd", "minibatch", "momentum", "adam"}
        "auto" solves in closed form (conjugate gradients for sparse data with many columns). The others are the descents of
        `descend`, slower: to be watched and compared. Their certificate is the same, of the point that they reached.
    max_iter : int or None
        The most passes of a descent (1,000 if nothing is said), or steps of conjugate gradients.
    schedule : float, Schedule, str or None
        The rates of a descent: a number is a constant rate, "inverse", "inverse_root" and "pegasos" are schedules with their
        default values, `Schedule` has all. None: rates that need no tuning.
    random_state : int, RandomState or None
        The order of visits of a stochastic descent.

    Attributes
    ----------
    coef_, intercept_ : as in scikit-learn; float32 where X is
    rank_ : rank of the (centred) X, its columns scaled to equal length; None after conjugate gradients and descents
    singular_ : singular values of the (centred) X; dense data and closed forms only
    n_iter_ : passes of a descent or steps of conjugate gradients; 1 for a closed form
    condition_ : condition of X with its columns scaled to equal length, as far as its rank goes
    certificate_ : what is claimed and can be checked: ``gapless.verify(model, X, y)``
    n_features_in_, feature_names_in_ : as in scikit-learn
    status_ : how the fit ended, as in ``certificate_``
    objective_ : the formula that was minimised, with its numbers
    """

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        positive: bool = False,
        time_limit: float | None = None,
        device: str = "auto",
        solver: str = "auto",
        max_iter: int | None = None,
        schedule: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            fit_intercept, copy_X, tol, time_limit, n_jobs, device, solver, max_iter, schedule, random_state
        )
        self.positive = positive

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearRegression:
        """Fit and certify. ``y`` is (n_samples,) or (n_samples, n_targets); a weight counts how often a row stands.

        ``fit(blocks)``: rows in blocks bring their targets and weights with them, see ``gapless.read_blocks``.
        """
        with interruptible(self) as interruption:
            self._check_parameters()
            walk = walk_of(X, y, sample_weight)
            if walk is not None:
                answer = self._fit_blocks(walk, np.zeros, interruption)
                self._singular = answer.singular
                self._close(answer, interruption)
                return self
            X, Y, columns, look = self._read_targets(X, y)
            answer = self._fit(self._data(X, Y, sample_weight, look), np.zeros(Y.shape[1]), interruption, columns)
            self._singular = answer.singular
        self._close(answer, interruption)
        return self

    def _take_model(self) -> None:
        super()._take_model()
        self.coef_ = self._per_target("coef")
        self.intercept_ = self._per_target("intercept") if self.fit_intercept else 0.0
        self.rank_ = self.certificate_.rank
        self.n_iter_ = max(self.certificate_.n_iter, 1)

    @property
    def singular_(self) -> np.ndarray:
        """Singular values of the (centred) X; dense data of up to 500 columns, or wherever they were needed."""
        values = getattr(self, "_singular", None)
        if values is None:
            raise AttributeError("singular_ is there after a fit on dense data (a model file does not hold it)")
        if callable(values):
            values = self._singular = values()
        found: np.ndarray = values
        return found


class Ridge(_Regression):
    """Ridge regression: minimises ``sum_i weight_i (y_i - <w, x_i> - b)^2 + alpha |w|^2``, with a duality gap.

    Parameters
    ----------
    alpha : float, or an array with one for each target
        The penalty; 0 is least squares, which has no gap and is certified by orthogonality.
    fit_intercept : bool
        Whether there is an offset b. It is not penalised.
    copy_X : bool
        Without effect.
    solver : {"auto", "gd", "sgd", "minibatch", "momentum", "adam"} or a name of scikit-learn's
        "auto" solves in closed form (conjugate gradients for sparse data with many columns), and so do scikit-learn's names
        "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga" and "lbfgs": the optimum is the same, and ``certificate_.solver``
        says what found it. The others are the descents of `descend`, slower: to be watched and compared.
    max_iter : int or None
        The most passes of a descent (1,000 if nothing is said), or steps of conjugate gradients.
    schedule : float, Schedule, str or None
        The rates of a descent: a number is a constant rate, "inverse", "inverse_root" and "pegasos" are schedules with their
        default values, `Schedule` has all. None: rates that need no tuning.
    random_state : int, RandomState or None
        The order of visits of a stochastic descent.
    tol : float
        The relative duality gap at which the fit counts as converged.
    positive : False
        True is not offered; use ``sklearn.linear_model.Ridge(positive=True)``.
    time_limit : float or None
        Seconds of work; compiling does not count. The model that comes back is usable (at worst the best constant) and its gap
        is true.
    n_jobs : int or None
        Threads. The bits do not depend on it.
    device : {"auto", "cpu"}
        Where to compute.

    Attributes
    ----------
    coef_, intercept_ : as in scikit-learn; float32 where X is
    n_iter_ : for each target, the steps of conjugate gradients or passes of a descent, 1 for a closed form; as in
        scikit-learn None where ``solver`` is "svd", "cholesky" or "sparse_cg"
    solver_ : as in scikit-learn the ``solver`` that was asked for; of "auto" what was chosen: "cholesky", "svd" or "sparse_cg"
    condition_ : condition number of the columns
    certificate_ : what is claimed and can be checked: ``gapless.verify(model, X, y)``
    n_features_in_, feature_names_in_ : as in scikit-learn
    status_ : how the fit ended, as in ``certificate_``
    objective_ : the formula that was minimised, with its numbers
    """

    _parameter_constraints = {
        **_Regression._parameter_constraints,
        # scikit-learn's solvers: the optimum is the same, so the name has no effect here.
        "solver": [options("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs", *DESCENTS)],
    }

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-4,
        solver: str = "auto",
        positive: bool = False,
        random_state: Any = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        device: str = "auto",
        schedule: Any = None,
    ) -> None:
        super().__init__(
            fit_intercept, copy_X, tol, time_limit, n_jobs, device, solver, max_iter, schedule, random_state
        )
        self.alpha = alpha
        self.positive = positive

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Ridge:
        """Fit and certify. ``y`` is (n_samples,) or (n_samples, n_targets); a weight counts how often a row stands.

        ``fit(blocks)``: rows in blocks bring their targets and weights with them, see ``gapless.read_blocks``.
        """
        with interruptible(self) as interruption:
            self._check_parameters()
            walk = walk_of(X, y, sample_weight)
            if walk is not None:
                self._close(self._fit_blocks(walk, self._alphas, interruption), interruption)
                return self
            X, Y, columns, look = self._read_targets(X, y)
            alpha = self._alphas(Y.shape[1])
            answer = self._fit(self._data(X, Y, sample_weight, look), alpha, interruption, columns)
        self._close(answer, interruption)
        return self

    def _take_model(self) -> None:
        super()._take_model()
        coef = self.certificate_.arrays["coef"]
        self.coef_ = coef[0] if coef.shape[0] == 1 else coef
        self.intercept_ = self._per_target("intercept") if self.fit_intercept else 0.0
        # scikit-learn's is the name that was asked for; the certificate says what found the optimum.
        self.solver_ = self.certificate_.solver if self.solver == "auto" else self.solver
        steps = np.full(coef.shape[0], max(self.certificate_.n_iter, 1), np.int32)
        # scikit-learn counts no steps of these solvers
        self.n_iter_ = None if self.solver in ("svd", "cholesky", "sparse_cg") else steps

    def _alphas(self, targets: int) -> np.ndarray:
        """One penalty a target, finite and not negative."""
        given = self.alpha
        wanted = "a float in the range [0.0, inf) or an array-like"
        if isinstance(given, Real) and not isinstance(given, bool):
            alpha = np.full(targets, float(given))
        else:
            if isinstance(given, str | bool | dict) or given is None:
                refuse(self, "alpha", wanted)
            try:
                alpha = np.asarray(given, dtype=np.float64).ravel()
            except (TypeError, ValueError):
                refuse(self, "alpha", wanted)
            alpha = np.full(targets, alpha[0]) if alpha.size == 1 else alpha
            if alpha.size != targets:
                raise ValueError(
                    f"Number of targets and number of penalties do not correspond: {alpha.size} != {targets}"
                )
        if not (np.isfinite(alpha).all() and (alpha >= 0.0).all()):
            refuse(self, "alpha", wanted + " of such")
        return alpha


class LeastSquaresClassifier(ClassifierMixin, LeastSquaresModel):
    """Classification by least squares on targets of +1 and -1; more than two classes one against the rest.

    Minimises ``sum_i weight_i (y_i - <w, x_i> - b)^2 + alpha |w|^2`` for each class, y = +1 for its rows and -1 for the
    others. Without penalty it is certified by the orthogonality of the residuals, with one by a duality gap.

    Parameters
    ----------
    alpha : float
        The penalty; 0 (the default) for plain least squares.
    fit_intercept : bool
        Whether there is an offset b.
    copy_X : bool
        Without effect.
    tol : float
        The orthogonality, or with a penalty the relative gap, at which the fit counts as converged.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    time_limit, n_jobs, device :
        As in Ridge.
    solver : {"auto", "gd", "sgd", "minibatch", "momentum", "adam"}
        "auto" solves in closed form (conjugate gradients for sparse data with many columns). The others are the descents of
        `descend`, slower: to be watched and compared. Their certificate is the same, of the point that they reached.
    max_iter : int or None
        The most passes of a descent (1,000 if nothing is said), or steps of conjugate gradients.
    schedule : float, Schedule, str or None
        The rates of a descent: a number is a constant rate, "inverse", "inverse_root" and "pegasos" are schedules with their
        default values, `Schedule` has all. None: rates that need no tuning.
    random_state : int, RandomState or None
        The order of visits of a stochastic descent.

    Attributes
    ----------
    classes_, coef_, intercept_ : arrays of shape (n_classes,), (1 or n_classes, n_features) and (1 or n_classes,)
    rank_ : numerical rank of the columns
    condition_ : condition number of the columns
    certificate_ : what is claimed and can be checked: ``gapless.verify(model, X, y)``
    n_features_in_, feature_names_in_ : as in scikit-learn
    status_ : how the fit ended, as in ``certificate_``
    objective_ : the formula that was minimised, with its numbers
    n_iter_ : as in LinearRegression
    """

    _parameter_constraints = {**LeastSquaresModel._parameter_constraints, "alpha": [number(0.0, closed="left")]}

    def __init__(
        self,
        alpha: float = 0.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        tol: float = 1e-6,
        class_weight: Any = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        device: str = "auto",
        solver: str = "auto",
        max_iter: int | None = None,
        schedule: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            fit_intercept, copy_X, tol, time_limit, n_jobs, device, solver, max_iter, schedule, random_state
        )
        self.alpha = alpha
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LeastSquaresClassifier:
        """Fit and certify. A weight counts how often a row stands: 2 is the row twice, 0 is no row.

        ``fit(blocks)``: rows in blocks bring their labels and weights with them, see ``gapless.read_blocks``.
        """
        with interruptible(self) as interruption:
            self._check_parameters()
            walk = walk_of(X, y, sample_weight)
            if walk is not None:
                alphas = lambda targets: np.full(targets, float(self.alpha))  # noqa: E731
                answer = self._fit_blocks(walk, alphas, interruption, classify=True, class_weight=self.class_weight)
                self._close(answer, interruption)
                return self
            X, y, look = self._read(X, y)
            labels = encode_labels(y)
            weights = check_sample_weight(sample_weight, X.shape[0])
            class_weight = resolve_class_weight(self.class_weight, labels, weights)
            weightless_classes(labels, weights, class_weight)
            Y = np.stack([labels.signs(positive) for positive in labels.positives], axis=1)
            alpha = np.full(Y.shape[1], float(self.alpha))
            data = self._data(X, Y, sample_weight, look, labels=labels, class_weight=class_weight)
            answer = self._fit(data, alpha, interruption)
        self._close(answer, interruption)
        return self

    def _take_model(self) -> None:
        super()._take_model()
        self.coef_, self.intercept_ = (self.certificate_.arrays[name] for name in ("coef", "intercept"))
        self.rank_ = self.certificate_.rank
        self.n_iter_ = max(self.certificate_.n_iter, 1)

    def decision_function(self, X: Any) -> np.ndarray:
        """<w, x> + b: (n_samples,) for two classes, else one column a class. Of a Dask collection it is lazy."""
        if hasattr(X, "__dask_graph__"):
            return answer_lazily(self, "decision_function", X)
        scores = self._scores(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest score."""
        if hasattr(X, "__dask_graph__"):
            return answer_lazily(self, "predict", X)
        scores = self.decision_function(X)
        index = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[index]
