"""Softmax loss of K scores: ln sum_k e^(z_k) - z_y, y the true class.

Conjugate: l*(y, v) = sum_k p_k ln p_k with p = v + e_y, where p is a point of the simplex, else infinity.
A row function, not a scalar one: the verbs of `_protocol` do not apply, `problems/multinomial` uses these.
"""

from __future__ import annotations

import math

from numba import extending


@extending.register_jitable
def softmax_row(z, y, p):
    """p = softmax(z), written in place; returns the loss. The largest score is taken out first, so nothing overflows."""
    top = z[0]
    for k in range(1, z.size):
        top = max(top, z[k])
    total = 0.0
    for k in range(z.size):
        p[k] = math.exp(z[k] - top)
        total += p[k]
    for k in range(z.size):
        p[k] /= total
    # ln(total) through log1p where the true class dominates: a tiny loss keeps its digits.
    if z[y] == top:
        others = 0.0
        for k in range(z.size):
            if k != y:
                others += math.exp(z[k] - top)
        return math.log1p(others)
    return math.log(total) + (top - z[y])


@extending.register_jitable
def entropy_row(u, y, c):
    """-sum_k p_k ln p_k with p_k = -u_k/c for the others and p_y what is left to 1."""
    others = 0.0
    s = 0.0
    for k in range(u.size):
        if k != y and u[k] != 0.0:
            p = -u[k] / c
            others += p
            s -= p * math.log(p)
    own = 1.0 - others
    if own > 0.0:
        s -= own * math.log1p(-others)
    return s
