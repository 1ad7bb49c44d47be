"""Data frames (pandas, polars and what else narwhals knows), and Arrow tables, into a Dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gapless.files.columns import Column, assign, position
from gapless.files.dataset import Dataset, Expected, Labels, data_error
from gapless.files.labels import as_labels


def from_frame(
    frame: Any,
    *,
    target: Column | None = None,
    weights: Column | None = None,
    drop: Sequence[Column] = (),
    labels: Labels = "required",
    expected: Expected | None = None,
    categories: Sequence[Column] = (),
    typed: bool = True,
    dtype: Any = np.float64,
    path: str | None = None,
    notes: Sequence[str] = (),
) -> Dataset:
    """A Dataset of a frame: numbers and booleans as they are, texts and categoricals as levels, missing values as NaN.

    Dates are refused with advice; `target`, `weights` and `drop` are names, or numbers from 0.
    """
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    place = path or f"the {type(frame).__module__.split('.')[0]} frame"
    names = [str(name) for name in table.columns]
    for j, name in enumerate(names):
        if name in names[:j]:
            raise data_error("the name stands twice", place, column=name)
    roles = assign(
        names, len(names), place, target=target, weights=weights, drop=drop, labels=labels, expected=expected
    )
    typed = typed or (expected is not None and expected.typed)
    asked = {position(column, names, len(names), "categories", place) for column in categories}
    X = np.empty((len(table), len(roles.features)), dtype=dtype)
    levels: list[list[str] | None] = []
    for k, j in enumerate(roles.features):
        text = j in asked or (expected is not None and typed and k in expected.categories)
        levels.append(_feature(nw, table[:, j], X[:, k], text, place, names[j]))
        if not typed:
            if levels[-1] is not None:
                raise data_error("the column holds texts, not numbers", place, column=names[j])
            if not np.isfinite(X[:, k]).all():
                row = int(np.argmax(~np.isfinite(X[:, k])))
                raise data_error(f"row {row}: the value is {X[row, k]}; it must be finite", place, column=names[j])
    y = None
    if roles.label is not None:
        y = _label(nw, table[:, roles.label], place, names[roles.label], expected)
    w = None
    if roles.weights is not None:
        w = np.empty(len(table))
        if _feature(nw, table[:, roles.weights], w, False, place, names[roles.weights]) is not None:
            raise data_error("the weights are no numbers", place, column=names[roles.weights])
        if not (np.isfinite(w).all() and (w >= 0).all()):
            raise data_error("a weight is negative or missing", place, column=names[roles.weights])
    return Dataset(
        X=X,
        y=y,
        names=[names[j] for j in roles.features],
        target=None if roles.label is None else names[roles.label],
        weights=w,
        notes=(*notes, *roles.notes),
        path=path,
        levels=levels if any(each is not None for each in levels) else None,
    )


def _feature(nw: Any, column: Any, out: np.ndarray, text: bool, place: str, name: str) -> list[str] | None:
    """Write a column as numbers; its levels, where it is one of texts."""
    kind = column.dtype
    if kind.is_temporal():
        raise data_error(
            "the column holds dates or times: make numbers of them (days since a day, month, hour), or leave it out (drop)",
            place,
            column=name,
        )
    missing = column.is_null().to_numpy()
    if (kind.is_numeric() or kind == nw.Boolean) and not text:
        values = column.cast(nw.Float64).to_numpy() if not missing.any() else None
        if values is None:
            values = column.cast(nw.Float64).fill_null(np.nan).to_numpy()
        if np.isinf(values).any():
            row = int(np.argmax(np.isinf(values)))
            raise data_error(f"row {row}: the value is {values[row]}; it must be finite", place, column=name)
        out[:] = values
        return None
    cells = column.to_list()
    kept = [None if gone or cell is None or cell == "" else str(cell) for cell, gone in zip(cells, missing.tolist())]
    levels = sorted({cell for cell in kept if cell is not None})
    codes = {cell: float(code) for code, cell in enumerate(levels)}
    out[:] = [np.nan if cell is None else codes[cell] for cell in kept]
    return levels


def _label(nw: Any, column: Any, place: str, name: str, expected: Expected | None) -> np.ndarray:
    missing = column.is_null().to_numpy()
    if missing.any():
        raise data_error(f"row {int(np.argmax(missing))}: the label is missing", place, column=name)
    if column.dtype.is_temporal():
        raise data_error("the labels are dates", place, column=name)
    kind = expected.label_kind if expected is not None else None
    if column.dtype.is_numeric() and kind not in ("str", "bool"):
        y = column.to_numpy()
        if y.dtype.kind == "f" and np.isnan(y).any():
            raise data_error(f"row {int(np.argmax(np.isnan(y)))}: the label is missing", place, column=name)
        whole = y.dtype.kind in "iu" or (kind == "int" and bool((y == np.trunc(y)).all()))
        return y.astype(np.int64) if whole and kind != "float" else y.astype(np.float64)
    if column.dtype == nw.Boolean and kind in (None, "bool"):
        return np.asarray(column.to_numpy(), dtype=bool)
    texts = [str(cell) for cell in column.to_list()]
    return as_labels(texts, kind) if kind is not None else np.asarray(texts, dtype=str)
