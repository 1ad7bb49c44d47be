"""Where compiled kernels are kept, for which processor, and which of several processes compiles a kernel.

New kernels go to the first place that can be written: the folder that GAPLESS_CACHE names, else the install, the user's
cache, a temporary folder. Places that come before it and cannot be written are read, and so are the kernels of the wheel.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import platform
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from gapless._compile import processor as _processor
from gapless._compile.kernel_keys import PACKAGE, module_key, verbs_key
from gapless._compile.on_demand import awake
from gapless._runtime import clock


class Places(NamedTuple):
    """Folders of kernels of these sources."""

    written: Path
    read: tuple[Path, ...]
    #: Why kernels are not where GAPLESS_CACHE asks for them.
    refused: str | None


@lru_cache(maxsize=1)
def places() -> Places:
    name = f"kernels-{verbs_key()}"
    read: list[Path] = []
    refused = None
    asked = os.environ.get("GAPLESS_CACHE")
    if asked:
        root = Path(asked).expanduser().absolute()
        reason = _unsafe(root, name) or _unwritable(root / name)
        if reason is None:
            return Places(_in_use(root, name), (), None)
        refused = f"GAPLESS_CACHE={asked} {reason}"
        if _unsafe(root, name) is None and (root / name).is_dir():
            read.append(root / name)
    for root in (PACKAGE / "__pycache__", *_user_cache()):
        if _unwritable(root / name) is None:
            return Places(_in_use(root, name), tuple(read), refused)
        if (root / name).is_dir():
            read.append(root / name)
    temporary = Path(tempfile.gettempdir()) / f"gapless-{getattr(os, 'getuid', lambda: 'user')()}"
    if _ours_alone(temporary) and _unwritable(temporary / name) is None:
        return Places(temporary / name, tuple(read), refused)
    return Places(Path(tempfile.mkdtemp(prefix="gapless-")), tuple(read), refused)


def cache_folder() -> Path:
    """Where new kernels are kept."""
    return places().written


def module_folder(module: str, root: Path) -> Path:
    """The folder, in one of the places, for the kernels of one module as it is now."""
    return root / f"{module.removeprefix('gapless.')}-{module_key(module)}"


def kept(place: Path) -> dict[str, tuple[int, int]]:
    """Kernels of the present sources in a place: for each processor how many there are, and their bytes."""
    import numba

    found: dict[str, tuple[int, int]] = {}
    for index in place.glob("*/*.nbi"):
        module = f"gapless.{index.parent.name.rpartition('-')[0]}"
        if index.parent != module_folder(module, place):
            continue  # of older sources
        with suppress(Exception), index.open("rb") as file:  # a damaged index counts as empty, as it does for a fit
            if pickle.load(file) != numba.__version__:
                continue
            _, variants = pickle.load(file)
            for (_, (_, processor, _), _), name in variants.items():
                count, size = found.get(processor, (0, 0))
                found[processor] = count + 1, size + (index.parent / name).stat().st_size
    return found


def make_room(folder: Path) -> None:
    """Make the folder of a module; folders of its older sources go when nobody has used them for long."""
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        _forget_old(folder.parent, keep=folder.name, like=f"{folder.name.rpartition('-')[0]}-*")


def _user_cache() -> list[Path]:
    named = os.environ.get("XDG_CACHE_HOME")
    try:
        return [(Path(named) if named else Path.home() / ".cache") / "gapless"]
    except RuntimeError:  # a user without a home, as in some containers
        return []


def _unwritable(folder: Path) -> str | None:
    """Why nothing can be kept in a folder, which is made if it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return f"cannot be written ({error.strerror or error})"


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


def _unsafe(root: Path, name: str) -> str | None:
    """Why others could put their code among the kernels of a folder that GAPLESS_CACHE names, if they could."""
    if not hasattr(os, "getuid"):
        return None
    try:
        root.mkdir(parents=True, exist_ok=True)
        status = root.stat()
    except OSError as error:
        return f"cannot be used ({error.strerror or error})"
    open_to = stat.S_IWOTH | (0 if status.st_gid == os.getgid() else stat.S_IWGRP)
    if status.st_uid in (0, os.getuid()) and not status.st_mode & open_to:
        return None
    if _ours_alone(root / name):
        return None
    return f"can be written by other users, and its {name} is not yours alone (chmod 700)"


def _in_use(root: Path, name: str) -> Path:
    """The folder, marked as used today; folders of other sources that nobody has used for long go."""
    folder = root / name
    with suppress(OSError):
        if time.time() - folder.stat().st_mtime > 86400:
            os.utime(folder)
    _forget_old(root, keep=name, like="kernels-*")
    return folder


def _forget_old(root: Path, keep: str, like: str) -> None:
    # Days after which kernels of other sources, which nobody has run since, are of no more use.
    stale_days = 7.0
    for folder in root.glob(like):
        with suppress(OSError):
            if folder.name != keep and time.time() - folder.stat().st_mtime > stale_days * 86400:
                shutil.rmtree(folder, ignore_errors=True)


# -- for which processor -------------------------------------------------------------------------------------


class Wheel(NamedTuple):
    """Kernels that came with the wheel."""

    level: str
    folder: Path | None  # None: they do not fit
    reason: str


def wheel_folder() -> Path:
    """Kernels that came with the wheel, and a note of what they were compiled by and for."""
    return PACKAGE / "_wheel_kernels"


@lru_cache(maxsize=1)
def wheel() -> Wheel | None:
    """The kernels of the wheel, or why they are of no use here; None where the wheel has none."""
    note_name = "about.json"
    try:
        note = dict(json.loads((wheel_folder() / note_name).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    level = str(note.get("processor"))
    for name, here in about(level).items():
        if note.get(name) != here:
            return Wheel(level, None, f"they are for {name} {note.get(name)}, and here is {here}")
    lacking = _processor.lacking(level) if level in _processor.LEVELS else ["all that is known"]
    if lacking:
        return Wheel(level, None, f"this processor lacks {', '.join(lacking)}")
    return Wheel(level, wheel_folder() / f"kernels-{verbs_key()}", "")


def about(level: str) -> dict[str, str]:
    """What kernels depend on, besides the processor's features: a wheel's kernels are used where all of it is the same."""
    import llvmlite
    import numba

    return {
        "system": f"{sys.platform} {platform.machine()}",
        "python": str(sys.implementation.cache_tag),
        "numba": str(numba.__version__),
        "llvmlite": str(llvmlite.__version__),
        "sources": verbs_key(),
        "processor": level,
    }


@lru_cache(maxsize=1)
def level() -> str:
    """The level that this process compiles for and loads: "host", or one of `_processor.LEVELS`."""
    from numba.core import config

    asked = os.environ.get("GAPLESS_PROCESSOR")
    if asked and asked != _processor.HOST:
        known = ", ".join((_processor.HOST, *_processor.LEVELS))
        if asked not in _processor.LEVELS:
            raise ValueError(f"GAPLESS_PROCESSOR={asked} is not known; known are {known}")
        if _processor.lacking(asked):
            lacks = ", ".join(_processor.lacking(asked))
            raise ValueError(f"GAPLESS_PROCESSOR={asked}: this processor lacks {lacks}; use GAPLESS_PROCESSOR=host")
        return asked
    if asked or config.CPU_NAME or config.CPU_FEATURES:
        return _processor.HOST
    found = wheel()
    if found is None or found.folder is None:
        return _processor.HOST
    kept = (places().written, *places().read)
    return _processor.HOST if any((folder / _host_mark()).exists() for folder in kept) else found.level


def features() -> dict[str, bool]:
    """The features of the processor that kernels may use."""
    return _processor.features(level())


def target() -> str:
    """The processor that kernels are compiled for, by name."""
    return _processor.host_name() if level() == _processor.HOST else level()


def backend() -> str:
    """What a certificate says of kernels: "cpu" where they are for the host's own processor, else their level too."""
    if not awake():
        return "cpu"  # no kernel has run
    return "cpu" if level() == _processor.HOST else f"cpu {level()}"


def keep_to_host() -> None:
    """From now on processes on this processor use kernels compiled for it, also where the wheel has others."""
    with suppress(OSError):
        (cache_folder() / _host_mark()).touch()


@lru_cache(maxsize=1)
def note_level() -> None:
    """Of kernels that were compiled for the host where the wheel had none that fit: they stay in use beside another wheel."""
    if level() == _processor.HOST and (wheel() is None or wheel().folder is None):  # type: ignore[union-attr]
        keep_to_host()


@lru_cache(maxsize=1)
def _host_mark() -> str:
    on = sorted(name for name, has in _processor.host_features().items() if has)
    return "host-" + hashlib.blake2b(" ".join([_processor.host_name(), *on]).encode(), digest_size=8).hexdigest()


# -- which process compiles ----------------------------------------------------------------------------------


@contextmanager
def waiting_for_compiler() -> Iterator[None]:
    """Around every wait for a kernel that another process compiles: the clock of work stands still."""
    with clock.compiling():
        yield


def number_of(key: Any) -> int:
    """The lock of a kernel: a place in the lock file."""
    return 1 + int.from_bytes(hashlib.blake2b(repr(key).encode(), digest_size=7).digest(), "little")


def take(lock: int, *, wait: bool = True) -> bool:
    """Take a lock among all processes; False where another process has it (for `patience_seconds` seconds, with ``wait``).

    A lock is a byte of a file: the system gives it back when its process ends, however that ends. Where the system has no
    such locks the answer is True, and at worst something is compiled twice.
    """
    # Seconds after which a process compiles a kernel itself although another one says that it is at it: that one hangs.
    patience_seconds = 300.0
    if _taken(lock):
        return True
    if not wait:
        return False
    with waiting_for_compiler():
        end, pause = time.monotonic() + patience_seconds, 0.002
        while time.monotonic() < end:
            time.sleep(pause)
            if _taken(lock):
                return True
            pause = min(0.02, 1.5 * pause)
    return False


def give_back(lock: int) -> None:
    with suppress(ImportError, OSError):
        import fcntl

        file = _lock_file(cache_folder())
        if file is not None:
            fcntl.lockf(file, fcntl.LOCK_UN, 1, lock)


def _taken(lock: int) -> bool:
    try:
        import fcntl

        file = _lock_file(cache_folder())
        if file is not None:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, lock)
    except (BlockingIOError, PermissionError):
        return False
    except (ImportError, OSError):
        pass
    return True


@cache
def _lock_file(folder: Path) -> int | None:
    """Opened once and never closed: closing any handle of a file gives back all locks that the process has on it."""
    try:
        return os.open(folder / "lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError:
        return None
