"""Where the cells of CSV records end, in compiled code: a pass over the bytes, 64 at a time, before anybody asks what they say.

A quote matters at the beginning of a cell only (after blanks); what it opens ends with the next quote that is not doubled, and
separators and line ends in between are text.
"""

from __future__ import annotations

import numpy as np

from gapless._compile.jit import compiled
from gapless.files.csv.codes import BYTE, END
from gapless.files.csv.scan_bytes import hits, leading_zeros, ones, trailing_zeros


@compiled
def cut(text, begin, end, width, separator, newline, last, ends, begins):
    """Records from text[begin] on, of `width` cells each; `end` is a line end where they are the `last` ones of the file.

    ends[width · i + j] is where cell j of record i ends, begins[i] where the record begins; records that are blank are left out.
    Returns (records, where the next one begins, what is wrong with that one, its cells).
    """
    one, lanes = np.uint64(1), np.uint64(64)
    sep, mark, quote = np.uint8(separator), np.uint8(newline), np.uint8(BYTE.quote)
    at, n, wide = np.uint64(begin), np.uint64(end), np.uint64(width)
    record, cell = at, at  # where they begin
    rows, first, k = np.uint64(0), np.uint64(0), np.uint64(0)  # records, cells before this record, cells
    while at < n:
        by, on, quotes = hits(text, at, sep), hits(text, at, mark), hits(text, at, quote)
        if at + lanes > n:
            there = (one << (n - at)) - one
            by, on, quotes = by & there, on & there, quotes & there
        opened = lanes
        while quotes != 0:
            place = trailing_zeros(quotes)
            quotes &= quotes - one
            before = (one << place) - one
            i = cell if (by | on) & before == 0 else at + lanes - leading_zeros((by | on) & before)
            while i < at + place and (text[i] == BYTE.space or text[i] == BYTE.tab):
                i += one
            if i == at + place:  # a cell in quotes: what follows is looked at again behind it
                opened = place
                by, on = by & before, on & before
                break
        both = by | on
        here = ones(both)
        if here != 0:
            cell = at + lanes - leading_zeros(both)
        rest = both
        for i in range(
            k, k + here, 4
        ):  # in fours, the last ones for nothing: a branch that is guessed wrong costs more
            for t in range(4):
                ends[i + np.uint64(t)] = at + trailing_zeros(rest)
                rest &= rest - one
        while on != 0:
            place = trailing_zeros(on)
            on &= on - one
            i = k + ones(both & ((one << place) - one))
            if i + one == first + wide and wide > one:
                begins[rows] = record
                rows += one
                first += wide
            elif i == first and _blank(text, record, at + place):
                for t in range(i, k + here - one):
                    ends[t] = ends[t + one]
                both &= ~(one << place)
                here -= one
            elif i + one == first + wide:
                begins[rows] = record
                rows += one
                first += wide
            else:
                return np.int64(rows), np.int64(record), END.ragged, np.int64(i + one - first)
            record = at + place + one
        k += here
        at += lanes
        if opened < lanes:
            i = at - lanes + opened + one
            while i < n:
                quotes = hits(text, i, quote)
                i += trailing_zeros(quotes)  # 64 where there is none
                if quotes != 0:
                    if i + one >= n or text[i + one] != BYTE.quote:
                        break
                    i += one + one
            if i >= n or (i + one == n and not last):  # a quote at the end may be half of two
                if last:
                    return np.int64(rows), np.int64(record), END.bad_quote, np.int64(k - first)
                break
            i += one
            while (
                i < n
                and (text[i] == BYTE.space or text[i] == BYTE.tab or text[i] == BYTE.cr)
                and text[i] != sep
                and text[i] != mark
            ):
                i += one
            if i < n and text[i] != sep and text[i] != mark:
                return np.int64(rows), np.int64(record), END.bad_quote, np.int64(k - first)
            at = cell = i
    return np.int64(rows), np.int64(record), END.fine, np.int64(0)


@compiled
def _blank(text, begin, end):
    while begin < end and text[begin] <= BYTE.space:
        begin += np.uint64(1)
    return begin == end
