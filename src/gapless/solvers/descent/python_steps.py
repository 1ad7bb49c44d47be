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
from typing import Any

import numpy as np

from gapless._runtime.clock import now
from gapless.solvers.descent.functions import Function, RiskFunction
from gapless.solvers.descent.plan import AVERAGES, DIVERGED_FACTOR, DescentEnd, DescentPlan
from gapless.solvers.descent.schedules import Schedule
from gapless.solvers.descent.trace import Break
from gapless.solvers.line_search import find_step_length


class PythonSteps:
    """State of one descent by steps of Python. ``written`` are the rows of its trace."""

    def __init__(self, objective: Function | RiskFunction, theta: np.ndarray, plan: DescentPlan) -> None:
        self.objective, self.plan, self.theta = objective, plan, theta
        self.value, self.gradient = objective.value_and_gradient(theta)
        self.norm = float(np.linalg.norm(self.gradient))
        self.steps = 0
        self.every, self.written = plan.room.every, list[list[Any]]()
        self._limit = self.value + DIVERGED_FACTOR * max(1.0, abs(self.value))
        self._best = theta.copy(), self.value, 0
        self._broke: tuple[int, float, np.ndarray, np.ndarray] | None = None
        self._velocity, self._square = np.zeros_like(theta), np.zeros_like(theta)
        self._last_rate = plan.schedule.rate
        self._weights = 0.0
        self._total: np.ndarray | None = None

    def run(self, out_of_time: Callable[[], bool], reaches_gap: Callable[[np.ndarray], bool]) -> DescentEnd:
        """Step until the plan, the clock or the gap ends it."""
        while True:
            status = self._judge_point(out_of_time, reaches_gap)
            if status:
                break
            direction = self._direction()
            rate = self._rate(direction)
            self._write_row(rate)
            if rate == 0.0 or not self._take(rate, direction):
                status = "stalled"
                break
            self.steps += 1
        mean = None if self._total is None else self._total / self._weights
        return DescentEnd(status, self.steps, self.theta, self.value, self.norm, self._best, self._broke, mean)

    @property
    def steepest(self) -> np.ndarray:
        """The unit direction against the gradient."""
        return -self.gradient / self.norm if self.norm > 0.0 else np.zeros_like(self.gradient)

    def _judge_point(self, out_of_time: Callable[[], bool], reaches_gap: Callable[[np.ndarray], bool]) -> str:
        """The status where this point is the last one, else nothing."""
        if not (self.value <= self._limit and math.isfinite(self.norm)):
            return "diverged"
        if self.value < self._best[1]:
            self._best = self.theta.copy(), self.value, self.steps
        if self.norm <= self.plan.small or reaches_gap(self.theta):
            return "converged"
        if self.steps == self.plan.steps:
            return "max_iter"
        return "time_limit" if out_of_time() else ""

    def _direction(self) -> np.ndarray:
        method, gradient = self.plan.method, self.gradient
        if method == "newton":
            return self.objective.newton_step(self.theta, gradient)
        if method != "adam":
            return -gradient
        beta, beta2, epsilon = self.plan.betas
        self._velocity = beta * self._velocity + (1.0 - beta) * gradient
        self._square = beta2 * self._square + (1.0 - beta2) * gradient * gradient
        hat = self._velocity / (1.0 - beta ** (self.steps + 1))
        return -hat / (np.sqrt(self._square / (1.0 - beta2 ** (self.steps + 1))) + epsilon)

    def _rate(self, direction: np.ndarray) -> float:
        schedule = self.plan.schedule
        if not schedule.searches:
            return float(schedule.rates(self.steps + 1, np.empty(1))[0])
        # Newton's own step first; else twice the last one, so that rates can grow again.
        own = self.plan.method == "newton" or self.steps == 0
        first = schedule.rate if own else 2.0 * self._last_rate
        return search_rate(self.objective, schedule, self.theta, (self.value, self.gradient), direction, first)

    def _write_row(self, rate: float) -> None:
        if not self.every or self.steps % self.every:
            return
        if len(self.written) == self.plan.room.rows:
            self.every *= 2
            self.written = [row for row in self.written if row[0] % self.every == 0]
        self.written.append([self.steps, rate, self.value, self.norm, self.theta.copy(), self.steepest, math.nan])

    def _take(self, rate: float, direction: np.ndarray) -> bool:
        """Take the step, and look whether its decrease was sufficient; False where it does not move theta."""
        step, t = rate * direction, self.steps
        if self.plan.method == "momentum":
            step = self._velocity = self.plan.betas[0] * self._velocity + step
        self.objective.step = t + 1
        new = self.theta + step
        if np.array_equal(new, self.theta):
            return False
        before, promised = self.value, float(self.gradient @ step)
        value, gradient = self.objective.value_and_gradient(new)
        held = value <= before + 0.5 * promised + 1e-14 * (abs(before) + abs(value))
        if self.written and self.written[-1][0] == t:
            self.written[-1][-1] = float(held)
        if not held and self._broke is None:
            self._broke = t, rate, self.theta, self.gradient
        self.theta, self.value, self.gradient, self._last_rate = new, value, gradient, rate
        self.norm = float(np.linalg.norm(gradient))
        if self.plan.average and t >= self.plan.begin:
            weight = 1.0 if AVERAGES[self.plan.average] == 1 else t + 1.0
            self._total = weight * new if self._total is None else self._total + weight * new
            self._weights += weight
        return True


def search_rate(
    objective: Any,
    schedule: Schedule,
    theta: np.ndarray,
    found: tuple[float, np.ndarray],
    direction: np.ndarray,
    first: float,
) -> float:
    """The rate of a line search; 0 where no step lowers the value. ``found``: the value and the gradient at theta."""
    value, gradient = found
    if schedule.kind == "polyak":
        norm = float(np.linalg.norm(gradient))
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
    """The first step without sufficient decrease as the user sees it."""
    if broke is None:
        return None
    step, rate, theta, gradient = broke
    return Break(step, rate, largest_rate(objective, theta, gradient, rate) if method == "gd" else None)


def timer(seconds: float | None) -> Callable[[], bool]:
    """A function that says whether the time is over."""
    end = math.inf if seconds is None else now() + seconds
    return lambda: now() >= end
