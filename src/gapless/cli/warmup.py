"""gapless warmup: compile every kernel once, ahead of the first fit."""

from __future__ import annotations

import time

from gapless.cli import options
from gapless.cli.guard import guarded, say


@guarded
def warmup(debug: options.Debug = False) -> None:
    """Compile all kernels and keep them on disk, so that the first fit does not wait."""
    import gapless

    start = time.perf_counter()
    say("compiling kernels ...")
    gapless.warmup()
    say(f"all kernels are compiled ({time.perf_counter() - start:.1f} s)")
