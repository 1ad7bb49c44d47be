"""The judge's own readers of data files: CSV, svmlight, npz. Errors name file, line and column."""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ..errors import DataError
from ..rows import as_rows, single, some
from .cells import MISSING, as_levels, is_missing, no_labels, numbers, weights_of
from .inputs import column_of, training_rows
from .inputs import features as features_of
from .table import table_of, text_of


class Data(NamedTuple):
    X: Any
    y: np.ndarray
    sample_weight: np.ndarray | None


def read_data(
    path: str | os.PathLike[str],
    document: dict[str, Any],
    target: str | Sequence[str] | None = None,
    weights: str | None = None,
    whole: bool = False,
    encoding: str | None = None,
) -> Data:
    """Rows, labels and weights of a data file, for the model of ``document``: its features, its type of
    labels. A regression on several targets takes several columns of a CSV file. Where the model says which rows
    of the file it was trained on these alone, unless ``whole``. ``encoding`` is that of a text; None finds it."""
    data = _read(path, document, target, weights, encoding)
    origin = document.get("origin")
    X = data.X
    if origin is not None and origin["dtype"] == "float32" and "input" not in document:
        X = single(as_rows(X))
    kept = None if whole else training_rows(origin, len(data.y))
    if kept is None:
        return Data(X, data.y, data.sample_weight)
    w = data.sample_weight
    return Data(some(as_rows(X), kept), data.y[kept], None if w is None else w[kept])


def _read(
    path: str | os.PathLike[str],
    document: dict[str, Any],
    target: str | Sequence[str] | None,
    weights: str | None,
    encoding: str | None = None,
) -> Data:
    names = [target] if isinstance(target, str) else list(target or [])
    where = os.fspath(path)
    try:
        if str(where).lower().endswith(".npz"):
            if len(names) > 1:
                raise DataError(f"{where}: several targets are one array of an npz file, not {len(names)}", str(where))
            return _npz(str(where), names[0] if names else None, weights, document)
        if stat.S_ISCHR(os.stat(path).st_mode):
            raise DataError(f"{where}: is a device, which need not end; give a file", str(where))
        with open(path, "rb") as stream:
            lines = re.findall("[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+", text_of(stream.read(), encoding))
    except UnicodeError:
        what = "" if encoding is None else f" of {encoding[:40]}"
        raise DataError(f"{where}: is no text{what}", str(where)) from None
    except LookupError:
        raise DataError(f"{where}: unknown encoding: {str(encoding)[:40]}", str(where)) from None
    except OSError as error:
        raise DataError(f"{where}: cannot be read ({error.strerror or error})", str(where)) from None
    if not any(line.strip() for line in lines):
        raise DataError(f"{where}: is empty", str(where))
    if _looks_like_svmlight(lines):
        if names or weights:
            raise DataError(f"{where}: is an svmlight file, which has no columns to name", str(where))
        return _svmlight(lines, str(where), document)
    if not names and document.get("target"):
        names = [document["target"]]
    return _csv(lines, str(where), document, names, weights)


def _error(message: str, file: str, line: int | None = None, column: int | str | None = None) -> DataError:
    place = file if line is None else f"{file}:{line}"
    place = place if column is None else f"{place}: column {column!r}"
    return DataError(f"{place}: {message}", file, line, column)


def _number(text: str, file: str, line: int, column: int | str) -> float:
    try:
        if "_" in text:
            raise ValueError
        value = float(text)
    except ValueError:
        what = f"{text[:40]!r} is not a number" if text.strip() else "the cell is empty"
        raise _error(what, file, line, column) from None
    if not math.isfinite(value):
        told = f"{text[:40]!r}" if len(text) <= 40 else f"{text[:12]}… of {len(text)} characters"
        raise _error(f"the value {told} is not finite, or beyond the range of float64", file, line, column)
    return value


def labels(texts: Sequence[str], kind: str) -> np.ndarray:
    """Labels of a text file in the type of the model's classes; what does not fit stays text."""
    true, false = ("true", "1", "1.0", "yes"), ("false", "0", "0.0", "no")
    if kind == "str":
        return np.array(texts, dtype=object)
    if kind == "bool":
        lower = [text.lower() for text in texts]
        if all(text in true or text in false for text in lower):
            return np.array([text in true for text in lower])
    for read, dtype in ((int, np.int64), (float, np.float64)):
        with suppress(ValueError, OverflowError):
            return np.array([read(text) for text in texts], dtype=dtype)
    return np.array(texts, dtype=object)


# -- csv


def _csv(lines: list[str], file: str, document: dict[str, Any], targets: list[str], weights: str | None) -> Data:
    given, wanted, origin = document.get("input"), document.get("feature_names"), document.get("origin") or {}
    n_columns = document["n_features"] if given is None else len(given["columns"])
    if given is not None:
        wanted = [column["name"] for column in given["columns"]]
        wanted = None if None in wanted else wanted
    split, mark = origin.get("split"), document.get("certificate", {}).get("fingerprint", {})
    rows = split["rows"] if split else mark.get("n_rows")
    needed = [*(wanted or []), *(each for each in targets if not each.isdigit())]
    names, table, numbers_, header = table_of(lines, file, needed, rows)
    width = len(names)
    marked = [_column(names, each, "label", file) for each in targets] or [_column(names, None, "label", file)]
    weights = origin.get("weights") if weights is None and origin.get("weights") in names else weights
    weight = None if weights is None else _column(names, weights, "weights", file)
    features = [j for j in range(width) if j not in marked and j != weight]
    if wanted is not None:
        features = _in_order(names, wanted, file)
    elif len(features) != n_columns:
        raise _error(f"has {len(features)} feature columns, the model {n_columns}", file, header)
    words = [] if given is None else given.get("missing", [])
    for row, line in zip(table, numbers_, strict=True):
        if len(row) != width:
            raise _error(f"the line has {len(row)} cells, the header {width}", file, line)
    none = _no_labels({row[label] for row in table for label in marked}, document, words)
    some = [i for i, row in enumerate(table) if not any(row[label] in none for label in marked)]
    kept, where = [table[i] for i in some], [numbers_[i] for i in some]  # nobody can learn from the others
    if not kept:
        raise _error("there is a header and no rows" if not table else "no row has a label", file, header)

    def numbers_in(columns: list[int]) -> np.ndarray:
        return np.array([[_number(row[j], file, line, names[j]) for j in columns] for row, line in zip(kept, where)])

    weighed = None if weight is None else weights_of([row[weight] for row in kept], given)
    if weight is not None and weighed is not None and np.isnan(weighed).any():  # the error names the cell
        weighed = numbers_in([weight])[:, 0]
    if document["classes"] is None and "target" not in (given or {}):
        answers = numbers_in(marked)
        answers = answers[:, 0] if len(marked) == 1 else answers
    else:
        answers = _answers([[row[label] for label in marked] for row in kept], file, document)
    if given is None:
        return Data(numbers_in(features), answers, weighed)
    cells = [
        _cells(column, [row[j] for row in kept], where, words, file) for column, j in zip(given["columns"], features)
    ]
    return Data(features_of(given, cells), answers, weighed)


def _cells(column: dict[str, Any], texts: list[str], lines: list[int], words: list[str], file: str) -> Any:
    """What the cells of a column say: numbers with NaN for what is missing, or texts and None."""
    if column["kind"] == "category":
        return as_levels([None if text in MISSING or text in words else text for text in texts], column["levels"])
    if column["kind"] == "date" or "decimal" in column:
        return column_of(column, texts, words)
    place = column["name"] if column["name"] is not None else "a feature"
    return [math.nan if text in MISSING else _number(text, file, line, place) for text, line in zip(texts, lines)]


def _no_labels(texts: set[str], document: dict[str, Any], words: list[str]) -> set[str]:
    """Cells of the label column that are no labels: among classes that are texts few words are none."""
    classes, written = document["classes"], (document.get("input") or {}).get("target")
    if classes is None and written is not None:  # a regression: what is no number is no label
        given = list(texts)
        found = numbers(given, written["decimal"], written.get("unit"), words)
        return {text for text, gone in zip(given, np.isnan(found)) if gone}
    if classes is None or classes["type"] in ("int", "float"):
        return {text for text in texts if text in MISSING or is_missing(text, words)}
    return no_labels(texts, classes["values"] if classes["type"] == "str" else [], words)


def _answers(y: list[list[str]], file: str, document: dict[str, Any]) -> np.ndarray:
    """Labels, or numbers that are not written plainly: a vector, or a column for each target."""
    written = (document.get("input") or {}).get("target")
    if document["classes"] is not None:
        if len(y[0]) > 1:
            raise _error("a classifier has one label column", file, 1)
        texts, kind = [row[0] for row in y], document["classes"]["type"]
        if kind == "str":
            return labels([str(each) for each in as_levels(texts, document["classes"]["values"])], kind)
        if written is not None and kind in ("int", "float"):
            found = numbers(texts, written["decimal"], written.get("unit"), [])
            if not np.isnan(found).any():
                return found.astype(np.int64) if (found == np.trunc(found)).all() else found
        return labels(texts, kind)
    assert written is not None
    columns = [numbers(list(column), written["decimal"], written.get("unit"), []) for column in zip(*y)]
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def _in_order(names: list[str], wanted: list[str], file: str) -> list[int]:
    """Where the features of the model are, whatever the order of the columns and whatever others there are."""
    missing = [name for name in wanted if name not in names]
    if missing:
        told = f"there is no column {missing[0][:40]!r}, which is a feature of the model"
        raise _error(f"{told}; there are {', '.join(names)[:200]}", file, 1)
    return [names.index(name) for name in wanted]


def _column(names: list[str], name: str | None, what: str, file: str) -> int:
    label_names = ("y", "label", "target", "class")
    if name is not None:
        if name not in names and name.isascii() and name.isdigit() and 0 < int(name[:9]) <= len(names):
            return int(name) - 1
        if name not in names:
            raise _error(f"there is no column {name[:40]!r} ({what}); there are {', '.join(names)[:200]}", file, 1)
        return names.index(name)
    usual = [j for j, each in enumerate(names) if each.lower() in label_names]
    return usual[-1] if usual else len(names) - 1


# -- svmlight


def _looks_like_svmlight(lines: list[str]) -> bool:
    for line in lines:
        tokens = line.split("#", 1)[0].split()
        if len(tokens) > 1:
            return all(re.fullmatch(r"[^:;,|]+:[^:;,|]*", token) for token in tokens[1:])
    return False


def _svmlight(lines: list[str], file: str, document: dict[str, Any]) -> Data:
    data: list[float] = []
    columns: list[int] = []
    starts, texts, numbers = [0], [], []
    for number, line in enumerate(lines, 1):
        tokens = line.split("#", 1)[0].split()
        if not tokens:
            continue
        if ":" in tokens[0]:
            raise _error("there is no label", file, number)
        seen = set()
        for token in tokens[1:]:
            name, colon, value = token.partition(":")
            if name == "qid":
                continue
            if not colon or not (name.isascii() and name.isdigit()) or len(name) > 18:
                raise _error(f"{token[:40]!r} is not index:value", file, number)
            if int(name) in seen:
                raise _error(f"the index {name} stands twice", file, number)
            seen.add(int(name))
            columns.append(int(name))
            data.append(_number(value, file, number, name))
        starts.append(len(columns))
        texts.append(tokens[0])
        numbers.append(number)
    if not texts:
        raise _error("has only comments and blank lines", file)
    d = document["n_features"]
    base = 0 if columns and min(columns) == 0 else 1
    if columns and max(columns) - base >= d:
        row = next(i for i in range(len(texts)) if any(j - base >= d for j in columns[starts[i] : starts[i + 1]]))
        raise _error(f"the index {max(columns)} is beyond the model's {d} features", file, numbers[row])
    index = np.array(columns, dtype=np.int64) - base
    X = as_rows(_Parts(np.array(data, dtype=np.float64), index, np.array(starts, dtype=np.int64), (len(texts), d)))
    if document["classes"] is not None:
        return Data(X, _answers([[text] for text in texts], file, document), None)
    return Data(X, np.array([_number(text, file, line, "label") for text, line in zip(texts, numbers)]), None)


class _Parts(NamedTuple):
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    shape: tuple[int, int]


# -- npz


def _npz(file: str, target: str | None, weights: str | None, document: dict[str, Any]) -> Data:
    csr_parts = ("X_data", "X_indices", "X_indptr", "X_shape")
    try:
        with np.load(file, allow_pickle=False) as archive:
            arrays = {name: a for name in archive.files if isinstance(a := archive[name], np.ndarray)}
    except OSError as error:
        raise _error(f"cannot be read ({error.strerror or error})", file) from None
    except MemoryError:
        raise _error("its arrays do not fit in memory", file) from None
    except Exception as error:  # a broken zip or header throws many things
        raise _error(f"is no readable npz ({type(error).__name__}: {error})", file) from None
    label, weight = target or "y", weights or "sample_weight"
    if label not in arrays:
        raise _error(f"there is no array {label!r} (the labels)", file)
    if weights is not None and weights not in arrays:
        raise _error(f"there is no array {weights!r} (the weights)", file)
    if "X" in arrays:
        X: Any = arrays["X"]
    elif all(part in arrays for part in csr_parts):
        shape = arrays["X_shape"]
        if shape.shape != (2,) or shape.dtype.kind not in "iu":
            raise _error("X_shape is not two whole numbers", file)
        X = _Parts(arrays["X_data"], arrays["X_indices"], arrays["X_indptr"], (int(shape[0]), int(shape[1])))
    else:
        raise _error(f"there is no array X (or {', '.join(csr_parts)})", file)
    rows = (X.shape if isinstance(X, _Parts) or X.ndim == 2 else (-1,))[0]
    if any(array is not None and array.shape[:1] != (rows,) for array in (arrays[label], arrays.get(weight))):
        raise _error(f"X is no table, or {label} or {weight} has not a row for each of its rows", file)
    wanted, named = document.get("feature_names"), arrays.get("feature_names")
    if wanted is not None and named is not None and "input" not in document and named.tolist() != wanted:
        order = _in_order(list(map(str, named.tolist())), wanted, file)
        if "X" not in arrays or X.ndim != 2 or X.shape[1] != len(named):
            raise _error("feature_names are not those of the model, in its order", file)
        X = X[:, order]
    return Data(X, arrays[label], arrays.get(weight))


__all__ = ["Data", "labels", "read_data"]
