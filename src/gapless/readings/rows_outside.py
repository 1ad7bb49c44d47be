"""Rows that are proved to be outside the margin at every optimum of a linear problem, from any primal and dual point.

Let (w, b) have gap g, and V = sum u x. P is 1-strongly convex in w and least at (w*, b*), and D(u) <= P* - 1/2 |w* - V|^2, so

    g  >=  1/2 |w - w*|^2 + 1/2 |V - w*|^2  =  |(w + V)/2 - w*|^2 + 1/4 |w - V|^2:

w* lies in a ball about (w + V)/2, and the score of a row in an interval. A free offset is not held by the gap. It is best for the
scores of w*; a best offset falls where scores rise, so it lies between the smallest for the highest scores and the largest for
the lowest. The judge proves the same in its own way (`judge.linear.labels`).
"""

from __future__ import annotations

import math

import numpy as np

from gapless import rows as R
from gapless.numbers import UNIT, gamma
from gapless.problems.linear import LinearProblem


def prove_outside(problem: LinearProblem, theta: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Whether y f > 1 at every optimum, row by row; False where that is open."""
    z, combined = problem.scores(theta), problem.combine(u)
    primal = problem.primal(theta, z)
    gap = primal - problem.dual(u, primal, combined) + problem.rounding(theta, z, u, combined, primal)
    norms = np.sqrt(problem.norms2) * (1.0 + 1e-9)
    combined_error = gamma(R.sum_length(problem.rows) + 4.0) * float(np.abs(u) @ norms)
    w, v = theta.copy(), combined.copy()
    if problem.free:
        w[-1] = v[-1] = 0.0
        norms = np.sqrt(R.norms2(problem.rows._replace(constant=0.0))) * (1.0 + 1e-9)
    centre = 0.5 * (w + v)
    length, apart = (
        float(np.linalg.norm(centre)),
        max(0.0, float(np.linalg.norm(w - v)) * (1.0 - 1e-9) - combined_error),
    )
    radius = math.sqrt(max(0.0, gap - 0.25 * apart**2)) + 0.5 * combined_error + 4.0 * UNIT * length
    scores, reach = problem.scores(centre), norms * (radius + gamma(problem.d + 6) * length) * (1.0 + 1e-9)
    low, high = np.nextafter(scores - reach, -np.inf), np.nextafter(scores + reach, np.inf)
    smallest, largest = enclose_best_offset(problem, low, high) if problem.free else (0.0, 0.0)
    margins = np.where(problem.y > 0, low + smallest, -(high + largest))
    return np.asarray(np.nextafter(margins, -np.inf) > 1.0)


def enclose_best_offset(problem: LinearProblem, low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    """An interval that holds every best offset for every scores between ``low`` and ``high``."""
    if not np.isfinite(high - low).all() or min(problem.masses) <= 8.0 * UNIT * problem.n * sum(problem.masses):
        return -math.inf, math.inf
    if problem.loss.smooth:
        return _pass_minimisers(problem, high, -1.0), _pass_minimisers(problem, low, 1.0)
    size = 4.0 * UNIT * (1.0 + float(np.abs(low).max()) + float(np.abs(high).max()))
    return problem.offset_interval(high)[0] - size, problem.offset_interval(low)[1] + size


def _pass_minimisers(problem: LinearProblem, z: np.ndarray, side: float) -> float:
    """An offset below (side -1) or above (+1) every minimiser for the scores z: the slope there has a certain sign."""
    best = problem.best_offset(z)
    step = 1e-12 * (1.0 + abs(best))
    while math.isfinite(step):
        b = best + side * step
        slopes = problem.c * problem.loss.slope(z + b, problem.y)
        felt = 1e-12 * float(np.abs(slopes).sum())
        felt += 4.0 * UNIT * problem.loss.largest_curvature * float(problem.c @ (np.abs(z) + abs(b)))
        if side * float(slopes.sum()) > felt:
            return b
        step *= 4.0
    return side * math.inf
