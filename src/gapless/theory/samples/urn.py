"""Urns and coins, drawn: what Hoeffding's inequality says of one urn, and of the one that was chosen among many.

one urn      a share mu of red marbles, n drawn: the red share nu of the draw is close to mu, as often as the inequality says
the limit    sqrt(n) (nu - mu) is nearly normal, the more so the larger n
many urns    M of them, and the one with the lowest nu is taken: its nu is no estimate of its mu any more
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless.theory.inputs import as_fraction, as_positive, as_whole


@result
@dataclass(frozen=True, eq=False)
class Urn:
    """How often nu was further from mu than epsilon: seen, exact, and at most.

    Attributes
    ----------
    mu : share of red marbles in the urn
    n : marbles of a draw
    epsilon : distance of nu and mu that is asked about
    draws : how often it was drawn
    nu : the red share of each draw
    seen : share of draws with |nu - mu| > epsilon
    exact : probability of that, by the binomial
    hoeffding : 2 exp(-2 epsilon^2 n), which bounds it
    """

    mu: float
    n: int
    epsilon: float
    draws: int
    nu: np.ndarray
    seen: float
    exact: float
    hoeffding: float

    @property
    def error(self) -> float:
        """The standard error of ``seen``."""
        return math.sqrt(self.exact * (1.0 - self.exact) / self.draws)

    def __str__(self) -> str:
        return (
            f"of {self.draws:,} draws of {self.n:,} marbles {100 * self.seen:.3g} % have |nu - {self.mu:g}| > {self.epsilon:g}; "
            f"the binomial says {100 * self.exact:.3g} %, Hoeffding at most {100 * min(1.0, self.hoeffding):.3g} %"
        )


def urn(mu: Any, n: Any, epsilon: Any, draws: Any = 100_000, seed: int = 0) -> Urn:
    """Draw n marbles, red with probability mu, many times.

    Parameters
    ----------
    mu : share of red marbles
    n : marbles of a draw
    epsilon : distance of nu and mu that is asked about
    draws : number of draws
    seed : number that all random draws follow from
    """
    mu, n, epsilon, draws = as_fraction(mu, "mu"), as_whole(n), as_positive(epsilon), as_whole(draws, "draws")
    red = np.random.default_rng(seed).binomial(n, mu, draws)
    far = _far(np.arange(n + 1), n, mu, epsilon) if n <= 2_000_000 else None
    seen = float(np.mean(far[red] if far is not None else _far(red, n, mu, epsilon)))
    return Urn(mu, n, epsilon, draws, red / n, seen, _exact(n, mu, epsilon), 2.0 * math.exp(-2.0 * epsilon**2 * n))


def _far(red: np.ndarray, n: int, mu: float, epsilon: float) -> np.ndarray:
    """|red/n - mu| > epsilon, where a difference of rounding alone counts as equal."""
    return np.abs(red / n - mu) > epsilon * (1.0 + 1e-12) + 1e-15


def _exact(n: int, mu: float, epsilon: float) -> float:
    """P(|nu - mu| > epsilon) of the binomial."""
    from scipy.special import bdtr, bdtrc

    low, high = _ends(n, mu, epsilon)
    below = float(bdtr(low, n, mu)) if low >= 0 else 0.0
    above = float(bdtrc(high - 1, n, mu)) if high <= n else 0.0
    return below + above


def _ends(n: int, mu: float, epsilon: float) -> tuple[int, int]:
    """The largest count that is too low, and the smallest that is too high; -1 and n + 1 where there is none."""
    low, high = math.ceil((mu - epsilon) * n) + 1, math.floor((mu + epsilon) * n) - 1
    low, high = min(low, n), max(high, 0)
    while low >= 0 and not (low / n < mu and _far(np.array(low), n, mu, epsilon)):
        low -= 1
    while high <= n and not (high / n > mu and _far(np.array(high), n, mu, epsilon)):
        high += 1
    return low, high


@result
@dataclass(frozen=True, eq=False)
class CentralLimit:
    """nu over many draws, against the normal distribution of the same mean and deviation.

    Attributes
    ----------
    mu : share of red marbles in the urn
    n : marbles of a draw
    draws : how often it was drawn
    mean : mean of nu over the draws
    deviation : standard deviation of nu over the draws
    expected_deviation : sqrt(mu (1 - mu)/n)
    within : shares within one, two and three deviations; 0.6827, 0.9545, 0.9973 in the limit
    distance : the largest difference of the two distribution functions, exact for the binomial
    berry_esseen : which it cannot exceed
    """

    mu: float
    n: int
    draws: int
    mean: float
    deviation: float
    expected_deviation: float
    within: tuple[float, float, float]
    distance: float
    berry_esseen: float

    def __str__(self) -> str:
        inside = ", ".join(f"{100 * share:.1f}" for share in self.within)
        return (
            f"{self.draws:,} draws of {self.n:,}: nu has mean {self.mean:.6g} and deviation {self.deviation:.4g}, where mu is "
            f"{self.mu:g} and sqrt(mu(1 - mu)/n) {self.expected_deviation:.4g}; {inside} % lie within 1, 2, 3 deviations; it is "
            f"{self.distance:.2g} from the normal one, at most {self.berry_esseen:.2g}"
        )


def central_limit(mu: Any, n: Any, draws: Any = 100_000, seed: int = 0) -> CentralLimit:
    """How normal nu is: the distance is at most 0.4748 (mu^2 + (1 - mu)^2)/sqrt(mu (1 - mu) n) (Berry, Esseen).

    Parameters
    ----------
    mu : share of red marbles
    n : marbles of a draw
    draws : number of draws
    seed : number that all random draws follow from
    """
    from scipy.special import bdtr, ndtr

    mu, n, draws = as_fraction(mu, "mu"), as_whole(n), as_whole(draws, "draws", 2)
    if mu in (0.0, 1.0):
        raise ValueError("mu must lie strictly between 0 and 1: an urn of one colour has no spread")
    spread = math.sqrt(mu * (1.0 - mu) / n)
    nu = np.random.default_rng(seed).binomial(n, mu, draws) / n
    z = np.abs(nu - mu) / spread
    # Both one-sided limits at every jump within eight deviations: beyond, either function is 0 or 1.
    first, last = max(0, math.floor(n * (mu - 8 * spread))), min(n, math.ceil(n * (mu + 8 * spread)))
    counts = np.arange(first, last + 1)
    normal, steps = ndtr((counts / n - mu) / spread), bdtr(counts.astype(float), n, mu)
    before = np.concatenate([[0.0 if first == 0 else float(bdtr(first - 1, n, mu))], steps[:-1]])
    distance = max(float(np.abs(steps - normal).max()), float(np.abs(before - normal).max()))
    limit = 0.4748 * (mu**2 + (1.0 - mu) ** 2) / math.sqrt(mu * (1.0 - mu) * n)
    inside = tuple(float(np.mean(z <= k * (1.0 + 1e-12))) for k in (1, 2, 3))
    return CentralLimit(
        mu,
        n,
        draws,
        float(nu.mean()),
        float(nu.std(ddof=1)),
        spread,
        (inside[0], inside[1], inside[2]),
        distance,
        limit,
    )


@result
@dataclass(frozen=True, eq=False)
class Verification:
    """One hypothesis fixed in advance against the one with the lowest E_in among M, all of the same E_out = mu.

    Attributes
    ----------
    mu : true error of every hypothesis
    n : rows (flips of each coin)
    epsilon : distance of E_in and E_out that is asked about
    hypotheses : M
    draws : how often it was drawn
    fixed : seen share of |E_in - E_out| > epsilon for the fixed one
    chosen : for the chosen one
    chosen_exact : exact probability of the same
    lowest : the mean of the chosen one's E_in, as seen
    lowest_exact : exact mean of the same
    single_bound : 2 exp(-2 epsilon^2 n): holds for the fixed one
    union_bound : 2 M exp(-2 epsilon^2 n): holds for the chosen one
    """

    mu: float
    n: int
    epsilon: float
    hypotheses: int
    draws: int
    fixed: float
    chosen: float
    chosen_exact: float
    lowest: float
    lowest_exact: float
    single_bound: float
    union_bound: float

    @property
    def fails(self) -> bool:
        """Whether the chosen one broke the bound that was made for a fixed one."""
        return self.chosen_exact > self.single_bound

    def __str__(self) -> str:
        union = f"{self.union_bound:.3g}" + (" (vacuous)" if self.union_bound >= 1.0 else "")
        return (
            f"{self.hypotheses:,} hypotheses of true error {self.mu:g}, {self.n:,} rows, {self.draws:,} draws: |E_in - E_out| > "
            f"{self.epsilon:g} for the fixed one in {self.fixed:.3g} of them (Hoeffding: at most {self.single_bound:.3g}), for "
            f"the one with the lowest E_in, {self.lowest:.4f} on average, in {self.chosen:.3g} (with M: at most {union})"
        )


def verification(
    hypotheses: Any = 1000, n: Any = 10, epsilon: Any = 0.45, mu: Any = 0.5, draws: Any = 10_000, seed: int = 0
) -> Verification:
    """Flip M coins n times each, look at the first and at the one with the fewest heads, and repeat.

    Verification looks at one hypothesis that was fixed before: Hoeffding holds.  Learning takes the best of M: it fails as
    it stands, and holds with the factor M.

    Parameters
    ----------
    hypotheses : M, the number of coins
    n : flips of each coin
    epsilon : distance of E_in and E_out that is asked about
    mu : probability of heads: E_out of every hypothesis
    draws : number of repetitions
    seed : number that all random draws follow from
    """
    from scipy.special import bdtr, bdtrc

    M, n, epsilon = as_whole(hypotheses, "hypotheses"), as_whole(n), as_positive(epsilon)
    mu, draws = as_fraction(mu, "mu"), as_whole(draws, "draws")
    random = np.random.default_rng(seed)
    step = max(1, 2_000_000 // M)  # repetitions at a time: 16 MB of counts
    first, least = np.empty(draws, dtype=np.int64), np.empty(draws, dtype=np.int64)
    for start in range(0, draws, step):
        heads = random.binomial(n, mu, (min(step, draws - start), M))
        first[start : start + step], least[start : start + step] = heads[:, 0], heads.min(axis=1)
    # P(least > k) = P(one > k)^M; the mean of a count is the sum of these.
    low, high = _ends(n, mu, epsilon)
    below = (
        -math.expm1(M * math.log1p(-float(bdtr(low, n, mu))))
        if low >= 0 and float(bdtr(low, n, mu)) < 1.0
        else float(low >= 0)
    )
    above = float(bdtrc(high - 1, n, mu)) ** M if high <= n else 0.0
    # Further than forty deviations from the mean a tail is 1 or 0 to rounding.
    reach = 40.0 * math.sqrt(n * mu * (1.0 - mu)) + 40.0
    start, stop = max(0, math.floor(n * mu - reach)), min(n, math.ceil(n * mu + reach))
    tails = np.asarray(bdtrc(np.arange(start, stop, dtype=float), n, mu)) ** M
    single = 2.0 * math.exp(-2.0 * epsilon**2 * n)
    return Verification(
        mu, n, epsilon, M, draws, float(_far(first, n, mu, epsilon).mean()), float(_far(least, n, mu, epsilon).mean()),
        below + above, float(least.mean()) / n, (start + float(tails.sum())) / n, single, M * single,
    )  # fmt: skip
