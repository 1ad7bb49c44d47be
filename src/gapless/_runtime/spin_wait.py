"""Wait for a number in memory to change, without Python's lock."""

from __future__ import annotations

import platform
from functools import cache

import llvmlite.ir as ir
import numpy as np
from numba import types
from numba.core import cgutils

from gapless._compile.jit import compiled, instruction
from gapless._runtime.clock import now


@instruction(lambda numbers, place: int(numbers[place]))
def _look(typingctx, numbers, place):
    """The number as it is now: an ordinary read would be made once, before the loop."""

    def build(context, builder, signature, arguments):
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, arguments[0])
        entry = cgutils.get_item_pointer(context, builder, kind, view, [arguments[1]], wraparound=False)
        if platform.machine().lower() in ("x86_64", "amd64"):  # let the other thread of a core go first
            pause = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, pause, "llvm.x86.sse2.pause"), [])
        return builder.load_atomic(entry, "acquire", 8)

    return types.int64(numbers, place), build


@compiled
def _watch(numbers, place, seen, most, grace):
    for _ in range(most):
        if _look(numbers, place) != seen:
            for _ in range(grace):
                _look(numbers, place)
            return True
    return False


@cache
def _seconds_each() -> float:
    """What a round takes: the least of some tries, for others may run in between."""
    numbers, rounds, least = np.zeros(1, np.int64), 400, np.inf
    _watch(numbers, 0, 0, 1, 0)
    for _ in range(6):
        start = now()
        _watch(numbers, 0, 0, rounds, 0)
        least = min(least, (now() - start) / rounds)
    return max(1e-9, least)


def spin_wait(numbers: np.ndarray, place: int, seen: int, seconds: float, grace: float) -> bool:
    """Whether the number there is another one within about so many seconds; returns ``grace`` later."""
    each = _seconds_each()
    return bool(_watch(numbers, place, seen, int(seconds / each), int(grace / each)))
