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

from gapless._kernel_cache import keep, kept
from gapless._kernel_store import cache_folder

__all__ = ["cache_folder", "compiled", "instruction", "kept"]

#: Reassociation and fused multiply-add let a reduction use vector registers. NaN and infinity keep their meaning.
VECTORISE = {"reassoc", "contract", "nsz"}

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F | None = None, *, vectorise: bool = False, finite: bool = False) -> Any:
    """Compile with numba: nogil, kept under the key of all sources; ``vectorise`` lets reductions reassociate, and where
    no value is NaN (``finite``) also maxima and minima."""
    if function is None:
        return lambda f: compiled(f, vectorise=vectorise, finite=finite)
    if config.DISABLE_JIT:
        return function
    flags = (VECTORISE | {"nnan"} if finite else VECTORISE) if vectorise else False
    # No kernel is called from C: the wrapper for such calls would be compiled with every kernel, and used by nobody.
    options = {"nogil": True, "fastmath": flags, "error_model": "numpy", "no_cfunc_wrapper": True}
    return keep(numba.njit(**options)(function))


def instruction(plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """numba's intrinsic; where nothing is compiled (NUMBA_DISABLE_JIT=1), the Python function ``plain`` in its place."""
    return lambda build: plain if config.DISABLE_JIT else intrinsic(build)
