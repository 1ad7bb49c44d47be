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

from .cells import days, numbers, parts_of
from .document import Test, flaw_of, is_count, is_number, number, one_of


def _is_name(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


_TOP: dict[str, Test] = {
    "columns": lambda value: isinstance(value, list) and len(value) > 0,
    "dtype": one_of("float64", "float32"),
}
_ORIGIN: dict[str, Test] = {
    "command": lambda value: value is None or isinstance(value, str),
    "dtype": one_of("float64", "float32"),
    "split": lambda value: value is None or isinstance(value, dict),
}
_NUMBER: dict[str, Test] = {
    "name": _is_name,
    "kind": one_of("number"),
    "fill": lambda value: is_number(value) and np.isfinite(number(value)),
    "mean": lambda value: is_number(value) and np.isfinite(number(value)),
    "scale": lambda value: is_number(value) and np.isfinite(number(value)) and number(value) > 0,
    "indicator": _is_flag,
}
_CATEGORY: dict[str, Test] = {
    "name": _is_name,
    "kind": one_of("category"),
    "levels": lambda value: (
        isinstance(value, list) and all(isinstance(each, str) for each in value) and len(set(value)) == len(value)
    ),
    "missing": _is_flag,
}
_WRITTEN: dict[str, Test] = {
    "decimal": one_of(".", ","),
    "unit": lambda value: isinstance(value, str) and value != "",
}
_DATE: dict[str, Test] = {
    "name": _is_name,
    "kind": one_of("date"),
    "order": one_of("dmy", "mdy"),
    "parts": lambda value: isinstance(value, list) and len(value) > 0,
    "indicator": _is_flag,
}
_PART: dict[str, Test] = {
    "part": one_of("year", "month", "weekday", "hour", "days"),
    **{key: _NUMBER[key] for key in ("fill", "mean", "scale")},
}
_MORE: dict[str, Test] = {  # of a table that was not written in plain numbers and texts
    "target": lambda value: (
        isinstance(value, dict) and "decimal" in value and flaw_of(value, _given(value), "") is None
    ),
    "missing": lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value),
}
_SPLIT: dict[str, Test] = {
    "rows": is_count,
    "share": lambda value: is_number(value) and 0.0 < number(value) < 1.0,
    "seed": lambda value: is_count(value) and value < 2**32,
}


def flaw_of_input(document: dict[str, Any]) -> str | None:
    """What is wrong with the entry ``input``; None where nothing is, or there is no such entry."""
    if "input" not in document:
        return None
    block = document["input"]
    if not isinstance(block, dict):
        return "the entry input is no object"
    found = flaw_of(block, {**_TOP, **(_MORE if {"target", "missing"} & block.keys() else {})}, "input.")
    if found:
        return found
    for k, column in enumerate(block["columns"]):
        if not isinstance(column, dict):
            return f"the entry input.columns[{k}] is no object"
        known = {"category": _CATEGORY, "date": _DATE}
        tests = known.get(str(column.get("kind"))) or {**_NUMBER, **_given(column)}
        found = flaw_of(column, tests, f"input.columns[{k}].") or _flaw_of_parts(column, f"input.columns[{k}].")
        if found:
            return found
    width = sum(map(width_of, block["columns"]))
    if width != document.get("n_features"):
        return f"input gives {width} features, the model has {document.get('n_features')}"
    return None


def _given(entry: dict[str, Any]) -> dict[str, Test]:
    """The tests of the entries that say how numbers are written, those that are there."""
    return {key: test for key, test in _WRITTEN.items() if key in entry}


def _flaw_of_parts(column: dict[str, Any], where: str) -> str | None:
    for k, part in enumerate(column["parts"] if column["kind"] == "date" else []):
        if not isinstance(part, dict):
            return f"the entry {where}parts[{k}] is no object"
        found = flaw_of(part, _PART, f"{where}parts[{k}].")
        if found:
            return found
    return None


def flaw_of_origin(document: Any) -> str | None:
    """What is wrong with the entry that says how a model was made of a file."""
    if not isinstance(document, dict) or "origin" not in document:
        return None
    block = document["origin"]
    if not isinstance(block, dict):
        return "the entry origin is no object"
    found = flaw_of(block, _ORIGIN, "origin.")
    if found is None and block["split"] is not None:
        found = flaw_of(block["split"], _SPLIT, "origin.split.")
    return found


def without_input(document: dict[str, Any]) -> dict[str, Any]:
    """The document as it stands without the entry: what is claimed of the features themselves."""
    return {key: value for key, value in document.items() if key != "input"}


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
    """The features of rows. ``cells[k]`` are those of the k-th column: an array with NaN for what is missing, or texts and
    None."""
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
