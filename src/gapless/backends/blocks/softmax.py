"""`Multinomial` over blocks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gapless.backends.blocks import work_softmax as work
from gapless.backends.blocks.examples import OverBlocks
from gapless.backends.blocks.walk import InBlocks, Shape, Tick, Walk
from gapless.problems.linear import constant_feature
from gapless.problems.multinomial import Multinomial


class Point:
    """Scores and probabilities, and the blocks of the Hessian there once one was asked for."""

    Z: InBlocks
    P: InBlocks
    hessian: np.ndarray | None = None


class BlockSoftmax(OverBlocks):
    """P, D and the maps between them, for all classes at once."""

    most_written = 1 << 27  #: bytes of the blocks of a Hessian that one reading of the rows fills

    def __init__(self, walk: Walk, spec: work.SoftmaxSpec, base: tuple[InBlocks, ...], *, shape: Shape) -> None:
        super().__init__(walk, spec, base, offset=spec.offset, shape=shape)
        self.K, self.constant = spec.K, constant_feature(spec.offset, spec.scale)

    @cached_property
    def _facts(self) -> tuple[np.ndarray, float, float]:
        found: tuple[np.ndarray, float, float] = self.add(work.facts)
        self.c.known["sum"] = found[1]
        return found

    @property
    def class_weights(self) -> np.ndarray:
        return self._facts[0]

    @property
    def R2(self) -> float:
        return self._facts[2]

    # Those that need no more of a problem than its verbs.
    split: Any = Multinomial.split
    join: Any = Multinomial.join
    penalty: Any = Multinomial.penalty
    penalty_along: Any = Multinomial.penalty_along
    gradient: Any = Multinomial.gradient
    primal: Any = Multinomial.primal
    dual: Any = Multinomial.dual
    gap: Any = Multinomial.gap
    offset_bound: Any = Multinomial.offset_bound
    rounding: Any = Multinomial.rounding

    # -- at a point and along a step -----------------------------------------------------------------------------

    def new_point(self) -> Point:
        return Point()

    def move_to(self, at: Point, theta: np.ndarray, tick: Tick = None) -> float:
        at.hessian = None
        loss, at.Z, at.P = self.add(work.move_to, theta, makes=2, rows=True, tick=tick)
        return loss

    def move(self, at: Point, along: InBlocks, t: float) -> float:
        at.hessian = None
        loss, at.Z, at.P = self.add(work.move, t, over=(at.Z, along), makes=2)
        return loss

    def slopes_along(self, at: Point, along: InBlocks, ts: Sequence[float]) -> list[tuple[float, float]]:
        return self.add(work.slopes_along, tuple(ts), over=(at.Z, along)).tolist()

    def bends(self, at: Point, k: int, j: int) -> InBlocks:
        found = self.make(work.bends, k, j, over=(at.P,))
        found.known["of"] = at, k * (k + 1) // 2 + j
        return found

    def mean_bends(self, at: Point) -> InBlocks:
        return self.make(work.mean_bends, over=(at.P,))

    def shares(self, at: Point) -> np.ndarray:
        return self.fetch(self.c)[:, None] * self.fetch(at.P)

    def gram(
        self, weights: InBlocks, inside: InBlocks | None = None, tick: Tick = None, *, single: bool = False
    ) -> np.ndarray:
        """One block of the Hessian; all of them come with the first, where there is memory."""
        at, place = weights.known.get("of", (None, 0))
        if at is None or 4 * self.K * (self.K + 1) * (self.d + 1) ** 2 > self.most_written:
            return super().gram(weights, inside, tick, single=single)
        if at.hessian is None:
            at.hessian = self.add(work.grams, over=(at.P,), rows=True, tick=tick)
        return at.hessian[place].copy()

    def hessian_times(self, at: Point, V: np.ndarray, tick: Tick = None) -> np.ndarray:
        return self.add(work.hessian_times, V, over=(at.P,), rows=True, tick=tick)

    # -- values --------------------------------------------------------------------------------------------------

    def loss_sum(self, Z: InBlocks) -> float:
        return self._knows(Z, "loss", lambda: self.add(work.loss_sum, over=(Z,)))

    def _dual_sums(self, U: InBlocks) -> tuple[np.ndarray, float]:
        return self._knows(U, "dual", lambda: self.add(work.dual_sums, over=(U,)))

    def entropy(self, U: InBlocks) -> float:
        return self._dual_sums(U)[1]

    def column_sums(self, U: InBlocks) -> np.ndarray:
        return self._dual_sums(U)[0]

    def rounding_sums(self, U: InBlocks) -> tuple[float, np.ndarray, float]:
        return self.add(work.rounding_sums, over=(U,))

    # -- maps ----------------------------------------------------------------------------------------------------

    def dual_at(self, at: Point) -> InBlocks:
        """With sum u x, which the gradient asks for next."""
        (combined, sums, entropy), U = self.add(work.dual_at, over=(at.P,), makes=1, rows=True)
        U.known.update(combined=combined, dual=(sums, entropy))
        return U

    def balanced_dual_at(self, at: Point) -> InBlocks:
        return self._shifted(at.Z)

    def dual_from_primal(self, theta: np.ndarray, Z: InBlocks | None = None) -> InBlocks:
        return self._shifted(self.scores(theta) if Z is None else Z)

    def _shifted(self, Z: InBlocks) -> InBlocks:
        b = self.best_offsets(Z) if self.free else np.zeros(self.K)
        return self.make(work.shifted, b, over=(Z,))

    def repair(self, U: InBlocks) -> InBlocks:
        return self.make(work.repaired, over=(U,))

    def best_offsets(self, Z: InBlocks, steps: int = 50) -> np.ndarray:
        """As `Multinomial.best_offsets`: a round for each look."""
        b, least = np.zeros(self.K), np.inf
        value, g, H = self.add(work.balance, b, over=(Z,))
        for _ in range(steps):
            steepest = float(np.abs(g).max())
            if steepest <= 1e-14 * self.class_weights.sum() or steepest > 0.5 * least:
                break
            step = np.linalg.lstsq(H, -g, rcond=1e-13)[0]
            if -float(g @ step) <= 1e-12 * abs(value):
                b, least = b + step, steepest
                value, g, H = self.add(work.balance, b, over=(Z,))
                continue
            t = 1.0
            while t > 1e-6:
                new, g, H = self.add(work.balance, b + t * step, over=(Z,))
                if new <= value * (1 + 1e-15):
                    break
                t *= 0.5
            b, value = b + t * step, min(new, value)
        return b - b.mean()

    def primal_from_dual(self, U: InBlocks) -> np.ndarray:
        theta = self.combine(U)
        if self.free:
            theta[:, -1] = 0.0
            theta[:, -1] = self.best_offsets(self.scores(theta))
        return theta
