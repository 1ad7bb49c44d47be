"""What all cells of a CSV file say of its columns, after its first rows said what to look for."""

from __future__ import annotations

from itertools import chain

import numpy as np

from gapless.files.cells.cells import How, Style, Tally, facts, sentences
from gapless.files.cells.dates import is_date
from gapless.files.cells.kinds import Guess
from gapless.files.cells.labels import is_number
from gapless.files.cells.notation import COMMA, POINT, is_any_number, unit_among, without_unit
from gapless.files.csv.codes import KIND, LIMIT
from gapless.files.csv.columns import Options
from gapless.files.csv.plan import Plan, Table
from gapless.files.csv.words import line_at, too_many
from gapless.files.dataset import Reading
from gapless.files.expected import Expected
from gapless.files.problems import data_error, listed


def settled(
    plan: Plan, table: Table, guessed: Guess, options: Options, expected: Expected | None, changed: set[int]
) -> dict[int, int]:
    """Columns that have to be read otherwise, with their kinds; their styles are changed here. Each changes once, or back."""
    change: dict[int, int] = {}
    for j, tally in table.tallies.items():
        style = plan.style_of(j)
        if tally.counts[How.against] and not style.asked:
            turned = _turned(j, plan, style, tally, guessed, expected, changed)
            if turned is not None:
                plan.styles[j] = turned
                guessed.sure.setdefault(j, set()).add(turned.choice)
                change[j] = KIND.number
                continue
        if tally.counts[How.bad] and style.kind == "number" and expected is None and j not in changed:
            unit = unit_among(tally.examples[How.bad]) if style.unit is None else None
            if unit is not None and sum(without_unit(text, unit) != text for text in tally.examples[How.bad]) > 1:
                plan.styles[j] = style._replace(unit=unit)
                change[j] = KIND.number
                changed.add(j)
                continue
        if tally.counts[How.bad] and j in plan.roles.features and _texts(j, plan, table, tally, options, expected):
            dates = [is_date(text) for text in tally.examples[How.bad]]
            if style.kind == "number" and 2 * sum(dates) > len(dates) and j not in changed:
                plan.styles[j] = Style("date", "dmy", missing=style.missing)
                change[j] = KIND.number
            else:
                plan.styles.pop(j, None)
                change[j] = KIND.text
            changed.add(j)
    if any(plan.style_of(j).choice == COMMA for j in change):
        change |= _followers(plan, guessed, changed)
    if plan.typed and not plan.fixed:
        change |= _values(plan, table, options, changed)
    return change


def _followers(plan: Plan, guessed: Guess, changed: set[int]) -> dict[int, int]:
    """Columns none of whose first cells insist on a mark go with one that turned out to have decimal commas."""
    change: dict[int, int] = {}
    for j in plan.numbers:
        style = plan.style_of(j)
        if (
            style.kind == "number"
            and style.choice == POINT
            and not (style.asked or guessed.sure.get(j) or j in changed)
        ):
            plan.styles[j] = style.other()
            change[j] = KIND.number
    return change


def _turned(
    j: int, plan: Plan, style: Style, tally: Tally, guessed: Guess, expected: Expected | None, changed: set[int]
) -> Style | None:
    """The other mark, or the other order, where cells insist on it and none on this one. Where both occur the model's stays."""
    confirmed = style.choice in guessed.sure.get(j, ()) or bool(tally.counts[How.sure])
    model = None
    if expected is not None:
        k = plan.roles.features.index(j) if j in plan.roles.features else None
        known = expected.label_style if k is None else expected.styles.get(k, Style())
        model = known.choice
    if model is not None and style.choice != model:
        changed.add(j)
        return style.other()
    if confirmed or j in changed:
        return None
    changed.add(j)
    return style.other()


def _texts(j: int, plan: Plan, table: Table, tally: Tally, options: Options, expected: Expected | None) -> bool:
    """Whether a column with cells that are no numbers is one of texts."""
    values = table.X[:, plan.place[j]]
    fine = int(np.isfinite(values).sum())
    if expected is not None:
        if tally.counts[How.bad] > fine:
            first = table.bad[j]
            raise data_error(first.words, plan.path, line_at(plan, first.offset), plan.name(j))
        return False
    if j in options.numbers:
        if not fine:
            raise data_error(f"no cell is a number ({tally.shown(How.bad)})", plan.path, column=plan.name(j))
        return False
    if tally.counts[How.bad] > fine:
        return True
    return plan.style_of(j).kind == "number" and len(np.unique(values[np.isfinite(values)])) <= LIMIT.few_values


def _values(plan: Plan, table: Table, options: Options, changed: set[int]) -> dict[int, int]:
    """Columns of texts most of which are numbers or dates after all, or names of rows."""
    change: dict[int, int] = {}
    for slot, j in enumerate(plan.texts):
        if j not in plan.roles.features:
            continue
        # Each thread has seen fewer than that, or it would have said so; all of them together may have seen more.
        parts = [worker[slot] for worker in table.texts]
        if sum(map(len, parts)) > LIMIT.most_texts and len({*chain.from_iterable(parts)}) > LIMIT.most_texts:
            if j in plan.all_texts:
                raise data_error(too_many(plan, j), plan.path, column=plan.name(j))
            change[j] = KIND.skip
        if j in changed or j in change or j in options.texts:
            continue
        texts = {text for worker in table.texts for text in worker[slot][: LIMIT.looked_at] if text}
        some = [text for text in texts if any(map(str.isdigit, text))]
        if 2 * len(some) <= len(texts):
            continue
        dates = sum(map(is_date, some))
        numbers = sum(map(is_any_number, some))
        if 2 * max(dates, numbers) > len(texts) and len(texts) > LIMIT.few_values:
            plan.styles[j] = Style("date", "dmy") if dates > numbers else Style()
            plan.styles[j] = plan.styles[j]._replace(missing=plan.missing)
            change[j] = KIND.number
            changed.add(j)
    return change


def words_of(plan: Plan, table: Table, guessed: Guess, levels: list[list[str] | None] | None) -> list[str]:
    """What is said of the columns: how they were read, what was taken as missing, which texts are numbers."""
    about: dict[str, list[str]] = {}
    for j in sorted({*plan.styles, *table.tallies}):
        if plan.kinds[j] == KIND.number:
            style, tally = plan.style_of(j), table.tallies.get(j, Tally())
            about[str(plan.name(j))] = facts(
                style, tally, len(table.X), style.choice in guessed.sure.get(j, ()), guessed.doubts.get(j), plan.fixed
            )
    said = sentences(
        about, {str(plan.name(j)): tally for j, tally in table.tallies.items() if plan.kinds[j] == KIND.number}
    )
    if plan.fixed:
        return said
    if guessed.absent:
        said.append(f"{listed(sorted(guessed.absent))} stand for no value")
    for k, each in enumerate(levels or []):
        j = plan.roles.features[k]
        if each is None or j in plan.all_texts:
            continue
        numbers = [text for text in each[: LIMIT.looked_at] if is_number(text) or is_any_number(text)]
        if 10 * len(numbers) >= min(len(each), LIMIT.looked_at):
            some = f"{len(numbers)} of {len(each)} different texts are numbers ({listed(numbers, 3)})"
            said.append(f"{plan.name(j)!r}: {some}, read as texts (--number reads them as numbers)")
    return said


def reading_of(
    plan: Plan, table: Table, levels: list[list[str] | None] | None, missing: frozenset[str]
) -> Reading | None:
    """How the cells were read, for a model file; None: plain numbers and texts."""
    columns = [*plan.roles.features, *([] if plan.roles.label is None else [plan.roles.label])]
    plain = all(plan.style_of(j)[:3] == Style()[:3] and j not in table.tallies for j in columns)
    if plain and not missing:
        return None
    styles = [
        None if levels is not None and levels[k] is not None else plan.style_of(j)
        for k, j in enumerate(plan.roles.features)
    ]
    target = Style() if plan.roles.label is None else plan.style_of(plan.roles.label)
    return Reading(styles, target, missing)
