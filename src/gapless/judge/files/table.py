"""The records of a CSV file, by the judge: its encoding, its separator, the line with the names, the rows below it."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from ..errors import DataError
from .numerals import numeral

SEPARATORS = "\t;|,"
MOST_TITLES = 40


class Table(NamedTuple):
    names: list[str]
    rows: list[list[str]]
    lines: list[int]  # of the file, of each row
    header: int  # its line


def text_of(raw: bytes, encoding: str | None = None) -> str:
    """The text of a file: by its mark, else UTF-16 where every second byte is 0, else UTF-8, else Windows' western encoding."""
    if encoding is not None:
        return raw.decode(encoding)
    for mark, name in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if raw.startswith(mark):
            return raw[len(mark) :].decode(name)
    start = raw[: 1 << 15]
    zeros = [start[k::2].count(0) for k in (0, 1)]
    if max(zeros) > 0.2 * len(start) and sum(zeros) < 0.6 * len(start):
        return raw.decode("utf-16-le" if zeros[1] > zeros[0] else "utf-16-be")
    for name in ("utf-8", "cp1252"):
        try:
            return raw.decode(name)
        except UnicodeDecodeError:
            continue
    return raw.decode("latin-1")


def table_of(lines: Sequence[str], file: str, needed: Collection[str], rows: int | None = None) -> Table:
    """The table below the line that has all names that are needed; else below the first one, which has the names unless it
    looks like data; ``rows`` is how many there should be."""
    for separator in _likely(lines):
        at = _header(lines, separator, needed)
        if at is not None:
            return _below(lines, file, separator, at)
    first = next(k for k, line in enumerate(lines) if line.strip())
    sign = max(SEPARATORS, key=lambda mark: len(_split(lines[first : first + 1], mark)))
    found = _below(lines, file, sign, first)
    return _below(lines, file, sign, first, True) if _is_data(found.names) and len(found.rows) != rows else found


def _is_data(cells: Sequence[str]) -> bool:
    """Whether some of the cells are numbers, and these do not count columns as the names of a frame do."""
    found = [
        cell
        for cell in cells
        if any(numeral(cell, mark) is not None for mark in ".,") and not cell.startswith("column")
    ]
    return len(found) > 0 and found != [str(k) for k in range(len(found))]


def _likely(lines: Sequence[str]) -> list[str]:
    """Separators, those first that most of the first lines have."""
    some = [line for line in lines[:MOST_TITLES] if line.strip()]
    return sorted(SEPARATORS, key=lambda mark: -sum(mark in line for line in some))


def _header(lines: Sequence[str], separator: str, needed: Collection[str]) -> int | None:
    if not needed:
        return None
    for k in range(min(len(lines), MOST_TITLES)):
        bare = _without_hash([cell.strip() for cell in _record(lines, k, separator)])
        if {*needed} <= {*_named(bare), *_named(["", *bare])}:
            return k
    return None


def _record(lines: Sequence[str], at: int, separator: str) -> list[str]:
    """The record that begins with this line; in quotes it may have more than one."""
    return _split(lines[at : at + MOST_TITLES] if '"' in lines[at] else lines[at : at + 1], separator)


def _without_hash(cells: list[str]) -> list[str]:
    """A header that is written as a comment: # a,b,c."""
    bare = cells[0].lstrip("#").strip() if cells and cells[0].startswith("#") else ""
    many = len(cells) > 1 and bare not in cells[1:] and not any(cell.startswith("#") for cell in cells[1:])
    return [bare, *cells[1:]] if bare and many else cells


def _split(lines: Sequence[str], separator: str) -> list[str]:
    try:
        return next(csv.reader(lines, delimiter=separator, skipinitialspace=True), [])
    except csv.Error:  # a cell beyond 131,072 characters
        return []


def _named(cells: Sequence[str]) -> list[str]:
    """Names of all columns: those without one are numbered, and those that stand twice."""
    names = [cell or f"column {k + 1}" for k, cell in enumerate(cells)]
    taken, seen = {*names}, set()
    for k, name in enumerate(names):
        if name in seen:
            copy = next(each for each in (f"{name} ({i})" for i in range(2, len(names) + 2)) if each not in taken)
            taken.add(copy)
            names[k] = copy
        seen.add(name)
    return names


def _below(lines: Sequence[str], file: str, separator: str, at: int, bare: bool = False) -> Table:
    reader = csv.reader(lines[at:], delimiter=separator, strict=True, skipinitialspace=True)
    records: list[list[str]] = []
    where: list[int] = []
    last = 0
    try:
        for cells in reader:
            begin, last = at + last + 1, reader.line_num
            if any(cell.strip() for cell in cells):
                records.append([cell.strip() for cell in cells])
                where.append(begin)
    except csv.Error as error:
        mended = [re.sub(r'"[ \t]+(?=\r?\n|\r|$|[\t;|,])', '"', line) for line in lines]
        if mended != [*lines]:  # blanks behind a closing quote
            return _below(mended, file, separator, at, bare)
        line = at + reader.line_num
        raise DataError(f"{file}:{line}: cannot be read as CSV ({error})", file, line) from None
    if records:
        records[0] = _without_hash(records[0])
    if bare:  # no line has the names
        records, where = [[""] * len(records[0]), *records], [where[0], *where]
    first, rows = records[0], records[1:]
    rows, where_rows = _without_sums(rows, where[1:], len(first))
    sizes = {len(row) for row in rows}
    if sizes == {len(first) + 1}:  # a separator at the end of every row, or an index without a name
        first = [*first, ""] if all(not row[-1] for row in rows) else ["", *first]
    elif sizes == {len(first) - 1} and not first[-1]:
        first = first[:-1]
    return Table(_named(first), rows, where_rows, where[0])


def _without_sums(rows: list[list[str]], lines: list[int], width: int) -> tuple[list[list[str]], list[int]]:
    """Without what stands below the table: a line of one cell, or of sums."""
    of_sums = frozenset((
        "anzahl", "average", "average/total", "avg", "count", "durchschnitt", "gemiddelde", "gesamt", "gesamtsumme",
        "grand total", "insgesamt", "max", "maximum", "mean", "media", "median", "min", "minimum", "mittel", "mittelwert",
        "moy", "moyenne", "média", "overall", "promedio", "schnitt", "soma", "somme", "st.dev", "std", "std dev", "stddev",
        "subtotal", "sum", "suma", "summe", "sums", "totaal", "total", "total general", "total général", "totale", "totals",
    ))  # fmt: skip
    usual = max({len(row) for row in rows} or {width}, key=lambda size: sum(len(row) == size for row in rows))
    full = usual > 3 and len(rows) >= 20 and all(sum(map(bool, row)) > 1 for row in rows[:20])
    while len(rows) > 2:
        cells = rows[-1]
        filled = [cell for cell in cells if cell]
        alone = len(cells) != usual and width > 2 and len(filled) == 1 and not _is_number(filled[0])
        alone = alone or (full and len(cells) == usual and len(filled) == 1)
        place = cells.index(filled[0])
        sums = filled[0].lower().rstrip(" :.") in of_sums and all(
            len(row) <= place or row[place] != filled[0] for row in rows[:100] if row is not cells
        )
        if not (alone or sums):
            break
        rows, lines = rows[:-1], lines[:-1]
    return rows, lines


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
