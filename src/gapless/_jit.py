"""The only numba decorator of the project.

Every kernel wears ``@compiled``. It releases the GIL, never starts threads of its own, and is kept on disk under a
key made of *all* sources that can be in it: numba itself looks only at the file of the cached function, so that an
edit of a loss would leave every solver that inlined it returning the old result. These are the verbs, which reach a
kernel by the type of a value, and what the function's module imports, and so on.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.runtime import rtsys

PACKAGE = Path(__file__).resolve().parent
#: Rooms whose files can end up inside a kernel.
COMPILED_ROOMS = ("losses", "kernels", "rows", "problems", "solvers", "certificates", "files")
#: Those whose functions are found by the type of an argument: they can be in any kernel, imported by it or not.
VERBS = ("losses", "rows")
_IMPORT = re.compile(
    r"^\s*(?:from\s+((?:gapless|\.)[\w.]*)\s+import\s+(\([^)]*\)|.*)|import\s+(gapless[\w.]*))", re.MULTILINE
)
#: Reassociation and fused multiply-add let a reduction use vector registers. NaN and infinity keep their meaning.
VECTORISE = {"reassoc", "contract", "nsz"}

F = TypeVar("F", bound=Callable[..., Any])


@lru_cache(maxsize=1)
def verbs_key() -> str:
    """A hash of the sources that can be in any kernel."""
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    files = [PACKAGE / "_jit.py", PACKAGE / "judge" / "fingerprint.py"]  # its constants are in a kernel
    for room in VERBS:
        files += sorted((PACKAGE / room).glob("*.py"))
    for file in files:
        digest.update(file.relative_to(PACKAGE).as_posix().encode())
        digest.update(_source(file))
    return digest.hexdigest()


@cache
def module_key(module: str) -> str:
    """A hash of the sources that can be in a kernel of this module: its own, and those it imports, near and far."""
    closure, open_ = {module}, [module]
    while open_:
        for name in _imports(open_.pop()) - closure:
            closure.add(name)
            open_.append(name)
    digest = hashlib.blake2b(digest_size=8)
    for name in sorted(closure):
        digest.update(name.encode())
        digest.update(_source(_file(name)))
    return digest.hexdigest()


@cache
def _imports(module: str) -> frozenset[str]:
    """The modules of compiled rooms, but for the verbs, that a module imports."""
    found = set()
    for origin, names, plain in _IMPORT.findall(_source(_file(module)).decode()):
        if origin.startswith("."):  # of this room: one dot, as many more as rooms up
            rest = origin.lstrip(".")
            up = module.split(".")[: len(rest) - len(origin)]
            origin = ".".join([*up, rest]) if rest else ".".join(up)
        found.add(origin or plain)
        found.update(f"{origin}.{name}" for name in re.findall(r"\w+", names))
    rooms = set(COMPILED_ROOMS) - set(VERBS)
    return frozenset(
        name for name in found if name.split(".")[1:2] and name.split(".")[1] in rooms and _file(name).is_file()
    )


def _file(module: str) -> Path:
    return PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")


@cache
def _source(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # a zipped or frozen install: its sources cannot be edited
        from importlib.metadata import version

        return version("gapless").encode()


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _ours_alone(folder: Path) -> bool:
    """Cached kernels are code: in a place where others can write, the folder must be ours and closed to them."""
    if not hasattr(os, "getuid"):
        return True
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077


@lru_cache(maxsize=1)
def cache_folder() -> Path:
    """Where the kernels are kept: in the install, else in the user's cache, else in a temporary folder."""
    name = f"kernels-{verbs_key()}"
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gapless"
    for root in (PACKAGE / "__pycache__", user):
        if _writable(root / name):
            _forget_old(root, keep=name)
            return root / name
    temporary = Path(tempfile.gettempdir()) / f"gapless-{getattr(os, 'getuid', lambda: 'user')()}"
    if _ours_alone(temporary) and _writable(temporary / name):
        return temporary / name
    return Path(tempfile.mkdtemp(prefix="gapless-"))


@cache
def _module_folder(module: str) -> Path:
    """A folder for the kernels of one module as it is now."""
    name = module.removeprefix("gapless.")
    folder = cache_folder() / f"{name}-{module_key(module)}"
    if not folder.is_dir():
        with suppress(OSError):
            folder.mkdir(exist_ok=True)
        _forget_old(cache_folder(), keep=folder.name, like=f"{name}-*")
    return folder


def _forget_old(root: Path, keep: str, like: str = "kernels-*", days: float = 7.0) -> None:
    """Kernels of sources that nobody has run for a week are of no more use."""
    for folder in root.glob(like):
        try:
            if folder.name != keep and time.time() - folder.stat().st_mtime > days * 86400:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue


class _Locator(_CacheLocator):  # type: ignore[misc]
    def __init__(self, py_func: Any) -> None:
        self._module = py_func.__module__

    def get_cache_path(self) -> str:
        return str(_module_folder(self._module))

    def get_source_stamp(self) -> str:
        return module_key(self._module)

    def get_disambiguator(self) -> str:
        return ""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator:
        return cls(py_func)


class _Impl(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = [_Locator]


@contextmanager
def _one_at_a_time(file: Path) -> Iterator[None]:
    """Among all processes, where the system has such locks: at worst something is compiled again."""
    with ExitStack() as stack:
        with suppress(ImportError, OSError):
            import fcntl

            lock = stack.enter_context(file.open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


_announced = False


class _Cache(FunctionCache):  # type: ignore[misc]
    _impl_class = _Impl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        # numba would make its compiler ready first, which takes most of the first fit of a process. What is on disk needs
        # only the runtime; where something has to be compiled the compiler is made ready then.
        rtsys.initialize(target_context)
        found = None
        with self._guard_against_spurious_io_errors():
            found = self._load_overload(sig, target_context)
        if found is None:
            _announce()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        # The index of a function's variants is read, extended and written back: of two processes at once one would lose.
        # On a full disk the kernel is compiled all the same, and again the next time.
        with _one_at_a_time(cache_folder() / "lock"), suppress(OSError):
            super().save_overload(sig, data)


def _announce() -> None:
    """One line, the first time something has to be compiled: the pause has a reason."""
    global _announced
    if not _announced and not os.environ.get("GAPLESS_QUIET"):
        _announced = True
        print("gapless: compiling kernels, once (`python -m gapless warmup` does it ahead)", file=sys.stderr)


def compiled(
    function: F | None = None,
    *,
    vectorise: bool = False,
    finite: bool = False,
    allocates: bool = True,
    inner: bool = False,
    inline: bool = False,
) -> Any:
    """Compile with numba: nogil, cached under the key of all sources; ``vectorise`` lets reductions reassociate, and where
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
    flags = (VECTORISE | {"nnan"} if finite else VECTORISE) if vectorise else False
    options: dict[str, Any] = {"_nrt": False} if inner or not allocates else {}
    if inner:
        options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": inline}
    dispatcher = numba.njit(nogil=True, fastmath=flags, error_model="numpy", **options)(function)
    dispatcher._cache = _Cache(function)
    if inner and not numba.config.DISABLE_JIT:
        _close_to_python(dispatcher)
    return dispatcher


def _close_to_python(dispatcher: Any) -> None:
    """There is no way in from Python: say so instead of jumping to it."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise TypeError(f"{dispatcher.py_func.__qualname__} is called by kernels only")

    dispatcher._insert = lambda *args: None
    dispatcher._compile_for_args = refuse
