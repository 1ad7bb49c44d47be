"""numba's disk cache over our store of kernels: several places to look, one level of processor, one process that compiles."""

from __future__ import annotations

import atexit
import gc
import mmap
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import numba  # noqa: F401  (whole, before its parts: a part can be half made while another thread imports numba)
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.compiler_lock import global_compiler_lock
from numba.core.runtime import rtsys

from gapless._compile import kernel_store as store
from gapless._compile.compile_time import expected
from gapless._compile.errands import run_apart
from gapless._compile.kernel_keys import module_key
from gapless._compile.processor import aimed_at
from gapless._runtime import clock
from gapless.errors import BackendWarning

#: Called once, before this process compiles its first kernel or waits for it; each says who compiles, or nothing, and for which
#: public call.
before_compiling: list[Callable[[], tuple[str, str]]] = []
#: Kernels that this process has compiled.
compiled_here: list[str] = []


def keep(dispatcher: Any) -> Any:
    """Keep what a dispatcher of numba's compiles in the store, and find it there."""
    dispatcher._cache = _Cache(dispatcher.py_func)
    dispatcher._compiler.compile = _Compile(dispatcher)
    dispatcher.compile = _Apart(dispatcher.compile)
    return dispatcher


def kept(kernel: Any) -> bool:
    """Whether a kernel need not be compiled first: some variant of it is loaded, or in one of the places."""
    if not isinstance(getattr(kernel, "_cache", None), _Cache):
        return False
    return bool(kernel.overloads) or any(os.path.exists(file._index_path) for file in kernel._cache._files())


def _check_memory(what: str) -> None:
    """LLVM ends the process where it gets no memory: ask for as much before it loads or compiles."""
    mebibytes = 64 if what == "load" else 256
    try:
        mmap.mmap(-1, mebibytes << 20).close()
    except (OSError, ValueError):
        raise MemoryError(f"{mebibytes} MiB of memory are needed to {what} a kernel, and there is less") from None


class _Apart:
    """Compile or load a kernel in a thread of its own while the main thread waits."""

    def __init__(self, inner: Callable[[Any], Any]) -> None:
        self.inner = inner

    def __call__(self, signature: Any) -> Any:
        _check_memory("load")
        # A kernel that is called by the one being compiled: this thread has numba's lock, no other would get it.
        if global_compiler_lock.is_locked():
            return self.inner(signature)
        return run_apart(self.inner, signature, wait=_wait_for)


def _wait_for(gate: Any) -> None:
    """Until a kernel is there; meanwhile a terminal shows what is compiled and how long that has taken, in a line that goes.

    Where something else writes to the terminal (rich, whose lines change too) it does the telling: ``under_way``."""
    clear_line = "\r\x1b[2K"
    # Seconds between two looks at a compile that a terminal is told of.
    seconds_between_looks = 0.25
    if sys.stderr is not sys.__stderr__ or sys.stderr is None or not sys.stderr.isatty():
        gate.acquire()
        return
    shown = False
    try:
        while not gate.acquire(timeout=seconds_between_looks):
            text = under_way()
            if text:
                shown = True
                print(f"{clear_line}gapless: {text}", end="", file=sys.stderr, flush=True)
    finally:
        if shown:
            print(clear_line, end="", file=sys.stderr, flush=True)


class _Compile:
    """numba's compile of one kernel: for the level of this process, and the lock is given back if it fails."""

    def __init__(self, dispatcher: Any) -> None:
        self.kept, self.context, self.inner = dispatcher._cache, dispatcher.targetctx, dispatcher._compiler.compile

    def __call__(self, *arguments: Any) -> Any:
        try:
            _check_memory("compile")
            with aimed_at(store.level(), self.context), _uncollected():
                return self.inner(*arguments)
        except BaseException:
            self.kept.give_back()
            raise


@contextmanager
def _uncollected() -> Iterator[None]:
    """The collector of garbage waits: its rounds, over the millions of objects that numba still needs, are a sixth of the time of
    compiling. numba's lock is held meanwhile, so that one thread at a time is here."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


class _Locator(_CacheLocator):  # type: ignore[misc]
    def __init__(self, py_func: Any) -> None:
        self._module = py_func.__module__

    def get_cache_path(self) -> str:
        return str(store.module_folder(self._module, store.cache_folder()))

    def get_source_stamp(self) -> str:
        return module_key(self._module)

    def get_disambiguator(self) -> str:
        return ""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator:
        return cls(py_func)


class _Impl(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = [_Locator]

    def check_cachable(self, cres: Any) -> bool:
        # Without optimisation (NUMBA_OPT=0) some kernels keep addresses of this process: they are compiled anew each time.
        return not cres.lifted and not cres.library.has_dynamic_globals

    def reduce(self, data: Any) -> Any:
        # The annotated source is for people who ask in the process that compiled: it is long, and has the machine's paths in it.
        return super().reduce(data._replace(type_annotation=""))


class _Cache(FunctionCache):  # type: ignore[misc]
    _impl_class = _Impl

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        self._locks: list[int] = []

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        # numba would make its compiler ready first, which takes most of the first fit of a process. A kernel on disk needs
        # only the runtime; where something has to be compiled the compiler is made ready then.
        with aimed_at(store.level(), target_context):
            rtsys.initialize(target_context)
            found = self._found(sig, target_context)
            if found is not None:
                return found
            _announce()
            # Of several processes that need a kernel one compiles it. The others wait, and find it on disk.
            place, magic = os.path.basename(self._cache_path), target_context.codegen().magic_tuple()
            lock = store.number_of((place, self._impl.filename_base, str(sig), magic))
            if store.take(lock):
                self._locks.append(lock)
            found = self._found(sig, target_context, everywhere=False)
            if found is not None:
                self.give_back()
            return found

    def _found(self, sig: Any, target_context: Any, everywhere: bool = True) -> Any:
        """The kernel, if it is in one of the places; one that cannot be read is compiled anew."""
        key = self._index_key(sig, target_context.codegen())
        for file in self._files() if everywhere else [self._cache_file]:
            with suppress(Exception):  # a damaged file raises whatever its bytes spell
                data = file.load(key)
                if data is not None:
                    return self._impl.rebuild(target_context, data)
        return None

    def _files(self) -> Iterator[Any]:
        yield self._cache_file
        module, base = self._impl.locator._module, self._impl.filename_base
        wheel = store.wheel()
        for place in (
            *store.places().read,
            *([wheel.folder] if wheel is not None and wheel.folder is not None else []),
        ):
            yield IndexDataCacheFile(str(store.module_folder(module, place)), base, module_key(module))

    def save_overload(self, sig: Any, data: Any) -> None:
        # The index of a function's variants is read, extended and written back: of two processes at once one would lose.
        # On a full disk the kernel is compiled all the same, and again the next time.
        try:
            with clock.compiling(), ExitStack() as stack, suppress(OSError):
                if store.take(0):
                    stack.callback(store.give_back, 0)
                store.make_room(store.module_folder(self._impl.locator._module, store.cache_folder()))
                self._save_overload(sig, data)
                compiled_here.append(self._impl.filename_base)
                store.note_level()
        finally:
            self.give_back()

    def give_back(self) -> None:
        """The lock of the kernel that was compiled last: a kernel that calls itself for other types has several."""
        if self._locks:
            store.give_back(self._locks.pop())


_announced = False
#: The public call that kernels are compiled for, and the processor seconds that were estimated, as announced.
_expected: tuple[str, float | None] = ("", None)


def under_way(*, named: bool = True) -> str:
    """In words what is compiled at present and how long that has taken; nothing while no kernel is compiled.

    ``named``: with the name of the public call that it is for."""
    if not _announced or os.environ.get("GAPLESS_QUIET") or not clock.compiling_now():
        return ""
    (call, estimate), seconds = _expected, clock.compile_seconds()
    what = f"compiling kernels of {call}" if named and call else "compiling kernels"
    if estimate is None:
        return f"{what}, once: {seconds:.0f} s so far"
    about = max(1.0, estimate)
    rest = f"about {about:.0f} s in all" if seconds < about else f"{about:.0f} s of processor time were estimated"
    return f"{what}, once: {seconds:.0f} s so far, {rest}"


def _announce() -> None:
    """One line, the first time something has to be compiled: the pause has a reason, and an end."""
    global _announced, _expected
    if _announced:
        return
    _announced = True
    prepared = [prepare() for prepare in before_compiling]
    refused = store.places().refused
    if refused is not None:
        warnings.warn(
            f"{refused}: kernels that are not there are compiled now and kept in {store.cache_folder()}. "
            "Name a folder of your own, or unset it.",
            BackendWarning,
            stacklevel=2,
        )
    if not os.environ.get("GAPLESS_QUIET"):
        call, seconds = _expected = expected(next((name for _, name in prepared), ""))
        what = " ".join(filter(None, ("compiling kernels", call and f"of {call}", *(who for who, _ in prepared))))
        long = "" if seconds is None else f": about {max(1.0, seconds):.0f} s of processor time, an estimate"
        say(f"{what}, once{long} (`python -m gapless warmup` does it ahead)")
        atexit.register(say_how_long)


def say_how_long() -> None:
    """The line at the end of a process that said what it compiles; a command that has told it already takes it back."""
    count = len(compiled_here)
    kept = "1 kernel" if count == 1 else f"{count} kernels"
    say(f"compiled {kept} in {clock.compile_seconds():.1f} s, to be found again")


def say(text: str) -> None:
    print(f"gapless: {text}", file=sys.stderr, flush=True)


class _Listener(event.Listener):  # type: ignore[misc]
    """Tells the clock what numba tells."""

    def __init__(self, began: Callable[[], None], ended: Callable[[], None]) -> None:
        self._began, self._ended = began, ended

    def on_start(self, event: Any) -> None:
        self._began()

    def on_end(self, event: Any) -> None:
        self._ended()


event.register("numba:compiler_lock", _Listener(clock.lock_asked, clock.lock_left))
event.register("numba:compile", _Listener(clock.compile_began, clock.compile_ended))
