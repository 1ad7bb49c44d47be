"""What ensembles share: copies of a base learner with seeds of their own, and what a learner can take."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.validation import has_fit_parameter

from .certified_model import CertifiedModel
from .constraints import Constraint, implementing, integer, nothing, shared
from .loading import blank_model

SEEDS = np.iinfo(np.int32).max


def routing() -> bool:
    """Whether scikit-learn's metadata routing is on."""
    return bool(get_config().get("enable_metadata_routing", False))


def refuse_parameters(owner: Any, method: str, given: dict[str, Any]) -> None:
    """Keywords beyond those of a method go to the base learners, by metadata routing alone."""
    if given and not routing():
        raise ValueError(
            f"Passing extra keyword arguments to {type(owner).__name__}.{method} is only supported if "
            "enable_metadata_routing=True, which you can set using `sklearn.set_config`. See the User Guide "
            "<https://scikit-learn.org/stable/metadata_routing.html> for more details. Extra parameters passed are: "
            f"{set(given)}"
        )


def takes_weights(learner: Any) -> bool:
    return bool(has_fit_parameter(learner, "sample_weight"))


def taken(values: Any, rows: np.ndarray) -> Any:
    """The rows of an array, a sparse matrix, a data frame or a list."""
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    return values[rows] if hasattr(values, "shape") else [values[i] for i in rows]


def fit_by_counts(learner: Any, X: Any, y: Any, given: dict[str, Any], counts: np.ndarray, *, labels: bool) -> Any:
    """A learner fitted with counts as its weights.

    Where a bag lacks a class, and the learner cannot have a class without weight, it is given the rows of the bag alone; a
    bag of one class is answered by that class."""
    try:
        learner.fit(X, y, **{**given, "sample_weight": counts})
        return learner
    except ValueError:
        there = np.unique(np.asarray(y)[counts > 0.0])
        if not labels or there.size == np.unique(y).size:
            raise
    rows = np.flatnonzero(counts)
    if there.size == 1:
        from sklearn.dummy import DummyClassifier

        return DummyClassifier(strategy="most_frequent").fit(taken(X, rows), taken(y, rows))
    return clone(learner).fit(taken(X, rows), taken(y, rows), sample_weight=counts[rows])


class Ensemble(CertifiedModel, MetaEstimatorMixin, BaseEstimator):
    """Parameters, copies of the base learner, and the ensemble as a sequence of them."""

    estimator: Any
    random_state: Any
    estimators_: Any

    def _default(self) -> Any:
        raise NotImplementedError

    def _base(self) -> Any:
        """The base learner, or the one that stands for None."""
        return self._default() if self.estimator is None else self.estimator

    _parameter_constraints = {
        "estimator": [implementing("fit", "predict"), nothing()],
        "n_estimators": [integer(1)],
        **shared("n_jobs"),
        "random_state": [
            integer(0, 2**32 - 1),
            Constraint(
                "an instance of 'numpy.random.mtrand.RandomState'",
                lambda value: isinstance(value, np.random.RandomState),
            ),
            nothing(),
        ],
    }

    def _copy(self, base: Any, random: Any) -> Any:
        """A copy of the base learner; every ``random_state`` in it gets a seed, as scikit-learn gives them."""
        learner = clone(base)
        names = sorted(learner.get_params(deep=True)) if hasattr(learner, "get_params") else []
        wanted = [name for name in names if name == "random_state" or name.endswith("__random_state")]
        if random is not None and wanted:
            source = np.random.RandomState(int(random)) if isinstance(random, int) else random
            learner.set_params(**{name: source.randint(SEEDS) for name in wanted})
        return learner

    def _names(self) -> Any:
        return getattr(self, "feature_names_in_", None)

    def _to_save(self) -> list[Any] | None:
        """The learners that a model file holds; None where it needs none."""
        return list(self.estimators_)

    @classmethod
    def _blank(cls, document: Any, learners: list[Any]) -> Any:
        """From a document: parameters, with a base learner like those that were fitted, and what was seen of the features."""
        model = blank_model(cls, document)
        model.estimator = None
        if learners:
            base = clone(learners[0])
            seeds = [name for name in base.get_params() if name == "random_state" or name.endswith("__random_state")]
            model.estimator = base.set_params(**dict.fromkeys(seeds))
        return model

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, index: Any) -> Any:
        return self.estimators_[index]

    def __iter__(self) -> Any:
        return iter(self.estimators_)
