"""The bounds of `theory.compression`: k of N rows determine a hypothesis, and how likely a new row changes it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gapless._runtime.results import result
from gapless.theory.inputs import as_probability, as_whole

__all__ = ["Compression", "classical", "one_sided", "scenario", "two_sided"]


@result
@dataclass(frozen=True)
class Compression:
    """k of N rows determine the hypothesis: where the probability of a change (an error, at most) lies.

    Attributes
    ----------
    k : rows that determine the hypothesis
    N : rows in all
    delta : probability with which the statement may fail
    low : lower end
    high : upper end
    method : "Campi-Garatti", "Campi-Garatti, two-sided" or "classical"
    """

    k: int
    N: int
    delta: float
    low: float
    high: float
    method: str

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing: it is 1 or more."""
        return self.high >= 1.0

    def __str__(self) -> str:
        where = f"at most {self.high:.6g}" if self.low <= 0.0 else f"between {self.low:.6g} and {self.high:.6g}"
        said = (
            f"{self.k:,} of {self.N:,} rows determine it: the probability of a change is {where}, but for a failure of "
        )
        return said + f"probability {self.delta:g} ({self.method})" + (" (vacuous)" if self.vacuous else "")


def one_sided(k: Any, N: Any, delta: Any = 0.05) -> Compression:
    """Campi and Garatti's bound for preferent compression.

    Parameters
    ----------
    k : rows that determine the hypothesis
    N : rows in all
    delta : probability with which the statement may fail
    """
    k, N, delta = _sizes(k, N, delta)
    if k == N:
        return Compression(k, N, delta, 0.0, 1.0, "Campi-Garatti")

    def excess(t: float) -> float:
        return math.log(delta) + _log_above(k, N, t) - math.log(t) - math.log(N) - _log_equal(k, N, t)

    return Compression(k, N, delta, 0.0, _root(excess, k / N, 1.0), "Campi-Garatti")


def two_sided(k: Any, N: Any, delta: Any = 0.05) -> Compression:
    """The same from both sides, for compressions of data without atoms in which no row is redundant.

    Parameters
    ----------
    k : rows that determine the hypothesis
    N : rows in all
    delta : probability with which the statement may fail
    """
    k, N, delta = _sizes(k, N, delta)

    def excess(t: float) -> float:
        from scipy.special import betainc

        # (delta/2 - delta/6) P(Bin(N, t) > k) + delta/6 P(Bin(4N + 1, t) > k) against (1 + delta/(6N)) t N P(Bin(N, t) = k)
        left = (delta / 3.0) * math.exp(_log_above(k, N, t)) + delta / 6.0 * float(betainc(k + 1, 4 * N + 1 - k, t))
        if left == 0.0:
            return -1.0
        return math.log(left) - math.log1p(delta / (6.0 * N)) - math.log(t) - math.log(N) - _log_equal(k, N, t)

    high = 1.0 if k == N else _root(excess, k / N, 1.0)
    low = 0.0
    if k:
        # Below k/N the left side is the larger one again, if anywhere: walk down until it is.
        t = k / N
        while t > 1e-3 * k / N and not excess(t) > 0.0:
            t *= 0.98
        if excess(t) > 0.0:
            end = min(t / 0.98, k / N, 1.0 - 1e-16)
            low = math.nextafter(_root(lambda s: -excess(s), t, end), 0.0)
    return Compression(k, N, delta, low, high, "Campi-Garatti, two-sided")


def classical(k: Any, N: Any, delta: Any = 0.05, errors: Any = 0, messages: Any = 1) -> Compression:
    """The union bound over the rows that are kept: any compression at all, with ``errors`` on the rows that are not.

    ``messages``: how many hypotheses the same rows could stand for, where they need a message beside them.

    Parameters
    ----------
    k : rows that are kept
    N : rows in all
    delta : probability with which the statement may fail
    errors : errors on the rows that are not kept
    messages : hypotheses that the same rows could stand for, where they need a message beside them
    """
    k, N, delta = _sizes(k, N, delta)
    e = as_whole(errors, "errors", 0)
    if e > N - k:
        raise ValueError(f"{e} errors on the {N - k} rows that are not kept")
    choices = (
        math.lgamma(N + 1) - math.lgamma(k + 1) - math.lgamma(N - k + 1) if N > 3000 else math.log(math.comb(N, k))
    )
    log_delta = math.log(delta) - math.log(N) - choices - math.log(as_whole(messages, "messages"))
    return Compression(k, N, delta, 0.0, _binomial_upper(e, N - k, log_delta), "classical")


def scenario(d: Any, N: Any, delta: Any = 0.05) -> float:
    """The scenario bound for convex programs of d variables: P(Bin(N, epsilon) < d) = delta (Campi, Garatti 2008).

    Parameters
    ----------
    d : variables of the convex program
    N : constraints that were drawn
    delta : probability with which the statement may fail
    """
    d, N = as_whole(d, "d"), as_whole(N, "N")
    return 1.0 if d > N else _binomial_upper(d - 1, N, math.log(as_probability(delta)))


def _sizes(k: Any, N: Any, delta: Any) -> tuple[int, int, float]:
    N, k = as_whole(N, "N"), as_whole(k, "k", 0)
    if k > N:
        raise ValueError(f"{k} of {N} rows")
    return k, N, as_probability(delta)


def _log_equal(k: int, N: int, t: float) -> float:
    """ln P(Bin(N, t) = k)."""
    from scipy.special import betaln, xlog1py, xlogy

    return float(xlogy(k, t) + xlog1py(N - k, -t) - betaln(k + 1, N - k + 1) - math.log(N + 1))


def _log_above(k: int, N: int, t: float) -> float:
    """ln P(Bin(N, t) > k)."""
    from scipy.special import betainc

    value = float(betainc(k + 1, N - k, t)) if k < N else 0.0
    return math.log(value) if value > 0.0 else -math.inf


def _root(excess: Callable[[float], float], low: float, high: float) -> float:
    """Where excess turns from negative to positive, by bisection down to neighbouring floats; the upper one."""
    while True:
        middle = low + 0.5 * (high - low)
        if middle in (low, high):
            return high
        if middle >= 1.0 or excess(middle) >= 0.0:
            high = middle
        else:
            low = middle


def _binomial_upper(errors: int, n: int, log_delta: float) -> float:
    """The p with P(Bin(n, p) <= errors) = delta, for a delta that may be too small for a float."""
    if errors >= n:
        return 1.0
    if errors == 0:
        return -math.expm1(log_delta / n)
    return _root(lambda p: log_delta - _log_at_most(errors, n, p), errors / n, 1.0)


def _log_at_most(k: int, n: int, p: float) -> float:
    """ln P(Bin(n, p) <= k) for p > k/n: terms fall from k downwards, and are summed until they no longer count."""
    total, term, j = 0.0, 1.0, k
    odds = (1.0 - p) / p
    while term > 1e-17 * total and j >= 0:
        total += term
        term *= j / (n - j + 1.0) * odds
        j -= 1
    return _log_equal(k, n, p) + math.log(total)
