"""The best cut of a node whose columns are sorted: a walk over the keys of each column.

A key is the rank of a value above, the place of its row below, 16 bits each. Where more than half of all rows have one value
of a column, only the others have keys: the *bulk* without keys follows from the sums of the node.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gapless._compile.jit import compiled

from .score import TIE, allowed, better, score_classes, score_one
from .state import Sums

LOW = np.uint32(0xFFFF)
#: No cut is better; the cut is below all keys, or between the bulk and the keys above it.
NOWHERE, AT_BULK = np.int64(-1), np.int64(-2)


class ClassRows(NamedTuple):
    """The rows of a part where the target is one of many classes, and sums for each class."""

    w: np.ndarray
    k: np.ndarray  #: the class of each row
    T: np.ndarray  #: sums of the node
    L: np.ndarray  #: sums left of the cut
    rest: np.ndarray  #: sums of the bulk


class Cut(NamedTuple):
    """The best cut of a node."""

    score: float
    line: Any  #: of the columns that are not constant, the number of the one that is cut; -1: no cut
    at: Any  #: the last key on the left, or AT_BULK
    border: Any  #: the first key above the bulk
    kept: Any  #: columns that are not constant


@compiled(inner=True)
def scan_up(
    keys: Any, start: int, end: int, w: Any, t: Any, whole: Any, left: Any, stops: Any, best: float, entropy: Any
) -> Any:  # fmt: skip
    """Cuts after each key, one target; after the last only if rows lie right of it. ``left`` is what lies left of all."""
    at = NOWHERE
    W, S, WL, SL = whole.W, whole.S, left.W, left.S
    on = left.n + (end - start) < whole.n
    for p in range(start, end):
        key = keys[p]
        i = key & LOW
        WL += w[i]
        SL += t[i]
        WR = W - WL
        if entropy is None:
            # Most cuts end here: what is not above best * WL * WR is no better, whatever the division rounds to.
            gap = SL * W - S * WL
            if not gap * gap >= best * (WL * WR):
                continue
        if p + 1 == end:
            if not on:
                break
        elif (keys[p + 1] ^ key) <= LOW:
            continue
        if allowed(left.n + p - start + 1, whole.n, WL, WR, stops):
            score = score_one(SL, WL, S, W, entropy)
            if better(score, best, 0.0 if entropy is None else W):
                best, at = score, np.int64(p)
    return best, at, WL, SL


@compiled(inner=True)
def scan_down(
    keys: Any, start: int, end: int, w: Any, t: Any, whole: Any, stops: Any, best: float
) -> Any:  # fmt: skip
    """The same from the last key to the first, where the bulk lies below: its sums need not be known.

    The cut is after the key that comes back. Of equal cuts the lowest is taken, which here is the last."""
    at = NOWHERE
    W, S = whole.W, whole.S
    top, WR, SR = best, 0.0, 0.0
    for p in range(end - 1, start - 1, -1):
        key = keys[p]
        i = key & LOW
        WR += w[i]
        SR += t[i]
        gap = SR * W - S * WR
        WL = W - WR
        if gap * gap * (1.0 + 2.0**-40) >= top * (WL * WR):
            if p > start and (keys[p - 1] ^ key) <= LOW:
                continue
            if allowed(end - p, whole.n, WR, WL, stops):
                score = gap * gap / (WL * WR)
                if better(score, best, 0.0) and (at == NOWHERE or score >= top - TIE * top):
                    top, at = max(top, score), np.int64(p - 1) if p > start else AT_BULK
    return top, at


@compiled(inner=True)
def around_bulk(
    keys: Any, start: int, end: int, edge: Any, w: Any, t: Any, whole: Any, stops: Any, best: float, entropy: Any
) -> Any:  # fmt: skip
    """The best cut of a column with a bulk: the keys below its rank come first, then the bulk, then the others."""
    bulk_W, bulk_S, half = whole.W, whole.S, np.int64(start)
    for p in range(start, end):
        i = keys[p] & LOW
        bulk_W -= w[i]
        half += 1 if keys[p] < edge else 0
        bulk_S -= t[i]
    best, at, WL, SL = scan_up(keys, start, half, w, t, whole, Sums(np.int64(0), 0.0, 0.0), stops, best, entropy)
    if half < end:
        left = Sums(whole.n - (end - half), WL + bulk_W, SL + bulk_S)
        if allowed(left.n, whole.n, left.W, whole.W - left.W, stops):
            score = score_one(left.S, left.W, whole.S, whole.W, entropy)
            if better(score, best, 0.0 if entropy is None else whole.W):
                best, at = score, AT_BULK
        best, after, WL, SL = scan_up(keys, half, end, w, t, whole, left, stops, best, entropy)
        at = after if after >= 0 else at
    return best, at, half


@compiled(inner=True)
def cut_one(
    keys: Any, usual: Any, w: Any, t: Any, lines: Any, columns: int, now: Any, whole: Any, stops: Any, entropy: Any
) -> Any:
    """The best cut for one target, over the columns that are not constant; ``now`` says which these are."""
    best, line, best_at, border = -np.inf, np.int64(-1), NOWHERE, np.int64(-1)
    nothing = Sums(np.int64(0), 0.0, 0.0)
    kept = np.int64(0)
    for q in range(columns):
        j, s, e = lines[0, q], np.int64(lines[1, q]), np.int64(lines[2, q])
        bulk = whole.n - (e - s)
        if e == s or (bulk == 0 and (keys[s] ^ keys[e - 1]) <= LOW):
            continue
        now[0, kept], now[1, kept], now[2, kept] = j, s, e
        edge, half = np.uint32(usual[j] << 16), e
        if bulk == 0:
            best, at, _, _ = scan_up(keys, s, e, w, t, whole, nothing, stops, best, entropy)
        elif entropy is None and keys[s] >= edge:
            best, at = scan_down(keys, s, e, w, t, whole, stops, best)
            half = s
        else:
            best, at, half = around_bulk(keys, s, e, edge, w, t, whole, stops, best, entropy)
        if at != NOWHERE:
            line, best_at, border = kept, at, half
        kept += 1
    return Cut(best, line, best_at, border, kept)


# -- many classes


@compiled(inner=True)
def scan_classes(
    keys: Any, start: int, end: int, rows: Any, whole: Any, left: Any, stops: Any, best: float, entropy: Any
) -> Any:  # fmt: skip
    """Cuts after each key. ``rows.L`` holds the sums left of all keys at first, and left of the last cut in the end."""
    w, k_of, T, L = rows.w, rows.k, rows.T, rows.L
    at = NOWHERE
    W, WL = whole.W, left.W
    on = left.n + (end - start) < whole.n
    a, b = 0.0, 0.0  # the sums of the squares of the left and of the right side
    for k in range(T.size):
        a += L[k] * L[k]
        b += (T[k] - L[k]) * (T[k] - L[k])
    for p in range(start, end):
        key = keys[p]
        i = key & LOW
        wi, k = w[i], k_of[i]
        lk = L[k]
        rk = T[k] - lk
        WL += wi
        a += wi * (2.0 * lk + wi)
        b += wi * (wi - 2.0 * rk)
        L[k] = lk + wi
        WR = W - WL
        if entropy is None and not a * WR + b * WL >= best * (WL * WR):
            continue
        if p + 1 == end:
            if not on:
                break
        elif (keys[p + 1] ^ key) <= LOW:
            continue
        if allowed(left.n + p - start + 1, whole.n, WL, WR, stops):
            # By the sums: beside a right side of next to no weight the rounding in b would be worth more than any cut.
            score = score_classes(L, T, T.size, WL, W, entropy)
            if better(score, best, W):
                best, at = score, np.int64(p)
    return best, at, WL


@compiled(inner=True)
def classes_around_bulk(
    keys: Any, start: int, end: int, edge: Any, rows: Any, whole: Any, stops: Any, best: float, entropy: Any
) -> Any:  # fmt: skip
    """As ``around_bulk``, for classes."""
    w, k_of, T, L, rest = rows.w, rows.k, rows.T, rows.L, rows.rest
    bulk_W, half = whole.W, np.int64(start)
    for p in range(start, end):
        i = keys[p] & LOW
        bulk_W -= w[i]
        half += 1 if keys[p] < edge else 0
        L[k_of[i]] += w[i]
    for k in range(T.size):
        rest[k] = T[k] - L[k]  # of the bulk
        L[k] = 0.0
    nothing = Sums(np.int64(0), 0.0, 0.0)
    best, at, WL = scan_classes(keys, start, half, rows, whole, nothing, stops, best, entropy)
    if half < end:
        for k in range(T.size):
            L[k] += rest[k]
        left = Sums(whole.n - (end - half), WL + bulk_W, 0.0)
        if allowed(left.n, whole.n, left.W, whole.W - left.W, stops):
            score = score_classes(L, T, T.size, left.W, whole.W, entropy)
            if better(score, best, whole.W):
                best, at = score, AT_BULK
        best, after, WL = scan_classes(keys, half, end, rows, whole, left, stops, best, entropy)
        at = after if after >= 0 else at
    return best, at, half


@compiled(inner=True)
def cut_classes(
    keys: Any, usual: Any, rows: Any, lines: Any, columns: int, now: Any, whole: Any, stops: Any, entropy: Any
) -> Any:  # fmt: skip
    """As ``cut_one``, for classes."""
    T, L = rows.T, rows.L
    best, line, best_at, border = -np.inf, np.int64(-1), NOWHERE, np.int64(-1)
    nothing = Sums(np.int64(0), 0.0, 0.0)
    kept = np.int64(0)
    for q in range(columns):
        j, s, e = lines[0, q], np.int64(lines[1, q]), np.int64(lines[2, q])
        bulk = whole.n - (e - s)
        if e == s or (bulk == 0 and (keys[s] ^ keys[e - 1]) <= LOW):
            continue
        now[0, kept], now[1, kept], now[2, kept] = j, s, e
        for k in range(T.size):
            L[k] = 0.0
        half = e
        if bulk == 0:
            best, at, _ = scan_classes(keys, s, e, rows, whole, nothing, stops, best, entropy)
        else:
            edge = np.uint32(usual[j] << 16)
            best, at, half = classes_around_bulk(keys, s, e, edge, rows, whole, stops, best, entropy)
        if at != NOWHERE:
            line, best_at, border = kept, at, half
        kept += 1
    return Cut(best, line, best_at, border, kept)
