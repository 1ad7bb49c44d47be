"""`LeastSquares` over blocks; what a block alone would say of means and lengths is put together first."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from gapless.backends.blocks import work_targets as work
from gapless.backends.blocks.walk import InBlocks, Job, Tick, Walk
from gapless.problems.least_squares import Gap, LeastSquares
from gapless.rows.second_moments import Columns


class BlockTargets:
    """Rows with K targets and weights s, in the blocks of a walk."""

    one_by_one, look, common = False, None, None

    def __init__(self, walk: Walk, spec: work.TargetSpec, base: tuple[InBlocks, InBlocks], *, sparse: bool) -> None:
        self.walk, self.spec, self.base, self.sparse = walk, spec, base, sparse
        self.n, self.d, self.K = sum(walk.sizes), walk.d, spec.alpha.size
        self.alpha, self.offset = spec.alpha, spec.offset
        found = [f for f in self._ask("each", work.facts)[0] if np.isfinite(f.first).all()]
        self.mass = math.fsum(f.mass for f in found)
        self.mean_y = np.sum([f.total for f in found], axis=0) / self.mass
        self.length = np.sqrt(np.sum([f.squares for f in found], axis=0))
        self.largest = np.max([f.largest for f in found], axis=0)
        about = self._ask("each", work.spread, self.mean_y, found[0].first)[0]
        off = np.sum([a[1] for a in about], axis=0)
        self.tss = np.maximum(np.sum([a[0] for a in about], axis=0) - off * (off / self.mass), 0.0)
        apart = np.max([a[2] for a in about], axis=0)
        self.varying = (self.tss, apart) if self.offset else (self.length**2, self.largest)
        self._of_left: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def _ask(self, wants: str, do: Any, *args: Any, **more: Any) -> list[Any]:
        job = Job(do, self.spec, args, more.get("makes", 0), more.get("rows", False), wants)
        return self.walk.each(job, self.base, more.get("over", ()), more.get("tick"))

    @cached_property
    def columns(self) -> Columns:
        found = self._ask("each", work.column_sizes, rows=True)[0]
        masses = [f.mass for f in self._ask("each", work.facts)[0]]
        mean = np.sum([m * size.mean for m, size in zip(masses, found)], axis=0) / self.mass
        raw2 = np.sum([size.raw**2 for size in found], axis=0)
        away = np.sum([size.centred**2 + m * (size.mean - mean) ** 2 for m, size in zip(masses, found)], axis=0)
        return Columns(mean, np.sqrt(raw2), np.sqrt(away))

    # Those that need no more of a problem than its verbs.
    scales: Any = LeastSquares.scales
    orthogonality: Any = LeastSquares.orthogonality
    orthogonality_error: Any = LeastSquares.orthogonality_error
    residual_error: Any = LeastSquares.residual_error
    gap_of: Any = LeastSquares.gap_of
    _assembled: Any = LeastSquares._assembled

    def know_columns(self, size: Columns) -> None:
        self.__dict__["columns"] = size

    def typical_row(self) -> np.ndarray:
        """The median of those of the blocks: exact for a constant column."""
        found = np.sort(self._ask("each", work.typical_row, rows=True)[0], axis=0)
        return np.asarray(found[(len(found) - 1) // 2])

    def moments(self, centre: np.ndarray, centre_y: np.ndarray, tick: Tick = None) -> np.ndarray:
        return self._ask("sum", work.moments, centre, centre_y, rows=True, tick=tick)[0]

    def triangle(self, centre: Any, centre_y: np.ndarray, scale: np.ndarray, tick: Tick = None) -> np.ndarray:
        found = self._ask("each", work.triangle, centre, centre_y, scale, rows=True, tick=tick)[0]
        return np.asarray(np.linalg.qr(np.vstack(found), mode="r"))

    def _measure(self, W: np.ndarray, b: np.ndarray, tick: Tick, centred: bool) -> tuple[InBlocks, np.ndarray]:
        centre = self.columns.mean if self.offset else np.zeros(self.d)
        (gradient, rss, sums), left = self._ask(
            "sum", work.measure, W, b, centre, centred, makes=1, rows=True, tick=tick
        )
        left.known.update(rss=rss, sums=sums)
        gradient[:-1] -= self.alpha * W
        if centred or not self.offset:
            gradient[-1] = 0.0
        return left, gradient

    def residuals(self, W: np.ndarray, b: np.ndarray, tick: Tick = None) -> tuple[InBlocks, np.ndarray]:
        kept = self.__dict__.get("_measured")
        if kept is not None and np.array_equal(kept[0], W) and np.array_equal(kept[1], b):
            return kept[2], kept[3].copy()
        left, gradient = self._measure(W, b, tick, False)
        self._measured = (W.copy(), b.copy(), left, gradient.copy())
        return left, gradient

    def centred_residuals(self, W: np.ndarray, tick: Tick = None) -> tuple[InBlocks, np.ndarray, np.ndarray]:
        b = self.mean_y if self.offset else np.zeros(self.K)
        left, gradient = self._measure(W, b, tick, True)
        return left, gradient, self.residual_error(W, b)

    def rss(self, left: InBlocks) -> np.ndarray:
        return np.asarray(left.known["rss"])

    def dual_point(self, k: int, left: InBlocks) -> InBlocks:
        mean = float(left.known["sums"][k]) / self.mass if self.offset else 0.0
        return self._ask("nothing", work.dual_point, k, mean, over=(left,), makes=1)[1]

    def gap(self, k: int, w: np.ndarray, b: float, u: InBlocks) -> Gap:
        pieces = self._ask("each", work.gap_pieces, k, w, b, over=(u,), rows=True)[0]
        found: Gap = self.gap_of(w, [piece for block in pieces for piece in block])
        return found

    def own_gap(self, k: int, w: np.ndarray, b: float) -> None:
        return None

    def zero_duals(self) -> list[InBlocks]:
        return [self._ask("nothing", work.zero_dual, makes=1)[1] for _ in range(self.K)]

    def put_dual(self, duals: list[InBlocks] | None, k: int, u: InBlocks) -> list[InBlocks]:
        return [*(duals or ()), u]

    def stretched(self, u: InBlocks, t: float) -> InBlocks:
        return self._ask("nothing", work.stretched, t, over=(u,), makes=1)[1]
