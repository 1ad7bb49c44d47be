"""Triton's loops over tiles of a Gaussian Gram matrix. Numbers reach Triton as float32: what needs more comes in a tensor."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add_narrow(
    left_hi, left_lo, left_half, right_hi, right_lo, right_half, v, out, n, q, share, after,
    WIDTH: tl.constexpr, DEEP: tl.constexpr, HIGH: tl.constexpr, WIDE: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    """out[part, i] = sum over the part's columns of v_j 2^(<x_i, z_j> after + halves); the left rows stay in the program."""
    block, part = tl.program_id(0), tl.program_id(1)
    rows, k = block * HIGH + tl.arange(0, HIGH), tl.arange(0, WIDTH)
    inside = rows < n
    a_place = rows.to(tl.int64)[:, None] * WIDTH + k[None, :]
    a_hi = tl.load(left_hi + a_place, mask=inside[:, None], other=0.0)
    if SPLIT:
        a_lo = tl.load(left_lo + a_place, mask=inside[:, None], other=0.0)
    own = tl.load(left_half + rows, mask=inside, other=0.0)
    total = tl.zeros([HIGH], tl.float64)
    first = part * share
    last = tl.minimum(q, first + share)
    for j in range(first, last, WIDE):
        columns = j + tl.arange(0, WIDE)
        there = columns < last
        b_place = columns.to(tl.int64)[None, :] * WIDTH + k[:, None]
        b_hi = tl.load(right_hi + b_place, mask=there[None, :], other=0.0)
        z = tl.dot(a_hi, b_hi)
        if SPLIT:
            b_lo = tl.load(right_lo + b_place, mask=there[None, :], other=0.0)
            z = tl.dot(a_hi, b_lo, z)
            z = tl.dot(a_lo, b_hi, z)
        other = tl.load(right_half + columns, mask=there, other=0.0)
        factor = tl.load(v + columns, mask=there, other=0.0)
        value = tl.exp2(tl.minimum(z * after + (own[:, None] + other[None, :]), 0.0))
        total += tl.sum(value * factor[None, :], 1).to(tl.float64)
    tl.store(out + part.to(tl.int64) * n + rows, total, mask=inside)


@triton.jit
def add_wide(
    left_hi, left_lo, left_half, right_hi, right_lo, right_half, v, out, n, q, share, after,
    WIDTH: tl.constexpr, DEEP: tl.constexpr, HIGH: tl.constexpr, WIDE: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    """The same for rows too long to stay in a program."""
    block, part = tl.program_id(0), tl.program_id(1)
    rows, k = block * HIGH + tl.arange(0, HIGH), tl.arange(0, DEEP)
    inside = rows < n
    far = rows.to(tl.int64)
    own = tl.load(left_half + rows, mask=inside, other=0.0)
    total = tl.zeros([HIGH], tl.float64)
    first = part * share
    last = tl.minimum(q, first + share)
    for j in range(first, last, WIDE):
        columns = j + tl.arange(0, WIDE)
        there = columns < last
        away = columns.to(tl.int64)
        z = tl.zeros([HIGH, WIDE], tl.float32)
        for deep in range(0, WIDTH, DEEP):
            a_place = far[:, None] * WIDTH + (deep + k)[None, :]
            b_place = away[None, :] * WIDTH + (deep + k)[:, None]
            a_hi = tl.load(left_hi + a_place, mask=inside[:, None], other=0.0)
            b_hi = tl.load(right_hi + b_place, mask=there[None, :], other=0.0)
            z = tl.dot(a_hi, b_hi, z)
            if SPLIT:
                b_lo = tl.load(right_lo + b_place, mask=there[None, :], other=0.0)
                z = tl.dot(a_hi, b_lo, z)
                a_lo = tl.load(left_lo + a_place, mask=inside[:, None], other=0.0)
                z = tl.dot(a_lo, b_hi, z)
        other = tl.load(right_half + columns, mask=there, other=0.0)
        factor = tl.load(v + columns, mask=there, other=0.0)
        value = tl.exp2(tl.minimum(z * after + (own[:, None] + other[None, :]), 0.0))
        total += tl.sum(value * factor[None, :], 1).to(tl.float64)
    tl.store(out + part.to(tl.int64) * n + rows, total, mask=inside)


@triton.jit
def add_double(
    left, left_half, right, right_half, v, out, n, q, share, WIDTH: tl.constexpr, HIGH: tl.constexpr, WIDE: tl.constexpr,
    BOTH: tl.constexpr,
):  # fmt: skip
    """Sums of v_j e^(<x_i, z_j> + halves) in float64 throughout; BOTH: also those of |v_j|.

    e^t = 2^m e^r with r = t - m ln 2 in two parts, |r| <= ln(2)/2, and e^r by a polynomial of degree 13: its rest is below 2^-59.
    """
    block, part = tl.program_id(0), tl.program_id(1)
    rows, k = block * HIGH + tl.arange(0, HIGH), tl.arange(0, WIDTH)
    inside = rows < n
    a = tl.load(left + rows.to(tl.int64)[:, None] * WIDTH + k[None, :], mask=inside[:, None], other=0.0)
    own = tl.load(left_half + rows, mask=inside, other=0.0)
    total = tl.zeros([HIGH], tl.float64)
    sizes = tl.zeros([HIGH], tl.float64)
    first = part * share
    last = tl.minimum(q, first + share)
    # Constants of more than float32's digits are made of two.
    ln2_hi = tl.full([], 0.693145751953125, tl.float64)
    ln2_lo = tl.full([], 1.42860682030941723212e-06, tl.float64)
    log2e = tl.full([], 1.4426950408889634, tl.float64)
    for j in range(first, last, WIDE):
        columns = j + tl.arange(0, WIDE)
        there = columns < last
        b = tl.load(right + columns.to(tl.int64)[None, :] * WIDTH + k[:, None], mask=there[None, :], other=0.0)
        z = tl.dot(a, b, out_dtype=tl.float64)
        other = tl.load(right_half + columns, mask=there, other=0.0)
        factor = tl.load(v + columns, mask=there, other=0.0)
        t = tl.maximum(z + (own[:, None] + other[None, :]), -700.0)
        m = tl.floor(t * log2e + 0.5)
        r = (t - m * ln2_hi) - m * ln2_lo
        p = r * 0.0 + tl.full([], 1.6059043836821613e-10, tl.float64)
        p = p * r + tl.full([], 2.08767569878681e-09, tl.float64)
        p = p * r + tl.full([], 2.505210838544172e-08, tl.float64)
        p = p * r + tl.full([], 2.755731922398589e-07, tl.float64)
        p = p * r + tl.full([], 2.7557319223985893e-06, tl.float64)
        p = p * r + tl.full([], 2.48015873015873e-05, tl.float64)
        p = p * r + tl.full([], 0.0001984126984126984, tl.float64)
        p = p * r + tl.full([], 0.001388888888888889, tl.float64)
        p = p * r + tl.full([], 0.008333333333333333, tl.float64)
        p = p * r + tl.full([], 0.041666666666666664, tl.float64)
        p = p * r + tl.full([], 0.16666666666666666, tl.float64)
        p = p * r + 0.5
        p = p * r + 1.0
        p = p * r + 1.0
        power = ((m.to(tl.int64) + 1023) << 52).to(tl.float64, bitcast=True)
        value = tl.where(there[None, :], p * power, 0.0)
        total += tl.sum(value * factor[None, :], 1)
        if BOTH:
            sizes += tl.sum(value * tl.abs(factor)[None, :], 1)
    tl.store(out + part.to(tl.int64) * n + rows, total, mask=inside)
    if BOTH:
        parts = tl.num_programs(1)
        tl.store(out + (parts + part).to(tl.int64) * n + rows, sizes, mask=inside)
