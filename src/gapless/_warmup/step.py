"""One step of the table: something that compiles kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Step(NamedTuple):
    """A call that compiles kernels, its title, and the estimators, functions and commands that need them.

    The title holds the form ("dense", "CSR") and the precision of the rows, where the kernels depend on them.
    """

    what: str
    names: tuple[str, ...]
    run: Callable[[], Any]
