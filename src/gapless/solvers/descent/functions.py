"""What `python_steps` descends: a differentiable function of the user's, or a linear problem through its scores.

Both give f, its gradient, Newton's step -H^-1 gradient (H + tau I where H is not positive definite), and f along a direction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gapless import rows as R
from gapless.problems.descent import LinearRisk
from gapless.problems.linear import LinearProblem
from gapless.problems.linear_sums import LossAtScores
from gapless.solvers.newton_system import NewtonSystem

#: Newton's method writes out a matrix of at most 3000 rows: 72 MB, and 1 s for its factor.
MAX_HESSIAN_ROWS = 3000

Along = Callable[[float], tuple[float, float, float]]


class Function:
    """A differentiable function with its gradient, checked at every call and counted."""

    lam: float | None = None

    def __init__(
        self, value: Callable[..., Any], gradient: Callable[..., Any], hessian: Callable[..., Any] | None
    ) -> None:
        self._value, self._gradient, self._hessian = value, gradient, hessian
        self.evaluations = 0
        self.step = 0

    def value(self, theta: np.ndarray) -> float:
        self.evaluations += 1
        found = np.asarray(self._value(theta), dtype=float)
        if found.size != 1:
            raise ValueError(f"the function must give one number; it gave an array of shape {found.shape}")
        return float(found.reshape(()))

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        found = np.asarray(self._gradient(theta), dtype=float)
        if found.shape != theta.shape:
            raise ValueError(f"the gradient must have the shape of theta, {theta.shape}; it has {found.shape}")
        return found.copy()

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = self.value(theta), self.gradient(theta)
        # beyond, a value that is not finite is a descent that diverged
        near = float(np.abs(theta).max(initial=0.0)) < 1e50
        if near and (math.isnan(value) or (math.isfinite(value) and not np.isfinite(gradient).all())):
            what = "the value" if math.isnan(value) else "the gradient"
            detail = "" if math.isnan(value) else f" (entry {int(np.argmin(np.isfinite(gradient)))})"
            shown = np.array2string(theta, precision=17, threshold=8, separator=", ")
            raise ValueError(f"{what} is not finite{detail} at step {self.step}, theta = {shown}")
        return value, gradient

    def newton_step(self, theta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        if self._hessian is None:
            raise ValueError("method='newton' needs the Hessian: give (value, gradient, hessian)")
        H = np.asarray(self._hessian(theta), dtype=float)
        if H.shape != (theta.size, theta.size):
            raise ValueError(f"the Hessian must have shape {(theta.size, theta.size)}; it has {H.shape}")
        if not np.isfinite(H).all():
            raise ValueError(f"the Hessian is not finite at step {self.step}, theta = {theta}")
        return _downhill(H, gradient)

    def largest_curvature(self, theta: np.ndarray) -> float | None:
        """The largest eigenvalue of the Hessian at theta; None where there is no Hessian, or no such curvature."""
        if self._hessian is None or theta.size > MAX_HESSIAN_ROWS or not np.isfinite(theta).all():
            return None
        H = np.asarray(self._hessian(theta), dtype=float)
        top = float(np.linalg.eigvalsh(H)[-1]) if H.shape == (theta.size,) * 2 and np.isfinite(H).all() else 0.0
        return top if top > 0.0 else None

    def along(self, theta: np.ndarray, step: np.ndarray) -> Along:
        last: list[tuple[float, float]] = []

        def at(t: float) -> tuple[float, float, float]:
            point = theta + t * step
            value, gradient = self.value(point), self.gradient(point)
            slope = float(gradient @ step)
            bend = (slope - last[-1][1]) / (t - last[-1][0]) if last and last[-1][0] != t else 0.0
            last.append((t, slope))
            return value, slope, bend

        return at

    def shown(self, theta: np.ndarray) -> np.ndarray:
        return theta.copy()


class RiskFunction:
    """A linear problem as such a function, computed through its scores."""

    def __init__(self, risk: LinearRisk) -> None:
        self.risk, self.lam = risk, risk.lam
        self.evaluations = 0
        self.step = 0

    def value(self, theta: np.ndarray) -> float:
        self.evaluations += 1
        return self.risk.value(theta.reshape(self.risk.shape))

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        self.evaluations += 1
        value, gradient = self.risk.value_and_gradient(theta.reshape(self.risk.shape))
        return value, gradient.ravel()

    def newton_step(self, theta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        risk = self.risk
        problem = risk.problem
        if not risk.smooth:
            raise ValueError(
                f"method='newton' needs a loss with a curvature; {type(risk.loss).__name__} has none. Use squared_hinge, or gd."
            )
        if isinstance(problem, LinearProblem) and risk.lam == 0.0:
            return _downhill(_hessian_without_penalty(risk, theta), gradient)
        if isinstance(problem, LinearProblem):
            # P and J have the same Newton step; the offset's curvature may be 0 (no example active), hence its ridge.
            _, h = problem.derivatives(problem.scores(theta))
            ridge = 1e-12 * float(h.sum() or 1.0) if problem.free else 1.0
            step = NewtonSystem(problem, h, h > 0.0, ridge).solve(-gradient / risk.lam)
            if problem.rows.constant == 0.0:
                step[-1] = 0.0
            return step
        return _downhill(_hessian_of_many(risk, theta.reshape(risk.shape)), gradient)

    def along(self, theta: np.ndarray, step: np.ndarray) -> Along:
        risk, problem = self.risk, self.risk.problem
        if not isinstance(problem, LinearProblem):

            def general(t: float) -> tuple[float, float, float]:
                value, gradient = self.value_and_gradient(theta + t * step)
                return value, float(gradient @ step), 0.0

            return general
        z, moved = problem.scores(theta), problem.scores(step)
        g, h = np.empty_like(z), np.empty_like(z)
        w, s = risk.pull(theta), risk.pull(step)
        parts = (0.5 * float(w @ w), float(w @ s), float(s @ s)) if risk.lam > 0.0 else (0.0, 0.0, 0.0)

        def at(t: float) -> tuple[float, float, float]:
            self.evaluations += 1
            loss, slope, bend = problem.derivatives_along(LossAtScores(z, g, h), moved, t)
            value = parts[0] + t * parts[1] + 0.5 * t * t * parts[2] + loss
            unit = risk.unit
            return unit * value, unit * (parts[1] + t * parts[2] + slope), unit * (parts[2] + bend)

        return at

    def shown(self, theta: np.ndarray) -> np.ndarray:
        return self.risk.shown(theta.reshape(self.risk.shape)).ravel()


def _may_be_written(rows: int) -> None:
    if rows > MAX_HESSIAN_ROWS:
        raise ValueError(
            f"method='newton' writes out a matrix of {rows:,} rows here; up to {MAX_HESSIAN_ROWS:,} it does"
        )


def _hessian_without_penalty(risk: LinearRisk, theta: np.ndarray) -> np.ndarray:
    problem: Any = risk.problem
    _may_be_written(theta.size)
    _, h = problem.derivatives(problem.scores(theta))
    H = R.gram(problem.rows, h, np.flatnonzero(h > 0.0))
    # Of directions that no example sees, a constant feature of 0 among them, the shortest step is 0.
    return H + 1e-12 * (float(np.trace(H)) or 1.0) * np.eye(theta.size)


def _hessian_of_many(risk: LinearRisk, theta: np.ndarray) -> np.ndarray:
    problem: Any = risk.problem
    K, d = risk.shape
    _may_be_written(K * d)
    P, _ = problem.probabilities(problem.scores(theta))
    H = np.zeros((K, d, K, d))
    everybody = np.arange(problem.n)
    for k in range(K):
        for m in range(k + 1):
            weight = problem.c * P[:, k] * ((1.0 if k == m else 0.0) - P[:, m])
            part = R.gram(problem.rows, np.abs(weight), everybody) * (1.0 if k == m else -1.0)
            H[k, :, m, :] = H[m, :, k, :] = part
    matrix = H.reshape(K * d, K * d)
    pull = risk.pull(np.ones(risk.shape)).ravel()
    # A shift of all free offsets changes nothing: a trace of a ridge picks the shortest step.
    penalised = (pull > 0.0) & (risk.lam > 0.0)
    return risk.unit * (matrix + np.diag(np.where(penalised, 1.0, 1e-12 * float(problem.c.sum()))))


def _downhill(H: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """-H^-1 gradient; where H is not positive definite, the least multiple of I on a grid is added that makes it so."""
    size = float(np.abs(H).max(initial=0.0)) or 1.0
    tau = 0.0
    for _ in range(60):
        try:
            factor = np.linalg.cholesky(H + tau * np.eye(len(H)))
            return -np.linalg.solve(factor.T, np.linalg.solve(factor, gradient))
        except np.linalg.LinAlgError:
            tau = max(2.0 * tau, 1e-10 * size)
    return -gradient
