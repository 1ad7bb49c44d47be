"""Labels of any type to class indices and ±1 vectors, and back.

``classes`` is sorted and keeps the type of the labels; ``index`` says which class each row has.
One-against-rest turns K > 2 classes into K problems, two classes into one whose positive class is
``classes[1]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from gapless._runtime.written import written


@dataclass(frozen=True, eq=False)
class Labels:
    """Sorted classes and the class index of each row."""

    classes: np.ndarray
    index: np.ndarray

    @property
    def n_classes(self) -> int:
        return int(self.classes.size)

    @property
    def positives(self) -> tuple[int, ...]:
        """The class that is +1 in each subproblem: (1,) for two classes, else every class in turn."""
        return (1,) if self.n_classes == 2 else tuple(range(self.n_classes))

    def signs(self, positive: int) -> np.ndarray:
        """y of one subproblem: +1.0 for the rows of class ``positive``, else -1.0."""
        return np.where(self.index == positive, 1.0, -1.0)

    def decode(self, index: np.ndarray) -> np.ndarray:
        """The user's labels of class indices."""
        return decode_labels(self.classes, index)


def encode_labels(y: Any, classes: np.ndarray | None = None) -> Labels:
    """Read labels: integers, integral floats, bools, strings; lists, arrays, Series.

    ``classes`` gives the classes of an existing model instead of those found; a label beyond them is an
    error. At least two classes must be there unless ``classes`` is given.
    """
    y = _as_labels(y)
    if classes is not None:
        return Labels(np.asarray(classes), _lookup(np.asarray(classes), y))
    found, index = _unique(y)
    if found.size < 2:
        raise one_class_error(found)
    return Labels(found, index)


def decode_labels(classes: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The user's labels of class indices."""
    return np.take(np.asarray(classes), np.asarray(index, dtype=np.intp), axis=0)


def one_class_error(classes: Any, why: str = "") -> ValueError:
    """scikit-learn's sentence for data of one class."""
    left = [repr(c) for c in np.asarray(classes).tolist()]
    return ValueError(
        "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
        f"{left[0] if left else 'none at all'}{why}"
    )


def _as_labels(y: Any) -> np.ndarray:
    if y is None:
        raise ValueError("y is None: a classifier needs the label of each row (requires y to be passed)")
    if hasattr(y, "to_numpy") and not isinstance(y, np.ndarray):
        y = y.to_numpy()  # pandas, polars and pyarrow know best what their categories are
    if not (type(y) is np.ndarray and y.ndim == 1):
        y = column_or_1d(y)
    if y.dtype.kind == "O":
        y = _of_one_type(y)
    if y.size == 0:
        raise ValueError("y has no rows: found array with 0 sample(s) while a minimum of 1 is required")
    if y.dtype.kind == "f":
        finite = np.isfinite(y)
        if not finite.all():
            row = int(np.argmin(finite))
            name = "NaN" if np.isnan(y[row]) else "infinity"
            raise ValueError(f"Input y contains {name}: row {row}. Every row needs a label.")
        whole = y == np.rint(y)
        if not whole.all():
            check_classification_targets(y)  # raises with scikit-learn's words
            row = int(np.argmin(whole))
            raise ValueError(f"y has {written(y[row])} in row {row}: a float label must be a whole number")
    elif y.dtype.kind not in "biuUT" and y.dtype != object:
        check_classification_targets(y)
        raise ValueError(
            f"Unknown label type: y has dtype {y.dtype}; labels are integers, whole floats, bools or strings"
        )
    return y


def _of_one_type(y: np.ndarray) -> np.ndarray:
    """Objects that are all strings stay; all bools or all integers become such an array."""
    kinds: dict[type, int] = {}
    for row, value in enumerate(y.tolist()):
        kinds.setdefault(type(value), row)
    if all(issubclass(kind, str) for kind in kinds):
        return y
    if all(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        return y.astype(bool)
    if all(issubclass(kind, (int, np.integer)) and not issubclass(kind, bool) for kind in kinds):
        return y.astype(np.int64)
    numbers = (bool, np.bool_, int, float, np.number)
    if all(issubclass(kind, numbers) for kind in kinds):
        return y.astype(np.float64)
    if len(kinds) == 1:
        check_classification_targets(y)
        raise ValueError(f"Unknown label type: y holds objects of type {next(iter(kinds)).__name__}")
    (first, _), (second, row) = sorted(kinds.items(), key=lambda item: item[1])[:2]
    raise ValueError(
        f"y mixes labels of different types: row 0 is {written(y[0])} ({first.__name__}), row {row} is {written(y[row])} "
        f"({second.__name__}). Unknown label type: give labels of one type, and no missing ones."
    )


def _unique(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted classes and the index of each row, as numpy's unique gives them, only faster on what is
    common.
    """
    # Integer labels in a range of this size are encoded through a table, which costs two passes instead of a
    # sort.
    table_size = 1 << 20
    kind = y.dtype.kind
    if kind in "OUT":
        values = y.tolist()
        found = sorted(set(values))
        number = {value: k for k, value in enumerate(found)}
        index = np.fromiter((number[value] for value in values), dtype=np.int64, count=len(values))
        return np.array(found, dtype=y.dtype), index
    if kind in "biuf":
        low, high = int(y.min()), int(y.max())
        upper = y == high
        if kind != "b" and high > low and int(np.count_nonzero(upper)) + int(np.count_nonzero(y == low)) == y.size:
            return np.array([low, high], dtype=y.dtype), upper.astype(np.int64)
        if high - low < table_size and max(abs(low), abs(high)) < 2**62:
            shifted = y.astype(np.int64) - low
            present = np.bincount(shifted) > 0
            number_of = np.cumsum(present) - 1
            classes = (np.flatnonzero(present) + low).astype(y.dtype)
            return classes, number_of[shifted].astype(np.int64, copy=False)
    classes, index = np.unique(y, return_inverse=True)
    return classes, index.astype(np.int64, copy=False)


def _lookup(classes: np.ndarray, y: np.ndarray) -> np.ndarray:
    number = {value: k for k, value in enumerate(classes.tolist())}
    values = y.tolist()
    try:
        return np.fromiter((number[value] for value in values), dtype=np.int64, count=len(values))
    except KeyError as error:
        row = values.index(error.args[0])
        raise ValueError(
            f"y has the label {written(error.args[0])} in row {row}, which the model does not know; its classes are "
            f"{classes.tolist()}"
        ) from None
