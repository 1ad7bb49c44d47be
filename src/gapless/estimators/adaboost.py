"""AdaBoost: classifiers that look again at what those before them got wrong."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from gapless._runtime.clock import Stopwatch
from gapless._runtime.config import report_convergence
from gapless._runtime.threads import thread_team
from gapless.certificates.boosting import BoostingCertificate
from gapless.certificates.fingerprint import fingerprint
from gapless.encode.labels import Labels, encode_labels
from gapless.encode.lazy_frames import refuse_lazy
from gapless.encode.weights import check_sample_weight, weightless_classes
from gapless.estimators.shared.boosting import Boosted
from gapless.estimators.shared.ensemble import SEEDS, taken, takes_weights
from gapless.estimators.shared.ensemble_trees import default_tree, is_tree, stump_tree
from gapless.fits.boosting import Clock, Run, add_note_of_rounds, boost, boost_stumps, certify_rounds
from gapless.solvers.boosting.rounds import Rounds, order_by_class
from gapless.solvers.boosting.stumps import Stumps, sum_votes
from gapless.solvers.boosting.votes import (
    add_votes,
    compute_probabilities,
    compute_scores,
    empty_votes,
    find_class_index,
)
from gapless.solvers.loop import interruptible


class AdaBoostClassifier(ClassifierMixin, Boosted):
    """AdaBoost for two classes, SAMME for more: each round fits a learner to weights that were raised where the last one erred.

    With the weights d_t of round t and the weight e_t that its learner gets wrong, the learner's vote counts
    ``a_t = learning_rate * (ln((1 - e_t) / e_t) + ln(K - 1))``, the weights of its mistakes are multiplied by ``exp(a_t)``,
    and the
    weighted training error of the vote is at most ``Z_1 * ... * Z_t`` after every round. ``certificate_`` has these numbers,
    the margins
    and what they can be at best, and ``gapless.verify`` checks them. They bound the error on the training rows, not on new ones.

    Parameters
    ----------
    estimator : object or None
        The base learner. None is a stump (``DecisionTreeClassifier(max_depth=1)``), for which thresholds are prepared once;
        up to 65,536
        rows they are all midpoints of neighbouring values, beyond that features with more than 256 values get 255 quantiles. A
        learner whose ``fit`` takes no ``sample_weight`` gets rows drawn by weight (scikit-learn refuses it).
    n_estimators : int
        Rounds at most. A learner without mistakes ends the run, and so does one that is no better than guessing; if that is the
        first, the model is the heaviest class, with a ConvergenceWarning and no certificate (scikit-learn raises an error).
    learning_rate : float
    random_state : int, RandomState or None
        Seeds of the base learners, and draws. Stumps need none: of equal splits they take the first.
    n_jobs : int or None
        Threads over the features of stumps. The bits do not depend on it.
    time_limit : float or None
        Seconds of work, compiling apart, after which no further round begins.

    Attributes
    ----------
    estimators_ : list of classifiers
    estimator_weights_ : array with the a_t. The two-class literature's stage weight is half of that.
    estimator_errors_ : array with the e_t. Both have one number for each round that was made.
    classes_, n_classes_, n_features_in_, feature_names_in_, feature_importances_, estimator_ : as in scikit-learn
    certificate_ : kind "bound": what is claimed and can be checked
    stop_reason_ : why no further round was made, in words
    status_ : "converged" after the last round or a perfect learner, "stalled" after a useless or failing one, "time_limit", ...
    """

    classes_: np.ndarray
    certificate_: BoostingCertificate

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        random_state: Any = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.time_limit = time_limit

    def _default(self) -> Any:
        return default_tree("DecisionTreeClassifier", max_depth=1)

    def _boosts_stumps(self) -> bool:
        """Whether the base learner is a tree of ours with one split and no other parameter set."""
        if self.estimator is None:
            return True
        if not is_tree(self.estimator) or type(self.estimator).__name__ != "DecisionTreeClassifier":
            return False
        given = {**self.estimator.get_params(), "random_state": None}
        return given == type(self.estimator)(max_depth=1).get_params()

    # -- fit -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AdaBoostClassifier:
        """Boost, and certify what came of it.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        y : array of n_samples labels of any type
        sample_weight : array of n_samples weights, optional
            The weights of the first round. A row of weight 0 is no row.
        """
        with interruptible(self) as interruption:
            stopwatch = Stopwatch()
            self._refuse_routing(sample_weight)
            self._check_parameters()
            refuse_lazy(X)
            clock = Clock(stopwatch, self.time_limit, interruption)
            with thread_team(self.n_jobs):
                run = self._run(X, y, sample_weight, clock, stopwatch)
        if run.status == "not_finite":
            warnings.warn(
                f"Sample weights have reached infinite values, at iteration {len(run.rounds) - 1}, causing overflow. Iterations "
                "stopped. Try lowering the learning rate.",
                stacklevel=2,
            )
        if not run.kept:
            report_convergence(f"{type(self).__name__}: {run.reason}. There is nothing to certify.", stacklevel=2)
        if run.failure is not None:
            raise add_note_of_rounds(run.failure, type(self).__name__, run.reason, len(run.rounds))
        if interruption.requested:
            raise KeyboardInterrupt(f"{type(self).__name__} keeps the {len(run.rounds)} rounds made so far")
        if run.status == "time_limit":
            report_convergence(
                f"{type(self).__name__}: {run.reason}. The model is usable; raise time_limit for more rounds.",
                stacklevel=2,
            )
        return self

    def _run(self, X: Any, y: Any, sample_weight: Any, clock: Clock, stopwatch: Stopwatch) -> Run:
        stumps_do = self._boosts_stumps()
        wanted: Any = [np.float64, np.float32] if stumps_do else None
        X, y = validate_data(
            self, X, y, accept_sparse=["csr", "csc"], ensure_2d=True, allow_nd=not stumps_do, dtype=wanted
        )
        labels = encode_labels(y)
        weights = None if sample_weight is None else check_sample_weight(sample_weight, X.shape[0])
        weightless_classes(labels, check_sample_weight(weights, X.shape[0]), np.ones(labels.n_classes))
        K, classes = labels.n_classes, labels.classes
        mark = _mark(X, labels, weights)
        for stale in ("_stumps", "_seeds", "_learners", "certificate_"):
            self.__dict__.pop(stale, None)
        if stumps_do:
            index = labels.index.astype(np.uint8 if K <= 256 else np.int32)
            del labels, y  # eight bytes a row, for the length of the fit
            run, self._stumps, extra = boost_stumps(X, index, K, weights, self.learning_rate, self.n_estimators, clock)
            self._seeds = check_random_state(self.random_state).randint(SEEDS, size=len(run.kept))
        else:
            run, answers = self._boost_learners(X, y, labels, weights, clock)
            self._learners, extra = run.kept, {"answers": answers}
        self.classes_, self.n_classes_ = classes, K
        self._keep(run)
        if mark is not None and run.kept:
            uniform = weights is None or bool((weights == weights[0]).all())
            learner = "stump" if stumps_do else "other"
            self.certificate_ = certify_rounds(
                self, run, mark, extra, learner=learner, uniform=uniform, stopwatch=stopwatch
            )
            self._confirm(X, classes[index] if stumps_do else y, weights)
            self.status_ = self.certificate_.status
        return run

    def _keep(self, run: Run) -> None:
        self.estimator_weights_ = np.array(run.rounds.alphas)
        self.estimator_errors_ = np.array(run.rounds.errors)
        self._heaviest = run.rounds.find_heaviest_class()
        self.status_, self.stop_reason_ = run.status, run.reason

    def _boost_learners(
        self, X: Any, y: Any, labels: Labels, weights: np.ndarray | None, clock: Clock
    ) -> tuple[Run, np.ndarray]:
        base, K, n = self._base(), labels.n_classes, X.shape[0]
        random = check_random_state(self.random_state)
        weighted = takes_weights(base)
        there = None if weights is None or (weights > 0.0).all() else np.flatnonzero(weights > 0.0)
        order, starts = order_by_class(labels.index, K, there)
        rounds = Rounds(starts, None if weights is None else weights[order], self.learning_rate)
        given: list[np.ndarray] = []
        now = np.zeros(n)

        def propose(t: int) -> tuple[np.ndarray, Any]:
            learner = self._copy(base, random)
            now[order] = rounds.weights
            if weighted:
                learner.fit(X, y, sample_weight=now.copy())
            else:
                rows = random.choice(n, size=n, replace=True, p=now / now.sum())
                learner.fit(taken(X, rows), taken(y, rows))
            answer = find_class_index(learner.predict(X), labels.classes).astype(np.uint8 if K < 256 else np.uint16)
            given.append(answer)
            return answer[order].astype(np.uint16), learner  # as stumps answer: kernels are compiled for one type

        run = boost(rounds, self.n_estimators, propose, clock)
        return run, np.array(given[: len(run.kept)])

    @property
    def estimator_(self) -> Any:
        check_is_fitted(self, "estimator_weights_")
        return self._base()

    @property
    def estimators_(self) -> list[Any]:
        """The classifiers of the rounds. Stumps become trees when they are first asked for."""
        check_is_fitted(self, "estimator_weights_")
        if "_learners" not in self.__dict__:
            base = self._base()
            self._learners = [stump_tree(base, self._stumps, t, self) for t in range(self._stumps.feature.size)]
            for learner, seed in zip(self._learners, self.__dict__.get("_seeds", ())):
                learner.set_params(random_state=int(seed))  # scikit-learn's, though a stump draws nothing
        return self._learners

    @property
    def feature_importances_(self) -> np.ndarray:
        """The mean of the learners' importances, by stage weight; of a stump all of it is its feature's."""
        stumps = self.__dict__.get("_stumps")
        if stumps is None:
            return super().feature_importances_
        found = np.zeros(self.n_features_in_)
        helps = stumps.find_useful_splits()
        np.add.at(found, stumps.feature[helps], self.estimator_weights_[helps])
        return found / (self.estimator_weights_.sum() or 1.0)

    # -- files -----------------------------------------------------------------------------------------------

    def _to_save(self) -> list[Any] | None:
        return None if "_stumps" in self.__dict__ else list(self.estimators_)

    def _arrays_now(self) -> dict[str, np.ndarray]:
        now = {"errors": self.estimator_errors_, "stage_weights": self.estimator_weights_}
        return now | (self._stumps._asdict() if "_stumps" in self.__dict__ else {})

    @classmethod
    def _from_document(cls, document: Any, arrays: dict[str, np.ndarray], learners: list[Any]) -> AdaBoostClassifier:
        model: Any = cls._blank(document, learners)
        certificate = BoostingCertificate.from_document(document, arrays)
        model.certificate_ = replace(certificate, statement={**certificate.statement, "learners": None})
        model.n_classes_ = len(model.classes_)
        model.estimator_errors_, model.estimator_weights_ = arrays["errors"], arrays["stage_weights"]
        model.status_, model.stop_reason_ = certificate.status, certificate.reason
        if document["problem"]["learner"] == "stump":
            model._stumps = Stumps(*(arrays[name] for name in Stumps._fields))
        elif len(learners) != len(arrays["errors"]):
            raise ValueError("the document has no learners")
        else:
            model._learners = learners
        return model

    # -- predict ---------------------------------------------------------------------------------------------

    def _each_answer(self, X: Any) -> Iterator[np.ndarray]:
        """Class indices that the rounds give the rows, one round after the other."""
        stumps = self.__dict__.get("_stumps")
        if stumps is None:
            for learner in self.estimators_:
                yield find_class_index(learner.predict(X), self.classes_)
            return
        X = X.tocsc() if hasattr(X, "tocsc") else X
        for t in range(stumps.feature.size):
            yield stumps.answer_round(t, X)

    def _votes(self, X: Any) -> np.ndarray:
        if not self.estimator_weights_.size:  # the first round was useless: one vote for the heaviest class
            total = empty_votes(X.shape[0], self.n_classes_)
            add_votes(total, np.full(X.shape[0], self._heaviest), 1.0)
            return total
        stumps = self.__dict__.get("_stumps")
        if stumps is not None:
            with thread_team(self.n_jobs):
                return sum_votes(stumps, self.estimator_weights_, X, self.n_classes_)
        total = empty_votes(X.shape[0], self.n_classes_)
        for answer, alpha in zip(self._each_answer(X), self.estimator_weights_):
            add_votes(total, answer, alpha)
        return total

    def _read(self, X: Any) -> Any:
        if self.__dict__.get("_stumps") is None:
            return super()._read(X)
        return validate_data(self, X, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32], reset=False)

    def decision_function(self, X: Any) -> np.ndarray:
        """scikit-learn's score: two classes 2 * (votes for ``classes_[1]`` less those against) / (all votes), of shape
        (n_samples,); more classes the share of votes of each, from -1/(K - 1) for none to 1 for all.
        """
        check_is_fitted(self, "estimator_weights_")
        total = self._votes(self._read(X))
        # in order, to the bit
        mass = float(np.cumsum(self.estimator_weights_)[-1]) if self.estimator_weights_.size else 1.0
        return compute_scores(total, mass, self.n_classes_)

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """``decision_function`` after each round."""
        check_is_fitted(self, "estimator_weights_")
        X = self._read(X)
        total = empty_votes(X.shape[0], self.n_classes_)
        mass = 0.0
        for answer, alpha in zip(self._each_answer(X), self.estimator_weights_):
            add_votes(total, answer, alpha)
            mass += float(alpha)
            yield compute_scores(total, mass, self.n_classes_)

    def _decode(self, decision: np.ndarray) -> np.ndarray:
        index = (decision > 0.0).astype(np.intp) if self.n_classes_ == 2 else np.argmax(decision, axis=1)
        return np.take(self.classes_, index, axis=0)

    def predict(self, X: Any) -> np.ndarray:
        """The class with the most votes; of equal ones the first."""
        return self._decode(self.decision_function(X))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """``predict`` after each round."""
        for decision in self.staged_decision_function(X):
            yield self._decode(decision)

    def predict_proba(self, X: Any) -> np.ndarray:
        """scikit-learn's softmax of the scores. It orders the classes; it estimates no probability."""
        return compute_probabilities(self.decision_function(X), self.n_classes_)

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """``predict_proba`` after each round."""
        for decision in self.staged_decision_function(X):
            yield compute_probabilities(decision, self.n_classes_)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of ``predict_proba``."""
        return np.log(self.predict_proba(X))

    def staged_weights(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[np.ndarray]:
        """The weights of the rows after each round, with sum 1: those of the rows that the round got wrong have grown.

        On the training rows these are the weights that the next round was fitted to (with resampling, drawn from).
        """
        check_is_fitted(self, "estimator_weights_")
        X, truth = self._read(X), np.asarray(y)
        weights = np.ones(truth.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        grown = np.zeros(truth.shape[0])
        for answer, alpha in zip(self._each_answer(X), self.estimator_weights_):
            grown += alpha * (self.classes_[answer] != truth)
            now = weights * np.exp(grown - grown.max())
            yield now / now.sum()

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Accuracy after each round."""
        from sklearn.metrics import accuracy_score  # takes 0.1 s to load

        for predicted in self.staged_predict(X):
            yield float(accuracy_score(y, predicted, sample_weight=sample_weight))


def _mark(X: Any, labels: Labels, weights: np.ndarray | None) -> dict[str, Any] | None:
    """The fingerprint; None where X is no matrix of numbers, of which nothing could be checked later."""
    if getattr(X, "ndim", 2) != 2:
        return None
    try:
        return fingerprint(X, labels.index, weights)
    except (TypeError, ValueError) as error:
        if type(error) not in (TypeError, ValueError):  # of the handler of a signal
            raise
        return None
