"""Products with dense float32 rows by Triton."""

from __future__ import annotations

from typing import Any

import torch
import triton

from gapless.backends.gpu.loops import triton_linear as kernels

Tensor = Any


def _tile(X: Tensor) -> tuple[int, int]:
    """The width of a row as a power of two, and rows of a tile."""
    width = max(16, triton.next_power_of_2(X.shape[1]))
    return width, max(4, 8192 // width)


def scores(X: Tensor, w: Tensor) -> Tensor:
    """X w"""
    (n, d), (width, high) = X.shape, _tile(X)
    out = torch.empty(n, dtype=torch.float64, device=X.device)
    kernels.add_scores[(triton.cdiv(n, high),)](X, w.contiguous(), out, n, d, WIDTH=width, HIGH=high, num_warps=4)
    return out


def combine(X: Tensor, u: Tensor) -> Tensor:
    """X'u"""
    (n, d), (width, high) = X.shape, _tile(X)
    blocks = triton.cdiv(n, high)
    programs = min(blocks, 132 * 8)
    out = torch.empty((programs, d), dtype=torch.float64, device=X.device)
    kernels.add_rows[(programs,)](X, u.contiguous(), out, n, d, blocks, WIDTH=width, HIGH=high, num_warps=4)
    return out.sum(0)
