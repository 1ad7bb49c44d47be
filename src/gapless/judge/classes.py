"""Labels to class indices by the classes of a document, and the weights of classes and rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .arithmetic.compare import capped, equal
from .arithmetic.rounding import UNIT, total_of
from .errors import CertificateError


def as_array(values: Any, complaint: str) -> np.ndarray:
    """An array, also of a data frame's column; CertificateError, which begins with ``complaint``, where there is none."""
    if hasattr(values, "to_numpy") and not isinstance(values, np.ndarray):
        values = values.to_numpy()
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise CertificateError(f"{complaint} ({error})") from None


def label_index(y: Any, classes: dict[str, Any], n: int) -> np.ndarray:
    """The class index (int64) of each row; CertificateError where a label is none of the classes."""
    labels = as_array(y, "other labels: y cannot be read as a list of labels")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n,):
        raise CertificateError(f"other labels: y has shape {labels.shape}, X has {n} rows")
    kind, values = classes["type"], classes["values"]
    # False equals 0, and is no 0: flags and whole numbers do not stand for each other (floats may stand for both).
    if n and ((labels.dtype.kind == "b" and kind != "bool") or (labels.dtype.kind in "iu" and kind == "bool")):
        raise CertificateError(f"other labels: the classes are of type {kind}, those of y are {labels.dtype}")
    number = {value: k for k, value in reversed(list(enumerate(values)))}  # the first of equal ones
    fits = "OUT" if kind == "str" else "biufO"
    found: np.ndarray | None = None
    if labels.dtype.kind in fits:
        if labels.dtype.kind in "biuf" and kind != "str":
            found = _numeric(labels, number)
        else:
            found = _looked_up(labels.tolist(), number)
    if found is None or (n and found.min() < 0):
        row = 0 if found is None else int(np.argmax(found < 0))
        shown = repr(labels[row].item() if hasattr(labels[row], "item") else labels[row]) if n else "nothing"
        raise CertificateError(f"other labels: row {row} is {shown[:60]}, which is none of the classes ({kind})")
    return found


def _looked_up(labels: list[Any], number: dict[Any, int]) -> np.ndarray:
    try:
        return np.fromiter((number.get(label, -1) for label in labels), dtype=np.int64, count=len(labels))
    except TypeError:  # a label that cannot be hashed is no label of ours
        return np.full(len(labels), -1, dtype=np.int64)


def _numeric(labels: np.ndarray, number: dict[Any, int]) -> np.ndarray:
    """Through the distinct labels, compared as Python numbers: no rounding of large integers."""
    at_once = 1 << 20  # labels that are sorted
    found = np.empty(labels.size, dtype=np.int64)
    for start in range(0, labels.size, at_once):
        distinct, inverse = np.unique(labels[start : start + at_once], return_inverse=True)
        codes = np.array([number.get(label, -1) for label in distinct.tolist()], dtype=np.int64)
        found[start : start + at_once] = codes[inverse.reshape(-1)]
    return found


def sorted_unique(values: Sequence[Any]) -> bool:
    return all(a < b for a, b in pairwise(values))


def floats_of(values: Any, what: str = "other targets: y") -> np.ndarray:
    """float64 of a list or an array; CertificateError where it holds no numbers, or complex ones."""
    found = as_array(values, f"{what} does not hold numbers")
    try:
        if found.dtype.kind in "cmMV":
            raise ValueError(f"dtype {found.dtype}")
        return found.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise CertificateError(f"{what} does not hold numbers ({error})") from None


def targets_of(y: Any, n: int, several: bool = False) -> np.ndarray:
    """float64 targets (n, S); CertificateError for another shape. Of ``several`` S may be more than 1."""
    given = floats_of(y) + 0.0
    values = given[:, None] if given.ndim == 1 else given
    if values.ndim != 2 or values.shape[0] != n or not (several or values.shape[1] == 1):
        raise CertificateError(f"other targets: y has shape {given.shape}, X has {n} rows")
    return values


def weights_of_rows(sample_weight: Any, n: int) -> np.ndarray:
    """float64 sample weights, finite and >= 0; ones where there are none."""
    if sample_weight is None:
        return np.ones(n) if n < 1 << 20 else np.broadcast_to(1.0, n)  # which takes no memory
    weights = floats_of(sample_weight, "other weights: sample_weight")
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise CertificateError(f"other weights: sample_weight has shape {weights.shape}, X has {n} rows")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise CertificateError("other weights: sample_weight has values that are negative or not finite")
    return weights + 0.0


def class_weights_agree(
    parameter: Any, classes: Sequence[Any], resolved: Sequence[float], index: np.ndarray, weights: np.ndarray
) -> tuple[bool, list[float] | None]:
    """Whether the resolved class weights are those the parameter asks for, and what they should be.

    "balanced" is sum(w) / (K sum of w in the class), computed by somebody else in floats: n additions in each
    of two sums, a product and a quotient, so they may differ by gamma_(2n+2), relatively.  A class without
    weight may have any.
    """
    # What class weights may differ by, relatively, however many rows there are.
    share = 1e-6
    K = len(classes)
    if not all(math.isfinite(w) and w >= 0 for w in resolved):
        return False, None
    if parameter is None:
        return list(resolved) == [1.0] * K, [1.0] * K
    if isinstance(parameter, list):
        wanted = _from_pairs(parameter, classes)
        return wanted is not None and list(resolved) == wanted, wanted
    if parameter != "balanced":
        return False, None
    total = total_of(weights)
    masses = [total_of(weights[index == k]) for k in range(K)]
    balanced = [total / (K * mass) if mass > 0 else claimed for mass, claimed in zip(masses, resolved, strict=True)]
    room = capped(2.0 * (2 * weights.size + 8) * UNIT, 1.0, share) * np.array(balanced)
    return equal(resolved, balanced, room), balanced


def _from_pairs(pairs: list[Any], classes: Sequence[Any]) -> list[float] | None:
    """[[label, weight], ...] as a list by class; None where it is no such list."""
    given: dict[Any, float] = {}
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2):
            return None
        key, value = pair
        if not isinstance(key, str | int | float) or isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if not abs(value) < 2**1023:
            return None
        if key in given:
            return None
        given[key] = float(value)
    known = set(given) <= set(classes) or set(classes) <= set(given)  # else no fit was made with these
    return [given.get(value, 1.0) for value in classes] if known else None
