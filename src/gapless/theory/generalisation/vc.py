"""The Vapnik-Chervonenkis dimension, the bounds that follow from it, and how many rows are enough.

    d_VC           the most points that are shattered: all 2^n labellings occur
    with probability at least 1 - delta, for every hypothesis of the class at once, m its growth function:
    vc             |E_out - E_in| <= sqrt(8/n ln(4 m(2n)/delta))
    rademacher     E_out - E_in  <= sqrt(2 ln(2n m(n))/n) + sqrt(2/n ln(1/delta)) + 1/n
    parrondo       E_out - E_in  <= epsilon,   epsilon = sqrt(1/n (2 epsilon + ln(6 m(2n)/delta)))     (Parrondo, van den Broek)
    devroye        E_out - E_in  <= epsilon,   epsilon = sqrt(1/(2n) (4 epsilon (1 + epsilon) + ln(4 m(n^2)/delta)))

The last two are quadratic equations for epsilon.  Where no growth function is known, Sauer's bound stands for m
(``growth="exact"``), or the coarser n^d + 1 (``growth="power"``) of most textbooks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.theory.generalisation.ghost import Ghost, ghost_sample
from gapless.theory.generalisation.growth import HypothesisClass, class_of, log_growth
from gapless.theory.generalisation.shattering import (
    EffectiveDimension,
    Shattering,
    effective_dimension,
    independent_points,
    radon,
    shatters,
)
from gapless.theory.inputs import as_positive, as_probability, as_whole

__all__ = [
    "BOUNDS", "EffectiveDimension", "Ghost", "Penalty", "SampleSize", "Shattering", "Tradeoff", "bound", "crude",
    "crude_sample_size", "dimension", "effective_dimension", "ghost_sample", "independent_points", "radon", "sample_size",
    "shatters", "tradeoff",
]  # fmt: skip


def _vc(n: int, log_m: Callable[[int], float], log_delta: float) -> float:
    return math.sqrt(8.0 / n * (math.log(4.0) + log_m(2 * n) - log_delta))


def _rademacher(n: int, log_m: Callable[[int], float], log_delta: float) -> float:
    return math.sqrt(2.0 * (math.log(2.0 * n) + log_m(n)) / n) + math.sqrt(-2.0 * log_delta / n) + 1.0 / n


def _parrondo(n: int, log_m: Callable[[int], float], log_delta: float) -> float:
    # epsilon^2 - 2 epsilon/n - L/n = 0
    L = math.log(6.0) + log_m(2 * n) - log_delta
    return 1.0 / n + math.sqrt(1.0 / n**2 + L / n)


def _devroye(n: int, log_m: Callable[[int], float], log_delta: float) -> float:
    # (2n - 4) epsilon^2 - 4 epsilon - L = 0; up to n = 2 it has no positive solution.
    if n <= 2:
        return math.inf
    L, a = math.log(4.0) + log_m(n * n) - log_delta, 2.0 * n - 4.0
    return (2.0 + math.sqrt(4.0 + a * L)) / a


#: Bounds by name.
BOUNDS = {"vc": _vc, "rademacher": _rademacher, "parrondo": _parrondo, "devroye": _devroye}


def dimension(what: Any, **parameters: Any) -> int | float:
    """d_VC of a class by object or name; math.inf where every number of points can be shattered.

    Parameters
    ----------
    what : a class of `theory.growth` or its name
    parameters : of a class by name: d=2
    """
    return class_of(what, **parameters).vc_dimension


@result
@dataclass(frozen=True)
class Penalty:
    """Omega: how far E_out can be above E_in, for every hypothesis of the class, but for a failure of probability delta.

    Attributes
    ----------
    value : Omega
    n : number of rows
    delta : probability with which the statement may fail
    vc_dimension : d_VC
    kind : which bound
    growth : "exact" or "power"
    """

    value: float
    n: int
    delta: float
    vc_dimension: int | float
    kind: str
    growth: str

    def __float__(self) -> float:
        return self.value

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing: it is 1 or more."""
        return self.value >= 1.0

    def __str__(self) -> str:
        said = f"E_out <= E_in + {self.value:.6g} with {self.n:,} rows and VC dimension {self.vc_dimension}, but for a failure "
        return said + f"of probability {self.delta:g} ({self.kind})" + (" (vacuous)" if self.vacuous else "")


def bound(n: Any, what: Any, delta: Any = 0.05, kind: str = "vc", growth: str = "exact", **parameters: Any) -> Penalty:
    """Omega(n, H, delta). ``what`` is a class of `theory.growth`, its name, or a VC dimension alone.

    Parameters
    ----------
    n : number of rows
    what : a class of `theory.growth`, its name, or a VC dimension
    delta : probability with which the statement may fail
    kind : "vc", "rademacher", "parrondo" or "devroye"
    growth : "exact", or "power" for n^d + 1
    parameters : of a class by name: d=2
    """
    n, delta, known = as_whole(n), as_probability(delta), class_of(what, **parameters)
    return Penalty(_bound(n, known, math.log(delta), kind, growth), n, delta, known.vc_dimension, kind, growth)


def _bound(n: int, known: HypothesisClass, log_delta: float, kind: str, growth: str) -> float:
    if kind not in BOUNDS:
        raise ValueError(f"kind must be one of {', '.join(BOUNDS)}; got {written(kind)}")
    return BOUNDS[kind](n, lambda k: log_growth(known, k, growth), log_delta)


@result
@dataclass(frozen=True)
class SampleSize:
    """The smallest n from which on the bound is at most epsilon; ``rule_of_thumb`` is 10 d_VC.

    ``n_real``, for growth="power" and the VC bound: the solution before it is rounded up.

    Attributes
    ----------
    n : smallest number of rows from which on the bound is at most epsilon
    epsilon : distance that is asked for
    delta : probability with which the statement may fail
    vc_dimension : d_VC
    kind : which bound
    growth : "exact" or "power"
    n_real : solution before it was rounded up; for growth="power" and the VC bound
    """

    n: int
    epsilon: float
    delta: float
    vc_dimension: int
    kind: str
    growth: str
    n_real: float | None = None

    @property
    def rule_of_thumb(self) -> int:
        """10 d_VC."""
        return 10 * self.vc_dimension

    @property
    def per_dimension(self) -> float:
        """Rows for each unit of d_VC."""
        return self.n / max(1, self.vc_dimension)

    def __str__(self) -> str:
        return (
            f"{self.n:,} rows make E_out - E_in at most {self.epsilon:g} for VC dimension {self.vc_dimension}, but for a failure "
            f"of probability {self.delta:g} ({self.kind}); the rule of thumb, 10 d_VC = {self.rule_of_thumb:,}, is a habit that "
            "no bound supports"
        )


def sample_size(
    epsilon: Any, delta: Any, what: Any, kind: str = "vc", growth: str = "exact", **parameters: Any
) -> SampleSize:
    """How many rows are enough: the bound solved for n.

    Parameters
    ----------
    epsilon : distance of E_in and E_out that is allowed
    delta : probability with which the statement may fail
    what : a class of `theory.growth`, its name, or a VC dimension
    kind : "vc", "rademacher", "parrondo" or "devroye"
    growth : "exact", or "power" for n^d + 1
    parameters : of a class by name: d=2
    """
    epsilon, delta, known = as_positive(epsilon), as_probability(delta), class_of(what, **parameters)
    d = known.vc_dimension
    if math.isinf(d):
        raise ValueError(f"{known.name} have infinite VC dimension: no number of rows is enough")
    log_delta = math.log(delta)

    def enough(n: int) -> bool:
        return _bound(n, known, log_delta, kind, growth) <= epsilon

    # Up to d the bound does not fall (m(n) = 2^n); beyond it falls: double, then halve the distance.
    low = max(1, int(d) // 2)
    high = max(2, 2 * low)
    while not enough(high):
        low, high = high, 2 * high
        if high > 1 << 200:
            raise ValueError(f"epsilon = {written(epsilon)} needs more than 1e60 rows")
    if enough(low):
        low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    real = _real(float(high), epsilon, log_delta, int(d)) if kind == "vc" and growth == "power" and high > d else None
    return SampleSize(high, epsilon, delta, int(d), kind, growth, real)


def _real(n: float, epsilon: float, log_delta: float, d: int) -> float:
    """n = 8/epsilon^2 ln(4 ((2n)^d + 1)/delta) by Newton steps from just above."""
    for _ in range(20):
        power = d * math.log(2.0 * n)
        excess = n - 8.0 / epsilon**2 * (math.log(4.0) + power + math.log1p(math.exp(-power)) - log_delta)
        n -= excess / (1.0 - 8.0 * d / (epsilon**2 * n * (1.0 + math.exp(-power))))
    return n


def crude(n: Any, d: Any) -> float:
    """ln(n^d e^-n), the shape of the bound without its constants.

    Parameters
    ----------
    n : number of rows, or any positive number
    d : VC dimension
    """
    n = as_positive(n, "n")
    return as_whole(d, "d", 0) * math.log(n) - n


def crude_sample_size(value: Any, d: Any) -> float:
    """The n > d with n^d e^-n = value: how n grows with d, nearly in proportion.

    Parameters
    ----------
    value : what n^d e^-n is to be
    d : VC dimension
    """
    target, d = math.log(as_positive(value, "value")), as_whole(d, "d", 0)
    low = float(max(d, 1e-300))
    if d and crude(low, d) < target:
        raise ValueError(f"n^{d} e^-n is never above {math.exp(crude(low, d)):g}")
    if d == 0:
        return max(0.0, -target)
    high = 2.0 * low + 2.0
    while crude(high, d) > target:
        high *= 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if crude(middle, d) > target else (low, middle)
    return high


@result
@dataclass(frozen=True, eq=False)
class Tradeoff:
    """E_in falls with d_VC, Omega grows, and their sum has a lowest point between.

    Attributes
    ----------
    dimensions : d_VC of each class
    e_in : E_in of each class
    penalty : Omega of each class
    n : number of rows
    delta : probability with which the statement may fail
    kind : which bound: "vc", "rademacher", "parrondo" or "devroye"
    """

    dimensions: np.ndarray
    e_in: np.ndarray
    penalty: np.ndarray
    n: int
    delta: float
    kind: str

    @property
    def total(self) -> np.ndarray:
        """E_in + Omega of each class."""
        return self.e_in + self.penalty

    @property
    def best(self) -> int:
        """The dimension of the lowest sum."""
        return int(self.dimensions[int(np.argmin(self.total))])

    def __str__(self) -> str:
        lines = [f"{self.n:,} rows, delta {self.delta:g}, {self.kind}: E_in + Omega is lowest at d_VC = {self.best}"]
        for d, e, p in zip(self.dimensions.tolist(), self.e_in.tolist(), self.penalty.tolist()):
            lines.append(f"  d_VC {d:4d}   E_in {e:.4f}   Omega {p:.4f}   sum {e + p:.4f}")
        return "\n".join(lines)


def tradeoff(
    dimensions: Any,
    e_in: Any,
    n: Any,
    delta: Any = 0.05,
    kind: str = "vc",
    growth: str = "exact",
    simultaneous: bool = True,
) -> Tradeoff:
    """E_in, Omega and their sum over classes of growing d_VC.

    ``simultaneous``: delta is divided by the number of classes, so that the sums hold together and the lowest may be chosen.

    Parameters
    ----------
    dimensions : d_VC of each class
    e_in : E_in of each class
    n : number of rows
    delta : probability with which the statement may fail
    kind : "vc", "rademacher", "parrondo" or "devroye"
    growth : "exact", or "power" for n^d + 1
    simultaneous : whether delta is divided by the number of classes, so that the lowest sum may be chosen
    """
    dims = [as_whole(d, "d", 0) for d in np.asarray(dimensions).ravel().tolist()]
    errors = np.asarray(e_in, float).ravel()
    if not dims or errors.size != len(dims):
        raise ValueError(f"one E_in for each dimension: got {len(dims)} dimensions and {errors.size} errors")
    if not ((errors >= 0.0) & (errors <= 1.0)).all():
        raise ValueError("E_in must lie between 0 and 1")
    n, delta = as_whole(n), as_probability(delta)
    each = math.log(delta / len(dims) if simultaneous else delta)
    penalty = np.array([_bound(n, class_of(d), each, kind, growth) for d in dims])
    return Tradeoff(np.array(dims), errors, penalty, n, delta, kind)
