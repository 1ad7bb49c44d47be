"""Rows of svmlight text, in compiled code. A block holds whole lines; the scanner releases the GIL: blocks run side by side."""

from __future__ import annotations

import numpy as np

from gapless._compile.jit import compiled
from gapless.files.csv.scan_bytes import CR, LF, SPACE, TAB
from gapless.files.csv.scan_number import WHOLE, ZERO, number

HASH, COLON = 35, 58
FINE, BAD_LINE, TOO_LARGE = 0, 1, 2  # what a scan ends with
LARGEST_INDEX = 2**31 - 2  # a larger one is a typing error: the columns of the matrix are 32-bit numbers


def scan_svmlight(text, fives, twos):
    """Rows of `label index:value index:value ... # comment`, one a line; each label is read as a number where it is one.

    Returns (values, indices, ends, labels, label_spans, lines, odd, facts): `lines` counts from 0 within the block,
    `label_spans` are where a label's text begins and ends (-1: there is none), `odd` are (entry, begin, end) of the values
    that Python has to read, and facts = (lines, rows, entries, odd ones, smallest index, largest, its line, labels
    that are no plain whole number, labels that are no number, rows without, what went wrong, on which line, where that begins,
    rows whose indices do not increase: they are left as they stand).
    """
    n_lines, n_colons = _count(text)
    found = (
        np.empty(n_colons),
        np.empty(n_colons, dtype=np.int32),
        np.empty(n_lines + 1, dtype=np.int64),
        np.empty(n_lines + 1),
        np.empty((n_lines + 1, 2), dtype=np.int64),
        np.empty(n_lines + 1, dtype=np.int64),
        np.empty((n_colons, 3), dtype=np.int64),
        np.zeros(14, dtype=np.int64),
    )
    _scan(text, fives, twos, *found)
    return found


@compiled(allocates=False)
def _count(text):
    """Lines and colons."""
    n_lines, n_colons = 0, 0
    for i in range(text.size):
        n_lines += text[i] == LF
        n_colons += text[i] == COLON
    return n_lines, n_colons


@compiled(allocates=False)
def _scan(text, fives, twos, values, indices, ends, labels, spans, lines, odd, facts):
    n = text.size
    smallest, largest, at_line = np.int64(1) << 62, np.int64(-1), np.int64(0)
    rows, k, n_odd, line = 0, 0, 0, 0
    i = 0
    while i < n:
        begin = i
        while i < n and (text[i] == SPACE or text[i] == TAB or text[i] == CR):
            i += 1
        if i >= n or text[i] == LF or text[i] == HASH:  # blank, or a comment
            while i < n and text[i] != LF:
                i += 1
            i += 1
            line += 1
            continue
        wrong = FINE
        first = i
        while i < n and text[i] > SPACE and text[i] != COLON and text[i] != HASH:
            i += 1
        if i < n and text[i] == COLON:  # an index: there is no label
            spans[rows, 0] = spans[rows, 1] = -1
            labels[rows] = np.nan
            facts[9] += 1
            i = first
        else:
            spans[rows, 0], spans[rows, 1] = first, i
            stop, label, whole = number(text, first, i, fives, twos)
            labels[rows] = label
            if stop != i or not whole or abs(label) > WHOLE:
                facts[7] += 1
            if stop != i:
                facts[8] += 1
        row, last, ordered = k, np.int64(-1), True
        while i < n:
            while i < n and (text[i] == SPACE or text[i] == TAB or text[i] == CR):
                i += 1
            if i >= n or text[i] == LF:
                break
            if text[i] == HASH:
                while i < n and text[i] != LF:
                    i += 1
                break
            index, first = np.int64(0), i
            while i < n and text[i] - np.uint8(ZERO) <= 9:
                if index < 1 << 40:
                    index = index * 10 + np.int64(text[i] - np.uint8(ZERO))
                i += 1
            if i == first or i >= n or text[i] != COLON:
                if i + 3 < n and text[i] == 113 and text[i + 1] == 105 and text[i + 2] == 100 and text[i + 3] == COLON:
                    while i < n and text[i] > SPACE:  # qid:
                        i += 1
                    continue
                wrong = BAD_LINE
                break
            i += 1
            if index > LARGEST_INDEX:
                wrong = TOO_LARGE
                break
            stop, value, _ = number(text, i, n, fives, twos)
            if stop == i or stop < 0 or (stop < n and text[stop] > SPACE and text[stop] != HASH):
                start = i
                while i < n and text[i] > SPACE and text[i] != HASH:
                    i += 1
                odd[n_odd, 0], odd[n_odd, 1], odd[n_odd, 2] = k, start, i
                n_odd += 1
            else:
                i = stop
            values[k], indices[k] = value, index
            k += 1
            ordered = ordered and index > last  # type: ignore[assignment]
            last = index
        facts[13] += not ordered
        if wrong != FINE:
            facts[10], facts[11], facts[12] = wrong, line, begin
            break
        for a in range(row, k):
            smallest = min(smallest, np.int64(indices[a]))
            if indices[a] > largest:
                largest, at_line = np.int64(indices[a]), line  # type: ignore[assignment]
        lines[rows] = line
        rows += 1
        ends[rows - 1] = k
        line += 1
        i += 1
    facts[0], facts[1], facts[2], facts[3], facts[4], facts[5], facts[6] = (
        line,
        rows,
        k,
        n_odd,
        smallest,
        largest,
        at_line,
    )
