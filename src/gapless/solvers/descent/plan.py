"""How a descent goes: its method, its rates, its order of examples, its average, its trace, and where it ends."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gapless.solvers.descent.schedules import Schedule

#: How iterates count in an average, for the compiled steps: not at all, all alike, or the t-th t times.
AVERAGES = {None: 0, "uniform": 1, "linear": 2, "tail": 1}

#: A value above the start's by 1e8 times its size rises without end: the descent ends as diverged.
DIVERGED_FACTOR = 1e8


class TraceRoom(NamedTuple):
    """A row is written at every ``every``-th step (0: none) until ``rows`` are full; then every second one goes."""

    every: int = 0
    rows: int = 0
    why: str = ""  # why not more rows


class DescentPlan(NamedTuple):
    """A descent, but for its objective and its start; ``steps`` are the most that it makes."""

    method: str
    schedule: Schedule
    steps: int
    size: int = 1  # examples a step
    visits: Any = "shuffled"
    seed: int = 0
    first_order: np.ndarray | None = None  # an order of the examples that does not depend on theirs
    average: str | None = None
    room: TraceRoom = TraceRoom()
    literal: bool = False
    betas: tuple[float, float, float] = (0.9, 0.999, 1e-8)
    small: float = 0.0  # a gradient as short as this ends the descent

    @property
    def begin(self) -> int:
        """The first step whose iterate counts in the average."""
        return self.steps // 2 if self.average == "tail" else 0

    def examples_after(self, steps: int, n: int) -> int:
        """The gradients of single examples that so many steps compute; an epoch's last batch has the rest of the n examples."""
        epochs, rest = divmod(steps, -(-n // self.size))
        return epochs * n + min(n, rest * self.size)


class DescentEnd(NamedTuple):
    """Where the steps ended, and the points that the answer is chosen from."""

    status: str
    steps: int
    theta: np.ndarray
    value: float
    norm: float  # of the gradient
    best: tuple[np.ndarray, float, int]  # the lowest point seen, its value and its step
    broke: tuple[int, float, np.ndarray, np.ndarray] | None  # step, rate, point, gradient of the first small decrease
    mean: np.ndarray | None  # the average of the iterates
    u: np.ndarray | None = None  # a dual point that the steps kept
