"""AdaBoost.R2: regressors that look again at what those before them predicted badly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from gapless._runtime.clock import Stopwatch
from gapless._runtime.config import report_convergence
from gapless.certificates.bagging import EnsembleCertificate, bag_block, mark_of_targets
from gapless.certificates.model_document import statement
from gapless.encode.lazy_frames import refuse_lazy
from gapless.encode.weights import check_sample_weight
from gapless.estimators.shared.boosting import Boosted
from gapless.estimators.shared.constraints import options
from gapless.estimators.shared.ensemble import taken
from gapless.estimators.shared.ensemble_trees import SharedTrees, default_tree
from gapless.fits.boosting import Clock, add_note_of_rounds, describe_failure
from gapless.solvers.boosting.rounds import compute_regression_losses, find_weighted_median
from gapless.solvers.loop import interruptible


class AdaBoostRegressor(RegressorMixin, Boosted):
    """AdaBoost.R2 (Drucker): each round draws rows by weight, fits a regressor, and lowers the weights of what it predicts well.

    With the loss L_i in [0, 1] of row i and its weighted mean e, ``b = e / (1 - e)``, weights are multiplied by
    ``b ** (learning_rate * (1 - L_i))`` and the regressor counts ``learning_rate * ln(1 / b)`` in a weighted median. Nothing
    is optimised and no bound follows.

    Parameters
    ----------
    estimator : object or None
        The base learner. None: ``DecisionTreeRegressor(max_depth=3)``.
    n_estimators : int
        Rounds at most. A mean loss of 1/2 or more ends the run, and so does one of 0.
    learning_rate : float
    loss : {"linear", "square", "exponential"}
        Of a distance: its share of the largest; that squared; or ``1 - exp`` of minus that.
    random_state : int, RandomState or None
        Draws, and seeds of the base learners.
    n_jobs : int or None
        Threads for the predictions of the learners. The bits do not depend on it.
    time_limit : float or None
        Seconds of work, compiling apart, after which no further round begins.

    Attributes
    ----------
    estimators_, estimator_weights_, estimator_errors_, estimator_, feature_importances_, n_features_in_, feature_names_in_ :
        as in scikit-learn
    stop_reason_, status_ : as of ``AdaBoostClassifier``
    certificate_ : what is claimed and can be checked: ``gapless.verify(model, X, y)``
    """

    _parameter_constraints = {**Boosted._parameter_constraints, "loss": [options("linear", "square", "exponential")]}

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        loss: str = "linear",
        random_state: Any = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.loss = loss
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.time_limit = time_limit

    def _default(self) -> Any:
        return default_tree("DecisionTreeRegressor", max_depth=3)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AdaBoostRegressor:
        """Boost.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        y : array of n_samples numbers
        sample_weight : array of n_samples weights, optional
            The probabilities of the first draw.
        """
        with interruptible(self) as interruption:
            stopwatch = Stopwatch()
            self._refuse_routing(sample_weight)
            self._check_parameters()
            refuse_lazy(X)
            X, y = validate_data(
                self, X, y, accept_sparse=["csr", "csc"], ensure_2d=True, allow_nd=True, dtype=None, y_numeric=True
            )
            if y.dtype.kind not in "biuf":
                raise ValueError(f"AdaBoostRegressor needs numbers as targets: y has the dtype {y.dtype}. Convert it.")
            clock = Clock(stopwatch, self.time_limit, interruption)
            weights = None if sample_weight is None else check_sample_weight(sample_weight, X.shape[0])
            failure = self._rounds(X, y, check_sample_weight(weights, X.shape[0]), clock)
            self._certify(X, y, weights, stopwatch)
            if hasattr(self, "certificate_"):
                self._confirm(X, y, weights)
                self.status_ = self.certificate_.status
        if failure is not None:
            raise add_note_of_rounds(failure, type(self).__name__, self.stop_reason_, len(self.estimators_))
        if interruption.requested:
            raise KeyboardInterrupt(f"{type(self).__name__} keeps the {len(self.estimators_)} rounds made so far")
        if self.status_ == "time_limit":
            report_convergence(
                f"{type(self).__name__}: {self.stop_reason_}. The model is usable; raise time_limit for more rounds.",
                stacklevel=2,
            )
        return self

    def _rounds(self, X: Any, y: Any, weights: np.ndarray, clock: Clock) -> BaseException | None:
        base, n, most = self._base(), X.shape[0], self.n_estimators
        random = check_random_state(self.random_state)
        trees = SharedTrees.build(base, X, y)
        trees = trees if trees is not None and trees.counts_stand_for_rows else None
        w = weights / weights.sum()
        counted = w > 0.0
        self.estimator_ = base
        self.estimators_: list[Any] = []
        alphas: list[float] = []
        errors: list[float] = []
        self.status_, self.stop_reason_ = "converged", f"all {most} rounds that n_estimators asks for were made"
        failure: BaseException | None = None
        for t in range(most):
            over = clock.find_status() if t else None
            if over is not None:
                self.status_ = over
                how = "time_limit came" if over == "time_limit" else "the user stopped it"
                self.stop_reason_ = f"{how} after {t} of {most} rounds"
                break
            learner = self._copy(base, random) if trees is None else trees.copy(random)
            rows = random.choice(n, size=n, replace=True, p=w)
            try:
                distance = np.abs(_fit_learner(learner, X, y, rows, trees) - y)[counted]
            except BaseException as raised:
                if t == 0 or clock.interruption.requested:  # a second Ctrl-C ends at once
                    raise
                self.status_, self.stop_reason_ = describe_failure(raised, t)
                failure = raised
                break
            loss = compute_regression_losses(distance, self.loss)
            error = float((w[counted] * loss).sum())
            if error >= 0.5 and t:
                self.status_ = "stalled"
                kept = f"the {t} rounds before it are kept"
                self.stop_reason_ = f"round {t + 1} is useless: its mean loss {error:.6g} is at least 1/2; {kept}"
                break
            alpha = self.learning_rate * math.log((1.0 - error) / error) if 0.0 < error < 0.5 else 1.0
            self.estimators_.append(learner)
            errors.append(max(error, 0.0))
            alphas.append(alpha)
            if error <= 0.0:
                self.stop_reason_ = f"the regressor of round {t + 1} makes no error"
                break
            if error >= 0.5:
                self.status_ = "stalled"
                self.stop_reason_ = (
                    f"round 1 is useless: its mean loss {error:.6g} is at least 1/2; it is kept, as it is the only one"
                )
                break
            w[counted] *= (error / (1.0 - error)) ** ((1.0 - loss) * self.learning_rate)
            total = w.sum()
            if not 0.0 < total < math.inf:
                self.status_ = "not_finite"
                self.stop_reason_ = f"the weights of round {t + 2} are not finite, or all 0"
                break
            w /= total
        self.estimator_weights_, self.estimator_errors_ = np.array(alphas), np.array(errors)
        return failure

    def _certify(self, X: Any, y: np.ndarray, weights: np.ndarray | None, stopwatch: Stopwatch) -> None:
        """What can be said of a run that bounds nothing: the data, the losses, the stage weights."""
        self.__dict__.pop("certificate_", None)
        if getattr(X, "ndim", 2) != 2:
            return
        try:
            mark = mark_of_targets(X, y, weights)
        except (TypeError, ValueError) as error:  # no matrix of numbers: nobody could check anything
            if type(error) not in (TypeError, ValueError):  # of the handler of a signal
                raise
            return
        members, (n, d) = len(self.estimators_), X.shape
        problem = bag_block(members, n, d, "i" if y.dtype.kind in "iu" else "f")
        told = statement(
            type(self).__name__, self.get_params(deep=False), None, d, problem, feature_names=self._names()
        )
        arrays = {
            "seeds": np.empty(0, dtype=np.int64),
            "errors": self.estimator_errors_,
            "stage_weights": self.estimator_weights_,
        }
        self.certificate_ = EnsembleCertificate(
            status=self.status_, reason=self.stop_reason_, in_bag_probability=None, in_bag_share=None, estimate=None,
            estimated=None, seconds=stopwatch.seconds, compile_seconds=stopwatch.compile_seconds, fingerprint=mark,
            statement={**told, "learners": None}, arrays=arrays,
        )  # fmt: skip

    def _arrays_now(self) -> dict[str, np.ndarray]:
        return {"errors": self.estimator_errors_, "stage_weights": self.estimator_weights_}

    @classmethod
    def _from_document(cls, document: Any, arrays: dict[str, np.ndarray], learners: list[Any]) -> AdaBoostRegressor:
        model: Any = cls._blank(document, learners)
        certificate = EnsembleCertificate.from_document(document, arrays)
        model.certificate_ = replace(certificate, statement={**certificate.statement, "learners": None})
        model.estimator_errors_, model.estimator_weights_ = arrays["errors"], arrays["stage_weights"]
        model.status_, model.stop_reason_ = certificate.status, certificate.reason
        model.estimators_, model.estimator_ = learners, model._base()
        if len(learners) != model.estimator_errors_.size:
            raise ValueError("the document has not all its learners")
        return model

    def predict(self, X: Any) -> np.ndarray:
        """The weighted median of the rounds' predictions."""
        check_is_fitted(self, "estimator_weights_")
        X = self._read(X)
        return find_weighted_median(np.column_stack([e.predict(X) for e in self.estimators_]), self.estimator_weights_)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """``predict`` after each round."""
        check_is_fitted(self, "estimator_weights_")
        X = self._read(X)
        found: list[np.ndarray] = []
        for learner in self.estimators_:
            found.append(learner.predict(X))
            yield find_weighted_median(np.column_stack(found), self.estimator_weights_)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """R squared after each round."""
        from sklearn.metrics import r2_score  # takes 0.1 s to load

        for predicted in self.staged_predict(X):
            yield float(r2_score(y, predicted, sample_weight=sample_weight))


def _fit_learner(learner: Any, X: Any, y: np.ndarray, rows: np.ndarray, trees: SharedTrees | None) -> np.ndarray:
    """Fit a learner to the rows that were drawn; what it predicts for all rows. Trees count how often each row was drawn."""
    if trees is None:
        learner.fit(taken(X, rows), taken(y, rows))
        return np.asarray(learner.predict(X))
    trees.fit(learner, np.bincount(rows, minlength=y.shape[0]), lambda: None)
    return trees.predict(learner)
