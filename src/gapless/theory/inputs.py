"""What the numbers of a statement may be, and the sentences where they are not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gapless._runtime.written import written


def as_probability(value: Any, name: str = "delta") -> float:
    """A number strictly between 0 and 1."""
    number = _number(value, name)
    if not 0.0 < number < 1.0:
        raise ValueError(f"{name} is a probability strictly between 0 and 1; got {written(value)}")
    return number


def as_positive(value: Any, name: str = "epsilon") -> float:
    number = _number(value, name)
    if not (number > 0.0 and math.isfinite(number)):
        raise ValueError(f"{name} must be a positive number; got {written(value)}")
    return number


def as_nonnegative(value: Any, name: str) -> float:
    """A finite number of at least 0."""
    number = _number(value, name)
    if not (number >= 0.0 and math.isfinite(number)):
        raise ValueError(f"{name} must be a number of at least 0; got {written(value)}")
    return number


def as_fraction(value: Any, name: str) -> float:
    """A number from 0 to 1, ends included."""
    number = _number(value, name)
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{name} must lie between 0 and 1; got {written(value)}")
    return number


def as_whole(value: Any, name: str = "n", least: int = 1) -> int:
    """A whole number, as an integer of any size; 1000.0 and 1e7 are whole, 10.5 is not."""
    if isinstance(value, bool | np.bool_ | str) or not isinstance(value, int | float | np.integer | np.floating):
        raise ValueError(f"{name} must be a whole number; got {written(value)}")
    if isinstance(value, float | np.floating) and not (math.isfinite(value) and float(value).is_integer()):
        raise ValueError(f"{name} must be a whole number; got {written(value)}")
    number = int(value)
    if number < least:
        raise ValueError(f"{name} must be at least {least}; got {written(value)}")
    return number


def as_dense(X: Any) -> np.ndarray:
    """An array, of sparse rows too."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)


def as_finite(value: Any, name: str) -> np.ndarray:
    """An array of finite numbers; the first that is none is named with its place."""
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers; got {written(value)}") from None
    wrong = np.argwhere(~np.isfinite(found))
    if wrong.size:
        place = tuple(int(k) for k in wrong[0])
        more = f" ({len(wrong):,} of {found.size:,} are not)" if len(wrong) > 1 else ""
        raise ValueError(f"{name} must be finite; {name}{list(place)} is {found[place]:g}{more}")
    return found


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool | np.bool_ | str):
        raise ValueError(f"{name} must be a number; got {written(value)}")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number; got {written(value)}") from None
