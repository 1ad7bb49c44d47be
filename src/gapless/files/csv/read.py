"""CSV and TSV: feature columns, one label column, perhaps a column of weights.

Every refusal names the file, the line, the column and the text found there. Whatever is read otherwise than as plain numbers and
texts is said in `told`, with the option that says otherwise.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, chain
from typing import Any

import numpy as np

from gapless.files import text_blocks as blocks
from gapless.files.cells.cells import BAD, DATE, Style
from gapless.files.cells.kinds import Guess, Options, guess
from gapless.files.cells.notation import numbers_among
from gapless.files.csv.blocks import Plan, Problem, Table, scan_blocks
from gapless.files.csv.columns import Column, Roles, assign, position
from gapless.files.csv.layout import end_of, layout
from gapless.files.csv.settle import reading_of, settled, words_of
from gapless.files.csv.sniff import SAMPLE_BYTES, SEPARATORS, sample
from gapless.files.csv.words import SHOWN, line_at, line_of, name, too_many
from gapless.files.dataset import Dataset, Expected, Labels, check_file, data_error, listed, undecodable
from gapless.files.labels import as_labels, is_number, known_spellings, merged_spellings, no_labels
from gapless.files.memory import too_large


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
    numbers: Sequence[Column] = (),
    decimal: str | None = None,
    date_order: str | None = None,
    missing: Sequence[str] = (),
    separator: str | None = None,
    encoding: str | None = None,
    dtype: Any = np.float64,
) -> Dataset:
    """Read a table. `target`, `weights`, `drop` are names, or numbers from 0. An option that is None is found out, and said in
    `notes` and `told`.

    The label is `target`, else the last column called y, label, target or class, else the last column; rows without a label are
    left out. With `expected` (of a model) the columns are matched by the model's names. Features have to be finite numbers unless
    `typed`: then a column may hold texts (`categories` are read as texts whatever they hold, `numbers` as numbers) or dates, and
    cells may be missing. `decimal` is "." or ",", `date_order` "dmy" or "mdy", `missing` are words for no value besides the
    usual ones.
    """
    place = check_file(path)
    if decimal not in (None, ".", ","):
        raise ValueError(f"decimal={decimal!r} is not '.' or ','")
    if date_order not in (None, "dmy", "mdy"):
        raise ValueError(f"date_order={date_order!r} is not 'dmy' or 'mdy'")
    if encoding is not None:
        _check_encoding(encoding, place)
    said = (decimal, date_order, frozenset(missing), categories, numbers)
    rest = (target, weights, drop, header, labels, expected, typed, said, separator)
    try:
        try:
            return _read(place, *rest, encoding, dtype)
        except UnicodeDecodeError:
            if encoding is not None:
                raise
        found = _other_encoding(place)
        words = str(undecodable(place)).removeprefix(place).lstrip(", :").split(";")[0]
        data = _read(place, *rest, found, dtype)
        return replace(data, told=(f"{words}: read as {found} (--encoding says otherwise)", *data.told))
    except UnicodeError:  # UTF-16 without its mark is no UnicodeDecodeError
        raise undecodable(place, encoding) from None
    except OSError as error:
        raise data_error(f"cannot be read ({error.strerror or error})", place) from None


def _check_encoding(name: str, path: str) -> None:
    """Python has codecs that are no encodings of texts: rot13, base64."""
    try:
        b"a".decode(name)
    except UnicodeError:  # one byte is too few for it
        pass
    except (LookupError, ValueError, TypeError):
        raise data_error(f"unknown encoding: {name[:40]} (--encoding, as cp1252 or latin-1)", path) from None


def _other_encoding(path: str) -> str:
    """Of a text that is not UTF-8: Windows' western one, unless it has bytes that this has not."""
    with open(path, "rb") as stream:
        while part := stream.read(1 << 20):
            try:
                part.decode("cp1252")
            except UnicodeDecodeError:
                return "latin-1"
    return "cp1252"


def _read(
    path: str,
    target: Column | None,
    weights: Column | None,
    drop: Sequence[Column],
    header: bool | None,
    labels: Labels,
    expected: Expected | None,
    typed: bool,
    said: tuple[str | None, str | None, frozenset[str], Sequence[Column], Sequence[Column]],
    separator: str | None,
    encoding: str | None,
    dtype: Any,
) -> Dataset:
    from gapless._runtime.threads import available_cores

    try:
        found = sample(path, encoding, separator)
    except csv.Error as error:
        told_ = "a cell of more than 131,072 characters among the first lines; is it a table?"
        raise data_error(f"cannot be read as CSV ({told_ if 'limit' in str(error) else error})", path, 1) from None
    if not found.records:
        raise data_error("the file has only blank lines", path)
    asked = [column for column in (target, weights, *drop, *said[3], *said[4]) if column is not None]
    known = {*(expected.names or ()), expected.target} - {None} if expected else set()
    frame = layout(found, header, asked, known, () if expected is None else expected.names or ())
    names, width, told = frame.names, frame.width, [*frame.told]
    line = found.records[max(frame.header, 0)][0]
    if names is not None and len(found.records) <= frame.first and found.whole:
        raise data_error("there is a header and no row below it", path, line)
    end, below = end_of(path, found, width, frame.first)
    if below:
        told.append(
            f"{len(below)} line{'s' * (len(below) > 1)} below the table left out ({listed([each[:SHOWN] for each in below], 2)})"
        )
    roles = assign(
        names,
        width,
        path,
        target=target,
        weights=weights,
        drop=[*drop, *frame.skipped],
        labels=labels,
        expected=expected,
    )
    typed = typed or (expected is not None and expected.typed)
    texts, numbers = (
        frozenset(position(column, names, width, what, path) for column in columns)
        for what, columns in (("categories", said[3]), ("numbers", said[4]))
    )
    missing = said[2] if expected is None else said[2] | expected.missing
    options = Options(said[0], said[1], missing, texts, numbers)
    rows = [[cell.strip() for cell in cells] for _, cells in found.records[frame.first :] if len(cells) == width]
    guessed = guess(rows, width, found.separator_sign, roles, typed, options, expected)
    whole_size = os.path.getsize(path)
    size = whole_size / max(found.bytes_a_record, 1.0)
    large = None if whole_size <= SAMPLE_BYTES else too_large(size, len(roles.features) + 1, np.dtype(dtype).itemsize)
    if large:
        raise data_error(large, path)

    threads = available_cores() if whole_size > blocks.CELLS else 1
    plan = Plan(
        path,
        found.separator_sign,
        found.newline,
        found.encoding,
        names,
        guessed.kinds,
        _places(width, roles),
        roles,
        typed,
        expected is not None,
        found.head(frame.first),
        found.records[frame.first][0] if frame.first < len(found.records) else line + 1,
        found.bytes_a_record,
        end,
        guessed.styles,
        Style(missing=missing),
        missing,
        texts if expected is None else frozenset(roles.features),
        guessed.many_labels if expected is None else expected.label_kind == "float" and not expected.classes,
    )
    plan, table, more = _scanned(plan, guessed, options, expected, threads, int(1.03 * size) + 1000, dtype)
    told += more
    if not len(table.X):
        raise data_error("there is a header and no row below it", path, line)
    roles = plan.roles
    _refuse_second_header(plan, table)
    told += _emptied(plan, table)
    merged = _merged(plan, table)
    levels, flags = _levels(plan, table, merged, threads, expected, texts) if typed else (None, [])
    told += words_of(plan, table, guessed, levels)
    told += flags
    y, kept, words = _label(plan, table, merged, threads, expected, labels)
    told += words
    sep = f"{SEPARATORS.get(found.separator, repr(found.separator))}-separated" if found.separator else "one column"
    notes = [sep, "header found" if names is not None else "no header"]
    if found.encoding != "utf-8":
        notes.append(found.encoding)
    data = Dataset(
        X=table.X,
        y=y,
        names=None if names is None else [names[j] for j in roles.features],
        target=None if names is None or roles.label is None else names[roles.label],
        weights=table.extra[:, 1].copy() if roles.weights is not None else None,
        notes=(*notes, *roles.notes),
        path=path,
        levels=levels,
        told=tuple(told),
        reading=reading_of(plan, table, levels, said[2]),
        weights_name=None if names is None or roles.weights is None else names[roles.weights],
    )
    if kept is None:
        return data
    name_ = name(plan, roles.label or 0)
    without = f"{name_!r}: the label is missing in {len(table.X) - len(kept)} of {len(table.X)} rows"
    if labels == "optional":
        return replace(data, y=None, told=(*data.told, f"{without}: no error is given"))
    return replace(data.rows(kept), told=(*data.told, f"{without}, which are left out"))


def _places(width: int, roles: Roles) -> np.ndarray:
    """Where each column of the file goes: to X, or to the labels and the weights."""
    place = np.zeros(width, dtype=np.int64)
    place[roles.features] = np.arange(len(roles.features))
    for column, at in ((roles.label, -1), (roles.weights, -2)):
        if column is not None:
            place[column] = at
    return place


def _refuse_second_header(plan: Plan, table: Table) -> None:
    """Files that were put one behind the other with their headers: each column has its own name among its cells."""
    names = plan.names
    if names is None:
        return
    seen = {j for j, tally in table.tallies.items() if names[j] in tally.examples.get(BAD, ())}
    seen |= {j for slot, j in enumerate(plan.texts) if any(names[j] in worker[slot] for worker in table.texts)}
    if len(seen) < 2 or not seen.issuperset(
        [*plan.roles.features, *([] if plan.roles.label is None else [plan.roles.label])]
    ):
        return
    with open(plan.path, encoding=plan.encoding, errors="replace", newline="") as stream:
        reader = csv.reader(stream, delimiter=plan.separator, skipinitialspace=True)
        for cells in _records(reader):
            if reader.line_num >= plan.line and all(j < len(cells) and cells[j].strip() == names[j] for j in seen):
                raise data_error(
                    "the header stands again, as where tables are put one behind the other; take such lines out",
                    plan.path,
                    reader.line_num,
                )


def _records(reader: Any) -> Iterator[list[str]]:
    """The records that Python's reader can take; it refuses cells of more than 131,072 characters, and no header has one."""
    while True:
        try:
            yield next(reader)
        except csv.Error:
            continue
        except StopIteration:
            return


def _emptied(plan: Plan, table: Table) -> list[str]:
    """Numbers that stand for no value become NaN; how many there were."""
    values = numbers_among(plan.missing)
    if not values or not plan.typed:
        return []
    total = 0
    for j in (plan.kinds == 1).nonzero()[0].tolist():
        to = int(plan.place[j])
        if plan.style_of(j).kind == DATE or j == plan.roles.weights:
            continue
        column = table.X[:, to] if to >= 0 else table.extra[:, -1 - to]
        gone = np.isin(column, values)
        column[gone] = np.nan
        total += int(gone.sum())
    return [f"{total} numbers for no value ({listed([f'{value:g}' for value in values])})"] if total else []


def _scanned(
    plan: Plan,
    guessed: Guess,
    options: Options,
    expected: Expected | None,
    threads: int,
    size: int,
    dtype: Any,
) -> tuple[Plan, Table, list[str]]:
    """All rows; again where a column turns out to be another than its first cells said."""
    most_scans = 12
    from gapless.files.csv.scan_columns import SKIP

    told: list[str] = []
    changed: set[int] = set()
    for _ in range(most_scans):
        table = scan_blocks(plan, threads, size, dtype)
        if isinstance(table, Problem):
            whose = None if table.column < 0 else name(plan, table.column)
            raise data_error(table.words, plan.path, line_at(plan, table.offset), whose)
        change = settled(plan, table, guessed, options, expected, changed) if isinstance(table, Table) else table.kinds
        if not change:
            assert isinstance(table, Table)
            return plan, table, told
        for j, kind in change.items():
            plan.kinds[j] = kind
            if kind == SKIP:
                told.append(f"{name(plan, j)!r}: {too_many(plan, j)}")
                kept = [k for k in plan.roles.features if k != j]
                plan = plan._replace(roles=replace(plan.roles, features=kept))
                plan = plan._replace(place=_places(plan.kinds.size, plan.roles))
        if not plan.roles.features:
            raise data_error(f"no column is left ({'; '.join(told)})", plan.path)
    raise data_error("its columns change their kinds again and again; say them: --number, --category", plan.path)


def _merged(plan: Plan, table: Table) -> dict[int, list[str]]:
    """The texts of each column that any worker knows."""
    from gapless.files.csv.scan_columns import MOST_TEXTS

    texts: dict[int, list[str]] = {}
    for t, j in enumerate(plan.texts):
        known = dict.fromkeys(chain.from_iterable(told[t] for told in table.texts))
        known.pop(None, None)
        texts[j] = [text for text in known if text is not None]
        if len(known) > MOST_TEXTS and j == plan.roles.label:
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
    texts_worth_threads = 1_000_000  # texts: fewer are renumbered sooner than a thread begins
    from gapless._runtime.threads import run_in_parts, thread_team
    from gapless.files.csv.plain_scan import scanner

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


def _label(
    plan: Plan,
    table: Table,
    texts: dict[int, list[str]],
    threads: int,
    expected: Expected | None,
    labels: Labels,
) -> tuple[np.ndarray | None, np.ndarray | None, list[str]]:
    """The labels, in the type that their texts have or the model's; the rows that have one (None: all); sentences about them."""
    j = plan.roles.label
    if j is None:
        return None, None, []
    kind = expected.label_kind if expected else None
    label = name(plan, j)
    if j not in texts:
        y = table.extra[:, 0]
        gone = np.isnan(y)
        if gone.any():
            whole = bool((y[~gone] == np.trunc(y[~gone])).all())
            y = np.where(gone, 0.0, y)
            kept = _with(plan, gone, label, labels)
        else:
            whole, kept = table.whole, None
            y = y if table.extra.shape[1] == 1 else y.copy()
        whole = whole or (kind == "int" and bool((y == np.trunc(y)).all()))
        return (_in_place(y) if whole and kind != "float" else y), kept, []
    told = texts[j]
    codes_of: dict[str | None, float] = {text: float(code) for code, text in enumerate(told)}
    _recode(table.extra, plan, table, {j: {**codes_of, None: -1.0}}, [0], threads)
    codes = table.extra[:, 0].astype(np.int64)
    gaps = no_labels(told, plan.missing, expected.classes if expected else ())
    none = [code for code, text in enumerate(told) if text in gaps]
    gone = np.isin(codes, [-1, *none])
    kept = _with(plan, gone, label, labels) if gone.any() else None
    present = [text for code, text in enumerate(told) if code not in none]
    first = told[int(codes[0])] if not gone[0] else ""
    others = [text for text in present if text != first]
    alone = plan.names is None and first and others and bool((codes == codes[0]).sum() == 1)
    if alone and not is_number(first) and all(map(is_number, others)):
        raise data_error(
            f"the label {first[:SHOWN]!r} is no number, and all the others are"
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


def _with(plan: Plan, gone: np.ndarray, label: str | int, labels: Labels) -> np.ndarray:
    """The rows that have a label."""
    if gone.all() and labels == "required":
        raise data_error("no row has a label", plan.path, column=label)
    return np.flatnonzero(~gone)


def _in_place(values: np.ndarray) -> np.ndarray:
    """Numbers as whole ones, in the same memory."""
    part_rows = 1 << 16
    whole = values.view(np.int64)
    for begin in range(0, len(values), part_rows):
        part = slice(begin, begin + part_rows)
        whole[part] = values[part].astype(np.int64)
    return whole


def _levels(
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
            flags, sentence = merged_spellings(told, name(plan, j))
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
