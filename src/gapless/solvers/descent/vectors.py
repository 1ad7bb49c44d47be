"""Vectors inside a kernel: each is compiled once for all kernels of descent."""

from __future__ import annotations

import math

from gapless._compile.jit import compiled


@compiled(allocates=False)
def copy(values, into):
    """``into[:] = values`` would have numba compile its message for lengths that differ: 40 functions."""
    for j in range(into.size):
        into[j] = values[j]


@compiled(allocates=False)
def stretch(values, factor):
    for j in range(values.size):
        values[j] *= factor


@compiled(allocates=False, vectorise=True)
def norm_of(gradient):
    s = 0.0
    for j in range(gradient.size):
        s += gradient[j] * gradient[j]
    return math.sqrt(s)


@compiled(allocates=False, vectorise=True)
def product(a, b):
    s = 0.0
    for j in range(a.size):
        s += a[j] * b[j]
    return s
