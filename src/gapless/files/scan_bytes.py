"""What a processor does with many bytes at once, for the scanners: 64 of them compared, eight of them as a number.

Where bytes are read the caller sees to it that they are there.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from gapless._jit import compiled

SPACE, TAB, LF, CR, QUOTE = 32, 9, 10, 13, 34
PAD = 64  # bytes that may be read before the first one and behind the last


@intrinsic
def hits(context, text, at, byte):
    """Which of the 64 bytes from anywhere are this one: the first is the lowest bit."""

    def generate(context, builder, signature, arguments):
        lanes, number = ir.VectorType(ir.IntType(8), 64), ir.IntType(32)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), lanes.as_pointer())
        empty = ir.Constant(lanes, ir.Undefined)
        first = builder.insert_element(empty, arguments[2], ir.Constant(number, 0))
        wanted = builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(number, 64), [0] * 64))
        return builder.bitcast(builder.icmp_unsigned("==", builder.load(place, align=1), wanted), ir.IntType(64))

    return types.uint64(text, types.uint64, types.uint8), generate


@intrinsic
def word(context, text, at):
    """Eight bytes from anywhere, as one number: the first is the lowest."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
        return builder.load(place, align=1)

    return types.uint64(text, types.uint64), generate


@intrinsic
def trailing_zeros(context, bits):
    """How many of the lowest bits are 0."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@intrinsic
def leading_zeros(context, bits):
    """How many of the highest bits are 0."""

    def generate(context, builder, signature, arguments):
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@intrinsic
def ones(context, bits):
    """How many bits are 1."""

    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic
def upper_half(context, a, b):
    """The upper 64 of the 128 bits of a product."""

    def generate(context, builder, signature, arguments):
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


@compiled
def count_of(text, mark):
    """How often a byte occurs."""
    found = 0
    for i in range(text.size):
        found += text[i] == mark
    return found
