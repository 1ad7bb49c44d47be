"""How a value stands in a sentence: as a user would write it, not as numpy would."""

from __future__ import annotations

import sys
from typing import Any


def written(value: Any) -> str:
    """repr as a user would write the value: numpy's numbers and texts as Python's, in lists, tuples and dictionaries too."""
    numpy = sys.modules.get("numpy")  # commands import this file before numpy; a value of numpy's has imported numpy
    if numpy is not None and isinstance(value, numpy.generic):
        plain = value.item()
        return repr(plain) if isinstance(plain, bool | int | float | complex | str | bytes) else str(value)
    if type(value) is dict:
        return "{" + ", ".join(f"{written(key)}: {written(entry)}" for key, entry in value.items()) + "}"
    if type(value) is list:
        return "[" + ", ".join(map(written, value)) + "]"
    if type(value) is tuple:
        return "(" + ", ".join(map(written, value)) + (",)" if len(value) == 1 else ")")
    return repr(value)


def counted(n: int, what: str, many: str | None = None) -> str:
    """1 error, 2 errors, 1,000 errors."""
    return f"{n:,} {what if n == 1 else many or what + 's'}"
