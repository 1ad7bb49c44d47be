"""Why averaging helps, and when: m predictors from fresh samples, from parts of one sample, and from bootstrap samples of it.

m predictors with variance s^2 each and correlation r between any two have a mean with variance

    r s^2 + (1 - r) s^2 / m                 s^2/m where they are uncorrelated; never below r s^2, however many there are

Fresh samples make r = 0, and need m times the rows.  Cutting n rows into m parts keeps them independent, and each predictor
worse: it has n/m rows.  Bootstrap samples of the same n rows keep n draws each, and are correlated.

s^2 and r come from one half of the repetitions, the variance of the mean from the other: from the same draws the formula would be
an identity of sums, whatever the predictors are, and no prediction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from gapless._runtime.results import result

__all__ = ["Averaged", "averaging"]


@result
class Averaged(NamedTuple):
    """One scheme, averaged over the test points; all figures but ``members`` and ``rows`` are estimates over the repetitions.

    Attributes
    ----------
    scheme : "fresh", "splits" or "bootstrap"
    members : m
    rows : that one member was fitted to
    variance : s^2 of one member, from the first half of the repetitions
    correlation : r of two members, from the first half
    predicted : r s^2 + (1 - r) s^2 / m
    seen : the variance of the mean of the members, from the second half
    squared_bias : of the mean, where the truth is known
    error : squared_bias + seen
    """

    scheme: str
    members: int
    rows: int
    variance: float
    correlation: float
    predicted: float
    seen: float
    squared_bias: float | None
    error: float | None

    def __str__(self) -> str:
        return (
            f"{self.scheme}: the mean of {self.members} members has variance {self.seen:.4g}; r s^2 + (1 - r) s^2/m is "
            f"{self.predicted:.4g} with s^2 = {self.variance:.4g} and r = {self.correlation:.4g}"
        )


def averaging(
    learner: Any,
    sample: Callable[[int, np.random.Generator], tuple[np.ndarray, np.ndarray]],
    X: np.ndarray,
    *,
    truth: np.ndarray | None = None,
    n: int = 100,
    members: int = 10,
    repetitions: int = 100,
    seed: int = 0,
) -> dict[str, Averaged]:
    """Compare the three schemes.

    Parameters
    ----------
    seed : number that all random draws follow from
    learner : a regressor
    sample : function of a number of rows and a generator that draws a fresh sample (X, y)
    X : points to predict at
    truth : what the best prediction there would be, if that is known
    n : rows of a sample; a split has n // members of them
    members : m
    repetitions : how often everything is drawn again; half of them for what is predicted, half for what is seen
    """
    schemes = ("fresh", "splits", "bootstrap")
    if members < 2 or repetitions < 4 or n < members:
        raise ValueError(
            f"at least 2 members, 4 repetitions and a row for each member; got {members}, {repetitions}, n = {n}"
        )
    random = np.random.default_rng(seed)
    found = {scheme: np.empty((repetitions, members, len(X))) for scheme in schemes}
    for k in range(repetitions):
        Xs, ys = sample(n, random)
        order = random.permutation(n)
        for m in range(members):
            part = order[m * (n // members) : (m + 1) * (n // members)]
            drawn = random.integers(0, n, n)
            for scheme, data in (
                ("fresh", sample(n, random)),
                ("splits", (Xs[part], ys[part])),
                ("bootstrap", (Xs[drawn], ys[drawn])),
            ):
                found[scheme][k, m] = clone(learner).fit(*data).predict(X)
    return {
        scheme: _summary(scheme, n // members if scheme == "splits" else n, predictions, truth)
        for scheme, predictions in found.items()
    }


def _summary(scheme: str, rows: int, predictions: np.ndarray, truth: np.ndarray | None) -> Averaged:
    m, half = predictions.shape[1], predictions.shape[0] // 2
    first, second = predictions[:half], predictions[half:]
    away = first - first.mean(axis=0)
    variance = float((away**2).sum(axis=0).mean() / (half - 1))
    together = float((away.sum(axis=1) ** 2).sum(axis=0).mean() / (half - 1))  # of the sum of the members
    covariance = (together - m * variance) / (m * (m - 1))
    correlation = covariance / variance if variance > 0.0 else 0.0
    predicted = correlation * variance + (1.0 - correlation) * variance / m
    mean = second.mean(axis=1)
    seen = float(mean.var(axis=0, ddof=1).mean())
    bias = None
    if truth is not None:
        # The mean over the repetitions has seen / (number of them) of variance in it, which is taken out.
        bias = max(float(((mean.mean(axis=0) - truth) ** 2).mean()) - seen / len(second), 0.0)
    return Averaged(
        scheme, m, rows, variance, correlation, predicted, seen, bias, None if bias is None else bias + seen
    )
