"""Pairs of a working set that fits the cache: the inner loop of sequential minimal optimisation.

    i: the largest v_i that can rise;   j: the largest (v_i - v_j)^2 / (K_ii + K_jj - 2 K_ij) of the lower v_j that can fall

Every loop over all variables runs in vector registers.  A maximum is taken in lanes, each of every 128th entry, since the
compiler does not vectorise a maximum of one number; then only the entries of the best lane are searched for it.  A huge number
is subtracted from the v of variables that are not allowed to move.
"""

from __future__ import annotations

import numpy as np

from gapless._compile.jit import compiled
from gapless.gram.class_pairs import load_row

#: Lanes of a maximum; columns come in whole numbers of them.
LANES = 128


def take_pairs(K, pair_rows, diagonal, v, u, low, high, allowed, wanted, most) -> int:
    """`smo_inner_loop` among the variables that are ``allowed`` to move."""
    never = -3e38  # added to the v of a variable that cannot move: no such sum is the largest, in float32 neither
    box = open_box(u, low, high, allowed, diagonal, v, never)
    return smo_inner_loop(K, pair_rows, v, u, low, high, box, never, wanted, most)


def open_box(u, low, high, allowed, diagonal, v, never) -> np.ndarray:
    """Rows as long as v: 0 where a variable can rise, the same for fall, ``never`` for all others; the bend K_ii, 1 beyond."""
    box = np.full((3, v.size), never, dtype=v.dtype)
    box[0, : u.size][allowed & (u < high)] = 0.0
    box[1, : u.size][allowed & (u > low)] = 0.0
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


@compiled(vectorise=True, finite=True)
def smo_inner_loop(K, pair_rows, v, u, low, high, box, never, wanted, most):
    """Pairs until none is out of order by more than ``wanted``; returns their number. v is padded to the columns of K; ``box`` is
    what `open_box` gives, and is kept up.

    Where ``pair_rows`` is given, a row of K is loaded when it is first needed (`gram/class_pairs`). Where it is None all rows are
    there, and no loading is compiled."""
    if pair_rows is not None:
        loaded, first, between, second = pair_rows
    zero, one, two = v.dtype.type(0.0), v.dtype.type(1.0), v.dtype.type(2.0)
    never = v.dtype.type(never)
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
        if i < 0 or rises[i] < zero:
            return step
        if pair_rows is not None and not loaded[i]:
            load_row(first, between, second, i, K[i])
            loaded[i] = True
        Ki, vi, Kii = K[i], v[i], bend[i]
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
        if i2 < 0 or falls[i2] < zero:  # nothing is left, or v is so large that it hides what is not allowed to move
            return step
        if step % 8 == 0 or vi - v[i2] <= wanted:
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
        move = float(vi - v[i2]) / float(max(least, Kii + bend[i2] - two * Ki[i2]))
        room_i, room_j = high[i] - u[i], u[i2] - low[i2]
        move = min(move, min(room_i, room_j))
        # A variable that moves by all of its room ends exactly at its bound.
        u[i] = high[i] if move == room_i else u[i] + move
        u[i2] = low[i2] if move == room_j else u[i2] - move
        for k in (i, i2):
            rises[k] = zero if u[k] < high[k] else never
            falls[k] = zero if u[k] > low[k] else never
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
