"""How far a kernel machine's variables are from the optimality conditions: pairs out of order, and the gap summed over rows.

With u = s beta and v = s tau - f, a pair (i, j) is out of order where u_i can rise, u_j can fall and v_i > v_j.
"""

from __future__ import annotations

import numpy as np

from gapless._compile.jit import compiled


def violations(u, v, low, high):
    """How far each v is on the wrong side of 0; negative where it is on the right side."""
    out = np.empty(u.size)
    _measure_violations(u, v, low, high, out)
    return out


@compiled
def extremes(u, v, low, high, kink):
    """The largest v that can rise and the smallest v that can fall; less and more by the ``kink``, the price of |u|."""
    top, bottom = -np.inf, np.inf
    for i in range(u.size):
        rise, fall = v[i] + kink if u[i] < 0.0 else v[i] - kink, v[i] - kink if u[i] > 0.0 else v[i] + kink
        if u[i] < high[i] and rise > top:
            top = rise
        if u[i] > low[i] and fall < bottom:
            bottom = fall
    return top, bottom


@compiled(vectorise=True)
def gap_of_rows(u, v, low, high):
    """The sum of (c - beta) h where h > 0 and of -beta h elsewhere: v times the way to the upper bound, or to the lower one."""
    total = 0.0
    for i in range(u.size):
        total += v[i] * (high[i] - u[i]) if v[i] > 0.0 else v[i] * (low[i] - u[i])
    return total


@compiled(allocates=False)
def _measure_violations(u, v, low, high, out):
    for i in range(u.size):
        worst = -np.inf
        if u[i] < high[i]:
            worst = v[i]
        if u[i] > low[i] and -v[i] > worst:
            worst = -v[i]
        out[i] = worst
