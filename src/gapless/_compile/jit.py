"""The decorators of compiled code: the only ones of the project, and none of them imports numba (`on_demand`).

Every kernel wears ``@compiled``. It releases the GIL, never starts threads of its own, and is kept on disk
(`kernel_cache`) under a key of all sources that can be in it (`kernel_keys`); this file is one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from gapless._compile.kernel_store import cache_folder
from gapless._compile.on_demand import Asleep, asleep, when_awake

__all__ = ["cache_folder", "compiled", "inlined", "instruction", "kept", "overload", "register_jitable"]

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

    def make(function: Callable[..., Any]) -> Any:
        return _ask("dispatchers").make_dispatcher(function, vectorise, finite, allocates, inner, inline)

    return asleep(function, make)


def instruction(plain: Callable[..., Any] | None = None) -> Callable[[Callable[..., Any]], Any]:
    """numba's intrinsic; where nothing is compiled (NUMBA_DISABLE_JIT=1), the Python function ``plain`` in its place."""
    return lambda build: asleep(build, lambda build: _ask("dispatchers").make_instruction(build, plain))


def inlined(verb: Any) -> Callable[[F], F]:
    """A verb that numba writes into the kernel which asks for it (`inline`): the function below says what, by types."""

    def bind(choose: F) -> F:
        when_awake(lambda: _ask("inline").inlined(verb)(choose))
        return choose

    return bind


def overload(verb: Any) -> Callable[[F], F]:
    """numba's overload: the function below chooses, by the types of a call, what kernels call in the verb's place."""

    def bind(choose: F) -> F:
        when_awake(lambda: import_module("numba.extending").overload(verb)(choose))
        return choose

    return bind


def register_jitable(function: F) -> F:
    """numba's: kernels may call the function, and compile it."""
    when_awake(lambda: import_module("numba.extending").register_jitable(function))
    return function


def kept(kernel: Any) -> bool:
    """Whether a kernel need not be compiled first: some variant of it is loaded, or in one of the places."""
    made = kernel.awake() if isinstance(kernel, Asleep) else kernel
    return bool(_ask("kernel_cache").kept(made))


def _ask(name: str) -> Any:
    """A module of this room that imports numba."""
    return import_module(f"gapless._compile.{name}")
