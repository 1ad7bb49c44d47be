"""Where w = 0 is optimal up to rounding: nu-SVC whose hulls meet, one class around the origin. No relative gap exists there."""

from __future__ import annotations

import numpy as np

from gapless.problems.kernel import KernelDual, KernelFigures


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
