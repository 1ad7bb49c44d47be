"""What is under way, on stderr, for work of more than a second; silent where that is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from gapless._progress import Progress

__all__ = ["Progress", "stage"]


@contextmanager
def stage(quiet: bool, stream: TextIO | None = None) -> Iterator[Callable[[str], None]]:
    """What is being tried, while it is: a line that changes on a terminal, nothing where nobody looks."""
    out = sys.stderr if stream is None else stream
    if quiet or not out.isatty():
        yield lambda text: None
        return
    from rich.console import Console

    with Console(file=out).status("reading") as status:
        yield lambda text: status.update(f"trying {text}")
