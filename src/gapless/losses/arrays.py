"""Arguments and answers of the losses where these are called on numbers and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless._runtime.written import written


def numbers(name: str, given: Any) -> np.ndarray:
    """An array of floats. Raises a TypeError that names the argument where it holds anything but numbers."""
    try:
        found = np.asarray(given)
        # numpy reads None as nan and "1" as 1.
        if found.dtype.kind in "USMm" or (found.dtype.kind == "O" and any(entry is None for entry in found.flat)):
            raise TypeError
        return found.astype(np.float64, casting="unsafe" if found.dtype.kind == "O" else "same_kind")
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number or an array of numbers; got {written(given)}") from None


def signs(y: Any) -> np.ndarray:
    """y as floats -1 and +1."""
    found = numbers("y", y)
    other = found[(found != 1.0) & (found != -1.0)]
    if other.size:
        hint = " (2y - 1 makes -1 and +1 of 0 and 1)" if np.isin(found, (0.0, 1.0)).all() else ""
        raise ValueError(f"y must be -1 or +1; got {other.flat[0]:g}{hint}")
    return found


def answer(found: Any) -> Any:
    """A float where all arguments were numbers, else the array."""
    return float(found) if np.ndim(found) == 0 else found
