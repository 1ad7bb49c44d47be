"""What a bug report needs to say about the installation."""

from __future__ import annotations

import os
import platform
import sys
from functools import cache
from importlib import metadata

from gapless import __version__


def versions() -> dict[str, dict[str, str]]:
    """The facts that `show_versions` prints, as strings in groups; no path of the machine is among them."""
    required = ("numpy", "scipy", "scikit-learn", "numba", "llvmlite", "narwhals", "threadpoolctl", "rich", "typer")
    # Everything that limits or moves the threads of numpy, of numba or of gapless.
    thread_variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    optional = ("pandas", "polars", "pyarrow", "matplotlib", "cvxpy", "torch", "triton", "dask")
    facts: dict[str, dict[str, str]] = {
        "system": {
            "gapless": __version__,
            "python": f"{platform.python_version()} ({platform.python_implementation()})",
            "platform": platform.platform(),
            "machine": platform.machine(),
            "byte order": sys.byteorder,
        },
        "required": {name: _version(name) or "missing" for name in required},
        "optional": {name: _version(name) or "not installed" for name in optional},
        "threads": {"cores": _cores()},
    }
    for variable in thread_variables:
        if variable in os.environ:
            facts["threads"][variable] = os.environ[variable]
    facts["threads"].update(_pools())
    return facts


def show_versions() -> None:
    """Print the versions of gapless, what it stands on, the platform and its threads: for bug reports."""
    for group, entries in versions().items():
        print(group)
        width = max(map(len, entries))
        for name, value in entries.items():
            print(f"  {name:<{width}}  {value}")


@cache
def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _cores() -> str:
    count = os.cpu_count()
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only: the cores that this process may use
    return f"{len(affinity(0))} of {count}" if affinity else str(count)


def _pools() -> dict[str, str]:
    """The BLAS and OpenMP libraries that numpy and scipy brought into the process, without their paths."""
    try:
        import scipy.linalg  # noqa: F401  (loads the BLAS that is to be described)
        from threadpoolctl import threadpool_info
    except ImportError as error:
        return {"pools": f"unknown ({error})"}
    found: dict[str, list[str]] = {}
    for pool in threadpool_info():
        kind = pool.get("internal_api") or "?"
        details = [f"{pool.get('num_threads', '?')} threads", pool.get("version"), pool.get("architecture")]
        found.setdefault(kind, []).append(", ".join(text for text in details if text))
    return {kind: "; ".join(sorted(set(texts))) for kind, texts in sorted(found.items())}
