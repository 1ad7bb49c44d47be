"""Scores in float64, only where they count.

A point with u = 0 whose hinge is surely 0 adds nothing to P, to D, to the gap or to the ends of the best offsets, however far
inside it is: for these points, most of a large problem, a score in single precision and what it can be off by are enough.  The
others are the support vectors among themselves, each kernel value made once, and the few points near the margin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gapless.problems.kernel import KernelDual, KernelFigures


class ApproximateScores(NamedTuple):
    """Scores, and what each can be off by."""

    scores: np.ndarray
    off: np.ndarray
    figures: KernelFigures | None = None  #: of the point they belong to, where they were computed


def refine_where_needed(
    problem: KernelDual, beta: np.ndarray, blurred: ApproximateScores, tick: Callable[[], None]
) -> ApproximateScores:
    """The scores of beta: in float64 (off by 0 here) wherever they count, elsewhere as they were."""
    u = problem.u(beta)
    rows = np.flatnonzero(u)
    found = ApproximateScores(blurred.scores.copy(), blurred.off.copy())
    found.scores[rows], found.off[rows] = problem.gram.product_among(rows, u[rows], tick), 0.0
    while (open_ := np.flatnonzero(_may_count(problem, found))).size:
        found.scores[open_], found.off[open_] = problem.gram.product(rows, u[rows], open_, tick), 0.0
    return found


def refine_all(
    problem: KernelDual, beta: np.ndarray, blurred: ApproximateScores, tick: Callable[[], None]
) -> np.ndarray:
    """All scores in float64."""
    u = problem.u(beta)
    rows, open_ = np.flatnonzero(u), np.flatnonzero(blurred.off)
    scores = blurred.scores.copy()
    scores[open_] = problem.gram.product(rows, u[rows], open_, tick)
    return scores


def _may_count(problem: KernelDual, blurred: ApproximateScores) -> np.ndarray:
    """Points whose hinge may be above 0, or that may be at an end of the best offsets."""
    off = 2.0 * (blurred.off if problem.at is None else blurred.off[problem.at])
    intervals = problem.intervals(blurred.scores)
    counts = problem.hinges(problem.best_scalars(blurred.scores, intervals), blurred.scores) >= -off
    kinks = problem.kinks(blurred.scores)
    for (side, _), ends in zip(problem.sides, intervals):
        own = problem.sign[side] * kinks[side] if problem.nu_form else kinks[side]
        counts[side] |= np.min([np.abs(own - end) for end in ends], axis=0) <= off[side]
    counts &= off > 0.0
    if problem.at is None:
        return counts
    return np.bincount(problem.at, counts, minlength=problem.n_points) > 0
