"""The best cut of one column at one node: stumps over sorted codes or over a histogram of codes.

A node has rows i with weights w_i and targets; W = sum w, S = sum w t. A cut sends the codes <= c to the left:

    one target  (regression; two classes, t = 0 or 1)    score = (S_L W - S W_L)^2 / (W_L W_R)
    K classes                                            score = sum_k L_k^2 / W_L + sum_k R_k^2 / W_R
    M targets   (several outputs, classes as 0 and 1)    score = sum_m (S_L,m W - S_m W_L)^2 / (W_L W_R)
    entropy     (classes)                                score = sum L ln L - W_L ln W_L + sum R ln R - W_R ln W_R

Largest is best, and is where the weighted impurity of the two sides (squared error, Gini, entropy) is smallest. A later
cut must be better by more than rounding (TIE), so that equal cuts go to the lowest threshold.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gapless._jit import compiled

#: Scores that agree to this share are equal: rounding stays well below, different fractions of small counts far above.
TIE = 2.0**-44
#: Below so many rows plain insertion sorts fastest.
SHORT = 40

SQUARES, ENTROPY = 0, 1
ONE, CLASSES, MANY = 1, 2, 3


@compiled
def xlogx(x: float) -> float:
    return x * math.log(x) if x > 0.0 else 0.0


@compiled
def draw(state: Any) -> Any:
    """The next 64 bits of splitmix64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled
def sort_keys(keys: Any, m: int, span: int) -> int:
    """Sort keys[0, :m] by their upper half, which is below ``span``, stably; the line of ``keys`` that holds the result."""
    if m <= SHORT:
        for i in range(1, m):
            key = keys[0, i]
            j = i - 1
            while j >= 0 and keys[0, j] > key:
                keys[0, j + 1] = keys[0, j]
                j -= 1
            keys[0, j + 1] = key
        return 0
    place = np.empty(257, dtype=np.int64)
    source, shift, left = 0, 32, span
    while left > 0:
        for b in range(257):
            place[b] = 0
        for i in range(m):
            place[((keys[source, i] >> np.uint64(shift)) & np.uint64(255)) + np.uint64(1)] += 1
        for b in range(1, 257):
            place[b] += place[b - 1]
        for i in range(m):
            key = keys[source, i]
            b = (key >> np.uint64(shift)) & np.uint64(255)
            keys[1 - source, place[b]] = key
            place[b] += 1
        source, shift, left = 1 - source, shift + 8, left >> 8
    return source


@compiled
def score_of(mode: int, entropy: bool, L: Any, T: Any, M: int, WL: float, W: float, parts: Any) -> float:
    """The score of a cut whose left sums are L (one for each class or target) out of T."""
    WR = W - WL
    if entropy:
        total = 0.0
        for o in range(parts.size - 1):  # the outputs
            if mode == ONE:
                total += xlogx(L[0]) + xlogx(WL - L[0]) + xlogx(T[0] - L[0]) + xlogx(WR - (T[0] - L[0]))
            else:
                for k in range(parts[o], parts[o + 1]):
                    total += xlogx(L[k]) + xlogx(T[k] - L[k])
            total -= xlogx(WL) + xlogx(WR)
        return total
    if mode == CLASSES:
        a, b = 0.0, 0.0
        for k in range(M):
            a += L[k] * L[k]
            b += (T[k] - L[k]) * (T[k] - L[k])
        return (a * WR + b * WL) / (WL * WR)
    total = 0.0
    for k in range(M):
        gap = L[k] * W - T[k] * WL
        total += gap * gap
    return total / (WL * WR)


@compiled
def better(score: float, best: float, scale: float) -> bool:
    return score > best + TIE * max(scale, best)


@compiled
def scan_keys(
    keys: Any, line: int, m: int, lo: int, mode: int, entropy: bool, w: Any, t: Any, k_of: Any, Y: Any, parts: Any,
    T: Any, M: int, W: float, L: Any, first_W: float, first_n: int, n: int, min_leaf: int, min_weight: float,
    scale: float, last_too: bool, bulk: int, bulk_n: int,
) -> tuple[float, int, int]:  # fmt: skip
    """Best cut of a sorted column. L and first_W hold what lies left of every cut (missing values that go left). The key of
    row ``bulk`` stands for ``bulk_n`` rows.

    Returns its score and the codes on both sides of it (the right one is -1 where only missing values lie right)."""
    best = -np.inf
    c_left: Any = -1
    c_right: Any = -1
    WL, nl = first_W, first_n
    low = np.uint64(0xFFFFFFFF)
    a, b = 0.0, 0.0
    plain = not entropy
    if mode == CLASSES:
        for k in range(M):
            a += L[k] * L[k]
            b += (T[k] - L[k]) * (T[k] - L[k])
    SL, S = L[0], T[0]
    code = keys[line, 0] >> np.uint64(32)
    for p in range(m):
        i = keys[line, p] & low
        wi = w[i]
        WL += wi
        nl += bulk_n if i == bulk else 1
        if mode == ONE:
            SL += t[i]
        elif mode == CLASSES:
            k = k_of[i]
            lk = L[k]
            rk = T[k] - lk
            a += wi * (2.0 * lk + wi)
            b += wi * (wi - 2.0 * rk)
            L[k] = lk + wi
        else:
            for k in range(M):
                L[k] += Y[i, k]
        if p + 1 < m:
            following = keys[line, p + 1] >> np.uint64(32)
            if following == code:
                continue
        elif not last_too:
            break
        else:
            following = np.uint64(0)
        WR = W - WL
        if nl >= min_leaf and n - nl >= min_leaf and WL >= min_weight and WR >= min_weight and WL > 0.0 and WR > 0.0:
            if plain and mode == ONE:
                gap = SL * W - S * WL
                score = gap * gap / (WL * WR)
            elif plain and mode == CLASSES:
                score = (a * WR + b * WL) / (WL * WR)
            else:
                if mode == ONE:
                    L[0] = SL
                score = score_of(mode, entropy, L, T, M, WL, W, parts)
            if score > best and better(score, best, scale):
                best, c_left = score, np.int64(code) + lo
                c_right = np.int64(following) + lo if p + 1 < m else -1
        code = following
    return best, c_left, c_right


@compiled
def scan_histogram(
    H: Any, count: Any, counted: bool, lo: int, hi: int, mode: int, entropy: bool, parts: Any, T: Any, M: int,
    W: float, L: Any, first_W: float, first_n: int, n: int, min_leaf: int, min_weight: float, scale: float,
    last_too: bool,
) -> tuple[float, int, int]:  # fmt: skip
    """Best cut of a histogram: the same as ``scan_keys``. H has a line for each code: sums, then the weight."""
    best, c_left, c_right = -np.inf, -1, -1
    WL, nl, previous = first_W, first_n, -1
    width = M if mode == CLASSES else M + 1
    for c in range(lo, hi + 2):
        base = c * width
        if c <= hi:
            if mode == CLASSES:
                wc = 0.0
                for k in range(M):
                    wc += H[base + k]
            else:
                wc = H[base + M]
            if wc == 0.0:
                continue
        else:
            if not last_too:
                break
            wc = 0.0
        WR = W - WL
        enough = not counted or (nl >= min_leaf and n - nl >= min_leaf)
        if previous >= 0 and enough and WL >= min_weight and WR >= min_weight and WL > 0.0 and WR > 0.0:
            if mode == ONE and not entropy:
                gap = L[0] * W - T[0] * WL
                score = gap * gap / (WL * WR)
            else:
                score = score_of(mode, entropy, L, T, M, WL, W, parts)
            if score > best and better(score, best, scale):
                best, c_left, c_right = score, previous, c if c <= hi else -1
        if c <= hi:
            for k in range(M):
                L[k] += H[base + k]
            WL += wc
            if counted:
                nl += count[c]
            previous = c
    return best, c_left, c_right
