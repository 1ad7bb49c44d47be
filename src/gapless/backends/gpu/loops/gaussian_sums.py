"""Sums of a Gaussian's values in float64, by Triton: for the scores that a certificate is made of."""

from __future__ import annotations

from typing import Any

import torch
import triton

from gapless.backends.gpu.loops import triton_gaussian as kernels

Tensor = Any


def add_float64(own: Tensor, other: Tensor, v: Tensor) -> Tensor:
    """sum_j v_j e^(<x_i, z_j>) of rows [x, -|x|^2/2, 1]; a second column of v must be its absolute values."""
    n, q, d = own.shape[0], other.shape[0], own.shape[1] - 2
    width = max(16, triton.next_power_of_2(d))
    left, right = _pad(own[:, :d], width), _pad(other[:, :d], width)
    high, wide = (64, 64) if own.device.type == "cuda" else (16, 16)
    blocks = triton.cdiv(n, high)
    parts = max(1, min(triton.cdiv(q, 512), triton.cdiv(132 * 4, blocks)))
    share = triton.cdiv(triton.cdiv(q, parts), wide) * wide
    parts = triton.cdiv(q, share)
    both = v.ndim == 2
    first = (v[:, 0] if both else v).to(torch.float64).contiguous()
    out = torch.empty((2 if both else 1, parts, n), dtype=torch.float64, device=own.device)
    kernels.add_double[(blocks, parts)](
        left, own[:, d].contiguous(), right, other[:, d].contiguous(), first, out, n, q, share,
        WIDTH=width, HIGH=high, WIDE=wide, BOTH=both, num_warps=4, num_stages=2,
    )  # fmt: skip
    found = out.sum(1)
    return found.T if both else found[0]


def _pad(rows: Tensor, width: int) -> Tensor:
    if rows.shape[1] == width:
        return rows.contiguous()
    found = torch.zeros((rows.shape[0], width), dtype=torch.float64, device=rows.device)
    found[:, : rows.shape[1]] = rows
    return found
