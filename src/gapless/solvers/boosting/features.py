"""Features as stumps read them: each value is replaced by the number of thresholds below it, its code, once for all rounds.

Up to 65,536 rows the thresholds are all midpoints of neighbouring values (exact); with more rows, features of more than 256
values get the 255 quantiles of a sample. Sparse columns keep their entries sorted by value; the rows without an entry stand
together at zero. Features are read as float32, as trees read them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gapless._compile.jit import compiled
from gapless._runtime.threads import run_in_parts

from .thresholds import BOOSTING_THRESHOLDS

#: Codes that one byte holds.
BYTE_CODES = 256


class FrequentCodes(NamedTuple):
    """For each feature the code that most rows have, and a list of the rows that have another one."""

    common: np.ndarray  #: (d,) the frequent code; -1 where the feature has no list
    ends: np.ndarray  #: (d + 1,) where the list of a feature begins
    rows: np.ndarray  #: uint16, rising
    others: np.ndarray  #: uint16, the codes of these rows


class CodedFeatures(NamedTuple):
    """Dense features: ``codes[j, i] <= c`` where ``x_ij <= cuts[j][c]``; rows in the order of their classes."""

    codes: np.ndarray  #: (d, n) uint8 or uint16
    sizes: np.ndarray  #: (d,) codes of each feature
    cuts: list[np.ndarray]  #: sizes[j] - 1 thresholds each
    exact: bool  #: whether each value has a code of its own
    frequent: FrequentCodes


class SortedFeatures(NamedTuple):
    """Sparse features: the entries of a column by rising value, stored zeros left out."""

    indptr: np.ndarray
    rows: np.ndarray
    values: np.ndarray
    n_rows: int
    exact: bool = True


class _OutOfTime(Exception):
    """The run is over before all columns have codes."""


def encode_features(
    X: Any, order: np.ndarray, over: Callable[[], Any] = lambda: None
) -> CodedFeatures | SortedFeatures:
    """Codes, or sorted columns, of the rows ``order`` of X.

    As soon as ``over()`` is true, each dense column that is not coded yet gets one code for all rows: no stump splits by it.
    """
    if sparse.issparse(X):
        return _sort_columns(X, order)
    n, d = order.size, X.shape[1]
    exact = n <= BOOSTING_THRESHOLDS.exact_rows
    whole = bool(n == X.shape[0])
    cuts: list[np.ndarray] = [np.empty(0)] * d
    sizes = np.ones(d, dtype=np.int64)
    codes = np.zeros((d, n), dtype=np.uint16 if exact else np.uint8)
    step = max(1, min(8, (1 << 20) // max(n, 1)))  # columns of a copy: at most 8, and 4 MB
    in_order = whole and bool((np.diff(order) > 0).all())
    encode_column = _rank_values if exact else cut_into_bins

    def part(k: int) -> None:
        columns = range(k * step, min(d, (k + 1) * step))
        block = X[:, columns.start : columns.stop]
        block = _read_float32((block if in_order else block[order]).T)
        for j in columns:
            cuts[j] = encode_column(block[j - columns.start], codes[j])
            sizes[j] = cuts[j].size + 1

    def tick() -> None:
        if over() and (sizes > 1).any():  # a stump needs one column
            raise _OutOfTime

    try:
        run_in_parts(part, -(-d // step), tick)
    except _OutOfTime:
        exact = False
    if exact and int(sizes.max(initial=1)) <= BYTE_CODES:
        codes = codes.astype(np.uint8)
    return CodedFeatures(codes, sizes, cuts, exact, _list_infrequent(codes, sizes, exact))


def _list_infrequent(codes: np.ndarray, sizes: np.ndarray, exact: bool) -> FrequentCodes:
    """Lists for the exact features of which at least three quarters of the rows have one code."""
    d, n = codes.shape
    common = np.full(d, -1, dtype=np.int64)
    rows = [np.empty(0, dtype=np.uint16)] * d
    others = [np.empty(0, dtype=np.uint16)] * d
    for j in range(d if exact and n >= BOOSTING_THRESHOLDS.frequent_code_rows else 0):
        if sizes[j] > 2:
            counts = np.bincount(codes[j], minlength=sizes[j])
            most = int(counts.argmax())
            if 4 * counts[most] >= 3 * n:
                common[j] = most
                where = np.flatnonzero(codes[j] != most)
                rows[j] = where.astype(np.uint16)
                others[j] = codes[j][where].astype(np.uint16)
    ends = np.concatenate([[0], np.cumsum([each.size for each in rows])]).astype(np.int64)
    return FrequentCodes(common, ends, np.concatenate(rows), np.concatenate(others))


def _read_float32(values: np.ndarray) -> np.ndarray:
    """The values as float32 in rows of features; an error where a value is beyond float32."""
    with np.errstate(over="ignore"):
        block = np.array(values, dtype=np.float32, order="C")
    if not np.isfinite(block).all():
        raise ValueError("Input X contains infinity or a value too large for dtype('float32').")
    return block


def midpoints(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Thresholds t with low <= t < high. The midpoint of two float32 is a float64."""
    return low.astype(np.float64) / 2.0 + high.astype(np.float64) / 2.0


def _rank_values(values: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Give each value a code of its own; the cuts. At most 256 values are looked up: argsort is slow where many are equal."""
    arranged = np.sort(values)
    where = np.flatnonzero(arranged[1:] != arranged[:-1])
    cuts = midpoints(arranged[where], arranged[where + 1])
    if cuts.size < BYTE_CODES:
        _count_cuts_below(values, _pad_cuts(cuts), out)
        return cuts
    order = values.argsort()
    arranged = values[order]
    ranks = np.zeros(values.size, dtype=np.uint16)
    np.cumsum(arranged[1:] != arranged[:-1], out=ranks[1:])
    out[order] = ranks
    return cuts


def _pad_cuts(cuts: np.ndarray) -> np.ndarray:
    return np.append(cuts, np.full(BYTE_CODES - 1 - cuts.size, np.inf))


def cut_into_bins(values: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Give the values at most 256 codes of about as many rows each; the cuts."""
    sample = np.sort(values[:: -(-values.size // BOOSTING_THRESHOLDS.quantile_sample_rows)])
    new = np.flatnonzero(sample[1:] != sample[:-1])
    if new.size >= BYTE_CODES:
        wanted = np.arange(1, BYTE_CODES) * sample.size // BYTE_CODES  # a cut after the last row of the same value
        new = new[np.unique(np.minimum(np.searchsorted(new, wanted - 1), new.size - 1))]
    cuts = midpoints(sample[new], sample[new + 1])
    _count_cuts_below(values, _pad_cuts(cuts), out)
    return cuts


@compiled(allocates=False)
def _count_cuts_below(values: Any, cuts: Any, out: Any) -> None:
    """The number of the 255 cuts that are below each value, by eight comparisons."""
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


def _sort_columns(X: Any, order: np.ndarray) -> SortedFeatures:
    # Numbering the rows anew is the only copy of X.
    columns = X.tocsr()[order].tocsc()
    columns.sum_duplicates()
    columns.data = _read_float32(columns.data)
    columns.eliminate_zeros()  # of float32: a value that underflows is one with those that are not stored
    values = columns.data
    column = np.repeat(np.arange(columns.shape[1]), np.diff(columns.indptr))
    by_value = np.lexsort((values, column))
    return SortedFeatures(
        columns.indptr.astype(np.int64), columns.indices.astype(np.int32)[by_value], values[by_value], order.size
    )
