"""The hinge over rows in blocks: band, iterates of interior point, active sets. See `blocks`."""

from __future__ import annotations

import math

import numpy as np

from tests.problems.blocks import InBlocks, add, stack


class BlockBand:
    def __init__(self, problem, start, by_changes):
        self.problem = problem
        self.bands = [p.new_band(s, by_changes) for p, s in problem.walk(start)]

    z = property(lambda self: InBlocks(b.z for b in self.bands))
    u = property(lambda self: InBlocks(b.u for b in self.bands))
    inside = property(lambda self: InBlocks(b.inside for b in self.bands))
    summed_at_once = property(lambda self: all(b.summed_at_once for b in self.bands))

    def every(self, verb, *args):
        return [getattr(b, verb)(*args) for b in self.bands]

    def move_to(self, theta, tick=None):
        self.every("move_to", theta, tick)

    def find(self, steep):
        found = self.every("find", steep)
        return tuple(math.fsum(f[k] for f in found) for k in (0, 1))

    def accept(self):
        self.every("accept")

    def mass(self):
        return math.fsum(self.every("mass"))

    def sides(self):
        return b"".join(self.every("sides"))

    def combine(self, tick=None):
        self.problem.passes += 1
        return add(self.every("combine", tick))

    def repaired(self, tick=None):
        moved = self.problem.repair(self.u)
        return moved, self.problem.combine(InBlocks(m - b.u for m, b in zip(moved.parts, self.bands)), tick)

    def look_along(self, step, tick=None):
        self.problem.passes += 1
        self.every("look_along", step, tick)

    def slopes(self, steep, ts):
        return add(np.array(f) for f in self.every("slopes", steep, ts)).tolist()

    def move(self, t):
        self.every("move", t)


class BlockBarrier:
    def __init__(self, problem, start):
        self.problem = problem
        self.iterates = [p.new_barrier(s) for p, s in problem.walk(start)]
        self.theta = np.zeros(problem.d + 1)
        if start is not None:  # the theta of a block alone is of no use
            self.theta = problem.primal_from_dual(
                problem.repair(InBlocks(b.alpha * b.problem.y for b in self.iterates))
            )
            for b, z in zip(self.iterates, problem.scores(self.theta).parts):
                slack = b.problem.y * z - 1.0
                b.s, b.xi = np.maximum(slack, 0.0) + 0.1, np.maximum(-slack, 0.0) + 0.1

    z = property(lambda self: InBlocks(b.z for b in self.iterates))
    u = property(lambda self: InBlocks(b.u for b in self.iterates))

    def every(self, verb, *args):
        return [getattr(b, verb)(*args) for b in self.iterates]

    def look(self, theta, tick=None):
        found = self.every("look", theta, tick)
        return math.fsum(f[0] for f in found), add(f[1] for f in found)

    def weigh(self):
        return InBlocks(self.every("weigh"))

    def right(self, centre, tick=None):
        return add(self.every("right", centre, tick))

    def look_along(self, step, tick=None):
        self.every("look_along", step, tick)

    def reach(self):
        return min(self.every("reach"))

    def aim(self, reach):
        return math.fsum(self.every("aim", reach))

    def move(self, length):
        self.every("move", length)


class BlockSets:
    def __init__(self, problem, theta, u, tick):
        self.problem = problem
        self.sets = [p.new_sets(theta, x, tick) for p, x in problem.walk(u)]

    def every(self, verb, *args):
        return [getattr(s, verb)(*args) for s in self.sets]

    def guess(self):
        found = self.every("guess")
        return sum(f[0] for f in found), b"".join(f[1] for f in found)

    def fix(self):
        self.every("fix")

    def take_free(self):
        found = self.every("take_free")
        y, alpha = (np.concatenate([getattr(f, name) for f in found]) for name in ("y", "alpha"))
        return stack([f.rows for f in found]), y, alpha

    def set_free(self, alpha):
        ends = np.cumsum([s.free.size for s in self.sets])[:-1]
        for s, part in zip(self.sets, np.split(alpha, ends)):
            s.set_free(part)

    def combine(self, tick=None):
        return add(self.every("combine", tick))

    def dual_point(self):
        return self.problem.repair(InBlocks(s.alpha * s.problem.y for s in self.sets))

    def look(self, z):
        for s, x in zip(self.sets, z.parts):
            s.look(x)

    def settled(self):
        return all(self.every("settled"))
