"""Bias and variance of a learner, by drawing many training sets.

    squared loss   E_D[(g_D(x) - f(x))^2] = (gbar(x) - f(x))^2  +  E_D[(g_D(x) - gbar(x))^2],      gbar = E_D[g_D]
                                            bias                   variance
    E_D[E_out] = bias + variance (+ the variance of the noise in y)

    0-1 loss       main(x): the label that most g_D give;  bias(x) = 1 where it is not f(x);  variance(x) = P_D(g_D(x) != main(x))
    two classes    E_D[1(g_D(x) != f(x))] = bias + (variance where bias = 0) - (variance where bias = 1)     (Domingos 2000)

Variance is that of the learned function about its mean, bias that of the mean against the truth: neither is a property of
one training set.  With K draws the mean of g has itself an error of variance/K, which is taken out of the squared bias, so
that both estimates are unbiased.  Each has its Monte-Carlo error beside it, by leaving out one draw at a time (0-1 loss: a
twentieth of them).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.solvers.bagging import in_bag_probability
from gapless.theory.inputs import as_whole

__all__ = ["Decomposition", "Resampled", "bootstrap", "decompose", "distinct_share"]


@result
@dataclass(frozen=True, eq=False)
class Decomposition:
    """Bias, variance and what they add up to, each with its Monte-Carlo error.

    Attributes
    ----------
    loss : "squared" or "zero_one"
    bias : squared loss: the mean squared distance of gbar from the truth
    variance : of the learned functions about gbar; 0-1 loss: share of predictions other than the main one
    expected : E_D[E_out] against the noise-free truth
    bias_error : Monte-Carlo error of ``bias``
    variance_error : Monte-Carlo error of ``variance``
    expected_error : Monte-Carlo error of ``expected``
    noise : as given
    draws : training sets that were drawn
    points : test points
    mean : gbar at the test points; 0-1 loss: the main prediction
    unbiased_variance : 0-1 loss: variance where the main prediction is right
    biased_variance : and where it is wrong, which lowers the error of two classes
    """

    loss: str
    bias: float
    variance: float
    expected: float
    bias_error: float
    variance_error: float
    expected_error: float
    noise: float | None
    draws: int
    points: int
    mean: np.ndarray
    unbiased_variance: float | None = None
    biased_variance: float | None = None

    @property
    def total(self) -> float | None:
        """E_D[E_out] with the noise in it, where that is known."""
        if self.noise is None:
            return None
        return (
            self.expected + self.noise if self.loss == "squared" else self.expected * (1 - 2 * self.noise) + self.noise
        )

    def __str__(self) -> str:
        said = (
            f"{self.loss} loss over {self.draws:,} training sets: bias {self.bias:.5g} ± {self.bias_error:.1g}, variance "
            f"{self.variance:.5g} ± {self.variance_error:.1g}, expected error {self.expected:.5g} ± {self.expected_error:.1g}"
        )
        if self.loss == "zero_one":
            said += f" (variance adds {self.unbiased_variance:.5g} and takes away {self.biased_variance:.5g})"
        return said + ("" if self.noise is None else f"; with the noise {self.total:.5g}")


def decompose(
    learner: Any,
    draw: Callable[[np.random.Generator], tuple[Any, Any]],
    X_test: Any,
    truth: Any,
    loss: str = "squared",
    draws: Any = 1000,
    noise: float | None = None,
    weights: Any = None,
    seed: int = 0,
) -> Decomposition:
    """Train on ``draws`` training sets, and split the error at the test points.

    Parameters
    ----------
    draws : number of training sets
    seed : number that all random draws follow from
    learner : an estimator with fit and predict (a clone is fitted each time), or a function (X, y) -> predict
    draw : random -> (X, y), a new training set
    X_test : points at which the learned functions are compared; the errors given are those of the draws, for these points
    truth : noise-free values (labels) at X_test, or a function that gives them
    loss : "squared" or "zero_one"
    noise : the variance of the noise in y, or the probability of a turned label, where it is known
    weights : of the test points, for a quadrature rule; equal ones otherwise
    """
    draws = as_whole(draws, "draws", 2)
    X_test = np.asarray(X_test)
    random = np.random.default_rng(seed)
    f = np.asarray(truth(X_test) if callable(truth) else truth)
    _check(loss, draws, X_test, f, noise)
    fit = learner_of(learner)
    predictions = np.empty((draws, len(X_test)), dtype=np.result_type(f, np.float64) if loss == "squared" else f.dtype)
    for k in range(draws):
        predictions[k] = predicted(fit(*draw(random)), X_test)
    return split(predictions, f, loss, _weights(weights, len(X_test)), noise)


def split(
    predictions: np.ndarray, truth: np.ndarray, loss: str, weights: np.ndarray, noise: float | None = None
) -> Decomposition:
    """The decomposition of predictions that are there: a row for each training set, a column for each test point."""
    if loss == "squared":
        return _squared(predictions, truth, weights, noise)
    return _zero_one(predictions, truth, weights, noise)


def _squared(g: np.ndarray, f: np.ndarray, weights: np.ndarray, noise: float | None) -> Decomposition:
    K = len(g)
    if not np.isfinite(g).all():
        raise ValueError("a learned function has values that are not finite at the test points")
    mean = g.mean(axis=0)
    away, miss = g - mean, mean - f
    # Unbiased: the mean over pairs k != l of (g_k - f)(g_l - f), and of (g_k - g_l)^2/2.
    squares = (away**2) @ weights  # of each draw
    variance = float(squares.sum()) / (K - 1)
    bias = float(weights @ miss**2) - variance / K
    # Leaving out draw k, in closed form; the jackknife's variance is (K - 1)/K times the sum of squared changes.
    cross = away @ (weights * miss)
    left_variance = (squares.sum() - squares * K / (K - 1)) / (K - 2) if K > 2 else np.full(K, variance)
    left_bias = float(weights @ miss**2) - 2.0 * cross / (K - 1) + squares / (K - 1) ** 2 - left_variance / (K - 1)
    each = squares + 2.0 * cross + float(weights @ miss**2)  # E_out of each draw
    return Decomposition(
        "squared", bias, variance, float(each.mean()), _jackknife(left_bias), _jackknife(left_variance),
        float(each.std(ddof=1)) / math.sqrt(K), noise, K, g.shape[1], mean,
    )  # fmt: skip


def _jackknife(left: np.ndarray) -> float:
    K = len(left)
    return math.sqrt((K - 1) / K * float(((left - left.mean()) ** 2).sum()))


def _zero_one(g: np.ndarray, f: np.ndarray, weights: np.ndarray, noise: float | None) -> Decomposition:
    # Groups of draws for the error of the 0-1 decomposition.
    jackknife_groups = 20
    classes, coded = np.unique(np.concatenate([f[None, :], g]), return_inverse=True)
    coded = coded.reshape(len(g) + 1, -1)
    f, g = coded[0], coded[1:]
    main, numbers = _zero_one_numbers(g, f, weights, len(classes))
    groups = np.array_split(np.arange(len(g)), min(jackknife_groups, len(g)))
    left = np.array([
        _zero_one_numbers(np.delete(g, some, axis=0), f, weights, len(classes))[1] for some in groups
    ])  # fmt: skip
    bias, variance, expected, unbiased, biased = numbers
    first, second, third = (_jackknife(left[:, j]) for j in range(3))
    return Decomposition(
        "zero_one", bias, variance, expected, first, second, third, noise, len(g), g.shape[1], classes[main], unbiased, biased
    )  # fmt: skip


def _zero_one_numbers(
    g: np.ndarray, f: np.ndarray, weights: np.ndarray, K: int
) -> tuple[np.ndarray, tuple[float, ...]]:
    counts = np.stack([(g == k).sum(axis=0) for k in range(K)])
    main = counts.argmax(axis=0)
    wrong = main != f
    spread = 1.0 - counts.max(axis=0) / len(g)
    expected = 1.0 - np.take_along_axis(counts, f[None, :], axis=0)[0] / len(g)
    unbiased, biased = weights @ (spread * ~wrong), weights @ (spread * wrong)
    return main, tuple(float(v) for v in (weights @ wrong, weights @ spread, weights @ expected, unbiased, biased))


@result
@dataclass(frozen=True, eq=False)
class Resampled(Decomposition):
    """The same by bootstrap: training sets are drawn from the one at hand, and y_test stands for the truth, noise included.

    Attributes
    ----------
    distinct : mean share of the rows that a resample has; 1 - (1 - 1/n)^n is expected
    """

    distinct: float = 0.0

    def __str__(self) -> str:
        return (
            super().__str__() + "; by bootstrap: the bias has the noise of y_test in it, and a resample has only "
            f"{100 * self.distinct:.1f} % of the rows"
        )


def bootstrap(
    learner: Any, X: Any, y: Any, X_test: Any, y_test: Any, loss: str = "squared", draws: Any = 200, seed: int = 0
) -> Resampled:
    """Where only one sample is at hand: train on resamples of it, compare with y_test, rows that were not in it.

    Parameters
    ----------
    learner : an estimator with fit and predict, or a function (X, y) -> predict
    X, y : the sample, which is resampled
    X_test, y_test : rows that were not in it
    loss : "squared" or "zero_one"
    draws : number of resamples
    seed : number that all random draws follow from
    """
    X, y, f = np.asarray(X), np.asarray(y), np.asarray(y_test)
    X_test = np.asarray(X_test)
    if len(X) != len(y):
        raise ValueError(f"X has {len(X)} rows, y {len(y)}")
    n, draws = len(X), as_whole(draws, "draws", 2)
    _check(loss, draws, X_test, f, None)
    random = np.random.default_rng(seed)
    fit = learner_of(learner)
    predictions = np.empty((draws, len(X_test)), dtype=np.float64 if loss == "squared" else f.dtype)
    shares = np.empty(draws)
    for k in range(draws):
        rows = random.integers(n, size=n)
        while loss == "zero_one" and np.unique(y[rows]).size < 2:
            rows = random.integers(n, size=n)  # no classifier can be trained on one class
        shares[k] = np.unique(rows).size / n
        predictions[k] = predicted(fit(X[rows], y[rows]), X_test)
    found = split(predictions, f, loss, _weights(None, len(X_test)))
    return Resampled(
        **{name: getattr(found, name) for name in found.__dataclass_fields__}, distinct=float(shares.mean())
    )


def distinct_share(n: Any) -> float:
    """The expected share of n rows that a bootstrap sample of n has: 1 - (1 - 1/n)^n, which falls to 1 - 1/e = 0.632.

    Parameters
    ----------
    n : number of rows
    """
    return in_bag_probability(as_whole(n))


def learner_of(learner: Any) -> Callable[[Any, Any], Any]:
    """(X, y) -> something that predicts."""
    if hasattr(learner, "fit"):
        from sklearn.base import clone

        return lambda X, y: clone(learner).fit(X, y)
    if not callable(learner):
        raise ValueError(
            f"the learner must be an estimator, or a function of (X, y) that gives a function; got {learner!r}"
        )
    return learner


def predicted(model: Any, X: np.ndarray) -> np.ndarray:
    return np.asarray(model.predict(X) if hasattr(model, "predict") else model(X)).reshape(len(X))


def _weights(weights: Any, m: int) -> np.ndarray:
    if weights is None:
        return np.full(m, 1.0 / m)
    given = np.asarray(weights, float)
    if given.shape != (m,) or not (given >= 0.0).all() or not given.sum() > 0.0:
        raise ValueError(f"weights must be {m} numbers that are not negative, and not all 0")
    return given / given.sum()


def refuse_predictions(times: int, what: str, n: int, rows: str) -> None:
    """Refuse more predictions than are kept at once."""
    most = 100_000_000  # of 8 bytes: 800 MB
    if times * n > most:
        raise ValueError(f"{times:,} {what} at {n:,} {rows} are more than {most:,} predictions; take fewer of either")


def _check(loss: str, draws: int, X_test: np.ndarray, f: np.ndarray, noise: float | None) -> None:
    if loss not in ("squared", "zero_one"):
        raise ValueError(f'loss must be "squared" or "zero_one"; got {written(loss)}')
    if len(X_test) == 0 or f.shape != (len(X_test),):
        raise ValueError(f"the truth must be one value for each of the {len(X_test)} test points; got shape {f.shape}")
    refuse_predictions(draws, "draws", len(X_test), "points")
    if noise is not None and not noise >= 0.0:
        raise ValueError(f"noise must not be negative; got {written(noise)}")
