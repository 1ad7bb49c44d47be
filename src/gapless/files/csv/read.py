"""CSV and TSV: feature columns, one label column, perhaps a column of weights.

Every refusal names the file, the line, the column and the text found there. Whatever is read otherwise than as plain numbers and
texts is said in `told`, with the option that says otherwise.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gapless._runtime.threads import available_cores
from gapless.files import text_blocks as blocks
from gapless.files.cells.cells import How, Style
from gapless.files.cells.kinds import Guess, guess
from gapless.files.cells.notation import numbers_among
from gapless.files.csv.blocks import scan_blocks
from gapless.files.csv.codes import KIND, LIMIT
from gapless.files.csv.columns import Options, Request, assign
from gapless.files.csv.layout import end_of, layout
from gapless.files.csv.levels import label_of, levels_of, merge_texts
from gapless.files.csv.plan import Change, Plan, Problem, Table, places
from gapless.files.csv.settle import reading_of, settled, words_of
from gapless.files.csv.sniff import SEPARATORS, Sample, sample
from gapless.files.csv.words import line_at, too_many
from gapless.files.dataset import Dataset, keep_labelled
from gapless.files.expected import Expected
from gapless.files.memory import too_large
from gapless.files.problems import check_file, data_error, listed, undecodable


def read_csv(
    path: str | os.PathLike[str],
    *,
    header: bool | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    dtype: Any = np.float64,
    **asked: Any,
) -> Dataset:
    """Read a table; `asked` are the fields of `Request`. An option that is None is found out, and said in `notes` and `told`.

    The label is `target`, else the last column called y, label, target or class, else the last column; rows without a label are
    left out. With `expected` (of a model) the columns are matched by the model's names. Features have to be finite numbers unless
    `typed`: then a column may hold texts (`categories` are read as texts whatever they hold, `numbers` as numbers) or dates, and
    cells may be missing. `decimal` is "." or ",", `date_order` "dmy" or "mdy", `missing` are words for no value besides the
    usual ones.
    """
    place, request = check_file(path), Request(**asked)
    if request.decimal not in (None, ".", ","):
        raise ValueError(f"decimal={request.decimal!r} is not '.' or ','")
    if request.date_order not in (None, "dmy", "mdy"):
        raise ValueError(f"date_order={request.date_order!r} is not 'dmy' or 'mdy'")
    if encoding is not None:
        _check_encoding(encoding, place)
    try:
        try:
            return _read(place, request, header, separator, encoding, dtype)
        except UnicodeDecodeError:
            if encoding is not None:
                raise
        found = _other_encoding(place)
        words = str(undecodable(place)).removeprefix(place).lstrip(", :").split(";")[0]
        data = _read(place, request, header, separator, found, dtype)
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
    path: str, asked: Request, header: bool | None, separator: str | None, encoding: str | None, dtype: Any
) -> Dataset:
    found = first_records(path, encoding, separator)
    start = start_of(path, found, header, asked)
    rows, told = _estimate(start.plan, dtype), [*start.told]
    threads = available_cores() if os.path.getsize(path) > blocks.CELLS else 1
    plan, table, more = _scanned(start, asked.expected, threads, int(1.03 * rows) + 1000, dtype)
    if not len(table.X):
        raise data_error("there is a header and no row below it", path, start.line)
    _refuse_second_header(plan, table)
    told += [*more, *_emptied(plan, table)]
    texts = merge_texts(plan, table)
    levels: list[list[str] | None] | None = None
    flags: list[str] = []
    if plan.typed:
        levels, flags = levels_of(plan, table, texts, threads, asked.expected, start.options.texts)
    told += [*words_of(plan, table, start.guessed, levels), *flags]
    y, kept, words = label_of(plan, table, texts, threads, asked.expected, asked.labels)
    roles, names = plan.roles, plan.names
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
        told=(*told, *words),
        reading=reading_of(plan, table, levels, frozenset(asked.missing)),
        weights_name=None if names is None or roles.weights is None else names[roles.weights],
    )
    return data if kept is None else keep_labelled(data, kept, plan.name(roles.label or 0), asked.labels)


def first_records(path: str, encoding: str | None, separator: str | None) -> Sample:
    try:
        found = sample(path, encoding, separator)
    except csv.Error as error:
        told = "a cell of more than 131,072 characters among the first lines; is it a table?"
        raise data_error(f"cannot be read as CSV ({told if 'limit' in str(error) else error})", path, 1) from None
    if not found.records:
        raise data_error("the file has only blank lines", path)
    return found


class _Start(NamedTuple):
    """What the first records say."""

    plan: Plan
    guessed: Guess
    options: Options
    told: list[str]
    line: int  # of the header


def start_of(path: str, found: Sample, header: bool | None, asked: Request) -> _Start:
    """Where the table lies, the roles of its columns, and what they hold."""
    expected = asked.expected
    given = (asked.target, asked.weights, *asked.drop, *asked.categories, *asked.numbers)
    known = {*(expected.names or ()), expected.target} - {None} if expected else set()
    needed = () if expected is None else expected.names or ()
    frame = layout(found, header, [column for column in given if column is not None], known, needed)
    names, width, told = frame.names, frame.width, [*frame.told]
    line = found.records[max(frame.header, 0)][0]
    if names is not None and len(found.records) <= frame.first and found.whole:
        raise data_error("there is a header and no row below it", path, line)
    end, below = end_of(path, found, width, frame.first)
    if below:
        lines = f"{len(below)} line{'s' * (len(below) > 1)}"
        told.append(f"{lines} below the table left out ({listed([each[: LIMIT.shown] for each in below], 2)})")
    roles = assign(names, width, path, asked._replace(drop=[*asked.drop, *frame.skipped]))
    typed, options = asked.with_texts, asked.options(names, width, path)
    rows = [[cell.strip() for cell in cells] for _, cells in found.records[frame.first :] if len(cells) == width]
    guessed = guess(rows, width, found.separator_sign, roles, typed, options, expected)
    plan = Plan(
        path=path,
        separator=found.separator_sign,
        newline=found.newline,
        encoding=found.encoding,
        names=names,
        kinds=guessed.kinds,
        place=places(width, roles),
        roles=roles,
        typed=typed,
        fixed=expected is not None,
        head=found.head(frame.first),
        line=found.records[frame.first][0] if frame.first < len(found.records) else line + 1,
        record=found.bytes_a_record,
        end=end,
        styles=guessed.styles,
        style=Style(missing=options.missing),
        missing=options.missing,
        all_texts=options.texts if expected is None else frozenset(roles.features),
        regression=guessed.many_labels if expected is None else expected.label_kind == "float" and not expected.classes,
    )
    return _Start(plan, guessed, options, told, line)


def _estimate(plan: Plan, dtype: Any) -> float:
    """About how many rows there are; more than fit in memory are refused."""
    size = os.path.getsize(plan.path)
    rows = size / max(plan.record, 1.0)
    item = np.dtype(dtype).itemsize
    if size > LIMIT.sample_bytes and (large := too_large(rows, len(plan.roles.features) + 1, item)):
        raise data_error(large, plan.path)
    return rows


def _refuse_second_header(plan: Plan, table: Table) -> None:
    """Files that were put one behind the other with their headers: each column has its own name among its cells."""
    names = plan.names
    if names is None:
        return
    seen = {j for j, tally in table.tallies.items() if names[j] in tally.examples.get(How.bad, ())}
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
    for j in plan.numbers:
        if plan.style_of(j).kind == "date" or j == plan.roles.weights:
            continue
        column = table.column(plan, j)
        gone = np.isin(column, values)
        column[gone] = np.nan
        total += int(gone.sum())
    return [f"{total} numbers for no value ({listed([f'{value:g}' for value in values])})"] if total else []


def _scanned(
    start: _Start, expected: Expected | None, threads: int, size: int, dtype: Any
) -> tuple[Plan, Table, list[str]]:
    """All rows; again where a column turns out to be another than its first cells said."""
    most_scans = 12
    plan = start.plan
    told: list[str] = []
    changed: set[int] = set()
    for _ in range(most_scans):
        table = scan_blocks(plan, threads, size, dtype)
        if isinstance(table, Problem):
            whose = None if table.column < 0 else plan.name(table.column)
            raise data_error(table.words, plan.path, line_at(plan, table.offset), whose)
        if isinstance(table, Change):
            change = table.kinds
        elif not (change := settled(plan, table, start.guessed, start.options, expected, changed)):
            return plan, table, told
        for j, kind in change.items():
            plan.kinds[j] = kind
            if kind == KIND.skip:
                told.append(f"{plan.name(j)!r}: {too_many(plan, j)}")
                kept = [k for k in plan.roles.features if k != j]
                roles = replace(plan.roles, features=kept)
                plan = plan._replace(roles=roles, place=places(plan.kinds.size, roles))
        if not plan.roles.features:
            raise data_error(f"no column is left ({'; '.join(told)})", plan.path)
    raise data_error("its columns change their kinds again and again; say them: --number, --category", plan.path)
