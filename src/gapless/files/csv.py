"""CSV and TSV: feature columns, one label column, perhaps a column of weights, in blocks that are read side by side.

Every refusal names the file, the line, the column and the text found there.
"""

from __future__ import annotations

import csv
import os
from collections import deque
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from gapless.files.blocks import Room, Text, block_size, in_order, joined, open_text, records
from gapless.files.columns import Column, Roles, assign, position
from gapless.files.dataset import Dataset, Expected, Labels, check_file, data_error, undecodable
from gapless.files.labels import as_labels, is_number, strict_float
from gapless.files.memory import too_large
from gapless.files.sniff import MISSING, SEPARATORS, Sample, check_names, dates, has_header, sample, textual

SHOWN = 40  # characters of a cell in a message
WORTH_THREADS = 1_000_000  # texts: fewer are renumbered sooner than a thread begins


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


class _Plan(NamedTuple):
    """What a block is scanned for."""

    path: str
    separator: str
    newline: str
    encoding: str
    names: list[str] | None
    kinds: np.ndarray  # of every column of the file
    place: np.ndarray  # of every column in X; negative: label and weights
    roles: Roles
    typed: bool
    fixed: bool  # the columns are a model's


class _Block(NamedTuple):
    """What a block gave; `problem` is kept until its turn, because the lines before it are not counted yet."""

    X: np.ndarray | None
    extra: np.ndarray | None  # labels (numbers, or the codes of texts) and weights
    texts: dict[int, list[str | None]]  # of a text column: its texts, in the order of their codes; None is no value
    plain: bool
    rows: int
    lines: int
    problem: tuple[int, int | None, str] | None  # line, column, words
    change: dict[int, int]  # columns that are of another kind


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
    from gapless.files import scan

    try:
        found = sample(path, encoding, separator)
    except csv.Error as error:
        raise data_error(f"cannot be read as CSV ({error})", path, 1) from None
    if not found.records:
        raise data_error("the file has only blank lines", path)
    line, first = found.records[0]
    asked = [column for column in (target, weights, *drop) if column is not None]
    if header is None:
        known = {*(expected.names or ()), expected.target} - {None} if expected else set()
        named = bool(known) and known.issuperset(first) and not all(map(is_number, first))
        second = found.records[1][1] if len(found.records) > 1 else None
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
    size = os.path.getsize(path) / max(found.bytes_a_record, 1.0)
    large = None if found.whole else too_large(size, len(roles.features) + 1, np.dtype(dtype).itemsize)
    if large:
        raise data_error(large, path)

    threads = available_cores()
    place = np.zeros(width, dtype=np.int64)
    place[roles.features] = np.arange(len(roles.features))
    for column, at in ((roles.label, -1), (roles.weights, -2)):
        if column is not None:
            place[column] = at
    plan = _Plan(
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
    )
    while True:
        result = _blocks(plan, found, header, threads, scan, int(1.03 * size) + 1000, dtype)
        if isinstance(result, dict):  # a column is of another kind than its first rows said: once more
            for j, kind in result.items():
                plan.kinds[j] = kind
            continue
        break
    X, label_parts, weight_parts, texts, plain, codes = result
    if not len(X):
        raise data_error("there is a header and no row below it", path, line)
    y = _label(plan, label_parts, texts, plain, header, expected)
    levels = _levels(plan, X, texts, codes, threads) if typed else None
    said = f"{SEPARATORS.get(found.separator, repr(found.separator))}-separated" if found.separator else "one column"
    notes = [said, "header found" if header else "no header"]
    if found.encoding != "utf-8":
        notes.append(found.encoding)
    return Dataset(
        X=X,
        y=y,
        names=None if names is None else [names[j] for j in roles.features],
        target=None if names is None or roles.label is None else names[roles.label],
        weights=joined(weight_parts) if roles.weights is not None else None,
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
    from gapless.files import scan

    rows = [cells for _, cells in found.records[1 if header else 0 :] if len(cells) == width]
    kinds = np.full(width, scan.SKIP, dtype=np.int8)
    for k, j in enumerate(roles.features):
        text = typed and (j in asked or textual([cells[j] for cells in rows]))
        if expected is not None and typed:
            text = k in expected.categories
        kinds[j] = scan.TEXT if text else scan.NUMBER
    if roles.label is not None:
        wanted = expected.label_kind if expected else None
        numbers = wanted not in ("str", "bool") and all(is_number(cells[roles.label]) for cells in rows)
        kinds[roles.label] = scan.NUMBER if numbers else scan.LABEL
    if roles.weights is not None:
        kinds[roles.weights] = scan.NUMBER
    return kinds


def _blocks(plan: _Plan, found: Sample, header: bool, threads: int, scan: Any, rows: int, dtype: Any) -> Any:
    """All blocks in order: (X, labels, weights, texts, whether labels are whole numbers, the number among `texts` of each code
    of each block), or the kinds to change."""
    roles, plain, line = plan.roles, True, 0
    direct = np.dtype(dtype) == np.float64
    room = Room(rows, len(roles.features), dtype)
    label_parts: list[np.ndarray] = []
    weight_parts: list[np.ndarray] = []
    codes: list[tuple[int, dict[int, np.ndarray]]] = []
    texts: dict[int, dict[str, int]] = {
        int(j): {} for j in np.flatnonzero((plan.kinds == scan.TEXT) | (plan.kinds == scan.LABEL))
    }
    sep, newline = ord(plan.separator), ord(plan.newline)
    mark = plan.newline.encode()
    spare: deque[bytearray] = deque()
    stream, _ = open_text(plan.path, found.encoding)

    def work(task: tuple[Text, np.ndarray]) -> tuple[_Block, np.ndarray]:
        text, X = task
        block = _scan(text, plan, X if direct else None)
        spare.append(text.buffer)
        return block, X

    with stream:
        chunks = records(
            stream,
            block_size(plan.path, threads),
            spare,
            mark,
            lambda text: scan.end_of_records(text, text.size, sep, newline),
        )
        if header:
            chunks, line = _without_header(chunks, plan, found)
        tasks = ((text, room.take(text.count(mark) + (not text.ends(mark)))) for text in chunks)
        for block, X in in_order(work, tasks, threads):
            if block.change:
                return block.change
            if block.problem is not None:
                where, column, words = block.problem
                raise data_error(words, plan.path, line + where + 1, None if column is None else _name(plan, column))
            line += block.lines
            assert block.X is not None
            assert block.extra is not None
            label: Any = block.extra[:, 0]
            numbers: dict[int, np.ndarray] = {}
            for j, told in block.texts.items():
                known = texts[j]
                table = [-1 if text is None else known.setdefault(text, len(known)) for text in told] + [-1]
                numbers[j] = np.array(table, dtype=np.int64)
            if roles.label in numbers:
                label = numbers.pop(roles.label)[label.astype(np.int64)]
            codes.append((block.rows, numbers))
            if not direct:
                X[: block.rows] = block.X
            room.keep(X[: block.rows])
            if roles.label is not None:
                label_parts.append(label.copy())
                plain = plain and block.plain
            if roles.weights is not None:
                weight_parts.append(block.extra[:, 1].copy())
            del block, X
    return room.whole(), label_parts, weight_parts, texts, plain, codes


def _without_header(chunks: Any, plan: _Plan, found: Sample) -> tuple[Any, int]:
    """The blocks without the header, and how many lines that takes away."""
    text = next(chunks)
    mark = plan.newline.encode()
    at, taken = 0, 0
    last = found.records[1][0] - 1 if len(found.records) > 1 else text.count(mark)
    while taken < last:
        at = text.buffer.index(mark, at) + 1
        taken += 1
    return chain([Text(text.buffer, at, text.end)], chunks), taken


def _name(plan: _Plan, j: int) -> str | int:
    return j + 1 if plan.names is None else plan.names[j]


def _scan(text: Text, plan: _Plan, X: np.ndarray | None) -> _Block:
    """One block by the compiled scanner, into X; what it leaves open is read here."""
    from gapless.files import scan

    kinds, roles, place = plan.kinds, plan.roles, plan.place
    if X is None:
        most = text.count(plan.newline.encode()) + 1
        X = np.empty((most, len(roles.features)))
    extra = np.empty((len(X), 2))
    lines, begins, odd, spans, counts, plain, facts = scan.scan_csv(
        text.array,
        ord(plan.separator),
        ord(plan.newline),
        kinds,
        place,
        _packed(),
        X,
        extra,
        scan.powers_of_five(),
        scan.powers_of_two(),
    )
    rows, n_lines, n_odd, wrong = (int(k) for k in facts[:4])

    def values(column: int) -> np.ndarray:
        to = int(place[column])
        return X[:, to] if to >= 0 else extra[:, -1 - to]

    problem: tuple[int, int | None, str] | None = None
    change: dict[int, int] = {}
    bad: dict[int, list[tuple[int, str]]] = {}
    for row, column, begin, end in odd[:n_odd].tolist():
        token = text.decoded(begin, end)
        try:
            value = strict_float(token)
        except ValueError:
            bad.setdefault(column, []).append((row, token))
            continue
        values(column)[row] = value
        plain[column] = False
        if not np.isfinite(value) and problem is None:
            where = int(lines[row]) if row < rows else int(facts[4])
            problem = (where, column, f"the value is {value}; it must be finite")
    for column, cells in bad.items():
        present = int(np.isfinite(values(column)[:rows]).sum())
        if column == roles.label:
            change[column] = scan.LABEL
        elif plan.typed and not plan.fixed and column in roles.features and len(cells) > present:
            change[column] = scan.TEXT
        else:
            row, token = cells[0]
            where = int(lines[row]) if row < rows else int(facts[4])
            if problem is None or where < problem[0]:
                problem = (where, column, _no_number(token, plan, where))
    if roles.label is not None and kinds[roles.label] == scan.NUMBER:
        label = extra[:rows, 0]
        huge = not plain[roles.label] and bool((np.abs(label) > scan.WHOLE).any())
        if np.isnan(label).any() or (huge and not text.count(b".")):
            change[roles.label] = scan.LABEL  # what stands there is told by the text
    if wrong and (problem is None or int(facts[4]) < problem[0]):
        problem = _wrong(plan, wrong, facts)
    elif problem is None and not change and facts[7]:
        problem = _absent(text, plan, X[:rows], extra[:rows], begins, lines)
    if problem is not None or change:
        return _Block(None, None, {}, True, rows, n_lines, problem, {} if problem else change)
    ordered = [int(j) for j in np.flatnonzero((kinds == scan.TEXT) | (kinds == scan.LABEL))]
    texts = {
        j: [None if how & 2 else _decoded(text.decoded(a, b), how) for a, b, how in spans[t, : counts[t]].tolist()]
        for t, j in enumerate(ordered)
    }
    if roles.weights is not None and (extra[:rows, 1] < 0).any():
        i = int(np.argmax(extra[:rows, 1] < 0))
        problem = (int(lines[i]), roles.weights, f"the weight {extra[i, 1]:g} is negative")
    whole = roles.label is None or bool(plain[roles.label])
    return _Block(X[:rows], extra[:rows], texts, whole, rows, n_lines, problem, {})


def _packed() -> np.ndarray:
    """The texts that stand for no value, each in a word."""
    return np.array([int.from_bytes(text.encode("ascii"), "little") for text in MISSING], dtype=np.uint64)


def _decoded(cell: str, doubled: int) -> str:
    text = cell.strip()
    return text.replace('""', '"') if doubled else text


def _cells(text: Text, begin: int, plan: _Plan) -> list[str]:
    """The cells of the record that begins there."""
    told = text.buffer[text.begin + begin : min(text.begin + begin + (1 << 20), text.end)]
    lines = told.decode("utf-8", errors="ignore").split(plan.newline)
    return [cell.strip() for cell in next(csv.reader([line + "\n" for line in lines], delimiter=plan.separator))]


def _absent(
    text: Text, plan: _Plan, X: np.ndarray, extra: np.ndarray, begins: np.ndarray, lines: np.ndarray
) -> tuple[int, int | None, str] | None:
    """The first missing value where there may be none: any feature of a table that is not typed, any weight."""
    found: list[tuple[int, int]] = []
    if not plan.typed and np.isnan(X).any():
        i, k = (int(each[0]) for each in np.nonzero(np.isnan(X)))
        found.append((i, plan.roles.features[k]))
    if plan.roles.weights is not None and np.isnan(extra[:, 1]).any():
        found.append((int(np.argmax(np.isnan(extra[:, 1]))), plan.roles.weights))
    if not found:
        return None
    i, j = min(found)
    cells = _cells(text, int(begins[i]), plan)
    return int(lines[i]), j, _no_number(cells[j] if j < len(cells) else "", plan, int(lines[i]))


def _no_number(text: str, plan: _Plan, line: int) -> str:
    """What is wrong with a cell that should be a number."""
    if not text:
        return "the cell is empty; fill it in or drop the line"
    if is_number(text):
        return f"the value is {float(text)}; it must be finite"
    problem = f"{text[:SHOWN]!r} is not a number"
    if text.count(",") == 1 and is_number(text.replace(",", ".")):
        problem += " (write decimals with a point)"
    elif plan.names is None and line == 0:
        problem += " (if the first line holds names, say so: header)"
    elif plan.typed and not plan.fixed:
        problem += " as most of the column are (a column of texts is named by --category)"
    return problem


def _wrong(plan: _Plan, wrong: int, facts: np.ndarray) -> tuple[int, int | None, str]:
    """The words for what stopped the scanner."""
    from gapless.files import scan

    line, column = int(facts[4]), int(facts[6])
    if wrong == scan.RAGGED:
        return line, None, f"expected {plan.kinds.size} columns, found {column}"
    if wrong == scan.BAD_QUOTE:
        told = "a quote is opened and not closed, or something stands after the closing one"
        return line, None, f"cannot be read as CSV ({told})"
    what = "labels; of numbers, one for each value, it would be a regression" if column == plan.roles.label else "texts"
    advice = "" if column == plan.roles.label else "; is it a name or a number of the row? leave it out: --drop"
    return line, column, f"more than {scan.MOST_TEXTS} different {what}{advice}"


def _label(
    plan: _Plan,
    parts: list[np.ndarray],
    texts: dict[int, dict[str, int]],
    plain: bool,
    header: bool,
    expected: Expected | None,
) -> np.ndarray | None:
    """The labels, in the type that their texts have or the model's."""
    j = plan.roles.label
    if j is None:
        return None
    kind = expected.label_kind if expected else None
    if j not in texts:
        y = joined(parts)
        whole = plain or (kind == "int" and bool((y == np.trunc(y)).all()))
        return y.astype(np.int64) if whole and kind != "float" else y
    codes = joined(parts)
    told = list(texts[j])
    for code, text in [(-1, ""), *enumerate(told)]:
        if text.lower() in ("", "nan") and (codes == code).any():
            row = int(np.argmax(codes == code))
            line = _line_of(plan, row, header)
            raise data_error(f"the label is {repr(text) if text else 'empty'}", plan.path, line, _name(plan, j))
    first = told[int(codes[0])]
    others = [text for text in told if text != first]
    alone = not header and others and bool((codes == codes[0]).sum() == 1)
    if alone and not is_number(first) and all(map(is_number, others)):
        raise data_error(
            f"the label {first[:SHOWN]!r} is no number, and all the others are"
            " (if the first line holds names, say so: header)",
            plan.path,
            _line_of(plan, 0, header),
            _name(plan, j),
        )
    distinct = as_labels(told, kind)
    return distinct[codes]


def _line_of(plan: _Plan, row: int, header: bool) -> int | None:
    """The line of a row, counted again: only an error asks."""
    start, seen = 1, -1 if header else 0
    with open(plan.path, encoding=plan.encoding, errors="replace", newline="") as stream:
        reader = csv.reader(stream, delimiter=plan.separator)
        for cells in reader:
            if cells and (len(cells) > 1 or cells[0].strip()):
                if seen == row:
                    return start
                seen += 1
            start = reader.line_num + 1
    return None


def _levels(
    plan: _Plan,
    X: np.ndarray,
    texts: dict[int, dict[str, int]],
    codes: list[tuple[int, dict[int, np.ndarray]]],
    threads: int,
) -> list[list[str] | None] | None:
    """The texts of each column in order, and the numbers in X by that order."""
    from gapless._threads import map_threads
    from gapless.files import scan

    levels: list[list[str] | None] = [None] * len(plan.roles.features)
    ranks: dict[int, np.ndarray] = {}
    for k, j in enumerate(plan.roles.features):
        if j not in texts:
            continue
        told = list(texts[j])
        if dates(told):
            raise data_error(
                f"the column holds dates or times ({told[0]!r}): make numbers of them (days since a day, month, hour),"
                " or leave it out (--drop)",
                plan.path,
                column=_name(plan, j),
            )
        order = sorted(range(len(told)), key=told.__getitem__)
        ranks[j] = np.full(len(told) + 1, np.nan)  # the last one is that of no text
        ranks[j][np.array(order, dtype=np.int64)] = np.arange(len(told))
        levels[k] = [told[code] for code in order]
    if not ranks:
        return None
    place = plan.place[list(ranks)]
    ends = np.cumsum([rows for rows, _ in codes])

    def recode(b: int) -> None:
        rows, numbers = codes[b]
        tables = [np.concatenate([[np.nan], ranks[j][numbers[j][:-1]]]) for j in ranks]
        starts = np.cumsum([1, *(len(table) for table in tables[:-1])])
        scan.recode(X[ends[b] - rows : ends[b]], place, np.concatenate(tables), starts)

    map_threads(recode, range(len(codes)), threads if X.shape[0] * len(ranks) > WORTH_THREADS else 1)
    return levels
