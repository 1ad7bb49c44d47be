"""Sums along a step by Triton: one look at the vectors for all lengths."""

from __future__ import annotations

from typing import Any

import torch
import triton

from gapless.backends.gpu.loops import triton_vectors as kernels

Tensor = Any


def slopes_along(p: Tensor, along: Tensor, weights: Tensor, lengths: Tensor) -> Tensor:
    """sum_i weights_i clip(p_i + s along_i, 0, 1) for each length s."""
    n, count, block = p.numel(), lengths.numel(), 1024
    blocks = triton.cdiv(n, block)
    out = torch.empty((count, blocks), dtype=torch.float64, device=p.device)
    kernels.add_slopes[(blocks,)](p, along, weights, lengths, out, n, blocks, COUNT=count, BLOCK=block, num_warps=4)
    return out.sum(1)
