"""e^t in single precision, for loops in vector registers: no branch, no call, two units in the last place."""

from __future__ import annotations

import math

import llvmlite.ir as ir
import numpy as np
from numba import types
from numba.extending import intrinsic

from gapless._compile.inline import inlined

_LOG2E = np.float32(1.4426950408889634)
#: ln 2 in two parts: the first has 15 trailing zeros, so that its product with an exponent is exact.
_LN2_HIGH = np.float32(0.693359375)
_LN2_LOW = np.float32(-2.12194440e-4)
#: Below it e^t counts as e^this: it would lie under the normal numbers.
_LOWEST = np.float32(-87.0)
_ONE, _HALF = np.float32(1.0), np.float32(0.5)
_SIXTH, _24TH, _120TH, _720TH = (np.float32(1.0 / math.factorial(k)) for k in (3, 4, 5, 6))
_SINGLE = ir.FloatType()


def exp_single(t: float) -> float:
    """e^t for float32 t, not far above 0."""
    return float(np.exp(np.float32(t)))


def _function(name, arguments):
    """An intrinsic function of LLVM on floats."""

    def build(context, builder, signature, values):
        kind = ir.FunctionType(_SINGLE, [_SINGLE] * arguments)
        return builder.call(builder.module.declare_intrinsic(name, [_SINGLE], fnty=kind), values)

    return types.float32(*[types.float32] * arguments), build


@intrinsic
def _nearest(typingctx, t):
    return _function("llvm.rint", 1)


@intrinsic
def _larger(typingctx, a, b):
    return _function("llvm.maxnum", 2)


@intrinsic
def _plus_product(typingctx, a, b, c):
    """a b + c, rounded once."""
    return _function("llvm.fma", 3)


@intrinsic
def _times_two_to_the(typingctx, x, k):
    """x 2^k for a whole k, by adding to the exponent's bits; no subnormal numbers."""

    def build(context, builder, signature, arguments):
        i32 = ir.IntType(32)
        x, k = arguments
        power = builder.shl(builder.fptosi(k, i32), ir.Constant(i32, 23))
        return builder.bitcast(builder.add(builder.bitcast(x, i32), power), _SINGLE)

    return types.float32(types.float32, types.float32), build


@inlined(exp_single)
def _exp_single(t):
    def compiled(t):
        t = _larger(t, _LOWEST)
        k = _nearest(t * _LOG2E)
        r = _plus_product(-k, _LN2_LOW, _plus_product(-k, _LN2_HIGH, t))
        # Taylor's series to r^6: |r| <= ln(2)/2, the rest is below 2^-22 of a unit of e^r.
        p = _plus_product(_720TH, r, _120TH)
        p = _plus_product(p, r, _24TH)
        p = _plus_product(p, r, _SIXTH)
        p = _plus_product(p, r, _HALF)
        p = _plus_product(p, r, _ONE)
        p = _plus_product(p, r, _ONE)
        return _times_two_to_the(p, k)

    return compiled
