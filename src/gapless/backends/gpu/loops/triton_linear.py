"""Triton's passes over dense float32 rows: products and sums in float64, at the speed of memory."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add_scores(X, w, out, n, d, WIDTH: tl.constexpr, HIGH: tl.constexpr):
    """out = X w"""
    rows, k = tl.program_id(0) * HIGH + tl.arange(0, HIGH), tl.arange(0, WIDTH)
    here, there = rows < n, k < d
    x = tl.load(X + rows.to(tl.int64)[:, None] * d + k[None, :], mask=here[:, None] & there[None, :], other=0.0)
    own = tl.load(w + k, mask=there, other=0.0)
    tl.store(out + rows, tl.sum(x.to(tl.float64) * own[None, :], 1), mask=here)


@triton.jit
def add_rows(X, u, out, n, d, blocks, WIDTH: tl.constexpr, HIGH: tl.constexpr):
    """out[program] = the program's part of X'u: every so many-th block of rows."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    k = tl.arange(0, WIDTH)
    there = k < d
    found = tl.zeros([WIDTH], tl.float64)
    for block in range(program, blocks, programs):
        rows = block * HIGH + tl.arange(0, HIGH)
        here = rows < n
        x = tl.load(X + rows.to(tl.int64)[:, None] * d + k[None, :], mask=here[:, None] & there[None, :], other=0.0)
        own = tl.load(u + rows, mask=here, other=0.0)
        found += tl.sum(x.to(tl.float64) * own[:, None], 0)
    tl.store(out + program * d + k, found, mask=there)
