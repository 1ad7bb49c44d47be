"""The band of the hinge in numpy: all examples at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gapless.problems.examples.hinge_band import HingeBand


class NumpyHingeBand(HingeBand):
    """Scores, shares, multipliers, and who is inside."""

    def find(self, steep: float) -> tuple[float, float]:
        y, c = self.problem.y, self.problem.c
        margin = 1.0 - y * self.z
        part = self.share + margin * steep
        alpha = c * np.minimum(np.maximum(part, 0.0), 1.0)
        self.u, self.inside = alpha * y, (part > 0.0) & (part < 1.0)
        return float((c * np.maximum(margin, 0.0)).sum()), float(alpha.sum())

    def slopes(self, steep: float, ts: Sequence[float]) -> list[tuple[float, float]]:
        y, along, found = self.problem.y, self.along, []
        heavy = self.problem.c * along
        for t in ts:
            part = self.share + (1.0 - y * (self.z + t * along)) * steep
            within = np.minimum(np.maximum(part, 0.0), 1.0)
            found.append((-float((heavy * within) @ y), float((heavy * along)[part == within].sum()) * steep))
        return found

    def move(self, t: float) -> None:
        self.z += t * self.along
