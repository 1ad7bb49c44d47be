"""Bagging: the mean, or the vote, of learners that were each fitted to rows drawn at random."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state, column_or_1d, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, get_routing_for_object, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from gapless._runtime.clock import Stopwatch
from gapless._runtime.threads import map_threads, thread_team
from gapless._runtime.written import written
from gapless.certificates.bagging import EnsembleCertificate, bag_block, mark_of_targets
from gapless.certificates.model_document import statement
from gapless.encode.lazy_frames import refuse_lazy
from gapless.encode.weights import check_sample_weight
from gapless.estimators.shared.constraints import boolean, integer, nothing, number, shared
from gapless.estimators.shared.ensemble import SEEDS, Ensemble, refuse_parameters, routing, taken, takes_weights
from gapless.solvers.bagging import Bags
from gapless.solvers.loop import interruptible

#: Learners whose predictions are held at a time: they are added in order, whatever the number of threads.
GROUP = 8


#: Draws of a bag: more take minutes each.
MOST_DRAWS = 1e9


class _Bagging(Ensemble):
    """Draws, fits and what is known of the bags."""

    n_features_in_: int
    estimators_features_: list[np.ndarray]

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: Any = None,
        max_features: Any = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        oob_score: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    _parameter_constraints = {
        **Ensemble._parameter_constraints,
        "max_samples": [
            integer(1),
            number(0.0, 1.0, "right", integers=False)._replace(text="a float in the range (0.0, 1.0] or None"),
            nothing(""),
        ],
        "max_features": [integer(1), number(0.0, 1.0, "right", integers=False)],
        **{name: [boolean(integers=False)] for name in ("bootstrap", "bootstrap_features", "oob_score", "warm_start")},
        **shared("verbose"),
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not self.bootstrap and self.oob_score:
            raise ValueError("Out of bag estimation only available if bootstrap=True")
        if self.warm_start and self.oob_score:
            raise ValueError("Out of bag estimate only available if warm_start=False")

    def _encode_target(self, y: Any) -> np.ndarray:
        raise NotImplementedError

    # -- fit -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Any:
        """Fit a learner to each bag.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            What the base learner takes.
        y : array of n_samples targets
        sample_weight : array of n_samples weights, optional
            The chances of the rows in the draws, up to their sum, as in scikit-learn.
        **fit_params : further parameters of the base learner's ``fit``, by metadata routing
        """
        with interruptible(self) as interruption:
            stopwatch = Stopwatch()
            refuse_parameters(self, "fit", fit_params)
            self._check_parameters()
            refuse_lazy(X)
            X, y = validate_data(
                self, X, y, accept_sparse=["csr", "csc"], dtype=None, ensure_all_finite=False, multi_output=True
            )
            weights = None
            if sample_weight is not None:
                weights = check_sample_weight(sample_weight, X.shape[0])
                if not self.bootstrap:
                    warnings.warn(
                        f"When fitting {type(self).__name__} with sample_weight it is recommended to use bootstrap=True, got "
                        f"{self.bootstrap}.",
                        stacklevel=2,
                    )
            y = self._encode_target(y)
            self.estimator_ = base = self._base()
            given = dict(process_routing(self, "fit", **fit_params).estimator.fit) if routing() else dict(fit_params)
            bags = self._bags(X.shape[0], weights)
            fresh = not self.warm_start or not hasattr(self, "_seeds")
            before = 0 if fresh else len(self.estimators_)
            more = self.n_estimators - before
            if more < 0:
                raise ValueError(
                    f"n_estimators={self.n_estimators} must be larger or equal to len(estimators_)={before} when warm_start==True"
                )
            if more == 0:
                warnings.warn(
                    "Warm-start fitting without increasing n_estimators does not fit new trees.", stacklevel=2
                )
                return self
            random = check_random_state(self.random_state)
            if before:  # as if all had been drawn at once
                random.randint(SEEDS, size=before)
            seeds = random.randint(SEEDS, size=more)
            if fresh:
                self.estimators_, self.estimators_features_, self._seeds = [], [], np.empty(0, dtype=np.int64)
            for stale in ("_estimated", "oob_score_", "oob_decision_function_", "oob_prediction_"):
                self.__dict__.pop(stale, None)
            self._drawn = bags
            fitted, seen = self._fit_bags(base, X, y, bags, seeds, given, before, interruption.check)
            self.estimators_ = [*self.estimators_, *(learner for learner, _ in fitted)]
            self.estimators_features_ = [*self.estimators_features_, *(features for _, features in fitted)]
            self._seeds = np.concatenate((self._seeds, seeds))
            self.in_bag_probability_ = bags.probability
            self.in_bag_share_ = self._share_seen(seen)
            if self.oob_score:
                self._score_out_of_bag(X, y)
            self._certify(X, y, weights, stopwatch)
            interruption.check()
        return self

    def _certify(self, X: Any, y: np.ndarray, weights: np.ndarray | None, stopwatch: Stopwatch) -> None:
        """The data, the bags and the estimate; nothing of that bounds anything."""
        self.__dict__.pop("certificate_", None)
        classes = getattr(self, "classes_", None)
        try:
            mark = mark_of_targets(X, y, weights)
            bags, members = self._drawn, len(self.estimators_)
            problem = bag_block(
                members, bags.draws, bags.features, "i" if y.dtype.kind in "iu" else "f", replacement=bags.replacement,
                features_replacement=bags.features_replacement, weighted=weights is not None, seeds=self._seeds.size,
            )  # fmt: skip
            told = statement(
                type(self).__name__,
                self.get_params(deep=False),
                classes,
                X.shape[1],
                problem,
                feature_names=self._names(),
            )
        except (TypeError, ValueError):  # no matrix of numbers: nobody could check anything
            return
        lists = np.array(self.estimators_features_, dtype=np.int32).reshape(members, bags.features)
        self.certificate_ = EnsembleCertificate(
            in_bag_probability=self.in_bag_probability_, in_bag_share=self.in_bag_share_,
            estimate=getattr(self, "oob_score_", None), estimated=getattr(self, "_estimated", None),
            seconds=stopwatch.seconds, compile_seconds=stopwatch.compile_seconds, fingerprint=mark,
            statement={**told, "learners": None}, arrays={"seeds": self._seeds, "feature_lists": lists},
        )  # fmt: skip

    def _arrays_now(self) -> dict[str, np.ndarray]:
        return {"seeds": self._seeds}

    @classmethod
    def _from_document(cls, document: Any, arrays: dict[str, np.ndarray], learners: list[Any]) -> Any:
        model: Any = cls._blank(document, learners)
        certificate = EnsembleCertificate.from_document(document, arrays)
        model.certificate_ = replace(certificate, statement={**certificate.statement, "learners": None})
        problem, mark = document["problem"], document["certificate"]["fingerprint"]
        if len(learners) != problem["members"] or arrays["seeds"].size != problem["members"]:
            raise ValueError("the document has not all its learners")
        if document["classes"] is not None:
            model.n_classes_ = len(model.classes_)
        model.estimators_, model.estimator_ = learners, model._base()
        model.estimators_features_ = list(arrays["feature_lists"].astype(np.int64))
        model._seeds = arrays["seeds"].astype(np.int64)
        # The chances of the rows are data, and not in the file: which rows a bag holds cannot be told again.
        weights = np.empty(0) if problem["weighted"] else None
        model._drawn = Bags(
            mark["n_rows"], mark["n_features"], problem["draws"], problem["features"], problem["replacement"],
            problem["features_replacement"], weights,
        )  # fmt: skip
        model.in_bag_probability_, model.in_bag_share_ = certificate.in_bag_probability, certificate.in_bag_share
        if certificate.estimate is not None:
            model.oob_score_, model._estimated = certificate.estimate, certificate.estimated
        return model

    def _bags(self, n: int, weights: np.ndarray | None) -> Bags:
        d = self.n_features_in_
        draws: Any = n if self.max_samples is None else self.max_samples
        if not isinstance(draws, Integral):
            mass = n if weights is None else float(weights.sum())
            if draws * mass > MOST_DRAWS:
                raise ValueError(
                    f"max_samples={written(self.max_samples)} of a total sample weight of {mass:.3g} asks for more than "
                    f"{MOST_DRAWS:.0e} draws a bag. Scale the weights, or give max_samples as an integer."
                )
            draws = max(int(draws * mass), 1)
            if draws < max(10, n ** (1 / 3)):
                what = "the number of samples" if weights is None else "the total sum of sample weights"
                warnings.warn(
                    f"Using the fractional value max_samples={written(self.max_samples)} when {what} is {mass} results in a "
                    f"low number ({draws}) of bootstrap samples. We recommend passing `max_samples` as an integer instead.",
                    stacklevel=3,
                )
        if not self.bootstrap and draws > n:
            raise ValueError(
                f"Effective max_samples={draws} must be <= n_samples={n} to be able to sample without replacement."
            )
        chosen = n if weights is None else int(np.count_nonzero(weights))
        if not self.bootstrap and draws > chosen:
            raise ValueError(
                f"Effective max_samples={draws} must be <= {chosen}, the number of rows with a weight above 0, to be able to "
                "sample without replacement."
            )
        features: Any = self.max_features if isinstance(self.max_features, Integral) else int(self.max_features * d)
        if features > d:
            raise ValueError("max_features must be <= n_features")
        return Bags(
            n, d, int(draws), max(1, int(features)), bool(self.bootstrap), bool(self.bootstrap_features), weights
        )

    def _fit_bags(
        self,
        base: Any,
        X: Any,
        y: Any,
        bags: Bags,
        seeds: np.ndarray,
        given: Mapping[str, Any],
        before: int,
        tick: Callable[[], None],
    ) -> tuple[list[tuple[Any, np.ndarray]], dict[int, int]]:
        """Learners and their features; and how many rows are in a bag, where that was counted, by its seed."""
        weighted = self._weights_do(base)
        trees = _shared_trees(base, X, y) if weighted and bags.all_features and not given else None
        seen: dict[int, int] = {}

        def fit_one(item: tuple[int, int]) -> tuple[Any, np.ndarray]:
            tick()
            number, seed = item
            learner = self._copy(base, int(seed)) if trees is None else trees.copy(int(seed))
            try:
                if trees is not None:
                    features, counts = bags.count_draws(seed)
                    trees.fit(learner, counts, tick)
                    seen[seed] = int(np.count_nonzero(counts))
                elif weighted:
                    features, counts = bags.count_draws(seed)
                    seen[seed] = int(np.count_nonzero(counts))
                    part = X if bags.all_features else X[:, features]
                    learner.fit(part, y, **{**given, "sample_weight": counts})
                else:
                    features, rows = bags.draw(seed)
                    part = taken(X, rows)
                    part = part if bags.all_features else part[:, features]
                    learner.fit(part, taken(y, rows), **_of_rows(given, rows, bags.n_rows))
            except Exception as error:
                error.add_note(
                    f"{type(self).__name__}: this is learner {number + 1} of {self.n_estimators}, {type(base).__name__}."
                )
                raise
            if self.verbose > 1:
                print(f"Building estimator {number + 1} of {self.n_estimators}...")
            return learner, features

        return map_threads(fit_one, [(before + k, int(seed)) for k, seed in enumerate(seeds)], self.n_jobs), seen

    def _weights_do(self, base: Any) -> bool:
        """Whether counts can stand for repeated rows."""
        if routing():
            return "sample_weight" in get_routing_for_object(base).consumes("fit", ("sample_weight",))
        return takes_weights(base)

    # -- what is known of the bags ---------------------------------------------------------------------------

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The rows of each bag, drawn again from its seed."""
        check_is_fitted(self, "estimators_features_")
        if self._drawn.weights is not None and self._drawn.weights.size != self._drawn.n_rows:
            raise AttributeError("the chances of the rows were not saved: which rows a bag holds cannot be told again")
        return [self._drawn.draw(seed)[1] for seed in self._seeds.tolist()]

    def _share_seen(self, known: Mapping[int, int]) -> float:
        """The share of (row, bag) pairs in which the row is in the bag."""
        bags = self._drawn
        seen = [
            known[seed] if seed in known else int(np.count_nonzero(bags.count_draws(seed)[1]))
            for seed in self._seeds[:200].tolist()
        ]
        return float(np.mean(seen)) / bags.n_rows

    def _score_out_of_bag(self, X: Any, y: np.ndarray) -> None:
        raise NotImplementedError

    def _out_of_bag(self, X: Any, add: Callable[[np.ndarray, Any, Any], None]) -> None:
        """``add(rows, learner, X of them)`` for the rows that each learner did not see."""
        for learner, features, seed in zip(self.estimators_, self.estimators_features_, self._seeds.tolist()):
            rows = np.flatnonzero(self._drawn.count_draws(seed)[1] == 0)
            if rows.size:
                part = X[rows]
                add(rows, learner, part if self._drawn.all_features else part[:, features])

    def _warn_unseen(self, missing: int, n: int) -> None:
        self._estimated = n - missing
        if missing:
            warnings.warn(
                "Some inputs do not have OOB scores. This probably means too few estimators were used to compute any "
                f"reliable oob estimates ({missing} of {n} rows are in every bag; the estimate leaves them out).",
                stacklevel=4,
            )

    # -- predict ---------------------------------------------------------------------------------------------

    def _read(self, X: Any) -> Any:
        return validate_data(self, X, accept_sparse=["csr", "csc"], dtype=None, ensure_all_finite=False, reset=False)

    def _added(self, X: Any, ask: Callable[[Any, Any], np.ndarray]) -> Any:
        """The answers of all learners, added up in their order."""
        whole = self._drawn.all_features

        def one(pair: tuple[Any, np.ndarray]) -> np.ndarray:
            learner, features = pair
            return ask(learner, X if whole else X[:, features])

        pairs, total = list(zip(self.estimators_, self.estimators_features_)), None
        for start in range(0, len(pairs), GROUP):
            for part in map_threads(one, pairs[start : start + GROUP], self.n_jobs):
                total = part.astype(np.float64) if total is None else total.__iadd__(part)
        return total

    def _summed(self, X: Any) -> np.ndarray | None:
        """What ``_added`` gives for trees of ours on all features, with the same bits and faster; None for anything else."""
        if not self._drawn.all_features or type(self.estimators_[0]).__module__ != "gapless.estimators.tree":
            return None
        from gapless.estimators.shared.bagging import summed

        with thread_team(self.n_jobs):
            return summed(self.estimators_, X)

    def _routed(self, method: str, params: Mapping[str, Any]) -> Any:
        if routing():
            return process_routing(self, method, **params).estimator
        return {}

    def get_metadata_routing(self) -> MetadataRouter:
        """Where parameters go: those of a method to the base learner's method that it calls."""
        base = self._base()
        mapping = (
            MethodMapping().add(caller="fit", callee="fit").add(caller="decision_function", callee="decision_function")
        )
        asked = "predict_proba" if hasattr(base, "predict_proba") else "predict"
        mapping.add(caller="predict", callee=asked).add(caller="predict_proba", callee=asked)
        logs = "predict_log_proba" if hasattr(base, "predict_log_proba") else asked
        mapping.add(caller="predict_log_proba", callee=logs)
        return MetadataRouter(owner=self).add(estimator=base, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = get_tags(self._base()).input_tags
        tags.input_tags.sparse = base.sparse
        tags.input_tags.allow_nan = base.allow_nan
        return tags


def _scores(self: Any) -> bool:
    """Whether the base learner has a decision function: its own error where it has none."""
    fitted = getattr(self, "estimators_", None)
    return (fitted[0] if fitted else self._base()).decision_function is not None


class BaggingClassifier(ClassifierMixin, _Bagging):
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
        from gapless.estimators.tree import DecisionTreeClassifier

        return DecisionTreeClassifier()

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
            out = np.zeros((found.shape[0], self.n_classes_))
            out[:, np.asarray(learner.classes_, dtype=np.intp)] = found[:, : len(learner.classes_)]
            return out
        answer = np.asarray(learner.predict(X, **(params.get("predict") or {})), dtype=np.intp)
        out = np.zeros((answer.size, self.n_classes_))
        out[np.arange(answer.size), answer] = 1.0
        return out

    def _score_out_of_bag(self, X: Any, y: np.ndarray) -> None:
        from sklearn.metrics import accuracy_score

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
        X, routed = self._read(X), self._routed("predict_proba", params)
        total = self._summed(X) if self.n_classes_ > 1 else None
        if total is None:
            total = self._added(X, lambda learner, part: self._probabilities(learner, part, routed))
        return total / len(self.estimators_)

    def predict_log_proba(self, X: Any, **params: Any) -> np.ndarray:
        """The logarithm of the mean probabilities."""
        refuse_parameters(self, "predict_log_proba", params)
        check_is_fitted(self, "estimators_features_")
        if not hasattr(self.estimator_, "predict_log_proba"):
            with np.errstate(divide="ignore"):
                return np.log(self.predict_proba(X, **params))
        X, routed = self._read(X), self._routed("predict_log_proba", params)
        chosen = routed.get("predict_log_proba") or {}

        def ask(learner: Any, part: Any) -> np.ndarray:
            found = np.exp(learner.predict_log_proba(part, **chosen))
            if found.shape[1] == self.n_classes_:
                return found
            out = np.zeros((found.shape[0], self.n_classes_))
            out[:, np.asarray(learner.classes_, dtype=np.intp)] = found
            return out

        with np.errstate(divide="ignore"):
            return np.log(self._added(X, ask) / len(self.estimators_))

    @available_if(_scores)
    def decision_function(self, X: Any, **params: Any) -> np.ndarray:
        """The mean of the learners' scores."""
        refuse_parameters(self, "decision_function", params)
        check_is_fitted(self, "estimators_features_")
        X, routed = self._read(X), self._routed("decision_function", params)
        chosen = routed.get("decision_function") or {}
        return self._added(X, lambda learner, part: learner.decision_function(part, **chosen)) / len(self.estimators_)


class BaggingRegressor(RegressorMixin, _Bagging):
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
        from gapless.estimators.tree import DecisionTreeRegressor

        return DecisionTreeRegressor()

    def _encode_target(self, y: Any) -> np.ndarray:
        y = np.asarray(y)
        return column_or_1d(y, warn=True) if y.ndim == 1 or y.shape[1] == 1 else y

    def _score_out_of_bag(self, X: Any, y: np.ndarray) -> None:
        from sklearn.metrics import r2_score

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
        X, routed = self._read(X), self._routed("predict", params)
        chosen = routed.get("predict") or {}
        total = self._summed(X)
        if total is None:
            total = self._added(X, lambda learner, part: learner.predict(part, **chosen))
        elif total.shape[1] == 1:
            total = total[:, 0]
        return total / len(self.estimators_)


def _shared_trees(base: Any, X: Any, y: Any) -> Any:
    """Trees of ours on columns that are ranked once; None for other learners and other data."""
    if type(base).__module__ != "gapless.estimators.tree":
        return None
    from gapless.estimators.shared.bagging import SharedTrees

    try:
        return SharedTrees(base, X, y) if SharedTrees.serve(base, X) else None
    except ValueError:  # missing values, or something that the tree's own fit has words for
        return None


def _of_rows(given: Mapping[str, Any], rows: np.ndarray, n: int) -> dict[str, Any]:
    """Parameters of fit for the rows of a bag: what has one entry a row is taken from them."""
    return {
        name: taken(value, rows)
        if hasattr(value, "__len__") and not isinstance(value, str) and len(value) == n
        else value
        for name, value in given.items()
    }
