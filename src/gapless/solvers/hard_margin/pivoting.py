"""Block pivoting for the hard margin where thousands of rows lie on it: wide sparse data.

    maximise over alpha >= 0    sum alpha - 1/2 |sum alpha y x|^2      subject to  sum alpha y = 0 (free offset)

Coordinate descent (the hinge with a c that binds no row) finds within a few passes nearly all rows with alpha > 0.  With this
set F held on the margin the conditions are linear,

    X_F X_F' nu + b 1 = y_F,     1'nu = 0 (free offset; otherwise there is no b),

solved by conjugate gradients, whose matrix is never formed.  Then all wrong rows change sides at once: rows with alpha < 0 leave
F, rows below their margin join it.  Where the number of wrong rows does not fall, coordinate descent takes more passes first.
(Portugal, Judice and Vicente, 1994; Kim and Park, 2011, for least squares.)
"""

from __future__ import annotations

import numpy as np

from gapless import rows as R
from gapless.losses import Hinge
from gapless.problems.hard_margin import HardMargin
from gapless.problems.linear import LinearProblem
from gapless.solvers.linear.coordinate_descent import coordinate_descent
from gapless.solvers.loop import Ended, Loop, Stop, Watch


def solve_by_pivoting(problem: HardMargin, loop: Loop) -> None:
    """Solve, recording points in ``loop``; returns when the sets have settled, or after five descents of growing length."""
    first_passes = 60
    u = np.zeros(problem.n)
    for attempt in range(5):
        u = _descend(problem, loop, u, min(first_passes * 3**attempt, max(1, loop.stop.passes - loop.n_iter)))
        _record(problem, loop, u, None)
        if loop.n_iter >= loop.stop.passes:
            loop.end("max_iter")
        if _pivot(problem, loop, u):
            return


def _descend(problem: HardMargin, loop: Loop, u: np.ndarray, passes: int) -> np.ndarray:
    """Passes of coordinate descent from u."""
    c = np.full(problem.n, 1e15 / max(float(np.median(problem.norms2)), 1e-300))
    rows, offset = problem.rows, problem.offset
    if problem.free:
        # A penalised constant as long as the rows has nearly the same support, and descent is much faster than with sum u = 0.
        rows, offset = rows._replace(constant=float(np.sqrt(np.mean(problem.norms2 - 1.0)))), "penalised"
    soft = LinearProblem(rows, problem.y, c, Hinge(), offset)
    inner = Loop(Stop(1e-14, passes), Watch(interruption=loop.interruption))
    inner.tick = loop.tick  # type: ignore[method-assign]
    try:
        coordinate_descent(soft, inner, u if u.any() else None)
    except Ended:
        if loop.status is not None:
            raise
    loop.advance(inner.n_iter)
    return u if inner.best_u is None else inner.best_u


def _pivot(problem: HardMargin, loop: Loop, u: np.ndarray) -> bool:
    """Exchange wrong rows until there is none; True where the sets settled: the point is the optimum up to rounding."""
    # Residuals of the linear systems: four digits find the wrong rows at first, the last digits are for the end.
    tolerances = (1e-4, 1e-8, 1e-15)
    y = problem.y
    held = u != 0.0
    nu, b = u.copy(), 0.0
    level, fewest, patience = 0, problem.n + 1, 4
    for _ in range(30):
        index = np.flatnonzero(held)
        if index.size == 0 or (problem.free and abs(int(y[index].sum())) == index.size):
            return False
        nu[~held] = 0.0
        nu[index], b = _HeldRows(problem, index, loop).solve(y[index].astype(float), nu[index], tolerances[level])
        loop.advance()
        margins = _record(problem, loop, nu, b)
        alpha = nu * y
        size = float(np.abs(alpha).max(initial=0.0))
        if not np.isfinite(size):
            return False
        room = max(1e-11, 100.0 * tolerances[level])
        leaves, joins = held & (alpha < -room * size), ~held & (margins < 1.0 - room)
        wrong = int(leaves.sum() + joins.sum())
        if wrong == 0:
            level, fewest, patience = level + 1, problem.n + 1, 4
            if level == len(tolerances):
                _record(problem, loop, nu, b, last=True)
                return True
            continue
        if wrong >= fewest:
            patience -= 1
            if patience == 0:
                return False
        fewest = min(fewest, wrong)
        held = (held & ~leaves) | joins
    return False


class _HeldRows:
    """X_F X_F' as an operator, the constant feature of a penalised offset included.

    With a free offset nu stays on 1'nu = 0, and what is left of the residual there is b: steps are projected, in the metric of
    the preconditioner (Gould, Hribar and Nocedal, 2001).
    """

    def __init__(self, problem: HardMargin, index: np.ndarray, loop: Loop) -> None:
        part = R.take_rows(problem.rows, index)
        self.part = part._replace(constant=0.0) if problem.free else part
        self.weight = 1.0 / np.maximum(R.norms2(self.part), 1e-300)
        self.free, self.tick = problem.free, loop.tick

    def apply(self, p: np.ndarray) -> np.ndarray:
        return R.scores(self.part, R.combine(self.part, p, self.tick), self.tick)

    def offset(self, residual: np.ndarray) -> float:
        """The constant that the residual may keep."""
        return float(self.weight @ residual / self.weight.sum()) if self.free else 0.0

    def solve(self, right: np.ndarray, x: np.ndarray, tolerance: float) -> tuple[np.ndarray, float]:
        """Conjugate gradients from x until the residual is ``tolerance`` of the right side; restarted to shed rounding."""
        size, b = float(np.linalg.norm(right)), 0.0
        for _ in range(3):
            if self.free:
                x = x - self.weight * (float(x.sum()) / float(self.weight.sum()))
            residual = right - self.apply(x)
            b = self.offset(residual)
            reached = float(np.linalg.norm(residual - b))
            if reached <= tolerance * size:
                break
            x = x + self._steps(residual, max(tolerance * size, 1e-10 * reached))
        return x, b

    def _steps(self, residual: np.ndarray, target: float) -> np.ndarray:
        """At most 3,000 steps of conjugate gradients; they end where 200 steps have not halved the residual."""
        x = np.zeros_like(residual)
        residual = residual - self.offset(residual)
        z = self.weight * residual
        p, rho = z.copy(), float(residual @ z)
        best = np.inf
        for step in range(3000):
            length = float(np.linalg.norm(residual))
            if length <= target or not np.isfinite(length):
                break
            if step % 200 == 199:
                if length > 0.5 * best:
                    break  # the system is singular, or the residual is rounding
                best = length
            q = self.apply(p)
            a = rho / float(p @ q)
            x += a * p
            residual = residual - a * q
            residual = residual - self.offset(residual)
            z = self.weight * residual
            rho, old = float(residual @ z), rho
            p = z + (rho / old) * p
        return x


def _record(problem: HardMargin, loop: Loop, u: np.ndarray, b: float | None, last: bool = False) -> np.ndarray:
    """Record the point of u, made feasible; returns its margins with the offset b, or with the best offset where b is None."""
    alpha = np.maximum(u * problem.y, 0.0)
    dual = problem.repair(problem.scale_dual(problem.repair(alpha * problem.y)))
    theta = problem.combine(u, loop.tick)
    if problem.free:
        theta[-1] = 0.0 if b is None else b
    z = problem.scores(theta, loop.tick)
    if problem.free and b is None:
        z += problem.best_offset(z)
    feasible = problem.stretch_to_feasible(theta)
    primal = problem.primal(feasible) if feasible is not None else np.inf
    theta, value = theta if feasible is None else feasible, problem.dual(dual, primal)
    loop.record(theta, dual, primal, value, ends=False)
    if last:
        loop.prefer(theta, dual, primal, value)
    return problem.y * z
