"""What every fit stands in: a clock with a deadline, a team of threads, and silent floating-point warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np

from gapless._runtime.clock import Stopwatch, now
from gapless._runtime.threads import n_threads, one_blas_thread, thread_team
from gapless.solvers.loop import Loop, Stop, Watch

#: Above this condition of the equilibrated columns the eight digits that numpy prints are no longer sure.
TRUSTED_CONDITION = 1e8


class Keeper:
    """Writes the best model so far beside the fit, at most once in ``every`` seconds; several problems may be under way at once.

    ``write`` takes the fit that ``assemble`` makes of the solutions so far, by the number of their problem; a problem that nobody
    has solved yet has none.
    """

    def __init__(self, write: Callable[[Any], None], every: float) -> None:
        self.write, self.every, self.last = write, every, now()
        self.assemble: Callable[[dict[int, tuple[Any, Any, Loop]]], Any] = lambda so_far: None
        self._lock = Lock()

    def watching(self, k: int, watch: Watch) -> Watch:
        """The watch of problem k."""
        return watch._replace(keep=lambda loop: self._keep(k, loop))

    def _keep(self, k: int, loop: Loop) -> None:
        if now() - self.last < self.every or not self._lock.acquire(blocking=False):
            return
        try:
            self.write(self.assemble({k: (loop.best_theta, loop.recorded_u, loop)}))
            self.last = now()
        finally:
            self._lock.release()


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
