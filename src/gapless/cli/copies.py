"""Rows of a test file that are copies of training rows: they say nothing of new rows."""

from __future__ import annotations

from typing import Any

from gapless.cli.guard import say
from gapless.cli.interval import alike


def without_copies(rows: Any, tested: Any, name: str) -> Any:
    """The rows of a test file that are no copies of training rows, or None where all are; what was left out is told."""
    import numpy as np

    from gapless.readings.training_rows import RowHashes, copies  # with numpy, which the help does without

    found = copies(RowHashes.of("", rows.X), tested.X)
    k, n = int(found.mask.sum()), tested.n_rows
    if not k:
        told = alike(found, n)
        if told is not None:
            say(f"{name}: {told}")
        return tested
    if k == n:
        say(f"{name}: all {n} rows equal training rows: they say nothing of new rows, and no test error is given")
        return None
    say(f"{name}: {k} of {n} rows equal training rows and are left out; the test error is of the {n - k} others")
    return tested.rows(np.flatnonzero(~found.mask))
