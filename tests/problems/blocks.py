"""Rows held as a list of blocks that are walked in order: a third implementation of the verbs, beside kernels and numpy.

Each block is a problem of its own over rows in memory; what is asked of all examples is the sum of what the blocks answer.
A handle is a list with an entry for each block, and cannot be made into an array.
"""

from __future__ import annotations

import math
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np

from gapless import rows as R
from gapless.problems.examples.over_rows import Taken
from gapless.problems.multinomial import Multinomial


class InBlocks:
    """A vector with an entry for each example, in parts: it knows its problem's blocks, and no array."""

    def __init__(self, parts: Any) -> None:
        self.parts = list(parts)

    def copy(self) -> InBlocks:
        return InBlocks(part.copy() for part in self.parts)

    def __array__(self, *args: Any, **more: Any) -> np.ndarray:
        raise AssertionError("a solver made an array of a vector that stays with the rows")

    def __len__(self) -> int:
        raise AssertionError("a solver asked how long a vector is")


class Points(InBlocks):
    """Points of the blocks, and the vectors that they are made of."""

    z, g, h = (property(lambda self, name=name: InBlocks(getattr(p, name) for p in self.parts)) for name in "zgh")


def add(parts: Any) -> Any:
    """The sum in the order of the blocks."""
    return reduce(np.add, parts)


class OverBlocks:
    """The verbs that problems of one and of several scores have in common."""

    one_by_one = False
    steps_at_once = 33
    sums_like_combine = False
    base_length = 0.0

    def __init__(self, parts: list[Any]) -> None:
        self.parts, self.passes = parts, 0
        first = parts[0]
        self.n, self.d, self.constant, self.free = sum(p.n for p in parts), first.d, first.constant, first.free
        self.sparse, self.c = first.sparse, InBlocks(p.c for p in parts)
        self.offset = first.offset
        self.stored = self.pass_stored = sum(p.stored for p in parts)
        self.curve_cost = sum(p.curve_cost for p in parts)
        self.R2 = max(p.R2 for p in parts)
        self.sum_length = max(p.sum_length for p in parts) + len(parts)

    def walk(self, *vectors: Any) -> Any:
        """The blocks in their order, each with its part of the vectors (None for None)."""
        lists = [[None] * len(self.parts) if v is None else v.parts for v in vectors]
        return zip(self.parts, *lists, strict=True)

    def every(self, verb: str, *args: Any) -> list[Any]:
        return [getattr(p, verb)(*args) for p in self.parts]

    def gram_cost(self, m):
        return self.parts[0].gram_cost(m)

    def use_fast_copy(self, large=None, many=True):
        pass

    def new_vector(self):
        return InBlocks(self.every("new_vector"))

    def equal_scores(self, z):
        return InBlocks(self.every("equal_scores", z))

    def zero_dual(self):
        return InBlocks(self.every("zero_dual"))

    def sum(self, v):
        return math.fsum(float(x.sum()) for x in v.parts)

    def count(self, v):
        return sum(np.count_nonzero(x) for x in v.parts)

    def above(self, v, share):
        top = max(x.max(initial=0.0) for x in v.parts)
        return InBlocks(x > share * top for x in v.parts)

    def masked(self, weights, inside, scale):
        return InBlocks(p.masked(w, i, scale) for p, w, i in self.walk(weights, inside))

    def weigh_norms2(self, weights):
        return math.fsum(p.weigh_norms2(w) for p, w in self.walk(weights))

    def combine(self, u, tick=None):
        self.passes += 1
        return add(p.combine(x, tick) for p, x in self.walk(u))

    def curve(self, weights, v, tick=None):
        self.passes += 1
        return add(p.curve(w, v, tick) for p, w in self.walk(weights))

    def squares(self, weights, tick=None):
        return add(p.squares(w, tick) for p, w in self.walk(weights))

    def gram(self, weights, inside=None, tick=None, *, single=False):
        self.passes += 1
        return add(p.gram(w, i, tick, single=single) for p, w, i in self.walk(weights, inside))

    def gram_of_sample(self, weights, size, tick=None, *, single=False):
        found = [p.gram_of_sample(w, max(1, size * p.n // self.n), tick, single=single) for p, w in self.walk(weights)]
        return add(f[0] for f in found), math.fsum(f[1] for f in found)

    def take(self, weights, inside):
        found = [p.take(w, i) for p, w, i in self.walk(weights, inside)]
        starts = np.cumsum([0, *(p.n for p in self.parts)])
        numbers = np.concatenate([f.numbers + start for f, start in zip(found, starts)])
        assert numbers.size <= self.d, "fewer examples than features come to a solver"
        return Taken(stack([f.rows for f in found]), np.concatenate([f.weights for f in found]), numbers)

    def scores(self, theta, tick=None, out=None):
        self.passes += 1
        return InBlocks(p.scores(theta, tick) for p in self.parts)


def stack(rows: list[Any]) -> R.Rows:
    return R.as_rows(np.vstack([r.values for r in rows]), rows[0].constant)


class BlockSoftmax(OverBlocks):
    """`Multinomial` over blocks."""

    def __init__(self, parts: list[Multinomial]) -> None:
        super().__init__(parts)
        self.K, self.class_weights = parts[0].K, add(p.class_weights for p in parts)

    @classmethod
    def cut(cls, X, y, c, K, offset, blocks):
        ends = np.linspace(0, len(y), blocks + 1).astype(int)
        parts = [slice(a, b) for a, b in pairwise(ends)]
        return cls([Multinomial.build(X[p], y[p], c[p], K, offset) for p in parts])

    split, penalty, penalty_along = Multinomial.split, Multinomial.penalty, Multinomial.penalty_along
    gradient, primal, dual, gap = Multinomial.gradient, Multinomial.primal, Multinomial.dual, Multinomial.gap
    offset_bound, rounding = Multinomial.offset_bound, Multinomial.rounding

    def new_point(self):
        return InBlocks(self.every("new_point"))

    def move_to(self, at, theta, tick=None):
        self.passes += 1
        return math.fsum(p.move_to(a, theta, tick) for p, a in self.walk(at))

    def slopes_along(self, at, along, ts):
        return add(np.array(p.slopes_along(a, x, ts)) for p, a, x in self.walk(at, along)).tolist()

    def move(self, at, along, t):
        return math.fsum(p.move(a, x, t) for p, a, x in self.walk(at, along))

    def bends(self, at, k, j):
        return InBlocks(p.bends(a, k, j) for p, a in self.walk(at))

    def mean_bends(self, at):
        return InBlocks(p.mean_bends(a) for p, a in self.walk(at))

    def shares(self, at):
        assert self.n <= self.d, "fewer examples than features come to a solver"
        return np.concatenate([p.shares(a) for p, a in self.walk(at)])

    def hessian_times(self, at, V, tick=None):
        self.passes += 2
        return add(p.hessian_times(a, V, tick) for p, a in self.walk(at))

    def loss_sum(self, Z):
        return math.fsum(p.loss_sum(x) for p, x in self.walk(Z))

    def entropy(self, U):
        return math.fsum(p.entropy(x) for p, x in self.walk(U))

    def dual_at(self, at):
        return InBlocks(p.dual_at(a) for p, a in self.walk(at))

    def dual_from_primal(self, theta, Z=None):
        at = self.new_point()
        self.move_to(at, theta)
        return self.balanced_dual_at(at)

    def balanced_dual_at(self, at):
        return self.dual_at(at)  # feasible; what sum u costs is in `dual`

    def column_sums(self, U):
        return add(p.column_sums(x) for p, x in self.walk(U))

    def rounding_sums(self, U):
        found = [p.rounding_sums(x) for p, x in self.walk(U)]
        return tuple(add(f[k] for f in found) for k in range(3))
