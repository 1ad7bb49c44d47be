"""Threads that help another one, and wait for its next call awake.

Work inside a fit comes in pieces of a fraction of a millisecond with as little between them, and a thread that has gone to
sleep takes a tenth of one to come back.  So a helper that has done its part looks at a number in memory for a while, without
Python's lock, before it goes to sleep; and so does the one that waits for it.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from gapless._runtime.clock import Errand
from gapless._runtime.spin_wait import spin_wait

#: Seconds that a helper stays awake for the next call, and that it leaves to the caller to let go of Python's lock.
AWAKE, GRACE = 2e-3, 8e-6
#: Places of the numbers that are watched, each on a cache line of its own: calls made, and calls done.
CALLED, DONE = 0, 16


class Job:
    """A function on its way through a helper."""

    __slots__ = ("_errand", "_error", "_function", "_gate", "_value")

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function: Callable[[], Any] | None = function
        self._value: Any = None
        self._error: BaseException | None = None
        self._errand = Errand()
        self._gate = threading.Lock()
        self._gate.acquire()

    def run(self) -> None:
        function, self._function = self._function, None
        assert function is not None
        self._errand.begin()
        try:
            self._value = function()
        except BaseException as error:  # it rises where the result is asked for
            self._error = error
        finally:
            self._errand.end()
            self._gate.release()

    def result(self, spin: Callable[[], Any] | None = None) -> Any:
        """Wait for the job, at first by ``spin``, and return its result, or raise its exception."""
        if self._gate.locked():
            with self._errand.awaited():
                if spin is not None:
                    spin()
                self._gate.acquire()
                self._gate.release()
        if self._error is not None:
            raise self._error
        return self._value


class Helper:
    """One thread. ``awake``: whether it may wait awake, which takes a core."""

    def __init__(self) -> None:
        self.awake = False
        self._jobs: deque[Job] = deque()
        self._asleep, self._ended = True, False
        self._lock, self._bell = threading.Lock(), threading.Semaphore(0)
        self._numbers = np.zeros(2 * DONE, np.int64)
        self._thread = threading.Thread(target=self._serve, name="gapless helper", daemon=True)
        self._thread.start()

    def give(self, job: Job) -> None:
        with self._lock:
            self._jobs.append(job)
            if self._asleep:
                self._asleep = False
                self._bell.release()
            else:
                self._numbers[CALLED] += 1

    def take_back(self, job: Job) -> bool:
        """Whether it had not begun, and now will not."""
        try:
            self._jobs.remove(job)
        except ValueError:
            return False
        return True

    def wait(self, job: Job) -> None:
        """Wait for the job: spin for AWAKE seconds where the helper may, then sleep. Raises the job's exception."""
        done = int(self._numbers[DONE])
        job.result((lambda: spin_wait(self._numbers, DONE, done, AWAKE, 0.25 * GRACE)) if self.awake else None)

    def stay_on(self, cores: set[int]) -> None:
        if self._thread.native_id is not None:
            stay_on(self._thread.native_id, cores)

    def end(self) -> None:
        self._ended = True
        with self._lock:
            self._bell.release()
            self._numbers[CALLED] += 1

    def _serve(self) -> None:
        while not self._ended:
            self._bell.acquire()
            while not self._ended:
                called = int(self._numbers[CALLED])
                if self._jobs:
                    self._run_one()
                    continue
                if self.awake and spin_wait(self._numbers, CALLED, called, AWAKE, GRACE):
                    continue
                with self._lock:
                    if not self._jobs:
                        self._asleep = True
                        break

    def _run_one(self) -> None:
        with suppress(IndexError):  # taken back in between
            self._jobs.popleft().run()
        self._numbers[DONE] += 1


def stay_on(thread: int, cores: set[int]) -> None:
    """A thread by its number, 0 is the one that asks."""
    if cores:
        with suppress(OSError, ValueError):  # they may have been taken away meanwhile
            os.sched_setaffinity(thread, cores)
