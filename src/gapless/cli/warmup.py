"""gapless warmup: compile every kernel once, ahead of the first fit."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from gapless.cli import options
from gapless.cli.guard import guarded, say


@guarded
def warmup(debug: options.Debug = False) -> None:
    """Compile all kernels and keep them on disk, so that the first fit does not wait."""
    os.environ.setdefault("GAPLESS_QUIET", "1")  # this command is the announcement
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from gapless._threads import available_cores
    from gapless._warmup import KINDS
    from gapless._warmup import warmup as compile_kernels

    parts = 1 if available_cores() > 1 else len(KINDS)
    mine, others = KINDS[:parts], KINDS[parts:]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(compile_kernels, None, (kind,)) for kind in others]
        seconds = _shown(lambda progress: compile_kernels(progress, mine))
        seconds = max([seconds, *(other.result() for other in waiting)])
    say(f"all kernels are compiled ({seconds:.1f} s)")


def _shown(work: Callable[[Any], float]) -> float:
    """The work, with a bar where somebody is looking."""
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
            return work(lambda what, done, total: bar.update(task, completed=done, total=total, description=what))
    say("compiling kernels (a minute or two at first, nothing later) ...")
    return work(None)
