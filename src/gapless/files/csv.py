"""CSV and TSV: numeric feature columns, one label column, perhaps a column of weights.

Every refusal names the file, the line, the column and the text found there.
"""

from __future__ import annotations

import csv
import os
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from operator import itemgetter

import numpy as np

from gapless.files.columns import LABEL_NAMES, Column, assign
from gapless.files.dataset import Dataset, Expected, Labels, check_file, data_error, undecodable
from gapless.files.labels import as_labels
from gapless.judge.errors import DataError

SEPARATORS = {"\t": "tab", ";": "semicolon", ",": "comma"}  # in the order of preference
SNIFFED_LINES = 20


def read_csv(
    path: str | os.PathLike[str],
    *,
    target: Column | None = None,
    weights: Column | None = None,
    drop: Sequence[Column] = (),
    header: bool | None = None,
    labels: Labels = "required",
    expected: Expected | None = None,
) -> Dataset:
    """Read a table. `target`, `weights`, `drop` are names, or numbers from 0. `header=None` looks for itself.

    The label is `target`, else the last column called y, label, target or class, else the last column. With
    `expected` (of a model) the columns are matched by the model's names.
    """
    place = check_file(path)
    try:
        return _read(place, target, weights, drop, header, labels, expected)
    except UnicodeDecodeError:
        raise undecodable(place) from None
    except OSError as error:
        raise data_error(f"cannot be read ({error.strerror or error})", place) from None


def sniff_separator(lines: Sequence[str]) -> str | None:
    """The first of tab, semicolon, comma that cuts all the lines into equally many parts (outside quotes)."""
    counts = {sep: [_count(line, sep) for line in lines if line.strip()] for sep in SEPARATORS}
    for sep, found in counts.items():
        if found and found[0] and all(count == found[0] for count in found):
            return sep
    # A ragged file: the separator of the first line, so that the error can name the ragged line.
    first = {sep: found[0] for sep, found in counts.items() if found and found[0]}
    return max(first, key=lambda sep: first[sep]) if first else None


def _count(line: str, sep: str) -> int:
    return sum(part.count(sep) for part in line.split('"')[::2])  # odd parts are inside quotes


def is_number(text: str) -> bool:
    try:
        strict_float(text)
    except ValueError:
        return False
    return True


def strict_float(text: str) -> float:
    if "_" in text:  # "1_000" is a number for Python only
        raise ValueError(text)
    return float(text)


def _has_header(first: Sequence[str], second: Sequence[str] | None, columns: Sequence[Column]) -> bool:
    """The first line holds names if no cell of it is a number where the next line has numbers.

    A first line that is partly numbers is data: a missing value in it must be refused, not taken for a name.
    The exception is a numbered header (0,1,2,label), as data frames without names are written.
    """
    if any(isinstance(column, str) and column in first for column in columns):
        return True
    numbers = [cell for cell in first if is_number(cell)]
    numbered = [[str(k + start) for k in range(len(numbers))] for start in (0, 1)]
    if numbers in numbered and any(cell.lower() in LABEL_NAMES for cell in first):
        return True
    numeric = [j for j, cell in enumerate(second or ()) if is_number(cell) and j < len(first)]
    if not numeric:
        return not numbers
    return not any(is_number(first[j]) for j in numeric)


def _check_names(names: list[str], path: str, line: int) -> None:
    for j, name in enumerate(names):
        if not name:
            hint = " (an index? write the file without it, or give it a name and drop it)" if j == 0 else ""
            raise data_error("the header has no name for this column" + hint, path, line, j + 1)
        if name in names[:j]:
            where = names.index(name) + 1
            raise data_error(f"the name stands twice in the header (columns {where} and {j + 1})", path, line, name)


def _records(reader: Iterator[list[str]], path: str) -> Iterator[tuple[int, list[str]]]:
    """(line of its first character, cells) of every record that is not blank."""
    start = 1
    try:
        for cells in reader:
            if cells and (len(cells) > 1 or cells[0].strip()):
                yield start, cells
            start = reader.line_num + 1  # type: ignore[attr-defined]
    except csv.Error as error:
        raise data_error(f"cannot be read as CSV ({error})", path, start) from None


def _underscore_after_first_line(path: str) -> bool:
    with open(path, "rb") as stream:
        stream.readline()
        while chunk := stream.read(1 << 20):
            if b"_" in chunk:
                return True
    return False


def _read(
    path: str,
    target: Column | None,
    weights: Column | None,
    drop: Sequence[Column],
    header: bool | None,
    labels: Labels,
    expected: Expected | None,
) -> Dataset:
    with open(path, encoding="utf-8-sig", newline="") as stream:
        sep = sniff_separator([line for line, _ in zip(stream, range(SNIFFED_LINES), strict=False)])
    with open(path, encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, delimiter=sep or ",", strict=True)
        records = _records(reader, path)
        first = next(records, None)
        if first is None:
            raise data_error("the file has only blank lines", path)
        second = next(records, None)
        asked = [column for column in (target, weights, *drop) if column is not None]
        stripped = [cell.strip() for cell in first[1]]
        if header is None:
            known = {*(expected.names or ()), expected.target} - {None} if expected else set()
            named = bool(known) and known.issuperset(stripped) and not all(map(is_number, stripped))
            header = named or _has_header(stripped, second[1] if second else None, asked)
        names = stripped if header else None
        if names is not None:
            _check_names(names, path, first[0])
            if second is None:
                raise data_error("there is a header and no row below it", path, first[0])
        width = len(first[1])
        roles = assign(names, width, path, target=target, weights=weights, drop=drop, labels=labels, expected=expected)
        head = [record for record in ((None if header else first), second) if record is not None]
        lines = array("q")
        values, weight_values = array("d"), array("d")
        texts: list[str] = []
        number = strict_float if _underscore_after_first_line(path) or not header else float
        pick = itemgetter(*roles.features) if len(roles.features) > 1 else lambda row: (row[roles.features[0]],)
        for line, cells in chain(head, records):
            if len(cells) != width:
                raise data_error(f"expected {width} columns, found {len(cells)}", path, line)
            try:
                values.extend(map(number, pick(cells)))
                if roles.weights is not None:
                    weight_values.append(number(cells[roles.weights]))
            except ValueError:
                raise _bad_cell(cells, roles.features, roles.weights, names, path, line) from None
            if roles.label is not None:
                texts.append(cells[roles.label])
            lines.append(line)

    X = np.frombuffer(values, dtype=np.float64).reshape(len(lines), len(roles.features))
    _check_finite(X, roles.features, names, path, lines)
    y = None
    if roles.label is not None:
        texts = [text.strip() for text in texts]
        for bad in ("", "nan", "NaN", "NAN"):
            if bad in texts:
                where = lines[texts.index(bad)]
                raise data_error(
                    f"the label is {repr(bad) if bad else 'empty'}", path, where, _name(names, roles.label)
                )
        if not header and len(texts) > 1 and not is_number(texts[0]) and all(map(is_number, texts[1:])):
            raise data_error(
                f"the label {texts[0][:40]!r} is no number, and all the others are"
                " (if the first line holds names, say so: header)",
                path,
                lines[0],
                _name(names, roles.label),
            )
        y = as_labels(texts, expected.label_kind if expected else None)
    w = None
    if roles.weights is not None:
        w = np.frombuffer(weight_values, dtype=np.float64)
        _check_finite(w[:, None], [roles.weights], names, path, lines)
        if (w < 0).any():
            i = int(np.argmax(w < 0))
            raise data_error(f"the weight {w[i]:g} is negative", path, lines[i], _name(names, roles.weights))
    says = f"{SEPARATORS[sep]}-separated" if sep else "one column"
    return Dataset(
        X=X,
        y=y,
        names=None if names is None else [names[j] for j in roles.features],
        target=None if names is None or roles.label is None else names[roles.label],
        weights=w,
        notes=(says, "header found" if header else "no header", *roles.notes),
        path=path,
    )


def _name(names: Sequence[str] | None, j: int) -> str | int:
    return j + 1 if names is None else names[j]


def _bad_cell(
    cells: Sequence[str],
    features: Sequence[int],
    weights: int | None,
    names: Sequence[str] | None,
    path: str,
    line: int,
) -> DataError:
    for j in [*features, *([] if weights is None else [weights])]:
        text = cells[j].strip()
        if is_number(text):
            continue
        if not text:
            problem = "the cell is empty; fill it in or drop the line"
        else:
            problem = f"{text[:40]!r} is not a number"
            if text.count(",") == 1 and is_number(text.replace(",", ".")):
                problem += " (write decimals with a point)"
            elif names is None and line == 1:
                problem += " (if the first line holds names, say so: header)"
        return data_error(problem, path, line, _name(names, j))
    return data_error("cannot be read as numbers", path, line)


def _check_finite(
    X: np.ndarray, columns: Sequence[int], names: Sequence[str] | None, path: str, lines: Sequence[int]
) -> None:
    if not np.isfinite(X).all():
        i, j = (int(k[0]) for k in np.nonzero(~np.isfinite(X)))
        raise data_error(f"the value is {X[i, j]}; it must be finite", path, lines[i], _name(names, columns[j]))
