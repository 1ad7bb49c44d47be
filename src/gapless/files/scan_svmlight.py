"""Rows of svmlight text, in compiled code. A block holds whole lines; the scanner releases the GIL: blocks run side by side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapless._compile.jit import compiled
from gapless.files.csv.codes import BYTE, END, WHOLE
from gapless.files.csv.scan_number import number


class Lines(NamedTuple):
    """What the lines of a block say; the arrays are as long as there are lines, or colons."""

    values: np.ndarray
    indices: np.ndarray
    ends: np.ndarray  # of each row among the entries
    labels: np.ndarray
    spans: np.ndarray  # where a label's text begins and ends; -1: there is none
    lines: np.ndarray  # of each row, from 0 within the block
    odd: np.ndarray  # (entry, begin, end) of the values that Python has to read
    facts: np.ndarray  # those of `Facts`


class Facts(NamedTuple):
    """Counts of a block, and what went wrong in it."""

    lines: int
    rows: int
    entries: int
    odd: int
    smallest: int  # index
    largest: int
    largest_line: int
    not_whole: int  # labels that are no plain whole number
    no_number: int  # labels that are no number
    unlabelled: int
    wrong: int  # of `Ends`
    wrong_line: int
    wrong_at: int  # where that line begins
    unsorted: int  # rows whose indices do not increase: they are left as they stand


def scan_svmlight(text, fives, twos):
    """Rows of `label index:value index:value ... # comment`, one a line; each label is read as a number where it is one.

    Returns `Lines`.
    """
    n_lines, n_colons = _count(text)
    found = Lines(
        np.empty(n_colons),
        np.empty(n_colons, dtype=np.int32),
        np.empty(n_lines + 1, dtype=np.int64),
        np.empty(n_lines + 1),
        np.empty((n_lines + 1, 2), dtype=np.int64),
        np.empty(n_lines + 1, dtype=np.int64),
        np.empty((n_colons, 3), dtype=np.int64),
        np.zeros(len(Facts._fields), dtype=np.int64),
    )
    _scan(text, fives, twos, found)
    return found


@compiled(allocates=False)
def _count(text):
    """Lines and colons."""
    n_lines, n_colons = 0, 0
    for i in range(text.size):
        n_lines += text[i] == BYTE.lf
        n_colons += text[i] == BYTE.colon
    return n_lines, n_colons


@compiled(allocates=False)
def _scan(text, fives, twos, found):
    values, indices, ends, labels = found.values, found.indices, found.ends, found.labels
    spans, lines, odd, facts = found.spans, found.lines, found.odd, found.facts
    largest_index = 2**31 - 2  # a larger one is a typing error: the columns of the matrix are 32-bit numbers
    n = text.size
    smallest, largest, at_line = np.int64(1) << 62, np.int64(-1), np.int64(0)
    rows, k, n_odd, line = 0, 0, 0, 0
    i = 0
    while i < n:
        begin = i
        while i < n and (text[i] == BYTE.space or text[i] == BYTE.tab or text[i] == BYTE.cr):
            i += 1
        if i >= n or text[i] == BYTE.lf or text[i] == BYTE.hash:  # blank, or a comment
            while i < n and text[i] != BYTE.lf:
                i += 1
            i += 1
            line += 1
            continue
        wrong = END.fine
        first = i
        while i < n and text[i] > BYTE.space and text[i] != BYTE.colon and text[i] != BYTE.hash:
            i += 1
        if i < n and text[i] == BYTE.colon:  # an index: there is no label
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
            while i < n and (text[i] == BYTE.space or text[i] == BYTE.tab or text[i] == BYTE.cr):
                i += 1
            if i >= n or text[i] == BYTE.lf:
                break
            if text[i] == BYTE.hash:
                while i < n and text[i] != BYTE.lf:
                    i += 1
                break
            index, first = np.int64(0), i
            while i < n and text[i] - np.uint8(BYTE.zero) <= 9:
                if index < 1 << 40:
                    index = index * 10 + np.int64(text[i] - np.uint8(BYTE.zero))
                i += 1
            if i == first or i >= n or text[i] != BYTE.colon:
                if (
                    i + 3 < n
                    and text[i] == 113
                    and text[i + 1] == 105
                    and text[i + 2] == 100
                    and text[i + 3] == BYTE.colon
                ):
                    while i < n and text[i] > BYTE.space:  # qid:
                        i += 1
                    continue
                wrong = END.bad_line
                break
            i += 1
            if index > largest_index:
                wrong = END.too_large
                break
            stop, value, _ = number(text, i, n, fives, twos)
            if stop == i or stop < 0 or (stop < n and text[stop] > BYTE.space and text[stop] != BYTE.hash):
                start = i
                while i < n and text[i] > BYTE.space and text[i] != BYTE.hash:
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
        if wrong != END.fine:
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
    facts[0], facts[1], facts[2], facts[3] = line, rows, k, n_odd
    facts[4], facts[5], facts[6] = smallest, largest, at_line
