"""What each column of a CSV file holds, by its first rows: numbers (and how they are written), dates, texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from gapless.files.cells.cells import Style
from gapless.files.cells.dates import DAY_FIRST, MONTH_FIRST, is_date, order_of
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
from gapless.files.csv.codes import KIND, LIMIT
from gapless.files.csv.columns import Options, Roles
from gapless.files.csv.sniff import numeric, textual
from gapless.files.expected import Expected


class Guess(NamedTuple):
    """Kinds of all columns, and of those that are no texts how they are written."""

    kinds: np.ndarray
    styles: dict[int, Style]
    sure: dict[int, set[str]]  # the marks or orders that some cell of the first rows insists on
    absent: frozenset[str] = frozenset()  # usual words for no value that the first rows have
    many_labels: bool = False  # different numbers, more than classes would have
    doubts: dict[int, str] = {}  # columns whose mark nothing decides, with a cell of theirs


def guess(
    rows: Sequence[Sequence[str]],
    width: int,
    separator: str,
    roles: Roles,
    typed: bool,
    options: Options,
    expected: Expected | None,
) -> Guess:
    """The kinds of the columns by their first cells; columns of a model have the model's."""
    plain = frozenset("0123456789.-+eE\r").issuperset("".join(map("".join, rows)))
    columns: list[Sequence[str]] = list(zip(*rows, strict=True)) if rows else [()] * width
    kinds = np.full(width, KIND.skip, dtype=np.int8)
    kinds[roles.features] = KIND.number
    styles: dict[int, Style] = {}
    if expected is not None and expected.typed:
        kinds[[roles.features[k] for k in expected.categories]] = KIND.text
        styles = {roles.features[k]: style for k, style in expected.styles.items() if style != Style()}
    elif typed:
        given = {**dict.fromkeys(options.numbers, "number"), **dict.fromkeys(options.texts, "text")}
        for j in roles.features:
            kind = given.get(j) or ("number" if plain else _kind(columns[j], options.missing))
            if kind == "text":
                kinds[j] = KIND.text
            elif kind == "date":
                styles[j] = Style("date", DAY_FIRST)
    many = False
    if roles.label is not None:
        words = {*map(str.strip, columns[roles.label])}
        counted = _are_numbers(words, options, expected)
        kinds[roles.label] = KIND.number if counted else KIND.label
        many = counted and len(words) > LIMIT.many_labels
        if expected and expected.label_style != Style():
            styles[roles.label] = expected.label_style
    if roles.weights is not None:
        kinds[roles.weights] = KIND.number
    if plain and not styles and separator == COMMA and options.decimal != COMMA:
        return Guess(kinds, {}, {}, frozenset(), many, {})
    numbers = [j for j in (*roles.features, roles.label, roles.weights) if j is not None and kinds[j] == KIND.number]
    sure, doubts = _settle_styles(columns, numbers, styles, separator, options, expected)
    absent = NOTHING.intersection(chain.from_iterable(columns[j] for j in roles.features)) - {""}
    return Guess(kinds, styles, sure, absent, many, doubts)


def _are_numbers(words: Collection[str], options: Options, expected: Expected | None) -> bool:
    """Whether labels are numbers."""
    wanted = expected.label_kind if expected else None
    return wanted not in ("str", "bool") and (numeric(words) or _numbers(words, options.missing) or wanted == "float")


def _settle_styles(
    columns: Sequence[Sequence[str]],
    numbers: Sequence[int],
    styles: dict[int, Style],
    separator: str,
    options: Options,
    expected: Expected | None,
) -> tuple[dict[int, set[str]], dict[int, str]]:
    """Give columns of numbers and dates their styles; the marks or orders that some cell insists on, and a cell of each column
    whose mark nothing decides."""
    for j in numbers:
        if j not in styles and (unit := _unit(columns[j], options.missing)) is not None:
            styles[j] = Style(unit=unit)
    every = {j: styles.get(j, Style()) for j in numbers}
    odd = bool(styles) or any("," in "".join(columns[j]) for j in numbers)
    odd = odd or (separator == ";" and any(_open(columns[j]) for j in numbers))
    found = {j: _choices(columns[j], style) for j, style in every.items()} if odd else {}
    for j, style in every.items():
        asked = options.decimal if style.kind == "number" else options.date_order
        if asked is not None:
            styles[j] = style._replace(choice=asked, asked=True)
        elif odd:
            styles[j] = style._replace(choice=_choice(j, every, found, columns[j], separator, expected is not None))
    sure = {j: {*each} for j, each in found.items()}
    marks = {mark for j, each in found.items() if every[j].kind == "number" for mark in each}
    if not odd or expected is not None or options.decimal is not None or len(marks) == 1:
        return sure, {}
    open_ = [j for j, style in every.items() if style.kind == "number" and not found[j]]
    cells = {j: next(filter(is_ambiguous, columns[j]), None) for j in open_}
    return sure, {j: cell for j, cell in cells.items() if cell is not None}


def _kind(cells: Sequence[str], missing: Collection[str]) -> str:
    """Of a column that no one has said anything of."""
    if not textual(cells):
        return "number"
    times = Counter(map(str.strip, cells))
    present = [cell for cell in times if cell not in NOTHING and not is_missing(cell, frozenset(missing))]
    if not present:
        return "number" if not {*times} - NOTHING - {*missing} else "text"
    numbers = sum(times[cell] for cell in present if is_number(cell) or is_any_number(cell))
    days = sum(times[cell] for cell in present if is_date(cell))
    whole = sum(times[cell] for cell in present)
    if 2 * days > whole:
        return "date"
    unit = None if 2 * numbers >= whole else _unit(cells, missing)
    if unit is not None:
        numbers = sum(times[cell] for cell in present if is_any_number(without_unit(cell, unit)))
    if 2 * numbers >= whole:
        return "number"
    return "text"


def _unit(cells: Sequence[str], missing: Collection[str]) -> str | None:
    """The unit behind the numbers of a column."""
    if frozenset("0123456789.-+eE\r, \u00a0").issuperset("".join(cells)):
        return None
    return unit_among(
        {cell for cell in map(str.strip, cells) if cell not in NOTHING and not is_missing(cell, frozenset(missing))}
    )


def _numbers(words: Collection[str], missing: frozenset[str]) -> bool:
    """Whether all labels that are there are numbers, or nearly all of many different ones."""
    present = [word for word in words if not is_missing(word, missing)]
    unit = unit_among(present) if len(present) > LIMIT.many_labels else None
    numbers = sum(is_number(word) or is_any_number(without_unit(word, unit)) for word in present)
    return bool(present) and (
        numbers == len(present) or (len(present) > LIMIT.many_labels and numbers >= 0.9 * len(present))
    )


def _open(cells: Sequence[str]) -> bool:
    """Whether all points of a column could part thousands: 1.234."""
    dotted = [text for text in {cell.strip().lstrip("-") for cell in cells} if "." in text]
    return len(dotted) >= LIMIT.few_groups and all(is_ambiguous(text) for text in dotted)


def _choices(cells: Sequence[str], style: Style) -> Counter[str]:
    """How many cells insist on each mark, or on each order of day and month."""
    times = Counter(map(str.strip, cells))
    found: Counter[str] = Counter()
    for cell, count in times.items():
        choice = mark_of(without_unit(cell, style.unit)) if style.kind == "number" else order_of(cell)
        if choice is not None:
            found[choice] += count
    return found


def _choice(
    j: int, styles: dict[int, Style], found: dict[int, Counter[str]], cells: Sequence[str], separator: str, model: bool
) -> str:
    """The mark, or the order: by the column's own cells, else by those of the other columns, else the model's, else by custom."""
    style, own = styles[j], found[j]
    if len(own) == 1:
        return next(iter(own))
    if own:
        return style.choice if model else own.most_common(1)[0][0]
    others = {next(iter(each)) for i, each in found.items() if styles[i].kind == style.kind and len(each) == 1}
    if len(others) == 1:
        return others.pop()
    if model:
        return style.choice
    return _usual_order(separator, found) if style.kind == "date" else _usual_mark(cells, separator)


def _usual_order(separator: str, found: dict[int, Counter[str]]) -> str:
    """Month first where the file looks American: no semicolons between cells, and no decimal comma anywhere."""
    commas = any(each[COMMA] for each in found.values())
    return DAY_FIRST if separator == ";" or commas else MONTH_FIRST


def _usual_mark(cells: Sequence[str], separator: str) -> str:
    """Of cells like 1,234 and 1.234, none of which decides: thousands where other cells are whole numbers below 1000."""
    texts = {cell.strip().lstrip("-") for cell in cells} - NOTHING
    parted = [text for text in texts if is_ambiguous(text)]
    if not parted:
        return POINT
    comma = any("," in text for text in parted)
    if separator == ",":
        return POINT
    whole = [text for text in texts if text.isascii() and text.isdigit() and text.strip("0")]
    thousands = bool(whole) and all(len(text) <= 3 for text in whole)
    if comma:
        return POINT if thousands else COMMA
    return COMMA if thousands and separator == ";" and len(parted) >= LIMIT.few_groups else POINT
