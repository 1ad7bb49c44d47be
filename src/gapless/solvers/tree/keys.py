"""The keys of the columns of a part of at most 65,536 rows: the rank of a value above, the place of its row below, 16 bits each.

A column is its keys in order of their values. Where more than half of all rows have one value, only the others have keys.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless._compile.jit import compiled

#: A wide key has a code, or the bits of a value, in its upper half, and a row in the lower one.
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
#: Where the keys of each digit of 8 bits begin, and their end.
DIGITS = 257


@compiled(allocates=False)
def keys_of_order(order: Any, ordered: Any, common: Any, place: Any, keys: Any, ends: Any, usual: Any) -> None:
    """Keys from the sorted rows of each column, of the rows that have a place.

    ``ends[j]`` is where the keys of column j begin, those of the next one where they end; ``usual[j]`` the rank of the value
    that has no keys, or -1. ``ordered[j]``: how many rows are in ``order``, and how many of them below that value."""
    at = np.int64(0)
    row_bits = np.uint32(0x7FFFFFFF)  # the highest bit says that a value begins
    for j in range(order.shape[0]):
        fresh = np.uint32(1)
        rank = np.int64(-1)
        usual[j] = -1
        for part in range(2):
            first = np.int64(0) if part == 0 else ordered[j, 1]
            last = ordered[j, 1] if part == 0 else ordered[j, 0]
            for i in range(first, last):
                here = place[order[j, i] & row_bits]
                fresh |= order[j, i] >> np.uint32(31)
                there = np.uint32(1) if here >= 0 else np.uint32(0)
                rank += np.int64(fresh & there)
                fresh &= np.uint32(1) - there
                keys[at] = np.uint32(rank << 16) | np.uint32(here)
                at += np.int64(there)
            if part == 0 and common[j] >= 0:
                rank += 1
                usual[j] = rank
                fresh = np.uint32(1)
        ends[j + 1] = at


@compiled(allocates=False)
def keys_of_codes(
    codes: Any, n_codes: Any, common: Any, rows: Any, wide: Any, digits: Any, keys: Any, ends: Any, usual: Any
) -> None:  # fmt: skip
    """The same from the codes of the rows of a part; ``wide`` and ``digits`` are memory for sorting."""
    m = rows.size
    base = np.int64(0)
    for j in range(codes.shape[0]):
        count = np.int64(0)
        for i in range(m):
            c = np.int64(codes[j, rows[i]])
            wide[0, count] = (np.uint64(c) << np.uint64(32)) | np.uint64(i)
            count += 1 if c != common[j] else 0
        line = sort_keys(wide, count, n_codes[j], digits)
        rank, before = np.int64(-1), np.int64(-1)
        usual[j] = -1
        for p in range(count):
            c = np.int64(wide[line, p] >> np.uint64(32))
            if count < m and before < common[j] and common[j] < c:
                rank += 1
                usual[j] = rank
            rank += 1 if c != before else 0
            before = c
            keys[base + p] = np.uint32(rank << 16) | np.uint32(wide[line, p] & np.uint64(0xFFFF))
        if count < m and usual[j] < 0:
            usual[j] = rank + 1
        base += count
        ends[j + 1] = base


@compiled(inner=True)
def sort_keys(keys: Any, m: int, span: int, digits: Any) -> Any:
    """Sort keys[0, :m] by their upper half, which is below ``span``, stably; the line of ``keys`` that holds the result.

    ``digits`` is memory for DIGITS places."""
    if m <= 40:  # rows up to which plain insertion sorts fastest
        for i in range(1, m):
            key = keys[0, i]
            j = i - 1
            while j >= 0 and keys[0, j] > key:
                keys[0, j + 1] = keys[0, j]
                j -= 1
            keys[0, j + 1] = key
        return 0
    source, shift, left = 0, 32, span
    while left > 0:
        for b in range(DIGITS):
            digits[b] = 0
        for i in range(m):
            digits[((keys[source, i] >> np.uint64(shift)) & np.uint64(255)) + np.uint64(1)] += 1
        for b in range(1, DIGITS):
            digits[b] += digits[b - 1]
        for i in range(m):
            key = keys[source, i]
            b = (key >> np.uint64(shift)) & np.uint64(255)
            keys[1 - source, digits[b]] = key
            digits[b] += 1
        source, shift, left = 1 - source, shift + 8, left >> 8
    return source
