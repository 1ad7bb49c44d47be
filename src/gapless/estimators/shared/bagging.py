"""What the two baggings share: parameters, the draws of the bags, the fits of the learners, and the mean of their answers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, get_routing_for_object, process_routing
from sklearn.utils.validation import check_is_fitted, validate_data

from gapless._runtime.clock import Stopwatch
from gapless._runtime.threads import map_threads, thread_team
from gapless._runtime.written import written
from gapless.certificates.bagging import EnsembleCertificate, bag_block, mark_of_targets
from gapless.certificates.model_document import statement
from gapless.encode.lazy_frames import refuse_lazy
from gapless.encode.weights import check_sample_weight
from gapless.solvers.bagging import Bags
from gapless.solvers.loop import interruptible

from .constraints import boolean, integer, nothing, number, shared
from .ensemble import SEEDS, Ensemble, fit_by_counts, refuse_parameters, routing, taken, takes_weights
from .ensemble_trees import SharedTrees, sum_tree_answers


class BaseBagging(Ensemble):
    """The bags, the learners that were fitted to them, and their answers."""

    n_features_in_: int
    estimators_features_: list[np.ndarray]
    _seeds: np.ndarray

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
            given_y, y = y, self._encode_target(y)
            self.estimator_ = base = self._base()
            given = dict(process_routing(self, "fit", **fit_params).estimator.fit) if routing() else dict(fit_params)
            bags = self._bags(X.shape[0], weights)
            seeds = self._draw_seeds()
            if not seeds.size:
                warnings.warn(
                    "Warm-start fitting without increasing n_estimators does not fit new trees.", stacklevel=2
                )
                return self
            before = len(self.estimators_)
            for stale in ("_estimated", "oob_score_", "oob_decision_function_", "oob_prediction_"):
                self.__dict__.pop(stale, None)
            self._drawn = bags
            fitted, seen = self._fit_bags(base, X, y, bags, seeds, given, before, interruption.check)
            self.estimators_ = [*self.estimators_, *(learner for learner, _ in fitted)]
            self.estimators_features_ = [*self.estimators_features_, *(features for _, features in fitted)]
            self._seeds = np.concatenate((self._seeds, seeds))
            self.in_bag_probability_ = bags.probability
            self.in_bag_share_ = bags.share_in_bag(self._seeds, seen)
            if self.oob_score:
                self._score_out_of_bag(X, y)
            self._certify(X, y, weights, stopwatch)
            if hasattr(self, "certificate_"):
                self._confirm(X, given_y, weights)
            interruption.check()
        return self

    def _draw_seeds(self) -> np.ndarray:
        """The seeds of the learners to fit. Without ``warm_start`` the learners of the last fit are dropped."""
        fresh = not self.warm_start or not hasattr(self, "_seeds")
        before = 0 if fresh else len(self.estimators_)
        more = self.n_estimators - before
        if more < 0:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to len(estimators_)={before} when warm_start==True"
            )
        random = check_random_state(self.random_state)
        if before and more:  # the seeds are those of one draw of all learners
            random.randint(SEEDS, size=before)
        if fresh:
            self.estimators_, self.estimators_features_, self._seeds = [], [], np.empty(0, dtype=np.int64)
        return random.randint(SEEDS, size=more)

    def _certify(self, X: Any, y: np.ndarray, weights: np.ndarray | None, stopwatch: Stopwatch) -> None:
        """The certificate: the data, the bags and the estimate of the error. None of these bounds an error."""
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
                type(self).__name__, self.get_params(deep=False), classes, X.shape[1], problem, feature_names=self._names()
            )  # fmt: skip
        except (TypeError, ValueError) as error:  # X is no matrix of numbers: there is nothing to check
            if type(error) not in (TypeError, ValueError):  # of the handler of a signal
                raise
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
        # The file does not hold the chances of the rows: without them nobody can draw the rows of a bag again.
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
        most_draws = 1e9  # of a bag; more take minutes
        draws: Any = n if self.max_samples is None else self.max_samples
        if not isinstance(draws, Integral):
            mass = n if weights is None else float(weights.sum())
            if draws * mass > most_draws:
                raise ValueError(
                    f"max_samples={written(self.max_samples)} of a total sample weight of {mass:.3g} asks for more than "
                    f"{most_draws:.0e} draws a bag. Scale the weights, or give max_samples as an integer."
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
        self, base: Any, X: Any, y: Any, bags: Bags, seeds: np.ndarray, given: Mapping[str, Any], before: int,
        tick: Callable[[], None],
    ) -> tuple[list[tuple[Any, np.ndarray]], dict[int, int]]:  # fmt: skip
        """The learners with their features, and for each seed whose rows were counted the number of rows in its bag."""
        weighted = self._takes_counts(base)
        trees = SharedTrees.build(base, X, y) if weighted and bags.all_features and not given else None
        seen: dict[int, int] = {}

        def fit_one(item: tuple[int, int]) -> tuple[Any, np.ndarray]:
            tick()
            number, seed = item
            learner = self._copy(base, int(seed)) if trees is None else trees.copy(np.random.RandomState(seed))
            try:
                if trees is not None:
                    features, counts = bags.count_draws(seed)
                    trees.fit(learner, counts, tick)
                    seen[seed] = int(np.count_nonzero(counts))
                elif weighted:
                    features, counts = bags.count_draws(seed)
                    seen[seed] = int(np.count_nonzero(counts))
                    part = X if bags.all_features else X[:, features]
                    learner = fit_by_counts(learner, part, y, dict(given), counts, labels=hasattr(self, "classes_"))
                else:
                    features, rows = bags.draw(seed)
                    part = taken(X, rows)
                    part = part if bags.all_features else part[:, features]
                    learner.fit(part, taken(y, rows), **_take_parameters(given, rows, bags.n_rows))
            except Exception as error:
                error.add_note(
                    f"{type(self).__name__}: this is learner {number + 1} of {self.n_estimators}, {type(base).__name__}."
                )
                raise
            if self.verbose > 1:
                print(f"Building estimator {number + 1} of {self.n_estimators}...")
            return learner, features

        return map_threads(fit_one, [(before + k, int(seed)) for k, seed in enumerate(seeds)], self.n_jobs), seen

    def _takes_counts(self, base: Any) -> bool:
        """Whether the base learner takes the number of draws of each row as its weight."""
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

    def _score_out_of_bag(self, X: Any, y: np.ndarray) -> None:
        raise NotImplementedError

    def _out_of_bag(self, X: Any, add: Callable[[np.ndarray, Any, Any], None]) -> None:
        """Call ``add(rows, learner, X[rows])`` for each learner with the rows that are not in its bag."""
        for learner, features, seed in zip(self.estimators_, self.estimators_features_, self._seeds.tolist()):
            rows = np.flatnonzero(self._drawn.count_draws(seed)[1] == 0)
            if rows.size:
                part = X[rows]
                add(rows, learner, part if self._drawn.all_features else part[:, features])

    def _warn_unseen(self, missing: int, n: int) -> None:
        """Keep the number of rows that the estimate is made of; warn where ``missing`` of n rows are in every bag."""
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

    def _sum_answers(self, X: Any, ask: Callable[[Any, Any], np.ndarray]) -> Any:
        """The sum of ``ask(learner, X)`` over all learners, in their order."""
        group = 8  # answers that are in memory at a time, whatever the number of threads
        whole = self._drawn.all_features

        def one(pair: tuple[Any, np.ndarray]) -> np.ndarray:
            learner, features = pair
            return ask(learner, X if whole else X[:, features])

        pairs, total = list(zip(self.estimators_, self.estimators_features_)), None
        for start in range(0, len(pairs), group):
            for part in map_threads(one, pairs[start : start + group], self.n_jobs):
                total = part.astype(np.float64) if total is None else total.__iadd__(part)
        return total

    def _sum_trees(self, X: Any) -> np.ndarray | None:
        """The same bits as ``_sum_answers``, faster, for trees of ours on all features; None for other learners."""
        if not self._drawn.all_features:
            return None
        with thread_team(self.n_jobs):
            return sum_tree_answers(self.estimators_, X)

    def _route(self, method: str, params: Mapping[str, Any]) -> Any:
        """The parameters of each method of the base learner."""
        if routing():
            return process_routing(self, method, **params).estimator
        return {}

    def get_metadata_routing(self) -> MetadataRouter:
        """Which method of the base learner gets the parameters of each method."""
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


def _take_parameters(given: Mapping[str, Any], rows: np.ndarray, n: int) -> dict[str, Any]:
    """Parameters of fit for the rows of a bag: a parameter with n entries keeps those of the rows."""
    return {
        name: taken(value, rows)
        if hasattr(value, "__len__") and not isinstance(value, str) and len(value) == n
        else value
        for name, value in given.items()
    }
