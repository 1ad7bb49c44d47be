"""e^t in single precision, for loops in vector registers: no branch, no call, two units in the last place."""

from __future__ import annotations

import math

import numpy as np

from gapless._compile.jit import inlined, instruction
from gapless._compile.on_demand import ir, types


def exp_single(t: float) -> float:
    """e^t for float32 t, not far above 0."""
    return float(np.exp(np.float32(t)))


def _function(name, arguments):
    """An intrinsic function of LLVM on floats."""

    def build(context, builder, signature, values):
        single = ir.FloatType()
        kind = ir.FunctionType(single, [single] * arguments)
        return builder.call(builder.module.declare_intrinsic(name, [single], fnty=kind), values)

    return types.float32(*[types.float32] * arguments), build


@instruction()
def _nearest(typingctx, t):
    return _function("llvm.rint", 1)


@instruction()
def _larger(typingctx, a, b):
    return _function("llvm.maxnum", 2)


@instruction()
def _plus_product(typingctx, a, b, c):
    """a b + c, rounded once."""
    return _function("llvm.fma", 3)


@instruction()
def _times_two_to_the(typingctx, x, k):
    """x 2^k for a whole k, by adding to the exponent's bits; no subnormal numbers."""

    def build(context, builder, signature, arguments):
        i32 = ir.IntType(32)
        x, k = arguments
        power = builder.shl(builder.fptosi(k, i32), ir.Constant(i32, 23))
        return builder.bitcast(builder.add(builder.bitcast(x, i32), power), ir.FloatType())

    return types.float32(types.float32, types.float32), build


@inlined(exp_single)
def _exp_single(t):
    log2_e = np.float32(1.4426950408889634)
    # ln 2 in two parts: the first has 15 trailing zeros, so that its product with an exponent is exact.
    ln2_high, ln2_low = np.float32(0.693359375), np.float32(-2.12194440e-4)
    lowest = np.float32(-87.0)  # e^t below e^-87 counts as e^-87: it would be a subnormal number
    one, half = np.float32(1.0), np.float32(0.5)
    sixth, t24, t120, t720 = (np.float32(1.0 / math.factorial(k)) for k in (3, 4, 5, 6))

    def compiled(t):
        t = _larger(t, lowest)
        k = _nearest(t * log2_e)
        r = _plus_product(-k, ln2_low, _plus_product(-k, ln2_high, t))
        # Taylor's series to r^6: |r| <= ln(2)/2, the rest is below 2^-22 of a unit of e^r.
        p = _plus_product(t720, r, t120)
        p = _plus_product(p, r, t24)
        p = _plus_product(p, r, sixth)
        p = _plus_product(p, r, half)
        p = _plus_product(p, r, one)
        p = _plus_product(p, r, one)
        return _times_two_to_the(p, k)

    return compiled
