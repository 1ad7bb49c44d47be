"""The iterates of interior point for the hinge over rows in memory: alpha, s, xi and their steps. See `protocol.Barrier`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gapless.problems.linear import LinearProblem

Tick = Callable[[], None] | None


class HingeBarrier:
    """0 < alpha < c, its slack t = c - alpha, and s, xi > 0 with y z - 1 + xi = s in the end."""

    t: np.ndarray
    d_alpha: np.ndarray
    d_s: np.ndarray
    d_xi: np.ndarray

    def __init__(self, problem: LinearProblem, start: np.ndarray | None) -> None:
        n, c, y = problem.n, problem.c, problem.y
        self.problem = problem
        self.theta = np.zeros(problem.d + 1)
        if start is None:
            self.alpha, self.s, self.xi = 0.5 * c, np.full(n, 0.5), np.full(n, 1.5)
            return
        # A warm start must not sit on the boundary: 5 % of the box away from it, complementary to the margins it gives.
        self.alpha = np.clip(start * y, 0.05 * c, 0.95 * c)
        self.theta = problem.primal_from_dual(problem.repair(self.alpha * y))
        slack = y * problem.scores(self.theta) - 1.0
        self.s, self.xi = np.maximum(slack, 0.0) + 0.1, np.maximum(-slack, 0.0) + 0.1

    def look(self, theta: np.ndarray, tick: Tick = None) -> tuple[float, np.ndarray]:
        """The scores z of theta and the dual point u; alpha s + t xi, summed, and sum u x."""
        problem = self.problem
        self.t = problem.c - self.alpha
        self.z = problem.scores(theta, tick)
        self.u = self.alpha * problem.y
        combined = problem.combine(self.u, tick)
        return float(self.alpha @ self.s + self.t @ self.xi), combined

    def weigh(self) -> np.ndarray:
        """The weights of the step's system."""
        self.residual = self.problem.y * self.z - 1.0 + self.xi - self.s
        self.weight = 1.0 / (self.s / self.alpha + self.xi / self.t)
        return self.weight

    def right(self, centre: float | None, tick: Tick = None) -> np.ndarray:
        """The data's part of the right-hand side: straight down (None), or to ``centre``, corrected by the last step."""
        alpha, t, s, xi = self.alpha, self.t, self.s, self.xi
        # The changes that alpha s and t xi should make.
        if centre is None:
            self.r1, self.r2 = -alpha * s, -t * xi
        else:
            self.r1 = centre - alpha * s - self.d_alpha * self.d_s
            self.r2 = centre - t * xi + self.d_alpha * self.d_xi
        self.rho = -self.residual - self.r2 / t + self.r1 / alpha
        return self.problem.combine(self.weight * self.rho * self.problem.y, tick)

    def look_along(self, step: np.ndarray, tick: Tick = None) -> None:
        """The steps of alpha, s and xi that go with a step of theta."""
        problem = self.problem
        self.d_alpha = self.weight * (self.rho - problem.y * problem.scores(step, tick))
        self.d_s = (self.r1 - self.s * self.d_alpha) / self.alpha
        self.d_xi = (self.r2 + self.xi * self.d_alpha) / self.t

    def reach(self) -> float:
        """The longest step that keeps alpha, t, s and xi at 0 or above."""
        ways = ((self.alpha, self.d_alpha), (self.t, -self.d_alpha), (self.s, self.d_s), (self.xi, self.d_xi))
        return min(_reach(x, dx) for x, dx in ways)

    def aim(self, reach: float) -> float:
        """alpha s + t xi after such a step, summed."""
        down = (self.alpha + reach * self.d_alpha) @ (self.s + reach * self.d_s)
        return float(down + (self.t - reach * self.d_alpha) @ (self.xi + reach * self.d_xi))

    def move(self, length: float) -> None:
        """Take the step."""
        alpha = np.clip(self.alpha + length * self.d_alpha, 1e-300, None)
        self.alpha = np.minimum(alpha, self.problem.c * (1.0 - 2.0**-52))
        self.s = np.maximum(self.s + length * self.d_s, 1e-300)
        self.xi = np.maximum(self.xi + length * self.d_xi, 1e-300)


def _reach(x: np.ndarray, dx: np.ndarray) -> float:
    """The longest step that keeps x >= 0."""
    falling = dx < 0.0
    return float(np.min(-x[falling] / dx[falling])) if falling.any() else np.inf
