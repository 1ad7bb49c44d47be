"""The texts of a table: labels in their types, categories by their levels."""

from __future__ import annotations

import os
from itertools import accumulate, chain

import numpy as np

from gapless._runtime.threads import run_in_parts, thread_team
from gapless.files.cells.labels import as_labels, is_number, known_spellings, merged_spellings, no_labels
from gapless.files.csv.codes import LIMIT
from gapless.files.csv.plain_scan import scanner
from gapless.files.csv.plan import Plan, Table
from gapless.files.csv.words import line_of, too_many
from gapless.files.dataset import Labels
from gapless.files.expected import Expected
from gapless.files.problems import data_error


def merge_texts(plan: Plan, table: Table) -> dict[int, list[str]]:
    """The texts of each column that any worker knows."""
    texts: dict[int, list[str]] = {}
    for t, j in enumerate(plan.texts):
        known = dict.fromkeys(chain.from_iterable(told[t] for told in table.texts))
        known.pop(None, None)
        texts[j] = [text for text in known if text is not None]
        if len(known) > LIMIT.most_texts and j == plan.roles.label:
            raise data_error(too_many(plan, j), plan.path, column=plan.name(j))
    return texts


def _recode(
    values: np.ndarray,
    plan: Plan,
    table: Table,
    numbers: dict[int, dict[str | None, float]],
    places: list[int],
    threads: int,
) -> None:
    """The workers' own codes in these places become the number of each column's texts, and of no text: None."""
    texts_worth_threads = 1_000_000  # fewer are renumbered sooner than a thread begins
    slots = {j: t for t, j in enumerate(plan.texts)}
    flat, starts = [], []
    for told in table.texts:
        parts = [[number[None], *map(number.__getitem__, told[slots[j]])] for j, number in numbers.items()]
        flat.append(np.array([*chain.from_iterable(parts)]))
        starts.append(np.array([*accumulate(map(len, parts[:-1]), initial=1)]))
    ends = [*accumulate(rows for rows, _ in table.codes)]
    columns, scan = np.array(places), scanner(os.path.getsize(plan.path))

    def work(b: int) -> None:
        rows, worker = table.codes[b]
        scan.recode(values[ends[b] - rows : ends[b]], columns, flat[worker], starts[worker])

    if len(values) * len(places) > texts_worth_threads:
        with thread_team(threads):
            run_in_parts(work, len(ends))
    else:
        for b in range(len(ends)):
            work(b)


def label_of(
    plan: Plan, table: Table, texts: dict[int, list[str]], threads: int, expected: Expected | None, labels: Labels
) -> tuple[np.ndarray | None, np.ndarray | None, list[str]]:
    """The labels, in the type that their texts have or the model's; the rows that have one (None: all); sentences about them."""
    j = plan.roles.label
    if j is None:
        return None, None, []
    kind = expected.label_kind if expected else None
    if j not in texts:
        return *_numbers(plan, table, kind, labels), []
    label, told = plan.name(j), texts[j]
    codes_of: dict[str | None, float] = {text: float(code) for code, text in enumerate(told)}
    _recode(table.extra, plan, table, {j: {**codes_of, None: -1.0}}, [0], threads)
    codes = table.extra[:, 0].astype(np.int64)
    gaps = no_labels(told, plan.missing, expected.classes if expected else ())
    none = [code for code, text in enumerate(told) if text in gaps]
    gone = np.isin(codes, [-1, *none])
    kept = _with(plan, gone, labels) if gone.any() else None
    present = [text for code, text in enumerate(told) if code not in none]
    first = told[int(codes[0])] if not gone[0] else ""
    others = [text for text in present if text != first]
    alone = plan.names is None and first and others and bool((codes == codes[0]).sum() == 1)
    if alone and not is_number(first) and all(map(is_number, others)):
        raise data_error(
            f"the label {first[: LIMIT.shown]!r} is no number, and all the others are"
            " (if the first line holds names, say so: header)",
            plan.path,
            line_of(plan, 0),
            label,
        )
    flags, sentence = merged_spellings(present, label)
    words: list[str] = []
    if expected is not None and expected.classes:
        flags = known_spellings(present, expected.classes)
    elif flags:
        words.append(sentence)
    values = as_labels([flags.get(text, text) for text in present] or [""], kind)  # an empty file of labels has none
    where = np.zeros(len(told) + 1, dtype=np.int64)
    where[[code for code in range(len(told)) if code not in none]] = np.arange(len(present))
    return values[where[codes]], kept, words


def _numbers(plan: Plan, table: Table, kind: str | None, labels: Labels) -> tuple[np.ndarray, np.ndarray | None]:
    """Labels that are numbers, whole ones as such, and the rows that have one."""
    y, kept, whole = table.extra[:, 0], None, table.whole
    gone = np.isnan(y)
    if gone.any():
        kept = _with(plan, gone, labels)
        whole = bool((y[kept] == np.trunc(y[kept])).all())
        y = np.where(gone, 0.0, y)
    elif table.extra.shape[1] > 1:
        y = y.copy()
    whole = whole or (kind == "int" and bool((y == np.trunc(y)).all()))
    return (_in_place(y) if whole and kind != "float" else y), kept


def _with(plan: Plan, gone: np.ndarray, labels: Labels) -> np.ndarray:
    """The rows that have a label."""
    if gone.all() and labels == "required":
        raise data_error("no row has a label", plan.path, column=plan.name(plan.roles.label or 0))
    return np.flatnonzero(~gone)


def _in_place(values: np.ndarray) -> np.ndarray:
    """Numbers as whole ones, in the same memory."""
    part_rows = 1 << 16
    whole = values.view(np.int64)
    for begin in range(0, len(values), part_rows):
        part = slice(begin, begin + part_rows)
        whole[part] = values[part].astype(np.int64)
    return whole


def levels_of(
    plan: Plan,
    table: Table,
    texts: dict[int, list[str]],
    threads: int,
    expected: Expected | None,
    asked: frozenset[int],
) -> tuple[list[list[str] | None] | None, list[str]]:
    """The texts of each column in order, the numbers in X by that order; and what is said of words for yes and no."""
    levels: list[list[str] | None] = [None] * len(plan.roles.features)
    ranks: dict[int, dict[str | None, float]] = {}
    places: list[int] = []
    said: list[str] = []
    for k, j in enumerate(plan.roles.features):
        if j not in texts:
            continue
        told = texts[j]
        flags: dict[str, str] = {}
        if expected is not None and expected.encoding is not None:
            flags = known_spellings(told, expected.encoding.columns[k]["levels"])
        elif expected is None and j not in asked:
            flags, sentence = merged_spellings(told, plan.name(j))
            if flags:
                said.append(f"{sentence}; --category leaves them")
        ordered = levels[k] = sorted({flags.get(text, text) for text in told})
        place = {text: float(rank) for rank, text in enumerate(ordered)}
        ranks[j] = {text: place[flags.get(text, text)] for text in told}
        ranks[j][None] = np.nan
        places.append(k)
    if not ranks:
        return None, said
    _recode(table.X, plan, table, ranks, places, threads)
    return levels, said
