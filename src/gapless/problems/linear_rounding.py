"""A bound on the rounding error of P - D of a linear problem.

Products with a row: Higham's gamma_m = mu/(1 - mu) for any order of d + 1 terms.  Sums over rows go by blocks of `BLOCK`, whose
sums numpy adds pairwise (numpy's own sums: blocks of 128): gamma_(BLOCK + 64) covers both.  Rows of two values have a term for
the base and one for the jump from it, |base| + |jump| <= |x| + 2 |base| entry by entry: as if rows were longer by that and had
more columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gapless.numbers import UNIT, gamma, length_of
from gapless.problems.examples.protocol import Handle, LinearExamples
from gapless.problems.linear_sums import BLOCK, SLICE

if TYPE_CHECKING:
    from gapless.problems.linear import LinearProblem


def bound_rounding(
    problem: LinearExamples, theta: np.ndarray, z: Handle, u: Handle, combined: np.ndarray, primal: float
) -> float:
    """A bound on |computed - exact| of P(theta) - D(u), with the scores z of theta and combined = sum u x."""
    longer = 2.0 * problem.base_length
    d = (problem.d if longer == 0.0 else 2 * problem.d + 5) + 1
    sums = gamma(min(problem.n, BLOCK) + 64)
    loss_error, reach, total = problem.rounding_sums(theta, z, u, gamma(d + 3))
    error = loss_error + (sums + 16 * UNIT) * primal  # no less than the losses' sum
    error += gamma(d + 3) * problem.penalty(theta)
    combined_error = gamma(problem.sum_length + 4.0) * reach
    length = length_of(combined)
    error += combined_error * (length + 0.5 * combined_error) + gamma(d + 3) * 0.5 * length**2
    sizes, by_logarithms = _bound_conjugates(problem, u, total)
    error += by_logarithms
    error += (sums + 16 * UNIT) * (sizes + total)
    if problem.free:
        bound = problem.offset_bound(primal)
        error += bound * 64 * UNIT * total + 1e-11 * bound * abs(problem.sum(u))
    return error * (1.0 + 1e-10)


def add_rounding_sums(
    problem: LinearProblem, theta: np.ndarray, z: np.ndarray, u: np.ndarray, unit: float
) -> tuple[float, float, float]:
    """Sums over the examples: how far ``unit``, the error of a product, moves the loss; |u| |x|; and |u|."""
    # The scores are off by |x||w| + |b|, or by Cauchy and Schwarz with the offset as one more weight: whichever is less.
    size, slope, offset = (length_of(part) for part in (theta, theta[:-1], theta[-1:] * problem.constant))
    loss_error, reach, total = 0.0, 0.0, 0.0
    for start in range(0, problem.n, SLICE):
        part = slice(start, min(problem.n, start + SLICE))
        norms = np.sqrt(problem.norms2_of(part.start, part.stop)) * (1.0 + 1e-12) + 2.0 * problem.base_length
        score_error = unit * np.minimum(norms * size, norms * slope + offset)
        steepest = _bound_slopes(problem, z[part], problem.y[part], score_error)
        loss_error += float((problem.c[part] * score_error * steepest).sum())
        heights = np.abs(u[part])
        reach += float(heights @ norms)
        total += float(heights.sum())
    return loss_error, reach, total


def _bound_slopes(problem: LinearProblem, z: np.ndarray, y: np.ndarray, score_error: np.ndarray) -> np.ndarray | float:
    """The largest |l'| within the error of each score."""
    loss = problem.loss
    if np.isfinite(loss.largest_slope):
        return float(loss.largest_slope)
    return np.asarray(np.abs(loss.slope(z, y)) + loss.largest_curvature * score_error)


def _bound_conjugates(problem: LinearExamples, u: Handle, total: float) -> tuple[float, float]:
    """sum c |l*(y, -u/c)| or a bound on it, and the error that the logarithms of an entropy add; ``total`` is sum |u|."""
    loss = problem.loss
    if loss.conjugate_curvature == 0.0:
        return total, 0.0
    if loss.entropic:
        mass = problem.sum(problem.c)
        return loss.largest_conjugate * mass, 40 * UNIT * mass
    return problem.conjugate_sizes(u), 0.0
