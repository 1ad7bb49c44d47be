"""Least squares over rows in blocks. See `blocks`."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from gapless.problems.least_squares import LeastSquares
from gapless.rows.second_moments import Columns, residuals
from tests.problems.blocks import InBlocks, add


class BlockTargets:
    """`LeastSquares` over blocks; what a block alone would say of means and lengths is put together first."""

    one_by_one, look, common = False, None, None

    def __init__(self, parts: list[LeastSquares]) -> None:
        first = parts[0]
        self.parts, self.n, self.d, self.K = parts, sum(p.n for p in parts), first.d, first.K
        self.alpha, self.offset, self.sparse = first.alpha, first.offset, first.sparse
        self.mass = math.fsum(p.mass for p in parts)
        self.mean_y = add(p.mass * p.mean_y for p in parts) / self.mass
        self.length = np.sqrt(add(p.length**2 for p in parts))
        self.largest = np.max([p.largest for p in parts], axis=0)
        self.tss = add(p.sums((p.Y - self.mean_y) ** 2) for p in parts)
        spread = np.max([np.abs(p.Y - first.Y[0]).max(axis=0) for p in parts], axis=0)
        self.varying = (self.tss, spread) if self.offset else (self.length**2, self.largest)
        self.columns = self.put_together([p.columns for p in parts])

    @classmethod
    def cut(cls, X, Y, s, alpha, offset, blocks):
        ends = np.linspace(0, len(Y), blocks + 1).astype(int)
        cuts = [slice(a, b) for a, b in pairwise(ends)]
        return cls([LeastSquares.build(X[p], Y[p], None if s is None else s[p], alpha, offset) for p in cuts])

    def put_together(self, found):
        mean = add(p.mass * size.mean for p, size in zip(self.parts, found)) / self.mass
        raw2 = add(size.raw**2 for size in found)
        away = add(size.centred**2 + p.mass * (size.mean - mean) ** 2 for p, size in zip(self.parts, found))
        return Columns(mean, np.sqrt(raw2), np.sqrt(away))

    scales, orthogonality = LeastSquares.scales, LeastSquares.orthogonality
    orthogonality_error, residual_error = LeastSquares.orthogonality_error, LeastSquares.residual_error
    gap_of, _assembled = LeastSquares.gap_of, LeastSquares._assembled

    def know_columns(self, size):
        self.columns = size

    def typical_row(self):
        return self.parts[0].typical_row()

    def moments(self, centre, centre_y, tick=None):
        return add(p.moments(centre, centre_y, tick) for p in self.parts)

    def triangle(self, centre, centre_y, scale, tick=None):
        found = [p.triangle(centre, centre_y, scale, tick) for p in self.parts]
        return np.linalg.qr(np.vstack(found), mode="r")

    def measure(self, W, b, tick, centred):
        centre = self.columns.mean if self.offset else np.zeros(self.d)
        found = [residuals(p.rows, p.s, p.Y, W, b, centre, None, tick, centred=centred) for p in self.parts]
        gradient = add(f[1] for f in found)
        gradient[:-1] -= self.alpha * W
        if centred or not self.offset:
            gradient[-1] = 0.0
        return InBlocks(f[0] for f in found), gradient

    def residuals(self, W, b, tick=None):
        return self.measure(W, b, tick, False)

    def centred_residuals(self, W, tick=None):
        b = self.mean_y if self.offset else np.zeros(self.K)
        left, gradient = self.measure(W, b, tick, True)
        return left, gradient, self.residual_error(W, b)

    def rss(self, left):
        return add(p.sums(r * r) for p, r in zip(self.parts, left.parts))

    def dual_point(self, k, left):
        pairs = list(zip(self.parts, left.parts))
        mean = math.fsum(float(p.sums(r)[k]) for p, r in pairs) / self.mass if self.offset else 0.0
        return InBlocks((r[:, k] - mean) * (1.0 if p.s is None else p.s) / self.alpha[k] for p, r in pairs)

    def gap(self, k, w, b, u):
        return self.gap_of(w, [piece for p, v in zip(self.parts, u.parts) for piece in p.gap_pieces(k, w, b, v)])

    def own_gap(self, k, w, b):
        return None

    def zero_duals(self):
        return [InBlocks(np.zeros(p.n) for p in self.parts) for _ in range(self.K)]

    def put_dual(self, duals, k, u):
        return [*(duals or ()), u]

    def stretched(self, u, t):
        return InBlocks(t * v for v in u.parts)
