"""Scores in float64 for the points that can influence the gap.

A point with u = 0 whose hinge is surely 0 adds nothing to P, to D, to the gap or to the ends of the best offsets, however far
inside it is: for these points, most of a large problem, a score in single precision and a bound on its error are enough.  All
other points, the support vectors and the few points near the margin, get scores in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gapless.problems.kernel import KernelDual, KernelFigures


class ApproximateScores(NamedTuple):
    """Scores, and a bound on the error of each."""

    scores: np.ndarray
    off: np.ndarray
    figures: KernelFigures | None = (
        None  #: the figures of the point that these scores belong to, where they were computed
    )


def refine_where_needed(
    problem: KernelDual, beta: np.ndarray, rough: ApproximateScores, tick: Callable[[], None]
) -> ApproximateScores:
    """Recompute in float64 the scores of beta that can influence the gap (their bound becomes 0); keep all other scores."""
    u = problem.u(beta)
    rows = np.flatnonzero(u)
    found = ApproximateScores(rough.scores.copy(), rough.off.copy())
    found.scores[rows], found.off[rows] = problem.gram.product_among(rows, u[rows], tick), 0.0
    while (open_ := np.flatnonzero(may_count(problem, found))).size:
        found.scores[open_], found.off[open_] = problem.gram.product(rows, u[rows], open_, tick), 0.0
    return found


def refine_all(problem: KernelDual, beta: np.ndarray, rough: ApproximateScores, tick: Callable[[], None]) -> np.ndarray:
    """Recompute in float64 every score that has an error."""
    u = problem.u(beta)
    rows, open_ = np.flatnonzero(u), np.flatnonzero(rough.off)
    scores = rough.scores.copy()
    scores[open_] = problem.gram.product(rows, u[rows], open_, tick)
    return scores


def may_count(problem: KernelDual, rough: ApproximateScores) -> np.ndarray:
    """The points whose hinge may be above 0, or that may be at an end of the best offsets."""
    off = 2.0 * (rough.off if problem.at is None else rough.off[problem.at])
    intervals = problem.intervals(rough.scores)
    counts = problem.hinges(problem.best_scalars(rough.scores, intervals), rough.scores) >= -off
    kinks = problem.kinks(rough.scores)
    for (side, _), ends in zip(problem.sides, intervals):
        own = problem.sign[side] * kinks[side] if problem.nu_form else kinks[side]
        counts[side] |= np.min([np.abs(own - end) for end in ends], axis=0) <= off[side]
    counts &= off > 0.0
    if problem.at is None:
        return counts
    return np.bincount(problem.at, counts, minlength=problem.n_points) > 0
