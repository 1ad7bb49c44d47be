"""Intervals for the mean of independent values, without other assumptions; and whether rows are new to a model.

    mean of values in [low, high], n rows, failure delta:
        Hoeffding             (high - low) sqrt(ln(2/delta) / (2 n))
        empirical Bernstein   sqrt(2 V ln(4/delta) / n) + 7 (high - low) ln(4/delta) / (3 (n - 1)),  V the sample variance

(Maurer and Pontil 2009, each side at delta/2.)  Both at delta/2: the narrower end holds on either side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless.readings.calibration_maps import log_odds
from gapless.readings.training_rows import is_training_data


@result
@dataclass(frozen=True)
class MeanInterval:
    """An estimate and an interval that holds the truth but for a failure of probability delta.

    Attributes
    ----------
    value : the estimate
    low : lower end
    high : upper end
    delta : probability with which the statement may fail
    how : how the ends were computed
    """

    value: float
    low: float
    high: float
    delta: float
    how: str

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.value:.6g}, between {self.low:.6g} and {self.high:.6g} ({self.how}, delta {self.delta:g})"


def mean_interval(values: np.ndarray, low: float, high: float, delta: float) -> MeanInterval:
    """The interval for the mean of independent values in [low, high]."""
    n, mean = values.size, float(np.mean(values))
    half = 0.5 * delta
    width = (high - low) * math.sqrt(math.log(2.0 / half) / (2.0 * n))
    if n > 1:
        tail = math.log(4.0 / half)
        spread = math.sqrt(2.0 * float(np.var(values, ddof=1)) * tail / n)
        width = min(width, spread + 7.0 * (high - low) * tail / (3.0 * (n - 1)))
    return MeanInterval(mean, max(low, mean - width), min(high, mean + width), delta, "empirical Bernstein, Hoeffding")


def trained_on(model: Any, X: Any) -> bool:
    """Whether the certificate of a model says that it was trained on these rows."""
    return bool(is_training_data(model, X))


def row_scores(model: Any, X: Any) -> np.ndarray:
    """A real score of each row, two classes: decision_function, else the log-odds of the second class."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=np.float64).ravel()
    if hasattr(model, "predict_proba"):
        return log_odds(np.asarray(model.predict_proba(X), dtype=np.float64)[:, 1])
    raise ValueError(f"{type(model).__name__} has neither decision_function nor predict_proba")
