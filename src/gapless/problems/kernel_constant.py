"""Of a kernel machine that was stopped: the model, or the best constant where that is better on the training rows.

C-SVC, eps-SVR and nu-SVR have w = 0 at beta = 0, which is feasible (a nu-SVR's sum may be below T1), and D(0) = 0.  The beta of
a nu-SVC has a sum above 0, so that w cannot be 0: its constant keeps w and has an offset beyond R |w|, the largest that
<w, phi> can be.  A one-class machine has no classes.
"""

from __future__ import annotations

import numpy as np

from gapless.problems.kernel import KernelDual

Point = tuple[np.ndarray, np.ndarray, np.ndarray]  #: beta, scalars, scores


def no_worse_than_constant(problem: KernelDual, point: Point) -> Point:
    """By the weight of the errors for classes, by the loss for numbers."""
    if problem.kind == "one_class":
        return point
    constant = _shifted(problem, point) if problem.kind == "nu_svc" else _zero(problem)
    return point if _cost(problem, point) <= _cost(problem, constant) else constant


def _zero(problem: KernelDual) -> Point:
    scores = np.zeros(problem.n_points)
    return np.zeros(problem.n), problem.best_scalars(scores), scores


def _shifted(problem: KernelDual, point: Point) -> Point:
    beta, _, scores = point
    side = 1.0 if _mass(problem, 1.0) >= _mass(problem, -1.0) else -1.0
    most = max(np.sqrt(problem.R2 * max(problem.square(beta, scores), 0.0)), float(np.abs(scores).max(initial=0.0)))
    offset = side * (1.0 + 1e-6) * (most if most > 0.0 else 1.0)
    # t is best where the slope T1 - sum of c over h > 0 changes sign: a quantile of the h without t.
    h = -problem.sign * (problem.to_variables(scores) + offset)
    order = np.argsort(-h, kind="stable")
    at = int(np.searchsorted(np.cumsum(problem.c[order]), problem.totals[1]))
    return beta, np.array([offset, float(h[order[min(at, h.size - 1)]])]), scores


def _mass(problem: KernelDual, sign: float) -> float:
    return float(problem.c[problem.sign == sign].sum())


def _cost(problem: KernelDual, point: Point) -> float:
    _, scalars, scores = point
    if problem.kind in ("c_svc", "nu_svc"):
        wrong = ~(problem.sign * (scores + scalars[0]) > 0.0)
        return float(problem.c[wrong].sum())
    return float(problem.c @ np.maximum(problem.hinges(scalars, scores), 0.0))
