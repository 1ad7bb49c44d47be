"""Descent by full gradients, one step of Python at a time: any differentiable function, line searches, Newton's method.

    gd          step = -rate gradient
    momentum    step = beta * last step - rate gradient                                          (Polyak's heavy ball)
    adam        step = -rate m / (sqrt(v) + epsilon), m and v the running means of the gradient and of its squares
    newton      step = -rate H^-1 gradient; H + tau I where H is not positive definite

Each step is watched: its decrease is sufficient if f(theta + step) <= f(theta) + <gradient, step>/2, which for gd
holds at every rate up to 1/L (the descent lemma).  It ends where the gradient is small, and where the value has risen
so far that it will not come back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapless import rows as R
from gapless._runtime.clock import now
from gapless.problems.descent import LinearRisk
from gapless.problems.linear import LinearProblem
from gapless.problems.linear_sums import LossAtScores
from gapless.solvers.descent.schedules import Schedule
from gapless.solvers.descent.trace import Break
from gapless.solvers.line_search import find_step_length
from gapless.solvers.newton_system import NewtonSystem

#: A value above that of the start by this factor is one that rises without end.
RISE = 1e8
#: A theta as long as this, by the same measure.
FAR = 1e50
#: Entries of theta up to which Newton's method writes its matrix out for K scores.
WRITTEN_OUT = 3000

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
        near = float(np.abs(theta).max(initial=0.0)) < FAR
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
        if self._hessian is None or theta.size > WRITTEN_OUT or not np.isfinite(theta).all():
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


class Risk:
    """The same of a linear problem, through its scores."""

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
            step = NewtonSystem(problem.rows, h, np.flatnonzero(h > 0.0), ridge).solve(-gradient / risk.lam)
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
    if rows > WRITTEN_OUT:
        raise ValueError(f"method='newton' writes out a matrix of {rows:,} rows here; up to {WRITTEN_OUT:,} it does")


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


@dataclass
class Walked:
    """What the steps leave behind."""

    theta: np.ndarray
    value: float
    norm: float
    best: np.ndarray
    best_value: float
    best_step: int
    steepest: np.ndarray
    status: str = "max_iter"
    steps: int = 0
    broke: tuple[int, float, np.ndarray, np.ndarray] | None = None
    every: int = 0
    rows: list[list[Any]] = field(default_factory=list)
    weights: float = 0.0
    total: np.ndarray | None = None


def step_by_step(
    objective: Function | Risk,
    theta: np.ndarray,
    method: str,
    schedule: Schedule,
    *,
    steps: int,
    small: float,
    betas: tuple[float, float, float],
    every: int,
    room: int,
    average: int,
    begin: int,
    out_of_time: Callable[[], bool],
    enough: Callable[[np.ndarray], bool],
) -> Walked:
    """At most ``steps`` steps from theta."""
    value, gradient = objective.value_and_gradient(theta)
    norm = float(np.linalg.norm(gradient))
    limit = value + RISE * max(1.0, abs(value))
    found = Walked(theta, value, norm, theta.copy(), value, 0, np.zeros_like(theta))
    velocity, square = np.zeros_like(theta), np.zeros_like(theta)
    last_rate = schedule.rate
    one = np.empty(1)
    for t in range(steps + 1):
        found.theta, found.value, found.norm, found.steps = theta, value, norm, t
        found.steepest = -gradient / norm if norm > 0.0 else np.zeros_like(gradient)
        if not (value <= limit and math.isfinite(norm)):
            found.status = "diverged"
            return found
        if value < found.best_value:
            found.best, found.best_value, found.best_step = theta.copy(), value, t
        if norm <= small or enough(theta):
            found.status = "converged"
            return found
        if t == steps or out_of_time():
            found.status = "max_iter" if t == steps else "time_limit"
            return found
        if method == "newton":
            direction = objective.newton_step(theta, gradient)
        elif method == "momentum":
            direction = -gradient
        elif method == "adam":
            velocity = betas[0] * velocity + (1.0 - betas[0]) * gradient
            square = betas[1] * square + (1.0 - betas[1]) * gradient * gradient
            hat = velocity / (1.0 - betas[0] ** (t + 1))
            direction = -hat / (np.sqrt(square / (1.0 - betas[1] ** (t + 1))) + betas[2])
        else:
            direction = -gradient
        if schedule.searches:
            # Newton's own step first; else twice the last one, so that rates can grow again.
            first = schedule.rate if method == "newton" or t == 0 else 2.0 * last_rate
            rate = _searched(objective, schedule, theta, value, gradient, direction, norm, first)
        else:
            rate = float(schedule.rates(t + 1, one)[0])
        if every and t % every == 0:
            if len(found.rows) == room:
                every *= 2
                found.rows = [row for row in found.rows if row[0] % every == 0]
            found.every = every
            found.rows.append([t, rate, value, norm, theta.copy(), found.steepest, math.nan])
        if rate == 0.0:
            found.status = "stalled"
            return found
        step = rate * direction
        if method == "momentum":
            velocity = betas[0] * velocity + step
            step = velocity.copy()
        objective.step = t + 1
        new = theta + step
        if np.array_equal(new, theta):
            found.status = "stalled"
            return found
        before, promised = value, float(gradient @ step)
        value, new_gradient = objective.value_and_gradient(new)
        held = value <= before + 0.5 * promised + 1e-14 * (abs(before) + abs(value))
        if found.rows and found.rows[-1][0] == t:
            found.rows[-1][-1] = float(held)
        if not held and found.broke is None:
            found.broke = t, rate, theta, gradient
        theta, gradient, last_rate = new, new_gradient, rate
        norm = float(np.linalg.norm(gradient))
        if average and t >= begin:
            weight = 1.0 if average == 1 else t + 1.0
            found.total = weight * theta if found.total is None else found.total + weight * theta
            found.weights += weight
    return found


def _searched(
    objective: Any,
    schedule: Schedule,
    theta: np.ndarray,
    value: float,
    gradient: np.ndarray,
    direction: np.ndarray,
    norm: float,
    first: float,
) -> float:
    """The rate of a line search; 0 where no step lowers the value."""
    if schedule.kind == "polyak":
        return max(0.0, value - schedule.optimum) / (norm * norm)
    slope = float(gradient @ direction)
    if not slope < 0.0:
        return 0.0
    along = objective.along(theta, direction)
    if schedule.kind == "exact":
        rate = find_step_length(lambda t: along(t)[1:], share=1e-9, tries=100, start=slope)
        if along(rate)[0] < value:
            return rate
    rate = first
    for _ in range(200):
        if along(rate)[0] <= value + schedule.decrease * rate * slope:
            return rate
        rate *= schedule.shrink
    return 0.0


def largest_rate(objective: Any, theta: np.ndarray, gradient: np.ndarray, rate: float) -> float:
    """The largest rate below ``rate`` at which a step along minus the gradient decreases f sufficiently, by bisection.

    For a convex f the rates that do form an interval from 0, so that this is its end.
    """
    value = objective.value(theta)
    along = objective.along(theta, -gradient)
    square = float(gradient @ gradient)

    def holds(r: float) -> bool:
        return along(r)[0] <= value - 0.5 * r * square

    low, high = rate, rate
    while not holds(low):
        high, low = low, 0.5 * low
        if low < 1e-30 * rate:
            return 0.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def as_break(objective: Any, broke: tuple[int, float, np.ndarray, np.ndarray] | None, method: str) -> Break | None:
    if broke is None:
        return None
    step, rate, theta, gradient = broke
    return Break(step, rate, largest_rate(objective, theta, gradient, rate) if method == "gd" else None)


def timer(seconds: float | None) -> Callable[[], bool]:
    end = math.inf if seconds is None else now() + seconds
    return lambda: now() >= end
