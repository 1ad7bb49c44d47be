"""The best stump for given weights: one feature, one threshold, a class on each side.

    gini     maximise  sum_k a_k^2 / a + sum_k b_k^2 / b      a_k, b_k the weight of class k with x_j <= t, and with x_j > t
    error    (two classes)  minimise the weight that the better of h and -h gets wrong:  maximise |sum_i d_i y_i h(x_i)|

The first is what a decision tree of depth one splits by (less impurity on both sides is more of that sum) and what AdaBoost
fits; the second, over all stumps, their negations and the two constants, is what the minimax statement about margins needs.

Thresholds do not change from round to round (``features`` makes codes of them, once). A round is a sum of weights for each code
and class, and one walk over the codes. Rows are ordered by class, so that no kernel reads a label. A feature is one thread's
work: the bits do not depend on how many threads there are. Of splits that are equal but for rounding the one of the lowest
feature and then of the lowest threshold is taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapless._compile.jit import compiled
from gapless._runtime.threads import run_in_parts

from .features import CodedFeatures, SortedFeatures, midpoints
from .thresholds import BOOSTING_THRESHOLDS

#: A split is better than another where its sum is larger by this factor, which is more than rounding can make it.
TIE_FACTOR = 1.0 + 1e-12
#: Codes up to which a histogram is kept as four sums side by side: neighbouring rows of one code would wait for each other.
MAX_CODES_OF_FOUR_SUMS = 256


class StumpSplit(NamedTuple):
    """A feature, a threshold, and an array that is larger than ``cut`` for the rows on the right."""

    feature: int
    threshold: float
    side: np.ndarray
    cut: int


class BestStump(NamedTuple):
    """The best split by impurity, None where no feature has two values; ``edge`` = largest |sum_i d_i y_i h(x_i)| / sum_i d_i."""

    split: StumpSplit | None
    edge: float


def find_best_stump(data: CodedFeatures | SortedFeatures, starts: np.ndarray, w: np.ndarray) -> BestStump:
    """The best split of the rows with weights ``w``; class k has the rows starts[k] to starts[k + 1]."""
    if isinstance(data, SortedFeatures):
        return _find_in_sorted(data, starts, w)
    d, K = data.codes.shape[0], starts.size - 1
    gain, cut, edge = np.empty(d), np.empty(d, dtype=np.int64), np.zeros(d)
    lists = data.frequent
    read = d * w.size if K > 2 else int(np.count_nonzero(lists.common < 0)) * w.size + lists.rows.size
    step = -(-d // max(1, min(d, read // BOOSTING_THRESHOLDS.values_per_thread)))

    def part(k: int) -> None:
        ends = (k * step, min(d, (k + 1) * step))
        if K == 2:
            _search_two_classes(data.codes, data.sizes, lists, starts, w, *ends, gain, cut, edge)
        else:
            _search_many_classes(data.codes, data.sizes, starts, w, *ends, gain, cut)

    run_in_parts(part, -(-d // step))
    j = find_first_largest(gain)
    reach = float(edge.max(initial=0.0))
    if not gain[j] > 0.0:
        return BestStump(None, reach)
    c = int(cut[j])
    return BestStump(StumpSplit(j, float(data.cuts[j][c]), data.codes[j], c), reach)


@compiled(vectorise=True, inner=True)
def _weigh_two_codes(codes, w):
    """The sums of the weights of code 0 and of code 1."""
    zero = 0.0
    one = 0.0
    for i in range(w.size):
        first = codes[i] == 0
        zero += w[i] if first else 0.0
        one += 0.0 if first else w[i]
    return zero, one


@compiled(inner=True)
def _sum_codes(codes, w, h):
    """h[0, c] = sum of the weights of code c; h has one line, or four that rows take in turn."""
    B = h.shape[1]
    n = w.size
    if B == 2:
        h[0, 0], h[0, 1] = _weigh_two_codes(codes, w)
        return
    if h.shape[0] == 1:
        for i in range(n):
            h[0, codes[i]] += w[i]
        return
    even = n - n % 4
    for i in range(0, even, 4):
        h[0, codes[i]] += w[i]
        h[1, codes[i + 1]] += w[i + 1]
        h[2, codes[i + 2]] += w[i + 2]
        h[3, codes[i + 3]] += w[i + 3]
    for i in range(even, n):
        h[0, codes[i]] += w[i]
    for c in range(B):
        h[0, c] = (h[0, c] + h[1, c]) + (h[2, c] + h[3, c])


@compiled(vectorise=True, inner=True)
def _sum_weights(w):
    total = 0.0
    for i in range(w.size):
        total += w[i]
    return total


@compiled(inner=True)
def _sum_listed_codes(start, end, past, rows, others, w, total, n, usual, h):
    """h as in ``_sum_codes``, from the listed rows start to end that are below ``past``; the other ones of n rows, and of their
    weight ``total``, have the code ``usual``. Returns the place of the first listed row that is not below ``past``."""
    p = start
    listed = 0.0
    while p < end and rows[p] < past:
        weight = w[rows[p]]
        h[0, others[p]] += weight
        listed += weight
        p += 1
    # Where every row is listed the difference would be rounding alone.
    h[0, usual] = max(total - listed, 0.0) if p - start < n else 0.0
    return p


@compiled
def _search_two_classes(codes, sizes, lists, starts, w, first, last, gain, cut, edge):
    """For the features first to last: the largest sum ``gini`` (gain), the code before the cut, and the edge."""
    common, ends, rows, others = lists.common, lists.ends, lists.rows, lists.others
    m = starts[1]
    n = starts[2]
    whole0 = _sum_weights(w[:m])
    whole1 = _sum_weights(w[m:n])
    for f in range(first, last):
        B = sizes[f]
        lines = 4 if 2 < B <= MAX_CODES_OF_FOUR_SUMS and common[f] < 0 else 1
        h0 = np.zeros((lines, B))
        h1 = np.zeros((lines, B))
        if common[f] >= 0:
            half = _sum_listed_codes(ends[f], ends[f + 1], m, rows, others, w, whole0, m, common[f], h0)
            _sum_listed_codes(half, ends[f + 1], n, rows, others, w, whole1, n - m, common[f], h1)
        else:
            _sum_codes(codes[f, :m], w[:m], h0)
            _sum_codes(codes[f, m:n], w[m:n], h1)
        t0 = 0.0
        t1 = 0.0
        for c in range(B):
            t0 += h0[0, c]
            t1 += h1[0, c]
        a0 = 0.0
        a1 = 0.0
        best = -1.0
        at = -1
        reach = abs(t1 - t0)  # of the constants
        for c in range(B - 1):
            a0 += h0[0, c]
            a1 += h1[0, c]
            b0 = max(t0 - a0, 0.0)
            b1 = max(t1 - a1, 0.0)
            reach = max(reach, abs((a1 - a0) - (b1 - b0)))
            a = a0 + a1
            b = b0 + b1
            if a > 0.0 and b > 0.0:
                value = ((a0 * a0 + a1 * a1) * b + (b0 * b0 + b1 * b1) * a) / (a * b)
                if value > best * TIE_FACTOR:
                    best = value
                    at = c
        gain[f] = best
        cut[f] = at
        edge[f] = reach / (t0 + t1)


@compiled
def _search_many_classes(codes, sizes, starts, w, first, last, gain, cut):
    """As ``_search_two_classes`` for K classes, without the edge."""
    K = starts.size - 1
    left = np.empty(K)
    total = np.empty(K)
    for f in range(first, last):
        B = sizes[f]
        lines = 4 if 2 < B <= MAX_CODES_OF_FOUR_SUMS else 1
        h = np.zeros((K, lines, B))
        for k in range(K):
            _sum_codes(codes[f, starts[k] : starts[k + 1]], w[starts[k] : starts[k + 1]], h[k])
            left[k] = 0.0
            total[k] = 0.0
            for c in range(B):
                total[k] += h[k, 0, c]
        best = -1.0
        at = -1
        for c in range(B - 1):
            a = 0.0
            b = 0.0
            aa = 0.0
            bb = 0.0
            for k in range(K):
                left[k] += h[k, 0, c]
                rest = max(total[k] - left[k], 0.0)
                a += left[k]
                b += rest
                aa += left[k] * left[k]
                bb += rest * rest
            if a > 0.0 and b > 0.0:
                value = (aa * b + bb * a) / (a * b)
                if value > best * TIE_FACTOR:
                    best = value
                    at = c
        gain[f] = best
        cut[f] = at


def find_first_largest(values: np.ndarray) -> int:
    """The index of the first value that is the largest but for rounding."""
    top = values.max()
    return int(np.argmax(values >= (top / TIE_FACTOR if top > 0.0 else top)))


def _find_in_sorted(data: SortedFeatures, starts: np.ndarray, w: np.ndarray) -> BestStump:
    d, K = data.indptr.size - 1, starts.size - 1
    gain, edge = np.empty(d), np.zeros(d)
    low, high = np.zeros(d, dtype=np.float32), np.zeros(d, dtype=np.float32)
    classes = np.repeat(np.arange(K, dtype=np.uint8 if K <= 256 else np.int32), np.diff(starts)).astype(np.int32)
    total = np.array([w[starts[k] : starts[k + 1]].sum() for k in range(K)])
    step = max(1, d // 64)

    def part(k: int) -> None:
        ends = (k * step, min(d, (k + 1) * step))
        _search_sorted_columns(data, classes, total, w, *ends, gain, low, high, edge)

    run_in_parts(part, -(-d // step))
    j = find_first_largest(gain)
    reach = float(edge.max(initial=0.0))
    if not gain[j] > 0.0:
        return BestStump(None, reach)
    threshold = float(midpoints(low[j : j + 1], high[j : j + 1])[0])
    side = np.full(data.n_rows, np.uint8(threshold < 0.0), dtype=np.uint8)
    entries = slice(int(data.indptr[j]), int(data.indptr[j + 1]))
    # numpy would round a plain float to float32 before it compares.
    side[data.rows[entries]] = data.values[entries] > np.float64(threshold)
    return BestStump(StumpSplit(j, threshold, side, 0), reach)


@compiled
def _search_sorted_columns(data, classes, total, w, first, last, gain, low, high, edge):
    """As ``_search_two_classes``, for K classes and sorted columns; the split lies between the values low and high."""
    indptr, rows, values = data.indptr, data.rows, data.values
    K = total.size
    n = classes.size
    left = np.empty(K)
    zero = np.empty(K)
    mass = total.sum()
    for f in range(first, last):
        start = indptr[f]
        end = indptr[f + 1]
        for k in range(K):
            left[k] = 0.0
            zero[k] = total[k]
        for p in range(start, end):
            zero[classes[rows[p]]] -= w[rows[p]]
        best = -1.0
        reach = abs(total[1] - total[0]) if K == 2 else 0.0
        pending = n > end - start  # whether the zeros still have to be counted
        p = start
        here = 0.0
        while p < end or pending:
            if pending and (p == end or values[p] > 0.0):
                here = 0.0
                for k in range(K):
                    left[k] += max(zero[k], 0.0)
                pending = False
            else:
                here = values[p]
                while p < end and values[p] == here:
                    left[classes[rows[p]]] += w[rows[p]]
                    p += 1
            if p == end and not pending:
                break
            following = 0.0 if pending and (p == end or values[p] > 0.0) else values[p]
            a = 0.0
            b = 0.0
            aa = 0.0
            bb = 0.0
            for k in range(K):
                rest = max(total[k] - left[k], 0.0)
                a += left[k]
                b += rest
                aa += left[k] * left[k]
                bb += rest * rest
            if K == 2:
                reach = max(
                    reach, abs((left[1] - left[0]) - (max(total[1] - left[1], 0.0) - max(total[0] - left[0], 0.0)))
                )
            if a > 0.0 and b > 0.0:
                value = (aa * b + bb * a) / (a * b)
                if value > best * TIE_FACTOR:
                    best = value
                    low[f] = here
                    high[f] = following
        gain[f] = best
        edge[f] = reach / mass
