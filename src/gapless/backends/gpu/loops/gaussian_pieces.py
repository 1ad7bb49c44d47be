"""A Gaussian's values from float16 pieces on tensor cores: x = hi + lo, <x, z> = hi hi + hi lo + lo hi, exp2, sums in float64.

Rows are x sqrt(2 gamma log2(e)), so that K = 2^(<x, z> - |x|^2/2 - |z|^2/2).  hi has 11 bits and lo the next 11; what is left
out, lo lo and what lo rounds away, is at most 2^-22 of |x_k||z_k| each.  Rows of whole steps, which float16 holds, have no lo.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import triton

from gapless.backends.gpu.loops import triton_gaussian as kernels

Tensor = Any


@dataclass(frozen=True, eq=False)
class Pieces:
    """Rows of float16 pieces, padded to a width that tiles divide; ``half`` is -|x|^2/2, ``after`` what a product is times."""

    hi: Tensor
    lo: Tensor | None
    half: Tensor
    after: float

    def each(self, change: Callable[[Tensor], Tensor]) -> Pieces:
        return Pieces(change(self.hi), None if self.lo is None else change(self.lo), change(self.half), self.after)

    def add(self, columns: Tensor, v: Tensor, at: Tensor | None = None) -> Tensor:
        """sum_j v_j K[at, columns_j], roughly."""
        left = self if at is None else self.each(lambda part: part[at])
        right = self.each(lambda part: part[columns])
        n, q, width = left.hi.shape[0], right.hi.shape[0], self.hi.shape[1]
        device, split = self.hi.device, self.lo is not None
        narrow = width <= 128
        high, wide = ((256, 64) if split else (64, 128)) if narrow else (128, 128)
        warps = 8 if split or not narrow else 4
        if device.type != "cuda":  # the interpreter: small tiles
            high, wide = 32, 32
        blocks = triton.cdiv(n, high)
        parts = max(1, min(triton.cdiv(q, 512), triton.cdiv(132 * 4, blocks)))
        share = triton.cdiv(triton.cdiv(q, parts), wide) * wide
        parts = triton.cdiv(q, share)
        out = torch.empty((parts, n), dtype=torch.float64, device=device)
        kernel = kernels.add_narrow if narrow else kernels.add_wide
        lo_left, lo_right = (left.lo, right.lo) if split else (left.hi, right.hi)
        kernel[(blocks, parts)](
            left.hi, lo_left, left.half, right.hi, lo_right, right.half, v.float().contiguous(), out, n, q, share,
            self.after, WIDTH=width, DEEP=min(64, width), HIGH=high, WIDE=wide, SPLIT=split, num_warps=warps, num_stages=3,
        )  # fmt: skip
        return out[0] if parts == 1 else out.sum(0)


def cut_into_pieces(X: Tensor, gamma: float) -> Pieces:
    """The pieces of rows, float64."""
    n, d = X.shape
    width = 16
    while width < d and width < 64:
        width *= 2
    if width < d:
        width = -(-d // 64) * 64
    hi = torch.zeros((n, width), dtype=torch.float16, device=X.device)
    square = 2.0 * gamma * math.log2(math.e)
    step = _whole_step(X)
    if step is not None:
        counts = (X / step).round()
        hi[:, :d] = counts.half()
        after = square * step * step
        return Pieces(hi, None, (-0.5 * after * (counts * counts).sum(1)).float(), after)
    rows = (X - X.mean(0)) * math.sqrt(square)
    hi[:, :d] = rows.half()
    rest = rows - hi[:, :d].double()
    lo = torch.zeros_like(hi)
    lo[:, :d] = rest.half()
    half = -0.5 * (rows * rows).sum(1)
    return Pieces(hi, lo, half.float(), 1.0)


def _whole_step(X: Tensor) -> float | None:
    """The step of which every number of X is 0, 1, -1, ... 2048 times; None where there is none."""
    most, rounding = 2048, 2.0**-22  # counts that float16 holds; float32's neighbours of such numbers
    size = X.abs()
    top = float(size.max()) if X.numel() else 0.0
    if not 0.0 < top < math.inf:
        return None
    first = size[: min(len(X), 256)]
    some = first[first > 0.0]
    for step in (1.0, 1.0 / 255.0, float(some.min()) if some.numel() else 1.0):
        if top <= most * step and bool(((X / step).round() * step - X).abs().max() <= rounding * min(top, 1.0)):
            return step
    return None
