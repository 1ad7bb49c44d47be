"""Sparse penalties: a working set of columns, solved to a share of the gap of all, grown until the gap of all is small enough.

    minimise over (w, b)   Omega(w) + sum_i c_i l(y_i, <w, x_i> + b)

One pass over all columns gives the gap, and the columns that break |x_j'u| <= l1 most; these join the working set.  On it the
squared loss is one quadratic problem (`quadratic`, or `columns` where there are too many columns for a matrix), any other smooth
loss a sequence of them: Newton's method with a line search on P.

After Massias, Gramfort, Salmon, "Celer: a fast solver for the Lasso with dual extrapolation" (ICML 2018), for the working sets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless.problems.sparse.problem import Point, SparseProblem
from gapless.solvers.loop import Loop, Stop, Watch
from gapless.solvers.solution import Solution
from gapless.solvers.sparse.columns import minimise_columns
from gapless.solvers.sparse.quadratic import Charge, minimise_gram, violation
from gapless.solvers.sparse.thresholds import thresholds
from gapless.solvers.sparse.working_set import WorkingSet


def solve_sparse(
    problem: SparseProblem, stop: Stop, start: tuple[np.ndarray, float] | None = None, watch: Watch = Watch()
) -> Solution:
    """The model, a dual point, and how the fit ended; theta is w with b behind it."""
    loop = Loop(stop, watch)
    w, b = (np.zeros(problem.d), 0.0) if start is None else (np.array(start[0], float), float(start[1]))
    with loop.catch_end():
        _Descent(problem, loop, w, b).run()
    if loop.best_theta is None:
        theta = np.append(np.zeros(problem.d), problem.best_offset(np.zeros(problem.n)))
    else:
        theta = loop.best_theta
    u: Any = loop.best_u
    u = np.zeros(problem.n) if u is None else u
    return Solution(theta, u, loop.status or "stalled", loop.n_iter, loop.seconds, "working set", loop.history)


class _Descent:
    """The state of one fit."""

    def __init__(self, problem: SparseProblem, loop: Loop, w: np.ndarray, b: float) -> None:
        self.problem, self.loop = problem, loop
        self.charge = Charge(problem.l1, problem.l2, problem.positive)
        self.set = WorkingSet(problem)
        self.quadratic = problem.loss.conjugate_curvature is not None and not problem.loss.of_margin
        point = problem.at(w, b)
        b = b + problem.best_offset(point.z)
        self.point = Point(w, b, point.z + (b - point.b), point.support)

    def run(self) -> None:
        """Until the loop ends it, or until nothing changes any more."""
        problem, loop, last = self.problem, self.loop, np.inf
        if problem.l1 > 0.0:
            self._descend_levels()
        while True:
            primal = problem.primal(self.point)
            dual, below, v = problem.best_dual(self.point.z, primal)
            loop.record(np.append(self.point.w, self.point.b), dual.u, primal, below)
            if not np.isfinite(primal):
                loop.status = "not_finite"
                return
            gap = primal - below
            if not self._choose(v) and not gap < 0.9 * last:
                return
            last = gap
            self._improve(v, primal, gap)

    def _descend_levels(self) -> None:
        """From the largest |x_j'u|, the penalty of the zero model, down to the one asked for: few signs change at a time."""
        problem, wanted = self.problem, self.problem.l1
        v = problem.columns.combine(problem.centred(-problem.slopes(self.point.z)))
        level = float((v if problem.positive else np.abs(v)).max(initial=0.0))
        ratio = problem.l2 / wanted
        while level * thresholds.step > wanted and self.loop.n_iter < self.loop.stop.passes:
            level = max(level * thresholds.step, wanted)
            self.problem, self.charge = (
                problem.scaled(level, level * ratio),
                Charge(level, level * ratio, problem.positive),
            )
            self.set.problem = self.problem
            self._choose(v)
            self._improve(v, problem.primal(self.point), np.inf, 0.02 * level)
            v = problem.columns.combine(problem.centred(-problem.slopes(self.point.z)))
            self.loop.tick()
        self.problem, self.set.problem = problem, problem
        self.charge = Charge(problem.l1, problem.l2, problem.positive)

    def _choose(self, v: np.ndarray) -> bool:
        """Let columns join the working set; whether any did."""
        problem, support = self.problem, self.point.support
        score = v if problem.positive else np.abs(v)
        if not problem.l1 > 0.0:
            wanted = np.arange(problem.d)
        else:
            size = max(thresholds.first_columns, 2 * support.size)
            open_ = np.flatnonzero((score > problem.l1) & ~self.set.inside) if self.set.m else np.arange(problem.d)
            room = max(size - self.set.m, thresholds.first_columns)
            if open_.size > room:
                open_ = open_[np.argpartition(-score[open_], room)[:room]]
            wanted = np.concatenate((support, open_))
        before = self.set.m
        self.set.add(np.unique(wanted))
        return self.set.m > before

    def _improve(self, v: np.ndarray, primal: float, gap: float, enough: float | None = None) -> None:
        """Solve the working set to a share of the gap."""
        problem, _loop, W = self.problem, self.loop, self.set.index
        if enough is None:
            enough = self._precision(v, primal, gap)
        g = -v[W]
        if self.quadratic:
            self._take(*self._minimise(problem.c, g, enough, self.set.gram if self._by_gram() else None))
            return
        last = np.inf
        for _ in range(30):
            before = primal
            primal, off = self._newton_step(primal, enough)
            # The gap is of the order of the violation, P of its square: near the end P no longer moves, and the violation does.
            if off <= enough or (off > 0.5 * last and not before - primal > 1e-14 * abs(primal)):
                return
            last = off

    def _precision(self, v: np.ndarray, primal: float, gap: float) -> float:
        """The violation of the optimality conditions down to which the working set is solved."""
        loop, W = self.loop, self.set.index
        length = max(float(np.abs(self.point.w).sum()), 1e-300)
        if not np.isfinite(gap):  # no bound is known: as far as rounding lets it
            return 1e-14 * float(np.abs(v).max(initial=0.0))
        wanted = 0.1 * loop.stop.relative_gap * max(abs(primal), 1e-300)
        g = -v[W]
        off = violation(self.point.w[W], g, self.charge)
        return max(min(0.02 * off, max(wanted, 1e-3 * gap) / length), 1e-15 * float(np.abs(g).max(initial=0.0)))

    def _by_gram(self) -> bool:
        m, stored = self.set.m, self.problem.columns.stored
        return m <= thresholds.gram_columns and (self.problem.columns.dense or m * m <= thresholds.gram_values * stored)

    def _take(self, change: np.ndarray, b: float) -> None:
        """Go to the coefficients w + change of the working set, with the best offset."""
        problem, W = self.problem, self.set.index
        w = self.point.w.copy()
        w[W] = change
        point = problem.at(w, b)
        b = b + problem.best_offset(point.z)
        self.point = Point(w, b, point.z + (b - point.b), point.support)

    def _minimise(self, h: np.ndarray, g: np.ndarray, enough: float, gram: Any) -> tuple[np.ndarray, float]:
        """The coefficients of the working set that minimise the quadratic model there."""
        w = self.point.w[self.set.index]
        if gram is not None:
            found, passes = minimise_gram(gram(), w, g, self.charge, enough, self.loop.tick)
        else:
            found, passes = minimise_columns(self.problem, self.set.index, h, w, g, self.charge, enough, self.loop.tick)
        self.loop.advance(passes)
        return found, 0.0

    def _newton_step(self, primal: float, enough: float) -> tuple[float, float]:
        """A step of Newton's method on the working set, with a line search; P after it, and the violation before it."""
        problem, W, point = self.problem, self.set.index, self.point
        a, h = problem.slopes(point.z), problem.curvatures(point.z)
        h = np.maximum(h, 1e-12 * float(h.max(initial=0.0)))
        if problem.free:
            a = a - h * (float(a.sum()) / float(h.sum()))
        g = problem.columns.combine_some(W, a)
        w = point.w[W]
        off = violation(w, g, self.charge)
        if off <= enough:
            return primal, off
        if self._by_gram():
            G, means = self.set.curved_gram(h)
            new, passes = minimise_gram(G, w, g, self.charge, max(0.1 * enough, 0.01 * off), self.loop.tick)
        else:
            means = problem.columns.combine_some(W, h) / float(h.sum()) if problem.free else np.zeros(W.size)
            new, passes = minimise_columns(
                problem, W, h, w, g, self.charge, max(0.1 * enough, 0.01 * off), self.loop.tick
            )
        self.loop.advance(passes)
        step = new - w
        moved = np.flatnonzero(step)
        along = problem.columns.scores(W[moved], step[moved])
        shift = -float(means @ step)
        t = 1.0
        for _ in range(30):
            trial = point.w.copy()
            trial[W] = w + t * step if t < 1.0 else new
            z = point.z + t * (along + shift)
            value = problem.penalty(trial) + problem.loss_sum(z)
            if value <= primal + 1e-14 * abs(primal):
                break
            t *= 0.5
        else:
            return primal, off
        b = point.b + t * shift
        more = problem.best_offset(z)
        self.point = Point(trial, b + more, z + more, np.flatnonzero(trial))
        self.loop.tick()
        return problem.primal(self.point), off
