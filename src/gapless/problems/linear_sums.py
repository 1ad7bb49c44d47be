"""Compiled sums of a linear problem over its examples, block by block.

A kernel works on the blocks first ... last - 1 of `BLOCK` examples.  It stores the sum of each block by itself, and numpy adds
these pairwise: any number of threads gives the same bits, and `linear_rounding` bounds the error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gapless._compile.jit import compiled
from gapless._runtime.threads import run_in_parts
from gapless.losses.verbs import conjugate, curvature, dual_of, slope, value
from gapless.rows.verbs import row_axpy, row_dot

#: Examples whose terms are added one after the other; the rounding bounds assume this number.
BLOCK = 512
#: Examples of a slice: a vector of this length (2 MB) is made again for each slice where one of length n would take memory.
SLICE = 1 << 18


class WeightedLoss(NamedTuple):
    """sum_i c_i l(y_i, z_i), as a function of the scores z."""

    loss: Any
    y: np.ndarray
    c: np.ndarray


class LossAtScores(NamedTuple):
    """Scores of all examples, and c l' and c l'' there: arrays that a kernel fills."""

    z: np.ndarray
    g: np.ndarray
    h: np.ndarray


def n_blocks(n: int) -> int:
    """The number of blocks of n examples; the last may be shorter."""
    return -(-n // BLOCK)


def share_blocks(function: Callable[[int, int], Any], blocks: int) -> None:
    """Call function(first, last) on ranges of blocks, in the threads of the team."""
    least_blocks = 100  # of a thread: 51,200 examples are worth waking it
    parts = blocks // least_blocks
    if parts < 2:
        function(0, blocks)
        return
    ends = [blocks * k // parts for k in range(parts + 1)]
    run_in_parts(lambda k: function(ends[k], ends[k + 1]), parts)


def sum_blocks(kernel: Callable[..., Any], n: int, *args: Any) -> float:
    """The sum of what the kernel writes for each block of n examples."""
    sums = np.empty(n_blocks(n))
    share_blocks(lambda first, last: kernel(*args, sums, first, last), sums.size)
    return float(sums[0]) if sums.size == 1 else float(sums.sum())


# -- the loss, its derivatives and its conjugate -----------------------------------------------------------------


@compiled(vectorise=True)
def add_losses(weighted, z, sums, first, last):
    """sum c l at the scores z."""
    loss, y, c = weighted
    for k in range(first, last):
        start, stop = k * BLOCK, min(z.size, (k + 1) * BLOCK)
        zs, ys, cs = z[start:stop], y[start:stop], c[start:stop]
        s = 0.0
        for i in range(zs.size):
            s += cs[i] * value(loss, zs[i], ys[i])
        sums[k] = s


@compiled(vectorise=True)
def differentiate_along(weighted, at, along, t, sums, first, last):
    """c l' and c l'' at the scores z + t along, into at.g and at.h; the sums of c l, g along and h along^2."""
    # Written first and summed after: a loop that does both is a vector loop only where no two arrays lie too near each
    # other, so that its sums would depend on where the memory happened to be.  Views of a block, because LLVM asks that
    # once for all blocks, and takes the last one to be as long as the others.
    loss, y, c = weighted
    z, g, h = at
    losses = np.empty(BLOCK)
    for k in range(first, last):
        start, stop = k * BLOCK, min(z.size, (k + 1) * BLOCK)
        zs, ys, cs, steps = z[start:stop], y[start:stop], c[start:stop], along[start:stop]
        gs, hs = g[start:stop], h[start:stop]
        for i in range(zs.size):
            moved = zs[i] + t * steps[i]
            losses[i] = cs[i] * value(loss, moved, ys[i])
            gs[i] = cs[i] * slope(loss, moved, ys[i])
            hs[i] = cs[i] * curvature(loss, moved, ys[i])
        s, ga, haa = 0.0, 0.0, 0.0
        for i in range(zs.size):
            s += losses[i]
            ga += gs[i] * steps[i]
            haa += hs[i] * steps[i] * steps[i]
        sums[k, 0] = s
        sums[k, 1] = ga
        sums[k, 2] = haa


@compiled(vectorise=True)
def differentiate_rows(weighted, rows, theta, at, total, out, first, last, rows_in_block):
    """The scores of rows first ... last - 1, c l' and c l'' into ``at``; sum c l into ``total``, sum c l' x into ``out``."""
    # A block of rows is read for its scores and, while it is still in the cache, for its sum.
    loss, y, c = weighted
    z, g, h = at
    losses, block = np.empty(BLOCK), np.empty(out.size)
    for top in range(first, last, rows_in_block):
        bottom = min(last, top + rows_in_block)
        for i in range(top, bottom):
            z[i] = row_dot(rows, i, theta)
        for start in range(top, bottom, BLOCK):
            stop = min(bottom, start + BLOCK)
            zs, ys, cs, gs, hs = z[start:stop], y[start:stop], c[start:stop], g[start:stop], h[start:stop]
            for i in range(zs.size):
                losses[i] = cs[i] * value(loss, zs[i], ys[i])
                gs[i] = cs[i] * slope(loss, zs[i], ys[i])
                hs[i] = cs[i] * curvature(loss, zs[i], ys[i])
            s = 0.0
            for i in range(zs.size):
                s += losses[i]
            total[0] += s
        for j in range(block.size):
            block[j] = 0.0
        for i in range(top, bottom):
            if g[i] != 0.0:
                row_axpy(rows, i, g[i], block)
        for j in range(out.size):
            out[j] += block[j]


@compiled(vectorise=True)
def differentiate_in_offset(weighted, z, b, sums, first, last):
    """The sums of c l' and of c l'' at the scores z + b."""
    loss, y, c = weighted
    for k in range(first, last):
        start, stop = k * BLOCK, min(z.size, (k + 1) * BLOCK)
        zs, ys, cs = z[start:stop], y[start:stop], c[start:stop]
        g, h = 0.0, 0.0
        for i in range(zs.size):
            g += cs[i] * slope(loss, zs[i] + b, ys[i])
            h += cs[i] * curvature(loss, zs[i] + b, ys[i])
        sums[k, 0] = g
        sums[k, 1] = h


@compiled(vectorise=True)
def turn_scores_into_dual(weighted, u):
    """Replace the scores in u by the dual point -c l' at them."""
    loss, y, c = weighted
    for i in range(u.size):
        u[i] = c[i] * dual_of(loss, u[i], y[i])


@compiled(vectorise=True)
def subtract_conjugates(weighted, u, sums, first, last):
    """- sum c l*(y, -u/c)"""
    loss, y, c = weighted
    for k in range(first, last):
        start, stop = k * BLOCK, min(u.size, (k + 1) * BLOCK)
        us, ys, cs = u[start:stop], y[start:stop], c[start:stop]
        s = 0.0
        for i in range(us.size):
            s -= cs[i] * conjugate(loss, -us[i] / cs[i], ys[i])
        sums[k] = s


@compiled(vectorise=True)
def add_conjugate_sizes(weighted, u, sums, first, last):
    """sum c |l*(y, -u/c)|"""
    loss, y, c = weighted
    for k in range(first, last):
        start, stop = k * BLOCK, min(u.size, (k + 1) * BLOCK)
        us, ys, cs = u[start:stop], y[start:stop], c[start:stop]
        s = 0.0
        for i in range(us.size):
            s += abs(cs[i] * conjugate(loss, -us[i] / cs[i], ys[i]))
        sums[k] = s


# -- masses of c -------------------------------------------------------------------------------------------------


@compiled(vectorise=True)
def add_mass_below(t, c, end, sums, first, last):
    """sum c where t < end"""
    for k in range(first, last):
        start, stop = k * BLOCK, min(t.size, (k + 1) * BLOCK)
        ts, cs = t[start:stop], c[start:stop]
        s = 0.0
        for i in range(ts.size):
            s += cs[i] * (1.0 if ts[i] < end else 0.0)
        sums[k] = s


@compiled
def fill_bins(z, y, c, low, per_unit, bins, mass):
    """The bin of each y - z, 0 for all below ``low`` and the last for all above the bins; and the mass of c in each bin."""
    top = mass.size - 1
    for i in range(z.size):
        place = (y[i] - z[i] - low) * per_unit + 1.0
        bins[i] = np.int16(min(place if place > 0.0 else 0.0, float(top)))  # NaN goes to bin 0
    for i in range(z.size):
        mass[bins[i]] += c[i]


# -- the box 0 <= uy <= c, or 0 <= uy where it is not bounded ---------------------------------------------------------


@compiled(vectorise=True)
def move_into_box(u, y, c, bounded, out, first, last):
    """The nearest point of the box, into ``out``."""
    start, stop = first * BLOCK, min(u.size, last * BLOCK)
    us, ys, cs, into = u[start:stop], y[start:stop], c[start:stop], out[start:stop]
    for i in range(us.size):
        alpha = max(us[i] * ys[i], 0.0)
        into[i] = (min(alpha, cs[i]) if bounded else alpha) * ys[i]


@compiled(vectorise=True)
def add_room_to_move(u, y, c, bounded, lower, sums, first, last):
    """How far u can go down (or up): summed over the examples strictly inside their box, and over all.

    An example whose box has no end on that side counts as 0, so that only the class whose sum is too large gives way.
    """
    for k in range(first, last):
        start, stop = k * BLOCK, min(u.size, (k + 1) * BLOCK)
        us, ys, cs = u[start:stop], y[start:stop], c[start:stop]
        inside, everybody = 0.0, 0.0
        for i in range(us.size):
            alpha = us[i] * ys[i]
            falls = (ys[i] > 0) == lower
            room = alpha if falls else (cs[i] - alpha if bounded else 0.0)
            everybody += room
            inside += room * (1.0 if (alpha > 0.0) & ((alpha < cs[i]) | (not bounded)) else 0.0)
        sums[k, 0] = inside
        sums[k, 1] = everybody


@compiled(vectorise=True)
def move_towards_balance(u, y, c, bounded, lower, inside_only, part, first, last):
    """Move u down (or up) by this part of its room: all examples, or only the examples strictly inside their box."""
    start, stop = first * BLOCK, min(u.size, last * BLOCK)
    us, ys, cs = u[start:stop], y[start:stop], c[start:stop]
    for i in range(us.size):
        alpha = us[i] * ys[i]
        falls = (ys[i] > 0) == lower
        room = alpha if falls else (cs[i] - alpha if bounded else 0.0)
        moves = (not inside_only) | ((alpha > 0.0) & ((alpha < cs[i]) | (not bounded)))
        alpha += (-part * room if falls else part * room) if moves else 0.0
        alpha = max(alpha, 0.0)
        us[i] = (min(alpha, cs[i]) if bounded else alpha) * ys[i]
