"""What LinearSVC and LogisticRegression share: parameters, fit, scores, and the attributes of a certified fit."""

from __future__ import annotations

import math
from functools import lru_cache
from inspect import signature
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from gapless._runtime.config import report_convergence
from gapless._runtime.progress import watched
from gapless.certificates.likelihood import GradientCertificate
from gapless.certificates.linear import Certificate
from gapless.encode.clean import ready
from gapless.encode.lazy_frames import refuse_lazy
from gapless.encode.offset import encode_offset
from gapless.errors import invalid_parameter
from gapless.fits.linear import Fitted, Task, fit_linear
from gapless.problems.units_of_C import Objective
from gapless.readings.slackness import Slackness, slackness
from gapless.solvers.descent.as_solver import check_schedule
from gapless.solvers.linear.solve import DESCENTS, SOLVERS
from gapless.solvers.loop import Stop, interruptible
from gapless.solvers.solution import Event

from .loading import blank_model
from .notebook import Shown

#: What max_iter=-1 and None mean: finite, and far beyond any fit that makes progress.
MOST_PASSES = 100_000


class LinearClassifier(Shown, ClassifierMixin, BaseEstimator):
    """The fit and the attributes; a subclass gives its parameters and its loss."""

    _progress: Any = None
    _keeps_float32 = False

    classes_: np.ndarray
    coef_: Any  # an array, or a CSR matrix after sparsify()
    intercept_: np.ndarray
    n_iter_: Any
    certificate_: Any  # a Certificate, or a GradientCertificate where there is no penalty

    def _loss(self) -> str:
        raise NotImplementedError

    def _check_parameters(self) -> None:
        """Errors in scikit-learn's words, at fit and not before."""
        name = type(self).__name__
        self._require("C", Real, "a float in the range (0.0, inf)", lambda v: 0.0 < v)
        self._require("tol", Real, "a float in the range (0.0, inf)", lambda v: 0.0 < v < math.inf)
        self._require("max_iter", Integral, "an int in the range [0, inf), -1 or None", lambda v: v >= -1, none=True)
        self._require("time_limit", Real, "a float in the range (0.0, inf) or None", lambda v: v > 0.0, none=True)
        self._require("n_jobs", Integral, "an int other than 0, or None", lambda v: v != 0, none=True)
        self._require("verbose", (Integral, bool), "an int in the range [0, inf)", lambda v: v >= 0)
        for flag in ("fit_intercept", "penalize_intercept", "warm_start"):
            if not isinstance(getattr(self, flag), bool | np.bool_ | Integral):
                self._invalid(flag, "an instance of 'bool'")
        if self.device not in ("auto", "cpu", "cuda"):
            self._invalid("device", "a str among {'auto', 'cpu', 'cuda'}")
        if self.device == "cuda":
            raise NotImplementedError(f"device='cuda': {name} has no GPU solver yet; use 'auto' or 'cpu'.")
        if self.init is not None and not hasattr(getattr(self.init, "certificate_", self.init), "arrays"):
            self._invalid("init", "a fitted gapless model, its certificate_, or None")
        check_schedule(self.solver, self.schedule)

    def _require(self, name: str, kind: Any, wanted: str, good: Any, none: bool = False) -> None:
        value = getattr(self, name)
        if value is None and none:
            return
        if isinstance(value, bool) and kind is not bool and bool not in (kind if isinstance(kind, tuple) else ()):
            self._invalid(name, wanted)
        if not isinstance(value, kind) or not good(value):
            self._invalid(name, wanted)

    def _invalid(self, name: str, wanted: str) -> None:
        raise ValueError(invalid_parameter(type(self).__name__, name, wanted, getattr(self, name)))

    def _one_of(self, name: str, options: tuple[Any, ...]) -> None:
        if getattr(self, name) not in options:
            shown = ", ".join(sorted(repr(option) for option in options))
            self._invalid(name, f"a str among {{{shown}}}")

    def _solver(self) -> str:
        """ "auto", or the one that was forced."""
        return self.solver if self.solver in (*SOLVERS, *DESCENTS) else "auto"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit, certify what is returned, and warn only where the certified gap is above ``tol``.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            float32 and float64 are read as they are.
        y : array of n_samples labels of any type
        sample_weight : array of n_samples weights, optional
            A weight counts how often a row stands: 2 is the row twice, 0 is no row.
        """
        with interruptible(self) as interruption:
            self._check_parameters()
            refuse_lazy(X)
            if not ready(self, X, y):
                X, y = validate_data(
                    self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=True
                )
            task = self._task(X.dtype)
            start = self.init
            if start is None and self.warm_start and hasattr(self, "certificate_"):
                start = self.certificate_
            with watched(self) as callback:
                fitted = self._fitted(
                    task,
                    X,
                    y,
                    sample_weight,
                    feature_names=getattr(self, "feature_names_in_", None),
                    start=start,
                    callback=callback,
                    interruption=interruption,
                )
            self._take(fitted)
        if interruption.requested:
            raise KeyboardInterrupt(f"{type(self).__name__} keeps the model reached so far: {self.certificate_}")
        self._warn(fitted)
        return self

    def _take(self, fitted: Fitted) -> None:
        """The attributes of a fitted model."""
        self.classes_ = fitted.labels.classes
        self.coef_ = fitted.coef
        self.intercept_ = fitted.intercept if self.fit_intercept else np.zeros_like(fitted.intercept)
        self.certificate_ = fitted.certificate
        self.history_ = [(e.pass_, e.seconds, e.primal, *_known(e)) for e in fitted.history]
        self._scores, self._c = fitted.scores, fitted.c
        self._label_index = fitted.labels.index
        self._set_n_iter()

    def _fitted(self, task: Task, X: Any, y: Any, sample_weight: Any, **options: Any) -> Fitted:
        return fit_linear(task, X, y, sample_weight, **options)

    def _warn(self, fitted: Fitted, stacklevel: int = 4) -> None:
        """One warning a fit, last."""
        shortfall = fitted.certificate.shortfall(self.max_iter, self.time_limit)
        if shortfall is not None:
            report_convergence(shortfall, stacklevel=stacklevel)

    def _task(self, dtype: Any) -> Task:
        passes = MOST_PASSES if self.max_iter is None or self.max_iter < 0 else int(self.max_iter)
        parameters = {name: getattr(self, name) for name in _parameter_names(type(self))}  # type: ignore[arg-type]
        parameters["init"] = None  # a model to start from is not part of what was fitted
        seed = 0
        if type(self.random_state) is int:
            seed = _drawn(self.random_state)
        elif self.random_state is not None:
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return Task(
            estimator=type(self).__name__,
            parameters=parameters,
            loss=self._loss(),
            C=float(self.C),
            offset=encode_offset(self.fit_intercept, self.penalize_intercept, self.intercept_scaling),
            class_weight=self.class_weight,
            stop=Stop(float(self.tol), passes, None if self.time_limit is None else float(self.time_limit)),
            solver=self._solver(),
            n_jobs=self.n_jobs,
            dtype=np.dtype(dtype if self._keeps_float32 else np.float64),
            seed=seed,
            schedule=self.schedule,
        )

    def _set_n_iter(self) -> None:
        self.n_iter_ = self.certificate_.n_iter

    # -- prediction ------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> np.ndarray:
        """<w, x> + b: (n_samples,) for two classes, else one column a class."""
        check_is_fitted(self)
        refuse_lazy(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        scores = products_of(X, self.coef_) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest score."""
        scores = self.decision_function(X)
        index = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[index]

    def densify(self) -> Any:
        """coef_ as an array."""
        check_is_fitted(self)
        if sparse.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

    def sparsify(self) -> Any:
        """coef_ as a CSR matrix: smaller where most coefficients are 0."""
        check_is_fitted(self)
        self.coef_ = sparse.csr_matrix(self.coef_)
        return self

    # -- what a certified fit knows --------------------------------------------------------------------------

    @property
    def status_(self) -> str:
        """How the fit ended."""
        return self._certificate("status_").status

    @property
    def objective_(self) -> Objective:
        """The formula that was minimised, with its numbers."""
        return self._certificate("objective_").objective

    @property
    def alpha_(self) -> np.ndarray:
        """The dual variable of each training row (two classes: n; more: a row of n for each class)."""
        dual = np.abs(self._certificate("alpha_").arrays["dual"])
        return dual[0] if dual.shape[0] == 1 else dual

    @property
    def slack_(self) -> np.ndarray:
        """xi = max(0, 1 - yf) of each training row; NaN for rows of weight 0."""
        margins = self._margins()
        xi = np.maximum(0.0, 1.0 - margins)
        return xi[0] if xi.shape[0] == 1 else xi

    @property
    def slackness_(self) -> Slackness:
        """The complementary-slackness class of each training row, read from the dual and from the primal."""
        certificate = self._certificate("slackness_")
        margins, dual = self._margins(), np.abs(certificate.arrays["dual"])
        one = dual.shape[0] == 1
        c = np.broadcast_to(self._c, dual.shape)
        margins = np.where(c > 0, margins, 0.0)
        # With C = inf the loss is 0 or infinite, whichever it is.
        loss = "hinge" if self.C == math.inf else certificate.statement["problem"]["loss"]
        return slackness(
            dual[0] if one else dual, c[0] if one else c, margins[0] if one else margins, loss
        )  # fmt: skip

    def _margins(self) -> np.ndarray:
        if self.certificate_.statement["problem"]["loss"] == "softmax":
            raise AttributeError("softmax compares K scores: there is no margin at 1, hence no slack")
        if not hasattr(self, "_scores"):
            raise AttributeError(from_file(type(self).__name__))
        positives = [sub.positive for sub in self.certificate_.subproblems]
        y = np.where(self._label_index[None, :] == np.array(positives)[:, None], 1.0, -1.0)
        return y * self._scores

    def _certificate(self, asked: str) -> Any:
        if not hasattr(self, "certificate_"):
            raise AttributeError(f"{type(self).__name__} has no {asked} before fit")
        return self.certificate_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @classmethod
    def _from_document(cls, document: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
        """A fitted model from a document that the reader has checked."""
        model = blank_model(cls, document)
        dtype = np.dtype(document["dtype"])
        model.coef_ = np.array(arrays["coef"], dtype=dtype)
        model.intercept_ = np.array(arrays["intercept"], dtype=dtype)
        kind = GradientCertificate if document["certificate"]["kind"] == "gradient" else Certificate
        model.certificate_ = kind.from_document(document, arrays)
        model.history_ = []
        for name in ("rank", "condition"):
            if kind is GradientCertificate:
                setattr(model, f"{name}_", getattr(model.certificate_, name))
        model._set_n_iter()
        return model


def products_of(X: Any, coef: Any) -> np.ndarray:
    """X coef', dense. Rows and coefficients that are both sparse must be of one precision."""
    if sparse.issparse(X) and sparse.issparse(coef):
        X = X.astype(coef.dtype, copy=False)
    return safe_sparse_dot(X, coef.T, dense_output=True)


@lru_cache(maxsize=64)
def _drawn(random_state: int) -> int:
    """What a generator of this seed draws first: making one takes longer than a small part of a fit."""
    return int(check_random_state(random_state).randint(2**31 - 1))


@lru_cache(maxsize=64)
def _parameter_names(estimator: type) -> tuple[str, ...]:
    """As `get_params` finds them, once for each class."""
    return tuple(sorted(name for name in signature(estimator).parameters))


def from_file(name: str) -> str:
    """Why a loaded model has no figures of its training rows."""
    return (
        f"this {name} was loaded from a file, which does not hold the training rows: margins(model, X, y) recomputes what "
        "they say"
    )


def _known(event: Event) -> tuple[float, float]:
    """Dual and gap of an event; not a number where there is no dual."""
    return (event.dual, event.gap) if math.isfinite(event.dual) else (math.nan, math.nan)
