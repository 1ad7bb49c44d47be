"""Sequential minimal optimisation of many small problems at once: a program for each pair of classes, no host between steps."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def fill(hi, lo, half, out, n, after, WIDTH: tl.constexpr, DEEP: tl.constexpr, SIDE: tl.constexpr, SPLIT: tl.constexpr):
    """out[i, j] = 2^(<x_i, x_j> after + halves), in out's precision."""
    rows, columns = tl.program_id(0) * SIDE + tl.arange(0, SIDE), tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    k = tl.arange(0, DEEP)
    here, there = rows < n, columns < n
    far, away = rows.to(tl.int64), columns.to(tl.int64)
    z = tl.zeros([SIDE, SIDE], tl.float32)
    for deep in range(0, WIDTH, DEEP):
        a_place, b_place = far[:, None] * WIDTH + (deep + k)[None, :], away[None, :] * WIDTH + (deep + k)[:, None]
        a_hi = tl.load(hi + a_place, mask=here[:, None], other=0.0)
        b_hi = tl.load(hi + b_place, mask=there[None, :], other=0.0)
        z = tl.dot(a_hi, b_hi, z)
        if SPLIT:
            z = tl.dot(a_hi, tl.load(lo + b_place, mask=there[None, :], other=0.0), z)
            z = tl.dot(tl.load(lo + a_place, mask=here[:, None], other=0.0), b_hi, z)
    own, other = tl.load(half + rows, mask=here, other=0.0), tl.load(half + columns, mask=there, other=0.0)
    value = tl.exp2(tl.minimum(z * after + (own[:, None] + other[None, :]), 0.0))
    tl.store(
        out + far[:, None] * n + away[None, :], value.to(out.dtype.element_ty), mask=here[:, None] & there[None, :]
    )


@triton.jit
def _better(gain_a, at_a, v_a, u_a, k_a, c_a, gain_b, at_b, v_b, u_b, k_b, c_b):
    """The entry of the larger gain; of equal ones the first."""
    first = (gain_a > gain_b) | ((gain_a == gain_b) & (at_a < at_b))
    return (
        tl.where(first, gain_a, gain_b), tl.where(first, at_a, at_b), tl.where(first, v_a, v_b), tl.where(first, u_a, u_b),
        tl.where(first, k_a, k_b), tl.where(first, c_a, c_b),
    )  # fmt: skip


@triton.jit
def solve_pairs(K, n, starts, counts, first, second, cost, U, enough, most, steps, LANES: tl.constexpr):
    """u of each pair into U[pair, row]: the rows of class ``first`` are +1.  It ends where the gap is ``enough`` of P."""
    pair = tl.program_id(0)
    a, b = tl.load(first + pair), tl.load(second + pair)
    start_a, n_a, start_b, n_b = tl.load(starts + a), tl.load(counts + a), tl.load(starts + b), tl.load(counts + b)
    i = tl.arange(0, LANES)
    own, valid = i < n_a, i < n_a + n_b
    row = tl.where(own, start_a + i, start_b + i - n_a)
    c = tl.load(cost + row, mask=valid, other=0.0)
    y = tl.where(own, 1.0, -1.0)
    low, high = tl.where(own, 0.0, -c), tl.where(own, c, 0.0)
    u = tl.zeros([LANES], tl.float32)
    v = y
    count = 0
    going = True
    while going:
        up = tl.where(valid & (u < high), v, -3e38)
        g_i, at_i, _, u_i, _, c_i = tl.reduce((up, i, v, u, v, c), 0, _better)
        row_i = tl.where(at_i < n_a, start_a + at_i, start_b + at_i - n_a).to(tl.int64)
        k_i = tl.load(K + row_i * n + row, mask=valid, other=0.0).to(tl.float32)
        can = valid & (u > low)
        d = g_i - v
        curve = tl.maximum(2.0 - 2.0 * k_i, 1e-6)
        gain = tl.where(can & (d > 0), d * d / curve, -1.0)
        _, at_j, v_j, u_j, k_ij, c_j = tl.reduce((gain, i, v, u, k_i, c), 0, _better)
        lowest = tl.min(tl.where(can, v, 3e38), 0)
        apart = g_i - lowest
        if count % 64 == 0:
            h = y * (v - 0.5 * (g_i + lowest))
            size = tl.abs(u)
            hinge = tl.maximum(h, 0.0)
            gap = tl.sum(tl.where(valid, (c - size) * hinge + size * tl.maximum(-h, 0.0), 0.0), 0)
            primal = tl.sum(tl.where(valid, 0.5 * u * (y - v) + c * hinge, 0.0), 0)
            going = gap > enough * primal
        going = going & (apart > 1e-6) & (count < most)
        if going:
            top = tl.where(at_i < n_a, c_i, 0.0)
            bottom = tl.where(at_j < n_a, 0.0, -c_j)
            room_i, room_j = top - u_i, u_j - bottom
            step = tl.minimum((g_i - v_j) / tl.maximum(2.0 - 2.0 * k_ij, 1e-6), tl.minimum(room_i, room_j))
            row_j = tl.where(at_j < n_a, start_a + at_j, start_b + at_j - n_a).to(tl.int64)
            k_j = tl.load(K + row_j * n + row, mask=valid, other=0.0).to(tl.float32)
            v = v - step * (k_i - k_j)
            new_i, new_j = tl.where(step >= room_i, top, u_i + step), tl.where(step >= room_j, bottom, u_j - step)
            u = tl.where(i == at_i, new_i, tl.where(i == at_j, new_j, u))
            count += 1
    tl.store(U + pair.to(tl.int64) * n + row, u, mask=valid)
    tl.store(steps + pair, count)
