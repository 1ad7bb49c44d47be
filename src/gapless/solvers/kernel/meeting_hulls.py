"""Where w = 0 is optimal, exactly or up to rounding: nu-SVC whose hulls meet, one class around the origin.

Of nu-SVC no search is needed where rows of both classes are equal, and weigh enough:

    minimise 1/2 |sum_j s_j beta_j phi_j|^2,    0 <= beta <= c,    the beta of each class sum to T1/2

is 0 where a measure of mass T1/2 lies under the weights of both classes.  For a Gaussian, whose distinct rows are linearly
independent, it is 0 nowhere else.
"""

from __future__ import annotations

import numpy as np

from gapless.problems.kernel import KernelDual, KernelFigures


def find_common_measure(problem: KernelDual, value: np.ndarray) -> np.ndarray | None:
    """A beta with w = 0, on as few rows as it takes; None where equal rows do not weigh enough. ``value`` is the number of each
    variable's row: variables of equal rows have the same, and are at most one of each class."""
    if problem.kind != "nu_svc":
        return None
    positive = problem.sign > 0.0
    common = np.minimum(np.bincount(value, problem.c * positive), np.bincount(value, problem.c * ~positive))
    wanted = 0.5 * problem.totals[1]
    if common.sum() < wanted:
        return None
    order = np.argsort(-common, kind="stable")
    room = common[order]
    taken = np.empty(room.size)
    taken[order] = np.clip(wanted - (np.cumsum(room) - room), 0.0, room)
    return taken[value]


def is_nothing(problem: KernelDual, beta: np.ndarray, size: float, rounding: float) -> bool:
    """Whether P, D and the gap, of at most ``size``, are rounding, and that is at most 1e-9 of what an optimum can be."""
    mass = float(np.abs(problem.u(beta)).sum())
    return problem.kind in ("one_class", "nu_svc") and size <= rounding <= 1e-9 * mass * mass


def ends_at_nothing(problem: KernelDual, beta: np.ndarray, scores: np.ndarray, figures: KernelFigures) -> bool:
    """The same of a point that a solver has reached."""
    if problem.kind not in ("one_class", "nu_svc"):
        return False
    scalars, primal, dual, gap = figures
    rounding = problem.rounding(beta, scalars, scores, primal, dual)
    return is_nothing(problem, beta, max(abs(primal), abs(primal - gap), gap), rounding)
