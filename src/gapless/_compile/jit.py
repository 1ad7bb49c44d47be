"""The only numba decorator of the project.

Every kernel wears ``@compiled``. It releases the GIL, never starts threads of its own, and is kept on disk
(`_kernel_cache`) under a key of all sources that can be in it (`_sources`); this file is one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import config
from numba.extending import intrinsic

from gapless._compile.kernel_cache import keep, kept
from gapless._compile.kernel_store import cache_folder

__all__ = ["cache_folder", "compiled", "instruction", "kept"]

F = TypeVar("F", bound=Callable[..., Any])


def compiled(
    function: F | None = None,
    *,
    vectorise: bool = False,
    finite: bool = False,
    allocates: bool = True,
    inner: bool = False,
    inline: bool = False,
) -> Any:
    """Compile with numba: nogil, kept under the key of all sources; ``vectorise`` lets reductions reassociate, and where
    no value is NaN (``finite``) also maxima and minima.

    ``allocates=False``: the kernel takes no memory of its own and borrows its arrays from the caller, so that no reference
    is counted. A NamedTuple of arrays then costs nothing, and a third less is compiled.
    ``inner``: the same for a kernel that only kernels call: the way in from Python, which unpacks each argument, is not
    compiled either. ``inline`` (with it): LLVM puts the kernel into its caller, whatever its size; for one that is called once
    for each column of a node, where passing on the arrays of a tuple takes longer than the work.
    """
    if function is None:
        return lambda f: compiled(
            f, vectorise=vectorise, finite=finite, allocates=allocates, inner=inner, inline=inline
        )
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
    dispatcher = keep(numba.njit(**options)(function))
    if inner:
        _close_to_python(dispatcher)
    return dispatcher


def _close_to_python(dispatcher: Any) -> None:
    """There is no way in from Python: say so instead of jumping to it."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise TypeError(f"{dispatcher.py_func.__qualname__} is called by kernels only")

    dispatcher._insert = lambda *args: None
    dispatcher._compile_for_args = refuse


def instruction(plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """numba's intrinsic; where nothing is compiled (NUMBA_DISABLE_JIT=1), the Python function ``plain`` in its place."""
    return lambda build: plain if config.DISABLE_JIT else intrinsic(build)
