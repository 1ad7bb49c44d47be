"""One data set in a process of its own, which can be killed when a fit takes too long: no library offers that itself.

The parent asks for one fit after another; the child keeps the data and the peers' own copies of it. Runs that are to
be compared take turns in the same child.
"""

from __future__ import annotations

import multiprocessing
import time
import warnings
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.core import datasets, limits, objective
from benchmarks.studies.solvers import by_name

SETTING_UP = 900.0  # loading, converting, compiling: not timed, but not for ever


@dataclass(frozen=True)
class Run:
    """What one fit took and what it returned, as judged. A killed run took `seconds` and returned nothing."""

    seconds: float
    primal: float
    note: str = ""

    @property
    def killed(self) -> bool:
        return self.note == "killed"


class Failed(Exception):
    """The solver raised, or took its process down."""


class Child:
    def __init__(self, data: str, folder: Path) -> None:
        self.data, self.folder = data, folder
        self._process: Any = None
        self._pipe: Any = None

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def fit(self, solver: str, loss: str, C: float, tol: float, cap: float, seed: int = 0) -> Run:
        """One fit, killed after `cap` seconds."""
        if self._process is None:
            self._start()
        self._pipe.send((solver, loss, C, tol, seed))
        self._receive(SETTING_UP)  # ready: the clock starts now
        try:
            if not self._answers(cap):
                self.stop()
                return Run(cap, float("inf"), "killed")
            seconds = self._receive(cap)
            return Run(seconds, *self._receive(SETTING_UP))
        except (EOFError, ConnectionError, TimeoutError) as error:
            self.stop()
            raise Failed(f"{solver}: its process ended") from error

    def _answers(self, seconds: float) -> bool:
        """Whether an answer comes in time. Counted in short slices, so that a pause of the whole run costs one of them."""
        slices = max(1, round(seconds))
        return any(self._pipe.poll(seconds / slices) for _ in range(slices))

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = None

    def _start(self) -> None:
        # a fresh interpreter, not a fork: forked threads of BLAS and OpenMP may hang
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, self.data, self.folder), daemon=True)
        self._process.start()
        other.close()

    def _receive(self, seconds: float) -> Any:
        if not self._pipe.poll(seconds):
            raise TimeoutError("no answer while setting up")
        answer = self._pipe.recv()
        if isinstance(answer, str):
            raise Failed(answer)
        return answer


def _serve(pipe: Connection, data: str, folder: Path) -> None:
    warnings.simplefilter("ignore")  # who did not converge is told by the judge
    X, y = datasets.load(data, folder)
    started: set[tuple[str, str]] = set()
    warm: set[tuple[Any, ...]] = set()
    while True:
        try:
            name, loss, C, tol, seed = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            _answer(pipe, X, y, name, loss, C, tol, seed, started, warm)
        except KeyboardInterrupt:
            return
        except Exception as error:
            pipe.send(f"{name}: {type(error).__name__}: {error}"[:400])


def _answer(
    pipe: Connection,
    X: Any,
    y: np.ndarray,
    name: str,
    loss: str,
    C: float,
    tol: float,
    seed: int,
    started: Any,
    warm: Any,
) -> None:
    solver = by_name(name, loss)
    if (name, loss) not in started:
        rows = np.concatenate([np.flatnonzero(y > 0)[:250], np.flatnonzero(y < 0)[:250]])
        solver.fit((X[rows], y[rows]), 1.0, 1e-1, seed)  # loads, compiles, starts threads
        started.add((name, loss))
    if name.startswith("gapless") and (name, loss, C, tol) not in warm:
        solver.fit((X, y), C, tol, seed)  # the way it takes depends on the data: compiled on the data
        warm.add((name, loss, C, tol))
    time.sleep(limits.PAUSE)
    pipe.send(True)
    start = time.perf_counter()
    answer = solver.fit((X, y), C, tol, seed)
    seconds = time.perf_counter() - start
    if seconds < limits.SHORT:  # the pause left the caches cold and the cores asleep: once more
        start = time.perf_counter()
        answer = solver.fit((X, y), C, tol, seed)
        seconds = time.perf_counter() - start
    pipe.send(seconds)
    coef, note = answer if isinstance(answer, tuple) else (answer, "")
    pipe.send((objective.primal(coef, X, y, C, loss), note))
