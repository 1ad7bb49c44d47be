"""Least squares by descent, to be watched and compared: the steps of `descend`, target by target.

    minimise  J(w, b) = lam/2 |w|^2 + 1/mass sum_i s_i 1/2 (y_i - <w, x_i> - b)^2,    lam = alpha / mass,    mass = sum of s

J is the objective of `problems/least_squares` over 2 mass.  It begins at 0.  After ever more passes the point is measured by
what will be certified: the relative gap where every target has a penalty, else the orthogonality of the residuals.  Of stochastic
steps the average of the iterates is looked at too, in which their noise cancels.  The lowest point seen is returned, at worst the
best constant.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gapless.losses import Squared
from gapless.numbers import relative_gap
from gapless.problems.descent import LinearRisk
from gapless.problems.least_squares import LeastSquares
from gapless.problems.linear import LinearProblem
from gapless.solvers.descent.as_solver import batch_size, next_certificate, rates_for
from gapless.solvers.descent.engine import Engine
from gapless.solvers.descent.plan import DescentPlan
from gapless.solvers.least_squares.answer import Answer, Clock
from gapless.solvers.loop import Ended

#: Passes over the data, where the user gives no limit.
DEFAULT_PASSES = 1000


def descend_least_squares(
    problem: LeastSquares, loop: Clock, method: str, *, tol: float, schedule: Any, seed: int, passes: int | None
) -> Answer:
    """The lowest points that the steps reached; a target that diverged ends as ``not_finite`` and says which rates descend."""
    if problem.look is not None:
        problem.look()
    W, b = np.zeros((problem.d, problem.K)), problem.mean_y + 0.0 if problem.offset else np.zeros(problem.K)
    most = DEFAULT_PASSES if passes is None else passes
    status, n_iter, note = "converged", 0, ""
    gap = bool(problem.alpha.min() > 0.0)
    try:
        for k in range(problem.K):
            walk = _Walk(problem, k, gap, tol)
            try:
                walk.go(loop, method, schedule, seed, most)
            finally:
                W[:, k], b[k] = walk.w, walk.b
                n_iter = max(n_iter, walk.passes)
            if walk.status != "converged":
                status, note = walk.status, walk.note
    except Ended:
        status = loop.status or "time_limit"
    return Answer(W, b, method, status, n_iter, None, np.nan, note=note)


class _Walk:
    """One target: the lowest point so far, and how it ended."""

    def __init__(self, problem: LeastSquares, k: int, gap: bool, tol: float) -> None:
        alpha, y = float(problem.alpha[k]), np.ascontiguousarray(problem.Y[:, k])
        s = np.ones(problem.n) if problem.s is None else problem.s
        c = s / (alpha if alpha > 0.0 else problem.mass)
        self.erm = LinearProblem(problem.rows, y, c, Squared(), "free" if problem.offset else "none")
        self.risk = LinearRisk(self.erm, alpha / problem.mass)
        self.alone = LeastSquares(problem.rows, y[:, None], problem.s, problem.alpha[k : k + 1], problem.offset)
        self.alone.__dict__["columns"] = problem.columns
        self.gap, self.tol = gap, tol
        self.w, self.b = np.zeros(problem.d), float(problem.mean_y[k]) if problem.offset else 0.0
        self.lowest = self.risk.value(self.erm.join(self.w, self.b))
        self.passes, self.status, self.note = 0, "max_iter", ""

    def go(self, loop: Clock, method: str, schedule: Any, seed: int, most: int) -> None:
        risk = self.risk
        size = batch_size(method, risk.n)
        rates = rates_for(risk, method, schedule)
        # In the average of stochastic steps the t-th iterate counts t times.
        average = "linear" if method in ("sgd", "minibatch") else None
        plan = DescentPlan(method, rates, most * -(-risk.n // size), size, seed=seed, average=average)
        engine = Engine(risk, np.zeros(risk.shape), plan)
        next_look = 1
        while True:
            ahead = (next_look if engine.full else most) * engine.per_epoch
            going = engine.advance(ahead)
            self.passes = -(-engine.steps // engine.per_epoch)
            loop.tick()
            if going and self.passes < min(next_look, most):
                continue
            mean = engine.mean()
            reached = self._look(engine.theta()) or (mean is not None and self._look(mean))
            if reached or self.passes >= most or not going:
                break
            next_look = next_certificate(self.passes, most)
        if reached:
            self.status = "converged"
        elif engine.ending == "diverged":
            self.status = "not_finite"
            below = f"; below 2/L = {2.0 / risk.smoothness:.4g} every step of a full gradient descends ({risk.smoothness_told})"
            self.note = f"The steps were too long: rate {rates}{below}."

    def _look(self, theta: np.ndarray) -> bool:
        """Keep the point if it is the lowest; whether it is good enough."""
        value = self.risk.value(theta)
        if not value < self.lowest:
            return False
        self.lowest = value
        w, b = self.erm.split(theta)
        self.w, self.b = w.copy(), b
        W, offset = w[:, None], np.array([b])
        left, gradient = self.alone.residuals(W, offset)
        if self.gap:
            u = self.alone.dual_point(0, left)
            found = self.alone.gap(0, w, b, u)
            dual = max(found.dual, self.alone.gap(0, w, b, found.stretch * u).dual)
            # 0.9: the certified point is rounded to the precision of the data.
            return relative_gap(found.primal, dual) <= 0.9 * self.tol
        room = self.alone.orthogonality_error(left, self.alone.residual_error(W, offset))
        return math.isfinite(value) and bool(self.alone.orthogonality(left, gradient)[0] <= self.tol + room[0])
