"""The hinge over blocks: band, active sets, interior point. See `problems/examples/protocol`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gapless.backends.blocks import work_hinge, work_linear
from gapless.backends.blocks.examples import stack
from gapless.backends.blocks.walk import InBlocks, Tick
from gapless.problems.examples.hinge_sets import Free
from gapless.solvers.newton_system import FACTORED_COLUMNS

if TYPE_CHECKING:
    from gapless.backends.blocks.linear import BlockLinear


class BlockBand:
    """See `protocol.Band`. One reading of the rows gives all that a step needs: sum u x and the matrix of those inside."""

    summed_at_once = True

    def __init__(self, problem: BlockLinear, start: InBlocks | None) -> None:
        self.problem = problem
        self.share = problem.make(work_linear.first_shares, over=(start,))
        self.with_gram = problem.d + 1 <= FACTORED_COLUMNS
        self.z: InBlocks
        self.along: InBlocks
        self._at: tuple[Any, ...] = ()
        self._found: tuple[float, float] = (0.0, 0.0)

    def move_to(self, theta: np.ndarray, tick: Tick = None) -> None:
        problem = self.problem
        self.z = problem.scores(theta, tick) if theta.any() else problem.equal_scores(0.0)

    def find(self, steep: float) -> tuple[float, float]:
        at = (steep, self.z, self.share)
        if len(self._at) == 3 and all(a is b or a == b for a, b in zip(at, self._at)):
            return self._found
        (loss, gain, m, self._mass, combined, matrix), self.u, self.inside = self.problem.add(
            work_linear.find, steep, self.with_gram, over=(self.z, self.share), makes=2, rows=True
        )
        self.inside.known.update(count=m, gram=matrix)
        self.u.known["combined"] = combined
        self._at, self._found = at, (loss, gain)
        return self._found

    def accept(self) -> None:
        self.share = self.problem.make(work_linear.accepted, over=(self.u,))

    def mass(self) -> float:
        return self._mass

    def sides(self) -> bytes:
        return b"".join(self.problem.each(work_linear.sides, over=(self.u, self.inside)))

    def combine(self, tick: Tick = None) -> np.ndarray:
        return self.problem.combine(self.u, tick)

    def repaired(self, tick: Tick = None) -> tuple[InBlocks, np.ndarray]:
        moved = self.problem.repair(self.u)
        combined = self.problem.combine(moved, tick)
        return moved, combined - self.problem.combine(self.u)

    def look_along(self, step: np.ndarray, tick: Tick = None) -> None:
        self.along = self.problem.scores(step, tick)

    def slopes(self, steep: float, ts: Sequence[float]) -> list[tuple[float, float]]:
        over = (self.z, self.share, self.along)
        return self.problem.add(work_linear.slopes, steep, tuple(ts), over=over).tolist()

    def move(self, t: float) -> None:
        self.z = self.problem.make(work_linear.moved_scores, t, over=(self.z, self.along))


class BlockSets:
    """See `protocol.Sets`."""

    def __init__(self, problem: BlockLinear, theta: np.ndarray, u: InBlocks, tick: Tick) -> None:
        self.problem = problem
        self.alpha = problem.make(work_hinge.clipped, over=(u,))
        self.look(problem.scores(theta, tick))

    def look(self, z: InBlocks) -> None:
        self.z = z

    def guess(self) -> tuple[int, bytes]:
        found, self.lower, self.upper = self.problem.each(work_hinge.guess, over=(self.alpha, self.z), makes=2)
        self._free = [f[0] for f in found]
        return sum(self._free), b"".join(f[1] for f in found)

    @property
    def _all(self) -> tuple[InBlocks, ...]:
        return self.alpha, self.z, self.lower, self.upper

    def fix(self) -> None:
        self.alpha = self.problem.make(work_hinge.fix, over=self._all)

    def take_free(self) -> Free:
        found = self.problem.each(work_hinge.take_free, over=(self.alpha, self.lower, self.upper), rows=True)
        return Free(stack([f[0] for f in found]), *(np.concatenate([f[k] for f in found]) for k in (1, 2)))

    def set_free(self, alpha: np.ndarray) -> None:
        parts = np.split(alpha, np.cumsum(self._free)[:-1])
        over = (self.problem.walk.place(parts), self.alpha, self.lower, self.upper)
        self.alpha = self.problem.make(work_hinge.set_free, over=over)

    def combine(self, tick: Tick = None) -> np.ndarray:
        return self.problem.combine(self.problem.make(work_hinge.signed, over=(self.alpha,)), tick)

    def dual_point(self) -> InBlocks:
        return self.problem.repair(self.problem.make(work_hinge.signed, over=(self.alpha,)))

    def settled(self) -> bool:
        return all(self.problem.each(work_hinge.settled, over=self._all))


class BlockBarrier:
    """See `protocol.Barrier`."""

    def __init__(self, problem: BlockLinear, start: InBlocks | None) -> None:
        self.problem = problem
        self.at = problem.make(work_hinge.first_iterate, over=(start,))
        self.theta = np.zeros(problem.d + 1)
        self.way: InBlocks | None = None
        if start is not None:
            u = problem.repair(problem.make(work_hinge.dual_of_iterate, over=(self.at,)))
            self.theta = problem.primal_from_dual(u)
            self.at = problem.make(work_hinge.complementary, over=(problem.scores(self.theta), self.at))

    def look(self, theta: np.ndarray, tick: Tick = None) -> tuple[float, np.ndarray]:
        found, self.z, self.u = self.problem.add(
            work_hinge.look_at_iterate, theta, over=(self.at,), makes=2, rows=True, tick=tick
        )
        return found

    def weigh(self) -> InBlocks:
        self.weight = self.problem.make(work_hinge.weigh, over=(self.at,))
        return self.weight

    def right(self, centre: float | None, tick: Tick = None) -> np.ndarray:
        found, self.aims = self.problem.add(
            work_hinge.right, centre, over=(self.z, self.at, self.weight, self.way), makes=1, rows=True, tick=tick
        )
        return found

    def look_along(self, step: np.ndarray, tick: Tick = None) -> None:
        self._reach, self.way = self.problem.add(
            work_hinge.directed, step, over=(self.at, self.aims), makes=1, rows=True, tick=tick
        )

    def reach(self) -> float:
        return self._reach

    def aim(self, reach: float) -> float:
        return self.problem.add(work_hinge.aimed, reach, over=(self.at, self.way))

    def move(self, length: float) -> None:
        self.at = self.problem.make(work_hinge.moved, length, over=(self.at, self.way))
