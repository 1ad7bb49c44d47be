"""How results show themselves: a sentence wherever they are printed, a table in notebooks.

A result is a class with fields and a ``__str__`` that is its sentence. ``@result`` gives it

    __repr__        the sentence, in place of the constructor with all its arrays
    _repr_html_     the sentence, a table of the fields, and a table of the arrays that have one entry for each row or step

where gapless wrote neither for the class. ``_table(self) -> (head, rows)`` of a class takes the place of both tables.
Everything that a user's data or names can be part of is escaped, and a notebook gets an answer whatever the fields hold.
"""

from __future__ import annotations

import dataclasses
import html
import inspect
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["html_table", "result", "result_html"]

#: Where gapless lies: code of other origin is generated, by dataclasses or by NamedTuple.
PACKAGE = str(Path(__file__).parents[1])
#: Entries of an array, a list or a dictionary that a cell shows.
ENTRIES_SHOWN = 6

T = TypeVar("T")


def result(cls: type[T]) -> type[T]:
    """Class decorator, above ``@dataclass``: see the module."""
    written = getattr(inspect.unwrap(cls.__repr__), "__code__", None)
    if written is None or not written.co_filename.startswith(PACKAGE):
        cls.__repr__ = cls.__str__  # type: ignore[method-assign, assignment]
    if not hasattr(cls, "_repr_html_"):
        cls._repr_html_ = result_html  # type: ignore[attr-defined]
    return cls


def result_html(self: Any) -> str:
    """The sentence and the tables; what cannot be shown is left out."""
    try:
        sentence = html.escape(str(self))
        said = f"<pre>{sentence}</pre>" if "\n" in sentence else f"<p>{sentence}</p>"
        if hasattr(self, "_table"):
            return said + html_table(*self._table())
        columns, values = _sorted_out(_fields(self))
        parts = [said]
        if values:
            parts.append(html_table(("field", "value"), values.items()))
        if columns:
            parts.append(html_table(("", *columns), _lines(list(columns.values()))))
        return "".join(parts)
    except Exception:  # whatever a field holds, a notebook must show something
        return f"<pre>{html.escape(object.__repr__(self))}</pre>"


def html_table(head: Iterable[Any], rows: Iterable[Iterable[Any]]) -> str:
    """A table; every cell is put into words and escaped."""
    top = "".join(f"<th>{_escaped(name)}</th>" for name in head)
    body = ("".join(f"<td>{_escaped(cell)}</td>" for cell in row) for row in rows)
    return f"<table><tr>{top}</tr>" + "".join(f"<tr>{cells}</tr>" for cells in body) + "</table>"


def _fields(self: Any) -> dict[str, Any]:
    """Public fields by name: of a dataclass or NamedTuple those declared, else the attributes of the object."""
    if dataclasses.is_dataclass(self):
        names = [field.name for field in dataclasses.fields(self) if field.repr]
    else:
        names = list(getattr(self, "_fields", None) or vars(self))
    return {name: getattr(self, name) for name in names if not name.startswith("_")}


def _sorted_out(fields: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(columns, values): arrays of one axis and of the commonest length, if there are two; and all others."""
    lengths = [len(value) for value in fields.values() if _is_column(value)]
    common = max(set(lengths), key=lengths.count, default=0)
    if lengths.count(common) < 2:
        return {}, dict(fields)
    columns = {name: value for name, value in fields.items() if _is_column(value) and len(value) == common}
    return columns, {name: value for name, value in fields.items() if name not in columns}


def _is_column(value: Any) -> bool:
    return getattr(value, "ndim", None) == 1 and hasattr(value, "dtype") and len(value) > 1


def _lines(columns: Sequence[Any]) -> list[list[Any]]:
    """The first and the last rows of the columns, numbered."""
    # Rows of a long table that a notebook shows: the first half and the last half of them.
    rows_shown = 12
    n = len(columns[0])
    half = rows_shown // 2
    shown = range(n) if n <= rows_shown else [*range(half), *range(n - half, n)]
    lines = [[k, *(column[k] for column in columns)] for k in shown]
    if n > rows_shown:
        lines.insert(half, ["…"] * (len(columns) + 1))
    return lines


def _escaped(value: Any) -> str:
    # Characters of a cell.
    cell_length = 160
    text = in_words(value)
    if len(text) > cell_length:
        text = text[: cell_length - 1] + "…"
    return html.escape(text).replace("\n", "<br>")


def in_words(value: Any) -> str:
    """A value as a cell says it: numbers short, arrays by their shape and first entries, results by their sentence."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, float) or (getattr(getattr(value, "dtype", None), "kind", "") == "f" and value.ndim == 0):
        return f"{value:.6g}"
    if hasattr(value, "dtype") and getattr(value, "ndim", 0) > 0:
        if hasattr(value, "toarray"):
            return f"sparse, shape {value.shape}"
        first = ", ".join(in_words(entry) for entry in value.ravel()[:ENTRIES_SHOWN])
        whole = first if value.size <= ENTRIES_SHOWN else f"{first}, …"
        return whole if value.ndim == 1 and value.size <= ENTRIES_SHOWN else f"shape {value.shape}: {whole}"
    if isinstance(value, Mapping):
        return _some(f"{key}: {in_words(entry)}" for key, entry in value.items())
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return _some(in_words(entry) for entry in value)
    if callable(value) and not hasattr(value, "_repr_html_"):
        return f"function {getattr(value, '__name__', type(value).__name__)}"
    return str(value)


def _some(entries: Iterable[str]) -> str:
    """The first entries of a list, with commas."""
    shown: list[str] = []
    for entry in entries:
        if len(shown) == ENTRIES_SHOWN:
            return ", ".join([*shown, "…"])
        shown.append(entry)
    return ", ".join(shown)
