"""svmlight / LIBSVM text: `label index:value index:value # comment`, one row a line; the result is CSR."""

from __future__ import annotations

import itertools
import os
import re
from array import array

import numpy as np

from gapless.files.csv import strict_float
from gapless.files.dataset import Dataset, Expected, Labels, check_file, data_error, undecodable
from gapless.files.labels import as_labels
from gapless.judge.errors import DataError

LINE = re.compile(r"(?:\s+(?P<label>[^\s:]+))?(?P<rest>(?:\s+(?:[0-9]+|qid):[^\s:]+)*)")  # of " " + a stripped line
LARGEST_INDEX = 2**31 - 2  # a larger one is a typing error: the columns of the matrix are 32-bit numbers


def read_svmlight(
    path: str | os.PathLike[str],
    *,
    zero_based: bool | None = None,
    labels: Labels = "required",
    expected: Expected | None = None,
) -> Dataset:
    """Read an svmlight file. `zero_based=None`: indices count from 0 if a 0 occurs, else from 1.

    `qid:` and comments are passed over. With `expected` (of a model) the matrix has the model's columns.
    """
    place = check_file(path)
    try:
        return _read(place, zero_based, labels, expected)
    except UnicodeDecodeError:
        raise undecodable(place) from None
    except OSError as error:
        raise data_error(f"cannot be read ({error.strerror or error})", place) from None


def looks_like_svmlight(line: str) -> bool:
    """Whether a line is a label and at least one index:value."""
    found = LINE.fullmatch(" " + line.split("#", 1)[0].strip())
    return found is not None and ":" in found["rest"]


def _read(path: str, zero_based: bool | None, labels: Labels, expected: Expected | None) -> Dataset:
    from scipy.sparse import csr_matrix

    indices, values, ends, lines = array("q"), array("d"), array("q", [0]), array("q")
    texts: list[str | None] = []
    smallest, largest, largest_line = None, -1, 0
    with open(path, encoding="utf-8-sig") as stream:
        for number, line in enumerate(stream, 1):
            if "#" in line:
                line = line[: line.index("#")]
            if not line or line.isspace():
                continue
            found = LINE.fullmatch(" " + line.strip())
            if found is None or "_" in found["rest"]:
                raise _bad_line(line, path, number)
            rest = found["rest"]
            if "qid" in rest:
                rest = re.sub(r"qid:\S+", "", rest)
            parts = rest.replace(":", " ").split()
            try:
                row = list(map(int, parts[::2]))
                values.extend(map(float, parts[1::2]))
            except ValueError:
                raise _bad_line(line, path, number) from None
            if row:
                if len(row) > 1 and any(a >= b for a, b in itertools.pairwise(row)):
                    row = _sorted_row(row, values, path, number)
                if row[-1] > LARGEST_INDEX:
                    raise data_error(f"the index {row[-1]} is too large", path, number)
                smallest = row[0] if smallest is None else min(smallest, row[0])
                if row[-1] > largest:
                    largest, largest_line = row[-1], number
                indices.extend(row)
            ends.append(len(indices))
            texts.append(found["label"])
            lines.append(number)
    if not lines:
        raise data_error("the file has only blank lines and comments", path)
    data = np.frombuffer(values, dtype=np.float64) if values else np.empty(0)
    if not np.isfinite(data).all():
        k = int(np.argmax(~np.isfinite(data)))
        i = int(np.searchsorted(np.frombuffer(ends, dtype=np.int64), k, side="right")) - 1
        raise data_error(f"{indices[k]}:{data[k]}: the value must be finite", path, lines[i])
    if zero_based and smallest is None:
        smallest = 0
    base = (0 if smallest == 0 else 1) if zero_based is None else (0 if zero_based else 1)
    if base == 1 and smallest == 0:
        k = list(indices).index(0)
        i = int(np.searchsorted(np.frombuffer(ends, dtype=np.int64), k, side="right")) - 1
        raise data_error("index 0 in a file said to count from 1", path, lines[i])
    width = largest + 1 - base
    if expected is not None:
        if width > expected.n_features:
            raise data_error(
                f"the index {largest} is beyond the model's {expected.n_features} features (indices count from {base})",
                path,
                largest_line,
            )
        width = expected.n_features
    if width < 1:
        raise data_error("there is no feature in the file", path)
    column = np.frombuffer(indices, dtype=np.int64) - base if indices else np.empty(0, np.int64)
    wide = len(values) > np.iinfo(np.int32).max
    index_type = np.int64 if wide else np.int32
    X = csr_matrix(
        (data, column.astype(index_type), np.frombuffer(ends, dtype=np.int64).astype(index_type)),
        shape=(len(lines), width),
    )
    y = _labels(texts, labels, expected, path, lines)
    return Dataset(X=X, y=y, notes=("svmlight", f"indices count from {base}"), path=path)


def _labels(
    texts: list[str | None], labels: Labels, expected: Expected | None, path: str, lines: array
) -> np.ndarray | None:
    present = [text for text in texts if text is not None]
    if not present and labels == "optional":
        return None
    if len(present) < len(texts):
        raise data_error("there is no label", path, lines[texts.index(None)])
    for bad in ("nan", "NaN", "NAN"):
        if bad in present:
            raise data_error(f"the label is {bad!r}", path, lines[present.index(bad)])
    return as_labels(present, expected.label_kind if expected else None)


def _sorted_row(row: list[int], values: array, path: str, number: int) -> list[int]:
    """Put an unsorted row in order (its values are the last ones read); an index twice is refused."""
    order = sorted(range(len(row)), key=row.__getitem__)
    ordered = [row[k] for k in order]
    for a, b in itertools.pairwise(ordered):
        if a == b:
            raise data_error(f"the index {a} stands twice", path, number)
    start = len(values) - len(row)
    values[start:] = array("d", [values[start + k] for k in order])
    return ordered


def _bad_line(line: str, path: str, number: int) -> DataError:
    """Name the first token that is not index:value."""
    for k, token in enumerate(line.split()):
        index, colon, value = token.partition(":")
        if not colon:
            if k == 0:
                continue
            return data_error(f"{token[:40]!r} is not index:value", path, number)
        if index == "qid":
            continue
        if not (index.isascii() and index.isdigit()):
            return data_error(f"{token[:40]!r}: the index {index[:40]!r} is not a whole number", path, number)
        try:
            strict_float(value)
        except ValueError:
            return data_error(f"{token[:40]!r}: {value[:40]!r} is not a number", path, number)
    return data_error("the line is not 'label index:value index:value ...'", path, number)
