"""Semismooth Newton for a `KernelDual` on the card: the augmented Lagrangian of the linear hinge, in kernel form.

    minimise over w, b, t   1/2 |w|^2 + T0 b + T1 t + sum_j c_j m_j(h_j),      h_j = tau_j - s_j (<w, phi_j> + b) - t

with m_j(h) = max over a in [0, 1] of a h - delta/2 (a - share_j)^2, the hinge rounded off, and

    beta_j = c_j clip(share_j + h_j/delta, 0, 1).

w is sum (u + g) phi: u = sum s beta phi is what beta says, g what is left of the gradient.  With M the variables strictly inside,
a step of Newton's is

    (K_MM + delta/c) y = (K g)_M - db - s dt,      1'y = T0 - s'beta,      s'y = T1 - 1'beta,      dw = sum (y_M - g) phi

two products n x |M| and a Cholesky factor of M.  Where the sets stop changing g = 0, and w is sum u phi to the last digit.
Then the shares become beta/c and delta shrinks.  (Li, Sun and Toh's line of work; the proximal point method in the dual.)

M is capped, but not below 1.5 times the variables that are free: delta falls until it fits.  An empty band widens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from gapless._runtime.lazy import load
from gapless.backends.gpu.device import uses_triton
from gapless.backends.gpu.tiles import Tiles

Tensor = Any
Tick = Callable[[], None]


@dataclass(frozen=True, eq=False)
class CardProblem:
    """A `KernelDual` on the card: a line of variables for each variable that a point has (two in regression)."""

    tiles: Tiles
    sign: Tensor  #: (lines, points)
    tau: Tensor
    c: Tensor
    totals: tuple[float, ...]

    @property
    def nu_form(self) -> bool:
        return len(self.totals) == 2

    @property
    def n(self) -> int:
        return self.tiles.n

    def first(self, m: int) -> CardProblem:
        """The first m points, with the costs of each sign raised to those of all points."""
        c = self.c[:, :m].clone()
        for sign in (1.0, -1.0):
            own = self.sign[:, :m] == sign
            part = float(c[own].sum())
            if part > 0.0:
                c[own] *= float(self.c[self.sign == sign].sum()) / part
        return CardProblem(self.tiles.first(m), self.sign[:, :m], self.tau[:, :m], c, self.totals)


@dataclass(eq=False)
class Iterate:
    """Where a search stands. ``share`` is the centre of the proximal term, ``beta`` what the last step made of it."""

    share: Tensor
    beta: Tensor
    u: Tensor
    fu: Tensor  #: K u
    g: Tensor
    fg: Tensor  #: K g
    b: float
    t: float
    delta: float


class Effort(NamedTuple):
    """How far a level goes. ``by_w``: the gap of w = sum (u + g) phi is enough, because the level only gives a start."""

    gap: float
    exact: bool
    by_w: bool = False
    steps: int = 400
    cap: int = 5000
    new: bool = False  #: the shares are guesses, and say nothing of who is free


class Figures(NamedTuple):
    """P and D of u with b and t, P of w, the square of what is left of w, the residuals of the equalities; as computed."""

    primal: float
    dual: float
    primal_w: float
    left: float
    missed: tuple[float, float]

    @property
    def price(self) -> float:
        return abs(self.missed[0]) + abs(self.missed[1])


class Level:
    """The search on one level."""

    def __init__(self, problem: CardProblem, at: Iterate, effort: Effort, unit: float, tick: Tick) -> None:
        self.problem, self.at, self.effort, self.unit, self.tick = problem, at, effort, unit, tick
        self.steps = 0
        self.figures: Figures | None = None
        self.lengths = torch.tensor(lengths_of_step(), dtype=torch.float64, device=at.u.device)
        self.settled = False

    def run(self, advance: Callable[[], None]) -> None:
        """Step until the gap is reached, or no step is left."""
        at, effort = self.at, self.effort
        inner, short, best, stale = 0, 0, np.inf, 0
        cap = effort.cap if effort.new else self._cap()
        while self.steps < effort.steps:
            self.tick()
            band = self._find_band(cap)
            figures = self.figures = self._move_beta(band)
            gap, gap_w = (figures.primal - figures.dual), (figures.primal_w - figures.dual)
            price = abs(at.b * figures.missed[0]) + abs(at.t * figures.missed[1])
            scale = max(abs(figures.primal), abs(figures.dual), 1e-300)
            if gap + price <= effort.gap * scale or (effort.by_w and gap_w + price <= effort.gap * scale):
                self.settled = True
                return
            stale = 0 if gap + price < 0.9 * best else stale + 1
            best = min(best, gap + price)
            if stale > (30 if effort.exact else 80):
                return
            inner += 1
            left = 0.5 * figures.left + price
            if inner > 1 and gap_w > 0.5 * effort.gap * scale and (left <= 0.02 * gap_w or inner > 40):
                # Solved: beta becomes the centre.
                at.delta = max(at.delta * (0.2 if inner <= 3 else 0.4 if inner <= 6 else 0.8), 1e-9 * self.unit)
                at.share = at.beta / self.problem.c
                inner, short, cap = 0, 0, self._cap()
                continue
            length = self._step(band, figures)
            short = short + 1 if length < 0.25 else 0
            if short >= 3:
                at.delta, short = 1.6 * at.delta, 0
            self.steps += 1
            advance()

    def _cap(self) -> int:
        free = int(((self.at.share > 0.0) & (self.at.share < 1.0)).sum())
        return max(self.effort.cap, int(1.5 * free))

    def _hinges(self, scores: Tensor) -> Tensor:
        problem, at = self.problem, self.at
        return problem.tau - problem.sign * (scores + at.b)[None, :] - at.t

    def _find_band(self, cap: int) -> Band:
        """Who is strictly inside, at a delta for which these are not too many, and not none."""
        at = self.at
        self.h = self._hinges(at.fu + at.fg)
        widened = 0
        while True:
            p = at.share + self.h / at.delta
            inside = ((p > 0.0) & (p < 1.0)).view(-1).nonzero().squeeze(1)
            if inside.numel() > cap:
                at.delta *= 0.6
                if widened:
                    break  # all at once or none: a step in b and t
            elif self._too_few(inside) and widened < 20:
                at.delta *= 2.0
                widened += 1
            else:
                break
        if inside.numel() > cap:
            p = at.share + self.h / at.delta
            inside = ((p > 0.0) & (p < 1.0)).view(-1).nonzero().squeeze(1)[:cap]
        self.p = p
        return Band(inside, inside % self.problem.n)

    def _too_few(self, inside: Tensor) -> bool:
        return int(inside.numel()) == 0

    def _move_beta(self, band: Band) -> Figures:
        """beta at the shares of this delta, with its scores; the figures there."""
        problem, at = self.problem, self.at
        beta = problem.c * self.p.clamp(0.0, 1.0)
        u = (problem.sign * beta).sum(0)
        change = u - at.u
        moved = change.nonzero().squeeze(1)
        if moved.numel():
            step = problem.tiles.add(moved, change[moved], exact=self.effort.exact, tick=self.tick)
            at.fu, at.fg = at.fu + step, at.fg - step
            at.g = at.g - change
        at.u, at.beta = u, beta
        square, cross, left = u @ at.fu, u @ at.fg, at.g @ at.fg
        loss = (problem.c * self._hinges(at.fu).clamp(min=0.0)).sum()
        loss_w = (problem.c * self.h.clamp(min=0.0)).sum()
        gain, sums, all_ = (problem.tau * beta).sum(), (problem.sign * beta).sum(), beta.sum()
        found = torch.stack([square, cross, left, loss, loss_w, gain, sums, all_]).tolist()
        square, cross, left, loss, loss_w, gain, sums, all_ = found
        linear = problem.totals[0] * at.b + (problem.totals[1] * at.t if problem.nu_form else 0.0)
        missed = (problem.totals[0] - sums, problem.totals[1] - all_ if problem.nu_form else 0.0)
        return Figures(
            0.5 * square + linear + loss, gain - 0.5 * square, 0.5 * (square + 2.0 * cross + left) + linear + loss_w,
            max(left, 0.0), missed,
        )  # fmt: skip

    def _step(self, band: Band, figures: Figures) -> float:
        """A step of Newton's; its length."""
        problem, at = self.problem, self.at
        whole = torch.zeros(problem.c.numel(), dtype=torch.float64, device=at.u.device)
        db, dt = self._solve(band, figures, whole)
        y = whole.view(problem.c.shape).sum(0)
        points = y.nonzero().squeeze(1)
        df = -at.fg
        if points.numel():
            df = df + problem.tiles.add(points, y[points], exact=self.effort.exact, tick=self.tick)
        dg = y - at.g
        length = self._search(dg, df, db, dt)
        at.g, at.fg = at.g + length * dg, at.fg + length * df
        at.b, at.t = at.b + length * db, at.t + length * dt
        return length

    def _solve(self, band: Band, figures: Figures, out: Tensor) -> tuple[float, float]:
        """y of the band, into ``out``; db and dt."""
        problem, at = self.problem, self.at
        missed, nu = figures.missed, problem.nu_form
        if not band.inside.numel():
            db = float(np.clip(-np.sign(missed[0]), -1.0, 1.0)) * at.delta
            return db, -float(np.sign(missed[1])) * at.delta if nu else 0.0
        signs = problem.sign.reshape(-1)[band.inside]
        matrix = problem.tiles.block(band.points)
        matrix.diagonal().add_(at.delta / problem.c.reshape(-1)[band.inside])
        ones = torch.ones_like(signs)
        right = torch.stack([at.fg[band.points], ones, *([signs] if nu else [])], 1)
        solved = _solve_positive(matrix, right)
        edges = torch.stack([ones, signs], 0) if nu else ones[None, :]
        sums = (edges @ solved).cpu().numpy()
        wanted = sums[:, 0] - np.array(missed[: len(sums)])
        shifts = np.linalg.lstsq(sums[:, 1:], wanted, rcond=1e-12)[0]
        y = solved[:, 0] - solved[:, 1:] @ torch.from_numpy(shifts).to(solved.device)
        out[band.inside] = y
        return float(shifts[0]), float(shifts[1]) if nu else 0.0

    def _search(self, dg: Tensor, df: Tensor, db: float, dt: float) -> float:
        """The length where the slope along the step is 0: it rises, and its root is bracketed by sixteen lengths."""
        problem, at = self.problem, self.at
        dh = -problem.sign * (df + db)[None, :] - dt
        p, slope_of_p = self.p.reshape(-1), dh.reshape(-1) / at.delta
        weights = problem.c.reshape(-1) * dh.reshape(-1)
        data = self._sum_along(p, slope_of_p, weights)
        first, second = (at.u + at.g) @ df, dg @ df
        found = torch.cat([torch.stack([first, second]), data]).tolist()
        linear = problem.totals[0] * db + (problem.totals[1] * dt if problem.nu_form else 0.0)
        slopes = [found[0] + s * found[1] + linear + value for s, value in zip(lengths_of_step(), found[2:])]
        return root_of_slopes(slopes)

    def _sum_along(self, p: Tensor, along: Tensor, weights: Tensor) -> Tensor:
        """sum_i weights_i clip(p_i + s along_i, 0, 1) for each length s."""
        if uses_triton(p.device.type):
            vectors: Any = load("gapless.backends.gpu.loops.vectors")
            found: Tensor = vectors.slopes_along(p.contiguous(), along.contiguous(), weights.contiguous(), self.lengths)
            return found
        return torch.stack([(p + s * along).clamp_(0.0, 1.0) @ weights for s in lengths_of_step()])


class Band(NamedTuple):
    """The variables strictly inside, as numbers of variables and of points."""

    inside: Tensor
    points: Tensor


def lengths_of_step() -> tuple[float, ...]:
    """The lengths at which a step is looked at: closer where they are short."""
    return (0.0, 3e-4, 1e-3, 2e-3, 4e-3, 8e-3, 0.015, 0.03, 0.06, 0.1, 0.16, 0.25, 0.38, 0.55, 0.77, 1.0)


def root_of_slopes(slopes: list[float]) -> float:
    """The length where slopes that rise pass 0; 1 where the last one is small enough."""
    if not slopes[-1] > 0.05 * abs(slopes[0]):
        return 1.0
    lengths = lengths_of_step()
    for k in range(len(slopes) - 1):
        if slopes[k] <= 0.0 < slopes[k + 1]:
            a, b = lengths[k], lengths[k + 1]
            return max(a - slopes[k] * (b - a) / (slopes[k + 1] - slopes[k]), 1e-4)
    return 0.5 * lengths[1]


def _solve_positive(matrix: Tensor, right: Tensor) -> Tensor:
    """matrix^-1 right by a Cholesky factor; where rounding leaves none, the diagonal is raised until there is one."""
    ridge = 0.0
    mean = None
    for _ in range(6):
        factor, info = torch.linalg.cholesky_ex(matrix)
        if int(info) == 0:
            half = torch.linalg.solve_triangular(factor, right, upper=False)
            return torch.linalg.solve_triangular(factor.T, half, upper=True)
        mean = float(matrix.diagonal().mean()) if mean is None else mean
        more = max(100.0 * ridge, 1e-13 * mean * matrix.shape[0] ** 0.5)
        matrix.diagonal().add_(more - ridge)
        ridge = more
    return torch.linalg.lstsq(matrix, right).solution
