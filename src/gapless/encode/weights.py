"""sample_weight and class_weight to one cost a row, c_i = C * sample_weight_i * class_weight(label_i).

Weights are repetitions: a row of weight 2 is the row twice, and a row of weight 0 is no row. Rows with c = 0
are taken out before the solver sees them, and their dual value, 0, is put back after.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from gapless._runtime.written import written
from gapless.encode.labels import Labels, one_class_error


def check_sample_weight(sample_weight: Any, n_rows: int) -> np.ndarray:
    """float64 weights, one a row: from None (ones), a number, or an array-like."""
    if sample_weight is None:
        return np.broadcast_to(1.0, n_rows)  # takes no memory
    if hasattr(sample_weight, "to_numpy") and not isinstance(sample_weight, np.ndarray):
        sample_weight = sample_weight.to_numpy()
    given = np.asarray(sample_weight)
    if given.dtype.kind not in "biuf":
        try:
            if given.dtype.kind != "O":
                raise TypeError
            given = given.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"sample_weight must hold numbers; got an array of {given.dtype}") from None
    if given.ndim > 1:
        raise ValueError(
            f"Sample weights must be 1D array or scalar, got {given.ndim}D array. Expected either a "
            "scalar value or "
            f"a 1D array of length {n_rows}."
        )
    if given.ndim == 1 and given.shape[0] != n_rows:
        raise ValueError(f"sample_weight.shape == {given.shape}, expected {(n_rows,)}!")
    weight = np.full(n_rows, float(given)) if given.ndim == 0 else given.astype(np.float64, copy=False)
    if not np.isfinite(weight).all():
        row = int(np.argmin(np.isfinite(weight)))
        name = "NaN" if np.isnan(weight[row]) else "infinity"
        raise ValueError(f"Input sample_weight contains {name}: row {row}. Weights must be finite and not negative.")
    if weight.size and weight.min() < 0.0:
        row = int(np.argmax(weight < 0.0))
        raise ValueError(
            f"Negative values in data passed to `sample_weight`: row {row} has {weight[row]:g}. A "
            "weight counts how "
            "often a row stands; 0 leaves it out."
        )
    if not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return np.ascontiguousarray(weight)


def _all_one(sample_weight: np.ndarray) -> bool:
    """Whether these are the ones that stand for no weights."""
    return sample_weight.strides == (0,) and sample_weight.size > 0 and sample_weight[0] == 1.0


def resolve_class_weight(class_weight: Any, labels: Labels, sample_weight: np.ndarray) -> np.ndarray:
    """The weight of each class, in the order of ``labels.classes``.

    ``"balanced"`` is sum(w) / (K * sum of w in the class), with w the sample weights, so that repeated rows
    count as often as they stand; a class without any weight gets 1. A dict leaves the classes it does not
    name at 1.
    """
    return resolve_by_masses(
        class_weight,
        labels.classes,
        lambda: np.bincount(labels.index, weights=sample_weight, minlength=labels.n_classes),
        lambda: float(sample_weight.sum()),
    )


def resolve_by_masses(
    class_weight: Any, values: np.ndarray, masses: Callable[[], np.ndarray], total: Callable[[], float]
) -> np.ndarray:
    """The same from the classes, the weight of each, and their sum, which "balanced" asks for."""
    K = values.size
    if class_weight is None:
        return np.ones(K)
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(f"class_weight must be dict, 'balanced', or None, got: {written(class_weight)}")
        mass = masses()
        balanced = np.ones(K)
        np.divide(total(), K * mass, out=balanced, where=mass > 0.0)
        return balanced
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight must be dict, 'balanced', or None, got: {written(class_weight)}")
    classes = values.tolist()
    unknown = [key for key in class_weight if key not in classes]
    missing = [c for c in classes if c not in class_weight]
    if unknown and missing:
        raise ValueError(
            f"The classes, {missing}, are not in class_weight, and class_weight names {written(unknown)}, "
            "which are no labels "
            f"of y. Its keys must be labels as they stand in y: {classes}."
        )
    resolved = np.ones(K)
    for k, c in enumerate(classes):
        if c in class_weight:
            value = class_weight[c]
            if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 <= float(value) < math.inf:
                raise ValueError(f"class_weight[{written(c)}] must be a finite number >= 0, got {written(value)}")
            resolved[k] = float(value)
    return resolved


def weightless_classes(labels: Labels, sample_weight: np.ndarray, class_weight: np.ndarray) -> list[Any]:
    """The classes whose rows all have weight 0, as the user writes them; an error where fewer than two are
    left.

    They stay in ``classes_``: their scores are those of a model that never saw them.
    """
    if _all_one(sample_weight) and (class_weight > 0.0).all():
        return []  # every class has a row
    weights = None if _all_one(sample_weight) else sample_weight
    mass = np.bincount(labels.index, weights=weights, minlength=labels.n_classes) * class_weight
    gone = mass <= 0.0
    left = labels.classes[~gone]
    if left.size == 0:
        raise ValueError("Sample weights and class weights leave no row: every weight is zero.")
    if left.size < 2:
        raise one_class_error(left, " after the rows of weight zero are taken out")
    return labels.classes[gone].tolist()


@dataclass(frozen=True, eq=False)
class Costs:
    """c of the rows that count, which rows these are, and the way back to all rows."""

    c: np.ndarray
    rows: np.ndarray | None  #: the rows with c > 0; None where all have
    n_rows: int

    def take(self, values: np.ndarray) -> np.ndarray:
        """The entries of the rows that count."""
        return values if self.rows is None else values[self.rows]

    def restore(self, values: np.ndarray) -> np.ndarray:
        """Back to all rows along the last axis, 0 for those that were left out."""
        if self.rows is None:
            return values
        full = np.zeros((*values.shape[:-1], self.n_rows), dtype=values.dtype)
        full[..., self.rows] = values
        return full


def costs(C: float, sample_weight: np.ndarray, class_weight: np.ndarray, index: np.ndarray) -> Costs:
    """c_i = (C * sample_weight_i) * class_weight[index_i], and the rows with c = 0 left out.

    The order of the two products is part of the contract: the judge multiplies the same way, so that alpha =
    c here is alpha = c there, to the bit.
    """
    if _all_one(sample_weight) and (class_weight == 1.0).all() and C > 0.0:
        return Costs(np.full(index.size, C), None, index.size)
    of_row = class_weight[index]
    counts = (sample_weight > 0.0) & (of_row > 0.0)
    with np.errstate(invalid="ignore", over="ignore"):
        c = (C * sample_weight) * of_row
    counts &= c > 0.0
    if counts.all():
        return Costs(c, None, c.size)
    rows = np.flatnonzero(counts)
    return Costs(c[rows], rows, c.size)
