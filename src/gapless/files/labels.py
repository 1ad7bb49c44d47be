"""Labels as they stand in a text file, and back to the type a model was trained with."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

PERHAPS = re.compile(r"\s*[-+]?(?:\.?[0-9]|inf|nan|Inf|NaN|NAN|INF)")


def strict_float(text: str) -> float:
    """float(), but for what is a number for Python only ("1_000")."""
    if "_" in text:
        raise ValueError(text)
    return float(text)


def is_number(text: str) -> bool:
    if not PERHAPS.match(text):  # an exception costs ten times as much
        return False
    try:
        strict_float(text)
    except ValueError:
        return False
    return True


TRUE, FALSE = {"true", "1", "1.0", "yes"}, {"false", "0", "0.0", "no"}


def as_labels(texts: Sequence[str], kind: str | None = None) -> np.ndarray:
    """Integers if all are, else numbers if all are, else strings. `kind` is a model's label type; it decides.

    A label that is not of the model's type (a new class in a test file) leaves them as they read: the caller
    then sees a label the model does not know, and can name it.
    """
    if kind == "str":
        return np.asarray(texts, dtype=str)
    if kind == "bool":
        lower = [text.lower() for text in texts]
        if all(text in TRUE or text in FALSE for text in lower):
            return np.asarray([text in TRUE for text in lower])
    readers: list[tuple[Callable[[str], float], type]] = [(int, np.int64), (float, np.float64)]
    if kind == "int":  # "1.0" in the file of a model whose label is 1
        readers.insert(1, (_whole, np.int64))
    distinct = set(texts)
    for number, dtype in readers[1:] if kind == "float" else readers:
        try:
            # "1_000" is a number for Python only
            values = {text: number(text.replace("_", "?")) for text in distinct}
            return np.asarray([values[text] for text in texts], dtype=dtype)
        except (ValueError, OverflowError):
            continue
    return np.asarray(texts, dtype=str)


def _whole(text: str) -> int:
    value = float(text)
    if value != int(value):
        raise ValueError(text)
    return int(value)
