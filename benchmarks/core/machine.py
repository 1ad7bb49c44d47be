"""Where and with what a table was measured. Two tables from different machines are not compared."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

PACKAGES = (
    "gapless",
    "scikit-learn",
    "scikit-learn-intelex",
    "snapml",
    "skglm",
    "liblinear-official",
    "numpy",
    "scipy",
    "numba",
)


def machine() -> str:
    """Processor, cores, memory, system; no name of the host and no path."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{_processor()}, {cores} cores{_memory()}, {platform.system()} {platform.machine()}"


def packages() -> str:
    return "; ".join(f"{name} {_version(name)}" for name in PACKAGES) + f"; python {platform.python_version()}"


def _version(name: str) -> str:
    if name == "gapless":
        import gapless

        return gapless.__version__
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _memory() -> str:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return ""
    return f", {total / 2**30:.0f} GiB"
