"""What a solver gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from gapless.numbers import relative_gap

#: How a fit ends; `errors.STATUSES` has the sentence of each.
Status = Literal["converged", "max_iter", "time_limit", "stalled", "interrupted", "infeasible", "not_finite"]
#: The solvers that go down by gradients.
DESCENTS = ("gd", "sgd", "minibatch", "momentum", "adam")


@dataclass(frozen=True)
class Event:
    """One look at the state of a fit."""

    pass_: int
    seconds: float
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        return relative_gap(self.primal, self.dual)


@dataclass(frozen=True, eq=False)
class Solution:
    """A primal point theta = (w, v), a dual point u, and how they were found. ``w`` and ``s`` follow from theta."""

    theta: np.ndarray
    u: np.ndarray
    status: Status
    n_iter: int
    seconds: float
    solver: str
    history: list[Event] = field(default_factory=list)
    scores: np.ndarray | None = None  # of theta, where they are known
    combined: np.ndarray | None = None  # sum u x, the constant feature last, where it is known; u then needs no repair
    off: np.ndarray | None = None  # what these can be off by, beyond float64, where they do not count
