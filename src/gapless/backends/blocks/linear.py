"""`LinearProblem` over blocks: P, D and the maps between them, from sums of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gapless import losses
from gapless.backends.blocks import work_linear as work
from gapless.backends.blocks.examples import OverBlocks, stack
from gapless.backends.blocks.hinge import BlockBand, BlockBarrier, BlockSets
from gapless.backends.blocks.offset import best_offset
from gapless.backends.blocks.walk import InBlocks, Shape, Tick, Walk
from gapless.losses.verbs import value
from gapless.problems.linear import LinearProblem, constant_feature
from gapless.problems.linear_offset import bound_offset
from gapless.problems.linear_rounding import bound_rounding


class Point:
    """Scores and the derivatives there."""

    z: InBlocks
    g: InBlocks
    h: InBlocks


class BlockLinear(OverBlocks):
    """P, D and the maps between them, for one class against the rest."""

    def __init__(self, walk: Walk, spec: Any, base: tuple[InBlocks, ...], *, shape: Shape) -> None:
        super().__init__(walk, spec, base, offset=spec.offset, shape=shape)
        self.loss: Any = losses.BY_NAME[spec.loss]
        self.constant = constant_feature(spec.offset, spec.scale)

    @cached_property
    def _facts(self) -> tuple[float, float, float, float]:
        found: tuple[float, float, float, float] = self.add(work.facts)
        self.c.known["sum"] = found[2]
        return found

    @property
    def masses(self) -> tuple[float, float]:
        return self._facts[:2]

    @property
    def one_class(self) -> bool:
        return 0.0 in self.masses

    @property
    def R2(self) -> float:
        return self._facts[3]

    # Those that need no more of a problem than its verbs.
    split: Any = LinearProblem.split
    join: Any = LinearProblem.join
    penalty: Any = LinearProblem.penalty
    penalty_along: Any = LinearProblem.penalty_along
    gradient: Any = LinearProblem.gradient
    primal: Any = LinearProblem.primal
    dual: Any = LinearProblem.dual
    gap: Any = LinearProblem.gap
    offset_bound: Any = bound_offset
    rounding: Any = bound_rounding

    def scale_costs(self, factor: float) -> BlockLinear:
        index, _, norms2 = self.base
        base = (index, self.make(work.scale_costs, factor), norms2)
        return BlockLinear(self.walk, self.spec, base, shape=self.shape)

    def sample(self, m: int, order: Any = None) -> LinearProblem:
        """A smaller problem, here, of as many rows as may come."""
        share = min(m, self.walk.most_sampled) / self.n
        found = self.each(work.sample, share, rows=True)
        y, c = (np.concatenate([f[k] for f in found]) for k in (1, 2))
        return LinearProblem(stack([f[0] for f in found]), y, c, self.loss, self.offset)

    # -- the loss ------------------------------------------------------------------------------------------------

    def new_point(self) -> Point:
        return Point()

    def loss_and_gradient(self, theta: np.ndarray, at: Point, tick: Tick = None) -> tuple[float, np.ndarray]:
        found, at.z, at.g, at.h = self.add(work.look, theta, makes=3, rows=True, tick=tick)
        loss, gradient, total, low, high = found
        at.h.known.update(sum=total, ends=(low, high))
        return loss, gradient

    def slopes_along(self, at: Point, along: InBlocks, ts: Sequence[float]) -> list[tuple[float, float]]:
        return self.add(work.slopes_along, tuple(ts), over=(at.z, along)).tolist()

    def loss_sum(self, z: InBlocks) -> float:
        return self._knows(z, f"loss {self.spec}", lambda: self.add(work.loss_sum, over=(z,)))

    def primal_at_zero(self) -> float:
        return self.sum(self.c) * value(self.loss, 0.0, 1.0)

    # -- the dual ------------------------------------------------------------------------------------------------

    def _dual_sums(self, u: InBlocks) -> tuple[float, float, float]:
        conjugate, sizes, total = self._knows(u, "dual", lambda: self.add(work.dual_sums, over=(u,)))
        u.known["sum"] = total
        return conjugate, sizes, total

    def conjugate_sum(self, u: InBlocks) -> float:
        return self._dual_sums(u)[0]

    def conjugate_sizes(self, u: InBlocks) -> float:
        return self._dual_sums(u)[1]

    def rounding_sums(self, theta: np.ndarray, z: InBlocks, u: InBlocks, unit: float) -> tuple[float, float, float]:
        return self.add(work.rounding_sums, theta, unit, over=(z, u))

    def dual_at(self, at: Point, out: Any = None) -> InBlocks:
        return self.repair(self.make(work.negative, over=(at.g,)))

    def dual_from_primal(self, theta: np.ndarray, z: InBlocks | None = None) -> InBlocks:
        return self.repair(self.make(work.dual_of_scores, over=(self.scores(theta) if z is None else z,)))

    def primal_from_dual(self, u: InBlocks, combined: Any = None, near: float | None = None) -> np.ndarray:
        theta = self.combine(u) if combined is None else combined.copy()
        if self.free:
            theta[-1] = 0.0
            theta[-1] = self.best_offset(self.scores(theta), near)
        return theta

    def scale_dual(self, u: InBlocks) -> InBlocks:
        curvature = self.loss.conjugate_curvature
        if curvature is None:
            return u
        square = 2.0 * self.penalty(self.combine(u))
        squares, along = self.add(work.dual_norms, over=(u,))
        square += squares * curvature
        share = min(1.0, max(0.0, along / square)) if square > 0.0 else 1.0
        return u if share == 1.0 else self.make(work.multiple, share, over=(u,))

    def repair(self, u: InBlocks, out: Any = None) -> InBlocks:
        """As `LinearProblem.repair`; a round for the box, and one for each time that the sum is corrected."""
        (r, down, up), moved = self.add(work.pull_into_box, over=(u,), makes=1)
        for _ in range(3 if self.free else 0):
            inside, room = down if r > 0.0 else up
            inside_only = inside >= abs(r)
            total = inside if inside_only else room
            if r == 0.0 or total <= 0.0:
                break
            share = min(1.0, abs(r) / total)
            (r, down, up), moved = self.add(
                work.move_towards_balance, r > 0.0, inside_only, share, over=(moved,), makes=1
            )
        moved.known["sum"] = r
        return moved

    def derivatives_in_offset(self, z: InBlocks, b: float) -> tuple[float, float]:
        return self.add(work.derivatives_in_offset, b, over=(z,))[:2]

    def best_offset(self, z: InBlocks, near: float | None = None) -> float:
        return best_offset(self, z, near)

    # -- the hinge -----------------------------------------------------------------------------------------------

    def new_band(self, start: InBlocks | None = None, by_changes: bool = False) -> BlockBand:
        return BlockBand(self, start)

    def new_barrier(self, start: InBlocks | None = None) -> BlockBarrier:
        return BlockBarrier(self, start)

    def count_free(self, u: InBlocks) -> int:
        return self.add(work.count_free, over=(u,))

    def new_sets(self, theta: np.ndarray, u: InBlocks, tick: Tick = None) -> BlockSets:
        return BlockSets(self, theta, u, tick)
