"""Pairs of a working set that fits the cache: the inner loop of sequential minimal optimisation.

    i: the largest v_i that can rise;   j: the largest (v_i - v_j)^2 / (K_ii + K_jj - 2 K_ij) of the lower v_j that can fall

Every loop over all variables runs in vector registers.  A maximum is taken in lanes, each of every 128th entry, since the
compiler does not vectorise a maximum of one number; then only the entries of the best lane are searched for it.  A huge number
is subtracted from the v of variables that are not allowed to move.

Regression has one variable a row, -c <= u <= c, with a price of eps |u| (``kink``): to rise it gains v - eps where u >= 0, and
v + eps below, to fall the same from the other side.  A move ends at 0 at the latest, where the price changes.
"""

from __future__ import annotations

import numpy as np

from gapless._compile.jit import compiled
from gapless.gram.class_pairs import load_row

#: Lanes of a maximum; columns come in whole numbers of them.
LANES = 128


def take_pairs(K, pair_rows, diagonal, v, u, ends, allowed, wanted, most, kink=0.0) -> int:
    """`smo_inner_loop` among the variables that are ``allowed`` to move: those of each of two equalities in turn, a few pairs at
    a time, since what one side gains by more is lost when the other moves. ``ends`` are the lower and upper ones of the boxes;
    every box holds 0, inside where there is a ``kink``."""
    never = -3e38  # added to the v of a variable that cannot move: no such sum is the largest, in float32 neither
    price = kink, never
    boxes = [open_box(u, ends, side, diagonal, v, price) for side in allowed]
    if len(boxes) == 1:
        return smo_inner_loop(K, pair_rows, v, u, *ends, boxes[0], price, wanted, most)
    return _alternate(K, pair_rows, v, u, *ends, np.stack(boxes), price, wanted, most)


def open_box(u, ends, allowed, diagonal, v, price) -> np.ndarray:
    """Rows as long as v: what is added to v where a variable can rise, and to -v where it can fall, much below 0 where it cannot;
    the bend K_ii, 1 beyond."""
    (low, high), (kink, never) = ends, price
    box = np.full((3, v.size), never, dtype=v.dtype)
    rises, falls = allowed & (u < high), allowed & (u > low)
    box[0, : u.size][rises] = np.where(u[rises] < 0.0, kink, -kink)
    box[1, : u.size][falls] = np.where(u[falls] > 0.0, kink, -kink)
    box[2] = 1.0
    box[2, : u.size] = diagonal[: u.size]
    return box


@compiled(vectorise=True, finite=True, inner=True)
def _largest(lanes, half):
    """The maximum of the lanes; ``half`` is written to."""
    a, b = lanes[: LANES // 2], lanes[LANES // 2 :]
    for j in range(LANES // 2):
        half[j] = max(a[j], b[j])
    p, q, r, s = half[0], half[1], half[2], half[3]
    for j in range(4, LANES // 2, 4):
        p = max(p, half[j])
        q = max(q, half[j + 1])
        r = max(r, half[j + 2])
        s = max(s, half[j + 3])
    return max(max(p, q), max(r, s))


@compiled(vectorise=True, finite=True, inner=True)
def _find_largest(lanes, top, v, rises):
    """The place of the maximum ``top`` of v + rises, searched in the first lane that holds it; -1 where none does."""
    for j in range(LANES):
        if lanes[j] == top:
            for k in range(j, v.size, LANES):
                if v[k] + rises[k] == top:
                    return k
            break
    return -1


@compiled(inner=True)
def _stop(u, high):
    """Where a rise ends: at the upper bound, or at 0, where the price of |u| changes."""
    return high if u >= 0.0 else 0.0


@compiled(inner=True)
def _gains(u, low, high, kink, never):
    """What is added to v for a rise of u, and to -v for a fall."""
    rise = never if u >= high else (kink if u < 0.0 else -kink)
    fall = never if u <= low else (kink if u > 0.0 else -kink)
    return rise, fall


@compiled(vectorise=True, finite=True)
def smo_inner_loop(K, pair_rows, v, u, low, high, box, price, wanted, most):
    """Pairs until none is out of order by more than ``wanted``; returns their number. v is padded to the columns of K; ``box`` is
    what `open_box` gives, and is kept up.

    Where ``pair_rows`` is given, a row of K is loaded when it is first needed (`gram/class_pairs`). Where it is None all rows are
    there, and no loading is compiled."""
    if pair_rows is not None:
        loaded, first, between, second = pair_rows
    zero, one, two = v.dtype.type(0.0), v.dtype.type(1.0), v.dtype.type(2.0)
    kink, never = v.dtype.type(price[0]), v.dtype.type(price[1])
    cannot = v.dtype.type(0.5) * never
    flat = v.dtype.type(1e-6 if v.itemsize == 4 else 1e-13)
    width = v.size
    rises, falls, bend = box[0], box[1], box[2]
    lanes, half = np.empty(LANES, v.dtype), np.empty(LANES // 2, v.dtype)
    for j in range(LANES):
        lanes[j] = never
    for k in range(0, width, LANES):
        vs, can = v[k : k + LANES], rises[k : k + LANES]
        for j in range(LANES):
            lanes[j] = max(lanes[j], vs[j] + can[j])
    for step in range(most):
        i = _find_largest(lanes, _largest(lanes, half), v, rises)
        if i < 0 or rises[i] < cannot:
            return step
        if pair_rows is not None and not loaded[i]:
            load_row(first, between, second, i, K[i])
            loaded[i] = True
        Ki, vi, Kii = K[i], v[i] + rises[i], bend[i]
        least = flat * Kii
        for j in range(LANES):
            lanes[j] = zero
        for k in range(0, width, LANES):
            vs, can, Ks, bends = v[k : k + LANES], falls[k : k + LANES], Ki[k : k + LANES], bend[k : k + LANES]
            for j in range(LANES):
                off = max(zero, vi - vs[j] + can[j])
                lanes[j] = max(lanes[j], off * off / max(least, Kii + bends[j] - two * Ks[j]))
        top, i2 = _largest(lanes, half), -1
        if top <= zero:
            return step
        for j in range(LANES):
            if lanes[j] == top:
                best = -one
                for k in range(j, width, LANES):  # the gain computed here may differ from the lane's in the last bit
                    off = max(zero, vi - v[k] + falls[k])
                    gain = off * off / max(least, Kii + bend[k] - two * Ki[k])
                    if gain > best:
                        best, i2 = gain, k
                break
        if i2 < 0 or falls[i2] < cannot:  # nothing is left, or v is so large that it hides what is not allowed to move
            return step
        if step % 8 == 0 or vi - v[i2] + falls[i2] <= wanted:
            for j in range(LANES):
                lanes[j] = never
            for k in range(0, width, LANES):
                vs, can = v[k : k + LANES], falls[k : k + LANES]
                for j in range(LANES):
                    lanes[j] = max(lanes[j], can[j] - vs[j])
            if vi + _largest(lanes, half) <= wanted:
                return step
        if pair_rows is not None and not loaded[i2]:
            load_row(first, between, second, i2, K[i2])
            loaded[i2] = True
        Kj = K[i2]
        move = float(vi - v[i2] + falls[i2]) / float(max(least, Kii + bend[i2] - two * Ki[i2]))
        end_i, end_j = _stop(u[i], high[i]), -_stop(-u[i2], -low[i2])
        room_i, room_j = end_i - u[i], u[i2] - end_j
        move = min(move, min(room_i, room_j))
        # A variable that moves by all of its room ends exactly at its bound.
        u[i] = end_i if move == room_i else u[i] + move
        u[i2] = end_j if move == room_j else u[i2] - move
        for k in (i, i2):
            rises[k], falls[k] = _gains(u[k], low[k], high[k], kink, never)
        by = v.dtype.type(move)
        for j in range(LANES):
            lanes[j] = never
        for k in range(0, width, LANES):
            vs, can, Ks, Ls = v[k : k + LANES], rises[k : k + LANES], Ki[k : k + LANES], Kj[k : k + LANES]
            for j in range(LANES):
                now = vs[j] - by * (Ks[j] - Ls[j])
                vs[j] = now
                lanes[j] = max(lanes[j], now + can[j])
    return most


@compiled
def _alternate(K, pair_rows, v, u, low, high, boxes, price, wanted, most):
    """Pairs of each side in turn, until neither has one that is out of order by more than ``wanted``."""
    turn = 16  # pairs
    done = 0
    while done < most:
        moved = 0
        for side in range(boxes.shape[0]):
            moved += smo_inner_loop(K, pair_rows, v, u, low, high, boxes[side], price, wanted, turn)
        if moved == 0:
            break
        done += moved
    return done
