"""E_in and E_out over the number of rows, and the two ways to read them.

    VC              E_out = E_in + (what generalisation costs):       the gap E_out - E_in, at most of the order 1/sqrt(n)
    bias-variance   E_out = (the error of the mean function) + (variance), the first a level, the second falling with n

Linear regression with noise of variance s^2 has them in closed form: E_in = s^2 (1 - p/n) for p parameters, and for normal inputs
without offset E_out = s^2 (1 + p/(n - p - 1)): the gap falls like 1/n there, faster than the bound of all classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.theory.inputs import as_probability, as_whole
from gapless.theory.samples.bias_variance import learner_of, predicted, refuse_predictions, split

__all__ = ["LearningCurve", "learning_curve"]


@result
@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Means over repeats with their intervals, at each n; arrays of equal length.

    Attributes
    ----------
    test_rows : new rows that each E_out was measured on; 0 where that is not known
    n : training rows
    e_in : mean error on the training rows
    e_out : mean error on new rows
    e_in_half : half the width of the interval of the mean, at confidence 1 - delta each
    e_out_half : the same for ``e_out``
    gap : E_out - E_in
    gap_half : the same for ``gap``
    loss : "zero_one" or "squared"
    repeats : training sets of each size
    delta : each interval of a mean fails with this probability
    bias : the error of the mean function, where the truth is known
    variance : variance about the mean function, where the truth is known
    noise : variance of the noise, as given
    """

    n: np.ndarray
    e_in: np.ndarray
    e_out: np.ndarray
    e_in_half: np.ndarray
    e_out_half: np.ndarray
    gap: np.ndarray
    gap_half: np.ndarray
    loss: str
    repeats: int
    delta: float
    bias: np.ndarray | None = None
    variance: np.ndarray | None = None
    noise: float | None = None
    test_rows: int = 0

    @property
    def measured(self) -> str:
        """On how many rows each E_out was measured; empty where that is not known."""
        if self.test_rows == 0:
            return ""
        if self.test_rows == 1:
            what = "right or wrong" if self.loss == "zero_one" else "one squared residual"
            return f"each E_out comes from one row ({what}), and its mean from the {self.repeats:,} repeats alone"
        return f"each E_out comes from {self.test_rows:,} rows"

    @property
    def exponent(self) -> float:
        """r of gap ~ n^-r, by least squares of the logarithms; the VC bound falls with r = 1/2."""
        rows = self.gap > 0.0
        if rows.sum() < 2:
            return math.nan
        x, y = np.log(self.n[rows]), np.log(self.gap[rows])
        x = x - x.mean()
        return float(-(x @ y) / (x @ x))

    @property
    def constant(self) -> float:
        """The smallest c with gap <= c/sqrt(n) at every n."""
        return float((self.gap * np.sqrt(self.n)).max())

    def __str__(self) -> str:
        first, last = self.n[0], self.n[-1]
        said = (
            f"from {first:,} to {last:,} rows E_in goes from {self.e_in[0]:.4g} to {self.e_in[-1]:.4g}, E_out from "
            f"{self.e_out[0]:.4g} to {self.e_out[-1]:.4g}; the gap falls like "
            f"n^-{self.exponent:.2f} and stays below {self.constant:.3g}/sqrt(n)"
        )
        if self.bias is not None and self.variance is not None:
            said += f"; bias {self.bias[-1]:.3g} and variance {self.variance[-1]:.3g} at the end"
        return said + ("; " if self.measured else "") + self.measured

    def table(self) -> str:
        """A line for each n, read both ways."""
        lines = ["        n     E_in    E_out      gap" + ("" if self.bias is None else "     bias variance")]
        for i, n in enumerate(self.n.tolist()):
            row = f"{n:9,d} {self.e_in[i]:8.4f} {self.e_out[i]:8.4f} {self.gap[i]:8.4f}"
            if self.bias is not None and self.variance is not None:
                row += f" {self.bias[i]:8.4f} {self.variance[i]:8.4f}"
            lines.append(row)
        return "\n".join([*lines, self.measured] if self.measured else lines)


def learning_curve(
    learner: Any,
    data: Callable[[int, np.random.Generator], tuple[Any, Any]] | tuple[Any, Any],
    sizes: Sequence[int],
    loss: str = "zero_one",
    repeats: Any = 50,
    test: Any = 2000,
    truth: Callable[[np.ndarray], Any] | None = None,
    noise: float | None = None,
    delta: Any = 0.05,
    seed: int = 0,
) -> LearningCurve:
    """Train on n rows, many times, for each n of ``sizes``.

    Parameters
    ----------
    sizes : numbers of training rows
    repeats : training sets of each size
    noise : variance of the noise in y, where it is known
    seed : number that all random draws follow from
    learner : an estimator (cloned each time), or a function (X, y) -> predict
    data : (n, random) -> (X, y), a generator of rows; or arrays (X, y), of which n rows are trained on and ``test`` others tested
    loss : "zero_one" or "squared"
    test : rows on which E_out is measured, new for each repeat of a generator; of arrays as many as ``sizes`` leave, told by
        ``test_rows``
    truth : the noise-free function; with it, bias and variance are measured at fixed points (squared loss)
    delta : the intervals of the means hold with confidence 1 - delta each (Student's t)
    """
    if loss not in ("squared", "zero_one"):
        raise ValueError(f'loss must be "squared" or "zero_one"; got {written(loss)}')
    repeats, delta = as_whole(repeats, "repeats", 2), as_probability(delta)
    ns = [as_whole(n, "sizes") for n in sizes]
    if not ns or any(a >= b for a, b in pairwise(ns)):
        raise ValueError(f"sizes must grow; got {written(list(sizes))}")
    random = np.random.default_rng(seed)
    draw, m = _source(data, ns[-1], as_whole(test, "test"))
    refuse_predictions(repeats, "repeats", m, "test rows")
    fit = learner_of(learner)
    fixed = np.asarray(draw(0, m, random)[2]) if truth is not None and loss == "squared" else None
    errors = np.empty((len(ns), repeats, 2))
    parts = []
    for i, n in enumerate(ns):
        kept = _measure(fit, partial(draw, n, m, random), errors[i], loss, fixed)
        if kept is not None and truth is not None:
            parts.append(split(kept, np.asarray(truth(fixed)), "squared", np.full(m, 1.0 / m)))  # type: ignore[arg-type]
    return _summary(ns, errors, parts, loss, delta, noise, m)


def _measure(
    fit: Callable[[Any, Any], Any], draw: Callable[[], Any], errors: np.ndarray, loss: str, fixed: np.ndarray | None
) -> np.ndarray | None:
    """Write E_in and E_out of a fit to each draw into ``errors``; the predictions at the fixed points, where there are any."""
    kept = None if fixed is None else np.empty((len(errors), len(fixed)))
    for k in range(len(errors)):
        X, y, X_test, y_test = draw()
        model = fit(X, y)
        errors[k] = _error(predicted(model, X), y, loss), _error(predicted(model, X_test), y_test, loss)
        if kept is not None and fixed is not None:
            kept[k] = predicted(model, fixed)
    return kept


def _summary(
    ns: list[int], errors: np.ndarray, parts: list[Any], loss: str, delta: float, noise: float | None, m: int
) -> LearningCurve:
    """Means over the repeats, with Student's intervals."""
    from scipy.special import stdtrit

    repeats = errors.shape[1]
    width = float(stdtrit(repeats - 1, 1.0 - delta / 2.0)) / math.sqrt(repeats)
    means, halves = errors.mean(axis=1), width * errors.std(axis=1, ddof=1)
    gaps = errors[:, :, 1] - errors[:, :, 0]
    bias = np.array([p.bias for p in parts]) if parts else None
    variance = np.array([p.variance for p in parts]) if parts else None
    return LearningCurve(
        np.array(ns), means[:, 0], means[:, 1], halves[:, 0], halves[:, 1], gaps.mean(axis=1),
        width * gaps.std(axis=1, ddof=1), loss, repeats, delta, bias, variance, noise, m,
    )  # fmt: skip


def _error(found: np.ndarray, y: Any, loss: str) -> float:
    y = np.asarray(y)
    return float(np.mean(found != y)) if loss == "zero_one" else float(np.mean((found - y) ** 2))


def _source(data: Any, most: int, test: int) -> tuple[Callable[..., tuple[Any, Any, Any, Any]], int]:
    """(n, m, random) -> X, y, X_test, y_test, and the m that there are rows for."""
    if callable(data):

        def drawn(n: int, m: int, random: np.random.Generator) -> tuple[Any, Any, Any, Any]:
            X, y = data(n, random) if n else (None, None)
            return X, y, *data(m, random)

        return drawn, test
    X, y = (np.asarray(part) for part in data)
    if len(X) != len(y):
        raise ValueError(f"X has {len(X)} rows, y {len(y)}")
    m = min(test, len(X) - most)
    if m < 1:
        raise ValueError(f"{most:,} rows to train on leave none of {len(X):,} to test on")

    def taken(n: int, m: int, random: np.random.Generator) -> tuple[Any, Any, Any, Any]:
        rows = random.permutation(len(X))
        return X[rows[:n]], y[rows[:n]], X[rows[n : n + m]], y[rows[n : n + m]]

    return taken, m
