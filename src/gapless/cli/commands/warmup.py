"""gapless warmup: compile kernels once, ahead of the first fit."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from gapless._compile import kernel_store as store
from gapless._warmup.compile_ahead import warmup as compile_ahead
from gapless._warmup.names import KINDS, parse_names, parse_rows
from gapless.cli import options
from gapless.cli.guard import guarded, say


@guarded
def warmup(
    names: Annotated[
        str | None,
        typer.Option(
            "--for",
            help="Estimators, functions and commands whose kernels are wanted, as LinearSVC,SVC,train [default: all].",
            show_default=False,
        ),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            help="Rows that are wanted, as dense or 'dense float64,CSR float64' [default: all].", show_default=False
        ),
    ] = None,
    debug: options.Debug = False,
) -> None:
    """Compile kernels for this processor and keep them on disk, so that the first fit does not wait."""
    os.environ.setdefault("GAPLESS_QUIET", "1")  # this command is the announcement
    os.environ.setdefault("GAPLESS_PROCESSOR", "host")  # kernels that a wheel brings are for many processors
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from gapless._runtime.threads import available_cores  # with numba, which the help does without

    asked = None if names is None else parse_names(names)
    kinds = KINDS if rows is None else parse_rows(rows)
    parts = 1 if available_cores() > 1 else len(kinds)
    mine, others = kinds[:parts], kinds[parts:]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(compile_ahead, asked, kinds=(kind,)) for kind in others]
        seconds = _shown(lambda progress: compile_ahead(asked, progress=progress, kinds=mine))
        seconds = max([seconds, *(other.result() for other in waiting)])
    what = "all kernels" if asked is None else f"the kernels of {', '.join(asked)}"
    what += "" if rows is None else f" for rows that are {' and '.join(kinds)}"
    refused = store.places().refused
    if refused is not None:
        say(f"warning: {refused}: kernels are in {store.cache_folder()} instead")
    say(f"{what} are compiled for {store.target()} ({seconds:.1f} s)")


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
    say("compiling kernels (minutes at first, nothing later) ...")
    return work(None)
