"""Triton's loops over vectors with an entry for each variable. Scalars come in a tensor of float64: see `triton_gaussian`."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add_slopes(p, along, weights, lengths, out, n, blocks, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    """out[k, block] = the block's part of sum_i weights_i clip(p_i + lengths_k along_i, 0, 1)."""
    block = tl.program_id(0)
    i = block * BLOCK + tl.arange(0, BLOCK)
    here = i < n
    own, step = tl.load(p + i, mask=here, other=0.0), tl.load(along + i, mask=here, other=0.0)
    heavy = tl.load(weights + i, mask=here, other=0.0)
    for k in range(COUNT):
        length = tl.load(lengths + k)
        share = tl.minimum(tl.maximum(own + length * step, 0.0), 1.0)
        tl.store(out + k * blocks + block, tl.sum(share * heavy, 0))
