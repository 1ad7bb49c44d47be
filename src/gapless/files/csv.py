"""CSV and TSV: feature columns, one label column, perhaps a column of weights.

Every refusal names the file, the line, the column and the text found there.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Any

import numpy as np

from gapless.files import blocks
from gapless.files.columns import Column, Roles, assign, position
from gapless.files.csv_blocks import Plan, Problem, Table, scan_blocks
from gapless.files.csv_words import SHOWN, line_at, line_of, name, too_many
from gapless.files.dataset import Dataset, Expected, Labels, check_file, data_error, undecodable
from gapless.files.labels import as_labels, is_number
from gapless.files.memory import too_large
from gapless.files.sniff import (
    SAMPLE_BYTES,
    SEPARATORS,
    Sample,
    check_names,
    dates,
    has_header,
    numeric,
    sample,
    textual,
)

WORTH_THREADS = 1_000_000  # texts: fewer are renumbered sooner than a thread begins
PART = 1 << 16


def read_csv(
    path: str | os.PathLike[str],
    *,
    target: Column | None = None,
    weights: Column | None = None,
    drop: Sequence[Column] = (),
    header: bool | None = None,
    labels: Labels = "required",
    expected: Expected | None = None,
    typed: bool = False,
    categories: Sequence[Column] = (),
    separator: str | None = None,
    encoding: str | None = None,
    dtype: Any = np.float64,
) -> Dataset:
    """Read a table. `target`, `weights`, `drop` are names, or numbers from 0. What is None is found out and said in `notes`.

    The label is `target`, else the last column called y, label, target or class, else the last column. With
    `expected` (of a model) the columns are matched by the model's names. Features have to be finite numbers unless
    `typed`: then a column may hold texts (`categories` are read as texts whatever they hold), and cells may be missing.
    """
    place = check_file(path)
    try:
        return _read(
            place, target, weights, drop, header, labels, expected, typed, categories, separator, encoding, dtype
        )
    except UnicodeDecodeError:
        raise undecodable(place, encoding) from None
    except LookupError as error:
        if isinstance(error, KeyError | IndexError):
            raise
        raise data_error(f"{error} (--encoding, as cp1252 or latin-1)", place) from None
    except OSError as error:
        raise data_error(f"cannot be read ({error.strerror or error})", place) from None


def _read(
    path: str,
    target: Column | None,
    weights: Column | None,
    drop: Sequence[Column],
    header: bool | None,
    labels: Labels,
    expected: Expected | None,
    typed: bool,
    categories: Sequence[Column],
    separator: str | None,
    encoding: str | None,
    dtype: Any,
) -> Dataset:
    from gapless._threads import available_cores

    try:
        found = sample(path, encoding, separator)
    except csv.Error as error:
        told = "a cell of more than 131,072 characters among the first lines; is it a table?"
        raise data_error(f"cannot be read as CSV ({told if 'limit' in str(error) else error})", path, 1) from None
    if not found.records:
        raise data_error("the file has only blank lines", path)
    line, first = found.records[0][0], [cell.strip() for cell in found.records[0][1]]
    asked = [column for column in (target, weights, *drop) if column is not None]
    if header is None:
        known = {*(expected.names or ()), expected.target} - {None} if expected else set()
        named = bool(known) and known.issuperset(first) and not all(map(is_number, first))
        second = [cell.strip() for cell in found.records[1][1]] if len(found.records) > 1 else None
        header = named or has_header(first, second, asked)
    names = first if header else None
    if names is not None:
        check_names(names, path, line)
        if len(found.records) < 2 and found.whole:
            raise data_error("there is a header and no row below it", path, line)
    width = len(first)
    roles = assign(names, width, path, target=target, weights=weights, drop=drop, labels=labels, expected=expected)
    typed = typed or (expected is not None and expected.typed)
    asked_texts = {position(column, names, width, "categories", path) for column in categories}
    kinds = _kinds(found, header, width, roles, typed, asked_texts, expected)
    whole_size = os.path.getsize(path)
    size = whole_size / max(found.bytes_a_record, 1.0)
    large = None if whole_size <= SAMPLE_BYTES else too_large(size, len(roles.features) + 1, np.dtype(dtype).itemsize)
    if large:
        raise data_error(large, path)

    threads = available_cores() if whole_size > blocks.CELLS else 1
    place = np.zeros(width, dtype=np.int64)
    place[roles.features] = np.arange(len(roles.features))
    for column, at in ((roles.label, -1), (roles.weights, -2)):
        if column is not None:
            place[column] = at
    plan = Plan(
        path,
        found.separator or ",",
        found.newline,
        found.encoding,
        names,
        kinds,
        place,
        roles,
        typed,
        expected is not None,
        found.second if header else 0,
        found.bytes_a_record,
    )
    while not isinstance(table := scan_blocks(plan, threads, int(1.03 * size) + 1000, dtype), Table):
        if isinstance(table, Problem):
            whose = None if table.column < 0 else name(plan, table.column)
            raise data_error(table.words, path, line_at(plan, table.offset), whose)
        for j, kind in table.kinds.items():  # once more
            plan.kinds[j] = kind
    if not len(table.X):
        raise data_error("there is a header and no row below it", path, line)
    texts = _merged(plan, table)
    y = _label(plan, table, texts, threads, expected)
    levels = _levels(plan, table, texts, threads) if typed else None
    said = f"{SEPARATORS.get(found.separator, repr(found.separator))}-separated" if found.separator else "one column"
    notes = [said, "header found" if header else "no header"]
    if found.encoding != "utf-8":
        notes.append(found.encoding)
    return Dataset(
        X=table.X,
        y=y,
        names=None if names is None else [names[j] for j in roles.features],
        target=None if names is None or roles.label is None else names[roles.label],
        weights=table.extra[:, 1].copy() if roles.weights is not None else None,
        notes=(*notes, *roles.notes),
        path=path,
        levels=levels,
    )


def _kinds(
    found: Sample,
    header: bool,
    width: int,
    roles: Roles,
    typed: bool,
    asked: set[int],
    expected: Expected | None,
) -> np.ndarray:
    """The kind of every column, by its first cells; columns of a model have the model's."""
    from gapless.files import scan_columns as scan

    rows = [cells for _, cells in found.records[1 if header else 0 :] if len(cells) == width]
    kinds = np.full(width, scan.SKIP, dtype=np.int8)
    kinds[roles.features] = scan.NUMBER
    if expected is not None and typed:
        kinds[[roles.features[k] for k in expected.categories]] = scan.TEXT
    elif typed:
        columns: list[Sequence[str]] = list(zip(*rows, strict=True)) if rows else [()] * width
        kinds[[j for j in roles.features if j in asked or textual(columns[j])]] = scan.TEXT
    if roles.label is not None:
        wanted = expected.label_kind if expected else None
        numbers = wanted not in ("str", "bool") and numeric({cells[roles.label].strip() for cells in rows})
        kinds[roles.label] = scan.NUMBER if numbers else scan.LABEL
    if roles.weights is not None:
        kinds[roles.weights] = scan.NUMBER
    return kinds


def _merged(plan: Plan, table: Table) -> dict[int, list[str]]:
    """The texts of each column that any worker knows."""
    from gapless.files.scan_columns import MOST_TEXTS

    texts: dict[int, list[str]] = {}
    for t, j in enumerate(plan.texts):
        known = dict.fromkeys(chain.from_iterable(told[t] for told in table.texts))
        known.pop(None, None)
        texts[j] = [text for text in known if text is not None]
        if len(known) > MOST_TEXTS:
            raise data_error(too_many(plan, j), plan.path, column=name(plan, j))
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
    from gapless._threads import share, team
    from gapless.files.plain_scan import scanner

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

    if len(values) * len(places) > WORTH_THREADS:
        with team(threads):
            share(work, len(ends))
    else:
        for b in range(len(ends)):
            work(b)


def _label(
    plan: Plan,
    table: Table,
    texts: dict[int, list[str]],
    threads: int,
    expected: Expected | None,
) -> np.ndarray | None:
    """The labels, in the type that their texts have or the model's."""
    j = plan.roles.label
    if j is None:
        return None
    kind = expected.label_kind if expected else None
    if j not in texts:
        y = table.extra[:, 0]
        whole = table.whole or (kind == "int" and bool((y == np.trunc(y)).all()))
        y = y if table.extra.shape[1] == 1 else y.copy()
        return _in_place(y) if whole and kind != "float" else y
    told = texts[j]
    codes_of: dict[str | None, float] = {text: float(code) for code, text in enumerate(told)}
    _recode(table.extra, plan, table, {j: {**codes_of, None: -1.0}}, [0], threads)
    codes = table.extra[:, 0].astype(np.int64)
    for code, text in [(-1, ""), *enumerate(told)]:
        if text.lower() in ("", "nan") and (codes == code).any():
            line = line_of(plan, int(np.argmax(codes == code)))
            raise data_error(f"the label is {repr(text) if text else 'empty'}", plan.path, line, name(plan, j))
    first = told[int(codes[0])]
    others = [text for text in told if text != first]
    alone = plan.names is None and others and bool((codes == codes[0]).sum() == 1)
    if alone and not is_number(first) and all(map(is_number, others)):
        raise data_error(
            f"the label {first[:SHOWN]!r} is no number, and all the others are"
            " (if the first line holds names, say so: header)",
            plan.path,
            line_of(plan, 0),
            name(plan, j),
        )
    return as_labels(told, kind)[codes]


def _in_place(values: np.ndarray) -> np.ndarray:
    """Numbers as whole ones, in the same memory."""
    whole = values.view(np.int64)
    for begin in range(0, len(values), PART):
        part = slice(begin, begin + PART)
        whole[part] = values[part].astype(np.int64)
    return whole


def _levels(
    plan: Plan,
    table: Table,
    texts: dict[int, list[str]],
    threads: int,
) -> list[list[str] | None] | None:
    """The texts of each column in order, and the numbers in X by that order."""
    levels: list[list[str] | None] = [None] * len(plan.roles.features)
    ranks: dict[int, dict[str | None, float]] = {}
    places: list[int] = []
    for k, j in enumerate(plan.roles.features):
        if j not in texts:
            continue
        told = texts[j]
        if dates(told):
            raise data_error(
                f"the column holds dates or times ({told[0]!r}): make numbers of them (days since a day, month, hour),"
                " or leave it out (--drop)",
                plan.path,
                column=name(plan, j),
            )
        ordered = levels[k] = sorted(told)
        ranks[j] = {text: float(rank) for rank, text in enumerate(ordered)}
        ranks[j][None] = np.nan
        places.append(k)
    if not ranks:
        return None
    _recode(table.X, plan, table, ranks, places, threads)
    return levels
