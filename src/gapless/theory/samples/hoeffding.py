"""How far a frequency can be from its probability: Hoeffding, the union bound, the exact binomial and kl beside them.

    one hypothesis fixed in advance, nu its error on n independent rows, mu its true error
        P(|nu - mu| > epsilon) <= 2 exp(-2 epsilon^2 n)                 (one side: without the 2)
    the one chosen among M by the same rows
        P(|nu - mu| > epsilon) <= 2 M exp(-2 epsilon^2 n)

The bound holds for any distribution, and for any loss in [0, 1].  Where the loss is 0 or 1 the number of errors is binomial, and
the exact interval (Clopper and Pearson 1934) is never wider than what the kl inequality gives, nor that than Hoeffding's:

    kl(q, p) = q ln(q/p) + (1 - q) ln((1 - q)/(1 - p)) >= 2 (p - q)^2
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.theory.inputs import as_fraction, as_positive, as_probability, as_whole
from gapless.theory.samples.urn import CentralLimit, Urn, Verification, central_limit, urn, verification

__all__ = [
    "CentralLimit", "HeldOut", "Hoeffding", "Interval", "Urn", "Verification", "central_limit", "clopper_pearson", "held_out",
    "hoeffding_interval", "kl", "kl_interval", "kl_lower", "kl_upper", "solve", "urn", "verification",
]  # fmt: skip


@result
@dataclass(frozen=True)
class Hoeffding:
    """n, epsilon, delta of which two were given and one followed; ``n_real`` is n before it was rounded up.

    Attributes
    ----------
    n : rows
    epsilon : distance of the seen and the true share
    delta : probability of a larger distance, at most
    hypotheses : M, among which the rows chose
    sides : 2: |E_in - E_out|; 1: one direction only
    n_real : n before it was rounded up, infinity where it is beyond floats, None where n was given
    log_delta : ln of delta, also where delta is too small for a float
    """

    n: int
    epsilon: float
    delta: float
    hypotheses: int = 1
    sides: int = 2
    n_real: float | None = None
    log_delta: float = 0.0

    @property
    def vacuous(self) -> bool:
        """Whether it says nothing: a probability of 1, or an error that is allowed anyway."""
        return self.delta >= 1.0 or self.epsilon >= 1.0

    def __str__(self) -> str:
        of = "one hypothesis fixed in advance"
        if self.hypotheses > 1:
            of = f"whichever of {_count(self.hypotheses)} hypotheses the data chose"
        what = "|E_in - E_out|" if self.sides == 2 else "E_out - E_in"
        shown = f"{self.delta:.6g}" if self.delta > 0.0 else f"exp({self.log_delta:.6g})"
        said = f"{what} > {self.epsilon:.6g} has probability at most {shown} with {_count(self.n)} rows, for {of}"
        return said + (" (vacuous)" if self.vacuous else "")


def solve(n: Any = None, epsilon: Any = None, delta: Any = None, *, hypotheses: Any = 1, sides: int = 2) -> Hoeffding:
    """The third of n, epsilon and delta: sides * hypotheses * exp(-2 epsilon^2 n) = delta; n is rounded up.

    ``hypotheses``: how many the data chose among; ``sides``: 2 for ``|nu - mu|``, 1 for mu - nu alone.

    Parameters
    ----------
    n : number of rows
    epsilon : distance of the seen and the true share
    delta : probability of a larger distance; give two of n, epsilon and delta
    hypotheses : M, among which the rows chose
    sides : 2: |E_in - E_out|; 1: one direction only
    """
    if sum(v is None for v in (n, epsilon, delta)) != 1:
        raise ValueError("give two of n, epsilon and delta; the third is what is solved for")
    many = log_many(hypotheses, sides)
    M = as_whole(hypotheses, "hypotheses")
    if delta is None:
        n, epsilon = as_whole(n), as_positive(epsilon)
        exponent = many - _float(2 * Fraction(epsilon) ** 2 * n)
        return Hoeffding(n, epsilon, _exp(exponent), M, sides, log_delta=exponent)
    delta = as_probability(delta)
    need = many - math.log(delta)
    if epsilon is None:
        n = as_whole(n)
        half = n.bit_length() // 2  # n = 4^half times a number near 1: n itself may be beyond floats
        width = math.ldexp(math.sqrt(need / 2.0 / (n / 4**half)), -half)
        return Hoeffding(n, width, delta, M, sides, log_delta=math.log(delta))
    epsilon = as_positive(epsilon)
    real = Fraction(need) / (2 * Fraction(epsilon) ** 2)
    return Hoeffding(max(1, math.ceil(real)), epsilon, delta, M, sides, _float(real), math.log(delta))


def _float(value: Fraction) -> float:
    """The nearest float; infinity where the number is beyond all of them."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def log_many(hypotheses: Any, sides: int) -> float:
    """ln(sides * hypotheses), for integers of any size."""
    if sides not in (1, 2):
        raise ValueError(f"sides must be 1 or 2; got {written(sides)}")
    return math.log(sides * as_whole(hypotheses, "hypotheses"))


def _exp(exponent: float) -> float:
    return math.exp(exponent) if exponent < 709.0 else math.inf


def _count(value: int) -> str:
    return f"{value:,}" if value < 10**18 else f"about 1e{int(math.log10(value))}"


# Binomial and kl


@result
@dataclass(frozen=True)
class Interval:
    """Where a probability lies, but for a failure of probability delta; sides = 1: only ``high`` was asked for.

    Attributes
    ----------
    errors : errors that were counted
    n : number of rows
    delta : probability with which the statement may fail
    low : lower end
    high : upper end
    method : how the ends were computed
    sides : 2: both ends; 1: only ``high`` was asked for
    """

    errors: float
    n: int
    delta: float
    low: float
    high: float
    method: str
    sides: int = 2

    @property
    def rate(self) -> float:
        """errors / n."""
        return self.errors / self.n

    @property
    def vacuous(self) -> bool:
        """Whether it says nothing: from 0 to 1."""
        return self.low <= 0.0 and self.high >= 1.0

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        where = f"at most {self.high:.6g}" if self.sides == 1 else f"between {self.low:.6g} and {self.high:.6g}"
        said = (
            f"{self.errors:g} of {self.n:,}: {where}, but for a failure of probability {self.delta:g} ({self.method})"
        )
        return said + (" (vacuous)" if self.vacuous else "")


def clopper_pearson(errors: Any, n: Any, delta: Any = 0.05, sides: int = 2) -> Interval:
    """The exact binomial interval. One side: the largest mu at which so few errors still have probability delta.

    high: P(Bin(n, high) <= errors) = delta/sides,   low: P(Bin(n, low) >= errors) = delta/sides

    Parameters
    ----------
    errors : errors that were counted
    n : rows that were not trained on
    delta : probability with which the statement may fail
    sides : 2: both ends; 1: the upper end only
    """
    k, n, tail = _counts(errors, n, delta, sides)
    # Small tails directly, never as 1 - tail: that would cost all digits below 1e-16.
    high = 1.0 if k == n else _beta_root(k + 1, n - k, tail, upper=True)
    low = 0.0 if k == 0 or sides == 1 else _beta_root(k, n - k + 1, tail, upper=False)
    return Interval(k, n, float(delta), low, high, "exact binomial, Clopper-Pearson", sides)


def _counts(errors: Any, n: Any, delta: Any, sides: int) -> tuple[int, int, float]:
    n, k = as_whole(n), as_whole(errors, "errors", 0)
    if k > n:
        raise ValueError(f"{k} errors on {n} rows")
    if sides not in (1, 2):
        raise ValueError(f"sides must be 1 or 2; got {written(sides)}")
    return k, n, as_probability(delta) / sides


def _beta_root(a: int, b: int, tail: float, upper: bool) -> float:
    """t with P(Beta(a, b) > t) = tail, or < t: scipy's root, then Newton steps on the logarithm of the tail."""
    from scipy.special import betainc, betaincc, betainccinv, betaincinv, betaln

    t = float((betainccinv if upper else betaincinv)(a, b, tail))
    for _ in range(3):
        found = float((betaincc if upper else betainc)(a, b, t))
        if not (0.0 < t < 1.0 and found > 0.0):
            break
        slope = math.exp((a - 1) * math.log(t) + (b - 1) * math.log1p(-t) - float(betaln(a, b))) / found
        if not (slope > 0.0 and math.isfinite(slope)):
            break
        step = (math.log(found) - math.log(tail)) / slope * (1.0 if upper else -1.0)
        if not abs(step) <= 1e-6 * min(t, 1.0 - t):
            break  # scipy is far better than that; a step so long is rounding
        t += step
    return t


def kl(q: Any, p: Any) -> float:
    """The Kullback-Leibler divergence of two coins, q ln(q/p) + (1 - q) ln((1 - q)/(1 - p)).

    Parameters
    ----------
    q, p : the two probabilities
    """
    return _kl(as_fraction(q, "q"), as_fraction(p, "p"))


def _kl(q: float, p: float) -> float:
    if (p == 0.0 and q > 0.0) or (p == 1.0 and q < 1.0):
        return math.inf
    if q in (0.0, 1.0):
        return -math.log1p(-p) if q == 0.0 else -math.log(p)
    x, z = (p - q) / q, (q - p) / (1.0 - q)
    if max(abs(x), abs(z)) > 0.1:
        return -q * _log(p, q, x) - (1.0 - q) * _log(1.0 - p, 1.0 - q, z)
    # The linear terms of the two logarithms cancel; without them no digits are lost where p is close to q.
    return q * _excess(x) + (1.0 - q) * _excess(z)


def _log(a: float, b: float, x: float) -> float:
    """ln(a/b), x being a/b - 1."""
    return math.log1p(x) if abs(x) < 0.5 else math.log(a) - math.log(b)


def _excess(x: float) -> float:
    """x - ln(1 + x) for small x."""
    total, power, k = 0.0, x * x, 2
    while power != 0.0 and abs(power) / k > 1e-18 * total:
        total += power / k if k % 2 == 0 else -power / k
        power, k = power * x, k + 1
    return total


def kl_upper(q: Any, c: Any) -> float:
    """The largest p with kl(q, p) <= c.

    Parameters
    ----------
    q : the seen share
    c : most divergence
    """
    q, c = as_fraction(q, "q"), _budget(c)
    if q == 0.0:
        return -math.expm1(-c)
    return _inverse(q, 1.0, c)


def kl_lower(q: Any, c: Any) -> float:
    """The smallest p with kl(q, p) <= c.

    Parameters
    ----------
    q : the seen share
    c : most divergence
    """
    q, c = as_fraction(q, "q"), _budget(c)
    if q == 1.0:
        return math.exp(-c)
    return _inverse(q, 0.0, c)


def _budget(c: Any) -> float:
    value = float(c)
    if not value >= 0.0:
        raise ValueError(f"c must not be negative; got {written(c)}")
    return value


def _inverse(q: float, end: float, c: float) -> float:
    """The p between q and end with kl(q, p) = c, which grows from q on; the last float inside is returned."""
    inside, outside = q, end
    if _kl(q, end) <= c:
        return end
    while True:
        middle = inside + 0.5 * (outside - inside)
        if middle in (inside, outside):
            return inside
        if _kl(q, middle) <= c:
            inside = middle
        else:
            outside = middle


def kl_interval(errors: Any, n: Any, delta: Any = 0.05, sides: int = 2) -> Interval:
    """{p : kl(errors/n, p) <= ln(sides/delta)/n}: Chernoff's bound, inverted.

    Parameters
    ----------
    errors : errors that were counted
    n : rows that were not trained on
    delta : probability with which the statement may fail
    sides : 2: both ends; 1: the upper end only
    """
    k, n, tail = _counts(errors, n, delta, sides)
    c = -math.log(tail) / n
    low = 0.0 if sides == 1 else kl_lower(k / n, c)
    return Interval(k, n, float(delta), low, kl_upper(k / n, c), "kl", sides)


def hoeffding_interval(errors: Any, n: Any, delta: Any = 0.05, sides: int = 2) -> Interval:
    """errors/n -+ sqrt(ln(sides/delta)/(2 n)), cut off at 0 and 1.

    Parameters
    ----------
    errors : errors that were counted
    n : rows that were not trained on
    delta : probability with which the statement may fail
    sides : 2: both ends; 1: the upper end only
    """
    k, n, tail = _counts(errors, n, delta, sides)
    width = math.sqrt(-math.log(tail) / (2.0 * n))
    low = 0.0 if sides == 1 else max(0.0, k / n - width)
    return Interval(k, n, float(delta), low, min(1.0, k / n + width), "Hoeffding", sides)


@result
@dataclass(frozen=True)
class HeldOut:
    """Three upper ends for the true error, from rows that nothing was chosen by; tightest first.

    Attributes
    ----------
    binomial : exact binomial interval
    kl : interval by the kl inequality
    hoeffding : interval by Hoeffding
    tried : models that were compared on these rows
    """

    binomial: Interval
    kl: Interval
    hoeffding: Interval
    tried: int

    @property
    def bound(self) -> float:
        """The exact binomial upper end."""
        return self.binomial.high

    def __str__(self) -> str:
        shown = (
            f"{self.binomial.high:.6g} (exact binomial), {self.kl.high:.6g} (kl), {self.hoeffding.high:.6g} (Hoeffding)"
        )
        chosen = "" if self.tried == 1 else f", the best of {self.tried} models by these rows"
        head = f"{self.binomial.errors:g} errors on {self.binomial.n:,} rows that were not trained on{chosen}"
        return f"{head}: the true error is at most {shown}, but for a failure of probability {self.binomial.delta * self.tried:g}"


def held_out(errors: Any, n: Any, delta: Any = 0.05, tried: Any = 1) -> HeldOut:
    """Upper ends for the error on new rows, one-sided: exact, kl and Hoeffding.

    The rows must not have been used for training.  Where they chose among ``tried`` models, delta is divided by that number.

    Parameters
    ----------
    errors : errors that were counted
    n : rows that were not trained on
    delta : probability with which the statement may fail
    tried : models that were compared on these rows
    """
    tried = as_whole(tried, "tried")
    share = as_probability(delta) / tried
    return HeldOut(
        clopper_pearson(errors, n, share, 1),
        kl_interval(errors, n, share, 1),
        hoeffding_interval(errors, n, share, 1),
        tried,
    )
