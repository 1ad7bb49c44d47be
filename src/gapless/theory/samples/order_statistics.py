"""Where a quantile lies, from sorted independent values of any distribution.

q = inf {x : F(x) >= p}.  With N ~ Bin(n, p) and the values in order, x_(1) <= ... <= x_(n):

    x_(l) <= q  where at least l values are <= q, whose probability is F(q) >= p:     P(x_(l) > q) <= P(N <= l - 1)
    q <= x_(u)  where at most u - 1 values are < q, whose probability is at most p:   P(x_(u) < q) <= P(N >= u)

Ties and jumps of F only make it safer.  l is 0 (and low is -inf), or u is n + 1 (high is inf), where n is too small to say more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless.theory.inputs import as_probability

__all__ = ["Quantile", "quantile_interval"]


@result
@dataclass(frozen=True)
class Quantile:
    """``value`` is the quantile of the sample; [low, high] holds the true one but for a failure of probability delta.

    Attributes
    ----------
    share : which quantile: 0.5 is the median
    value : quantile of the values given
    low : lower end
    high : upper end
    delta : probability with which the statement may fail
    n : number of values
    """

    share: float
    value: float
    low: float
    high: float
    delta: float
    n: int

    def __str__(self) -> str:
        return (
            f"quantile {self.share:g} of {self.n:,} values: {self.value:.6g}, between "
            f"{self.low:.6g} and {self.high:.6g} but for a "
            f"failure of probability {self.delta:g} (order statistics, any distribution)"
        )


def quantile_interval(values: Any, share: Any = 0.5, delta: Any = 0.05) -> Quantile:
    """The quantile of ``values`` at ``share``, and where that of their distribution lies.

    Parameters
    ----------
    values : numbers
    share : which quantile: 0.5 is the median
    delta : probability with which the statement may fail
    """
    from scipy.stats import binom

    share, delta = as_probability(share, "share"), as_probability(delta)
    x = np.sort(np.asarray(values, dtype=np.float64).ravel())
    n = x.size
    if n == 0 or np.isnan(x).any():
        raise ValueError("values must hold at least one number, and none that is missing")
    below = int(binom.ppf(delta / 2.0, n, share))  # P(N <= below - 1) < delta/2
    above = int(binom.ppf(1.0 - delta / 2.0, n, share)) + 1  # P(N >= above) <= delta/2
    low = x[below - 1] if below >= 1 else -math.inf
    high = x[above - 1] if above <= n else math.inf
    return Quantile(share, float(x[max(math.ceil(n * share), 1) - 1]), float(low), float(high), delta, n)
