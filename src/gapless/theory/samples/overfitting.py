"""Over- and underfitting on the noisy sine: how the error goes with the depth of a tree, with rounds of boosting, and with bags.

    y = sin(2 pi x) + noise,  x uniform in [0, 1]
    expected squared error of a prediction on new data = squared bias + variance + noise^2

Squared bias is that of the mean prediction over samples against the sine, variance that of the predictions about their mean.
The mean of R samples has variance/R in it, which is taken out of the squared bias, as `bias_variance.decompose` does: both are
unbiased estimates, and the bias of a model without any can come out a little below 0.

A small model has bias and little variance, a large one the reverse; its error on the rows it saw tells nothing of either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.estimators.adaboost_regressor import AdaBoostRegressor
from gapless.estimators.bagging import BaggingRegressor
from gapless.estimators.tree import DecisionTreeRegressor
from gapless.theory.inputs import as_nonnegative, as_whole
from gapless.theory.samples.bias_variance import split

__all__ = ["Study", "overfitting"]


@result
class Study(NamedTuple):
    """One number for each value of what was varied; ``test = squared_bias + variance + noise ** 2``.

    ``gapless.plots.OverfittingDisplay.from_study(study).plot()`` draws it.

    Attributes
    ----------
    varied : "depth", "rounds", "bags" or the name of a parameter
    values : sizes of the model
    train : mean squared error on the rows of the fit
    test : on new data
    squared_bias : squared distance of the mean prediction from the truth, less the variance/repetitions of the mean
    variance : variance of the predictions about their mean
    test_error : the standard error of ``test`` over the samples, and so on
    bias_error : standard error of ``squared_bias``
    variance_error : standard error of ``variance``
    noise : standard deviation of the noise
    x : points of the curves
    mean : (values, points): the mean prediction
    example : (values, points): that of the first sample
    sample : the first sample
    """

    varied: str
    values: tuple[int, ...]
    train: np.ndarray
    test: np.ndarray
    squared_bias: np.ndarray
    variance: np.ndarray
    test_error: np.ndarray
    bias_error: np.ndarray
    variance_error: np.ndarray
    noise: float
    x: np.ndarray
    mean: np.ndarray
    example: np.ndarray
    sample: tuple[np.ndarray, np.ndarray]

    @property
    def best(self) -> int:
        """The value of the smallest error on new data."""
        return self.values[int(np.argmin(self.test))]

    def __str__(self) -> str:
        lines = [f"{self.varied:>8}  {'train':>8}  {'test':>8}  {'bias^2':>8}  {'variance':>8}"]
        columns = (self.train, self.test, self.squared_bias, self.variance)
        for k, value in enumerate(self.values):
            lines.append(f"{value:>8}  " + "  ".join(f"{column[k]:8.4f}" for column in columns))
        return "\n".join(
            [*lines, f"the least error on new data is at {self.varied} {self.best}; noise^2 is {self.noise**2:.4f}"]
        )


def overfitting(
    varied: str = "depth",
    values: Sequence[int] | None = None,
    *,
    n: int = 80,
    noise: float = 0.3,
    repetitions: int = 30,
    seed: int = 0,
    model: Callable[[int], Any] | None = None,
) -> Study:
    """Fit models of rising size to many samples of a noisy sine.

    Parameters
    ----------
    seed : number that all random draws follow from
    varied : {"depth", "rounds", "bags"}
        Depth of a regression tree; rounds of ``AdaBoostRegressor`` over trees of depth 3; bags of full trees.
    values : the sizes; None for a list that shows both ends
    n, noise : rows of a sample, and the standard deviation of the noise, not negative
    repetitions : samples
    model : function of a size that gives a regressor, in place of the three
    """
    sizes_shown = {
        "depth": (1, 2, 3, 4, 5, 6, 8, 10, 14),
        "rounds": (1, 2, 5, 10, 20, 50, 100),
        "bags": (1, 2, 5, 10, 20, 50),
    }
    points = 200  # places between 0 and 1 where the fits are compared
    if model is None:
        if varied not in sizes_shown:
            raise ValueError(
                f"varied is one of {list(sizes_shown)}, got {written(varied)}; or give model=, a function of a size"
            )
        model = _models()[varied]
    sizes = tuple(int(v) for v in (sizes_shown[varied] if values is None else values))
    repetitions, n = as_whole(repetitions, "repetitions", 2), as_whole(n, "n", 2)
    noise = as_nonnegative(noise, "noise")
    if not sizes:
        raise ValueError("values is empty: give at least one size")
    random = np.random.default_rng(seed)
    x = (np.arange(points) + 0.5) / points
    truth = np.sin(2.0 * np.pi * x)
    train, found, first = np.zeros(len(sizes)), np.empty((repetitions, len(sizes), points)), None
    for r in range(repetitions):
        xs = random.random(n)
        ys = np.sin(2.0 * np.pi * xs) + noise * random.normal(size=n)
        first = (xs, ys) if first is None else first
        for k, size in enumerate(sizes):
            fitted = model(size).fit(xs[:, None], ys)
            train[k] += float(np.mean((fitted.predict(xs[:, None]) - ys) ** 2)) / repetitions
            found[r, k] = fitted.predict(x[:, None])
    assert first is not None
    weights = np.full(points, 1.0 / points)
    parts = [split(found[:, k], truth, "squared", weights) for k in range(len(sizes))]
    squared_bias, variance, expected = (
        np.array([getattr(part, name) for part in parts]) for name in ("bias", "variance", "expected")
    )
    errors = [
        np.array([getattr(part, name) for part in parts]) for name in ("expected_error", "bias_error", "variance_error")
    ]
    return Study(
        varied, sizes, train, expected + noise**2, squared_bias, variance, errors[0], errors[1], errors[2],
        noise, x, found.mean(axis=0), found[0], first,
    )  # fmt: skip


def _models() -> dict[str, Callable[[int], Any]]:
    return {
        "depth": lambda size: DecisionTreeRegressor(max_depth=size),
        "rounds": lambda size: AdaBoostRegressor(n_estimators=size, random_state=0),
        "bags": lambda size: BaggingRegressor(n_estimators=size, random_state=0),
    }
