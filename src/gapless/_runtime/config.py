"""Settings that hold for a block of code: ``with config_context(convergence="raise"): ...``.

The settings live in a context variable, so that threads and tasks do not disturb one another; our own
threads run in a copy of the context of the thread that started them.
"""

from __future__ import annotations

import contextlib
import contextvars
import re
import threading
import warnings
from collections.abc import Iterator
from typing import Any

from gapless._runtime.written import written
from gapless.errors import BackendWarning, ConvergenceWarning

__all__ = ["config_context", "get_config", "report_convergence"]

_settings: contextvars.ContextVar[dict[str, Any] | None] = contextvars.ContextVar("gapless_config", default=None)


def get_config() -> dict[str, Any]:
    """The settings in force here, as a new dict."""
    return dict(_settings.get() or {"convergence": "warn", "backend": _backend_of_worker()})


@contextlib.contextmanager
def config_context(*, convergence: str | None = None, backend: str | None = None) -> Iterator[None]:
    """Settings for a block of code.

    Parameters
    ----------
    convergence : {"warn", "raise", "record", "ignore"}, optional
        What a fit does that ends before its relative gap reached ``tol``: warn; raise the ConvergenceWarning
        as an exception; or say nothing and leave it to ``status_`` and ``certificate_``. None leaves it as
        it is.
    backend : {"auto", "numpy", "numba"}, optional
        What computes a fit: numpy, which compiles nothing; kernels compiled by numba; or, with ``"auto"``, numpy below
        400,000 values and kernels above. Estimators without a way in numpy run on kernels. None leaves it as it is.
    """
    outer = get_config()
    settings = outer | _checked("convergence", convergence, ["warn", "raise", "record", "ignore"])
    settings |= _checked("backend", backend, ["auto", "numpy", "numba"])
    token = _settings.set(settings)
    try:
        with _for_workers(settings, outer):
            yield
    finally:
        _settings.reset(token)


def _checked(name: str, asked: str | None, accepted: list[str]) -> dict[str, Any]:
    """The setting, if one is asked for."""
    if asked is None:
        return {}
    if asked not in accepted:
        raise ValueError(f"{name} must be one of {accepted}; got {written(asked)}")
    return {name: asked}


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
    """The message pattern of a warning filter that matches nothing here and ``pattern`` in a worker process.

    scikit-learn hands the warning filters to the processes of ``n_jobs=``, by their ``pattern``: the one
    road on which a setting travels there. In this process the context variable rules, and the filter must
    not silence other threads.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    def match(self, text: str) -> None:
        return None


_filters_lock = threading.Lock()


@contextlib.contextmanager
def _for_workers(settings: dict[str, Any], outer: dict[str, Any]) -> Iterator[None]:
    entries: list[Any] = []
    if settings["convergence"] != outer["convergence"]:
        action = {"raise": "error", "warn": "default"}.get(settings["convergence"], "ignore")
        entries.append((action, _OnlyInWorkers(".*"), ConvergenceWarning, None, 0))
    if settings["backend"] != outer["backend"]:
        entries.append(
            ("default", _OnlyInWorkers(f"gapless computes with {settings['backend']}"), BackendWarning, None, 0)
        )
    with _filters_lock:
        warnings.filters[:0] = entries  # type: ignore[index]
    try:
        yield
    finally:
        with _filters_lock:
            for entry in entries:
                for k, other in enumerate(warnings.filters):
                    if other is entry:
                        del warnings.filters[k]  # type: ignore[attr-defined]
                        break


def _backend_of_worker() -> str:
    """The backend that the process which started this one asked for, if it did so: the words of a filter of warnings."""
    for _, message, category, *_ in warnings.filters:
        if category is BackendWarning and isinstance(message, re.Pattern):
            asked = re.fullmatch("gapless computes with (auto|numpy|numba)", message.pattern)
            if asked:
                return asked[1]
    return "auto"
