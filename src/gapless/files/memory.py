"""Whether a table fits in memory, before it is read."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def free_memory() -> int | None:
    """Bytes that this process may still take: the machine's, its container's and its own limit; None if unknown."""
    found = [value for value in (_machine(), _container(), _own()) if value is not None]
    return min(found) if found else None


def _machine() -> int | None:
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) * 1024
    with suppress(OSError, ValueError, AttributeError):  # elsewhere what there is in all
        return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES"))
    return None


def _container() -> int | None:
    with suppress(OSError, ValueError):
        folder = Path("/sys/fs/cgroup")
        most = int((folder / "memory.max").read_text(encoding="ascii"))
        return max(most - int((folder / "memory.current").read_text(encoding="ascii")), 0)
    return None


def _own() -> int | None:
    with suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
            return max(most - used, 0)
    return None


def too_large(rows: float, columns: int, item: int) -> str | None:
    """What to say of a table that does not fit; None where it does."""
    held_beside = 1.25  # what is held beside the arrays while a file is read: blocks, and the part that is being copied
    free = free_memory()
    need = held_beside * rows * columns * item
    if free is None or need <= free:
        return None
    told = f"about {rows:,.0f} rows of {columns} columns need {need / 1e9:.3g} GB as float{8 * item}"
    told += f", {free / 1e9:.3g} GB are free"
    half = "; as float32 (--float32, dtype='float32') it is half of that" if item == 8 else ""
    most = int(free / (held_beside * rows * item))
    few = f"; {most} of its columns fit (leave others out: --drop)" if most >= 2 else "; take fewer rows"
    return told + half + few
