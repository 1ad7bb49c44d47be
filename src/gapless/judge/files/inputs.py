"""How the rows of a fit come from the cells of a file: the entries ``input`` and ``origin`` of a model document.

A column of numbers becomes (x − mean) / scale, where a missing x is ``fill``, and, with ``indicator``, a second column that
is 1 where x was missing. A column of dates becomes as many such columns as it has ``parts``. A column of texts becomes one column
for each of its ``levels``, and, with ``missing``, one more; a text that is no level is 0 in all of them. The ``split`` of
``origin`` says which rows of the file were trained on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..form.entries import (
    is_count,
    is_dict,
    is_finite,
    is_flag,
    is_number,
    is_positive,
    is_text,
    list_of,
    number,
    one_of,
    or_none,
)
from ..form.schema import Choice, Entry, Table, Test, optional, unchecked
from .cells import days, numbers
from .dates import parts_of


def _told(test: Test) -> Entry:
    return unchecked(test, "the judge is given features; reading a file it makes them by this entry")


def _made(test: Test) -> Entry:
    return unchecked(test, "how a model was made leaves no trace in it; reading a file the judge takes these rows")


_COLUMN: Table = {"name": _told(or_none(is_text)), "kind": _told(one_of("number", "category", "date"))}
_SCALED: Table = {"fill": _told(is_finite), "mean": _told(is_finite), "scale": _told(is_positive)}
_WRITTEN: Table = {
    "decimal": optional(_told(one_of(".", ","))),
    "unit": optional(_told(lambda value: is_text(value) and value != "")),
}
#: For the schema of every document.
TABLES: dict[str, Table | Choice] = {
    "input.": {
        "columns": _told(lambda value: isinstance(value, list) and len(value) > 0),
        "dtype": _told(one_of("float64", "float32")),
        # Of a table that was not written in plain numbers and texts, both:
        "target": optional(_told(is_dict)),
        "missing": optional(_told(list_of(is_text))),
    },
    "input.columns[].": Choice(
        lambda block, column: column.get("kind"),
        {
            "number": {**_COLUMN, **_SCALED, **_WRITTEN, "indicator": _told(is_flag)},
            "category": {
                **_COLUMN,
                "levels": _told(lambda value: list_of(is_text)(value) and len(set(value)) == len(value)),
                "missing": _told(is_flag),
            },
            "date": {
                **_COLUMN,
                "order": _told(one_of("dmy", "mdy")),
                "parts": _told(lambda value: isinstance(value, list) and len(value) > 0),
                "indicator": _told(is_flag),
            },
        },
    ),
    "input.columns[].parts[].": {"part": _told(one_of("year", "month", "weekday", "hour", "days")), **_SCALED},
    "input.target.": {**_WRITTEN, "decimal": _told(one_of(".", ","))},
    "origin.": {
        "command": _made(or_none(is_text)),
        "dtype": _made(one_of("float64", "float32")),
        "split": _made(or_none(is_dict)),
        "weights": optional(_made(is_text)),
    },
    "origin.split.": {
        "rows": _made(is_count),
        "share": _made(lambda value: is_number(value) and 0.0 < number(value) < 1.0),
        "seed": _made(lambda value: is_count(value) and value < 2**32),
    },
}


def defect(document: dict[str, Any]) -> str | None:
    """What is wrong with the entry ``input`` as a whole; None where nothing is, or there is no such entry."""
    block = document.get("input")
    if block is None:
        return None
    if ("target" in block) != ("missing" in block):
        return "of the entries input.target and input.missing one is missing"
    width = sum(map(width_of, block["columns"]))
    if width != document["n_features"]:
        return f"input gives {width} features, the model has {document['n_features']}"
    return None


def learned(columns: Any) -> bool:
    """Whether the training rows had a part in how features are made of columns: means, scales, fills or levels."""
    return any(
        column["kind"] != "number"
        or column["indicator"]
        or number(column["mean"]) != 0.0
        or number(column["scale"]) != 1.0
        for column in columns
    )


def width_of(column: dict[str, Any]) -> int:
    """How many features a column becomes."""
    if column["kind"] == "number":
        return 1 + column["indicator"]
    if column["kind"] == "date":
        return len(column["parts"]) + column["indicator"]
    return len(column["levels"]) + column["missing"]


def features(block: dict[str, Any], cells: Sequence[Any]) -> np.ndarray:
    """The features of rows. ``cells[k]`` are those of column k: an array with NaN for what is missing, or texts and None."""
    parts: list[np.ndarray] = []
    for column, values in zip(block["columns"], cells, strict=True):
        if column["kind"] != "category":
            x = np.asarray(values, dtype=block["dtype"]).astype(np.float64)
            gone = np.isnan(x)
            entries = [column] if column["kind"] == "number" else column["parts"]
            told = {} if column["kind"] == "number" else parts_of(np.where(gone, 0.0, x))
            for entry in entries:
                value = told.get(entry.get("part"), x).copy()
                value[gone] = number(entry["fill"])
                parts.append((value - number(entry["mean"])) / number(entry["scale"]))
            if column["indicator"]:
                parts.append(gone.astype(np.float64))
            continue
        place = {level: k for k, level in enumerate(column["levels"])}
        ones = np.zeros((len(values), width_of(column)))
        for i, text in enumerate(values):
            if text is None and column["missing"]:
                ones[i, -1] = 1.0
            elif text in place:
                ones[i, place[text]] = 1.0
        parts.extend(ones.T)
    return np.column_stack(parts).astype(block["dtype"]).astype(np.float64)


def column_of(column: dict[str, Any], texts: Sequence[str], words: Sequence[str]) -> Any:
    """The cells of a column that is not written in plain numbers: an array with NaN for what is missing."""
    if column["kind"] == "date":
        return days(texts, column["order"], words)
    return numbers(texts, column["decimal"], column.get("unit"), words)


def training_rows(origin: dict[str, Any] | None, rows: int) -> np.ndarray | None:
    """The rows of the file that were trained on; None: all, or the file is not the whole one."""
    split = None if origin is None else origin["split"]
    if split is None or split["rows"] != rows:
        return None
    # RandomState, because its stream is frozen.
    order = np.random.RandomState(split["seed"]).permutation(rows)
    return np.sort(order[round(rows * number(split["share"])) :])
