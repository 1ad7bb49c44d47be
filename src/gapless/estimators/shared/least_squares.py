"""What LinearRegression, Ridge and LeastSquaresClassifier share: read, encode, solve, certify, decode."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import assert_all_finite, check_is_fitted, validate_data

from gapless._runtime.clock import Stopwatch
from gapless._runtime.config import report_convergence
from gapless._runtime.threads import in_background, one_blas_thread, thread_team
from gapless.certificates.fingerprint import fingerprint
from gapless.certificates.least_squares import (
    LeastSquaresCertificate,
    certify_least_squares,
    target_fingerprint,
    worst_status,
)
from gapless.certificates.model_document import encode_float, statement
from gapless.encode.labels import Labels
from gapless.encode.weights import check_sample_weight
from gapless.errors import IllConditionedWarning, listed
from gapless.problems.least_squares import LeastSquares
from gapless.solvers.descent.as_solver import DESCENTS, check_schedule
from gapless.solvers.descent.least_squares import PASSES, descend_least_squares
from gapless.solvers.least_squares.answer import Answer, Clock
from gapless.solvers.least_squares.solve import solve
from gapless.solvers.loop import Interruption, Stop

from .certified_model import OptimisedModel
from .constraints import booleans, integer, nothing, number, options, shared
from .loading import blank_model

#: Above this condition of the equilibrated columns the eight digits that numpy prints are no longer sure.
TRUSTED = 1e8
#: The most columns that a warning names.
NAMED = 6
#: Values from which a look at each of them is to be avoided.
MANY = 1 << 20
#: Raises scikit-learn's error if there is NaN or infinity in X; None where that was done.
Look = Callable[[], None] | None


class LeastSquaresModel(OptimisedModel, BaseEstimator):
    """The fit and the attributes; a subclass gives its parameters and its targets."""

    coef_: np.ndarray
    intercept_: Any
    certificate_: LeastSquaresCertificate
    condition_: float

    def __init__(
        self,
        fit_intercept: bool,
        copy_X: bool,
        tol: float,
        time_limit: float | None,
        n_jobs: int | None,
        device: str,
        solver: str,
        max_iter: int | None,
        schedule: Any,
        random_state: Any,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.device = device
        self.solver = solver
        self.max_iter = max_iter
        self.schedule = schedule
        self.random_state = random_state

    # -- parameters ------------------------------------------------------------------------------------------------

    _parameter_constraints = {
        **booleans("fit_intercept", "copy_X"),
        "tol": [number(0.0, closed="left")],
        **shared("time_limit", "n_jobs", "device"),
        "max_iter": [integer(1), nothing()],
        "solver": [options("auto", *DESCENTS)],
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_schedule(self.solver, self.schedule)
        if getattr(self, "positive", False):
            name = type(self).__name__
            raise NotImplementedError(f"positive=True is not offered; use sklearn.linear_model.{name}(positive=True).")

    # -- fit -------------------------------------------------------------------------------------------------------

    def _read(self, X: Any, y: Any, **options: Any) -> tuple[Any, np.ndarray, Look]:
        """X and y, and what looks for NaN and infinity in X: many values are looked at only where their sums are not
        finite, for it takes as long as any other pass over them."""
        plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype in (np.float64, np.float32)
        later = plain and X.size >= MANY
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            accept_large_sparse=True,
            ensure_all_finite=not later,
            **options,
        )
        name = type(self).__name__
        return X, y, (lambda: assert_all_finite(X, estimator_name=name, input_name="X")) if later else None

    def _fit(
        self,
        X: Any,
        Y: np.ndarray,
        sample_weight: Any,
        alpha: np.ndarray,
        look: Look,
        interruption: Interruption,
        *,
        labels: Labels | None = None,
        class_weight: np.ndarray | None = None,
        columns_of_y: int | None = None,
    ) -> Answer:
        """Sets certificate_ and what follows from it; returns the answer in float64."""
        stopwatch = Stopwatch()
        n = X.shape[0]
        weights = check_sample_weight(sample_weight, n)
        whole, targets_of_whole, given = X, Y, None if sample_weight is None else weights

        def named() -> dict[str, Any]:
            if labels is None:
                return target_fingerprint(whole, targets_of_whole, given)
            return fingerprint(whole, labels.index, given)

        s = weights if class_weight is None or labels is None else weights * class_weight[labels.index]
        uniform = sample_weight is None and s is weights
        keep = None if uniform or (s > 0.0).all() else np.flatnonzero(s > 0.0)
        if keep is not None:
            if look is not None:
                look()  # the rows that are left out count too
            X, Y, s, look = X[keep], Y[keep], s[keep], None
        plain: np.ndarray | None = None if uniform or (s == 1.0).all() else s
        tol = float(self.tol)
        passes = None if self.max_iter is None else int(self.max_iter)
        dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
        with (
            one_blas_thread(),
            thread_team(self.n_jobs),
            np.errstate(under="ignore", over="ignore", invalid="ignore", divide="ignore"),
        ):
            marks = in_background(named)
            problem = LeastSquares.build(X, Y, plain, alpha, bool(self.fit_intercept), self.n_jobs, look)
            seconds = None if self.time_limit is None else float(self.time_limit)
            clock = Clock(Stop(tol, passes or 0, seconds), interruption=interruption, started=stopwatch.started)
            try:
                if self.solver in DESCENTS:
                    answer = self._descended(problem, clock, tol, passes)
                else:
                    answer = solve(problem, clock, tol=tol, trusted=TRUSTED, passes=passes)
            except (ValueError, np.linalg.LinAlgError):  # of what LAPACK makes of infinite sums
                if look is not None:
                    look()
                self._refuse_overflow(problem, X)
                raise
            if look is not None and answer.status != "converged":
                look()  # time was over before a sum was made
            # The certificate speaks of what is returned: float32 coefficients where X is float32.
            coef, intercept = np.ascontiguousarray(answer.W.T).astype(dtype), answer.b.astype(dtype)
            targets, dual = certify_least_squares(problem, (answer.W, answer.b), answer.status, tol=tol, dtype=dtype)
            fingerprints = marks()
            if any(each.status in ("stalled", "not_finite") for each in targets):
                self._refuse_overflow(problem, X)
        arrays = {"coef": coef, "intercept": intercept}
        if dual is not None:
            full = dual if keep is None else np.zeros((dual.shape[0], n))
            if keep is not None:
                full[:, keep] = dual
            arrays["dual"] = full
        self.certificate_ = LeastSquaresCertificate(
            kind="orthogonality" if dual is None else "gap",
            status=worst_status(targets),
            tol=tol,
            targets=targets,
            rank=answer.rank,
            condition=answer.condition,
            n_iter=answer.n_iter,
            seconds=stopwatch.seconds,
            compile_seconds=stopwatch.compile_seconds,
            solver=answer.method,
            fingerprint=fingerprints,
            statement=self._statement(X.shape[1], alpha, dtype, labels, class_weight, columns_of_y),
            arrays=arrays,
        )
        if labels is not None:
            self.classes_ = labels.classes
        self._take_model()
        return answer

    def _descended(self, problem: LeastSquares, clock: Clock, tol: float, passes: int | None) -> Answer:
        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        return descend_least_squares(
            problem, clock, self.solver, tol=tol, schedule=self.schedule, seed=seed, passes=passes
        )  # fmt: skip

    def _take_model(self) -> None:
        """Sets the attributes that follow from certificate_: those of scikit-learn, in its shapes."""
        self.condition_ = self.certificate_.condition

    def _statement(
        self,
        d: int,
        alpha: np.ndarray,
        dtype: np.dtype,
        labels: Labels | None,
        class_weight: np.ndarray | None,
        columns_of_y: int | None,
    ) -> dict[str, Any]:
        problem = {
            "loss": "squared",
            "offset": "free" if self.fit_intercept else "none",
            "alpha": [encode_float(a) for a in alpha],
            "class_weight": None if class_weight is None else [encode_float(w) for w in class_weight],
            "columns_of_y": columns_of_y,
        }
        parameters = self.get_params(deep=False)
        if np.ndim(parameters.get("alpha", 0.0)) > 0:
            parameters["alpha"] = alpha.tolist()
        return statement(
            type(self).__name__, parameters, None if labels is None else labels.classes, d, problem,
            feature_names=getattr(self, "feature_names_in_", None), dtype=dtype,
        )  # fmt: skip

    def _close(self, answer: Answer, interruption: Interruption) -> None:
        """Interruption, warnings: last, when every attribute stands. One warning a fit."""
        self._raise_interruption(interruption)
        most = PASSES if self.max_iter is None and self.solver in DESCENTS else self.max_iter
        shortfall = self.certificate_.shortfall(most, self.time_limit)
        if shortfall is not None:
            report_convergence(f"{shortfall} {answer.note}".rstrip(), stacklevel=4)
        elif answer.dependent is not None:
            warnings.warn(self._dependent(answer.dependent), IllConditionedWarning, stacklevel=3)
        elif answer.weak is not None and len(answer.weak):
            warnings.warn(self._ill_conditioned(answer.weak), IllConditionedWarning, stacklevel=3)

    def _refuse_overflow(self, problem: LeastSquares, X: Any) -> None:
        """A sum of squares beyond float64 is said, with the column."""
        advice = "divide by a number of their size (sklearn.preprocessing.MaxAbsScaler does)"
        found = np.flatnonzero(~np.isfinite(problem.columns.raw))
        if found.size:
            j = int(found[0])
            names = getattr(self, "feature_names_in_", None)
            column = repr(str(names[j])) if names is not None else str(j)
            raise ValueError(
                f"the values of column {column} of X reach {abs(X[:, [j]]).max():.1e}: their squares are beyond float64; {advice}"
            )
        if not np.isfinite((problem.Y * problem.Y).sum()):
            most = float(np.abs(problem.Y).max())
            raise ValueError(f"the values of y reach {most:.1e}: their squares are beyond float64; {advice}")

    def _names(self, columns: np.ndarray) -> list[Any]:
        names = getattr(self, "feature_names_in_", None)
        return [str(names[j]) if names is not None else j for j in columns.tolist()]

    def _dependent(self, columns: np.ndarray) -> str:
        rank, d = self.certificate_.rank, self.n_features_in_
        return (
            f"the columns {listed(self._names(columns), NAMED)} are linearly dependent up to rounding (rank {rank} of {d} "
            f"columns): of all coefficients with these predictions coef_ has those of least norm. Remove one of these "
            "columns, or use Ridge."
        )

    def _ill_conditioned(self, weak: np.ndarray) -> str:
        size = np.abs(weak).max(axis=0)
        found = np.flatnonzero(size >= 0.1 * size.max())
        found = np.sort(found[np.argsort(-size[found], kind="stable")][:NAMED])
        return (
            f"the columns {listed(self._names(found), NAMED)} are nearly collinear: the condition of X is "
            f"{self.condition_:.1e} (columns scaled to equal length), above {TRUSTED:.0e}, so that digits of coef_ that "
            "are shown can be wrong. Predictions hold the residual orthogonality of certificate_. "
            "Remove one of these columns, or use Ridge."
        )

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_

    @classmethod
    def _from_document(cls, document: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
        """A fitted model from a document that the reader has checked."""
        model = blank_model(cls, document)
        model.certificate_ = LeastSquaresCertificate.from_document(document, arrays)
        model._take_model()
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def two_dimensional(y: np.ndarray) -> np.ndarray:
    """Targets (n, K) in float64."""
    y = np.asarray(y, dtype=np.float64)
    return np.ascontiguousarray(y.reshape(y.shape[0], -1))
