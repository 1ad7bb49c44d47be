"""The falling gap, on stderr, for fits of more than a second."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

QUIET = 1.0  # seconds during which nothing is shown


class Progress:
    """A callback of a fit: a live bar on a terminal, now and then a line where stderr is a file.

    The bar is the way from the first relative gap to tol, on a logarithmic scale.
    """

    def __init__(self, tol: float, stream: TextIO | None = None, quiet: float = QUIET) -> None:
        self.tol = max(tol, 1e-16)
        self.stream = sys.stderr if stream is None else stream
        self.live = self.stream.isatty()
        self.quiet = quiet
        self.started = time.perf_counter()
        self.next = quiet
        self.first: float | None = None
        self.last_pass = 0
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def __call__(self, event: Any) -> None:
        gap = event.relative_gap
        if event.pass_ < self.last_pass:  # the next of several subproblems
            self.first = None
        self.last_pass = event.pass_
        if self.first is None and math.isfinite(gap) and gap > 0:
            self.first = gap
        seconds = time.perf_counter() - self.started
        if seconds < self.next:
            return
        text = f"pass {event.pass_}  {seconds:.1f} s  primal {event.primal:.8g}"
        if math.isfinite(event.dual):  # without a penalty there is none
            text += f"  dual {event.dual:.8g}  relative gap {gap:.1e} (tol {self.tol:.0e})"
        if self.live:
            self.next = seconds + 0.1
            self._show(text, gap)
        else:
            self.next = seconds + max(1.0, 0.1 * seconds)
            print(text, file=self.stream, flush=True)

    def share(self, gap: float) -> float:
        """How much of the way is done, 0 to 1."""
        if self.first is None or not gap > self.tol:
            return 1.0 if gap <= self.tol else 0.0
        if self.first <= self.tol or not math.isfinite(gap):
            return 0.0
        return min(max(math.log(self.first / gap) / math.log(self.first / self.tol), 0.0), 1.0)

    def _show(self, text: str, gap: float) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                BarColumn(bar_width=12),
                TextColumn("{task.description}"),
                console=Console(file=self.stream),
                transient=True,
            )
            self._task = self._bar.add_task(text, total=1.0)
            self._bar.start()
        self._bar.update(self._task, completed=self.share(gap), description=text)


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
