"""Softmax loss of K scores: ln sum_k e^(z_k) - z_y, y the true class.

Conjugate: l*(y, v) = sum_k p_k ln p_k with p = v + e_y, where p is a point of the simplex, else infinity.
A function takes a row of K scores: the scalar verbs of `losses/verbs` do not apply. `problems/multinomial` calls these.
"""

from __future__ import annotations

import math

from gapless._compile.jit import register_jitable


@register_jitable
def softmax_row(z, y, p):
    """Write p = softmax(z) and return the loss. The largest score is subtracted first, so that nothing overflows."""
    top = z[0]
    for k in range(1, z.size):
        top = max(top, z[k])
    total = 0.0
    for k in range(z.size):
        p[k] = math.exp(z[k] - top)
        total += p[k]
    for k in range(z.size):
        p[k] /= total
    # Where the true class has the largest score, ln(total) is taken by log1p: a tiny loss keeps its digits.
    if z[y] == top:
        others = 0.0
        for k in range(z.size):
            if k != y:
                others += math.exp(z[k] - top)
        return math.log1p(others)
    return math.log(total) + (top - z[y])


@register_jitable
def entropy_row(u, y, c):
    """-sum_k p_k ln p_k with p_k = -u_k/c for k != y, and p_y = 1 - the sum of these."""
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
