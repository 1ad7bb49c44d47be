"""One thread budget.

Kernels release the GIL and start no threads; parallel work is ours to cut.  BLAS is held to one thread while any fit
runs: with more, its sums would come in another order on another machine load, and the same fit would give other bits.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import partial
from itertools import count
from typing import Any, TypeVar

from gapless._runtime.clock import Errand
from gapless._runtime.helpers import Helper, Job

T = TypeVar("T")
R = TypeVar("R")

_lock = threading.Lock()
_inside = 0
_libraries: list[Any] | None = None
_known = 0
_before: list[int] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS on one thread until the last of all concurrent fits has left, whichever threads they run in."""
    global _inside, _libraries, _before, _known
    with _lock:
        if _inside == 0:
            known = sum(name in sys.modules for name in ("numpy.linalg", "scipy.linalg"))  # each has a BLAS of its own
            if _libraries is None or known != _known:
                from threadpoolctl import ThreadpoolController

                _known = known
                _libraries = ThreadpoolController().select(user_api="blas").lib_controllers
            _before = [library.num_threads for library in _libraries]
            _set_threads([1] * len(_before))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _set_threads(_before)


def _set_threads(numbers: list[int]) -> None:
    """threadpoolctl lets only the thread that set OpenBLAS first change it; here the lock decides, not the thread."""
    import threadpoolctl

    owner = getattr(threadpoolctl, "OpenBLASController", None)
    let_go = getattr(owner, "clear_controlling_thread", None)
    if let_go is not None:
        let_go(force=True)
    for library, number in zip(_libraries or [], numbers):
        library.set_num_threads(number)
    if let_go is not None:
        let_go(force=True)


def _forget_after_fork() -> None:
    # A fork may catch the lock held by a thread that does not exist in the child.
    # BLAS itself is left as it is: its own locks, and threadpoolctl's, may have been caught as well.
    global _lock, _inside
    _lock, _inside = threading.Lock(), 0
    _idle.clear()  # its threads are the parent's
    members = _team.get()
    if members is not None:
        members.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


def available_cores() -> int:
    """Cores this process may use: affinity and container quota included."""
    from joblib import cpu_count

    return int(cpu_count())


def n_threads(n_jobs: int | None) -> int:
    """scikit-learn's reading of n_jobs: None is 1, -1 is all cores, -2 all but one."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning: give a number of threads, or -1 for all cores.")
    return max(1, available_cores() + 1 + n_jobs) if n_jobs < 0 else int(n_jobs)


@contextmanager
def _room_for_threads() -> Iterator[None]:
    """Python says RuntimeError where the stack of a new thread gets no memory."""
    try:
        yield
    except RuntimeError as error:
        if "start new thread" not in str(error):
            raise
        raise MemoryError("there is no memory for another thread: ask for fewer by n_jobs") from None


def map_threads(function: Callable[[T], R], items: Iterable[T], n_jobs: int | None) -> list[R]:
    """[function(item) for item in items] on n_jobs threads, in order. Configuration travels with each call.

    Items that run side by side share no further threads; a single one keeps the team it was called with.
    """
    todo = list(items)
    threads = min(n_threads(n_jobs), len(todo))
    if threads <= 1:
        return [function(item) for item in todo]

    with ThreadPoolExecutor(threads) as pool:
        errands = [Errand() for _ in todo]
        with _room_for_threads():
            futures = [
                pool.submit(copy_context().run, _do, errand, function, item) for errand, item in zip(errands, todo)
            ]
        found = []
        for errand, future in zip(errands, futures):
            with errand.awaited():
                found.append(future.result())
        return found


def _do(errand: Errand, function: Callable[..., R], *args: Any) -> R:
    errand.begin()
    try:
        return _alone(function, *args)
    finally:
        errand.end()


def _alone(function: Callable[..., R], *args: Any) -> R:
    """What runs on a helper has no helpers."""
    _team.set(None)
    return function(*args)


class _Team:
    """Threads that help the one that holds the contract; taken when first needed, from those of earlier fits or new."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._helpers: list[Helper] = []
        self._begun: list[Job] = []

    def forget(self) -> None:
        self._helpers, self._begun = [], []

    def call(self, work: Callable[[], None]) -> list[Job]:
        """``work`` on every helper; what to wait for."""
        helpers = self._started()
        called = [Job(work) for _ in helpers]
        for helper, job in zip(helpers, called):
            helper.give(job)
        return called

    def start(self, function: Callable[[], Any]) -> Job:
        helpers = self._started()
        job = Job(partial(copy_context().run, _alone, function))
        helpers[len(self._begun) % len(helpers)].give(job)
        self._begun.append(job)
        return job

    def _started(self) -> list[Helper]:
        if not self._helpers:
            with _lock:
                waiting = _idle.get(self.size)
                self._helpers = waiting.pop() if waiting else []
            with _room_for_threads():
                self._helpers = self._helpers or [Helper() for _ in range(self.size - 1)]
        return self._helpers

    def leave(self) -> None:
        """The threads wait for the next fit: to start and to end one takes as long as a small part of a fit."""
        most_idle = 2
        if not self._helpers:
            return
        for job in self._begun:
            with suppress(BaseException):  # whoever asked for it was told
                job.result()
        with _lock:
            waiting = _idle.setdefault(self.size, [])
            if len(waiting) < most_idle:
                waiting.append(self._helpers)
                return
        for helper in self._helpers:
            helper.end()


#: Teams that wait for the next fit, by size.
_idle: dict[int, list[list[Helper]]] = {}
_team: ContextVar[_Team | None] = ContextVar("gapless_team", default=None)


@contextmanager
def thread_team(n_jobs: int | None) -> Iterator[None]:
    """``run_in_parts`` uses n_jobs threads until the end of the block."""
    size = n_threads(n_jobs)
    members = _Team(size) if size > 1 else None
    token = _team.set(members)
    try:
        yield
    finally:
        _team.reset(token)
        if members is not None:
            members.leave()


def run_in_parts(function: Callable[[int], None], parts: int, tick: Callable[[], None] | None = None) -> None:
    """function(0), ..., function(parts - 1), each once, on the team's threads.

    Which thread takes which part is left to chance, so each part must write to a place of its own, and the parts must
    be cut by the shape of the data alone: then the bits are the same for any number of threads.  ``tick`` may raise;
    the helpers then finish their part and no other begins.
    """
    if parts == 1:
        function(0)
        if tick is not None:
            tick()
        return
    members = _team.get()
    if members is None or parts < 2:
        for k in range(parts):
            function(k)
            if tick is not None:
                tick()
        return
    following = count()
    ended = False
    held = [function]

    def work() -> None:
        while not ended and (k := next(following)) < parts:
            held[0](k)

    called = members.call(work)
    try:
        while (k := next(following)) < parts:
            function(k)
            if tick is not None:
                tick()
    finally:
        ended = True
        for job in called:
            if not job.take_back():  # a helper that is busy elsewhere has nothing left to do here
                job.result()
        held.clear()  # the frame of a helper may outlive this call, and would keep our arrays


def in_background(function: Callable[[], R]) -> Callable[[], R]:
    """Start ``function`` on a helper, if there is one; what comes back gives its result, and waits for it."""
    members = _team.get()
    if members is None:
        return function
    return members.start(function).result
