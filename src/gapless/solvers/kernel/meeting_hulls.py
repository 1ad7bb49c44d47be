"""nu-SVC whose optimum is w = 0: where rows of both classes are equal, and weigh enough, no search is needed.

    minimise 1/2 |sum_j s_j beta_j phi_j|^2,    0 <= beta <= c,    the beta of each class sum to T1/2

is 0 where a measure of mass T1/2 lies under the weights of both classes.  For a Gaussian, whose distinct rows are linearly
independent, it is 0 nowhere else.
"""

from __future__ import annotations

import numpy as np

from gapless.problems.kernel import KernelDual


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
