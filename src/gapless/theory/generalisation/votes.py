"""Bounds on a majority vote, from the errors of its voters and of pairs of them.

    g   the error of one voter drawn from rho           t   the probability that two drawn voters are both wrong (tandem loss)
    d   the probability that two of them disagree       (two classes: t = g - d/2)

    first order         vote <= 2 g
    tandem              vote <= 4 t                                                     (Masegosa et al. 2020)
    disagreement        vote <= 4 g - 2 d                                               two classes
    Chebyshev-Cantelli  vote <= (t - g^2)/(t - g + 1/4)              for g < 1/2        (Wu et al. 2021)
    C-bound             vote <= 1 - (1 - 2g)^2/(1 - 2d)              for g < 1/2        (Lacasse et al. 2006), two classes

g, t and d are replaced by what the PAC-Bayes kl inequality allows them to be, with KL(rho|prior) for one voter and twice
that for a pair.  Voters must not have seen the rows that they are counted on: voters fixed in advance count on all rows,
those of a bagging on the rows that are out of their bags (``counted``).  These bound the *fixed* vote, not a drawn one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.theory.inputs import as_probability, as_whole
from gapless.theory.samples.hoeffding import kl_lower, kl_upper

__all__ = ["METHODS", "Votes", "votes"]

METHODS = ("first order", "tandem", "disagreement", "Chebyshev-Cantelli", "C-bound")


@result
@dataclass(frozen=True, eq=False)
class Votes:
    """Bounds on the error of the vote, by method; delta is shared out over those asked for, so that the lowest holds.

    Attributes
    ----------
    bounds : method -> bound
    gibbs : mean error of a voter, weighted
    tandem : mean share of rows on which two voters are both wrong
    disagreement : mean share of rows on which two voters differ
    n : rows that every voter is counted on, at least
    pairs : rows that every pair is counted on, at least
    voters : number of voters
    divergence : KL of the weights from the prior
    delta : probability with which the statement may fail
    drawn : the bound on one voter that is drawn for each row; only beside "first order", which is twice it
    """

    bounds: dict[str, float]
    gibbs: float
    tandem: float
    disagreement: float
    n: int
    pairs: int
    voters: int
    divergence: float
    delta: float
    drawn: float = math.nan

    @property
    def best(self) -> tuple[str, float]:
        """The method with the lowest bound, and that bound."""
        name = min(self.bounds, key=lambda k: self.bounds[k])
        return name, self.bounds[name]

    @property
    def vacuous(self) -> bool:
        """Whether the lowest bound is 1 or more."""
        return self.best[1] >= 1.0

    def __str__(self) -> str:
        name, value = self.best
        rest = ", ".join(f"{k} {v:.4g}" for k, v in self.bounds.items() if k != name)
        said = (
            f"the vote of {self.voters} is wrong with probability at most {value:.6g} ({name}), but for a failure of "
        )
        return (
            said
            + f"probability {self.delta:g}"
            + (f"; {rest}" if rest else "")
            + (" (vacuous)" if self.vacuous else "")
        )


def votes(
    losses: Any, weights: Any = None, counted: Any = None, delta: Any = 0.05, prior: Any = None, methods: Any = METHODS,
    among: Any = None,
) -> Votes:  # fmt: skip
    """Bounds on the weighted majority vote of voters.

    Parameters
    ----------
    delta : probability with which the statement may fail
    losses : n x m, whether each voter is wrong on each row
    weights : rho, of the voters; equal ones otherwise
    counted : n x m, whether the voter has *not* seen the row; None: all voters were fixed without these rows
    prior : weights fixed in advance, equal ones otherwise
    methods : which bounds to compare; "disagreement" and "C-bound" are for two classes
    among : number of voters that were fixed in advance, of which these are some; the prior is then equal over all of them
    """
    wrong = np.asarray(losses, float)
    if wrong.ndim != 2 or wrong.size == 0 or not np.isin(wrong, (0.0, 1.0)).all():
        raise ValueError(f"losses must be a matrix of 0 and 1, rows by voters; got shape {wrong.shape}")
    n, m = wrong.shape
    chosen = (methods,) if isinstance(methods, str) else tuple(methods)
    for name in chosen:
        if name not in METHODS:
            raise ValueError(f"methods are {', '.join(METHODS)}; got {written(name)}")
    if not chosen:
        raise ValueError("no method")
    rho, pi = _weights(weights, m, "weights"), _weights(prior, m, "prior")
    if among is not None:
        if prior is not None or as_whole(among, "among") < m:
            raise ValueError(f"among is the number of all voters, at least {m}, and takes the place of a prior")
        pi = np.full(m, 1.0 / among)
    if (pi[rho > 0.0] == 0.0).any():
        raise ValueError("a voter with weight has prior 0")
    used = rho > 0.0
    divergence = float((rho[used] * np.log(rho[used] / pi[used])).sum())
    seen = np.ones((n, m)) if counted is None else np.asarray(counted, bool).astype(float)
    if seen.shape != wrong.shape:
        raise ValueError(f"counted must have the shape of losses, {wrong.shape}; got {seen.shape}")
    delta = as_probability(delta)
    each = seen.sum(axis=0)[used]
    both = (seen.T @ seen)[np.ix_(used, used)]
    if each.min() < 1 or both.min() < 1:
        raise ValueError(
            "some voter, or some pair of voters, has no row that it has not seen: more rows, or fewer voters"
        )
    w = (wrong * seen)[:, used]
    out = seen[:, used]
    r = rho[used]
    g = float(r @ (w.sum(axis=0) / each))
    together = (w.T @ w) / both
    apart = ((w.T @ (out - w)) + ((out - w).T @ w)) / both
    t, d = float(r @ together @ r), float(r @ apart @ r)
    found = _bounds(chosen, g, t, d, int(each.min()), int(both.min()), divergence, delta / len(chosen))
    drawn = math.nan
    if "first order" in chosen:
        drawn = kl_upper(g, _room(int(each.min()), divergence, delta / len(chosen)))
    return Votes(found, g, t, d, int(each.min()), int(both.min()), m, divergence, delta, drawn)


def _room(rows: int, divergence: float, share: float) -> float:
    """(KL + ln(2 sqrt(rows)/share))/rows."""
    return (divergence + math.log(2.0) + 0.5 * math.log(rows) - math.log(share)) / rows


def _bounds(
    chosen: tuple[str, ...], g: float, t: float, d: float, n: int, pairs: int, divergence: float, delta: float
) -> dict[str, float]:
    def room(rows: int, times: float, share: float) -> float:
        return _room(rows, times * divergence, share)

    one, two = room(n, 1.0, 0.5 * delta), room(pairs, 2.0, 0.5 * delta)  # two quantities at once: half of delta each
    g_up, g_low = kl_upper(g, one), kl_lower(g, one)
    t_up, t_low, d_low = kl_upper(t, two), kl_lower(t, two), kl_lower(d, two)
    found = {}
    for name in chosen:
        if name == "first order":
            value = 2.0 * kl_upper(g, room(n, 1.0, delta))
        elif name == "tandem":
            value = 4.0 * kl_upper(t, room(pairs, 2.0, delta))
        elif name == "disagreement":
            value = 4.0 * g_up - 2.0 * d_low
        elif name == "Chebyshev-Cantelli":
            below = t_low - g_up + 0.25
            value = (t_up - g_low**2) / below if g_up < 0.5 and below > 0.0 else 1.0
        else:
            value = 1.0 - (1.0 - 2.0 * g_up) ** 2 / (1.0 - 2.0 * d_low) if g_up < 0.5 and d_low < 0.5 else 1.0
        found[name] = min(1.0, max(0.0, value))
    return found


def _weights(given: Any, m: int, name: str) -> np.ndarray:
    if given is None:
        return np.full(m, 1.0 / m)
    w = np.asarray(given, float).ravel()
    if w.shape != (m,) or not (w >= 0.0).all() or not w.sum() > 0.0:
        raise ValueError(f"{name} must be {m} numbers that are not negative, and not all 0")
    return w / w.sum()
