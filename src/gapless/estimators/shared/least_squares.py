"""What LinearRegression, Ridge and LeastSquaresClassifier share: parameters, reading of the data, and certified attributes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import assert_all_finite, check_is_fitted, validate_data

from gapless._runtime.config import report_convergence
from gapless.certificates.least_squares import LeastSquaresCertificate, worst_status
from gapless.certificates.model_document import encode_float, statement
from gapless.errors import IllConditionedWarning, listed
from gapless.fits.blocks.given import note_columns
from gapless.fits.blocks.least_squares import BlockData, fit_least_squares_blocks
from gapless.fits.frame import TRUSTED_CONDITION
from gapless.fits.least_squares import LeastSquaresData, LeastSquaresFit, LeastSquaresTask, fit_least_squares
from gapless.solvers.descent.as_solver import DESCENTS, check_schedule
from gapless.solvers.descent.least_squares import DEFAULT_PASSES
from gapless.solvers.least_squares.answer import Answer
from gapless.solvers.loop import Interruption

from .certified_model import CoefficientModel, OptimisedModel
from .constraints import booleans, integer, nothing, number, options, shared
from .loading import blank_model

#: Raises scikit-learn's error if there is NaN or infinity in X; None where that was done.
Look = Callable[[], None] | None


class LeastSquaresModel(CoefficientModel, OptimisedModel, BaseEstimator):
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
        """X, y, and the function that looks for NaN and infinity in X. From ``many`` values on it is called only where sums of X
        are not finite, for it takes as long as any other pass over X."""
        many = 1 << 20
        plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype in (np.float64, np.float32)
        later = plain and X.size >= many
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
        self, data: LeastSquaresData, alpha: np.ndarray, interruption: Interruption, columns_of_y: int | None = None
    ) -> Answer:
        """Set certificate_ and the attributes that follow from it; the answer in float64."""
        fitted = fit_least_squares(self._task(alpha), data, interruption)
        about = BlockData(data.X.shape[1], columns_of_y, data.feature_names, data.labels, data.class_weight)
        answer = self._adopt(fitted, about, alpha)
        y = data.Y if data.labels is None else data.labels.classes[data.labels.index]
        self._confirm(data.X, y, data.sample_weight)
        return answer

    def _fit_blocks(
        self, walk: Any, alphas: Callable[[int], np.ndarray], interruption: Interruption, **of_classes: Any
    ) -> Answer:
        """The same for rows in blocks; ``alphas`` gives the penalties of so many targets."""
        fitted, about, task = fit_least_squares_blocks(
            lambda targets: self._task(alphas(targets)), walk, interruption, n_jobs=self.n_jobs, **of_classes
        )
        note_columns(self, walk)
        return self._adopt(fitted, about, task.alpha)

    def _adopt(self, fitted: LeastSquaresFit, data: BlockData, alpha: np.ndarray) -> Answer:
        answer, dtype = fitted.answer, fitted.arrays["coef"].dtype
        self.certificate_ = LeastSquaresCertificate(
            kind="gap" if "dual" in fitted.arrays else "orthogonality",
            status=worst_status(fitted.targets),
            tol=float(self.tol),
            targets=fitted.targets,
            rank=answer.rank,
            condition=answer.condition,
            n_iter=answer.n_iter,
            seconds=fitted.stopwatch.seconds,
            compile_seconds=fitted.stopwatch.compile_seconds,
            backend=fitted.backend,
            solver=answer.method,
            fingerprint=fitted.fingerprint,
            statement=self._statement(data, alpha, dtype, fitted.common),
            arrays=fitted.arrays,
        )
        if data.labels is not None:
            self.classes_ = data.labels.classes
        self._take_model()
        return answer

    def _data(self, X: Any, Y: np.ndarray, sample_weight: Any, look: Look, **of_classes: Any) -> LeastSquaresData:
        return LeastSquaresData(X, Y, sample_weight, look, getattr(self, "feature_names_in_", None), **of_classes)

    def _task(self, alpha: np.ndarray) -> LeastSquaresTask:
        seed = 0
        if self.solver in DESCENTS and self.random_state is not None:
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return LeastSquaresTask(
            alpha, bool(self.fit_intercept), float(self.tol), self.solver, self.schedule, seed,
            None if self.max_iter is None else int(self.max_iter),
            None if self.time_limit is None else float(self.time_limit), self.n_jobs,
        )  # fmt: skip

    def _take_model(self) -> None:
        """Set the attributes that follow from certificate_, in scikit-learn's shapes."""
        self.condition_ = self.certificate_.condition

    def _statement(
        self,
        data: BlockData,
        alpha: np.ndarray,
        dtype: np.dtype,
        common: np.ndarray | None,
    ) -> dict[str, Any]:
        labels, class_weight = data.labels, data.class_weight
        problem = {
            "loss": "squared",
            "offset": "free" if self.fit_intercept else "none",
            "alpha": [encode_float(a) for a in alpha],
            "class_weight": None if class_weight is None else [encode_float(w) for w in class_weight],
            "columns_of_y": data.columns_of_y,
        }
        if common is not None:
            problem["common_part"] = common.tolist()
        parameters = self.get_params(deep=False)
        if np.ndim(parameters.get("alpha", 0.0)) > 0:
            parameters["alpha"] = alpha.tolist()
        return statement(
            type(self).__name__, parameters, None if labels is None else labels.classes, data.n_features,
            problem, feature_names=data.feature_names, dtype=dtype,
        )  # fmt: skip

    def _close(self, answer: Answer, interruption: Interruption) -> None:
        """Pass on a Ctrl-C, or give one warning. This comes last, when every attribute is set."""
        self._raise_interruption(interruption)
        most = DEFAULT_PASSES if self.max_iter is None and self.solver in DESCENTS else self.max_iter
        shortfall = self.certificate_.shortfall(most, self.time_limit)
        if shortfall is not None:
            report_convergence(f"{shortfall} {answer.note}".rstrip(), stacklevel=4)
        elif answer.dependent is not None:
            warnings.warn(self._dependent(answer.dependent), IllConditionedWarning, stacklevel=3)
        elif answer.weak is not None and len(answer.weak):
            warnings.warn(self._ill_conditioned(answer.weak), IllConditionedWarning, stacklevel=3)

    def _names(self, columns: np.ndarray) -> list[Any]:
        names = getattr(self, "feature_names_in_", None)
        return [str(names[j]) if names is not None else j for j in columns.tolist()]

    def _dependent(self, columns: np.ndarray) -> str:
        rank, d = self.certificate_.rank, self.n_features_in_
        return (
            f"the columns {listed(self._names(columns))} are linearly dependent up to rounding (rank {rank} of {d} "
            f"columns): of all coefficients with these predictions coef_ has those of least norm. Remove one of these "
            "columns, or use Ridge."
        )

    def _ill_conditioned(self, weak: np.ndarray) -> str:
        most_named = 6
        size = np.abs(weak).max(axis=0)
        found = np.flatnonzero(size >= 0.1 * size.max())
        found = np.sort(found[np.argsort(-size[found], kind="stable")][:most_named])
        return (
            f"the columns {listed(self._names(found))} are nearly collinear: the condition of X is "
            f"{self.condition_:.1e} (columns scaled to equal length), above {TRUSTED_CONDITION:.0e}, so that digits of coef_ "
            "that are shown can be wrong. Predictions hold the residual orthogonality of certificate_. "
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


def as_columns(y: np.ndarray) -> np.ndarray:
    """Targets (n, K) in float64."""
    y = np.asarray(y, dtype=np.float64)
    return np.ascontiguousarray(y.reshape(y.shape[0], -1))
