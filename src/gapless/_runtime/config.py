"""Settings that hold for a block of code: ``with config_context(convergence="raise"): ...``.

The settings live in a context variable, so that threads and tasks do not disturb one another; our own
threads run in a copy of the context of the thread that started them.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
import warnings
from collections.abc import Iterator
from typing import Any

from gapless._runtime.written import written
from gapless.errors import ConvergenceWarning

__all__ = ["config_context", "get_config", "report_convergence"]

_settings: contextvars.ContextVar[dict[str, Any] | None] = contextvars.ContextVar("gapless_config", default=None)


def get_config() -> dict[str, Any]:
    """The settings in force here, as a new dict."""
    return dict(_settings.get() or {"convergence": "warn"})


@contextlib.contextmanager
def config_context(*, convergence: str | None = None) -> Iterator[None]:
    """Settings for a block of code.

    Parameters
    ----------
    convergence : {"warn", "raise", "record", "ignore"}, optional
        What a fit does that ends before its relative gap reached ``tol``: warn; raise the ConvergenceWarning
        as an exception; or say nothing and leave it to ``status_`` and ``certificate_``. None leaves it as
        it is.
    """
    settings = get_config()
    outer = settings["convergence"]
    if convergence is not None:
        accepted = ["warn", "raise", "record", "ignore"]
        if convergence not in accepted:
            raise ValueError(f"convergence must be one of {accepted}; got {written(convergence)}")
        settings["convergence"] = convergence
    token = _settings.set(settings)
    try:
        with _for_workers(settings["convergence"], outer):
            yield
    finally:
        _settings.reset(token)


def report_convergence(message: str, *, stacklevel: int = 3) -> None:
    """Say, raise or keep silent about a fit that did not converge, as the settings ask. Call it once a
    fit.
    """
    mode = get_config()["convergence"]
    if mode == "raise":
        raise ConvergenceWarning(message)
    if mode == "warn":
        warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel)


class _OnlyInWorkers:
    """The message pattern of a warning filter that matches nothing here and everything in a worker process.

    scikit-learn hands the warning filters to the processes of ``n_jobs=``, by their ``pattern``: the one
    road on which a setting travels there. In this process the context variable rules, and the filter must
    not silence other threads.
    """

    pattern = ".*"

    def match(self, text: str) -> None:
        return None


_filters_lock = threading.Lock()


@contextlib.contextmanager
def _for_workers(mode: str, outer: str) -> Iterator[None]:
    if mode == outer:  # nothing to say, or said already
        yield
        return
    action = {"raise": "error", "warn": "default"}.get(mode, "ignore")
    entry: Any = (action, _OnlyInWorkers(), ConvergenceWarning, None, 0)
    with _filters_lock:
        warnings.filters.insert(0, entry)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        with _filters_lock:
            for k, other in enumerate(warnings.filters):
                if other is entry:
                    del warnings.filters[k]  # type: ignore[attr-defined]
                    break
