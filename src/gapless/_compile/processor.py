"""The processor that kernels are compiled for: the host's own, or a level that many processors share.

Sums are reassociated to fill vector registers, so the last bits of a result belong to a level. A process therefore keeps
to one level. gapless compiles for its level through a code generator of its own: numba functions of other packages in the
same process are compiled for the host, as ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

#: Levels of the x86-64 psABI that wheels can carry kernels for, and the features that LLVM may use on each.
LEVELS = {
    "x86-64-v3": (
        "avx", "avx2", "bmi", "bmi2", "cmov", "crc32", "cx16", "cx8", "f16c", "fma", "fxsr", "lzcnt", "mmx", "movbe", "popcnt",
        "sahf", "sse", "sse2", "sse3", "sse4.1", "sse4.2", "ssse3", "xsave",
    ),
}  # fmt: skip
HOST = "host"


def host_features() -> dict[str, bool]:
    """The features of this processor; none where the system does not say."""
    from llvmlite import binding
    from numba import config

    if config.CPU_FEATURES is not None:
        return {name[1:]: name[0] == "+" for name in config.CPU_FEATURES.split(",") if name}
    try:
        found = dict(binding.get_host_cpu_features())
    except RuntimeError:
        return {}
    return {name: on and (config.ENABLE_AVX or not name.startswith("avx")) for name, on in found.items()}


def host_name() -> str:
    """The processor that numba compiles for if nobody asks for a level."""
    from llvmlite import binding
    from numba import config

    return str(config.CPU_NAME or binding.get_host_cpu_name())


def lacking(level: str) -> list[str]:
    """Features of the level that this processor does not have: code of the level runs here if there are none."""
    found = host_features()
    # LLVM does not list these of every host: all processors with 64 bits have them.
    base = {"cmov", "cx8", "fxsr", "mmx", "sse", "sse2"}
    return [name for name in LEVELS[level] if name not in base and not found.get(name, False)]


def features(level: str) -> dict[str, bool]:
    """The features that kernels of a level may use."""
    return host_features() if level == HOST else dict.fromkeys(LEVELS[level], True)


@contextmanager
def aimed_at(level: str, context: Any) -> Iterator[None]:
    """What numba compiles and loads inside is for the level; the caller holds numba's lock."""
    if level == HOST:
        yield
        return
    before = context._internal_codegen
    context._internal_codegen = _generator(level)
    try:
        yield
    finally:
        context._internal_codegen = before


@cache
def _generator(level: str) -> Any:
    from numba import core

    class Generator(core.codegen.JITCPUCodegen):  # type: ignore[misc]
        def _get_host_cpu_name(self) -> str:
            return level

        def _get_host_cpu_features(self) -> str:
            return ",".join(f"+{name}" for name in LEVELS[level])

    return Generator(f"gapless.{level}")
