"""What a processor does with many bytes at once, for the scanners: 64 of them compared, eight of them as a number.

Where bytes are read the caller sees to it that they are there.
"""

from __future__ import annotations

import numpy as np

from gapless._compile.jit import compiled, instruction
from gapless._compile.on_demand import ir, types


@instruction(lambda text, at, byte: np.uint64(sum(1 << k for k in range(64) if text[int(at) + k] == byte)))
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


@instruction(lambda text, at: np.frombuffer(text[int(at) : int(at) + 8].tobytes(), dtype="<u8")[0])
def word(context, text, at):
    """Eight bytes from anywhere, as one number: the first is the lowest."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
        return builder.load(place, align=1)

    return types.uint64(text, types.uint64), generate


@instruction(lambda bits: np.uint64((int(bits) & -int(bits)).bit_length() - 1 if bits else 64))
def trailing_zeros(context, bits):
    """How many of the lowest bits are 0."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@instruction(lambda bits: np.uint64(64 - int(bits).bit_length()))
def leading_zeros(context, bits):
    """How many of the highest bits are 0."""

    def generate(context, builder, signature, arguments):
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@instruction(lambda bits: np.uint64(int(bits).bit_count()))
def ones(context, bits):
    """How many bits are 1."""

    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@instruction(lambda a, b: np.uint64(int(a) * int(b) >> 64))
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
