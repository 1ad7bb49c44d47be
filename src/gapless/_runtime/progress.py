"""Progress of a fit: a bar in a terminal and in a notebook, lines where they are asked for, and silence elsewhere."""

from __future__ import annotations

import html
import math
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from gapless._runtime.clock import now

__all__ = ["Progress", "in_notebook", "with_progress"]


def in_notebook() -> bool:
    """Whether the cells of a notebook show what is displayed."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class Progress:
    """A callback of a fit. The bar is the way from the first relative gap to tol, on a logarithmic scale.

    ``lines``: where there is neither a terminal nor a notebook, a line now and then instead of silence; GAPLESS_PROGRESS=lines in
    the environment asks for that, GAPLESS_PROGRESS=off for silence everywhere.
    """

    def __init__(
        self,
        tol: float,
        stream: TextIO | None = None,
        quiet: float = 1.0,
        *,
        name: str = "",
        lines: bool = False,
        counted: str = "pass",
    ) -> None:
        self.counted = counted
        self.tol = max(tol, 1e-16)
        self.stream = sys.stderr if stream is None else stream
        self.name = name
        asked = os.environ.get("GAPLESS_PROGRESS", "")
        if asked == "off":
            self.mode = "off"
        elif stream is None and in_notebook():
            self.mode = "notebook"
        elif self.stream is not None and self.stream.isatty():  # pythonw, and 2>&-, have no stderr
            self.mode = "terminal"
        else:
            self.mode = "lines" if self.stream is not None and (lines or asked == "lines") else "off"
        self.started = now()
        self.next = quiet
        self.first: float | None = None
        self.last_pass = 0
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        """The bar of a terminal goes; in a notebook the last figures stay."""
        if self._bar is not None and self.mode == "terminal":
            self._bar.stop()
        self._bar = None

    def __call__(self, event: Any) -> None:
        gap = event.relative_gap
        if event.pass_ < self.last_pass:  # the next of several subproblems
            self.first = None
        self.last_pass = event.pass_
        if self.first is None and math.isfinite(gap) and gap > 0:
            self.first = gap
        text = f"primal {event.primal:.8g}"
        if math.isfinite(event.dual):  # without a penalty there is none
            text += f"  dual {event.dual:.8g}  relative gap {gap:.1e} (tol {self.tol:.0e})"
        self.tell(event.pass_, text, self.share(gap))

    def tell(self, passes: int | str, text: str, share: float | None) -> None:
        """Show it, unless something was shown just now; ``share`` None is a bar of unknown length."""
        seconds = now() - self.started
        if self.mode == "off" or seconds < self.next:
            return
        text = f"{self.counted} {passes}  {seconds:.1f} s  {text}"
        if self.mode == "lines":
            self.next = seconds + (0.5 if self.name else max(1.0, 0.1 * seconds))
            print(f"[{self.name}] {text}" if self.name else text, file=self.stream, flush=True)
            return
        self.next = seconds + 0.1
        (self._on_terminal if self.mode == "terminal" else self._in_notebook)(text, share)

    def share(self, gap: float) -> float:
        """How much of the way is done, 0 to 1."""
        if self.first is None or not gap > self.tol:
            return 1.0 if gap <= self.tol else 0.0
        if self.first <= self.tol or not math.isfinite(gap):
            return 0.0
        return min(max(math.log(self.first / gap) / math.log(self.first / self.tol), 0.0), 1.0)

    def _on_terminal(self, text: str, share: float | None) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                BarColumn(bar_width=12),
                TextColumn("{task.description}", markup=False),
                console=Console(file=self.stream),
                transient=True,
            )
            self._task = self._bar.add_task(text, total=None if share is None else 1.0)
            self._bar.start()
        self._bar.update(self._task, completed=share or 0.0, description=text)

    def _in_notebook(self, text: str, share: float | None) -> None:
        """IPython alone is needed: rich would ask for ipywidgets."""
        from IPython.display import HTML, display

        done = "" if share is None else f' value="{share:.3f}"'
        label = html.escape(f"{self.name}: {text}" if self.name else text)
        shown = HTML(f'<div><progress max="1"{done} style="width:8em"></progress> <code>{label}</code></div>')
        if self._bar is None:
            self._bar = display(shown, display_id=True)
        else:
            self._bar.update(shown)


@contextmanager
def with_progress(model: Any) -> Iterator[Callable[..., None] | None]:
    """The callback of a fit: what a command put there, else what ``verbose`` asks for."""
    if model._progress is not None or not model.verbose:
        yield model._progress
        return
    name = type(model).__name__
    stream = None if in_notebook() else sys.stdout
    with Progress(float(getattr(model, "tol", 0.0) or 0.0), stream, 0.0, name=name, lines=True) as progress:
        yield progress
