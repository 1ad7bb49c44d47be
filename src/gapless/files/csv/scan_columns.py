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
from gapless.files.csv.codes import BYTE, END, KIND, LIMIT, WHOLE
from gapless.files.csv.scan_bytes import hits, trailing_zeros, word
from gapless.files.csv.scan_number import EXACT_TENS, SMALLEST_POWER, number, scaled

_U = np.uint64
_ALL = _U(0xFFFFFFFFFFFFFFFF)


@compiled
def scan_columns(cells, columns, X, extra, missing, odd, facts, known, fives, twos):
    """`Cells` of `Columns` into X[:, place], or, where the place is negative, extra[:, -1 - place].

    `missing` are the texts (of up to 8 bytes, packed in a word) that stand for no number: NaN. An empty text has code -1.
    facts = (odd cells, missing numbers, 1 where a label is no plain whole number, column and row to go on with): a full table is
    for the caller to enlarge. odd[k] = (row, column, begin, end) of number cells for Python to read.
    """
    slot = 0
    for j in range(columns.kinds.size):
        kind, to = columns.kinds[j], columns.place[j]
        if j >= facts[3]:
            start = facts[4] if j == facts[3] else 0
            out = X if to >= 0 else extra
            at = _U(to if to >= 0 else -1 - to)
            if kind == KIND.number:
                whole = _numbers(cells, columns, _U(j), out, at, missing, odd, facts, fives, twos)
                if to == -1 and not whole:
                    facts[2] = 1
            elif kind != KIND.skip:
                stopped = _texts(cells, columns, start, _U(j), out, at, _U(slot), known)
                if stopped < cells.rows:
                    facts[3], facts[4] = j, stopped
                    return END.too_many_texts if known.counts[slot] >= LIMIT.most_texts else END.full
        slot += kind >= KIND.text
    return END.fine


@compiled
def _eight(digits):
    """Eight digits, each a byte, the first one the lowest: the number they write."""
    digits = (digits * _U(2561)) >> _U(8)
    digits = ((digits & _U(0x00FF00FF00FF00FF)) * _U(6553601)) >> _U(16)
    return ((digits & _U(0x0000FFFF0000FFFF)) * _U(42949672960001)) >> _U(32)


@compiled
def _numbers(cells, columns, column, out, to, missing, odd, facts, fives, twos):
    """A column of numbers; whether all of them are whole ones without point and exponent."""
    text, ends, begins, wide = cells.text, cells.ends, cells.begins, _U(columns.kinds.size)
    one, eight, sixteen = _U(1), _U(8), _U(16)
    zeros, nines = _U(0x3030303030303030), _U(0x7676767676767676)  # the latter and more than 9 make a top bit
    ones, points, tops = _U(0x0101010101010101), _U(0x1E1E1E1E1E1E1E1E), _U(0x8080808080808080)
    all_whole = True
    for r in range(_U(cells.rows)):
        begin = _U(begins[r]) if column == 0 else _U(ends[r * wide + column - one]) + one
        end = _U(ends[r * wide + column])
        negative = text[begin] == BYTE.minus
        i = begin + _U(negative)
        e = end - _U(text[end - one] == BYTE.cr)
        length = e - i
        if length - one < eight:
            left = _U(64) - (length << _U(3))
            digits = (word(text, i) << left) ^ (zeros << left)
            if ((digits + nines) | digits) & tops == 0:
                small = np.float64(np.int64(_eight(digits)))
                out[r, to] = -small if negative else small
                continue
        if length - one < _U(24):
            # The last sixteen signs as two words, the rest one by one; the point is taken out and what stands before it moves up.
            m, before, point, after = _U(0), _U(0), False, _U(0)
            fine = True
            while i + sixteen < e:
                digit = text[i] - np.uint8(BYTE.zero)
                if digit <= 9:
                    m = m * _U(10) + _U(digit)
                    before += one
                    after += _U(point)
                else:
                    fine = fine and text[i] == BYTE.point and not point
                    point = True
                i += one
            left = e - i  # at most 16
            low, high = word(text, e - eight) ^ zeros, word(text, e - sixteen) ^ zeros
            low &= _ALL if left >= eight else _ALL << (_U(64) - (left << _U(3)))
            high &= _U(0) if left <= eight else _ALL << (_U(128) - (left << _U(3)))
            by, on = low ^ points, high ^ points
            by, on = (by - ones) & ~by & tops, (on - ones) & ~on & tops
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
            fine = fine and ((low + nines) | low | (high + nines) | high) & tops == 0
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
        while begin < end and text[begin] <= BYTE.space:
            begin += _U(1)
        while begin < end and text[end - _U(1)] <= BYTE.space:
            end -= _U(1)
        if again == 1 or end < begin + _U(2) or text[begin] != BYTE.quote or text[end - _U(1)] != BYTE.quote:
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
def _texts(cells, columns, start, column, out, to, slot, texts):
    """A column of texts from row `start` on; the row that finds no place for a new text, else the number of rows."""
    text, ends, begins, rows = cells.text, cells.ends, cells.begins, cells.rows
    wide, n_texts = _U(columns.kinds.size), _U(columns.n_texts)
    state, counts, table, known, pool = texts.state, texts.counts, texts.table, texts.words, texts.pool
    one, three, eight, sixteen, bits = _U(1), _U(3), _U(8), _U(16), _U(64)
    # Odd numbers with bits everywhere: they spread a text over all bits of its hash.
    a, b, c = _U(0x9E3779B97F4A7C15), _U(0xBF58476D1CE4E5B9), _U(0x94D049BB133111EB)
    mask = _U(table.size - 1)
    shift = bits - trailing_zeros(_U(table.size))
    for r in range(_U(start), _U(rows)):
        begin = _U(begins[r]) if column == 0 else _U(ends[r * wide + column - one]) + one
        end = _U(ends[r * wide + column])
        doubled = _U(0)
        if begin >= end or text[begin] <= BYTE.quote or text[end - one] <= BYTE.space:
            begin, end, quoted = _bare(text, begin, end)
            if begin >= end:
                out[r, to] = -1.0
                continue
            if quoted:
                i = begin + trailing_zeros(hits(text, begin, np.uint8(BYTE.quote)))
                while i < end and text[i] != BYTE.quote:  # none in the first 64
                    i += one
                doubled = _U(i < end)
        length = end - begin
        part = min(length, eight)
        first = word(text, begin) & (_ALL >> (bits - (part << three)))
        part = min(length - part, eight)
        second = word(text, begin + eight) & (_ALL >> ((bits - (part << three)) & _U(63)))
        second = second if part != 0 else _U(0)
        h = first * a + second * b
        if length > sixteen:
            i = begin + sixteen
            while i + eight < end:
                h = (((h << _U(23)) | (h >> _U(41))) ^ word(text, i)) * c
                i += eight
            h = (((h << _U(23)) | (h >> _U(41))) ^ (word(text, i) & (_ALL >> (bits - ((end - i) << three))))) * c
        tag = ((length << one) | doubled) * n_texts + slot
        h += tag * c
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
            if n == known.shape[0] or used + np.int64(length + eight) > pool.size or counts[slot] >= LIMIT.most_texts:
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
