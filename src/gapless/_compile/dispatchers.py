"""What numba makes of our functions: dispatchers with the options of all kernels, and instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core import config
from numba.extending import intrinsic

from gapless._compile import kernel_cache


def make_dispatcher(
    function: Callable[..., Any], vectorise: bool, finite: bool, allocates: bool, inner: bool, inline: bool
) -> Any:
    """A dispatcher of numba's, kept on disk; where nothing is compiled (NUMBA_DISABLE_JIT=1), the function."""
    if config.DISABLE_JIT:
        return function
    # Reassociation and fused multiply-add let a reduction use vector registers. NaN and infinity keep their meaning.
    vector = {"reassoc", "contract", "nsz"}
    flags = (vector | {"nnan"} if finite else vector) if vectorise else False
    # No kernel is called from C: the wrapper for such calls would be compiled with every kernel, and used by nobody.
    options: dict[str, Any] = {"nogil": True, "fastmath": flags, "error_model": "numpy", "no_cfunc_wrapper": True}
    if inner or not allocates:
        options["_nrt"] = False
    if inner:
        options |= {"no_cpython_wrapper": True, "forceinline": inline}
    dispatcher = kernel_cache.keep(numba.njit(**options)(function))
    if inner:
        _close_to_python(dispatcher)
    return dispatcher


def _close_to_python(dispatcher: Any) -> None:
    """There is no way in from Python: say so instead of jumping to it."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise TypeError(f"{dispatcher.py_func.__qualname__} is called by kernels only")

    dispatcher._insert = lambda *args: None
    dispatcher._compile_for_args = refuse


def make_instruction(build: Callable[..., Any], plain: Callable[..., Any] | None) -> Any:
    """numba's intrinsic; where nothing is compiled, the Python function in its place."""
    return plain if config.DISABLE_JIT and plain is not None else intrinsic(build)
