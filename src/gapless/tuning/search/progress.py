"""How a search reports its progress."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .evaluate import Step


def reporter(progress: Any) -> Callable[[Step], None] | None:
    """None, lines on stderr, or the user's function."""
    # Seconds between two lines, and before the first.
    seconds_between = 1.0
    if progress is None or progress is False:
        return None
    if callable(progress):
        return progress  # type: ignore[no-any-return]
    last = [0.0]

    def tell(step: Step) -> None:
        finished = step.total is not None and step.done >= step.total
        if step.seconds - last[0] < seconds_between and not finished:
            return
        last[0] = step.seconds
        of = f"/{step.total}" if step.total is not None else ""
        best = "" if step.best_params is None else f"  best {step.best_score:.5g} {step.best_params}"
        print(f"tune: {step.done}{of} fits  {step.seconds:.1f} s{best}", file=sys.stderr, flush=True)

    return tell
