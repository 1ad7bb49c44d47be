"""Ask the memory for an entry before it is needed.

Gain: fits of the perceptron on mnist 1.9 times (659 to 352 ms), on a9a 1.4 times (66 to 48 ms).
"""

from __future__ import annotations

from typing import Any

from gapless._compile.jit import inlined, instruction
from gapless._compile.on_demand import cgutils, ir, types


def prefetch(array: Any, i: Any) -> None:
    """Bring array[i] into the cache. It changes nothing but the time."""


@instruction()
def _prefetch_entry(typingctx, array, i):
    def build(context, builder, signature, arguments):
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, arguments[0])
        index = context.cast(builder, arguments[1], signature.args[1], types.intp)
        entry = cgutils.get_item_pointer(context, builder, kind, view, [index], wraparound=False)
        pointer = builder.bitcast(entry, ir.IntType(8).as_pointer())
        i32 = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [pointer.type, i32, i32, i32]), "llvm.prefetch.p0"
        )
        # Read, keep in all caches, data.
        builder.call(function, [pointer, ir.Constant(i32, 0), ir.Constant(i32, 3), ir.Constant(i32, 1)])
        return context.get_dummy_value()

    return types.void(array, i), build


@inlined(prefetch)
def _prefetch(array, i):
    return lambda array, i: _prefetch_entry(array, i)
