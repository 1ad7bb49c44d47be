"""PAC-Bayes: bounds for a hypothesis that is drawn from a distribution Q, which may be chosen by the data after all.

    P a distribution over hypotheses fixed before the data (the prior), n independent rows.  With probability 1 - delta, for
    all Q at once:    kl(R_Q on the rows, R_Q) <= (KL(Q|P) + ln(2 sqrt(n)/delta))/n                       (Seeger, Maurer)

R_Q is the error of a hypothesis drawn anew from Q for each row (the *Gibbs* classifier).  A fixed hypothesis that is wrong
only where at least half of Q is wrong, the majority vote or sign<w, x> of a normal Q around w, has at most twice that error.

    linear      P = N(0, I), Q = N(mu w/|w|, I): KL = mu^2/2, a row is wrong with probability Phi(-mu y <w, x>/(|w| |x|))
    informed    the prior N(eta v, I) has its centre v from other rows: KL = |mu w/|w| - eta v|^2/2 on the rest
    Dirichlet   Q over the weights of a vote: a row is wrong with probability I_(1/2)(a_right, a_wrong)

The rows that are counted must not have made the prior: a scaler fitted on them, or voters trained on them, void it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.encode.equal_rows import find_distinct_rows
from gapless.theory.inputs import as_fraction, as_probability, as_whole
from gapless.theory.samples.hoeffding import kl_upper

__all__ = ["PacBayes", "dirichlet_vote", "gibbs", "informed", "linear"]


@result
@dataclass(frozen=True, eq=False)
class PacBayes:
    """``randomised`` bounds the error of a hypothesis drawn from Q, ``fixed`` that of the fixed one: twice as much.

    Attributes
    ----------
    randomised : bound on the error of a hypothesis drawn from Q
    empirical : the error of Q on the rows
    divergence : KL(Q|P)
    n : number of rows
    delta : probability with which the statement may fail
    method : name of the method
    parameters : numbers of Q that the bound was made small by
    """

    randomised: float
    empirical: float
    divergence: float
    n: int
    delta: float
    method: str
    parameters: dict[str, Any]

    @property
    def fixed(self) -> float:
        """Bound on the error of the fixed hypothesis in the middle of Q: twice ``randomised``."""
        return min(1.0, 2.0 * self.randomised)

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing: it is 1 or more."""
        return self.fixed >= 1.0

    def __str__(self) -> str:
        return (
            f"the error of a hypothesis drawn from Q is at most {self.randomised:.6g} (seen: {self.empirical:.6g}, KL "
            f"{self.divergence:.4g}, {self.n:,} rows), that of the fixed one at most {self.fixed:.6g}, but for a failure of "
            f"probability {self.delta:g} ({self.method})" + (" (vacuous)" if self.vacuous else "")
        )


def gibbs(empirical: Any, n: Any, divergence: Any = 0.0, delta: Any = 0.05) -> float:
    """sup {p : kl(empirical, p) <= (KL + ln(2 sqrt(n)/delta))/n}.

    Parameters
    ----------
    empirical : error of Q on the rows
    n : number of rows
    divergence : KL(Q|P)
    delta : probability with which the statement may fail
    """
    r, n, delta = as_fraction(empirical, "empirical"), as_whole(n), as_probability(delta)
    if not divergence >= 0.0:
        raise ValueError(f"the divergence must not be negative; got {written(divergence)}")
    return kl_upper(r, (float(divergence) + math.log(2.0) + 0.5 * math.log(n) - math.log(delta)) / n)


def linear(w: Any, X: Any, y: Any, offset: Any = None, delta: Any = 0.05) -> PacBayes:
    """The margin bound of a linear classifier sign(<w, x> + b), prior N(0, I); the best mu is taken, as the bound allows.

    ``offset``: b, then each row has one feature of value 1 more.  X in units that were fixed without these rows; y is -1 and 1.

    Parameters
    ----------
    w : weights
    X : rows
    y : labels, -1 and 1
    offset : b, None where there is none
    delta : probability with which the statement may fail
    """
    margins, _ = _margins(w, X, y, offset)
    delta = as_probability(delta)

    def value(mu: float) -> tuple[float, float, float]:
        return _at(margins, mu, 0.5 * mu * mu, delta)

    mu = _lowest(lambda m: value(m)[0])
    bound, seen, divergence = value(mu)
    return PacBayes(bound, seen, divergence, len(margins), delta, "PAC-Bayes, linear", {"mu": mu})


def informed(
    w: Any, prior: Any, X: Any, y: Any, offset: Any = None, prior_offset: Any = None, delta: Any = 0.05,
    etas: Any = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0), prior_rows: Any = None,
) -> PacBayes:  # fmt: skip
    """The same with a prior around ``prior``, a direction learned from *other* rows; X, y are those that it has not seen.

    ``w`` may come from all rows.  The prior's distance eta is one of ``etas``, a list fixed in advance: delta is divided by
    its length.  ``prior_rows``: the rows that made the prior, if they are to be compared with X: where they are the same, or
    X is a block of them, ValueError.

    Parameters
    ----------
    w : weights, from all rows
    prior : direction that other rows gave
    X, y : rows that the prior has not seen; labels -1 and 1
    offset : b of w, None where there is none
    prior_offset : b of the prior
    delta : probability with which the statement may fail
    etas : distances of the prior, fixed in advance
    prior_rows : rows that made the prior, to be compared with X
    """
    if prior_rows is not None:
        # Late: it loads the certificates and scikit-learn, which takes 1 s; nothing else here needs them.
        from gapless.theory.fitted_rows import share_of_known_rows

        share_of_known_rows(prior_rows, X, "the rows that are counted made the prior, which voids the bound")
    margins, direction = _margins(w, X, y, offset)
    _, centre = _margins(prior, X, y, offset if prior_offset is None else prior_offset)
    grid = [float(e) for e in etas]
    if not grid or min(grid) < 0.0:
        raise ValueError("etas must be a list of numbers that are not negative")
    delta = as_probability(delta)
    together = float(direction @ centre)
    best: tuple[float, float, float, float, float] | None = None
    for eta in grid:

        def value(mu: float, eta: float = eta) -> tuple[float, float, float]:
            far = max(0.0, mu * mu - 2.0 * mu * eta * together + eta * eta)
            return _at(margins, mu, 0.5 * far, delta / len(grid))

        mu = _lowest(lambda m: value(m)[0])
        found = (*value(mu), mu, eta)
        best = found if best is None or found[0] < best[0] else best
    assert best is not None
    bound, seen, divergence, mu, eta = best
    return PacBayes(bound, seen, divergence, len(margins), delta, "PAC-Bayes, informed prior", {"mu": mu, "eta": eta})


def _margins(w: Any, X: Any, y: Any, offset: Any) -> tuple[np.ndarray, np.ndarray]:
    """y <w, x>/(|w| |x|) of each row, and w/|w|, with the offset as one more coordinate."""
    w, y = np.asarray(w, float).ravel(), np.asarray(y, float).ravel()
    if X.ndim != 2 or X.shape != (y.size, w.size) or y.size == 0:
        raise ValueError(f"X must be {y.size} x {w.size}; got shape {np.shape(X)}")
    if not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError("labels must be -1 and 1")
    scores = np.asarray(X @ w, float).ravel()
    squares = np.asarray(
        X.multiply(X).sum(axis=1) if hasattr(X, "multiply") else np.einsum("ij,ij->i", X, X), float
    ).ravel()
    if offset is not None:
        scores, squares, w = scores + float(offset), squares + 1.0, np.append(w, float(offset))
    size = float(np.linalg.norm(w))
    if not size > 0.0:
        raise ValueError("w is 0: it has no direction")
    length = np.sqrt(squares)
    return y * scores / (size * np.where(length > 0.0, length, 1.0)), w / size


def _at(margins: np.ndarray, mu: float, divergence: float, delta: float) -> tuple[float, float, float]:
    from scipy.special import ndtr

    seen = float(ndtr(-mu * margins).mean())
    return gibbs(seen, len(margins), divergence, delta), seen, divergence


def _lowest(value: Callable[[float], float]) -> float:
    """A mu > 0 with a low value: a coarse search of orders of magnitude, then golden sections around the best."""
    grid = np.geomspace(0.05, 2000.0, 40)
    best = int(np.argmin([value(float(m)) for m in grid]))
    a, b = math.log(grid[max(0, best - 1)]), math.log(grid[min(len(grid) - 1, best + 1)])
    ratio = 0.5 * (math.sqrt(5.0) - 1.0)
    x, z = b - ratio * (b - a), a + ratio * (b - a)
    fx, fz = value(math.exp(x)), value(math.exp(z))
    for _ in range(30):
        if fx < fz:
            b, z, fz = z, x, fx
            x = b - ratio * (b - a)
            fx = value(math.exp(x))
        else:
            a, x, fx = x, z, fz
            z = a + ratio * (b - a)
            fz = value(math.exp(z))
    return math.exp(x if fx < fz else z)


def dirichlet_vote(right: Any, delta: Any = 0.05, prior: Any = 1.0, alpha: Any = None, steps: Any = 100) -> PacBayes:
    """A vote of m fixed voters with weights drawn from a Dirichlet distribution; two classes, or right and wrong.

    Parameters
    ----------
    delta : probability with which the statement may fail
    steps : steps of the search for alpha
    right : n x m, whether each voter is right on each row; the voters must not have been made by these rows
    prior : of the Dirichlet prior, the same for all voters
    alpha : parameters of Q; None: those that make the bound small, by ``steps`` of a quasi-Newton search
    """
    hits = np.asarray(right, bool)
    if hits.ndim != 2 or hits.size == 0:
        raise ValueError(f"right must be a matrix, rows by voters; got shape {hits.shape}")
    n, m = hits.shape
    delta = as_probability(delta)
    if not prior > 0.0:
        raise ValueError(f"the prior must be positive; got {written(prior)}")
    # Rows on which the same voters are right count together.
    first, counts = find_distinct_rows(hits)
    share, patterns = counts / n, hits[first].astype(float)

    def value(log_alpha: np.ndarray) -> tuple[float, np.ndarray]:
        a = np.exp(log_alpha)
        seen, slope = _vote_error(patterns, share, a)
        divergence, turn = _dirichlet_divergence(a, float(prior))
        bound = gibbs(min(1.0, max(0.0, seen)), n, divergence, delta)
        # d bound from kl(seen, bound) = (KL + ...)/n
        if not 0.0 < bound < 1.0:
            return bound, np.zeros(m)
        q = min(1.0 - 1e-15, max(1e-15, seen))
        by_bound = (bound - q) / (bound * (1.0 - bound))
        by_seen = math.log(q / bound) - math.log((1.0 - q) / (1.0 - bound))
        return bound, ((turn / n - by_seen * slope) / by_bound) * a

    if alpha is None:
        a = np.exp(_least_bound(value, hits.mean(axis=0), as_whole(steps, "steps")))
    else:
        a = np.asarray(alpha, float).ravel()
        if a.shape != (m,) or not (a > 0.0).all():
            raise ValueError(f"alpha must be {m} positive numbers")
    seen = min(1.0, max(0.0, _vote_error(patterns, share, a)[0]))
    divergence = _dirichlet_divergence(a, float(prior))[0]
    return PacBayes(
        gibbs(seen, n, divergence, delta), seen, divergence, n, delta, "PAC-Bayes, Dirichlet vote", {"alpha": a}
    )


def _least_bound(
    value: Callable[[np.ndarray], tuple[float, np.ndarray]], hit_rates: np.ndarray, steps: int
) -> np.ndarray:
    """The logarithms of the Dirichlet parameters with the least bound, from three starts that lean to the better voters."""
    from scipy.optimize import minimize

    clipped = np.clip(hit_rates, 0.05, 0.95)
    tilt = np.log(clipped / (1.0 - clipped))
    best = np.zeros(hit_rates.size)
    for start in (0.0, math.log(10.0), math.log(100.0)):
        found = minimize(
            value,
            start + tilt,
            jac=True,
            method="L-BFGS-B",
            bounds=[(-12.0, 14.0)] * best.size,
            options={"maxiter": steps},
        )
        if value(found.x)[0] < value(best)[0]:
            best = found.x
    return best


def _vote_error(patterns: np.ndarray, share: np.ndarray, a: np.ndarray) -> tuple[float, np.ndarray]:
    """P(less than half of the weight is right), over rows and weights, and its derivative."""
    total = float(a.sum())
    good = patterns @ a
    bad = total - good
    values = _half(good, bad)
    step = 1e-5
    up, down = good * (1.0 + step), good * (1.0 - step)
    by_good = np.where(good > 0.0, (_half(up, bad) - _half(down, bad)) / np.maximum(up - down, 1e-300), 0.0)
    up, down = bad * (1.0 + step), bad * (1.0 - step)
    by_bad = np.where(bad > 0.0, (_half(good, up) - _half(good, down)) / np.maximum(up - down, 1e-300), 0.0)
    slope = (share * by_good) @ patterns + (share * by_bad) @ (1.0 - patterns)
    return float(share @ values), slope


def _half(good: np.ndarray, bad: np.ndarray) -> np.ndarray:
    """I_(1/2)(good, bad), P(Beta(good, bad) < 1/2): 1 where nobody is right, 0 where all are."""
    from scipy.special import betainc

    inside = (good > 1e-12) & (bad > 1e-12)
    out = np.where(good <= 1e-12, 1.0, 0.0)
    out[inside] = betainc(good[inside], bad[inside], 0.5)
    return out


def _dirichlet_divergence(a: np.ndarray, prior: float) -> tuple[float, np.ndarray]:
    """KL(Dir(a) | Dir(prior, ..., prior)) and its derivative."""
    from scipy.special import digamma, gammaln, polygamma

    m, total = len(a), float(a.sum())
    value = gammaln(total) - gammaln(a).sum() - gammaln(m * prior) + m * gammaln(prior)
    value += float(((a - prior) * (digamma(a) - digamma(total))).sum())
    slope = (a - prior) * polygamma(1, a) - (total - m * prior) * polygamma(1, total)
    return max(0.0, float(value)), slope
