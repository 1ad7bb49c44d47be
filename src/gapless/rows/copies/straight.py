"""A copy of sparse rows, or of dense ones that are mostly zeros, for those who read it from one end to the other, many times.

Where the data is larger than the cache, a visit of a sparse row waits for three memories: its values, its columns, and the
coefficients of these.  Here rows lie in the order of their visits, three columns of 21 bits to a word and then their three
values, four words to half a cache line; what is read next is asked for ahead.  Columns are numbered by how often they
occur, so that the coefficients that most rows need lie side by side; the rare ones, most of whose visits are the only one or
the first of few, in the order in which the rows come upon them, so that those of one row lie side by side.  Rows are filled up to
whole threes with zeros in column 0, which change no sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapless._compile.jit import compiled
from gapless._runtime.threads import share
from gapless.rows.copies.choose import THIN, filled_share
from gapless.rows.copies.prefetch import ahead
from gapless.rows.csr import CsrRows
from gapless.rows.products import Rows, n_features
from gapless.rows.verbs import rows

#: Columns that 21 bits can number, the constant feature's among them.
MOST_COLUMNS = 1 << 21
#: Words between what is asked for and what is read: 2 kB.
DISTANCE = 256
#: Columns that are numbered by how often they occur; their coefficients are a small part of a core's second cache.
COMMON = 1 << 14
#: Rows that are copied at a time.
PART = 2048


def row_dot(rows, i, theta):
    words, values = rows.words, rows.values
    mask, one, two, three = np.uint64(MOST_COLUMNS - 1), np.uint64(1), np.uint64(2), np.uint64(3)
    s0 = rows.constant * theta[theta.size - 1]
    s1, s2 = 0.0, 0.0
    for k in range(np.uint64(rows.ends[2 * i]), np.uint64(rows.ends[2 * i + 1]), np.uint64(4)):
        ahead(values, k + np.uint64(DISTANCE))
        w = words[k]
        s0 += values[k + one] * theta[w & mask]
        s1 += values[k + two] * theta[(w >> np.uint64(21)) & mask]
        s2 += values[k + three] * theta[w >> np.uint64(42)]
    return s0 + s1 + s2


def row_axpy(rows, i, a, theta):
    words, values = rows.words, rows.values
    mask, one, two, three = np.uint64(MOST_COLUMNS - 1), np.uint64(1), np.uint64(2), np.uint64(3)
    for k in range(np.uint64(rows.ends[2 * i]), np.uint64(rows.ends[2 * i + 1]), np.uint64(4)):
        w = words[k]
        theta[w & mask] += a * values[k + one]
        theta[(w >> np.uint64(21)) & mask] += a * values[k + two]
        theta[w >> np.uint64(42)] += a * values[k + three]
    theta[theta.size - 1] += a * rows.constant


def row_norm2(rows, i):
    values = rows.values
    s = rows.constant * rows.constant
    for k in range(np.uint64(rows.ends[2 * i]), np.uint64(rows.ends[2 * i + 1]), np.uint64(4)):
        for m in range(np.uint64(1), np.uint64(4)):
            s += values[k + m] * values[k + m]
    return s


def row_fetch(rows, i):
    # As much as `row_dot` does not ask for by itself.
    start = np.uint64(rows.ends[2 * i])
    for k in range(start, start + np.uint64(DISTANCE), np.uint64(8)):
        ahead(rows.values, k)


@rows(row_dot=row_dot, row_axpy=row_axpy, row_norm2=row_norm2, row_fetch=row_fetch)
class StraightRows(NamedTuple):
    words: np.ndarray  #: uint64
    values: np.ndarray  #: float64, the same memory
    ends: np.ndarray  #: of row i: where it begins, and where it ends
    n_features: int
    constant: float


def can_be_straight(rows: Rows) -> bool:
    """Whether a copy of them would be read faster."""
    return n_features(rows) < MOST_COLUMNS and (isinstance(rows, CsrRows) or filled_share(rows) <= THIN)


def straight(rows: Rows, order: np.ndarray) -> tuple[StraightRows, np.ndarray]:
    """The rows ``order``, fewer than `MOST_COLUMNS` wide; and where theta went: its entry j is entry place[j] beside them."""
    d, often = n_features(rows), np.zeros(n_features(rows), np.int64)
    if isinstance(rows, CsrRows):
        lengths, fill = np.diff(rows.indptr), _fill
        _count(rows.indices, often)
    else:
        lengths, fill = np.empty(order.size, np.int64), _fill_dense
        _count_dense(rows.values, often, lengths)
    place = np.empty(d + 1, np.int64)
    _by_frequency(often, np.zeros(int(often.max(initial=0)) + 1, np.int64), place)
    if d > COMMON and isinstance(rows, CsrRows):
        _by_first_row(rows.indices, rows.indptr, order, place)
    sizes = (lengths[order] + 2) // 3 * 4
    ends = np.empty((sizes.size, 2), np.int64)
    ends[:, 1] = np.cumsum(sizes)
    ends[:, 0] = ends[:, 1] - sizes
    ends = ends.ravel()
    values = np.empty(int(ends[-1]) if order.size else 0)
    words = values.view(np.uint64)
    parts = [*range(0, order.size, PART), order.size]
    share(lambda k: fill(rows, order, parts[k], parts[k + 1], place, ends, words, values), len(parts) - 1)
    return StraightRows(words, values, ends, d, rows.constant), place


@compiled
def _count(indices, often):
    for k in range(indices.size):
        often[indices[k]] += 1


@compiled
def _count_dense(X, often, lengths):
    for i in range(X.shape[0]):
        lengths[i] = 0
        for j in range(X.shape[1]):
            filled = X[i, j] != 0.0
            often[j] += filled
            lengths[i] += filled


@compiled(allocates=False)
def _by_frequency(often, starts, place):
    """A number for each column, the most frequent first, and the last one for the constant feature: a counting sort."""
    d = often.size
    for j in range(d):
        starts[often[j]] += 1
    at = 0
    for count in range(starts.size - 1, -1, -1):
        at, starts[count] = at + starts[count], at
    for j in range(d):
        place[j] = starts[often[j]]
        starts[often[j]] += 1
    place[d] = d


@compiled
def _by_first_row(indices, indptr, order, place):
    """The same numbers from `COMMON` on, given out anew: as the rows come upon their columns, and to unseen ones at last."""
    at, found = COMMON, np.zeros(place.size, np.bool_)
    for i in order:
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if place[j] >= COMMON and not found[j]:
                place[j], found[j], at = at, True, at + 1
    for j in range(place.size - 1):
        if place[j] >= COMMON and not found[j]:
            place[j], at = at, at + 1


@compiled
def _fill(rows, order, first, last, place, ends, words, values):
    for i in range(first, last):
        _fill_row(
            rows.indices,
            rows.values,
            rows.indptr[order[i]],
            rows.indptr[order[i] + 1],
            place,
            words,
            values,
            ends[2 * i],
        )


@compiled
def _fill_dense(rows, order, first, last, place, ends, words, values):
    d = rows.values.shape[1]
    columns, found = np.empty(d + 1, np.int64), np.empty(d + 1)
    for i in range(first, last):
        x = rows.values[order[i]]
        count = 0
        for j in range(d):  # a branch would cost more than writing zeros that the next value replaces
            columns[count] = j
            found[count] = x[j]
            count += x[j] != 0.0
        _fill_row(columns, found, 0, count, place, words, values, ends[2 * i])


@compiled
def _fill_row(indices, x, k, last, place, words, values, at):
    while k < last:
        w = np.uint64(0)
        for m in range(3):
            values[at + 1 + m] = 0.0
            if k + m < last:
                w |= np.uint64(place[indices[k + m]]) << np.uint64(21 * m)
                values[at + 1 + m] = x[k + m]
        words[at] = w
        k += 3
        at += 4
