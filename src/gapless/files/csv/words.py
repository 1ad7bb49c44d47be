"""What is said of a CSV file that cannot be read: which cell, which line, what is wrong with it."""

from __future__ import annotations

import csv
from contextlib import suppress

from gapless.files.cells.labels import is_number
from gapless.files.csv.codes import END, LIMIT
from gapless.files.csv.plan import Plan
from gapless.files.text_blocks import open_text


def not_finite(text: str) -> str:
    """What is wrong with a number that is infinite or none: a text that says so, or one beyond the range."""
    if any(word in text.lower() for word in ("inf", "nan")):
        return f"the value is {text[: LIMIT.shown]}; it must be finite"
    what = f"{text[: LIMIT.shown]!r}" if len(text) <= LIMIT.shown else f"{text[:12]}… of {len(text):,} characters"
    return f"the number {what} is beyond the range of float64 (1.8e308)"


def no_number(text: str, plan: Plan, first: bool) -> str:
    """What is wrong with a cell that should be a number; `first`: it is of the first line."""
    if not text:
        return "the cell is empty; fill it in or drop the line"
    if is_number(text):
        return not_finite(text)
    problem = f"{text[: LIMIT.shown]!r} is not a number"
    if plan.names is None and first:
        problem += " (if the first line holds names, say so: header)"
    elif plan.typed and not plan.fixed:
        problem += " as most of the column are (a column of texts is named by --category)"
    return problem


def wrong(plan: Plan, what: int, cells: int) -> str:
    """What stopped the cut into cells."""
    if what == END.ragged:
        return f"expected {plan.kinds.size} columns, found {cells}"
    return "cannot be read as CSV (a quote is opened and not closed, or something stands after the closing one)"


def too_many(plan: Plan, column: int) -> str:
    if column == plan.roles.label:
        return (
            f"more than {LIMIT.most_texts} different labels; of numbers, one for each value, it would be a regression"
        )
    if column in plan.all_texts:
        return (
            f"more than {LIMIT.most_texts} different texts; is it a name or a number of the row? leave it out: --drop"
        )
    return f"more than {LIMIT.most_texts} different texts, a name of the row: left out"


def line_at(plan: Plan, offset: int) -> int:
    """The line that begins behind so many bytes, counted again: only an error asks."""
    stream, _ = open_text(plan.path, plan.encoding)
    line, mark = 1, plan.newline.encode()
    with stream:
        while offset > 0 and (part := stream.read(min(offset, 1 << 20))):
            line += part.count(mark)
            offset -= len(part)
    return line


def line_of(plan: Plan, row: int) -> int | None:
    """The line of a row, counted again; None behind a cell that Python's reader takes for too long."""
    start, seen = plan.line, 0
    with open(plan.path, encoding=plan.encoding, errors="replace", newline="") as stream, suppress(csv.Error):
        for _ in range(plan.line - 1):
            stream.readline()
        reader = csv.reader(stream, delimiter=plan.separator, skipinitialspace=True)
        for cells in reader:
            if cells and (len(cells) > 1 or cells[0].strip()):
                if seen == row:
                    return start
                seen += 1
            start = plan.line + reader.line_num
    return None
