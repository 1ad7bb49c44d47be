"""gapless warmup: compile every kernel once, ahead of the first fit."""

from __future__ import annotations

import os
import sys

from gapless.cli import options
from gapless.cli.guard import guarded, say


@guarded
def warmup(debug: options.Debug = False) -> None:
    """Compile all kernels and keep them on disk, so that the first fit does not wait."""
    os.environ.setdefault("GAPLESS_QUIET", "1")  # this command is the announcement
    import gapless

    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        with Progress(
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            console=Console(stderr=True),
            transient=True,
        ) as bar:
            task = bar.add_task("kernels")
            seconds = gapless.warmup(
                lambda what, done, total: bar.update(task, completed=done, total=total, description=what)
            )
    else:
        say("compiling kernels (half a minute at first, nothing later) ...")
        seconds = gapless.warmup()
    say(f"all kernels are compiled ({seconds:.1f} s)")
