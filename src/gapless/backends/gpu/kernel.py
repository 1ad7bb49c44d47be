"""Solve a `KernelDual` whose rows are on the card: what `solvers.kernel.solve` gives, by semismooth Newton on nested levels.

Rough values, where there are any, lead to a gap of 2e-5; scores in float64 then say what was reached, and the search goes on from
them with float64's values, by the few columns that still change.  Nothing is claimed of rough values.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import torch

from gapless._runtime.cached import lazy
from gapless.backends.gpu.kernel_gram import tiles_of
from gapless.backends.gpu.kernel_newton import CardProblem, Effort, Iterate, Level
from gapless.backends.gpu.kernel_scores import CardScores
from gapless.backends.gpu.tiles import Tiles
from gapless.numbers import relative_gap
from gapless.problems.kernel import KernelDual, KernelFigures, evaluate_point
from gapless.solvers.kernel.polish import polish
from gapless.solvers.kernel.solve import solve_kernel
from gapless.solvers.loop import Ended, Loop, Stop, Watch
from gapless.solvers.solution import Solution, Status


def solve_kernel_on_card(
    problem: KernelDual,
    stop: Stop,
    *,
    start: np.ndarray | None = None,
    watch: Watch = Watch(),
) -> Solution:
    """beta as ``u``, the scalars as ``theta``, the scores of w as ``scores``; ``start`` is the beta of an earlier fit."""
    search = _Search(problem, Loop(stop, watch))
    with np.errstate(all="ignore"):
        status = search.run(start)
    if status is None and not search.reaches():
        return _go_on_by_pairs(search, watch)
    loop = search.loop
    if status in (None, "converged"):
        status = "converged" if search.reaches() else ("max_iter" if loop.n_iter >= stop.passes else "stalled")
    return search.solution(status)


def _no_tick() -> None:
    """A look at what is returned is not interrupted."""


def _go_on_by_pairs(search: _Search, watch: Watch) -> Solution:
    """Pairs go on in memory from the point where the search stalled, by values that the card computes."""
    loop, stop = search.loop, search.stop
    left = None if stop.seconds is None else max(0.0, stop.seconds - loop.seconds)
    if loop.n_iter >= stop.passes or left == 0.0:
        ended: Status = "max_iter" if loop.n_iter >= stop.passes else "time_limit"
        return search.solution(ended)
    found = solve_kernel(
        search.problem, replace(stop, passes=stop.passes - loop.n_iter, seconds=left), start=search.beta, watch=watch
    )
    return replace(
        found, n_iter=found.n_iter + loop.n_iter, seconds=loop.seconds, history=loop.history + found.history,
        solver=f"{search.solver}+smo",
    )  # fmt: skip


class _Search:
    """The point that a fit has reached: ``beta``, its scores in float64, and its figures."""

    smallest = 3000  #: rows of the smallest level
    ratio = 5  #: rows of a level to those of the next smaller one

    def __init__(self, problem: KernelDual, loop: Loop) -> None:
        self.problem, self.loop, self.stop = problem, loop, loop.stop
        self.beta = problem.start()
        self.scores: np.ndarray = np.zeros(problem.n_points)
        self.figures = KernelFigures(np.zeros(len(problem.totals)), np.inf, -np.inf, np.inf)
        self.unit = 1.0
        self.looked = False
        self.off = np.zeros(problem.n_points)
        self.known = CardScores(problem)
        self.solver = "semismooth"

    # -- the problem on the card ---------------------------------------------------------------------------------

    def _draw_order(self) -> np.ndarray:
        """Rows at random, always the same way, each sign spread evenly: every first part has its share of both classes."""
        n = self.problem.n_points
        order = np.random.default_rng(0).permutation(n)
        if self.problem.at is not None or n <= self.smallest:
            return order
        sign = self.problem.sign[order]
        place = np.empty(n)
        for own in (sign > 0.0, sign < 0.0):
            count = int(np.count_nonzero(own))
            place[own] = (np.arange(count) + 0.5) / max(count, 1)
        return order[np.argsort(place, kind="stable")]

    @lazy
    def tiles(self) -> Tiles:
        """The problem's rows, in its order."""
        return tiles_of(self.problem.gram)

    @lazy
    def order(self) -> np.ndarray:
        """The search's order of the points."""
        return self._draw_order()

    @lazy
    def card(self) -> CardProblem:
        """The problem on the card, in the search's order."""
        return self._lay_out()

    def _lines(self, values: np.ndarray) -> torch.Tensor:
        """An entry for each variable, in the search's order, a line for each variable that a point has."""
        lines = values.reshape(-1, self.problem.n_points)[:, self.order]
        return torch.from_numpy(np.ascontiguousarray(lines, dtype=np.float64)).to(self.tiles.device)

    def _lay_out(self) -> CardProblem:
        problem = self.problem
        index = torch.from_numpy(self.order).to(self.tiles.device)
        sign, tau, c = (self._lines(part) for part in (problem.sign, problem.tau, problem.c))
        return CardProblem(self.tiles.reorder(index), sign, tau, c, problem.totals)

    def _to_host(self, beta: torch.Tensor) -> np.ndarray:
        """beta of the card in the problem's order, inside its box and on its equalities."""
        found = np.empty((beta.shape[0], self.problem.n_points))
        found[:, self.order] = beta.cpu().numpy()
        return self.problem.repair(found.ravel())

    # -- the search ----------------------------------------------------------------------------------------------

    def run(self, start: np.ndarray | None) -> Status | None:
        """Go to the gap; the status where the loop ended the fit."""
        loop, problem = self.loop, self.problem
        self.at: Iterate | None = None
        self.level_rows = 0
        try:
            if not np.isfinite(problem.R2):
                loop.end("not_finite")
            if loop.stop.passes == 0:
                loop.end("max_iter")
            self._approach() if start is None else self._look(problem.repair(start))
            self._refine()
            return None
        except Ended:
            pass
        except KeyboardInterrupt:
            loop.interrupt()
        self._take_what_there_is()
        return loop.status

    def solution(self, status: Status) -> Solution:
        """The point that was reached."""
        loop, off = self.loop, self.off if self.off.any() else None
        return Solution(
            self.figures.scalars, self.beta, status, loop.n_iter, loop.seconds, self.solver, loop.history, self.scores, off=off
        )  # fmt: skip

    def reaches(self) -> bool:
        """Whether the gap is the one that was asked for, or counts as 0."""
        _, primal, _, gap = self.figures
        return relative_gap(primal, primal - gap) <= self.stop.relative_gap or gap <= self.problem.negligible_gap

    def _look(self, beta: np.ndarray, *, ticking: bool = True) -> None:
        """Stand at a feasible beta: its scores in float64, and its figures."""
        found = self.known.look(beta, self.loop.tick if ticking else _no_tick)
        figures = evaluate_point(self.problem, beta, found.scores)
        if not self.looked or figures.gap < self.figures.gap:
            self.beta, self.scores, self.off = beta, found.scores, found.off
            self.figures, self.looked = figures, True
        self.loop.record(figures.scalars, beta, figures.primal, figures.primal - figures.gap, ends=False)

    def _approach(self) -> None:
        """From nothing, through nested levels, to a point near the optimum; looked at in float64."""
        rough = self.card.tiles.rough
        wanted = self.stop.relative_gap
        goal = 0.7 * wanted if wanted >= 1e-4 or not rough else max(0.7 * wanted, 2e-5)
        sizes = self._level_sizes()
        for size in sizes:
            last = size == sizes[-1]
            level = self.card if last else self.card.first(size)
            self.at = self._first(level) if self.at is None else self._widen(level)
            self.level_rows = size
            effort = Effort(goal if last else max(goal, 5e-3), not rough, by_w=not last, new=True)
            self._run_level(level, effort)
            self.shares = self.at.beta / level.c
        assert self.at is not None
        self._look(self._to_host(self.at.beta))

    def _refine(self) -> None:
        """Go on in float64 until the gap is reached."""
        rounds = 6
        for turn in range(rounds):
            if self.reaches() or self.loop.n_iter >= self.stop.passes:
                return
            before = self.figures.gap
            self._restart()
            assert self.at is not None
            settled = self._run_level(self.card, Effort(0.5 * self.stop.relative_gap, True))
            self._look(self._to_host(self.at.beta))
            if not settled and not self.reaches():
                self._polish()
            if turn >= 1 and not self.figures.gap < 0.5 * before:
                return

    def _polish(self) -> None:
        """Solve for the free variables, whose multipliers the last shares know to c / delta roundings only."""
        found = polish(self.problem, self.loop, self.beta, self.scores)
        if found.gap < self.figures.gap:
            self.solver = "semismooth+polish"
            self._look(found.beta)

    def _run_level(self, level: CardProblem, effort: Effort) -> bool:
        """Search on a level; whether its gap was reached."""
        loop = self.loop

        def advance() -> None:
            loop.advance()
            if loop.n_iter >= self.stop.passes:
                loop.end("max_iter")

        assert self.at is not None
        search = Level(level, self.at, effort, self.unit, loop.tick)
        search.run(advance)
        return search.settled

    def _level_sizes(self) -> list[int]:
        sizes = [self.problem.n_points]
        while sizes[0] // self.ratio >= self.smallest:
            sizes.insert(0, sizes[0] // self.ratio)
        return sizes

    # -- points of levels ----------------------------------------------------------------------------------------

    def _first(self, level: CardProblem) -> Iterate:
        """The point to begin with: 0, or each variable at the same share of its box where the equalities ask for more."""
        share = torch.zeros_like(level.c)
        for side, total in self._sides(level):
            share[side] = total / float(level.c[side].sum())
        beta = share * level.c
        u = (level.sign * beta).sum(0)
        some = u.nonzero().squeeze(1)
        fu = level.tiles.add(some, u[some])
        zero = torch.zeros_like(u)
        scalars = self._best_scalars(level, fu)
        kinks = level.sign * level.tau - fu[None, :]
        if self.problem.kind != "c_svc":
            self.unit = max(float(kinks.std()) if kinks.numel() > 1 else 1.0, 1e-12)
        t = float(scalars[1]) if level.nu_form else 0.0
        b = float(scalars[0]) if self.problem.kind != "c_svc" else 0.0
        return Iterate(share, beta, u, fu, zero, zero.clone(), b, t, 4.0 * self.unit)

    def _sides(self, level: CardProblem) -> list[tuple[torch.Tensor, float]]:
        """The variables that share an equality of a total above 0, and the total."""
        if not level.nu_form:
            return [(level.sign > 0.0, level.totals[0])] if level.totals[0] > 0.0 else []
        first, both = level.totals
        return [(level.sign > 0.0, 0.5 * (both + first)), (level.sign < 0.0, 0.5 * (both - first))]

    def _best_scalars(self, level: CardProblem, scores: torch.Tensor) -> np.ndarray:
        """The best b and t for these scores."""
        sign, tau, c = (part.reshape(-1).cpu().numpy() for part in (level.sign, level.tau, level.c))
        own = KernelDual(self.problem.gram, None, sign, tau, c, level.totals, self.problem.kind)
        return own.best_scalars(scores.repeat(level.sign.shape[0]).cpu().numpy())

    def _widen(self, level: CardProblem) -> Iterate:
        """The same w on a larger level: the rows that were there keep their shares, new rows have those of their hinges."""
        at, before, m = self.at, self.level_rows, level.n
        assert at is not None
        delta = 0.3 * self.unit
        w = at.u + at.g
        new = torch.arange(before, m, device=w.device)
        some = w.nonzero().squeeze(1)
        exact = not level.tiles.rough
        f = torch.cat([at.fu + at.fg, level.tiles.add(some, w[some], new, exact=exact, tick=self.loop.tick)])
        share = torch.empty_like(level.c)
        share[:, :before] = self.shares
        h = level.tau - level.sign * (f + at.b)[None, :] - at.t
        share[:, before:] = (0.5 + h[:, before:] / delta).clamp(0.0, 1.0)
        beta = torch.zeros_like(level.c)
        beta[:, :before] = share[:, :before] * level.c[:, :before]
        u = (level.sign * beta).sum(0)
        g = torch.cat([w, torch.zeros(m - before, dtype=w.dtype, device=w.device)]) - u
        some = u.nonzero().squeeze(1)
        fu = level.tiles.add(some, u[some], exact=exact, tick=self.loop.tick)
        return Iterate(share, beta, u, fu, g, f - fu, at.b, at.t, delta)

    def _restart(self) -> None:
        """The iterate at the point that was looked at: scores in float64, the centre at beta."""
        at = self.at
        beta = self._lines(self.beta)
        u = (self.card.sign * beta).sum(0)
        fu = torch.from_numpy(self.scores[self.order]).to(u.device)
        g = torch.zeros_like(u)
        delta = 0.3 * self.unit
        if at is not None and self.level_rows == self.problem.n_points:
            g, delta = at.u + at.g - u, at.delta
        some = g.nonzero().squeeze(1)
        fg = self.card.tiles.add(some, g[some], exact=True, tick=self.loop.tick)
        scalars = self.figures.scalars
        t = float(scalars[1]) if self.card.nu_form else 0.0
        self.at = Iterate(beta / self.card.c, beta, u, fu, g, fg, float(scalars[0]), t, delta)
        self.level_rows = self.problem.n_points

    def _take_what_there_is(self) -> None:
        """A feasible point where the fit was stopped."""
        problem = self.problem
        candidate = None
        if self.at is not None and self.level_rows == problem.n_points:
            candidate = self._to_host(self.at.beta)
        elif self.at is not None:
            candidate = self._spread()
        if candidate is None and self.looked:
            return
        with suppress(Ended):
            self._look(problem.start() if candidate is None else candidate, ticking=False)

    def _spread(self) -> np.ndarray:
        """The point of a smaller level as one of all rows: each by its hinge at w."""
        at, card = self.at, self.card
        assert at is not None
        w = at.u + at.g
        some = w.nonzero().squeeze(1)
        f = card.tiles.add(some, w[some], exact=not card.tiles.rough)
        h = card.tau - card.sign * (f + at.b)[None, :] - at.t
        return self._to_host(card.c * (0.5 + h / (0.3 * self.unit)).clamp(0.0, 1.0))
