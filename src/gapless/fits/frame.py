"""What every fit stands in: a clock with a deadline, a team of threads, and silent floating-point warnings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from gapless._runtime.clock import Stopwatch, now
from gapless._runtime.threads import n_threads, one_blas_thread, thread_team
from gapless.solvers.loop import Stop

#: Above this condition of the equilibrated columns the eight digits that numpy prints are no longer sure.
TRUSTED_CONDITION = 1e8


class Frame:
    """The clock and the threads of one fit, which may solve several problems.

    ``together``: the seconds of ``stop`` are for all problems together, else for each.
    """

    def __init__(self, stop: Stop, n_jobs: int | None, *, together: bool = True) -> None:
        self.stop, self.n_jobs, self.stopwatch = stop, n_jobs, Stopwatch()
        self.deadline = self.stopwatch.started + stop.seconds if together and stop.seconds is not None else None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run with this fit's threads. Overflow is found by looking at the certificate; it is no news to the user."""
        with one_blas_thread(), thread_team(self.n_jobs), np.errstate(all="ignore"):
            yield

    def share_time(self, k: int = 0, problems: int = 1) -> Stop:
        """Where problem k may stop: the problems from k on get fair shares of the time that is left."""
        if self.deadline is None:
            return self.stop
        share = min(1.0, n_threads(self.n_jobs) / (problems - k))
        return replace(self.stop, seconds=share * max(0.0, self.deadline - now()))
