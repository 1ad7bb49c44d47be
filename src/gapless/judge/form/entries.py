"""Tests of the entries of a document, each by itself: whether it is a count, a size, a text, one of some words."""

from __future__ import annotations

import math
import re
from typing import Any

from .schema import Test

#: How a float that JSON cannot write stands in a document.
NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def is_count(value: Any) -> bool:
    # No count of rows, columns or steps is larger: numpy's int64 holds it, and a float holds it exactly.
    most_count = 2**53
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most_count


def is_number(value: Any) -> bool:
    """A JSON number a float can hold, or the name of a non-finite one."""
    if isinstance(value, str):
        return value in NON_FINITE
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) < 2**1023


def number(value: Any) -> float:
    """The float of an entry that passed ``is_number``."""
    return NON_FINITE[value] if isinstance(value, str) else float(value)


def is_finite(value: Any) -> bool:
    """A number that is neither infinite nor NaN."""
    return is_number(value) and math.isfinite(number(value))


def is_size(value: Any) -> bool:
    """A finite number >= 0."""
    return is_finite(value) and number(value) >= 0.0


def is_share(value: Any) -> bool:
    """A number from 0 to 1."""
    return is_size(value) and number(value) <= 1.0


def is_positive(value: Any) -> bool:
    return is_finite(value) and number(value) > 0.0


def is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def or_none(test: Test) -> Test:
    return lambda value: value is None or test(value)


def list_of(test: Test, least: int = 0) -> Test:
    return lambda value: isinstance(value, list) and len(value) >= least and all(map(test, value))


def is_parameter(value: Any, depth: int = 8) -> bool:
    """Plain JSON: a flag, a number, a text, nothing, or lists and blocks of them, at most ``depth`` inside each other."""
    if value is None or isinstance(value, bool | str) or is_number(value):
        return True
    inside = value if isinstance(value, list) else list(value.values()) if is_dict(value) else None
    return inside is not None and depth > 0 and all(is_parameter(each, depth - 1) for each in inside)


def is_digest(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{32}", value) is not None


def is_block(value: Any) -> bool:
    """Rows of a block of the data, and the digests of its rows, labels and weights."""
    return isinstance(value, list) and len(value) == 4 and is_count(value[0]) and all(map(is_digest, value[1:]))


def one_of(*words: str) -> Test:
    return lambda value: isinstance(value, str) and value in words


def is_names(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(map(is_text, value)))


def is_dict(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


def shown(value: Any) -> str:
    """An entry in an error, in at most 60 characters."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**40:
        return "a number too large"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
