"""The one clock: seconds of work of the calling thread.

``now()`` runs on like ``time.perf_counter`` and stands still while the calling thread waits for a compile: one of its own; one
of another thread, while that thread keeps numba's lock from this one; or one of a thread that does an errand for this one,
while this one waits for the errand's end.  A compile in the background, in another thread or process, stops nobody's clock.
Reading a kernel from disk is work.  What a child process compiles (a search on joblib's processes, say) cannot be seen from
here: it counts as work, like all that the child does.

numba compiles under one lock.  It tells when a thread asks for the lock and when it has left it, and when a compile begins
and ends; ``_jit`` passes that on to ``lock_asked``, ``lock_left``, ``compile_began`` and ``compile_ended``.  Let G be the seconds
of all compiles so far.  While another thread compiles, a thread that has asked for the lock can only be waiting for it.  So
the seconds that a thread waited for a compile, its own or another's, nested or not, are the growth of G between its
``lock_asked`` and its ``lock_left``.

This module loads the standard library alone: what needs numpy alone uses it without numba.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

Seconds = Callable[[], float]


class _Compiles:
    """The seconds of all compiles of this process, G: those that ended, and the one under way."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        # Seconds of ended compiles, and the begin of the current one. Set in one step, for other threads read it.
        self._state: tuple[float, float | None] = (0.0, None)

    def began(self) -> None:
        with self._lock:
            self._depth += 1
            if self._depth == 1:
                self._state = self._state[0], perf_counter()

    def ended(self) -> None:
        with self._lock:
            self._depth -= 1
            total, since = self._state
            if self._depth == 0 and since is not None:
                self._state = total + perf_counter() - since, None

    def seconds(self) -> float:
        total, since = self._state
        return total if since is None else total + perf_counter() - since

    def under_way(self) -> bool:
        return self._state[1] is not None


class _ThreadClock:
    """How long one thread stood still, and by what that grows at present: nothing, G, all seconds, or another thread's."""

    __slots__ = ("_outer", "_state")

    def __init__(self) -> None:
        # Seconds, what they grow by, and the value of that when it was chosen. Set in one step, for other threads read it.
        self._state: tuple[float, Seconds | None, float] = (0.0, None, 0.0)
        self._outer: list[Seconds | None] = []

    def still(self) -> float:
        seconds, source, mark = self._state
        return seconds if source is None else seconds + source() - mark

    def follow(self, source: Seconds) -> None:
        """Stand still for as long as ``source`` grows; a thread that stands still altogether goes on to do so."""
        current = self._state[1]
        self._outer.append(current)
        self._grow_by(perf_counter if current is perf_counter else source)

    def unfollow(self) -> None:
        if self._outer:  # else the listener was registered in between
            self._grow_by(self._outer.pop())

    def set_by(self, other: _ThreadClock) -> None:
        self._state, self._outer = (other.still(), None, 0.0), []

    def _grow_by(self, source: Seconds | None) -> None:
        if source != self._state[1]:
            self._state = self.still(), source, 0.0 if source is None else source()


class _Local(threading.local):
    def __init__(self) -> None:
        self.clock = _ThreadClock()


_compiles = _Compiles()
_local = _Local()
#: Seconds of numba's import, which happens once, while some thread waits for its first kernel.
_imports = 0.0


def now() -> float:
    """Seconds of work: only differences have a meaning, and only within a thread and the errands it gave."""
    return perf_counter() - _local.clock.still()


def stood_still() -> float:
    """Seconds that the calling thread waited for compiles, since its beginning or that of the thread it works for."""
    return _local.clock.still()


def compile_seconds() -> float:
    """Seconds of all compiles of this process, whichever thread waited for them."""
    return _compiles.seconds()


def compiling_now() -> bool:
    """Whether some thread of this process compiles at present, or waits for another process that does."""
    return _compiles.under_way()


class Stopwatch:
    """Seconds of work since it was made, and apart from these the seconds of waiting for compiles."""

    def __init__(self) -> None:
        self.started = now()
        self._still, self._imports = stood_still(), _imports

    @property
    def seconds(self) -> float:
        return now() - self.started

    @property
    def compile_seconds(self) -> float:
        # What is left of numba's import is rounding: no compile is as short.
        seconds = stood_still() - self._still - (_imports - self._imports)
        return seconds if seconds > 1e-6 else 0.0


class Errand:
    """Work that one thread does for another: the doer's clock is set by the giver's, and the giver's stands still while it waits
    for the doer and the doer waits for a compile."""

    __slots__ = ("_begun", "_ended", "_giver")

    def __init__(self) -> None:
        self._giver = _local.clock
        self._begun: tuple[_ThreadClock, float] | None = None
        self._ended: float | None = None

    def begin(self) -> None:
        """Called by the doer."""
        clock = _local.clock
        if clock is not self._giver:
            clock.set_by(self._giver)
        self._begun = clock, clock.still()

    def end(self) -> None:
        """Called by the doer."""
        self._ended = self._still()

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """The calling thread waits in the block for the errand's end."""
        clock = _local.clock
        clock.follow(self._still)
        try:
            yield
        finally:
            clock.unfollow()

    def _still(self) -> float:
        """Seconds that the doer stood still during the errand, so far."""
        if self._ended is not None:
            return self._ended
        if self._begun is None:
            return 0.0
        clock, at_begin = self._begun
        return clock.still() - at_begin


class Mutex:
    """A lock. A thread that waits for it stands still while the thread that holds it waits for a compile."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Seconds that earlier holders stood still; the holder's clock, and how long that had stood still at the holder's begin.
        self._state: tuple[float, _ThreadClock | None, float] = (0.0, None, 0.0)

    def __enter__(self) -> None:
        clock = _local.clock
        if not self._lock.acquire(blocking=False):
            clock.follow(self._still)
            try:
                self._lock.acquire()
            finally:
                clock.unfollow()
        self._state = self._state[0], clock, clock.still()

    def __exit__(self, *_: object) -> None:
        self._state = self._still(), None, 0.0
        self._lock.release()

    def _still(self) -> float:
        """Seconds that all holders stood still, so far."""
        earlier, holder, at_begin = self._state
        return earlier if holder is None else earlier + holder.still() - at_begin


def lock_asked() -> None:
    """The calling thread asks for numba's compiler lock."""
    _local.clock.follow(_compiles.seconds)


def lock_left() -> None:
    """The calling thread no longer holds numba's compiler lock."""
    _local.clock.unfollow()


def compile_began() -> None:
    """The calling thread, which holds numba's lock, begins to compile."""
    _compiles.began()


def compile_ended() -> None:
    _compiles.ended()


@contextmanager
def compiling() -> Iterator[None]:
    """A block that is part of a compile though numba does not say so: writing a kernel to disk, waiting for another process
    that compiles it."""
    clock = _local.clock
    clock.follow(perf_counter)
    _compiles.began()
    try:
        yield
    finally:
        _compiles.ended()
        clock.unfollow()


@contextmanager
def standing_still() -> Iterator[None]:
    """A block that is no work of the calling thread, though nothing is compiled: numba is imported."""
    global _imports
    clock = _local.clock
    before = clock.still()
    clock.follow(perf_counter)
    try:
        yield
    finally:
        clock.unfollow()
        _imports += clock.still() - before


def _forget_after_fork() -> None:
    """A compile that another thread had under way does not exist in the child."""
    global _compiles
    _compiles = _Compiles()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
