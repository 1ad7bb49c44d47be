"""The active sets of the hinge over rows in memory: who is at 0, at c, or free. See `protocol.Sets`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gapless import rows as R
from gapless.problems.linear_sums import SLICE

if TYPE_CHECKING:
    from gapless.problems.linear import LinearProblem

Tick = Callable[[], None] | None


class Free(NamedTuple):
    """The free examples, at hand: rows, signs, alpha."""

    rows: R.Rows
    y: np.ndarray
    alpha: np.ndarray


class HingeSets:
    """alpha = uy, the margins of a point, and the sets that these suggest."""

    noise_share = 1e-10  #: distances to a bound, as shares of c, that count as none

    def __init__(self, problem: LinearProblem, theta: np.ndarray, u: np.ndarray, tick: Tick = None) -> None:
        self.problem = problem
        self.alpha = np.clip(u * problem.y, 0.0, problem.c)
        self.look(problem.scores(theta, tick))

    def look(self, z: np.ndarray) -> None:
        """The margins of a point with the scores z."""
        self.margin = self.problem.y * z

    def guess(self) -> tuple[int, bytes]:
        """Sort the examples into the sets; how many are free, and what is equal where the sets are."""
        # alpha/c against the distance to the margin: both are of order 1, and at the optimum one of the two is 0.
        predicted = self.alpha / self.problem.c - (self.margin - 1.0)
        self.lower, self.upper = predicted <= self.noise_share, predicted >= 1.0 - self.noise_share
        self.free = np.flatnonzero(~(self.lower | self.upper))
        return self.free.size, np.packbits(self.lower).tobytes() + np.packbits(self.upper).tobytes()

    def fix(self) -> None:
        """alpha = 0 and alpha = c where the sets say so."""
        self.alpha[self.lower], self.alpha[self.upper] = 0.0, self.problem.c[self.upper]

    def take_free(self) -> Free:
        return Free(R.take_rows(self.problem.rows, self.free), self.problem.y[self.free], self.alpha[self.free])

    def set_free(self, alpha: np.ndarray) -> None:
        self.alpha[self.free] = alpha

    def combine(self, tick: Tick = None) -> np.ndarray:
        """sum u x, whether alpha is in its box or not."""
        return self.problem.combine(self.alpha * self.problem.y, tick)

    def dual_point(self) -> np.ndarray:
        """u, with alpha pulled into its box."""
        return self.problem.repair(np.clip(self.alpha, 0.0, self.problem.c) * self.problem.y)

    def settled(self) -> bool:
        """Whether each example is where its margin and its alpha put it, up to rounding."""
        c, alpha, margin, free = self.problem.c, self.alpha, self.margin, self.free
        noise, share = 1e-9 * np.maximum(1.0, np.abs(margin).max(initial=0.0)), self.noise_share
        return bool(
            np.all(margin[self.lower] >= 1.0 - noise)
            and np.all(margin[self.upper] <= 1.0 + noise)
            and np.all(np.abs(margin[free] - 1.0) <= noise)
            and np.all((alpha[free] >= -share * c[free]) & (alpha[free] <= (1.0 + share) * c[free]))
        )


def count_free(problem: LinearProblem, u: np.ndarray) -> int:
    """The examples strictly inside their box; in slices: where this is asked a fit needs the most memory."""
    inside = 0
    for start in range(0, problem.n, SLICE):
        part = slice(start, start + SLICE)
        inside += int(np.count_nonzero((u[part] != 0.0) & (np.abs(u[part]) < problem.c[part])))
    return inside
