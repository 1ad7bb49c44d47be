"""Which backend computes a fit: numpy for small data, without a compiler; numba's kernels for the rest; a card.

Families that have no way in numpy ask nothing here and run on kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from gapless._runtime.config import get_config

_running: ContextVar[str] = ContextVar("gapless_backend", default="numba")


def choose_backend(n: int, d: int) -> str:
    """The backend of n rows of d columns: by their number alone, so that equal problems go one way, or what the settings ask."""
    # Values below which a pass of numpy's over them takes milliseconds, and compiling would take seconds.
    numpy_values = 400_000
    asked = get_config()["backend"]
    if asked != "auto":
        return str(asked)
    return "numpy" if n * d < numpy_values else "numba"


@contextmanager
def use_backend(name: str) -> Iterator[None]:
    """What runs inside asks this backend for its numbers."""
    token = _running.set(name)
    try:
        yield
    finally:
        _running.reset(token)


def place_in_use() -> str:
    """Where the rows of this fit lie in blocks: "stream" or "dask"; "" where they are in memory."""
    running = _running.get()
    return running if running in ("stream", "dask") else ""


def card_in_use() -> str | None:
    """The name of the card that computes here; None where none does."""
    name = _running.get()
    return name if name.startswith("cuda") else None


def numpy_in_use() -> bool:
    """Whether numpy computes here, and no kernel runs."""
    return _running.get() == "numpy"
