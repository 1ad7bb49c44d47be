"""Kernels that a command will need are compiled by a second process, while the command reads its files and fits.

numba compiles under one lock a process, so that threads would gain nothing. The second process is started when the command
finds the first kernel missing: with all kernels on disk there is none. It works from the far end of the list of wishes, and
of a kernel that both need at once one of the two waits for the other (`_compile/kernel_store`). It ends with the command, whose
end it sees by its standard input. ``GAPLESS_BACKGROUND=off`` does without it, and so does a machine with one core.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from queue import Empty, SimpleQueue

from gapless._compile import kernel_store
from gapless._runtime import clock
from gapless._runtime.second_process import start
from gapless._runtime.threads import available_cores

_running: _Second | None = None


class _Second:
    """The second process, as soon as there is one, and what it is to compile."""

    def __init__(self, call: str = "") -> None:
        self.call = call  # the command, or the one model that it fits
        self.wishes: list[str] = []
        self.process: subprocess.Popen[str] | None = None

    def wish(self, *names: str) -> None:
        self.wishes += names
        self._tell(*names)

    def start(self) -> tuple[str, str]:
        """Start the process; in words, who compiles from now on, and for which call."""
        own = {"GAPLESS_BACKGROUND": "off", "GAPLESS_QUIET": "1", "GAPLESS_PROCESSOR": kernel_store.level()}
        with contextlib.suppress(OSError):  # Ctrl-C is the command's
            self.process = start(__name__, own, stdout=subprocess.DEVNULL, text=True, start_new_session=True)
            self._tell(*self.wishes)
            return "in two processes", self.call
        return "", self.call

    def _tell(self, *names: str) -> None:
        if self.process is None or self.process.stdin is None:
            return
        with contextlib.suppress(OSError):  # it has ended: the command compiles all by itself
            self.process.stdin.writelines(f"{name}\n" for name in names)
            self.process.stdin.flush()

    def close(self) -> None:
        if self.process is None:
            return
        self.process.kill()
        with contextlib.suppress(OSError):
            self.process.stdin.close()  # type: ignore[union-attr]
        self.process.wait()


@contextlib.contextmanager
def beside(*names: str, call: str = "") -> Iterator[None]:
    """A block with a second process that compiles, from the first kernel on that is found missing; the last wish comes first.

    ``call``: whose kernels the line at the beginning names, with an estimate of their seconds.
    """
    global _running
    from gapless._compile import (
        kernel_cache,
    )  # imported here: numba takes 2 s, which the help of a command does not need

    if _running is not None or os.environ.get("GAPLESS_BACKGROUND") == "off" or available_cores() < 2:
        yield
        return
    _running = _Second(call)
    _running.wish(*names)
    before = len(kernel_cache.compiled_here), clock.stood_still()
    kernel_cache.before_compiling.append(_running.start)
    try:
        yield
    finally:
        kernel_cache.before_compiling.remove(_running.start)
        _running.close()
        if _running.process is not None and not os.environ.get("GAPLESS_QUIET"):
            count, seconds = len(kernel_cache.compiled_here) - before[0], clock.stood_still() - before[1]
            models = ", ".join(dict.fromkeys(name.partition(",")[0] for name in _running.wishes))
            kernel_cache.say(
                f"waited {seconds:.0f} s for kernels of {models}; {count} were compiled here, the others beside; all are kept"
            )
            atexit.unregister(kernel_cache.say_how_long)
        _running = None


def wish(*names: str) -> None:
    """What the command has come to know that it will need."""
    if _running is not None:
        _running.wish(*names)


# -- the second process --------------------------------------------------------------------------------------


def serve() -> None:
    """Compile for the names that come in, one a line, the newest first; end with the process that sends them."""
    from gapless._warmup.first_fits import first_fits  # late: it loads all that is fitted

    wishes: SimpleQueue[str] = SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            wishes.put(line.strip())
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    with contextlib.suppress(OSError, AttributeError):
        os.nice(5)
    fits, waiting = first_fits(), []
    while True:
        with contextlib.suppress(Empty):
            while True:
                waiting.append(wishes.get_nowait())
        if not waiting:
            waiting.append(wishes.get())
            time.sleep(0.01)  # for the others that come with it
            continue
        fit = fits.get(waiting.pop())
        if fit is not None:
            with contextlib.suppress(Exception):  # at worst the command compiles it
                fit()
