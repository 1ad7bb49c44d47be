"""A start from an eighth of the rows, or less where that is plenty.

Drawn at random, their weights times eight, they make the same problem, blurred: its solution costs an eighth and is off by
some d/n of the objective, so that the whole needs a step or two where it would have needed many.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from gapless import rows as R
from gapless.problems.linear import LinearProblem
from gapless.solvers.loop import Ended, Loop, Stop

#: Rows beyond which more of them do not tell more than the whole is asked for; or so many for each column.
ENOUGH = 100_000


def start_from_subset(
    problem: LinearProblem, loop: Loop, solver: Callable[[LinearProblem, Loop], None], blur: Callable[[int], float]
) -> np.ndarray:
    """theta of the smaller problem by ``solver``, to a relative gap of blur(rows): closer is for nothing."""
    n = problem.n
    index = R.sample(n, min(n // 8, max(ENOUGH, 2000 * problem.d)))
    part = problem.subset(index, n / index.size)
    if (part.y > 0).all() or (part.y < 0).all():
        return np.zeros(problem.d + 1)
    small = Loop(
        Stop(max(blur(index.size), loop.stop.relative_gap), loop.stop.passes, loop.stop.seconds),
        interruption=loop.interruption,
        started=loop.started,
    )
    small.rough = True
    with suppress(Ended):
        solver(part, small)
    loop.tick()
    loop.system = small.system
    return small.best_theta if small.best_theta is not None else np.zeros(problem.d + 1)
