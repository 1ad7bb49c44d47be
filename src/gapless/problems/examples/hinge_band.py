"""The band of the hinge over rows in memory: multipliers, who is inside, and slopes along a step. See `protocol.Band`.

u = c clip(share + (1 - yz) steep, 0, 1) y           share = alpha/c, steep = 1/width;  inside: strictly between 0 and 1
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gapless._compile.jit import compiled
from gapless.problems.linear_sums import BLOCK, n_blocks, share_blocks

if TYPE_CHECKING:
    from gapless.problems.linear import LinearProblem

Tick = Callable[[], None] | None


class Shares(NamedTuple):
    """What the multipliers are made of, at any scores."""

    y: np.ndarray
    c: np.ndarray
    share: np.ndarray
    steep: float


class HingeBand:
    """Scores z, the shares, and the multipliers u that follow; who is inside; and the scores of a step.

    Few multipliers change from step to step. ``by_changes``: only their rows are read for their sum, and every tenth time all
    rows, so that rounding does not add up.
    """

    few_rows = 1 << 18  #: examples up to which one more vector of their length is negligible memory: 2 MB

    def __init__(self, problem: LinearProblem, start: np.ndarray | None, by_changes: bool) -> None:
        n = problem.n
        self.problem = problem
        self.share = np.zeros(n) if start is None else np.clip(start * problem.y / problem.c, 0.0, 1.0)
        self.u, self.inside = np.zeros(n), np.zeros(n, dtype=bool)
        self.z, self.along = np.empty(n), np.empty(n)
        self._summed = np.zeros(n) if by_changes else None
        self._sum = np.zeros(problem.d + 1)
        self._times = 0
        self.summed_at_once = False  #: the last sum was over all of u

    def _shares(self, steep: float) -> Shares:
        return Shares(self.problem.y, self.problem.c, self.share, steep)

    # -- at the scores -------------------------------------------------------------------------------------------

    def move_to(self, theta: np.ndarray, tick: Tick = None) -> None:
        """The scores of theta."""
        if theta.any():
            self.z = self.problem.scores(theta, tick)
        else:
            self.z[:] = 0.0

    def find(self, steep: float) -> tuple[float, float]:
        """Compute the multipliers, and who is inside; the loss, and sum u y."""
        shares, z, u, inside, sums = (
            self._shares(steep),
            self.z,
            self.u,
            self.inside,
            np.empty((n_blocks(self.z.size), 2)),
        )
        share_blocks(lambda first, last: _find_multipliers(shares, z, u, inside, sums, first, last), len(sums))
        loss, gain = sums.sum(axis=0).tolist()
        return loss, gain

    def accept(self) -> None:
        """The multipliers become the shares."""
        np.multiply(self.u, self.problem.y, out=self.share)
        self.share /= self.problem.c

    def mass(self) -> float:
        """The sum of c over the examples inside."""
        return self.problem.mass(self.inside)

    def sides(self) -> bytes:
        """Which examples are inside, and which of the others at 0: equal where these are."""
        return np.packbits(self.inside).tobytes() + np.packbits(self.u == 0.0).tobytes()

    def combine(self, tick: Tick = None) -> np.ndarray:
        """sum u x"""
        self._times += 1
        self.summed_at_once = self._summed is None or self._times == 1 or self._times % 10 == 0
        if self._summed is None:
            return self.problem.combine(self.u, tick)
        blocks, u, summed = n_blocks(self.u.size), self.u, self._summed

        def examples(first: int, last: int) -> slice:
            return slice(first * BLOCK, last * BLOCK)

        def subtract(first: int, last: int) -> None:
            part = examples(first, last)
            np.subtract(u[part], summed[part], out=summed[part])

        if self._times % 10:
            share_blocks(subtract, blocks)
            self._sum = self._sum + self.problem.combine(summed, tick)
        else:
            self._sum = self.problem.combine(u, tick)
        share_blocks(lambda first, last: np.copyto(summed[examples(first, last)], u[examples(first, last)]), blocks)
        return self._sum

    def repaired(self, tick: Tick = None) -> tuple[np.ndarray, np.ndarray]:
        """The multipliers moved onto sum u = 0, and the sum of the rows of what moved. Only examples inside do."""
        problem, u = self.problem, self.u
        moved = problem.repair(u, out=self.along)
        kept = moved.copy() if problem.n <= self.few_rows else None
        change = problem.combine(np.subtract(moved, u, out=moved), tick)
        # Made again where a copy would take memory.
        return (problem.repair(u, out=self.along) if kept is None else kept), change

    # -- along a step --------------------------------------------------------------------------------------------

    def look_along(self, step: np.ndarray, tick: Tick = None) -> None:
        """The scores of the step."""
        self.along = self.problem.scores(step, tick, out=self.along)

    def slopes(self, steep: float, ts: Sequence[float]) -> list[tuple[float, float]]:
        """Slope and curvature of the data's part along the step, at each length t."""
        shares, z, along, sums = self._shares(steep), self.z, self.along, np.empty((n_blocks(self.z.size), 2))
        found = []
        for t in ts:
            share_blocks(lambda first, last: _add_slopes(shares, z, along, t, sums, first, last), len(sums))  # noqa: B023
            slope, curvature = sums.sum(axis=0).tolist()
            found.append((slope, curvature))
        return found

    def move(self, t: float) -> None:
        """Go on to the scores z + t along."""
        z, along = self.z, self.along
        share_blocks(lambda first, last: _move_scores(z, along, t, first, last), n_blocks(z.size))


@compiled(vectorise=True)
def _move_scores(z, along, t, first, last):
    for i in range(first * BLOCK, min(z.size, last * BLOCK)):
        z[i] += t * along[i]


@compiled(vectorise=True)
def _find_multipliers(shares, z, u, inside, sums, first, last):
    y, c, share, steep = shares
    # Written first and summed after, by views of a block: see `differentiate_along` in problems/linear_sums.
    for k in range(first, last):
        start, stop = k * BLOCK, min(z.size, (k + 1) * BLOCK)
        ys, zs, cs, shares_of = y[start:stop], z[start:stop], c[start:stop], share[start:stop]
        us, within = u[start:stop], inside[start:stop]
        for i in range(zs.size):
            part = shares_of[i] + (1.0 - ys[i] * zs[i]) * steep
            us[i] = cs[i] * min(max(part, 0.0), 1.0) * ys[i]
            within[i] = (part > 0.0) & (part < 1.0)
        loss, gain = 0.0, 0.0
        for i in range(zs.size):
            gain += us[i] * ys[i]
            loss += cs[i] * max(1.0 - ys[i] * zs[i], 0.0)
        sums[k, 0] = loss
        sums[k, 1] = gain


@compiled(vectorise=True)
def _add_slopes(shares, z, along, t, sums, first, last):
    y, c, share, steep = shares
    for k in range(first, last):
        start, stop = k * BLOCK, min(z.size, (k + 1) * BLOCK)
        ys, zs, cs, shares_of, steps = y[start:stop], z[start:stop], c[start:stop], share[start:stop], along[start:stop]
        data, curvature = 0.0, 0.0
        for i in range(zs.size):
            part = shares_of[i] + (1.0 - ys[i] * (zs[i] + t * steps[i])) * steep
            within = min(max(part, 0.0), 1.0)
            heavy = cs[i] * steps[i]
            data -= heavy * within * ys[i]
            curvature += heavy * steps[i] * (1.0 if part == within else 0.0)
        sums[k, 0] = data
        sums[k, 1] = curvature * steep
