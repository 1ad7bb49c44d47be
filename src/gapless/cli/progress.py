"""What is under way, on stderr, for work of more than a second; silent where that is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from gapless._runtime.progress import Progress

__all__ = ["Progress", "search", "stage"]


@contextmanager
def stage(quiet: bool, stream: TextIO | None = None) -> Iterator[Callable[[str], None]]:
    """What is being tried, while it is: a line that changes on a terminal, nothing where nobody looks."""
    out = sys.stderr if stream is None else stream
    if quiet or not out.isatty():
        yield lambda text: None
        return
    from rich.console import Console

    line = _Line("reading")
    with Console(file=out).status(line):

        def tell(text: str) -> None:
            line.text = f"trying {text}"

        yield tell


class _Line:
    """What is under way and, while kernels for it are compiled, how long these have taken and about how long they take."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __rich__(self) -> Any:
        """Asked for by rich several times a second."""
        from rich.text import Text

        from gapless._compile.kernel_cache import under_way  # with numpy, which the help does without

        return Text(": ".join(filter(None, (self.text, under_way(named=False)))))


@contextmanager
def search(quiet: bool) -> Iterator[Callable[[Any], None] | None]:
    """The fits of a search, and the best so far: a bar on a terminal."""
    if quiet:
        yield None
        return
    with Progress(1.0, counted="fit") as bar:

        def tell(step: Any) -> None:
            found = step.best_params or {}
            best = ", ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in found.items())
            done = f"{step.done}" if step.total is None else f"{step.done} of {step.total}"
            text = f"best {step.best_score:.5g} at {best}" if best else ""
            bar.tell(done, text, None if step.total is None else step.done / step.total)

        yield tell
