"""Scalar functions that several losses need: e^t, ln(1 + e), the logistic function and the entropy.

In Python they call libm.  Compiled, they are polynomials without a branch or a call, so that a loop over the examples runs
in vector registers.  Their error is a few units in the last place (tests/losses); the judge has sharper functions of its own.
"""

from __future__ import annotations

import math

from gapless._compile.jit import inlined, instruction, register_jitable
from gapless._compile.on_demand import ir, types

#: ln 2 in two parts: the first has 21 trailing zeros, so that its product with an exponent is exact.
_LN2_HIGH = 0.6931471803691238
_LN2_LOW = 1.9082149292705877e-10


def exp_below(t: float) -> float:
    """e^t for t <= 0."""
    return math.exp(t)


def log1p_share(e: float) -> float:
    """ln(1 + e) for 0 <= e <= 1."""
    return math.log1p(e)


@instruction()
def _nearest(typingctx, t):
    """The nearest integer, as a float: one vector instruction."""

    def build(context, builder, signature, arguments):
        function = builder.module.declare_intrinsic("llvm.rint", [ir.DoubleType()])
        return builder.call(function, arguments)

    return types.float64(types.float64), build


@instruction()
def _less_product(typingctx, t, k, x):
    """t - k x, rounded once, and in this order whatever a kernel allows for its sums."""

    def build(context, builder, signature, arguments):
        double = ir.DoubleType()
        kind = ir.FunctionType(double, [double] * 3)
        function = builder.module.declare_intrinsic("llvm.fma", [double], fnty=kind)
        t, k, x = arguments
        return builder.call(function, [builder.fneg(k), x, t])

    return types.float64(types.float64, types.float64, types.float64), build


@instruction()
def _exponent(typingctx, x):
    """The largest k with 2^k <= x, as a float, for a normal number x."""

    def build(context, builder, signature, arguments):
        i64 = ir.IntType(64)
        bits = builder.lshr(builder.bitcast(arguments[0], i64), ir.Constant(i64, 52))
        return builder.sitofp(builder.sub(bits, ir.Constant(i64, 1023)), ir.DoubleType())

    return types.float64(types.float64), build


@instruction()
def _two_to_the(typingctx, k):
    """2^k for a whole k from -1022 to 1023, by writing the exponent's bits."""

    def build(context, builder, signature, arguments):
        i64 = ir.IntType(64)
        bits = builder.fptosi(arguments[0], i64)
        bits = builder.shl(builder.add(bits, ir.Constant(i64, 1023)), ir.Constant(i64, 52))
        return builder.bitcast(bits, ir.DoubleType())

    return types.float64(types.float64), build


def _artanh_rest(q):
    """artanh(s) = s + s q (this), q = s^2 <= 1/9: the terms fall by 9, the rest after s^35 is below 2^-58."""
    p = 1.0 / 35.0
    p = p * q + 1.0 / 33.0
    p = p * q + 1.0 / 31.0
    p = p * q + 1.0 / 29.0
    p = p * q + 1.0 / 27.0
    p = p * q + 1.0 / 25.0
    p = p * q + 1.0 / 23.0
    p = p * q + 1.0 / 21.0
    p = p * q + 1.0 / 19.0
    p = p * q + 1.0 / 17.0
    p = p * q + 1.0 / 15.0
    p = p * q + 1.0 / 13.0
    p = p * q + 1.0 / 11.0
    p = p * q + 1.0 / 9.0
    p = p * q + 1.0 / 7.0
    p = p * q + 0.2
    return p * q + 1.0 / 3.0


inlined(_artanh_rest)(lambda q: _artanh_rest)


# Numba inlines these: LLVM would leave the calls where several verbs share a loop, and a loop with calls is no vector loop.
@inlined(exp_below)
def _exp_below(t):
    def compiled(t):
        lowest = -708.0  # e^t would be below the normal numbers here, and counts as 0
        tiny = t < lowest
        t = lowest if tiny else t
        k = _nearest(t * 1.4426950408889634)  # t log2(e)
        r = _less_product(_less_product(t, k, _LN2_HIGH), k, _LN2_LOW)
        # Taylor's series to r^13: |r| <= ln(2)/2, the rest is below 2^-57.
        p = 1.0 / 6227020800.0
        p = p * r + 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        p = p * r + 1.0
        return 0.0 if tiny else p * _two_to_the(k)

    return compiled


@inlined(log1p_share)
def _log1p_share(e):
    def compiled(e):
        # ln(1 + e) = 2 artanh(s), s = e/(2 + e) <= 1/3
        s = e / (2.0 + e)
        q = s * s
        return 2.0 * s + 2.0 * s * (q * _artanh_rest(q))

    return compiled


@register_jitable
def expit(t: float) -> float:
    """1 / (1 + e^-t), to full relative precision on both sides."""
    e = exp_below(-abs(t))
    r = 1.0 / (1.0 + e)
    return r if t >= 0.0 else e * r


def entropy(a: float) -> float:
    """a ln a + (1 - a) ln(1 - a) on [0, 1], 0 at both ends. Both terms are negative, so that nothing cancels."""
    s = 0.0
    if a > 0.0:
        s += a * math.log(a)
    if a < 1.0:
        s += (1.0 - a) * math.log1p(-a)
    return s


@inlined(entropy)
def _entropy(a):
    def compiled(a):
        # The function is symmetric, so the smaller share is taken: 1 - a is exact for a >= 1/2.
        b = 1.0 - a if a > 0.5 else a
        normal = 2.2250738585072014e-308  # the smallest number with a full mantissa
        # ln b = k ln 2 + 2 artanh(s) with b = 2^k m, 0.7 <= m <= 1.42, |s| <= 0.172: the rest after s^21 is below 2^-60.
        full = b if b >= normal else 1.0
        k = _exponent(full * 1.4142135623730951)
        m = full * _two_to_the(-k)
        s = (m - 1.0) / (m + 1.0)
        q = s * s
        p = 1.0 / 21.0
        p = p * q + 1.0 / 19.0
        p = p * q + 1.0 / 17.0
        p = p * q + 1.0 / 15.0
        p = p * q + 1.0 / 13.0
        p = p * q + 1.0 / 11.0
        p = p * q + 1.0 / 9.0
        p = p * q + 1.0 / 7.0
        p = p * q + 0.2
        p = p * q + 1.0 / 3.0
        ln = k * _LN2_HIGH + (2.0 * s + (2.0 * s * (q * p) + k * _LN2_LOW))
        # ln(1 - b) = -2 artanh(b/(2 - b))
        s = b / (2.0 - b)
        q = s * s
        return (b * ln if b >= normal else 0.0) - (1.0 - b) * (2.0 * s + 2.0 * s * (q * _artanh_rest(q)))

    return compiled
