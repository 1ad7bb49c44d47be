"""Kernels that public calls ask for after `warmup`, though `warmup` has not: run as a process, told as JSON.

A kernel that was asked for once is in the process. A new request is a kernel that `warmup` does not know of, whether or not
another test has left it on disk. All calls, some thousands, are shared among as many copies of the process as it has cores,
each made after `warmup`.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from numba import types

import gapless
from gapless._compile import kernel_cache
from gapless._runtime.threads import available_cores
from tests.package import calls, rare_calls

asked: list[str] = []
kernels: list[Any] = []
found, keep = kernel_cache._Cache._found, kernel_cache.keep
Call = tuple[str, Callable[[], Any]]
chosen: list[Call] = []


def recorded(self, sig, context, everywhere=True):
    if everywhere:
        asked.append(f"{self._py_func.__module__}.{self._py_func.__qualname__}{sig}")
    return found(self, sig, context, everywhere)


def gives_numbers(kind: types.Type) -> bool:
    """Whether Python gets numbers, or tuples of them.

    For an array numba calls a Python function as soon as the kernel has ended, and does not look at its errors: a handler of a
    signal that came meanwhile and raises there ends as SystemError, or crashes.
    """
    if isinstance(kind, types.BaseTuple) and not isinstance(kind, types.NamedTuple | types.NamedUniTuple):
        return all(map(gives_numbers, kind))
    return isinstance(kind, types.Number | types.Boolean | types.NoneType)


def giving_arrays() -> list[str]:
    """Kernels with a way in from Python that return anything but numbers."""
    return [
        f"{kernel.py_func.__module__}.{kernel.py_func.__qualname__} -> {variant.signature.return_type}"
        for kernel in kernels
        for variant in kernel.overloads.values()
        if not kernel.targetoptions.get("no_cpython_wrapper") and not gives_numbers(variant.signature.return_type)
    ]


def wanted(what: str, names: str, folder: Path) -> Iterator[Call]:
    """The calls: ``what`` is "some" or "all", ``names`` an estimator or nothing."""
    thorough = what == "all"
    for label, run in calls.fits(thorough):
        if not names or label.startswith(f"{names}("):
            yield label, run
    if names:
        return
    yield from calls.functions(thorough)
    if thorough:
        yield from rare_calls.rare_calls()
        yield from calls.commands(folder)


def kernels_of(number: int) -> tuple[str, list[str], float]:
    """The kernels that one of the chosen calls asks for anew, or its error; and the processor seconds of the call."""
    label, run = chosen[number]
    before, began = len(asked), time.process_time()
    failed = []
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            run()
        except Exception as error:  # told with the call that it came from
            failed.append(f"{type(error).__name__}: {error}")
    return label, [*asked[before:], *failed], time.process_time() - began


def main(what: str, names: str) -> dict[str, list[str]]:
    kernel_cache._Cache._found = recorded
    kernel_cache.keep = lambda dispatcher: kernels.append(keep(dispatcher)) or dispatcher
    gapless.warmup(names or None)
    missing: dict[str, list[str]] = {}
    slow: list[tuple[float, str]] = []
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        chosen.extend(wanted(what, names, Path(folder)))
        each: Iterator[tuple[str, list[str], float]] = map(kernels_of, range(len(chosen)))
        if what == "all" and available_cores() > 1 and hasattr(os, "fork"):
            pool = stack.enter_context(multiprocessing.get_context("fork").Pool(available_cores()))
            each = pool.imap_unordered(kernels_of, range(len(chosen)))
        for label, new, seconds in each:
            if new:
                missing[label] = new
                print(f"{label}: {', '.join(new)}", file=sys.stderr, flush=True)
            slow.append((seconds, label))
            if what == "all" and len(slow) % 250 == 0:
                print(f"{len(slow)} of {len(chosen)} calls", file=sys.stderr, flush=True)
    if giving_arrays():
        missing["kernels that give arrays to Python"] = giving_arrays()
    slow.sort(reverse=True)
    print(f"{len(slow)} calls, {sum(seconds for seconds, _ in slow):.0f} processor seconds", file=sys.stderr)
    for seconds, label in slow[:20]:
        print(f"{seconds:8.1f} s  {label}", file=sys.stderr)
    return missing


if __name__ == "__main__":
    with gapless.config_context(backend="numba"):
        print(json.dumps(main(*sys.argv[1:])))
