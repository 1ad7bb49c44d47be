"""A start from an eighth of the rows, or from fewer where 100,000 rows are enough.

Rows drawn at random, their weights times eight, make the same problem up to sampling: its solution costs an eighth and is off
by some d/n of the objective, so that all rows then need a step or two where they would have needed many.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from gapless.problems.examples.protocol import LinearExamples
from gapless.solvers.linear.thresholds import LINEAR_THRESHOLDS
from gapless.solvers.loop import Ended, Loop, Stop, Watch


def start_from_subset(
    problem: LinearExamples, loop: Loop, solver: Callable[[Any, Loop], None], blur: Callable[[int], float]
) -> np.ndarray:
    """theta of the smaller problem by ``solver``, to a relative gap of blur(rows): the subset does not know it better."""
    n = problem.n
    enough = max(LINEAR_THRESHOLDS.subset_rows, LINEAR_THRESHOLDS.subset_rows_per_column * problem.d)
    part = problem.sample(min(n // 8, enough), loop.order)
    if part.one_class:
        return np.zeros(problem.d + 1)
    small = Loop(
        Stop(max(blur(part.n), loop.stop.relative_gap), loop.stop.passes, loop.stop.seconds),
        Watch(interruption=loop.interruption),
        started=loop.started,
    )
    small.rough = True
    with suppress(Ended):
        solver(part, small)
    loop.tick()
    loop.system = small.system
    return small.best_theta if small.best_theta is not None else np.zeros(problem.d + 1)
