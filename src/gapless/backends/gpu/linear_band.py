"""The band of the hinge on the card: all examples at once. See `problems/examples/protocol`, `Band`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gapless.backends.gpu import sums

if TYPE_CHECKING:
    from gapless.backends.gpu.linear import CardLinear

Tensor = Any
Tick = Callable[[], None] | None


class CardBand:
    """Scores, shares, multipliers, and who is inside."""

    summed_at_once = True

    def __init__(self, problem: CardLinear, start: Tensor | None) -> None:
        self.problem = problem
        self.share = problem.zero_dual() if start is None else (start * problem.y / problem.c).clamp(0.0, 1.0)
        self.z = problem.zero_dual()
        self.u = problem.zero_dual()
        self.along = problem.zero_dual()
        self.inside = self.u != 0.0
        self._asked = 0

    def move_to(self, theta: np.ndarray, tick: Tick = None) -> None:
        self.z = self.problem.scores(theta, tick) if theta.any() else self.problem.zero_dual()

    def find(self, steep: float) -> tuple[float, float]:
        y, c = self.problem.y, self.problem.c
        margin = 1.0 - y * self.z
        part = self.share + margin * steep
        alpha = c * part.clamp(0.0, 1.0)
        self.u, self.inside = alpha * y, (part > 0.0) & (part < 1.0)
        found = torch.stack([sums.total(c * margin.clamp(min=0.0)), sums.total(alpha)]).tolist()
        return found[0], found[1]

    def accept(self) -> None:
        self.share = self.u * self.problem.y / self.problem.c

    def mass(self) -> float:
        return self.problem.sum(self.problem.masked(self.problem.c, self.inside, 1.0))

    def sides(self) -> bytes:
        """Never equal: there are no active sets here to be guessed."""
        self._asked += 1
        return str(self._asked).encode()

    def combine(self, tick: Tick = None) -> np.ndarray:
        return self.problem.combine(self.u, tick)

    def repaired(self, tick: Tick = None) -> tuple[Tensor, np.ndarray]:
        moved = self.problem.repair(self.u)
        return moved, self.problem.combine(moved - self.u, tick)

    def look_along(self, step: np.ndarray, tick: Tick = None) -> None:
        self.along = self.problem.scores(step, tick)

    def slopes(self, steep: float, ts: Sequence[float]) -> list[tuple[float, float]]:
        y, along, found = self.problem.y, self.along, []
        heavy = self.problem.c * along
        for t in ts:
            part = self.share + (1.0 - y * (self.z + t * along)) * steep
            within = part.clamp(0.0, 1.0)
            bent = torch.where(part == within, heavy * along, torch.zeros_like(heavy))
            pair = torch.stack([sums.total(heavy * within * y), sums.total(bent)]).tolist()
            found.append((-pair[0], pair[1] * steep))
        return found

    def move(self, t: float) -> None:
        self.z = self.z + t * self.along
