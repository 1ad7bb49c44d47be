"""Columns of texts in a data frame that hold numbers or dates: the same decisions as for a CSV file, with all cells at hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from gapless.files.cells.cells import How, Style, Tally
from gapless.files.cells.dates import DAY_FIRST, MONTH_FIRST, is_date
from gapless.files.cells.labels import is_number
from gapless.files.cells.notation import (
    COMMA,
    NOTHING,
    POINT,
    is_ambiguous,
    is_any_number,
    is_missing,
    mark_of,
    unit_among,
    without_unit,
)
from gapless.files.csv.codes import LIMIT
from gapless.files.csv.columns import Options


def usual_mark(columns: Iterable[Sequence[str | None]]) -> str | None:
    """The decimal mark that some cells of these columns insist on, if it is the same for all columns that insist on one."""
    found = set()
    for cells in columns:
        marks = {mark_of(cell.strip()) for cell in [*{*cells}][: LIMIT.looked_at] if isinstance(cell, str)} - {None}
        found |= marks if len(marks) == 1 else set()
    return found.pop() if len(found) == 1 else None


def as_values(
    cells: Sequence[str | None], options: Options, asked: bool, known: Style | None, usual: str | None = None
) -> tuple[np.ndarray, Style, Tally] | None:
    """Numbers, or days since 1970-01-01, of texts that write them; None: they are texts. `asked`: they have to be numbers,
    `known` is a model's style, `usual` the decimal mark of the other columns."""
    times = Counter(cell.strip() for cell in cells if cell is not None)
    present = [cell for cell in times if cell not in NOTHING and not is_missing(cell, options.missing)]
    whole = sum(times[cell] for cell in present)
    style = known or _style(present, times, whole, asked)
    if style is None:
        return None
    if usual is not None and style.kind == "number":
        style = style._replace(choice=usual)
    style = style._replace(missing=options.missing)
    choice = options.decimal if style.kind == "number" else options.date_order
    if choice is not None:
        style = style._replace(choice=choice, asked=True)
    tally = _read(times, style)
    if tally.counts[How.against] and not _sure(tally, times, style) and not style.asked:
        style = style.other()
        tally = _read(times, style)
    if (
        known is None
        and not asked
        and tally.counts[How.bad]
        and len(present) - len(tally.examples[How.bad]) <= LIMIT.few_values
    ):
        return None
    found = {cell: style.read(cell)[0] for cell in times}
    values = np.array([np.nan if cell is None else found[cell.strip()] for cell in cells])
    return values, style, tally


def _style(present: Sequence[str], times: Counter[str], whole: int, asked: bool) -> Style | None:
    """Numbers or dates, where most of the cells are some; the mark or the order where no cell decides."""
    days = sum(times[cell] for cell in present if is_date(cell))
    if 2 * days > whole and not asked:
        return Style("date", MONTH_FIRST if any("/" in cell for cell in present) else DAY_FIRST)
    numbers = sum(times[cell] for cell in present if is_number(cell) or is_any_number(cell))
    unit = unit_among(present)
    if unit is not None:
        numbers = sum(times[cell] for cell in present if is_any_number(without_unit(cell, unit)))
    if not (asked or (present and 2 * numbers >= whole)):
        return None
    parted = [cell for cell in present if is_ambiguous(cell)]
    mark = (
        COMMA
        if parted and all("." in cell for cell in parted) and any(cell.count(".") > 1 for cell in present)
        else POINT
    )
    return Style("number", mark, unit)


def _sure(tally: Tally, times: Counter[str], style: Style) -> bool:
    """Whether a cell insists on the style's choice; plain numbers are not in the tally."""
    return bool(tally.counts[How.sure]) or any(_plain(cell, style) and mark_of(cell) == style.choice for cell in times)


def _read(times: Counter[str], style: Style) -> Tally:
    tally = Tally()
    for cell, count in times.items():
        if cell in NOTHING or not _plain(cell, style):
            tally.read(cell, style)
            tally.times[cell] = count
    tally.add(Tally())
    return tally


def _plain(cell: str, style: Style) -> bool:
    """Whether a cell is a number as Python writes it: nothing is said of such."""
    return (
        style.kind == "number"
        and style.choice == POINT
        and style.unit is None
        and is_number(cell)
        and not is_ambiguous(cell)
    )
