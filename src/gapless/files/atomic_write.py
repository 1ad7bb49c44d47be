"""Files that are written whole or not at all: beside their place first, then moved into it."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from typing import BinaryIO

__all__ = ["beside", "put", "write_whole"]

#: Seconds after which an unlocked part whose writer cannot be looked up on this machine is taken for left behind.
ABANDONED_SECONDS = 3600.0


@contextlib.contextmanager
def beside(place: str) -> Iterator[tuple[BinaryIO, str]]:
    """A file in the folder of `place`, gone on leaving unless it was moved. Parts that killed processes left there go too."""
    folder, name = os.path.split(place)
    if os.path.exists(place) and not os.path.isfile(place):  # /dev/null would become a file
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file")
    temporary = os.path.join(folder, f".{name}.{os.getpid()}-{secrets.token_hex(6)}.part")
    # 0666 less the umask, as any file the user makes (tempfile would give 0600)
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(descriptor, "w+b") as stream:
            _lock(descriptor)
            _sweep(folder or ".", os.fstat(descriptor).st_mtime)
            with contextlib.suppress(OSError):  # the mode of the file that is replaced, if there is one
                os.chmod(temporary, stat.S_IMODE(os.stat(place).st_mode))
            yield stream, temporary
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def _lock(descriptor: int) -> bool:
    """Whether this process holds the lock of an open file; the system lets go of it when the process ends, however it ends."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):  # no such locks on this system or file system, or another process has it
        return False
    return True


def _sweep(folder: str, now: float) -> None:
    """Remove the parts that no living process writes: their lock is free, and their writer is gone or they are old.

    ``now`` is the file system's own time: that of a file just made there.
    """
    # The name of a file that is being written: that of its place, the process that writes it, and a random part.
    part = re.compile(r"\..+\.(?:(?P<process>\d+)-)?[0-9a-f]{12}\.part")
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            found = part.fullmatch(entry.name)
            if found is None:
                continue
            with contextlib.suppress(OSError):
                old = now - entry.stat(follow_symlinks=False).st_mtime > ABANDONED_SECONDS
                if not old and (found["process"] is None or _is_running(int(found["process"]))):
                    continue
                descriptor = os.open(entry.path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
                try:
                    free = _lock(descriptor)
                finally:
                    os.close(descriptor)
                if free:
                    os.unlink(entry.path)


def _is_running(process: int) -> bool:
    """Whether a process of this machine has that number; yes where that cannot be known."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def write_whole(path: str | os.PathLike[str], content: bytes) -> str:
    """Write a file; whatever happens on the way, what was there stays. Returns the path as given."""
    given = os.fspath(path)
    place = os.path.realpath(given)  # a link stays a link, its file is replaced
    if os.path.isdir(place):
        raise IsADirectoryError(f"{given}: is a directory; give the name of a file")
    folder = os.path.dirname(place)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{given}: the folder {os.path.dirname(given) or '.'} does not exist")
    with put(given, place) as stream:
        stream.write(content)
    return given


@contextlib.contextmanager
def put(given: str, place: str, check: Callable[[str], object] | None = None) -> Iterator[BinaryIO]:
    """A stream whose file moves to its place when it is whole on the disk and ``check`` has read it back."""
    with told(given), beside(place) as (stream, temporary):
        yield stream
        stream.flush()
        os.fsync(stream.fileno())
        stream.close()
        if check is not None:
            check(temporary)
        os.replace(temporary, place)
    sync_folder(os.path.dirname(place))


@contextlib.contextmanager
def told(given: str) -> Iterator[None]:
    """An error of the system says which file could not be written, and that nothing was."""
    try:
        yield
    except OSError as error:
        raise type(error)(
            error.errno, f"{given}: could not be written ({error.strerror}); nothing was changed"
        ) from error


def sync_folder(folder: str) -> None:
    """Make the new name durable, where folders can be synced."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
