"""The best stump for given weights: one feature, one threshold, a class on each side.

    gini     maximise  sum_k a_k^2 / a + sum_k b_k^2 / b          a_k, b_k the weight of class k on the left (x_j <= t) and
    on the right
    error    (two classes)  minimise the weight that the better of h and -h gets wrong:  maximise |sum_i d_i y_i h(x_i)|

The first is what a decision tree of depth one splits by (less impurity on both sides is more of that sum) and what AdaBoost
fits; the second, over all stumps, their negations and the two constants, is what the minimax statement about margins needs.

Thresholds do not change from round to round, so each value is replaced once by the number of thresholds below it, its code.  A
round is then a sum of weights for each code and class, and one walk over the codes.  Up to 65,536 rows the thresholds are all
midpoints of neighbouring values (exact); with more rows, features of more than 256 values get the 255 quantiles of a sample.
Sparse columns keep their entries sorted by value; the rows in no entry stand together at zero.  Features are read as float32, as
trees read them.

Rows are ordered by class, so that no kernel reads a label.  A feature is one thread's work: the bits do not depend on how many
threads there are.  Of splits that are equal but for rounding the one of the lowest feature and then of the lowest threshold
is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gapless._compile.jit import compiled
from gapless._runtime.threads import share

__all__ = ["Coded", "Found", "Sorted", "Split", "Stumps", "first_of_largest", "presort", "search", "votes"]

#: Rows up to which every value of a feature has its own code, which a uint16 can hold.
EXACT = 1 << 16
BINS = 256
#: Rows that quantiles are taken from.
SAMPLE = 200_000
#: A split is better than another where its sum is larger by more than rounding can make it.
TIE = 1.0 + 1e-12
#: Rows from which on features are searched for a frequent code.
FEW = 256
#: Codes up to which four sums are kept beside each other: neighbouring rows of one code would wait for each other.
LANES = 256


class Coded(NamedTuple):
    """Dense features: ``codes[j, i] <= c`` where ``x_ij <= cuts[j][c]``; rows in the order of their classes."""

    codes: np.ndarray  # (d, n) uint8 or uint16
    sizes: np.ndarray  # (d,) codes of each feature
    cuts: list[np.ndarray]  # sizes[j] - 1 thresholds each
    exact: bool
    common: np.ndarray  # (d,) the code that most rows have, if the others are listed, else -1
    ends: np.ndarray  # (d + 1,) where the list of a feature begins
    rows: np.ndarray  # uint16, rising
    others: np.ndarray  # uint16, their codes


class Sorted(NamedTuple):
    """Sparse features: the entries of a column by rising value, stored zeros left out."""

    indptr: np.ndarray
    rows: np.ndarray
    values: np.ndarray
    n_rows: int
    exact: bool = True


class Split(NamedTuple):
    """A feature, a threshold, and an array that is larger than ``cut`` for the rows on the right."""

    feature: int
    threshold: float
    side: np.ndarray
    cut: int


class Found(NamedTuple):
    """The best split by impurity, None where no feature has two values; ``edge`` = largest |sum_i d_i y_i h(x_i)| / sum_i d_i."""

    split: Split | None
    edge: float


# ------------------------------------------------------------------------------------------------ codes, once


class _Enough(Exception):
    """No time for further columns."""


def presort(X: Any, order: np.ndarray, over: Callable[[], Any] = lambda: None) -> Coded | Sorted:
    """Codes, or sorted columns, of the rows ``order`` of X.

    Where ``over`` says so, the dense columns that are not coded by then have one code for all rows: no stump asks for them.
    """
    if sparse.issparse(X):
        return _sorted_columns(X, order)
    n, d = order.size, X.shape[1]
    exact = n <= EXACT
    whole = bool(n == X.shape[0])
    cuts: list[np.ndarray] = [np.empty(0)] * d
    sizes = np.ones(d, dtype=np.int64)
    wide = np.zeros((d, n), dtype=np.uint16 if exact else np.uint8)
    step = max(1, min(8, (1 << 20) // max(n, 1)))
    in_order = whole and bool((np.diff(order) > 0).all())
    coded_in = _rank if exact else put_into_bins

    def part(k: int) -> None:
        columns = range(k * step, min(d, (k + 1) * step))
        block = X[:, columns.start : columns.stop]
        block = _float32((block if in_order else block[order]).T)
        for j in columns:
            cuts[j] = coded_in(block[j - columns.start], wide[j])
            sizes[j] = cuts[j].size + 1

    def tick() -> None:
        if over() and (sizes > 1).any():  # one column there must be
            raise _Enough

    try:
        share(part, -(-d // step), tick)
    except _Enough:
        exact = False
    if exact and int(sizes.max(initial=1)) <= BINS:
        wide = wide.astype(np.uint8)
    return Coded(wide, sizes, cuts, exact, *_listed(wide, sizes, exact))


def _listed(codes: np.ndarray, sizes: np.ndarray, exact: bool) -> tuple[np.ndarray, ...]:
    """For features whose most frequent code three quarters of few rows have: that code, and the other rows with theirs."""
    d, n = codes.shape
    common = np.full(d, -1, dtype=np.int64)
    rows: list[np.ndarray] = []
    others: list[np.ndarray] = []
    for j in range(d):
        if exact and n >= FEW and sizes[j] > 2:
            counts = np.bincount(codes[j], minlength=sizes[j])
            most = int(counts.argmax())
            if 4 * counts[most] >= 3 * n:
                common[j] = most
                where = np.flatnonzero(codes[j] != most)
                rows.append(where.astype(np.uint16))
                others.append(codes[j][where].astype(np.uint16))
                continue
        rows.append(np.empty(0, dtype=np.uint16))
        others.append(np.empty(0, dtype=np.uint16))
    ends = np.concatenate([[0], np.cumsum([each.size for each in rows])]).astype(np.int64)
    return common, ends, np.concatenate(rows), np.concatenate(others)


def _float32(values: np.ndarray) -> np.ndarray:
    """In rows of features; an error where a value is beyond float32."""
    with np.errstate(over="ignore"):
        block = np.array(values, dtype=np.float32, order="C")
    if not np.isfinite(block).all():
        raise ValueError("Input X contains infinity or a value too large for dtype('float32').")
    return block


def midpoints(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Thresholds t with low <= t < high. The midpoint of two float32 is a float64."""
    return low.astype(np.float64) / 2.0 + high.astype(np.float64) / 2.0


def _rank(values: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Each value its own code. Few values are looked up, for sorting with an order is slow where values are equal."""
    arranged = np.sort(values)
    where = np.flatnonzero(arranged[1:] != arranged[:-1])
    cuts = midpoints(arranged[where], arranged[where + 1])
    if cuts.size < BINS:
        _encode(values, _padded(cuts), out)
        return cuts
    order = values.argsort()
    arranged = values[order]
    ranks = np.zeros(values.size, dtype=np.uint16)
    np.cumsum(arranged[1:] != arranged[:-1], out=ranks[1:])
    out[order] = ranks
    return cuts


def _padded(cuts: np.ndarray) -> np.ndarray:
    return np.append(cuts, np.full(BINS - 1 - cuts.size, np.inf))


def put_into_bins(values: np.ndarray, out: np.ndarray) -> np.ndarray:
    """At most 256 codes, of about as many rows each."""
    sample = np.sort(values[:: -(-values.size // SAMPLE)])
    new = np.flatnonzero(sample[1:] != sample[:-1])
    if new.size >= BINS:
        wanted = np.arange(1, BINS) * sample.size // BINS  # a cut after the last row of the same value
        new = new[np.unique(np.minimum(np.searchsorted(new, wanted - 1), new.size - 1))]
    cuts = midpoints(sample[new], sample[new + 1])
    _encode(values, _padded(cuts), out)
    return cuts


@compiled(allocates=False)
def _encode(values, cuts, out):
    """How many of 255 cuts are below each value."""
    for i in range(values.size):
        x = values[i]
        p = 128 if cuts[127] < x else 0
        p += 64 if cuts[p + 63] < x else 0
        p += 32 if cuts[p + 31] < x else 0
        p += 16 if cuts[p + 15] < x else 0
        p += 8 if cuts[p + 7] < x else 0
        p += 4 if cuts[p + 3] < x else 0
        p += 2 if cuts[p + 1] < x else 0
        p += 1 if cuts[p] < x else 0
        out[i] = p


def _sorted_columns(X: Any, order: np.ndarray) -> Sorted:
    # The rows are numbered anew and X is not copied but once.
    columns = X.tocsr()[order].tocsc()
    columns.sum_duplicates()
    columns.eliminate_zeros()
    values = _float32(columns.data)
    values[values == 0.0] = 0.0
    column = np.repeat(np.arange(columns.shape[1]), np.diff(columns.indptr))
    by_value = np.lexsort((values, column))
    return Sorted(
        columns.indptr.astype(np.int64), columns.indices.astype(np.int32)[by_value], values[by_value], order.size
    )


# ------------------------------------------------------------------------------------------------ a round


def search(data: Coded | Sorted, starts: np.ndarray, w: np.ndarray) -> Found:
    """The best split of the rows with weights ``w``; class k has the rows starts[k] to starts[k + 1]."""
    if isinstance(data, Sorted):
        return _search_sorted(data, starts, w)
    d, K = data.codes.shape[0], starts.size - 1
    gain, cut, edge = np.empty(d), np.empty(d, dtype=np.int64), np.zeros(d)
    read = d * w.size if K > 2 else int(np.count_nonzero(data.common < 0)) * w.size + data.rows.size
    step = -(-d // max(1, min(d, read // 80_000)))  # a part is worth a thread

    def part(k: int) -> None:
        ends = (k * step, min(d, (k + 1) * step))
        if K == 2:
            lists = (data.common, data.ends, data.rows, data.others)
            _two_classes(data.codes, data.sizes, *lists, starts, w, *ends, gain, cut, edge)
        else:
            _many_classes(data.codes, data.sizes, starts, w, *ends, gain, cut, edge)

    share(part, -(-d // step))
    j = first_of_largest(gain)
    reach = float(edge.max(initial=0.0))
    if not gain[j] > 0.0:
        return Found(None, reach)
    c = int(cut[j])
    return Found(Split(j, float(data.cuts[j][c]), data.codes[j], c), reach)


@compiled(vectorise=True, inner=True)
def _two_codes(codes, w):
    """Sums of weights of codes 0 and 1."""
    zero = 0.0
    one = 0.0
    for i in range(w.size):
        first = codes[i] == 0
        zero += w[i] if first else 0.0
        one += 0.0 if first else w[i]
    return zero, one


@compiled(inner=True)
def _tally(codes, w, h):
    """h[0, c] = sum of the weights of code c; h has one line, or four that rows take in turn."""
    B = h.shape[1]
    n = w.size
    if B == 2:
        h[0, 0], h[0, 1] = _two_codes(codes, w)
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
def _sum(w):
    total = 0.0
    for i in range(w.size):
        total += w[i]
    return total


@compiled(inner=True)
def _tally_others(start, end, past, rows, others, w, total, n, usual, h):
    """The same from the list of a feature, as far as its rows are below ``past``; the rest of n rows and of their weight has the
    code ``usual``. Where the list ends."""
    p = start
    listed = 0.0
    while p < end and rows[p] < past:
        weight = w[rows[p]]
        h[0, others[p]] += weight
        listed += weight
        p += 1
    # Nothing is left by rounding where there is nobody.
    h[0, usual] = max(total - listed, 0.0) if p - start < n else 0.0
    return p


@compiled
def _two_classes(codes, sizes, common, ends, rows, others, starts, w, first, last, gain, cut, edge):
    """For the features first..last: the largest sum above, where, and the largest |sum_i d_i y_i h(x_i)|."""
    m = starts[1]
    n = starts[2]
    whole0 = _sum(w[:m])
    whole1 = _sum(w[m:n])
    for f in range(first, last):
        B = sizes[f]
        lines = 4 if 2 < B <= LANES and common[f] < 0 else 1
        h0 = np.zeros((lines, B))
        h1 = np.zeros((lines, B))
        if common[f] >= 0:
            half = _tally_others(ends[f], ends[f + 1], m, rows, others, w, whole0, m, common[f], h0)
            _tally_others(half, ends[f + 1], n, rows, others, w, whole1, n - m, common[f], h1)
        else:
            _tally(codes[f, :m], w[:m], h0)
            _tally(codes[f, m:n], w[m:n], h1)
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
                if value > best * TIE:
                    best = value
                    at = c
        gain[f] = best
        cut[f] = at
        edge[f] = reach / (t0 + t1)


@compiled
def _many_classes(codes, sizes, starts, w, first, last, gain, cut, edge):
    K = starts.size - 1
    left = np.empty(K)
    total = np.empty(K)
    for f in range(first, last):
        B = sizes[f]
        lines = 4 if 2 < B <= LANES else 1
        h = np.zeros((K, lines, B))
        for k in range(K):
            _tally(codes[f, starts[k] : starts[k + 1]], w[starts[k] : starts[k + 1]], h[k])
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
                if value > best * TIE:
                    best = value
                    at = c
        gain[f] = best
        cut[f] = at


def first_of_largest(values: np.ndarray) -> int:
    """The first of those that are the largest, but for rounding."""
    top = values.max()
    return int(np.argmax(values >= (top / TIE if top > 0.0 else top)))


def _search_sorted(data: Sorted, starts: np.ndarray, w: np.ndarray) -> Found:
    d, K = data.indptr.size - 1, starts.size - 1
    gain, edge = np.empty(d), np.zeros(d)
    low, high = np.zeros(d, dtype=np.float32), np.zeros(d, dtype=np.float32)
    classes = np.repeat(np.arange(K, dtype=np.uint8 if K <= 256 else np.int32), np.diff(starts)).astype(np.int32)
    total = np.array([w[starts[k] : starts[k + 1]].sum() for k in range(K)])
    step = max(1, d // 64)

    def part(k: int) -> None:
        ends = (k * step, min(d, (k + 1) * step))
        _sparse_columns(data.indptr, data.rows, data.values, classes, total, w, *ends, gain, low, high, edge)

    share(part, -(-d // step))
    j = first_of_largest(gain)
    reach = float(edge.max(initial=0.0))
    if not gain[j] > 0.0:
        return Found(None, reach)
    threshold = float(midpoints(low[j : j + 1], high[j : j + 1])[0])
    side = np.full(data.n_rows, np.uint8(threshold < 0.0), dtype=np.uint8)
    entries = slice(int(data.indptr[j]), int(data.indptr[j + 1]))
    side[data.rows[entries]] = data.values[entries] > np.float64(
        threshold
    )  # a plain float would be rounded to float32 first
    return Found(Split(j, threshold, side, 0), reach)


@compiled
def _sparse_columns(indptr, rows, values, classes, total, w, first, last, gain, low, high, edge):
    """As above for sorted columns; the split lies between the values low and high."""
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
        pending = n > end - start  # zeros that stand nowhere yet
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
                if value > best * TIE:
                    best = value
                    low[f] = here
                    high[f] = following
        gain[f] = best
        edge[f] = reach / mass


# ------------------------------------------------------------------------------------------------ what a stump does


@compiled(vectorise=True, inner=True)
def _both_sides(side, cut, w):
    left = 0.0
    right = 0.0
    for i in range(w.size):
        beyond = side[i] > cut
        right += w[i] if beyond else 0.0
        left += 0.0 if beyond else w[i]
    return left, right


def side_masses(side, cut, starts, w):
    """The weight of each class on the left (line 0) and on the right (line 1)."""
    masses = np.empty((2, starts.size - 1))
    _sum_sides(side, cut, starts, w, masses)
    return masses


@compiled(allocates=False)
def _sum_sides(side, cut, starts, w, masses):
    for k in range(starts.size - 1):
        left, right = _both_sides(side[starts[k] : starts[k + 1]], cut, w[starts[k] : starts[k + 1]])
        masses[0, k] = left
        masses[1, k] = right


@compiled(allocates=False)
def answers(side, cut, left, right, out):
    """The class that a stump gives each row."""
    for i in range(side.size):
        out[i] = right if side[i] > cut else left


class Stumps(NamedTuple):
    """A stump for each round: x[feature] <= threshold gives classes[t, 0], else classes[t, 1]; feature -1 where all rows go
    left.
    """

    feature: np.ndarray  # (T,) int32
    threshold: np.ndarray  # (T,)
    classes: np.ndarray  # (T, 2) int32
    masses: np.ndarray  # (T, 2, K) weight of each class on each side, in the round's weights
    counts: np.ndarray  # (T, 2) rows on each side

    @classmethod
    def of(cls, rounds: list[Any], K: int) -> Stumps:
        """From (feature, threshold, classes, masses, counts) of each round."""
        T = len(rounds)
        return cls(
            np.array([r[0] for r in rounds], dtype=np.int32).reshape(T),
            np.array([r[1] for r in rounds], dtype=np.float64).reshape(T),
            np.array([r[2] for r in rounds], dtype=np.int32).reshape(T, 2),
            np.array([r[3] for r in rounds], dtype=np.float64).reshape(T, 2, K),
            np.array([r[4] for r in rounds], dtype=np.int64).reshape(T, 2),
        )


def votes(stumps: Stumps, alphas: np.ndarray, X: Any, K: int) -> np.ndarray:
    """The votes of ``solvers/boosting/rounds``, added in the order of the rounds: (n, 1) for two classes, else (n, K)."""
    n = X.shape[0]
    total = np.zeros((n, 1 if K == 2 else K))
    columns, feature = None, stumps.feature
    if sparse.issparse(X):
        used = np.unique(stumps.feature[stumps.feature >= 0])
        X = X.tocsr()
        columns = used if used.size else np.zeros(1, dtype=np.int64)
        feature = np.where(stumps.feature >= 0, np.searchsorted(columns, stumps.feature), -1).astype(np.int32)
    step = max(1, (1 << 20) // max(1, X.shape[1] if columns is None else columns.size))

    def part(k: int) -> None:
        block = X[k * step : (k + 1) * step]
        block = np.ascontiguousarray(block if columns is None else block[:, columns].toarray(), dtype=np.float32)
        _decide(block, feature, stumps.threshold, stumps.classes, alphas, total[k * step : (k + 1) * step])

    share(part, -(-n // step))
    return total


@compiled
def _decide(X, feature, threshold, classes, alphas, total):
    T = feature.size
    if total.shape[1] == 1:
        left = np.empty(T)
        right = np.empty(T)
        for t in range(T):
            left[t] = alphas[t] if classes[t, 0] == 1 else -alphas[t]
            right[t] = alphas[t] if classes[t, 1] == 1 else -alphas[t]
        for i in range(X.shape[0]):
            f = total[i, 0]
            for t in range(T):
                beyond = feature[t] >= 0 and X[i, max(feature[t], 0)] > threshold[t]
                f += right[t] if beyond else left[t]
            total[i, 0] = f
    else:
        for i in range(X.shape[0]):
            for t in range(T):
                beyond = feature[t] >= 0 and X[i, max(feature[t], 0)] > threshold[t]
                total[i, classes[t, 1 if beyond else 0]] += alphas[t]
