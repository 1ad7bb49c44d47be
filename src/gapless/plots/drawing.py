"""Pictures drawn by a process of their own: to load matplotlib and to draw takes longer than many a fit.

A command opens `beside()` before it reads its data; the page then hands its displays over as it makes them and takes the
images when all else is written. Where no such process can be had, or it fails, the picture is drawn in place.

Gain, where a core is idle: `gapless train` with a page, logistic regression of 20,000 x 20 rows, 1.8 times (3.3 to 1.8 s of the
command's own processor time), a linear SVM of 400 x 5 rows 1.3 times.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any

from gapless._runtime.second_process import start
from gapless._runtime.threads import one_blas_thread

__all__ = ["beside", "drawn", "image", "serve", "with_company"]


def image(display: Any) -> tuple[str, str]:
    """(type, base64): vector graphics where they are small, dots where not."""
    # Markers, and bytes, of one vector image beyond which dots are stored instead.
    most_marks, vector_bytes, dots_per_inch = 1000, 250_000, 110
    from matplotlib import pyplot, rc_context

    figure = display.plot().figure_
    try:
        with rc_context({"svg.fonttype": "path", "svg.hashsalt": "gapless"}):
            marks = sum(len(each.get_offsets()) for ax in figure.axes for each in ax.collections)
            kinds: Any = (("image/svg+xml", {"metadata": {"Date": None}}), ("image/png", {"dpi": dots_per_inch}))
            for mime, options in kinds[marks > most_marks :]:
                stream = io.BytesIO()
                figure.savefig(stream, format=mime[6:9], bbox_inches="tight", facecolor="white", **options)
                if stream.tell() <= vector_bytes or mime == "image/png":
                    break
    finally:
        pyplot.close(figure)
    return mime, base64.b64encode(stream.getvalue()).decode("ascii")


class _Artist:
    """The process, and a thread that hands it one display after the other."""

    def __init__(self) -> None:
        self.process = start(__name__, {"MPLBACKEND": "Agg"}, stdout=subprocess.PIPE)
        self.thread = ThreadPoolExecutor(1)

    def ask(self, display: Any) -> Callable[[], tuple[str, str]]:
        return self.thread.submit(self._one, pickle.dumps(display, pickle.HIGHEST_PROTOCOL)).result

    def _one(self, display: bytes) -> tuple[str, str]:
        to, back = self.process.stdin, self.process.stdout
        assert to is not None
        assert back is not None
        to.write(display)
        to.flush()
        mime, data = json.loads(back.readline())
        return mime, data

    def close(self) -> None:
        self.process.kill()  # the images are taken, or nobody will
        self.process.wait()
        self.thread.shutdown(cancel_futures=True)
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]


_artist: ContextVar[_Artist | None] = ContextVar("artist", default=None)


@contextlib.contextmanager
def beside(wanted: bool = True) -> Iterator[None]:
    """While this is open, pictures are drawn by another process, which begins to load what it needs at once."""
    artist = None
    if wanted and sys.executable and (os.cpu_count() or 1) > 1:
        with contextlib.suppress(OSError):
            artist = _Artist()
    token = _artist.set(artist)
    try:
        yield
    finally:
        _artist.reset(token)
        if artist is not None:
            artist.close()


@contextlib.contextmanager
def with_company() -> Iterator[None]:
    """BLAS on one thread where pictures are drawn beside: two processes that wait for the same cores are slower than one."""
    with contextlib.nullcontext() if _artist.get() is None else one_blas_thread():
        yield


def drawn(display: Any) -> Callable[[], tuple[str, str]]:
    """A promise of its image."""
    artist = _artist.get()
    if artist is None:
        return lambda: image(display)
    try:
        promise = artist.ask(display)
    except (pickle.PicklingError, TypeError, AttributeError, RuntimeError):
        return lambda: image(display)

    def taken() -> tuple[str, str]:
        try:
            return promise()
        except (OSError, ValueError):  # the process is gone: here, then, and what is wrong is said here too
            return image(display)

    return taken


def serve() -> None:
    """The other side: displays in, images out, until there are no more."""
    # Modules of the pictures that nearly every page of a command has, loaded ahead.
    usual_displays = ("optimisation.gap", "models.margin", "models.reliability", "models.boosting")
    import importlib
    import warnings

    back = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # nothing but answers goes back
    warnings.simplefilter("ignore")
    with contextlib.suppress(ImportError):
        importlib.import_module("matplotlib.pyplot")
        importlib.import_module("matplotlib.backends.backend_svg")
        for name in usual_displays:
            importlib.import_module(f"gapless.plots.{name}")
    with contextlib.suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        while True:
            back.write(json.dumps(image(pickle.load(sys.stdin.buffer))) + "\n")
            back.flush()
