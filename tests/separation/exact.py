"""An exact reference, written only for tests: a rational simplex with Bland's rule, and checks of proofs in Fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def pairs_of(X, index, K, offset):
    """The vectors a of each (row, rival), as Fractions; theta has a line for every class."""
    out, names = [], []
    for i, (x, own) in enumerate(zip(X, index)):
        row = [Fraction(float(v)) for v in x] + [Fraction(1)] * offset
        for k in range(K):
            if k != own:
                a = []
                for line in range(K):
                    sign = int(line == own) - int(line == k)
                    a += [sign * v for v in row]
                out.append(a)
                names.append((i, k))
    return out, names


def maximise(c, A, b):
    """max c'x, A x <= b, x >= 0, with b >= 0, by the tableau and Bland's rule: (value, x)."""
    m, n = len(A), len(c)
    T = [[*row, *(Fraction(i == j) for j in range(m)), right] for i, (row, right) in enumerate(zip(A, b))]
    z = [-v for v in c] + [Fraction(0)] * (m + 1)
    basis = list(range(n, n + m))
    while True:
        enter = next((j for j in range(n + m) if z[j] < 0), None)
        if enter is None:
            break
        ratios = [(T[i][-1] / T[i][enter], basis[i], i) for i in range(m) if T[i][enter] > 0]
        if not ratios:
            raise ArithmeticError("unbounded")
        _, _, i = min(ratios)
        pivot = T[i][enter]
        T[i] = [v / pivot for v in T[i]]
        for row in [*T[:i], *T[i + 1 :], z]:
            factor = row[enter]
            if factor:
                for j, v in enumerate(T[i]):
                    if v:
                        row[j] -= factor * v
        basis[i] = enter
    x = [Fraction(0)] * (n + m)
    for i, j in enumerate(basis):
        x[j] = T[i][-1]
    return z[-1], x[:n]


def status_of(X, index, K, offset=True):
    """max sum s, s <= a'theta, 0 <= s <= 1 over a free theta: how many rows can be strictly right at once."""
    A, _ = pairs_of(np.asarray(X), index, K, offset)
    m, p = len(A), len(A[0])
    # theta = t - r, t and r >= 0
    left = [[*(-v for v in a), *a, *(Fraction(i == j) for j in range(m))] for i, a in enumerate(A)]
    left += [[Fraction(0)] * (2 * p) + [Fraction(i == j) for j in range(m)] for i in range(m)]
    right = [Fraction(0)] * m + [Fraction(1)] * m
    value, _ = maximise([Fraction(0)] * (2 * p) + [Fraction(1)] * m, left, right)
    return "complete" if value == m else "quasi" if value > 0 else "overlap"


def rank_of(rows):
    rows = [list(row) for row in rows]
    rank = 0
    for j in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][j]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for i in range(rank + 1, len(rows)):
            factor = rows[i][j] / rows[rank][j]
            if factor:
                rows[i] = [u - factor * v for u, v in zip(rows[i], rows[rank])]
        rank += 1
    return rank


def proves(result, X, y, offset=True, floats=True):
    """Whether the result proves its status, by nothing but Fractions and the definitions.

    ``floats``: the floats w of a complete separation must be the proof themselves.
    """
    X = np.asarray(X.todense()) if hasattr(X, "todense") else np.asarray(X)
    classes, index = np.unique(y, return_inverse=True)
    K = len(classes)
    A, names = pairs_of(X, index, K, offset)
    position = {name: g for g, name in enumerate(names)}
    rivals = (
        [1 - index[i] for i in result.rows] if K == 2 else [classes.tolist().index(k) for k in result.rivals.tolist()]
    )
    chosen = [A[position[int(i), int(k)]] for i, k in zip(result.rows, rivals)]
    alpha = result.multipliers
    relation = (
        len(alpha) == len(chosen) > 0
        and all(isinstance(v, Fraction) and v > 0 for v in alpha)
        and all(sum(v * a[j] for v, a in zip(alpha, chosen)) == 0 for j in range(len(A[0])))
    )
    signs = None
    if result.direction is not None:
        first = [Fraction(0)] * len(result.direction[0])
        theta = [v for line in [first, *result.direction] for v in line]
        signs = [sum(u * v for u, v in zip(a, theta)) for a in A]
    if result.status == "complete":
        w = np.atleast_2d(result.w)
        exact = w if K == 2 else w[1:] - w[0]
        same = all(
            Fraction(float(v)) == u
            for v, u in zip(exact.ravel(), np.ravel([r[: X.shape[1]] for r in result.direction]))
        )
        return (same or not floats) and min(signs) > 0
    if result.status == "quasi":
        on_plane = sorted({names[g][0] for g, v in enumerate(signs) if v == 0})
        return relation and min(signs) == 0 and max(signs) > 0 and on_plane == result.on_plane.tolist()
    return relation and rank_of(chosen) == rank_of(A)
