"""Threads that help another one: each runs the jobs that it is given, one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from gapless._runtime.clock import Errand


class Job:
    """A function on its way through a helper."""

    __slots__ = ("_claim", "_done", "_errand", "_error", "_function", "_value")

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function: Callable[[], Any] | None = function
        self._value: Any = None
        self._error: BaseException | None = None
        self._errand = Errand()
        self._claim = threading.Lock()  # taken for good by who runs the job, or by who takes it back
        self._done = threading.Lock()
        self._done.acquire()

    def run(self) -> None:
        if not self._claim.acquire(blocking=False):
            return
        function, self._function = self._function, None
        assert function is not None
        self._errand.begin()
        try:
            self._value = function()
        except BaseException as error:  # it rises where the result is asked for
            self._error = error
        finally:
            self._errand.end()
            self._done.release()

    def take_back(self) -> bool:
        """Whether the job had not begun, and now will not."""
        if not self._claim.acquire(blocking=False):
            return False
        self._function = None
        return True

    def result(self) -> Any:
        """Wait for the job and return its result, or raise its exception."""
        if self._done.locked():
            with self._errand.awaited(), self._done:
                pass
        if self._error is not None:
            raise self._error
        return self._value


class Helper:
    """One thread, which sleeps until it is given a job."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="gapless helper", daemon=True)
        self._thread.start()

    def give(self, job: Job) -> None:
        self._jobs.put(job)

    def end(self) -> None:
        """Let the thread end after the jobs that it was given."""
        self._jobs.put(None)

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.run()
            del job  # while the helper sleeps it keeps nothing of the last job
