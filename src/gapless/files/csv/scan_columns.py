"""What the cells of a CSV column say, in compiled code: numbers, or the codes of texts, column by column of a block.

Numbers are read eight digits at a time; what is not digits with at most a point and a minus goes the long way by `number`, and
what that cannot read is listed as *odd* cells, for Python.

A text is known by its first sixteen bytes, its length and its column; where it is longer, a hash of the rest finds it and the
bytes decide. The texts that one worker knows are kept from block to block, with their bytes; what a text means is asked once for
each of them, in the end.
"""

from __future__ import annotations

import numpy as np

from gapless._compile.jit import compiled
from gapless.files.csv.scan_bytes import CR, QUOTE, SPACE, hits, trailing_zeros, word
from gapless.files.csv.scan_number import EXACT_TENS, MINUS, POINT, SMALLEST_POWER, WHOLE, ZERO, number, scaled

SKIP, NUMBER, TEXT, LABEL = 0, 1, 2, 3  # kinds of a column; a label is a text, missing only where it is empty
FINE, FULL, TOO_MANY_TEXTS = 0, 1, 2  # what a scan ends with
MOST_TEXTS = 1 << 16  # different texts of a column
SPARSE = 8  # places of the table of texts for each text: few meet, and a guess is seldom wrong
KNOWN = 6  # of a text: hash, first and second eight bytes, where it stands in the pool, length and column, code

_U = np.uint64
_ALL, _TOPS = _U(0xFFFFFFFFFFFFFFFF), _U(0x8080808080808080)
_A, _B, _C = _U(0x9E3779B97F4A7C15), _U(0xBF58476D1CE4E5B9), _U(0x94D049BB133111EB)  # odd, with bits everywhere


@compiled
def scan_columns(
    text, ends, begins, rows, kinds, place, n_texts, X, extra, missing, odd, facts, state, counts, table, known, pool, fives, twos
):  # fmt: skip
    """Cells into X[:, place], or, where the place is negative, extra[:, -1 - place]. `ends` and `begins` are those of `cut`.

    `missing` are the texts (of up to 8 bytes, packed in a word) that stand for no number: NaN. An empty text has code -1.
    facts = (odd cells, missing numbers, 1 where a label is no plain whole number, column and row to go on with): a FULL table is
    for the caller to enlarge. odd[k] = (row, column, begin, end) of number cells for Python to read.
    state = (texts, bytes of the pool) and counts[slot] = texts of a column that are known.
    """
    wide = _U(kinds.size)
    slot = 0
    for j in range(kinds.size):
        kind, to = kinds[j], place[j]
        if j >= facts[3]:
            start = facts[4] if j == facts[3] else 0
            if kind == NUMBER:
                out = X if to >= 0 else extra
                whole = _numbers(
                    text, ends, begins, rows, _U(j), wide, out, _U(to if to >= 0 else -1 - to), missing, odd, facts, fives, twos
                )  # fmt: skip
                if to == -1 and not whole:
                    facts[2] = 1
            elif kind != SKIP:
                out = X if to >= 0 else extra
                stopped = _texts(
                    text, ends, begins, start, rows, _U(j), wide, out, _U(to if to >= 0 else -1 - to), _U(slot), _U(n_texts),
                    state, counts, table, known, pool,
                )  # fmt: skip
                if stopped < rows:
                    facts[3], facts[4] = j, stopped
                    return TOO_MANY_TEXTS if counts[slot] >= MOST_TEXTS else FULL
        slot += kind >= TEXT
    return FINE


@compiled
def _eight(digits):
    """Eight digits, each a byte, the first one the lowest: the number they write."""
    digits = (digits * _U(2561)) >> _U(8)
    digits = ((digits & _U(0x00FF00FF00FF00FF)) * _U(6553601)) >> _U(16)
    return ((digits & _U(0x0000FFFF0000FFFF)) * _U(42949672960001)) >> _U(32)


@compiled
def _numbers(text, ends, begins, rows, column, wide, out, to, missing, odd, facts, fives, twos):
    """A column of numbers; whether all of them are whole ones without point and exponent."""
    one, eight, sixteen = _U(1), _U(8), _U(16)
    zeros, nines = _U(0x3030303030303030), _U(0x7676767676767676)  # the latter and more than 9 make a top bit
    ones, points = _U(0x0101010101010101), _U(0x1E1E1E1E1E1E1E1E)
    all_whole = True
    for r in range(_U(rows)):
        begin = _U(begins[r]) if column == 0 else _U(ends[r * wide + column - one]) + one
        end = _U(ends[r * wide + column])
        negative = text[begin] == MINUS
        i = begin + _U(negative)
        e = end - _U(text[end - one] == CR)
        length = e - i
        if length - one < eight:
            left = _U(64) - (length << _U(3))
            digits = (word(text, i) << left) ^ (zeros << left)
            if ((digits + nines) | digits) & _TOPS == 0:
                small = np.float64(np.int64(_eight(digits)))
                out[r, to] = -small if negative else small
                continue
        if length - one < _U(24):
            # The last sixteen signs as two words, the rest one by one; the point is taken out and what stands before it moves up.
            m, before, point, after = _U(0), _U(0), False, _U(0)
            fine = True
            while i + sixteen < e:
                digit = text[i] - np.uint8(ZERO)
                if digit <= 9:
                    m = m * _U(10) + _U(digit)
                    before += one
                    after += _U(point)
                else:
                    fine = fine and text[i] == POINT and not point
                    point = True
                i += one
            left = e - i  # at most 16
            low, high = word(text, e - eight) ^ zeros, word(text, e - sixteen) ^ zeros
            low &= _ALL if left >= eight else _ALL << (_U(64) - (left << _U(3)))
            high &= _U(0) if left <= eight else _ALL << (_U(128) - (left << _U(3)))
            by, on = low ^ points, high ^ points
            by, on = (by - ones) & ~by & _TOPS, (on - ones) & ~on & _TOPS
            digits = left
            if by != 0:
                there = trailing_zeros(by) & ~_U(7)
                under = low & ((one << there) - one)
                low = ((low >> there) >> eight << there << eight) | (under << eight) | (high >> _U(56))
                high <<= eight
                fine = fine and not point
                point, after = True, _U(7) - (there >> _U(3))
                digits -= one
            elif on != 0:
                there = trailing_zeros(on) & ~_U(7)
                under = high & ((one << there) - one)
                high = ((high >> there) >> eight << there << eight) | (under << eight)
                fine = fine and not point
                point, after = True, _U(15) - (there >> _U(3))
                digits -= one
            elif point:
                after += sixteen
            fine = fine and ((low + nines) | low | (high + nines) | high) & _TOPS == 0
            digits += before
            if fine and digits - one < _U(19):
                m = m * (_U(10000000000000000) if by | on == 0 else _U(1000000000000000))
                m += _eight(high) * _U(100000000) + _eight(low)
                value = 0.0
                if m <= _U(1 << 53):
                    value = np.float64(np.int64(m)) / EXACT_TENS[after]
                else:
                    k = -np.int64(after) - SMALLEST_POWER
                    mantissa, power = scaled(m, -np.int64(after), fives[k, 0], fives[k, 1])
                    fine = mantissa != 0
                    value = np.float64(mantissa) * twos[power + 1074]
                if fine:
                    if point or value > WHOLE:
                        all_whole = False
                    out[r, to] = -value if negative else value
                    continue
        out[r, to], whole = _long_way(text, begin, end, r, column, missing, odd, facts, fives, twos)
        if not whole:
            all_whole = False
    return all_whole


@compiled
def _bare(text, begin, end):
    """A cell without white space and quotes; whether it had quotes."""
    quoted = False
    for again in range(2):
        while begin < end and text[begin] <= SPACE:
            begin += _U(1)
        while begin < end and text[end - _U(1)] <= SPACE:
            end -= _U(1)
        if again == 1 or end < begin + _U(2) or text[begin] != QUOTE or text[end - _U(1)] != QUOTE:
            break
        quoted = True
        begin, end = begin + _U(1), end - _U(1)
    return begin, end, quoted


@compiled
def _long_way(text, begin, end, row, column, missing, odd, facts, fives, twos):
    """Any cell of a column of numbers: (its value or NaN, whether it is a plain whole number)."""
    begin, end, _ = _bare(text, begin, end)
    absent = begin >= end
    if not absent and end - begin <= _U(8):
        packed = word(text, begin) & (_ALL >> (_U(64) - ((end - begin) << _U(3))))
        for t in range(missing.size):
            absent = absent or missing[t] == packed
    if absent:
        facts[1] += 1
        return np.nan, True
    stop, value, whole = number(text, np.int64(begin), np.int64(end), fives, twos)
    if stop == np.int64(end):
        return value, whole and abs(value) <= WHOLE
    k = facts[0]
    odd[k, 0], odd[k, 1], odd[k, 2], odd[k, 3] = row, column, begin, end
    facts[0] = k + 1
    return np.nan, True


@compiled
def _texts(text, ends, begins, start, rows, column, wide, out, to, slot, n_texts, state, counts, table, known, pool):
    """A column of texts from row `start` on; the row that finds no place for a new text, else `rows`."""
    one, three, eight, sixteen, bits = _U(1), _U(3), _U(8), _U(16), _U(64)
    mask = _U(table.size - 1)
    shift = bits - trailing_zeros(_U(table.size))
    for r in range(_U(start), _U(rows)):
        begin = _U(begins[r]) if column == 0 else _U(ends[r * wide + column - one]) + one
        end = _U(ends[r * wide + column])
        doubled = _U(0)
        if begin >= end or text[begin] <= QUOTE or text[end - one] <= SPACE:
            begin, end, quoted = _bare(text, begin, end)
            if begin >= end:
                out[r, to] = -1.0
                continue
            if quoted:
                i = begin + trailing_zeros(hits(text, begin, np.uint8(QUOTE)))
                while i < end and text[i] != QUOTE:  # none in the first 64
                    i += one
                doubled = _U(i < end)
        length = end - begin
        part = min(length, eight)
        first = word(text, begin) & (_ALL >> (bits - (part << three)))
        part = min(length - part, eight)
        second = word(text, begin + eight) & (_ALL >> ((bits - (part << three)) & _U(63)))
        second = second if part != 0 else _U(0)
        h = first * _A + second * _B
        if length > sixteen:
            i = begin + sixteen
            while i + eight < end:
                h = (((h << _U(23)) | (h >> _U(41))) ^ word(text, i)) * _C
                i += eight
            h = (((h << _U(23)) | (h >> _U(41))) ^ (word(text, i) & (_ALL >> (bits - ((end - i) << three))))) * _C
        tag = ((length << one) | doubled) * n_texts + slot
        h += tag * _C
        at = h >> shift  # the upper bits of a product depend on all of its factors
        code = np.int64(-1)
        while table[at] != 0:
            u = _U(table[at] - 1)
            if (known[u, 1] ^ first) | (known[u, 2] ^ second) | (known[u, 4] ^ tag) == 0:
                if length <= sixteen:
                    code = np.int64(known[u, 5])
                    break
                i, there = begin + sixteen, known[u, 3] + sixteen
                while i + eight < end and word(text, i) == word(pool, there):
                    i, there = i + eight, there + eight
                if i + eight >= end and (word(text, i) ^ word(pool, there)) << (bits - ((end - i) << three)) == 0:
                    code = np.int64(known[u, 5])
                    break
            at = (at + one) & mask
        if code < 0:
            n, used = state[0], state[1]
            if n == known.shape[0] or used + np.int64(length + eight) > pool.size or counts[slot] >= MOST_TEXTS:
                return np.int64(r)
            code = counts[slot]
            known[n, 0], known[n, 1], known[n, 2], known[n, 3], known[n, 4] = h, first, second, _U(used), tag
            known[n, 5] = _U(code)
            for t in range(length):
                pool[_U(used) + t] = text[begin + t]
            counts[slot] = code + 1
            state[0], state[1] = n + 1, used + np.int64(length)
            table[at] = n + 1
        out[r, to] = np.float64(code)
    return rows


@compiled
def place_texts(table, known, n):
    """A larger table for the first n texts."""
    mask = _U(table.size - 1)
    shift = _U(64) - trailing_zeros(_U(table.size))
    for t in range(n):
        at = known[t, 0] >> shift
        while table[at] != 0:
            at = (at + _U(1)) & mask
        table[at] = t + 1


@compiled
def recode(X, columns, tables, starts):
    """Codes of a worker become those of the whole table: x in columns[k] is tables[starts[k] + x], and -1 the one before."""
    for i in range(X.shape[0]):
        for k in range(columns.size):
            X[i, columns[k]] = tables[starts[k] + np.int64(X[i, columns[k]])]
