"""The best cut of one column at one node, and of all columns.

A column is counted into a histogram where its codes are fewer than the rows, otherwise its codes are sorted: insertion for few
rows, radix for many. Each column remembers the range of codes that a node can still have.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gapless._compile.jit import compiled

from .criteria.at_random import draw, draw_threshold
from .criteria.medians import gather_all, scan_medians, score_drawn
from .criteria.monotone import in_order, look_at
from .histogram import best_categories, empty_histogram, fill_histogram, scan_histogram, score_of, weight_of
from .keys import HALF, LOW, sort_keys
from .score import TIE, allowed, better, score_one
from .state import Sums


class Cut(NamedTuple):
    """The best cut of a node so far."""

    score: float
    column: Any  #: -1: none
    left: Any  #: the last code on the left
    right: Any  #: the first code on the right; -1: none
    missing: Any  #: whether missing values go left; -1: there are none
    threshold: float  #: where it was drawn at random


class Codes(NamedTuple):
    """The codes of a column that a node can have."""

    lo: Any
    hi: Any
    none: Any  #: the code of the missing value; -1: there is none
    usual: Any  #: the code that most rows of the tree have; -1: no code has


class Found(NamedTuple):
    """What a node has of a column: its smallest and largest code, and the sums of its missing values."""

    lo: Any
    hi: Any
    n_keys: Any
    line: Any  #: of ``keys`` that is sorted
    bulk: Any  #: rows that the last place stands for
    n_missing: Any
    missing_W: float


@compiled(inner=True)
def add_row(sums: Any, i: Any, w: Any, t: Any, k: Any, Y: Any) -> None:
    if Y is not None:
        for o in range(Y.shape[1]):
            sums[o] += Y[i, o]
    elif k is not None:
        sums[k[i]] += w[i]
    else:
        sums[0] += t[i]


@compiled(inner=True)
def code_of_missing(facts: Any, j: int) -> Any:
    """The code of the missing value of a column; -1: there is none."""
    return np.int64(facts.n_codes[j]) if facts.missing[j] else np.int64(-1)


@compiled(inner=True)
def take(best: Any, cut: Any, scale: float) -> bool:
    """Whether a cut is better than the best so far; of equal ones that of the lowest column is."""
    return cut.score > -np.inf and (
        better(cut.score, best.score, scale)
        or (cut.score >= best.score - TIE * max(scale, best.score) and best.column > cut.column)
    )


# -- keys


@compiled(inner=True)
def gather(codes: Any, rows: Any, node: Any, work: Any, k: Any, Y: Any, possible: Any) -> Any:
    """Keys of the rows of a node."""
    lo, hi, none = possible.lo, possible.hi, possible.none
    keys, start = work.keys, node.start
    n_keys, n_missing, missing_W = np.int64(0), np.int64(0), 0.0
    a, b = np.int64(hi), np.int64(lo)
    for i in range(node.n):
        c = np.int64(codes[rows[start + i]])
        if c == none:
            n_missing += 1
            missing_W += work.w[i]
            add_row(work.missing, i, work.w, work.t, k, Y)
        else:
            keys[0, n_keys] = (np.uint64(c - lo) << HALF) | np.uint64(i)
            n_keys += 1
            a, b = min(a, c), max(b, c)
    return Found(a, b, n_keys, np.int64(0), np.int64(0), n_missing, missing_W)


@compiled(inner=True)
def gather_others(codes: Any, rows: Any, node: Any, work: Any, possible: Any) -> Any:
    """The same for one target where most rows have the code ``usual``: the rows with another code have keys, and one key stands
    for all rows with this code, whose sums follow from those of the node."""
    lo, hi, usual = possible.lo, possible.hi, possible.usual
    keys, w, t, start = work.keys, work.w, work.t, node.start
    n_keys = np.int64(0)
    a, b = np.int64(hi), np.int64(lo)
    bulk_T, bulk_W = work.T[0], node.W
    for i in range(node.n):
        c = np.int64(codes[rows[start + i]])
        keys[0, n_keys] = (np.uint64(c - lo) << HALF) | np.uint64(i)
        n_keys += 1 if c != usual else 0
    for p in range(n_keys):
        i = keys[0, p] & LOW
        bulk_T -= t[i]
        bulk_W -= w[i]
        c = np.int64(keys[0, p] >> HALF) + lo
        a, b = min(a, c), max(b, c)
    bulk = node.n - n_keys
    if bulk > 0:
        last = w.size - 1
        keys[0, n_keys] = (np.uint64(usual - lo) << HALF) | np.uint64(last)
        t[last], w[last] = bulk_T, bulk_W
        n_keys += 1
        a, b = min(a, usual), max(b, usual)
    return Found(a, b, n_keys, np.int64(0), bulk, np.int64(0), 0.0)


@compiled(inner=True, inline=True)
def gather_keys(codes: Any, rows: Any, node: Any, work: Any, k: Any, Y: Any, possible: Any, at_random: bool) -> Any:
    """Keys of a column, sorted unless the cut is drawn at random."""
    if k is None and Y is None and possible.usual >= 0 and possible.none < 0:
        found = gather_others(codes, rows, node, work, possible)
    else:
        found = gather(codes, rows, node, work, k, Y, possible)
    line = np.int64(0)
    if not at_random and found.lo < found.hi:
        line = sort_keys(work.keys, found.n_keys, possible.hi - possible.lo + 1, work.digits)
    return Found(found.lo, found.hi, found.n_keys, line, found.bulk, found.n_missing, found.missing_W)


@compiled(inner=True)
def scan_keys(
    work: Any, k: Any, Y: Any, node: Any, found: Any, lo: int, first: Any, last_too: bool, stops: Any, entropy: Any
) -> Any:  # fmt: skip
    """Best cut of a sorted column, as ``scan_histogram``; ``lo`` is what the codes of the keys are counted from."""
    keys, w, t, T, L, W = work.keys, work.w, work.t, work.T, work.L, node.W
    best, c_left, c_right = -np.inf, np.int64(-1), np.int64(-1)
    WL, nl = first.W, first.n
    a, b = 0.0, 0.0  # for classes the sums of the squares of both sides
    if k is not None:
        for o in range(node.M):
            a += L[o] * L[o]
            b += (T[o] - L[o]) * (T[o] - L[o])
    SL = L[0]
    line, last, n_keys = found.line, np.uint64(w.size - 1), found.n_keys
    code = keys[line, 0] >> HALF
    for p in range(n_keys):
        i = keys[line, p] & LOW
        wi = w[i]
        WL += wi
        nl += found.bulk if i == last else 1
        if k is not None:
            c = k[i]
            a += wi * (2.0 * L[c] + wi)
            b += wi * (wi - 2.0 * (T[c] - L[c]))
        if k is None and Y is None:
            SL += t[i]
        else:
            add_row(L, i, w, t, k, Y)
        following = np.uint64(0)
        if p + 1 < n_keys:
            following = keys[line, p + 1] >> HALF
            if following == code:
                continue
        elif not last_too:
            break
        WR = W - WL
        if allowed(nl, node.n, WL, WR, stops) and in_order(stops.fence, SL, WL, T[0], W):
            if k is None and Y is None:
                score = score_one(SL, WL, T[0], W, entropy)
            elif k is not None and not entropy and not a * WR + b * WL > best * (WL * WR):
                score = best  # and no more: beside a right side of next to no weight the rounding in b is worth more than a cut
            else:
                score = score_of(work, k, Y, node.M, WL, W, entropy)
            if score > best and better(score, best, node.scale):
                best, c_left = score, np.int64(code) + lo
                c_right = np.int64(following) + lo if p + 1 < n_keys else np.int64(-1)
        code = following
    return best, c_left, c_right


@compiled(inner=True)
def random_cut(task: Any, k: Any, Y: Any, node: Any, found: Any, j: int, lo: int) -> Any:
    """The cut at a drawn threshold."""
    work = task.work
    cut_at, code, go = draw_threshold(task, found, j)
    for o in range(node.M):
        work.L[o] = work.missing[o] if go == 1 else 0.0
    WL = found.missing_W if go == 1 else 0.0
    nl = found.n_missing if go == 1 else np.int64(0)
    reach = np.uint64(code - lo)
    for p in range(found.n_keys):
        if work.keys[0, p] >> HALF <= reach:
            i = work.keys[0, p] & LOW
            WL += work.w[i]
            nl += 1
            add_row(work.L, i, work.w, work.t, k, Y)
    score = -np.inf
    good = allowed(nl, node.n, WL, node.W - WL, task.stops)
    if good and in_order(task.stops.fence, work.L[0], WL, work.T[0], node.W):
        score = score_of(work, k, Y, node.M, WL, node.W, task.entropy)
    return Cut(score, j, code, code, go if found.n_missing > 0 else np.int64(-1), cut_at)


# -- histograms


@compiled(inner=True, inline=True)
def count_codes(
    codes: Any, rows: Any, node: Any, work: Any, k: Any, Y: Any, lo: int, hi: int, none: int, counted: bool
) -> Any:
    """The histogram of a column; ``none`` as for ``gather``."""
    M, H = node.M, work.H
    width = M if k is not None else M + 1
    fill_histogram(codes, rows, node, work, k, Y, lo, hi, counted)
    n_missing, missing_W = np.int64(0), 0.0
    if none >= 0:
        n_missing = work.tally[none]
        for o in range(M):
            work.missing[o] = H[none * width + o]
        missing_W = weight_of(H, none, M, k)
    a, b = np.int64(lo), np.int64(hi)
    if node.n > n_missing:
        while nobody(H, a, width):
            a += 1
        while nobody(H, b, width):
            b -= 1
    return Found(a, b, node.n - n_missing, np.int64(0), np.int64(0), n_missing, missing_W)


@compiled(inner=True)
def nobody(H: Any, c: int, width: int) -> bool:
    """Whether a code has no rows."""
    empty = True
    for o in range(width):
        empty = empty and H[c * width + o] == 0.0
    return empty


# -- all columns


@compiled(inner=True, inline=True)
def cut_medians(best: Any, j: int, codes: Any, task: Any, node: Any) -> Any:
    """The better of the best cut so far and the best one of a column by absolute error; whether it has two values here."""
    work, rows, stops, medians = task.work, task.room.rows, task.stops, task.medians
    lo, hi = work.lo[j], work.hi[j]
    possible = Codes(lo, hi, code_of_missing(task.facts, j), np.int64(-1))
    first, last, n_missing = gather_all(codes, rows, node, work, possible, 0)
    if n_missing == node.n or (n_missing == 0 and first == last):
        return best, False
    work.lo[j], work.hi[j] = first, last
    if task.lot.at_random:
        found = Found(first, last, node.n - n_missing, np.int64(0), np.int64(0), n_missing, 0.0)
        threshold, code, go = draw_threshold(task, found, j)
        aside = np.uint64(hi - lo + 2 if go == 1 else code - lo + 1)
        score = score_drawn(medians, work, node, np.uint64(code - lo + 1), aside, best.score, stops)
        cut = Cut(score, j, code, code, go if n_missing > 0 else np.int64(-1), threshold)
        return (cut if take(best, cut, node.scale) else best), True
    for go in range(2 if n_missing > 0 else 1):
        if go == 1:
            gather_all(codes, rows, node, work, possible, 1)
        line = sort_keys(work.keys, node.n, hi - lo + 3, work.digits)
        score, left, right = scan_medians(medians, work, node, line, possible, best.score, stops)
        cut = Cut(score, j, left, right, np.int64(go) if n_missing > 0 else np.int64(-1), 0.0)
        best = cut if take(best, cut, node.scale) else best
    return best, True


@compiled(inner=True, inline=True)
def cut_column(best: Any, j: int, codes: Any, task: Any, medians: Any, k: Any, Y: Any, node: Any) -> Any:
    """The same by any criterion."""
    if medians is not None:
        return cut_medians(best, j, codes, task, node)
    return cut_numbers(best, j, codes, task, k, Y, node)


@compiled(inner=True, inline=True)
def cut_both_ways(
    best: Any, j: int, histogram: bool, counted: bool, task: Any, k: Any, Y: Any, node: Any, found: Any, lo: int
) -> Any:  # fmt: skip
    """The better of the best cut so far and the best one of a column: missing values go right, then left."""
    work, stops, entropy = task.work, task.stops, task.entropy
    for go in range(2 if found.n_missing > 0 else 1):
        for o in range(node.M):
            work.L[o] = work.missing[o] if go == 1 else 0.0
        first = Sums(found.n_missing if go == 1 else np.int64(0), found.missing_W if go == 1 else 0.0, 0.0)
        last_too = go == 0 and found.n_missing > 0
        if histogram:
            score, left, right = scan_histogram(work, k, Y, node, found, counted, first, last_too, stops, entropy)
        else:
            score, left, right = scan_keys(work, k, Y, node, found, lo, first, last_too, stops, entropy)
        cut = Cut(score, j, left, right, np.int64(go) if found.n_missing > 0 else np.int64(-1), 0.0)
        if take(best, cut, node.scale):
            best = cut
    return best


@compiled(inner=True, inline=True)
def cut_categories(best: Any, j: int, codes: Any, task: Any, categories: Any, k: Any, Y: Any, node: Any) -> Any:
    """The same for a column of categories; and whether it has two that are there."""
    work, n_codes, counted = task.work, task.facts.n_codes[j], np.bool_(True)
    none = n_codes if task.facts.missing[j] else np.int64(-1)
    found = count_codes(codes, task.room.rows, node, work, k, Y, work.lo[j], work.hi[j], none, counted)
    several = found.n_keys > 0 and (found.lo < found.hi or found.n_missing > 0)
    if several:
        score = best_categories(work, categories, n_codes, k, Y, node, task.stops, task.entropy)
        cut = Cut(score, j, np.int64(-1), np.int64(-1), np.int64(categories.left[n_codes]), 0.0)
        if take(best, cut, node.scale):
            best = cut
            for c in range(n_codes + 1):
                categories.best[c] = categories.left[c]
    empty_histogram(work, node.M if k is not None else node.M + 1, np.int64(0), n_codes, counted)
    return best, several


@compiled(inner=True, inline=True)
def cut_numbers(best: Any, j: int, codes: Any, task: Any, k: Any, Y: Any, node: Any) -> Any:
    """The same for a column of numbers, whose range is then known."""
    work, facts, rows, at_random = task.work, task.facts, task.room.rows, task.lot.at_random
    lo, hi, width = work.lo[j], work.hi[j], node.M if k is not None else node.M + 1
    none = code_of_missing(facts, j)
    usual = np.int64(facts.common[j])
    counted = task.stops.min_leaf > 1 or none >= 0
    together = k is None and Y is None and not at_random and lo <= usual and usual <= hi
    # An entry of a histogram costs as much as a row, or as four where most rows have one code and sorting is cheap.
    histogram = not at_random and (hi - lo + 1) * width * (4.0 if together else 1.0) <= node.n
    if histogram:
        found = count_codes(codes, rows, node, work, k, Y, lo, hi, none, counted)
    else:
        possible = Codes(lo, hi, none, usual if together else np.int64(-1))
        found = gather_keys(codes, rows, node, work, k, Y, possible, at_random)
    several = found.n_keys > 0 and (found.lo < found.hi or found.n_missing > 0)
    if found.n_keys > 0:
        work.lo[j], work.hi[j] = found.lo, found.hi
    if several:
        if at_random:
            cut = random_cut(task, k, Y, node, found, j, lo)
            best = cut if take(best, cut, node.scale) else best
        else:
            best = cut_both_ways(best, j, histogram, counted, task, k, Y, node, found, lo)
    if histogram:
        empty_histogram(work, width, lo, hi, counted)
        if none >= 0:
            empty_histogram(work, width, none, none, counted)
    return best, several


@compiled(inner=True)
def best_cut(codes: Any, task: Any, categories: Any, k: Any, Y: Any, node: Any) -> Any:
    """The best cut of a node over the columns that are looked at."""
    best = Cut(-np.inf, np.int64(-1), np.int64(-1), np.int64(-1), np.int64(0), 0.0)
    work, lot, turn, d = task.work, task.lot, task.lot.turn, codes.shape[0]
    looked = 0
    for q in range(d):
        if lot.columns < d:
            if looked >= lot.columns and best.column >= 0:
                break
            p = q + np.int64(draw(lot.state) % np.uint64(d - q))
            turn[q], turn[p] = turn[p], turn[q]
        j = turn[q]
        if work.lo[j] == work.hi[j] and not task.facts.missing[j]:
            continue
        for o in range(node.M):
            work.missing[o] = 0.0
        if categories is not None and categories.column[j]:
            best, several = cut_categories(best, j, codes[j], task, categories, k, Y, node)
        else:
            look_at(task.stops.fence, j)
            best, several = cut_column(best, j, codes[j], task, task.medians, k, Y, node)
        looked += 1 if several else 0
    return best
