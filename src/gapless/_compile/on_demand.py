"""numba on demand: it is imported when the first kernel runs, which takes as long as some hundred small fits.

Until then a kernel is a light object, and what registers with numba waits in a list. Waking imports numba, registers what waits,
and puts numba's dispatchers where the light objects were, so that a call costs later what it always did. Names of numba's that
the builders of instructions use are imported when they are first asked for.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

from gapless._compile.errands import run_apart
from gapless._runtime import clock


class Late:
    """A module that is imported when something in it is first asked for."""

    def __init__(self, module: str, whole: str) -> None:
        self._module, self._whole = module, whole

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        import_module(self._whole)  # before its parts: a part can be half made while another thread imports the whole
        found = getattr(import_module(self._module), name)
        setattr(self, name, found)
        return found


ir: Any = Late("llvmlite.ir", "llvmlite")
types: Any = Late("numba.core.types", "numba")
cgutils: Any = Late("numba.core.cgutils", "numba")
config: Any = Late("numba.core.config", "numba")


class Asleep:
    """What numba makes of a function, made when numba wakes: calls and questions are handed on to it."""

    def __init__(self, function: Callable[..., Any], make: Callable[[Callable[..., Any]], Any]) -> None:
        self.py_func = self.__wrapped__ = function
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__
        self.__module__, self.__doc__ = function.__module__, function.__doc__
        self._make = make

    def make(self) -> None:
        self.made = self._make(self.py_func)

    def awake(self) -> Any:
        """What numba made of the function."""
        wake()
        return self.made

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.awake()(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        if name == "made" or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(name)  # also for copy and pickle, which ask before there is anything
        return getattr(self.awake(), name)

    @property
    def _numba_type_(self) -> Any:
        """Where a kernel still names the light object numba sees what was made of it."""
        target = import_module("numba.core.registry").cpu_target
        return target.typing_context.resolve_value_type(self.awake())

    def __reduce__(self) -> tuple[Any, ...]:
        return named, (self.__module__, self.__qualname__)


def named(module: str, name: str) -> Any:
    """A kernel by its place."""
    return getattr(import_module(module), name)


class _State:
    """What waits for numba, and whether it is here."""

    def __init__(self) -> None:
        self.awake = False
        self.waiting: list[Callable[[], Any]] = []
        self.lists, self.turn = threading.Lock(), clock.Mutex()


_state = _State()


def awake() -> bool:
    """Whether numba was asked for in this process, and is ready."""
    return _state.awake


def when_awake(action: Callable[[], Any]) -> None:
    """Do this now if numba is here, else as soon as it is."""
    with _state.lists:
        if not _state.awake:
            _state.waiting.append(action)
            return
    action()


def asleep(function: Callable[..., Any], make: Callable[[Callable[..., Any]], Any]) -> Any:
    """What numba makes of a function if it is here, else the light object in its place."""
    if _state.awake:
        return make(function)
    light = Asleep(function, make)
    when_awake(light.make)
    return light


def wake() -> None:
    """Import numba, if it is not here yet. Ctrl-C meanwhile ends the wait and not the import."""
    if not _state.awake:
        run_apart(_wake)


def _wake() -> None:
    with _state.turn:
        if _state.awake:
            return
        with clock.standing_still():
            _import_numba()
        while True:
            with _state.lists:
                actions, _state.waiting = _state.waiting, []
                if not actions:
                    _state.awake = True
                    break
            for action in actions:
                action()
        _replace_sleepers()


def _import_numba() -> None:
    """Import it, or forget the parts that are here: of modules that are half made the next import would make nothing."""
    before = set(sys.modules)
    try:
        import_module("numba")
        import_module("gapless._compile.kernel_cache")
    except BaseException as error:
        for name in set(sys.modules) - before:
            if name.partition(".")[0] in ("numba", "llvmlite") or name.startswith("gapless._compile."):
                del sys.modules[name]
        if isinstance(error, ImportError | OSError) and _lacks_memory(error):
            raise MemoryError(
                "numba, which compiles the kernels of this fit, could not be loaded: there is not enough memory for it. It "
                "needs some 0.5 GB of address space; raise the limit (ulimit -v, RLIMIT_AS), or use "
                "gapless.config_context(backend='numpy') where the data is small."
            ) from error
        raise


def _lacks_memory(error: BaseException) -> bool:
    """Whether the dynamic linker found no memory for a library, by its own words: it gives no number of an error."""
    cause: BaseException | None = error
    while cause is not None:
        if any(word in str(cause) for word in ("annot allocate memory", "failed to map segment")):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _replace_sleepers() -> None:
    """What numba made, in the place of the light objects. A name that a module binds meanwhile keeps its one, which works."""
    for name, module in list(sys.modules.items()):
        if name.startswith("gapless."):
            for key, value in list(vars(module).items()):
                if type(value) is Asleep and "made" in vars(value):
                    setattr(module, key, value.made)


def _forget_after_fork() -> None:
    """The thread that was importing numba does not exist in the child."""
    _state.lists, _state.turn = threading.Lock(), clock.Mutex()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
