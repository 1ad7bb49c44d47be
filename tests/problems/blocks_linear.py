"""`LinearProblem` over rows in blocks. See `blocks`."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from gapless.problems.linear import LinearProblem
from gapless.problems.linear_offset import bound_offset
from gapless.problems.linear_rounding import bound_rounding
from tests.problems.blocks import InBlocks, OverBlocks, Points, add, stack
from tests.problems.blocks_hinge import BlockBand, BlockBarrier, BlockSets


class BlockLinear(OverBlocks):
    """`LinearProblem` over blocks."""

    def __init__(self, parts: list[LinearProblem]) -> None:
        super().__init__(parts)
        self.loss = parts[0].loss
        self.masses = tuple(math.fsum(p.masses[k] for p in parts) for k in (0, 1))
        self.one_class = 0.0 in self.masses

    @classmethod
    def cut(cls, X, y, c, loss, offset, blocks, scale=1.0):
        ends = np.linspace(0, len(y), blocks + 1).astype(int)
        parts = [slice(a, b) for a, b in pairwise(ends)]
        return cls([LinearProblem.build(X[p], y[p], c[p], loss, offset, scale) for p in parts])

    split, join = LinearProblem.split, LinearProblem.join
    penalty, penalty_along, gradient = LinearProblem.penalty, LinearProblem.penalty_along, LinearProblem.gradient
    primal, dual, gap = LinearProblem.primal, LinearProblem.dual, LinearProblem.gap
    primal_from_dual, offset_bound, rounding = LinearProblem.primal_from_dual, bound_offset, bound_rounding

    def scale_costs(self, factor):
        return BlockLinear([p.scale_costs(factor) for p in self.parts])

    def sample(self, m, order=None):
        parts = [p.sample(max(1, m * p.n // self.n)) for p in self.parts]
        y, c = (np.concatenate([getattr(p, name) for p in parts]) for name in ("y", "c"))
        return LinearProblem(stack([p.rows for p in parts]), y, c, self.loss, self.offset)

    # the loss
    def new_point(self):
        return Points(self.every("new_point"))

    def loss_and_gradient(self, theta, at, tick=None):
        self.passes += 1
        found = [p.loss_and_gradient(theta, a, tick) for p, a in zip(self.parts, at.parts)]
        return math.fsum(f[0] for f in found), add(f[1] for f in found)

    def slopes_along(self, at, along, ts):
        found = [p.slopes_along(a, x, ts) for p, a, x in zip(self.parts, at.parts, along.parts)]
        return add(np.array(f) for f in found).tolist()

    def loss_sum(self, z):
        return math.fsum(p.loss_sum(x) for p, x in self.walk(z))

    def primal_at_zero(self):
        return math.fsum(self.every("primal_at_zero"))

    def conjugate_sum(self, u):
        return math.fsum(p.conjugate_sum(x) for p, x in self.walk(u))

    def conjugate_sizes(self, u):
        return math.fsum(p.conjugate_sizes(x) for p, x in self.walk(u))

    def rounding_sums(self, theta, z, u, unit):
        found = [p.rounding_sums(theta, x, v, unit) for p, x, v in self.walk(z, u)]
        return tuple(math.fsum(f[k] for f in found) for k in range(3))

    # the dual point
    def dual_at(self, at, out=None):
        return self.repair(InBlocks(-a.g for a in at.parts))

    def dual_from_primal(self, theta, z=None):
        z = self.scores(theta) if z is None else z
        return self.repair(InBlocks(-p.derivatives(x)[0] for p, x in self.walk(z)))

    def scale_dual(self, u):
        return u

    def repair(self, u, out=None):
        if not self.loss.of_margin:
            mean = self.sum(u) / self.n if self.free else 0.0
            return InBlocks(x - mean for x in u.parts)
        out = InBlocks(p.pull_into_box(x, np.empty(p.n)) for p, x in self.walk(u))
        for _ in range(3 if self.free else 0):
            r = self.sum(out)
            rooms = [p.room_to_move(x, r > 0.0) for p, x in self.walk(out)]
            inside, room = (math.fsum(each[k] for each in rooms) for k in (0, 1))
            inside_only = inside >= abs(r)
            total = inside if inside_only else room
            if r == 0.0 or total <= 0.0:
                break
            for p, x in self.walk(out):
                p.move_towards_balance(x, r > 0.0, inside_only, min(1.0, abs(r) / total))
        return out

    def best_offset(self, z, near=None):
        """The slope in b rises, and changes its sign at the best one: by halving, to the last bit."""

        def slope(b):
            if self.loss.smooth:
                return math.fsum(p.derivatives_in_offset(x, b)[0] for p, x in self.walk(z))
            below = math.fsum(p.mass_below(p.y - x, b) for p, x in self.walk(z))
            return below - self.masses[0]

        low, high = -1.0, 1.0
        while slope(low) > 0.0:
            low *= 2.0
        while slope(high) < 0.0:
            high *= 2.0
        while low < 0.5 * (low + high) < high:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if slope(middle) < 0.0 else (low, middle)
        return high

    # the hinge
    def new_band(self, start=None, by_changes=False):
        return BlockBand(self, start, by_changes)

    def new_barrier(self, start=None):
        return BlockBarrier(self, start)

    def count_free(self, u):
        return sum(p.count_free(x) for p, x in self.walk(u))

    def new_sets(self, theta, u, tick=None):
        return BlockSets(self, theta, u, tick)
