"""Work that a signal handler must not break: it runs in a thread of its own while the main thread waits.

Python runs the handlers of signals in the main thread, between any two steps. A handler that raises, as that of Ctrl-C does,
would leave numba and LLVM with objects half made, and every later compile would fail or crash. Here it ends the wait, and the
thread goes on to the end of its work.
"""

from __future__ import annotations

import _thread
import atexit
import threading
from collections.abc import Callable
from typing import Any

from gapless._runtime import clock

#: Threads at such work, by the lock that each gives back at its end.
under_way: set[Any] = set()


def run_apart(function: Callable[..., Any], *arguments: Any, wait: Callable[[Any], Any] | None = None) -> Any:
    """``function(*arguments)``; ``wait`` is how the main thread waits for the lock that the other one gives back."""
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments)
    found: list[Any] = []
    failed: list[BaseException] = []
    errand = clock.Errand()
    gate = _thread.allocate_lock()
    gate.acquire()

    def run() -> None:
        under_way.add(gate)
        errand.begin()
        try:
            found.append(function(*arguments))
        except BaseException as error:  # it is raised again where the work was asked for
            failed.append(error)
        finally:
            errand.end()
            # Before it is given back: the main thread takes it then, and `_end_work` would wait for it for ever.
            under_way.discard(gate)
            gate.release()

    # One step for the main thread: in the middle of `threading.Thread.start` a handler must not raise either.
    _thread.start_new_thread(run, ())
    with errand.awaited():
        if wait is None:
            gate.acquire()
        else:
            wait(gate)
    if failed:
        raise failed[0]
    return found[0]


@atexit.register
def _end_work() -> None:
    """A process that ends while numba compiles would tear down what its thread works on."""
    for gate in tuple(under_way):
        gate.acquire()
