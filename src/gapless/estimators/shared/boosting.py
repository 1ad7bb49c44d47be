"""What the two AdaBoosts have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from .constraints import number, shared
from .ensemble import Ensemble, routing


class Boosted(Ensemble):
    """What both have in common."""

    estimator_weights_: np.ndarray
    estimator_errors_: np.ndarray
    stop_reason_: str

    _parameter_constraints = {
        **Ensemble._parameter_constraints,
        **shared("time_limit"),
        "learning_rate": [number(0.0, with_inf=True)],
    }

    def get_metadata_routing(self) -> Any:
        """AdaBoost has no metadata routing, as in scikit-learn."""
        raise NotImplementedError(f"{type(self).__name__} has not implemented metadata routing yet.")

    def _refuse_routing(self, sample_weight: Any) -> None:
        if routing() and sample_weight is not None:
            raise NotImplementedError(
                f"{type(self).__name__}.fit cannot accept given metadata ({{'sample_weight'}}) since metadata routing is not yet "
                f"implemented for {type(self).__name__}."
            )

    def _read(self, X: Any) -> Any:
        return validate_data(
            self, X, accept_sparse=["csr", "csc"], ensure_2d=True, allow_nd=True, dtype=None, reset=False
        )

    @property
    def feature_importances_(self) -> np.ndarray:
        """The mean of the learners' importances, by stage weight."""
        if not hasattr(self, "estimator_weights_"):
            raise ValueError("Estimator not fitted, call `fit` before `feature_importances_`.")
        try:
            parts = [w * e.feature_importances_ for w, e in zip(self.estimator_weights_, self.estimators_)]
        except AttributeError as error:
            raise AttributeError(
                "Unable to compute feature importances since estimator does not have a feature_importances_ attribute"
            ) from error
        return np.asarray(sum(parts) / self.estimator_weights_.sum())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
