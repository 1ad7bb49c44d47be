"""Text to numbers, in compiled code: the scanners of svmlight and CSV blocks.

The problem: bytes, and what they say as float64, correctly rounded, as Python's float() reads them. A number of at most 19
digits is m · 10^q with m < 2^64. Where m ≤ 2^53 and |q| ≤ 22 both are exact in float64, and one product or quotient rounds
once (Clinger 1990). Else m times a 128-bit approximation of 5^q decides the 53 bits (Lemire, "Number parsing at a gigabyte
per second", 2021). What is left (more digits, subnormal numbers, inf, and all that is no number) is listed as *odd* cells,
for Python to read.

A block holds whole records. The scanners release the GIL: blocks run side by side.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from gapless._jit import compiled

SPACE, TAB, LF, CR, QUOTE, HASH, COLON, PLUS, MINUS, POINT = 32, 9, 10, 13, 34, 35, 58, 43, 45, 46
ZERO, NINE, LOWER_E = 48, 57, 101
SKIP, NUMBER, TEXT, LABEL = 0, 1, 2, 3  # kinds of a CSV column; a label is a text, missing only where it is empty
WHOLE = 9007199254740992.0  # 2^53: whole numbers up to here are themselves as float64
#: What a scan ends with.
FINE, RAGGED, BAD_QUOTE, TOO_MANY_TEXTS = 0, 1, 2, 3
BAD_LINE, TOO_LARGE, TWICE = 1, 2, 3  # of svmlight
LARGEST_INDEX = 2**31 - 2  # a larger one is a typing error: the columns of the matrix are 32-bit numbers
SMALLEST_POWER, LARGEST_POWER = -342, 308
EXACT_TENS = tuple(10.0**k for k in range(23))  # each is exact
MOST_TEXTS = 1 << 14  # different texts of a column in a block


@lru_cache(maxsize=1)
def powers_of_five() -> np.ndarray:
    """The leading 128 bits of 5^q for q = -342 ... 308, high and low half; from above for negative q."""
    table = np.empty((LARGEST_POWER - SMALLEST_POWER + 1, 2), dtype=np.uint64)
    for k, q in enumerate(range(SMALLEST_POWER, LARGEST_POWER + 1)):
        if q >= 0:
            value = 5**q
            shift = value.bit_length() - 128
            value = value >> shift if shift > 0 else value << -shift
        else:
            five = 5**-q
            value = (1 << (five.bit_length() + 127)) // five + 1  # 2^127 < value <= 2^128
            value = value >> 1 if value.bit_length() > 128 else value
        table[k] = value >> 64, value & (2**64 - 1)
    return table


@lru_cache(maxsize=1)
def powers_of_two() -> np.ndarray:
    """2^k for k = -1074 ... 971: a mantissa of 53 bits times one of them is exact where the product is normal."""
    return np.ldexp(1.0, np.arange(-1074, 972))


@compiled
def _scaled(m, q, five_high, five_low):
    """(mantissa of 53 bits, k) with mantissa · 2^k = m · 10^q rounded to nearest even; mantissa 0: this way cannot tell.

    Only scalars come and go: an array would be counted at every call.
    """
    one, mask, half = np.uint64(1), np.uint64(0xFFFFFFFF), np.uint64(32)
    zeros = 0
    while m >> np.uint64(63) == 0:
        if m >> np.uint64(48) == 0:
            m <<= np.uint64(16)
            zeros += 16
        elif m >> np.uint64(56) == 0:
            m <<= np.uint64(8)
            zeros += 8
        else:
            m <<= one
            zeros += 1
    a1, a0 = m >> half, m & mask
    # The 128-bit product of m and the leading half of 5^q.
    b1, b0 = five_high >> half, five_high & mask
    low = a0 * b0
    middle = a1 * b0 + (low >> half)
    rest = a0 * b1 + (middle & mask)
    high, low = a1 * b1 + (middle >> half) + (rest >> half), (rest << half) | (low & mask)
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):  # the bits below could carry: the second half of 5^q too
        b1, b0 = five_low >> half, five_low & mask
        middle = a1 * b0 + ((a0 * b0) >> half)
        rest = a0 * b1 + (middle & mask)
        more = a1 * b1 + (middle >> half) + (rest >> half)
        low += more
        if low < more:
            high += one
        if low == np.uint64(0xFFFFFFFFFFFFFFFF):
            return np.int64(0), np.int64(0)
    top = high >> np.uint64(63)
    shift = top + np.uint64(9)
    mantissa = high >> shift  # 54 bits: the last one is half a unit
    exponent = ((217706 * q) >> 16) + 63 + np.int64(top) - zeros - 52
    if low <= one and -4 <= q <= 23 and mantissa & np.uint64(3) == one and mantissa << shift == high:
        mantissa &= ~one  # exactly half way: to even
    mantissa += mantissa & one
    mantissa >>= one
    if exponent < -1074 or exponent > 970:
        return np.int64(0), np.int64(0)
    return np.int64(mantissa), exponent


@compiled
def _number(text, at, end, fives, twos):
    """Read a number at `at`: (where it ends, its value, plain digits or not). It ends at `at` where there is none, and at -1
    where there may be one that Python has to read."""
    i = at
    negative = False
    if i < end and (text[i] == MINUS or text[i] == PLUS):
        negative = text[i] == MINUS
        i += 1
    m = np.uint64(0)
    first = i
    while i < end:
        digit = text[i] - np.uint8(ZERO)
        if digit > 9:
            break
        m = m * np.uint64(10) + np.uint64(digit)
        i += 1
    seen = i - first
    whole = True
    q = 0
    if i < end and text[i] == POINT:
        whole = False
        i += 1
        point = i
        while i < end:
            digit = text[i] - np.uint8(ZERO)
            if digit > 9:
                break
            m = m * np.uint64(10) + np.uint64(digit)
            i += 1
        q = point - i
        seen += i - point
    stop = i
    if seen == 0:
        stop = at
    elif seen > 19:  # m may have run over: zeros in front do not count
        digits = seen
        j = first
        while j < i and (text[j] == ZERO or text[j] == POINT):
            digits -= text[j] == ZERO
            j += 1
        if digits > 19:
            stop = -1
    value = 0.0
    if stop > at:
        if i < end and (text[i] | np.uint8(32)) == LOWER_E:
            j = i + 1
            down = False
            if j < end and (text[j] == MINUS or text[j] == PLUS):
                down = text[j] == MINUS
                j += 1
            power = 0
            start = j
            while j < end:
                digit = text[j] - np.uint8(ZERO)
                if digit > 9:
                    break
                if power < 100000:
                    power = power * 10 + np.int64(digit)  # type: ignore[assignment]
                j += 1
            whole = False
            stop = j if j > start else at
            q += -power if down else power
        if m <= np.uint64(1 << 53) and -22 <= q <= 22:
            value = np.float64(np.int64(m))
            if q < 0:
                value /= EXACT_TENS[-q]
            elif q > 0:
                value *= EXACT_TENS[q]
        elif m != 0:
            if q < SMALLEST_POWER or q > LARGEST_POWER:
                stop = -1
            else:
                mantissa, k = _scaled(m, q, fives[q - SMALLEST_POWER, 0], fives[q - SMALLEST_POWER, 1])
                if mantissa == 0:
                    stop = -1
                else:
                    value = np.float64(mantissa) * twos[k + 1074]
        if negative:
            value = -value
    return stop, value, whole


@compiled
def scan_svmlight(text, fives, twos):
    """Rows of `label index:value index:value ... # comment`, one a line; each label is read as a number where it is one.

    Returns (values, indices, ends, labels, label_spans, lines, odd, facts): `lines` counts from 0 within the block,
    `label_spans` are where a label's text begins and ends (-1: there is none), `odd` are (entry, begin, end) of the values
    that Python has to read, and facts = (lines, rows, entries, odd ones, smallest index, largest, its line, labels
    that are no plain whole number, labels that are no number, rows without, what went wrong, on which line, where that begins).
    """
    n = text.size
    n_lines, n_colons = 0, 0
    for i in range(n):
        n_lines += text[i] == LF
        n_colons += text[i] == COLON
    values, indices = np.empty(n_colons), np.empty(n_colons, dtype=np.int32)
    ends = np.empty(n_lines + 1, dtype=np.int64)
    labels, spans = np.empty(n_lines + 1), np.empty((n_lines + 1, 2), dtype=np.int64)
    lines = np.empty(n_lines + 1, dtype=np.int64)
    odd = np.empty((n_colons, 3), dtype=np.int64)
    facts = np.zeros(13, dtype=np.int64)
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
            stop, label, whole = _number(text, first, i, fives, twos)
            labels[rows] = label
            if stop != i or not whole or abs(label) > WHOLE:
                facts[7] += 1
            if stop != i:
                facts[8] += 1
        row, last = k, np.int64(-1)
        ordered = True
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
            stop, value, _ = _number(text, i, n, fives, twos)
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
        if wrong == FINE and not ordered:
            # An insertion sort; the odd cells of the row move with their values.
            for a in range(row + 1, k):
                index, value = indices[a], values[a]
                b = a
                while b > row and indices[b - 1] > index:
                    indices[b], values[b] = indices[b - 1], values[b - 1]
                    b -= 1
                indices[b], values[b] = index, value
                for t in range(n_odd - 1, -1, -1):
                    if odd[t, 0] < row:
                        break
                    if odd[t, 0] == a:
                        odd[t, 0] = b
                    elif b <= odd[t, 0] < a:
                        odd[t, 0] += 1
            for a in range(row + 1, k):
                if indices[a] == indices[a - 1]:
                    wrong = TWICE
                    facts[6] = indices[a]
        if wrong != FINE:
            facts[10], facts[11], facts[12] = wrong, line, begin
            break
        if k > row:
            smallest = min(smallest, np.int64(indices[row]))
            if indices[k - 1] > largest:
                largest, at_line = np.int64(indices[k - 1]), line  # type: ignore[assignment]
        lines[rows] = line
        rows += 1
        ends[rows - 1] = k
        line += 1
        i += 1
    facts[0], facts[1], facts[2], facts[3], facts[4], facts[5] = line, rows, k, n_odd, smallest, largest
    if facts[10] != TWICE:
        facts[6] = at_line
    return values, indices, ends, labels, spans, lines, odd, facts


@compiled
def count_of(text, mark):
    """How often a byte occurs."""
    found = 0
    for i in range(text.size):
        found += text[i] == mark
    return found


@compiled
def end_of_records(text, size, separator, newline):
    """How many of the first `size` bytes are whole records: a line end inside quotes ends none."""
    i, last = 0, 0
    fresh = True  # at the beginning of a cell
    while i < size:
        if fresh and text[i] == QUOTE:
            i += 1
            while i < size:
                if text[i] == QUOTE:
                    if i + 1 < size and text[i + 1] == QUOTE:
                        i += 1
                    else:
                        break
                i += 1
            fresh = False
        elif text[i] == newline:
            last = i + 1
            fresh = True
        else:
            fresh = text[i] == separator
        i += 1
    return last


@intrinsic
def _word(context, text, at):
    """Eight bytes from anywhere, as one number: the caller sees to it that they are there."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
        return builder.load(place, align=1)

    return types.uint64(text, types.uint64), generate


@intrinsic
def _zeros(context, bits):
    """How many of the lowest bits are 0."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@compiled
def _mixed(tail, word):
    return (((tail << np.uint64(23)) | (tail >> np.uint64(41))) ^ word) * np.uint64(0xBF58476D1CE4E5B9)


@compiled
def _key(text, start, stop):
    """A text as numbers: its first eight bytes, the next eight, and a hash of all after the first."""
    first, second, tail, word = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    for i in range(start, stop):
        at = (i - start) & 7
        word |= np.uint64(text[i]) << np.uint64(8 * at)
        if at == 7 or i == stop - 1:
            if i - start < 8:
                first = word
            else:
                second = word if i - start < 16 else second
                tail = _mixed(tail, word)
            word = np.uint64(0)
    return first, second, tail


@compiled
def scan_csv(text, separator, newline, kinds, place, missing, X, extra, fives, twos):
    """Cells of a block of records, each by its column's kind: numbers, or the codes of texts, into X[:, place] or, where the
    place is negative, extra[:, -1 - place].

    `missing` are the texts (of up to 8 bytes, packed in a word) that stand for no value: NaN as a number; an empty text has
    code -1.
    Returns (lines, begins, odd, texts, counts, plain, facts): for each row on which line of the block and where it begins;
    `odd` are (row, column, begin, end) of number cells for Python to read; texts[j, c] = (begin, end, 1: with doubled quotes, 2:
    it stands for no value) of the first cell with code c; counts[j] how many codes; plain[j] whether all numbers of a column are
    whole ones without point and exponent; facts = (rows, lines, odd ones, what went wrong, line, where its record begins, cells
    or column, missing numbers).

    Texts are read eight bytes at a time. One is known by its first sixteen bytes, its length and its column; where it is longer,
    a hash of the rest finds it and the bytes decide. What a text means is asked once for each, not for each cell.
    """
    n, width, most = text.size, kinds.size, X.shape[0]
    n_texts = 0
    slots = np.zeros(width, dtype=np.int64)
    for j in range(width):
        if kinds[j] == TEXT or kinds[j] == LABEL:
            slots[j] = n_texts
            n_texts += 1
    begins, lines = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    odd = np.empty((n // 2 + 1, 4), dtype=np.int64)
    texts = np.empty((n_texts, min(most, MOST_TEXTS), 3), dtype=np.int64)
    counts = np.zeros(n_texts, dtype=np.int64)
    # One table for all columns, as small as what it holds: hash -> number of a text; known[text] = (hash, first and
    # second eight bytes, begin, length and column).
    bits, n_known = 9, 0
    table = np.full(1 << bits, np.int32(-1))
    known = np.empty((n_texts * min(most, MOST_TEXTS), 5), dtype=np.uint64)
    codes = np.empty(n_texts * min(most, MOST_TEXTS), dtype=np.int32)
    sep, end_of_line = np.uint8(separator), np.uint8(newline)
    # An index without a sign is not asked whether it counts from the end: the inner loops have those.
    one, size = np.uint64(1), np.uint64(n)
    each, tops = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
    seps, ends = each * np.uint64(sep), each * np.uint64(end_of_line)
    plain = np.ones(width, dtype=np.bool_)
    facts = np.zeros(8, dtype=np.int64)
    rows, line, n_odd, i = 0, 0, 0, 0
    wrong = FINE
    while i < n:
        begin, first_line = i, line
        if text[i] == newline:
            i += 1
            line += 1
            continue
        column = 0
        blank = True  # no more than white space
        while True:
            # One cell: [start, stop) without white space and quotes; i ends on the separator or line end, or at n.
            kind = kinds[column] if column < width else SKIP
            if rows >= most:
                kind = SKIP
            while i < n and (text[i] == SPACE or text[i] == TAB) and text[i] != separator:
                i += 1
            start = i
            quoted = i < n and text[i] == QUOTE
            if kind == NUMBER and not quoted and i + 8 <= n:
                # Up to seven digits and nothing else, as most whole numbers are: all of them at once.
                part = _word(text, np.uint64(i))
                by, on = part ^ seps, part ^ ends
                there = _zeros((((by - each) & ~by) | ((on - each) & ~on)) & tops) & ~np.uint64(7)
                if np.uint64(8) <= there < np.uint64(64):
                    left = np.uint64(64) - there
                    digits = (part << left) ^ (np.uint64(0x3030303030303030) << left)
                    if ((digits + np.uint64(0x7676767676767676)) | digits) & tops == 0:
                        digits = (digits * np.uint64(2561)) >> np.uint64(8)
                        digits = ((digits & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> np.uint64(16)
                        digits = ((digits & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> np.uint64(32)
                        to = place[column]
                        if to >= 0:
                            X[rows, to] = np.float64(np.int64(digits))
                        else:
                            extra[rows, -1 - to] = np.float64(np.int64(digits))
                        column += 1
                        blank = False
                        i += np.int64(there >> np.uint64(3))  # type: ignore[assignment]
                        if text[i] == sep:
                            i += 1
                            continue
                        break
            if kind == NUMBER and not quoted:
                # Digits with or without a point, written out here: a call costs as much as the digits. `_number` has the rest.
                negative = i < n and text[i] == MINUS
                i += negative
                m, seen, point, q = np.uint64(0), 0, False, 0
                u = np.uint64(i)
                while u < size:
                    digit = text[u] - np.uint8(ZERO)
                    if digit > 9:
                        if point or text[u] != POINT:
                            break
                        point = True
                    else:
                        m = m * np.uint64(10) + np.uint64(digit)
                        seen += 1
                        q -= point
                    u += one
                i = np.int64(u)  # type: ignore[assignment]
                value, whole, found = 0.0, not point, 0 < seen <= 19
                if found and (
                    i >= n or text[i] == separator or text[i] == newline or text[i] == CR or text[i] == SPACE
                ):
                    if m <= np.uint64(1 << 53):
                        value = np.float64(np.int64(m)) / EXACT_TENS[-q]
                    else:
                        mantissa, k = _scaled(m, q, fives[q - SMALLEST_POWER, 0], fives[q - SMALLEST_POWER, 1])
                        found = mantissa != 0
                        value = np.float64(mantissa) * twos[k + 1074]
                    value = -value if negative else value
                else:
                    found = False
                if not found:
                    i, value, whole = _number(text, start, n, fives, twos)
                    found = i > start
                while (
                    found and i < n and (text[i] == SPACE or text[i] == TAB or text[i] == CR) and text[i] != separator
                ):
                    i += 1
                if found and (i >= n or text[i] == separator or text[i] == newline):
                    to = place[column]
                    if to >= 0:
                        X[rows, to] = value
                    else:
                        extra[rows, -1 - to] = value
                    if not whole or abs(value) > WHOLE:
                        plain[column] = False
                    column += 1
                    blank = False
                    if i < n and text[i] == separator:
                        i += 1
                        continue
                    break
                i = start
            doubled = 0
            word, second, tail = np.uint64(0), np.uint64(0), np.uint64(0)
            if quoted:
                i += 1
                start = i
                while i < n:
                    if text[i] == QUOTE:
                        if i + 1 < n and text[i + 1] == QUOTE:
                            i += 1
                            doubled = 1
                        else:
                            break
                    line += text[i] == newline
                    i += 1
                stop = i
                i += 1
                while i < n and (text[i] == SPACE or text[i] == TAB or text[i] == CR) and text[i] != separator:
                    i += 1
                if stop >= n or (i < n and text[i] != separator and text[i] != newline):
                    wrong = BAD_QUOTE
                    break
                blank = False
            else:
                u = np.uint64(i)
                while True:
                    if u + np.uint64(8) <= size:
                        part = _word(text, u)
                    else:  # the last bytes of the block, and line ends
                        part = ends
                        for k in range(n - 1, np.int64(u) - 1, -1):
                            part = (part << np.uint64(8)) | np.uint64(text[k])
                    # A byte of 0 is what borrows; those after the first may borrow for nothing.
                    by, on = part ^ seps, part ^ ends
                    hit = (((by - each) & ~by) | ((on - each) & ~on)) & tops
                    if hit != 0:
                        bits_there = _zeros(hit) & ~np.uint64(7)
                        part &= (one << bits_there) - one
                        step = bits_there >> np.uint64(3)
                    else:
                        step = np.uint64(8)
                    at = u - np.uint64(start)
                    if at == 0:
                        word = part
                    elif step != 0:
                        second = part if at == 8 else second
                        tail = _mixed(tail, part)
                    u += step
                    if hit != 0:
                        break
                i = np.int64(u)  # type: ignore[assignment]
                stop = i
            if quoted or (stop > start and (text[stop - 1] <= SPACE or text[start] <= SPACE)):
                while stop > start and (text[stop - 1] <= SPACE):
                    stop -= 1
                while start < stop and text[start] <= SPACE:
                    start += 1
                word, second, tail = _key(text, start, stop)
            length = stop - start
            blank = blank and length == 0
            if kind == NUMBER:
                value = np.nan
                absent = length == 0
                if 0 < length <= 8:
                    for t in range(missing.size):
                        absent = absent or missing[t] == word
                if absent:
                    facts[7] += 1
                else:
                    stopped, inner, whole = _number(text, start, stop, fives, twos) if quoted else (-1, np.nan, True)
                    if stopped == stop:
                        value = inner
                        if not whole or abs(value) > WHOLE:
                            plain[column] = False
                if np.isnan(value) and not absent:
                    odd[n_odd, 0], odd[n_odd, 1], odd[n_odd, 2], odd[n_odd, 3] = rows, column, start, stop
                    n_odd += 1
            elif kind != SKIP:
                value = -1.0
                if length > 0:
                    slot = slots[column]
                    tag = np.uint64(length) * np.uint64(n_texts) + np.uint64(slot)
                    h = (word ^ (word >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
                    h = (h ^ tail ^ (tag << np.uint64(17))) * np.uint64(0xBF58476D1CE4E5B9)
                    h ^= h >> np.uint64(31)
                    mask = np.uint64(table.size - 1)
                    at = h & mask
                    text_number = np.int64(table[at])
                    while text_number >= 0:
                        u = np.uint64(text_number)
                        if known[u, 0] == h and known[u, 1] == word and known[u, 2] == second and known[u, 4] == tag:
                            there, here = known[u, 3] + np.uint64(16), np.uint64(start) + np.uint64(16)
                            while here < np.uint64(stop) and text[there] == text[here]:
                                there += one
                                here += one
                            if here >= np.uint64(stop):
                                break
                        at = (at + one) & mask
                        text_number = np.int64(table[at])
                    if text_number < 0:
                        code = counts[slot]
                        if code == MOST_TEXTS:
                            wrong = TOO_MANY_TEXTS
                            break
                        nothing = 0
                        if kind == TEXT and length <= 8:
                            for t in range(missing.size):
                                nothing |= 2 * (missing[t] == word)
                        text_number = n_known  # type: ignore[assignment]
                        table[at] = text_number
                        known[text_number, 0], known[text_number, 1], known[text_number, 2] = h, word, second
                        known[text_number, 3], known[text_number, 4] = np.uint64(start), tag
                        codes[text_number] = code
                        n_known += 1
                        texts[slot, code, 0], texts[slot, code, 1] = start, stop
                        texts[slot, code, 2] = doubled | nothing
                        counts[slot] = code + 1
                        if 3 * n_known > table.size:
                            bits += 2
                            table = np.full(1 << bits, np.int32(-1))
                            mask = np.uint64(table.size - 1)
                            for t in range(n_known):
                                at = known[t, 0] & mask
                                while table[at] >= 0:
                                    at = (at + one) & mask
                                table[at] = t
                    value = np.float64(codes[text_number])
            if kind != SKIP:
                to = place[column]
                if to >= 0:
                    X[rows, to] = value
                else:
                    extra[rows, -1 - to] = value
            column += 1
            if i < n and text[i] == separator:
                i += 1
                continue
            break
        if wrong != FINE:
            facts[4], facts[5], facts[6] = first_line, begin, column
            break
        i += 1
        line += 1
        if blank and column == 1:
            continue
        if column != width or rows >= most:
            wrong = RAGGED
            facts[4], facts[5], facts[6] = first_line, begin, column
            break
        begins[rows], lines[rows] = begin, first_line
        rows += 1
    facts[0], facts[1], facts[2], facts[3] = rows, line, n_odd, wrong
    return lines, begins, odd, texts, counts, plain, facts


@compiled
def recode(X, columns, tables, starts):
    """Codes of a block become those of the whole table: x in columns[k] is tables[starts[k] + x], and -1 the one before."""
    for i in range(X.shape[0]):
        for k in range(columns.size):
            X[i, columns[k]] = tables[starts[k] + np.int64(X[i, columns[k]])]
