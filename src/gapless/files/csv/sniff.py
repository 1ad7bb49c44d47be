"""What a table looks like: its separator, its line ends, its header, the kinds of its columns, from its first records."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from gapless.files.cells.dates import is_date
from gapless.files.cells.labels import is_number
from gapless.files.cells.notation import NOTHING, is_any_number, is_bare_number
from gapless.files.csv.codes import LIMIT
from gapless.files.csv.columns import LABEL_NAMES, Column
from gapless.files.problems import data_error
from gapless.files.text_blocks import open_text

SEPARATORS = {"\t": "tab", ";": "semicolon", "|": "bar", ",": "comma"}  # in the order of preference


class Sample(NamedTuple):
    """The beginning of a file."""

    separator: str | None
    newline: str
    encoding: str
    records: list[tuple[int, list[str]]]  # line, cells with their white space
    lines: list[str]
    bytes_a_record: float
    whole: bool  # the file ends there

    @property
    def separator_sign(self) -> str:
        return self.separator or ","

    def head(self, record: int) -> int:
        """Bytes, as UTF-8, before a record; where the sample ends before it: those of the sample."""
        line = self.records[record][0] - 1 if record < len(self.records) else len(self.lines)
        return len("\n".join(self.lines[:line]).encode("utf-8")) + 1 if line else 0


def sample(path: str, encoding: str | None, separator: str | None) -> Sample:
    """Read the first records; errors in them are left to the scanner, which names them."""
    sample_lines = 150  # enough for them unless many are blank
    sniffed_lines, first_bytes = 20, 1 << 15
    stream, found = open_text(path, encoding)
    with stream:
        start = stream.read(first_bytes)
        whole = len(start) < first_bytes
        if not whole and len(start.split(b"\n", sample_lines)) <= sample_lines:
            start += stream.read(LIMIT.sample_bytes)
            whole = len(start) < first_bytes + LIMIT.sample_bytes
        newline = "\r" if b"\n" not in start and b"\r" in start else "\n"
        mark = newline.encode()
        while not whole and len(start.split(mark, 3)) < 4:  # long lines
            more = stream.read(len(start))
            whole = not more
            start += more
    if _binary(start):
        zeros = [start[k::2].count(0) for k in (0, 1)]
        if encoding is None and max(zeros) > 0.2 * len(start) and 0.6 * len(start) > sum(zeros):
            return sample(path, "utf-16-le" if zeros[1] > zeros[0] else "utf-16-be", separator)
        raise data_error("is a binary file, not text (export the table as CSV)", path)
    if not whole:
        start = start[: start.rfind(mark) + 1] or start
    try:
        text = start.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.end < len(start) or whole:
            raise
        text = start[: error.start].decode("utf-8")
    plain = '"' not in text and "\r" not in text
    lines = text.split(newline, sample_lines)
    rest = lines.pop() if len(lines) > sample_lines else None
    declared = re.fullmatch(r'"?sep=(.)"?', lines[0].strip("\r\ufeff"), re.IGNORECASE)
    if declared:  # how spreadsheets are told the separator
        lines[0] = "\r" if lines[0].endswith("\r") else ""
    sep = separator or (declared.group(1) if declared else sniff_separator(lines[:sniffed_lines]))
    records = _records(lines, sep or ",", plain)
    if rest is not None and len(records) < LIMIT.sample_rows:  # blank lines, or line ends in quotes
        lines += rest.split(newline)
        records = _records(lines, sep or ",", plain)
    size = (
        len(start) / max(len(records), 1)
        if len(records) < LIMIT.sample_rows
        else _length(lines[: records[-1][0]], found)
    )
    if declared:
        lines[0] = text.split(newline, 1)[0]
    return Sample(sep, newline, found, records, lines, size, whole)


def _length(lines: Sequence[str], encoding: str) -> float:
    wide = 2 if encoding.startswith("utf-16") else 1
    return wide * (len("\n".join(lines).encode("utf-8")) + 1) / LIMIT.sample_rows


def _binary(start: bytes) -> bool:
    """Bytes that no text has: two zeros, or one in a hundred of the first that are no printable sign."""
    binary_bytes = 1 << 12
    head = start[:binary_bytes]
    strange = len(head) - len(head.translate(None, bytes(k for k in range(32) if k not in (9, 10, 12, 13, 26, 27))))
    return start.count(b"\0") >= 2 or (strange >= 8 and strange > 0.01 * len(head))


def sniff_separator(lines: Sequence[str]) -> str | None:
    """The first of tab, semicolon, bar, comma that cuts all the lines, or else most of them, into equally many parts (outside
    quotes)."""
    outside = ["".join(line.split('"')[::2]) if '"' in line else line for line in lines if line and not line.isspace()]
    counts = {sep: [line.count(sep) for line in outside] for sep in SEPARATORS}
    for sep, found in counts.items():
        if found and found[0] and min(found) == max(found):
            return sep
    shares = {sep: _share(found) for sep, found in counts.items()}
    best = max(shares, key=lambda sep: shares[sep])
    if shares[best] > 0.5:
        return best
    # A ragged file: the separator of the first line, so that the error can name the ragged line.
    first = {sep: found[0] for sep, found in counts.items() if found and found[0]}
    return max(first, key=lambda sep: first[sep]) if first else None


def _share(found: Sequence[int]) -> float:
    """The share of lines that have the commonest number of separators, where that is not 0."""
    times = Counter(found)
    return max((times[size] / len(found) for size in times if size), default=0.0)


def _records(lines: Sequence[str], sep: str, plain: bool) -> list[tuple[int, list[str]]]:
    """(line of its first character, cells) of the first records that are not blank; `plain`: without quotes."""
    if plain:  # no reader needed
        some = [start for start, line in enumerate(lines, 1) if line and not line.isspace()][: LIMIT.sample_rows]
        return [(start, lines[start - 1].split(sep)) for start in some]
    records: list[tuple[int, list[str]]] = []
    reader = csv.reader((line + "\n" for line in lines), delimiter=sep, skipinitialspace=True)
    start = 1
    try:
        for cells in reader:
            if len(cells) > 1 or (cells and cells[0].strip()):
                records.append((start, cells))
                if len(records) >= LIMIT.sample_rows:
                    break
            start = reader.line_num + 1
    except csv.Error:
        if not records:
            raise
    return records


def has_header(first: Sequence[str], second: Sequence[str] | None, columns: Sequence[Column]) -> bool:
    """The first line holds names if no cell of it is a number where the next line has numbers.

    A first line that is partly numbers is data: a missing value in it must be refused, not taken for a name.
    The exception is a numbered header (0,1,2,label), as data frames without names are written.
    """
    if any(isinstance(column, str) and column in first for column in columns):
        return True
    if any(getattr(column, "text", None) in first and int(column) >= len(first) for column in columns):  # a year
        return True
    numbers = [cell for cell in first if is_number(cell)]
    numbered = [[str(k + start) for k in range(len(numbers))] for start in (0, 1)]
    if numbers in numbered and any(cell.lower() in LABEL_NAMES for cell in first):
        return True
    bare = [is_number(cell) or is_bare_number(cell) for cell in first]
    below = [
        j
        for j, cell in enumerate(second or ())
        if j < len(first) and (is_number(cell) or is_any_number(cell) or is_date(cell))
    ]
    if not below:
        return not any(bare)
    return not any(bare[j] or is_date(first[j]) for j in below)


def textual(cells: Sequence[str]) -> bool:
    """Whether a column is one of texts: most of the cells that hold anything are no numbers."""
    present = {*cells} - NOTHING
    text = "".join(present)
    if text.isascii() and text.isdigit():
        return False
    present = {*map(str.strip, present)} - NOTHING
    numbers = {cell for cell in present if cell[0] in "0123456789+-.iInN"}
    if len(numbers) < len(present) or not numeric(present):
        numbers = {cell for cell in numbers if is_number(cell)}
    if not numbers or len(numbers) == len(present):
        return not numbers and bool(present)
    times = Counter(map(str.strip, cells))
    return sum(times[cell] for cell in numbers) < sum(times[cell] for cell in present - numbers)


def numeric(cells: Collection[str]) -> bool:
    """Whether all cells are numbers."""
    text = "".join(cells)
    if not text.isascii() or "_" in text:  # such are numbers for Python only
        return False
    if text.isdigit():
        return "" not in cells
    try:
        list(map(float, cells))  # one exception, if any
    except ValueError:
        return False
    return True
