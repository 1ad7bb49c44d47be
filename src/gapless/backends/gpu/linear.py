"""Regularised linear models on the card: the verbs of `problems/linear`, by torch on all examples at once.

Rows stay in their precision; scores, sums, losses and the certificate are in float64.  A handle is a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from gapless import rows as R
from gapless._runtime.cached import lazy
from gapless.backends.gpu import sums
from gapless.backends.gpu.linear_band import CardBand
from gapless.backends.gpu.linear_losses import conjugate, differentiate
from gapless.backends.gpu.rows import CardRows, send
from gapless.numbers import UNIT, length_of
from gapless.problems.examples.over_rows import Taken
from gapless.problems.linear import LinearProblem, constant_feature
from gapless.problems.linear_offset import bound_offset, find_best_offset
from gapless.problems.linear_rounding import bound_rounding
from gapless.problems.linear_sums import LossAtScores

Tensor = Any
Tick = Callable[[], None] | None


class CardLinear:
    """P, D and the maps between them."""

    one_by_one = False
    sparse = False
    steps_at_once = 1
    base_length = 0.0
    sums_like_combine = True
    new_barrier = new_sets = None  #: no interior point, and no active sets
    curve_cost = np.inf  #: matrices of the features cost little beside products one by one

    def __init__(self, rows: CardRows, y: Tensor, c: Tensor, loss: Any, offset: str, constant: float) -> None:
        self.X, self.y, self.c = rows.tensor, y, c
        self.loss, self.offset, self.constant = loss, offset, constant

    @classmethod
    def build(
        cls, X: Any, y: np.ndarray, c: np.ndarray, loss: Any, offset: str, offset_scale: float = 1.0
    ) -> CardLinear:
        """The problem of rows and signs as they come."""
        rows = send(X)
        device = rows.tensor.device
        signs = torch.from_numpy(np.ascontiguousarray(y)).to(device).to(torch.float64)
        costs = torch.from_numpy(np.array(c, dtype=np.float64)).to(device)
        return cls(rows, signs, costs, loss, offset, constant_feature(offset, offset_scale))

    split, join, scale_dual = LinearProblem.split, LinearProblem.join, LinearProblem.scale_dual
    penalty, penalty_along, gradient = LinearProblem.penalty, LinearProblem.penalty_along, LinearProblem.gradient
    primal, dual, gap = LinearProblem.primal, LinearProblem.dual, LinearProblem.gap
    primal_from_dual, offset_bound, rounding = LinearProblem.primal_from_dual, bound_offset, bound_rounding
    primal_at_zero = LinearProblem.primal_at_zero

    # -- shape ---------------------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        return int(self.y.numel())

    @property
    def d(self) -> int:
        return int(self.X.shape[1])

    @property
    def free(self) -> bool:
        return self.offset == "free"

    @property
    def stored(self) -> int:
        return self.n * self.d

    pass_stored = stored

    @property
    def sum_length(self) -> float:
        """The order of a product's sums is the library's own: no more than all, one after the other."""
        return float(self.n)

    @lazy
    def norms2(self) -> Tensor:
        return sums.squares(self.X) + self.constant**2

    @lazy
    def R2(self) -> float:
        return float(self.norms2.max()) - (self.constant**2 if self.free else 0.0)

    @lazy
    def masses(self) -> tuple[float, float]:
        positive = self.y > 0.0
        zero = torch.zeros_like(self.c)
        return tuple(float(sums.total(torch.where(own, self.c, zero))) for own in (positive, ~positive))  # type: ignore[return-value]

    @property
    def one_class(self) -> bool:
        return 0.0 in self.masses

    def gram_cost(self, m: int) -> float:
        return 0.0

    def use_fast_copy(self, large: int | None = None, many: bool = True) -> None:
        """The rows are as fast as they get."""

    def _on_card(self, values: np.ndarray) -> Tensor:
        return torch.from_numpy(np.array(values, dtype=np.float64)).to(self.X.device)

    # -- vectors -------------------------------------------------------------------------------------------------

    def new_vector(self) -> Tensor:
        return torch.empty_like(self.c)

    def equal_scores(self, z: float) -> Tensor:
        return torch.full_like(self.c, z)

    def zero_dual(self) -> Tensor:
        return torch.zeros_like(self.c)

    def sum(self, vector: Tensor) -> float:
        return float(sums.total(vector))

    def count(self, vector: Tensor) -> int:
        return int(torch.count_nonzero(vector))

    def above(self, vector: Tensor, share: float) -> Tensor:
        return vector > share * vector.max().clamp(min=0.0)

    def masked(self, weights: Tensor, inside: Tensor | None, scale: float) -> Tensor:
        return scale * (weights if inside is None else torch.where(inside, weights, torch.zeros_like(weights)))

    def weigh_norms2(self, weights: Tensor) -> float:
        return self.sum(weights * self.norms2)

    def count_free(self, u: Tensor) -> int:
        alpha = u * self.y
        return int(torch.count_nonzero((alpha > 0.0) & (alpha < self.c)))

    # -- sums over rows ------------------------------------------------------------------------------------------

    def scores(self, theta: np.ndarray, tick: Tick = None, out: Tensor | None = None) -> Tensor:
        found = sums.scores(self.X, self._on_card(theta[:-1])) + float(self.constant * theta[-1])
        return found if out is None else out.copy_(found)

    def combine(self, u: Tensor, tick: Tick = None) -> np.ndarray:
        if tick is not None:
            tick()
        found = torch.cat([sums.combine(self.X, u), self.constant * sums.total(u)[None]])
        return np.asarray(found.cpu().numpy())

    def curve(self, weights: Tensor, p: np.ndarray, tick: Tick = None) -> np.ndarray:
        return self.combine(weights * self.scores(p), tick)

    def squares(self, weights: Tensor, tick: Tick = None) -> np.ndarray:
        return np.asarray(self.gram(weights, None, tick).diagonal())

    def gram(
        self, weights: Tensor, inside: Tensor | None = None, tick: Tick = None, *, single: bool = False
    ) -> np.ndarray:
        if tick is not None:
            tick()
        X = self.X
        if inside is not None and self.count(inside) < self.n:
            numbers = inside.nonzero().squeeze(1)
            X, weights = X[numbers], weights[numbers]
        matrix, border = sums.gram(X, weights)
        out = torch.empty((self.d + 1, self.d + 1), dtype=torch.float64, device=X.device)
        out[:-1, :-1], out[:-1, -1], out[-1, :-1] = matrix, self.constant * border, self.constant * border
        out[-1, -1] = self.constant**2 * sums.total(weights)
        return np.asarray(out.cpu().numpy())

    def gram_of_sample(
        self, weights: Tensor, size: int, tick: Tick = None, *, single: bool = False
    ) -> tuple[np.ndarray, float]:
        part = torch.from_numpy(R.sample(self.n, size).copy()).to(self.X.device)
        small = CardLinear(CardRows(self.X[part]), self.y[part], self.c[part], self.loss, self.offset, self.constant)
        return small.gram(weights[part], None, tick), float(sums.total(weights[part]))

    def take(self, weights: Tensor, inside: Tensor | None) -> Taken:
        numbers = torch.arange(self.n, device=self.X.device) if inside is None else inside.nonzero().squeeze(1)
        rows = self.X[numbers].to(torch.float64).cpu().numpy()
        return Taken(R.as_rows(rows, self.constant), weights[numbers].cpu().numpy(), numbers.cpu().numpy())

    def products(self, tick: Tick = None) -> np.ndarray:
        X = self.X.to(torch.float64)
        return np.asarray((X @ X.T + self.constant**2).cpu().numpy())

    def sample(self, m: int, order: np.ndarray | None = None) -> CardLinear:
        index = R.sample(self.n, m)
        if order is not None:
            index = np.sort(order[index])
        part = torch.from_numpy(np.array(index)).to(self.X.device)
        scale = self.n / index.size
        rows = CardRows(self.X[part])
        return CardLinear(rows, self.y[part], self.c[part] * scale, self.loss, self.offset, self.constant)

    def scale_costs(self, factor: float) -> CardLinear:
        found = CardLinear(CardRows(self.X), self.y, self.c * factor, self.loss, self.offset, self.constant)
        known = ("norms2", "R2")
        found.__dict__.update({name: value for name, value in self.__dict__.items() if name in known})
        return found

    # -- the loss ------------------------------------------------------------------------------------------------

    def new_point(self) -> LossAtScores:
        return LossAtScores(self.new_vector(), self.new_vector(), self.new_vector())

    def new_band(self, start: Tensor | None = None, by_changes: bool = False) -> CardBand:
        return CardBand(self, start)

    def loss_and_gradient(self, theta: np.ndarray, at: LossAtScores, tick: Tick = None) -> tuple[float, np.ndarray]:
        self.scores(theta, tick, out=at.z)
        loss = self._differentiate(at, at.z)
        return float(loss), self.combine(at.g, tick)

    def _differentiate(self, at: LossAtScores, z: Tensor) -> Tensor:
        """c l' and c l'' at the scores z, into g and h; the sum of c l."""
        value, slope, curvature = differentiate(self.loss, z, self.y)
        torch.mul(self.c, slope, out=at.g)
        torch.mul(self.c, curvature, out=at.h)
        return sums.total(self.c * value)

    def slopes_along(self, at: LossAtScores, along: Tensor, ts: Sequence[float]) -> list[tuple[float, float]]:
        found = []
        for t in ts:
            self._differentiate(at, at.z + t * along)
            pair = torch.stack([sums.total(at.g * along), sums.total(at.h * along * along)]).tolist()
            found.append((pair[0], pair[1]))
        return found

    def derivatives_in_offset(self, z: Tensor, b: float) -> tuple[float, float]:
        _, slope, curvature = differentiate(self.loss, z + b, self.y)
        found = torch.stack([sums.total(self.c * slope), sums.total(self.c * curvature)]).tolist()
        return found[0], found[1]

    def loss_sum(self, z: Tensor) -> float:
        return self.sum(self.c * differentiate(self.loss, z, self.y)[0])

    def conjugate_sum(self, u: Tensor) -> float:
        return -self.sum(self.c * conjugate(self.loss, u * self.y / self.c))

    def conjugate_sizes(self, u: Tensor) -> float:
        return self.sum((self.c * conjugate(self.loss, u * self.y / self.c)).abs())

    def rounding_sums(self, theta: np.ndarray, z: Tensor, u: Tensor, unit: float) -> tuple[float, float, float]:
        size, slope, offset = (length_of(part) for part in (theta, theta[:-1], theta[-1:] * self.constant))
        norms = self.norms2.sqrt() * (1.0 + 1e-12)
        error = unit * torch.minimum(norms * size, norms * slope + offset)
        steepest: Any = self.loss.largest_slope
        if not np.isfinite(steepest):
            slopes = differentiate(self.loss, z, self.y)[1].abs()
            steepest = slopes + self.loss.largest_curvature * error
        heights = u.abs()
        found = [sums.total(self.c * error * steepest), sums.total(heights * norms), sums.total(heights)]
        loss_error, reach, mass = torch.stack(found).tolist()
        return loss_error, reach, mass

    # -- maps between w and u ------------------------------------------------------------------------------------

    def dual_at(self, at: LossAtScores, out: Tensor | None = None) -> Tensor:
        return self.repair(-at.g)

    def dual_from_primal(self, theta: np.ndarray, z: Tensor | None = None) -> Tensor:
        z = self.scores(theta) if z is None else z
        return self.repair(-self.c * differentiate(self.loss, z, self.y)[1])

    def best_offset(self, z: Tensor, near: float | None = None) -> float:
        if self.loss.smooth:
            return find_best_offset(self, z, near)  # type: ignore[arg-type]
        kinks, order = torch.sort(self.y - z)
        positive, negative = self.masses
        slack = 4.0 * UNIT * self.n * (positive + negative)
        if positive <= slack or negative <= slack:
            return float(kinks[0] if positive <= slack else kinks[-1])
        passed = torch.cumsum(self.c[order], 0)
        ends = torch.tensor([positive - slack, positive + slack], dtype=torch.float64, device=z.device)
        first = torch.searchsorted(passed, ends[0])
        last = torch.searchsorted(passed, ends[1], right=True)
        found = kinks[torch.stack([first, last]).clamp(max=self.n - 1)]
        return 0.5 * float(found.sum())

    def repair(self, u: Tensor, out: Tensor | None = None) -> Tensor:
        y, c, bounded = self.y, self.c, self.loss.dual_ends[1] < np.inf
        alpha = (u * y).clamp(min=0.0)
        alpha = torch.minimum(alpha, c) if bounded else alpha
        for _ in range(3 if self.free else 0):
            r = self.sum(alpha * y)
            if r == 0.0:
                break
            falls = (y > 0.0) == (r > 0.0)
            room = torch.where(falls, alpha, c - alpha if bounded else torch.zeros_like(c))
            inside = (alpha > 0.0) & (alpha < c) if bounded else alpha > 0.0
            held = torch.where(inside, room, torch.zeros_like(room))
            within, all_ = torch.stack([sums.total(held), sums.total(room)]).tolist()
            use, available = (held, within) if within >= abs(r) else (room, all_)
            if available <= 0.0:
                break
            moved = min(1.0, abs(r) / available) * use
            alpha = (alpha + torch.where(falls, -moved, moved)).clamp(min=0.0)
            alpha = torch.minimum(alpha, c) if bounded else alpha
        found = alpha * y
        return found if out is None else out.copy_(found)
