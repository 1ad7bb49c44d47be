"""The one loop: stopping, history, callbacks, time limit and interruption of every solver.

A solver calls ``loop.tick()`` at least every 0.2 s of work and ``loop.record(...)`` whenever it holds a primal and a
dual point worth returning.  Either may raise ``Ended``; the best point recorded so far is what the fit returns.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gapless._runtime.clock import now
from gapless.numbers import relative_gap
from gapless.problems.examples.protocol import Handle
from gapless.solvers.solution import Event, Status

#: Values (rows times columns) up to which equal rows are merged, and steps past the tolerance are a small part of a fit.
SMALL_FIT_VALUES = 400_000


@dataclass(frozen=True)
class Stop:
    """Where a fit may stop: relative gap, passes, seconds."""

    relative_gap: float = 1e-4
    passes: int = 1000
    seconds: float | None = None


class Ended(Exception):
    """The loop is over: converged, out of passes, out of time or interrupted."""


class Interruption:
    """A flag that Ctrl-C sets instead of raising, so that no state is ever half-written."""

    def __init__(self) -> None:
        self.requested = False
        #: Whether the fit looks at the flag in the end and raises KeyboardInterrupt itself.
        self.heard = False

    def check(self) -> None:
        """Raise KeyboardInterrupt if it was requested: for fits that return nothing when they are stopped."""
        if self.requested:
            raise KeyboardInterrupt


class Watch(NamedTuple):
    """Who is told of each event of a fit, and who may end it."""

    callback: Callable[[Event], None] | None = None
    interruption: Interruption | None = None
    keep: Callable[[Loop], None] | None = None  #: called with the loop where a better point is recorded


@contextmanager
def interruptible(model: Any = None) -> Iterator[Interruption]:
    """Turn SIGINT into a flag for the length of a fit. A second Ctrl-C raises at once.

    Whatever is raised inside the block, by a second Ctrl-C, by another handler or by the fit itself, leaves ``model`` as it was
    before.
    """
    flag = Interruption()
    flag.heard = True

    def note(signum: int, frame: Any) -> None:
        if flag.requested:
            signal.default_int_handler(signum, frame)
        flag.requested = True

    before = {} if model is None else dict(vars(model))
    try:
        with _handled_by(note):
            yield flag
    except BaseException:
        if model is not None:
            model.__dict__ = before
        raise


@contextmanager
def audible() -> Iterator[None]:
    """Let SIGINT raise at once in calls that return nothing when they are stopped; and raise once more at the end of the block.

    The first exception may be lost: Python ignores exceptions that are raised while it disposes of an object, and numpy makes
    others of some.
    """
    pressed = []

    def note(signum: int, frame: Any) -> None:
        pressed.append(signum)
        signal.default_int_handler(signum, frame)

    try:
        with _handled_by(note):
            yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if pressed:
            raise KeyboardInterrupt from error
        raise
    if pressed:
        raise KeyboardInterrupt


@contextmanager
def _handled_by(handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Replace Python's own handler of SIGINT, never another one, and only in the main thread, which alone receives the signal."""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _copied(handle: Handle) -> Handle:
    """A copy of a handle: an array's, a list's, or a tensor's."""
    return handle.copy() if hasattr(handle, "copy") else handle.clone()


class Loop:
    """State of one fit of one problem, shared by all solvers that take part in it."""

    def __init__(self, stop: Stop, watch: Watch = Watch(), *, started: float | None = None) -> None:
        self.stop = stop
        self.callback, self.keep = watch.callback, watch.keep
        self.interruption = watch.interruption or Interruption()
        self.started = now() if started is None else started
        self.n_iter = 0
        self.status: Status | None = None
        self.history: list[Event] = []
        self.best_theta: np.ndarray | None = None
        self.best_scores: Handle | None = None
        self.best_combined: np.ndarray | None = None
        self._best_u: Handle | Callable[[], Handle] | None = None
        self.best_primal = np.inf
        self.best_dual = -np.inf
        #: This solve only provides a start: it ends at the gap that was asked for.
        self.rough = False
        #: The linear system that a solver leaves to the same solver on a larger copy of the problem.
        self.system: Any = None
        #: An order of the examples that does not depend on theirs: equal problems draw equal samples.
        self.order: np.ndarray | None = None
        #: The active sets are known: the best point is the optimum up to rounding.
        self.settled = False
        #: Seconds that must be left at the end, for a last evaluation of the point that is returned.
        self.reserve = 0.0
        self._took_dual = False
        self._thin = 1
        self._seen = 0

    @property
    def seconds(self) -> float:
        return now() - self.started

    @property
    def recorded_u(self) -> Handle | None:
        """The best dual point, if it is there already: making it may write over what its solver still needs."""
        return None if callable(self._best_u) else self._best_u

    @property
    def best_u(self) -> Handle | None:
        if callable(self._best_u):
            self._best_u = self._best_u()
        return self._best_u

    @property
    def relative_gap(self) -> float:
        """The relative gap of the best primal and the best dual point: both bounds hold, whichever passes they came from."""
        if self.best_theta is None or self._best_u is None:
            return np.inf
        return relative_gap(self.best_primal, self.best_dual)

    def end(self, status: Status) -> None:
        self.status = status
        raise Ended(status)

    def interrupt(self) -> None:
        """Turn a KeyboardInterrupt that was just caught (of a handler of the user's own) into the flag.

        It is raised again where the fit does not look at the flag.
        """
        if not self.interruption.heard:
            raise
        self.interruption.requested, self.status = True, "interrupted"

    @contextmanager
    def catch_end(self) -> Iterator[None]:
        """Run solvers to their end, whichever it is: what is raised becomes the status."""
        try:
            yield
        except Ended:
            pass
        except KeyboardInterrupt:
            self.interrupt()
        except (FloatingPointError, np.linalg.LinAlgError):
            self.status = self.status or "stalled"

    def tick(self) -> None:
        """End the loop if the time is over or Ctrl-C was pressed. Cheap: call it often."""
        if self.interruption.requested:
            self.end("interrupted")
        if self.stop.seconds is not None and self.seconds + self.reserve >= self.stop.seconds:
            self.end("time_limit")

    def offer(self, u: Handle) -> None:
        """Keep a dual point to return if none is recorded."""
        if self._best_u is None:
            self._best_u = u

    def advance(self, passes: int = 1) -> None:
        """Count passes over the data (Newton: steps); the last allowed one is still recorded before the end."""
        self.n_iter += passes

    def record(
        self,
        theta: np.ndarray,
        u: Handle | Callable[[], Handle],
        primal: float,
        dual: float,
        *,
        ends: bool = True,
        scores: Handle | None = None,
    ) -> bool:
        """Keep the lowest primal and the highest dual point, tell the callback, and end if that is enough.

        ``u``, which is copied, may be a function that makes the dual point; it is called only if that point is returned.
        ``scores`` are the scores of theta, if they were computed from theta itself and not by steps towards it.
        """
        better = primal < self.best_primal or dual > self.best_dual
        self._took_dual = dual > self.best_dual
        if primal < self.best_primal:
            self.best_primal, self.best_theta, self.best_scores = primal, theta.copy(), scores
        if dual > self.best_dual:
            if isinstance(u, np.ndarray) and isinstance(self._best_u, np.ndarray) and self._best_u.shape == u.shape:
                self._best_u[...] = u  # no second copy beside the old one
            else:
                self._best_u = u if callable(u) else _copied(u)
            self.best_dual, self.best_combined = dual, None
        event = Event(self.n_iter, self.seconds, self.best_primal, self.best_dual)
        self._remember(event)
        if self.callback is not None:
            self.callback(event)
        if self.keep is not None and better:
            self.keep(self)
        if ends:
            if self.relative_gap <= self.stop.relative_gap:
                self.end("converged")
            if self.n_iter >= self.stop.passes:
                self.end("max_iter")
        self.tick()
        return better

    def know_scores(self, theta: np.ndarray, scores: Handle) -> None:
        """Keep the scores of theta if it is the best point; the array belongs to the loop from now on."""
        if self.best_theta is not None and np.array_equal(self.best_theta, theta):
            self.best_scores = scores

    def know_combined(self, combined: np.ndarray) -> None:
        """Keep sum u x of the dual point recorded last if that is the best one."""
        if self._took_dual:
            self.best_combined = combined

    def keep_pair(self, scores: Handle, u: Handle) -> None:
        """Keep the scores of the best theta, and the dual point to return; both arrays belong to the loop from now on."""
        self.best_scores, self._best_u = scores, u

    def prefer(self, theta: np.ndarray, u: Handle, primal: float, dual: float) -> None:
        """Return this pair: the two belong together, and their gap is as small as rounding lets it be.

        The lowest primal and the highest dual point may come from passes whose w differ by the root of a gap of 1e-14.
        """
        if primal - dual <= (self.best_primal - self.best_dual) + 1e-9 * abs(primal):
            self.best_theta, self.best_scores = theta.copy(), None
            self._best_u, self.best_combined = _copied(u), None
            self.best_primal, self.best_dual = primal, dual

    def _remember(self, event: Event) -> None:
        # When the history is full, every second event goes, and from then on only every second new one is kept.
        most_events = 200
        self._seen += 1
        if self._seen % self._thin:
            return
        self.history.append(event)
        if len(self.history) > most_events:
            del self.history[1::2]
            self._thin *= 2
