"""The best free offset for scores that lie in blocks: the b that minimises sum c l(y, z + b).

A smooth loss: Newton's method in a bracket, a round for each look. The hinge: its slope jumps by c at each t = y - z; rounds of
counting between 1,001 edges close in on the t where the mass reaches that of the positive examples, and few come here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gapless.backends.blocks import work_linear as work
from gapless.backends.blocks.walk import InBlocks
from gapless.numbers import UNIT

if TYPE_CHECKING:
    from gapless.backends.blocks.linear import BlockLinear


def best_offset(problem: BlockLinear, z: InBlocks, near: float | None) -> float:
    if problem.loss.smooth:
        return _smooth(problem, z, near)
    low, high = hinge_interval(problem, z)
    return 0.5 * (low + high)


def hinge_interval(problem: BlockLinear, z: InBlocks) -> tuple[float, float]:
    """Smallest and largest b that minimise the hinge loss of z + b."""
    positive, negative = problem.masses
    slack = 4.0 * UNIT * problem.n * (positive + negative)
    first, last = problem.add(work.ends_of_kinks, over=(z,))
    if positive <= slack:
        return first, first
    if negative <= slack:
        return last, last
    return (
        _passing(problem, z, (first, last), positive - slack, True),
        _passing(problem, z, (first, last), positive + slack, False),
    )


def _passing(problem: BlockLinear, z: InBlocks, ends: tuple[float, float], mass: float, reached: bool) -> float:
    """The t at which the mass of c up to it reaches (or passes) ``mass``, in the order of t."""
    few = 2000  # t that may come here
    low, high = ends[0], math.nextafter(ends[1], math.inf)
    for _ in range(40):
        edges = np.unique(np.linspace(low, high, 1001))
        masses = problem.add(work.masses_between, edges, over=(z,))
        passed = np.cumsum(masses)[:-1]  # below each edge
        k = int(np.searchsorted(passed, mass, side="left" if reached else "right"))
        if k >= edges.size:
            return ends[1]
        below = float(passed[k - 1]) if k else 0.0
        if k == 0:
            return low
        low, high = float(edges[k - 1]), float(edges[k])
        share = (float(passed[k]) - below) / max(float(passed[-1]), 1e-300)
        if share * problem.n <= few or not low < 0.5 * (low + high) < high:
            break
    found = problem.each(work.next_kinks, low, high, over=(z,))
    t, c = (np.concatenate([f[k] for f in found]) for k in (0, 1))
    order = np.argsort(t, kind="stable")
    up_to = below + np.cumsum(c[order])
    at = int(np.searchsorted(up_to, mass, side="left" if reached else "right"))
    return float(t[order][min(at, t.size - 1)]) if t.size else low


def _smooth(problem: BlockLinear, z: InBlocks, near: float | None) -> float:
    """The zero of the slope in b, by Newton's method inside a bracket: logistic loss and squared hinge."""
    positive, negative = problem.masses
    low_z, high_z = problem.add(work.ends_of, over=(z,))
    if positive <= 0.0 or negative <= 0.0:
        return 1.0 - low_z if positive > 0.0 else -1.0 - high_z
    spread = max(high_z, -low_z) + 2.0
    if problem.loss.entropic:
        spread += abs(math.log(positive / negative))
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
