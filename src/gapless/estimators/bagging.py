"""BaggingClassifier and BaggingRegressor: the mean, or the vote, of learners that were each fitted to rows drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from gapless.estimators.shared.bagging import BaseBagging
from gapless.estimators.shared.ensemble import refuse_parameters
from gapless.estimators.shared.ensemble_trees import default_tree


def _has_scores(self: Any) -> bool:
    """Whether the base learner has a decision function; without one this raises the learner's own error."""
    fitted = getattr(self, "estimators_", None)
    return (fitted[0] if fitted else self._base()).decision_function is not None


class BaggingClassifier(ClassifierMixin, BaseBagging):
    """Classifiers fitted to bags of rows, and the mean of their probabilities, or of their votes where they have none.

    Learners whose ``fit`` takes ``sample_weight`` get the number of times each row was drawn; others get the rows. What a
    bag holds is
    kept as a seed. Nothing here is optimised: what is known of the error on new data is an estimate (``oob_score=True``).

    Parameters
    ----------
    estimator : object or None
        The base learner. None: ``DecisionTreeClassifier()``, for which the columns of X are ranked once for all trees.
    n_estimators : int
    max_samples : int, float or None
        Draws of a bag: so many, that share of the rows (of the sum of weights), or as many as there are rows.
    max_features : int or float
        Features of a bag: so many, or that share.
    bootstrap : bool
        Whether rows are drawn with replacement.
    bootstrap_features : bool
        Whether features are.
    oob_score : bool
        Whether to estimate the error from the learners that did not see a row.
    warm_start : bool
        Add to the learners of the last fit.
    n_jobs : int or None
        Threads, over learners. The bits do not depend on it.
    random_state : int, RandomState or None
        The same draws as scikit-learn's.
    verbose : int

    Attributes
    ----------
    estimators_, estimators_features_, estimator_, classes_, n_classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    estimators_samples_ : rows of each bag, drawn again from its seed
    in_bag_probability_ : that a row is in a bag, 1 - (1 - 1/n)^m for m draws; None with sample_weight
    in_bag_share_ : the share seen
    certificate_ : what is claimed and can be checked: ``gapless.verify(model, X, y)``
    oob_score_ : *estimate* of the accuracy on new data, over the rows that some learner did not see
    oob_decision_function_ : mean probabilities by the learners that did not see a row; NaN where all did
    """

    def _default(self) -> Any:
        return default_tree("DecisionTreeClassifier")

    def _encode_target(self, y: Any) -> np.ndarray:
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, index = np.unique(y, return_inverse=True)
        self.n_classes_ = len(self.classes_)
        return index

    def _probabilities(self, learner: Any, X: Any, params: Any) -> np.ndarray:
        if hasattr(learner, "predict_proba"):
            found = learner.predict_proba(X, **(params.get("predict_proba") or {}))
            if found.shape[1] == self.n_classes_ and len(learner.classes_) == self.n_classes_:
                return found
            return self._spread(found[:, : len(learner.classes_)], learner)
        answer = np.asarray(learner.predict(X, **(params.get("predict") or {})), dtype=np.intp)
        out = np.zeros((answer.size, self.n_classes_))
        out[np.arange(answer.size), answer] = 1.0
        return out

    def _spread(self, found: np.ndarray, learner: Any) -> np.ndarray:
        """Columns of the learner's classes as columns of all classes; a class that its bag had no row of gets 0."""
        out = np.zeros((found.shape[0], self.n_classes_))
        out[:, np.asarray(learner.classes_, dtype=np.intp)] = found
        return out

    def _score_out_of_bag(self, X: Any, y: np.ndarray) -> None:
        from sklearn.metrics import accuracy_score  # takes 0.1 s to load

        total = np.zeros((y.shape[0], self.n_classes_))

        def add(rows: np.ndarray, learner: Any, part: Any) -> None:
            total[rows] += self._probabilities(learner, part, {})

        self._out_of_bag(X, add)
        mass = total.sum(axis=1)
        there = mass > 0.0
        self._warn_unseen(int(np.count_nonzero(~there)), y.shape[0])
        with np.errstate(invalid="ignore", divide="ignore"):
            self.oob_decision_function_ = total / mass[:, None]
        self.oob_score_ = (
            float(accuracy_score(y[there], np.argmax(total[there], axis=1))) if there.any() else float("nan")
        )

    def predict(self, X: Any, **params: Any) -> np.ndarray:
        """The class with the largest mean probability; of equal ones the first."""
        refuse_parameters(self, "predict", params)
        check_is_fitted(self, "estimators_features_")
        return np.take(self.classes_, np.argmax(self.predict_proba(X, **params), axis=1), axis=0)

    def predict_proba(self, X: Any, **params: Any) -> np.ndarray:
        """The mean of the learners' probabilities, or the shares of their votes."""
        refuse_parameters(self, "predict_proba", params)
        check_is_fitted(self, "estimators_features_")
        X, routed = self._read(X), self._route("predict_proba", params)
        total = self._sum_trees(X) if self.n_classes_ > 1 else None
        if total is None:
            total = self._sum_answers(X, lambda learner, part: self._probabilities(learner, part, routed))
        return total / len(self.estimators_)

    def predict_log_proba(self, X: Any, **params: Any) -> np.ndarray:
        """The logarithm of the mean probabilities."""
        refuse_parameters(self, "predict_log_proba", params)
        check_is_fitted(self, "estimators_features_")
        if not hasattr(self.estimator_, "predict_log_proba"):
            with np.errstate(divide="ignore"):
                return np.log(self.predict_proba(X, **params))
        X, routed = self._read(X), self._route("predict_log_proba", params)
        chosen = routed.get("predict_log_proba") or {}

        def ask(learner: Any, part: Any) -> np.ndarray:
            found = np.exp(learner.predict_log_proba(part, **chosen))
            if found.shape[1] == self.n_classes_:
                return found
            return self._spread(found, learner)

        with np.errstate(divide="ignore"):
            return np.log(self._sum_answers(X, ask) / len(self.estimators_))

    @available_if(_has_scores)
    def decision_function(self, X: Any, **params: Any) -> np.ndarray:
        """The mean of the learners' scores."""
        refuse_parameters(self, "decision_function", params)
        check_is_fitted(self, "estimators_features_")
        X, routed = self._read(X), self._route("decision_function", params)
        chosen = routed.get("decision_function") or {}
        return self._sum_answers(X, lambda learner, part: learner.decision_function(part, **chosen)) / len(
            self.estimators_
        )


class BaggingRegressor(RegressorMixin, BaseBagging):
    """Regressors fitted to bags of rows, and the mean of their predictions.

    Parameters
    ----------
    estimator : object or None
        The base learner. None: ``DecisionTreeRegressor()``.
    n_estimators, max_samples, max_features, bootstrap, bootstrap_features, oob_score, warm_start : as for BaggingClassifier
    n_jobs, random_state, verbose : as for BaggingClassifier

    Attributes
    ----------
    estimators_, estimators_features_, estimator_, n_features_in_, feature_names_in_ : as in scikit-learn
    estimators_samples_, in_bag_probability_, in_bag_share_, certificate_, status_ : as of BaggingClassifier
    oob_score_ : *estimate* of R squared on new data, over the rows that some learner did not see
    oob_prediction_ : mean predictions by the learners that did not see a row; NaN where all did
    """

    def _default(self) -> Any:
        return default_tree("DecisionTreeRegressor")

    def _encode_target(self, y: Any) -> np.ndarray:
        y = np.asarray(y)
        return column_or_1d(y, warn=True) if y.ndim == 1 or y.shape[1] == 1 else y

    def _score_out_of_bag(self, X: Any, y: np.ndarray) -> None:
        from sklearn.metrics import r2_score  # takes 0.1 s to load

        total, number = np.zeros(y.shape), np.zeros(y.shape[0])

        def add(rows: np.ndarray, learner: Any, part: Any) -> None:
            total[rows] += learner.predict(part)
            number[rows] += 1

        self._out_of_bag(X, add)
        there = number > 0
        self._warn_unseen(int(np.count_nonzero(~there)), y.shape[0])
        with np.errstate(invalid="ignore", divide="ignore"):
            self.oob_prediction_ = total / (number if y.ndim == 1 else number[:, None])
        self.oob_score_ = float(r2_score(y[there], self.oob_prediction_[there])) if there.any() else float("nan")

    def predict(self, X: Any, **params: Any) -> np.ndarray:
        """The mean of the learners' predictions."""
        refuse_parameters(self, "predict", params)
        check_is_fitted(self, "estimators_features_")
        X, routed = self._read(X), self._route("predict", params)
        chosen = routed.get("predict") or {}
        total = self._sum_trees(X)
        if total is None:
            total = self._sum_answers(X, lambda learner, part: learner.predict(part, **chosen))
        elif total.shape[1] == 1:
            total = total[:, 0]
        return total / len(self.estimators_)
