"""`scan_cells` and `scan_columns` in Python, for small files where no compiled scanner is kept: compiling it takes seconds.

Each function gives what the compiled one of its name gives, and leaves the same cells to the caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gapless._compile.jit import kept
from gapless._compile.on_demand import awake
from gapless._runtime.config import get_config
from gapless.files.csv import scan_cells, scan_columns
from gapless.files.csv.codes import BYTE, END, KIND, LIMIT, WHOLE, Cells, Columns, Known

#: Bytes of the largest file that is read this way: about a second.
SMALL = 1 << 20
_BLANK = bytes(range(33))  # what a cell is stripped of
_NUMBER = re.compile(rb"[+-]?(\d*)(?:(\.)(\d*))?([eE][+-]?\d+)?")


class Scanner(NamedTuple):
    cut: Callable[..., tuple[int, int, int, int]]
    scan_columns: Callable[..., int]
    place_texts: Callable[..., None]
    recode: Callable[..., None]


def scanner(size: int) -> Scanner:
    """The compiled scanner, or for a file of few bytes, where none is kept or numba is not here, the one in Python."""
    few_bytes = 1 << 17  # an eighth of a second in Python: less than importing numba takes
    if size <= few_bytes and not awake() and get_config()["backend"] != "numba":
        return _PLAIN
    if size <= SMALL and not (kept(scan_cells.cut) and kept(scan_columns.scan_columns)):
        return _PLAIN
    return _COMPILED


def cut(
    text: np.ndarray, begin: int, end: int, width: int, separator: int, newline: int, last: bool, ends: Any, begins: Any
) -> tuple[int, int, int, int]:
    """Where cells end and records begin."""
    data = text[:end].tobytes()
    marks = np.flatnonzero(
        (text[begin:end] == separator) | (text[begin:end] == newline) | (text[begin:end] == BYTE.quote)
    )
    found: list[int] = []  # where the cells of whole records end
    starts: list[int] = []
    cells: list[int] = []  # of this record
    record = cell = begin
    closed = begin  # marks before it stand in quotes
    for at in (marks + begin).tolist():
        if at < closed:
            continue
        mark = data[at]
        if mark == BYTE.quote:
            if data[cell:at].strip(b" \t"):
                continue  # not at the beginning of a cell
            closed = _behind(data, at + 1, end)
            if closed > end or (closed == end and not last):
                if last:
                    return _handed_over(found, starts, ends, begins, record, END.bad_quote, len(cells))
                break
            while closed < end and data[closed] in b" \t\r" and data[closed] not in (separator, newline):
                closed += 1
            if closed < end and data[closed] not in (separator, newline):
                return _handed_over(found, starts, ends, begins, record, END.bad_quote, len(cells))
            continue
        cells.append(at)
        cell = at + 1
        if mark != newline:
            continue
        if len(cells) == width > 1 or (len(cells) == width and data[record:at].strip(_BLANK)):
            starts.append(record)
            found += cells
        elif len(cells) != 1 or data[record:at].strip(_BLANK):
            return _handed_over(found, starts, ends, begins, record, END.ragged, len(cells))
        record, cells = cell, []
    return _handed_over(found, starts, ends, begins, record, END.fine, 0)


def _behind(data: bytes, at: int, end: int) -> int:
    """Behind the quote that closes what was opened before ``at``; beyond the end where there is none."""
    while (at := data.find(b'"', at, end)) >= 0:
        if data[at + 1 : at + 2] != b'"' or at + 1 >= end:
            return at + 1
        at += 2
    return end + 1


def _handed_over(
    found: list[int], starts: list[int], ends: Any, begins: Any, record: int, wrong: int, cells: int
) -> tuple[int, int, int, int]:
    ends[: len(found)] = found
    begins[: len(starts)] = starts
    return len(starts), record, wrong, cells


def scan_plainly(
    cells: Cells, columns: Columns, X: Any, extra: Any, missing: Any, odd: Any, facts: Any, known: Known, fives: Any, twos: Any
) -> int:  # fmt: skip
    """What the cells say, column by column."""
    (text, ends, begins, rows), (kinds, place, n_texts) = cells, columns
    width = kinds.size
    until = ends[: rows * width].astype(np.int64).reshape(rows, width)
    since = np.column_stack((begins[:rows].astype(np.int64), until[:, :-1] + 1))
    data = text[: int(until.max(initial=0))].tobytes()
    absent = {int(word).to_bytes(8, "little").rstrip(b"\0") for word in missing}
    for j in range(int(facts[3]), width):
        to = int(place[j])
        out = X[:, to] if to >= 0 else extra[:, -1 - to]
        spans = zip(since[:, j].tolist(), until[:, j].tolist())
        if kinds[j] == KIND.number:
            whole = _numbers(data, spans, j, out, absent, odd, facts)
            if to == -1 and not whole:
                facts[2] = 1
        elif kinds[j] != KIND.skip:
            slot = int((kinds[:j] >= KIND.text).sum())
            start = int(facts[4]) if j == facts[3] else 0
            stopped = _texts(data, spans, start, out, slot, n_texts, known)
            if stopped < rows:
                facts[3], facts[4] = j, stopped
                return END.too_many_texts if known.counts[slot] >= LIMIT.most_texts else END.full
    return END.fine


def _bare(data: bytes, begin: int, end: int) -> tuple[int, int, bool]:
    """A cell without white space and quotes; whether it had quotes."""
    begin, end = _stripped(data, begin, end)
    if end < begin + 2 or data[begin] != BYTE.quote or data[end - 1] != BYTE.quote:
        return begin, end, False
    return *_stripped(data, begin + 1, end - 1), True


def _stripped(data: bytes, begin: int, end: int) -> tuple[int, int]:
    cell = data[begin:end]
    left = len(cell.lstrip(_BLANK))
    return end - left, end - left + len(cell.strip(_BLANK))


def _numbers(data: bytes, spans: Any, column: int, out: np.ndarray, absent: set[bytes], odd: Any, facts: Any) -> bool:
    all_whole = True
    values = []
    for row, span in enumerate(spans):
        begin, end, _ = _bare(data, *span)
        cell = data[begin:end]
        value = np.nan
        if not cell or (len(cell) <= 8 and cell in absent):
            facts[1] += 1
        elif (found := _NUMBER.fullmatch(cell)) and _plain(found, value := float(cell) if _any(found) else np.nan):
            all_whole = all_whole and found[2] is None and found[4] is None and abs(value) <= WHOLE
        else:
            value = np.nan
            k = int(facts[0])
            odd[k] = row, column, begin, end
            facts[0] = k + 1
        values.append(value)
    out[: len(values)] = values
    return all_whole


def _any(found: re.Match[bytes]) -> bool:
    return bool(found[1] or found[3])


def _plain(found: re.Match[bytes], value: float) -> bool:
    """Whether the compiled scanner reads this number itself: 19 digits at most, and neither tiny nor huge."""
    least, large = 2.0**-1022, 2.0**1023  # numbers between them are read in 64 bits
    digits = (found[1] + (found[3] or b"")).lstrip(b"0")
    if not _any(found) or len(digits) > 19:
        return False
    return not digits or least <= abs(value) < large


def _texts(data: bytes, spans: Any, start: int, out: np.ndarray, slot: int, n_texts: int, texts: Known) -> int:
    state, counts, _, known, pool = texts
    codes: dict[tuple[int, bytes], int] = {}
    raw = pool[: int(state[1])].tobytes()
    for at, tag, code in known[: int(state[0]), 3:6].tolist():
        length = tag // n_texts >> 1
        codes[tag, raw[at : at + length]] = code
    for row, span in enumerate(spans):
        if row < start:
            continue
        begin, end, quoted = _bare(data, *span)
        if begin >= end:
            out[row] = -1.0
            continue
        cell = data[begin:end]
        tag = (len(cell) << 1 | (quoted and BYTE.quote in cell)) * n_texts + slot
        code = codes.get((tag, cell), -1)
        if code < 0:
            n, used = int(state[0]), int(state[1])
            if n == known.shape[0] or used + len(cell) + 8 > pool.size or counts[slot] >= LIMIT.most_texts:
                return row
            code = codes[tag, cell] = int(counts[slot])
            known[n, 3:6] = used, tag, code
            pool[used : used + len(cell)] = np.frombuffer(cell, dtype=np.uint8)
            counts[slot] += 1
            state[0], state[1] = n + 1, used + len(cell)
        out[row] = code
    return len(out)


def recode(X: np.ndarray, columns: Any, tables: np.ndarray, starts: Any) -> None:
    for column, start in zip(columns.tolist(), starts.tolist()):
        X[:, column] = tables[start + X[:, column].astype(np.int64)]


def place_texts(table: Any, known: Any, n: int) -> None:
    """Python's own dictionaries find texts here."""


_COMPILED = Scanner(scan_cells.cut, scan_columns.scan_columns, scan_columns.place_texts, scan_columns.recode)
_PLAIN = Scanner(cut, scan_plainly, place_texts, recode)
