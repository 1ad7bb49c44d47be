"""Where in a file the table lies: titles above its header, an index without a name, separators at line ends, sums below it."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import NamedTuple

from gapless.files.cells.labels import is_number
from gapless.files.csv.codes import LIMIT
from gapless.files.csv.columns import Column
from gapless.files.csv.sniff import Sample, has_header
from gapless.files.problems import listed

#: What a line of sums below a table begins with, in lower case.
SUMS = frozenset((
    "total", "totals", "sum", "sums", "subtotal", "grand total", "overall", "summe", "gesamt", "gesamtsumme", "insgesamt",
    "totale", "somme", "suma", "total général", "total general", "soma", "totaal", "average", "avg", "mean", "median",
    "durchschnitt", "mittelwert", "mittel", "schnitt", "moyenne", "moy", "média", "media", "promedio", "gemiddelde", "count",
    "anzahl", "min", "max", "minimum", "maximum", "std", "stddev", "std dev", "st.dev", "average/total",
))  # fmt: skip


class Layout(NamedTuple):
    """The table in its file."""

    names: list[str] | None
    width: int
    header: int  # the record of the header; -1: there is none
    first: int  # the record of the first row
    skipped: list[int]  # columns without name and value
    told: list[str]


def layout(
    found: Sample, header: bool | None, asked: Sequence[Column], known: Collection[str | None], needed: Sequence[str]
) -> Layout:
    """Find header, names and width. `asked` are columns that the caller named, `known` the names of a model, `needed` those of
    its features."""
    records = [cells for _, cells in found.records]
    for k in range(min(LIMIT.most_titles, len(records))):
        records[k] = [cell.strip() for cell in records[k]]
    wanted = {*needed, *(name for name in asked if isinstance(name, str))}
    told: list[str] = []
    at = _begin(records, wanted if header is not False else set())
    if at:
        sign = found.separator_sign
        titles = [sign.join(each).strip(sign)[:40] for each in records[:at]]
        told.append(f"{at} line{'s' * (at > 1)} above the table left out ({listed(titles, 2)})")
    first = records[at]
    if header is None:
        named = bool(known) and {*known}.issuperset(first) and not all(map(is_number, first))
        below = records[at + 1] if len(records) > at + 1 else None
        header = named or has_header(first, below, asked)
    if not header:
        return Layout(None, len(first), -1, at, [], told)
    rows = records[at + 1 :]
    names, width = _fitted(first, rows)
    if bare := _behind_hash(names):
        names[0] = bare
    skipped = [
        j
        for j in range(width)
        if not names[j] and rows and not any(cells[j].strip() for cells in rows if len(cells) == width)
    ]
    if skipped:
        told.append(f"{len(skipped)} column{'s' * (len(skipped) > 1)} without name and value left out")
    if width > 1 and not names[0] and _numbered([cells[0].strip() for cells in rows if len(cells) == width]):
        skipped.append(0)
        told.append("column 1 has no name and counts the rows: left out")
    unnamed = [j for j in range(width) if not names[j]]
    for j in unnamed:
        names[j] = f"column {j + 1}"
    if more := [j for j in unnamed if j not in skipped]:
        told.append(f"the header has no name for {listed([names[j] for j in more])}")
    twice = _distinct(names)
    if twice:
        told.append(f"names that stand twice in the header are numbered: {listed(twice)}")
    return Layout(names, width, at, at + 1, skipped, told)


def _begin(records: Sequence[Sequence[str]], wanted: Collection[str]) -> int:
    """The record that the table begins with: the first with all names of the model, else the first one as long as most are."""
    if wanted:
        for at, cells in enumerate(records[: LIMIT.most_titles]):
            if {*wanted} <= {*cells}:
                return at
    if len(records) < 3:
        return 0
    lengths = Counter(map(len, records))
    width = max(lengths, key=lambda size: (lengths[size], size))
    if 2 * lengths[width] <= len(records):
        return 0
    for at, cells in enumerate(records[: LIMIT.most_titles]):
        filled = sum(map(bool, cells))
        beside = abs(len(cells) - width) == 1 and filled > 1  # a header that lacks the index, or ends with a separator
        title = (not beside and (len(cells) != width and filled < width)) or (width > 2 and filled <= 1)
        if not title:
            return at
    return 0


def _fitted(first: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], int]:
    """The names of all columns, and how many there are, where rows have one cell more or less than the header."""
    names, sizes = list(first), {len(cells) for cells in rows}
    if sizes == {len(names) + 1}:
        names = [*names, ""] if not any(cells[-1].strip() for cells in rows) else ["", *names]
    elif sizes == {len(names) - 1} and not names[-1] and len(names) > 2:
        names.pop()
    return names, len(names)


def _behind_hash(names: Sequence[str]) -> str:
    """The first name of a header that is written as a comment: # a,b,c."""
    first = names[0].lstrip("#").strip() if names and names[0].startswith("#") else ""
    return "" if len(names) < 2 or first in names[1:] or any(name.startswith("#") for name in names[1:]) else first


def _numbered(cells: Sequence[str]) -> bool:
    """Whether cells are whole numbers that go up by one: an index."""
    if len(cells) < 2 or not all(cell.isascii() and cell.isdigit() for cell in cells):
        return False
    return all(int(after) == int(before) + 1 for before, after in pairwise(cells))


def _distinct(names: list[str]) -> list[str]:
    """Number the names that stand twice, in place; the new names."""
    new: list[str] = []
    taken = {*names}
    seen: set[str] = set()
    for j, name in enumerate(names):
        if name in seen:
            k = 2
            while f"{name} ({k})" in taken:
                k += 1
            names[j] = f"{name} ({k})"
            taken.add(names[j])
            new.append(names[j])
        seen.add(name)
    return new


def end_of(path: str, found: Sample, width: int, first: int) -> tuple[int | None, list[str]]:
    """(bytes of the file before what stands below the table, those lines); None: nothing stands there. `first` is the record
    of the first row."""
    full_rows = 20  # first rows of a table: where each has two values or more, a last line with one value is no row
    tail_bytes = 1 << 13
    size = os.path.getsize(path)
    values = [sum(map(bool, map(str.strip, cells))) for _, cells in found.records[first:]]
    begin = [*filter(None, values)][:full_rows]
    full = width > 3 and len(begin) == full_rows and min(begin) > 1
    with open(path, "rb") as stream:
        stream.seek(max(size - tail_bytes, 0) // 4 * 4)
        raw = stream.read()
    try:
        text = raw.decode(found.encoding)
    except UnicodeDecodeError:
        text = raw.decode(found.encoding, errors="replace")
    mark = found.newline
    lines = text.split(mark)
    whole = size <= tail_bytes
    lines = lines if whole else lines[1:]
    if any('"' in line and line.count('"') % 2 for line in lines[-12:]):
        return None, []
    cut: list[str] = []
    left: list[str] = []
    most = len(lines) - 3 if whole else len(lines)
    for line in lines[::-1][: min(12, max(most, 0))]:
        try:
            reader = csv.reader([line.strip("\r")], delimiter=found.separator_sign, skipinitialspace=True)
            cells = [cell.strip() for cell in next(reader, [])]
        except csv.Error:  # a lone carriage return, a very long cell: a line of the table, which says what is wrong
            break
        filled = [cell for cell in cells if cell]
        blank = not line.strip()
        empty = not filled and len(cells) > 1
        alone = len(cells) != width and width > 2 and len(filled) <= 1 and not (filled and is_number(filled[0]))
        alone |= full and len(cells) == width and len(filled) == 1
        sums = bool(filled) and filled[0].lower().rstrip(" :.") in SUMS and _strange(filled[0], cells, found)
        if not (blank or empty or alone or sums):
            break
        cut.append(line)
        if not blank:
            left.append(line.strip())
    if not left:
        return None, []
    while cut and not cut[-1].strip():  # blank lines above it are no matter
        cut.pop()
    return size - len(mark.join(cut[::-1]).encode(found.encoding, errors="replace")), left[::-1]


def _strange(text: str, cells: Sequence[str], found: Sample) -> bool:
    """Whether a text occurs nowhere else in its column, by the first records."""
    j = cells.index(text)
    return sum(len(row) > j and row[j].strip() == text for _, row in found.records) <= 1  # itself, in a short file
