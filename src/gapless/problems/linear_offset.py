"""The best free offset of a linear problem for given scores, and a bound on the best one of all.

    minimise over b   sum_i c_i l(y_i, z_i + b)

Its slope in b rises.  For the hinge it jumps by c_i at t_i = y_i - z_i, so that the minimisers are the t between which it is
zero: a weighted quantile, found by sorting few of the t.  For the squared loss it is a weighted mean.  Otherwise Newton's method
in a bracket finds the zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gapless import rows as R
from gapless.numbers import UNIT
from gapless.problems.linear_sums import fill_bins

if TYPE_CHECKING:
    from gapless.problems.linear import LinearProblem


class MassRange(NamedTuple):
    """The minimisers b are the t at which the sum of c, in the order of t, is between ``low`` and ``high``."""

    low: float
    high: float


def bound_offset(problem: LinearProblem, primal: float) -> float:
    """B >= |b*| for some optimal b*, from P* <= primal: |<w*, x>| <= R sqrt(2P).

    Hinge and squared hinge: an optimal b* lies at a kink 1 - y<w*, x>, or between two.  Squared: b* is a weighted
    mean of y - <w*, x>.  Logistic: the slopes of the classes balance, so e^(b* - T) <= C+/C- <= e^(b* + T).
    """
    reach = np.sqrt(2.0 * max(primal, 0.0) * problem.R2)
    if not problem.loss.of_margin:
        start = float(np.abs(problem.y).max(initial=0.0))
    elif problem.loss.entropic:
        positive, negative = problem.masses
        start = abs(np.log(positive / negative)) if positive > 0 and negative > 0 else np.inf
    else:
        start = 1.0
    return float((start + reach) * (1.0 + 1e-12))


def find_best_offset(problem: LinearProblem, z: np.ndarray, near: float | None = None) -> float:
    """The b that minimises sum c l(y, z + b): the midpoint where it is an interval.  A b known to be ``near`` saves work."""
    if not problem.loss.smooth:
        low, high = find_offset_interval(problem, z, near)
        return 0.5 * (low + high)
    if not problem.loss.of_margin:
        return float(problem.c @ (problem.y - z) / problem.c.sum())
    return _find_smooth_offset(problem, z, near)


def find_offset_interval(problem: LinearProblem, z: np.ndarray, near: float | None = None) -> tuple[float, float]:
    """Smallest and largest b that minimise the hinge loss of z + b: its slope in b starts at -C+ and grows by c_i at t_i."""
    positive, negative = problem.masses
    slack = 4.0 * UNIT * problem.n * (positive + negative)
    wanted = MassRange(positive - slack, positive + slack)
    if near is not None and min(positive, negative) > slack:
        found = _search_bins(problem, z, wanted, near)
        if found is not None:
            return found
    t = problem.y - z
    if positive <= slack:  # only negative examples count: every b below all t is as good
        return float(t.min()), float(t.min())
    if negative <= slack:
        return float(t.max()), float(t.max())
    below, part = _select_by_sample(problem, t, wanted)
    return _search_sorted(problem, t[part], part, below, wanted)


def _search_sorted(
    problem: LinearProblem, t: np.ndarray, part: np.ndarray | slice, below: float, wanted: MassRange
) -> tuple[float, float]:
    """The t of the examples ``part`` at which the mass of c, ``below`` before the first of them, passes low and high."""
    values, passed = _sort_with_mass(problem, t, part)
    passed += below
    first = int(np.searchsorted(passed, wanted.low))
    last = int(np.searchsorted(passed, wanted.high, side="right"))
    return float(values[min(first, values.size - 1)]), float(values[min(last, values.size - 1)])


def _search_bins(problem: LinearProblem, z: np.ndarray, wanted: MassRange, guess: float) -> tuple[float, float] | None:
    """The interval, from the examples of the bins in which the mass passes low and high; None if it is not within the bins."""
    n_bins, reach = 1_000, 0.1  # bins in guess -+ reach, in units of the score: each then holds few examples to sort
    bins, mass = np.empty(problem.n, np.int16), np.zeros(n_bins + 2)
    fill_bins(z, problem.y, problem.c, guess - reach, 0.5 * n_bins / reach, bins, mass)
    passed = np.cumsum(mass)
    first = int(np.searchsorted(passed, wanted.low))
    last = int(np.searchsorted(passed, wanted.high, side="right"))
    if first == 0 or last > n_bins:
        return None
    part = np.flatnonzero((bins >= first) & (bins <= last))
    return _search_sorted(problem, problem.y[part] - z[part], part, float(passed[first - 1]), wanted)


def _sort_with_mass(problem: LinearProblem, t: np.ndarray, part: np.ndarray | slice) -> tuple[np.ndarray, np.ndarray]:
    """The t of the examples ``part``, rising, and the mass of c up to each. Equal c need no argsort, which is much slower."""
    if problem.equal_costs:
        return np.sort(t), problem.c[0] * np.arange(1.0, t.size + 1.0)
    order = np.argsort(t)
    return t[order], np.cumsum(problem.c[part][order])


def _select_by_sample(problem: LinearProblem, t: np.ndarray, wanted: MassRange) -> tuple[float, np.ndarray | slice]:
    """The few examples among whose t the mass of c passes low and high, and the mass of c below all of them.

    A sorted sample of the t says between which two t these lie; if it is wrong, all examples are taken.
    """
    sampled = (
        8_192  # examples: a quantile of so many is off by more than 0.07 of the ranks with probability below 1e-30
    )
    if problem.n >= 2 * sampled:
        part = R.sample(problem.n, sampled)
        values, passed = _sort_with_mass(problem, t[part], part)
        share = passed / passed[-1]
        at = (wanted.low + (wanted.high - wanted.low) / 2.0) / sum(problem.masses)
        room = 6.0 / np.sqrt(sampled)
        first = int(np.searchsorted(share, at - room)) - 1
        last = int(np.searchsorted(share, at + room)) + 1
        start = values[first] if first >= 0 else -np.inf
        stop = values[last] if last < sampled else np.inf
        below = problem.mass_below(t, start)
        near = np.flatnonzero((t >= start) & (t <= stop))
        if below < wanted.low and below + float(problem.c[near].sum()) > wanted.high:
            return below, near
    return 0.0, slice(None)


def _find_smooth_offset(problem: LinearProblem, z: np.ndarray, near: float | None) -> float:
    """The zero of the slope in b by Newton's method inside a bracket, for logistic loss and squared hinge."""
    positive, negative = problem.masses
    if positive <= 0.0 or negative <= 0.0:
        t = problem.y - z
        return float(t.max() if positive > 0.0 else t.min())
    spread = max(float(z.max()), -float(z.min())) + 2.0
    if problem.loss.entropic:
        spread += abs(float(np.log(positive / negative)))
    # An entropic loss has |l'''| <= l'': a step of size s leaves an error below s^2.
    enough = 1e-8 if problem.loss.entropic else 1e-16
    low, high, b = -spread, spread, 0.0
    if near is not None and low < near < high:
        b = near
    for _ in range(200):
        slope, curvature = problem.derivatives_in_offset(z, b)
        if slope == 0.0:
            break
        low, high = (b, high) if slope < 0 else (low, b)
        step = b - slope / curvature if curvature > 0 else 0.5 * (low + high)
        inside = low < step < high
        step = step if inside else 0.5 * (low + high)
        moved, b = abs(step - b), step
        if moved <= (enough if inside else 1e-16) * max(1.0, abs(b)):
            break
    return float(b)
