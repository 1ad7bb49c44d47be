"""The linear program of `separation` in fractions, for problems so small or so badly scaled that HiGHS is no guide.

    maximise sum s   subject to   s_i - a_i'theta <= 0,  s_i <= 1,  s >= 0,  theta free

by the tableau with Bland's rule, which always ends.  At the optimum s_i is 1 (a_i'theta >= 1) or 0, and the multipliers of the
first constraints are alpha: A'alpha = 0, alpha >= 1 in the rows with s = 0 and 0 in the others.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def simplex_is_small(rows: int, columns: int) -> bool:
    """Whether the tableau has at most 60,000 numbers, with which the method takes a second."""
    return 2 * rows * (2 * columns + 3 * rows) <= 60_000


def classify_exactly(A: np.ndarray) -> tuple[list[Fraction], list[Fraction]]:
    """Solve the program for the integers A. Returns (theta, alpha)."""
    m, p = A.shape
    # Columns: theta split in two, s, slacks of the first constraints, slacks of s <= 1, right-hand side.
    width = 2 * p + 3 * m + 1
    table = []
    for i, a in enumerate(A.tolist()):
        row = [Fraction(-v) for v in a] + [Fraction(v) for v in a] + [Fraction(0)] * (3 * m + 1)
        row[2 * p + i] = row[2 * p + m + i] = Fraction(1)
        table.append(row)
    for i in range(m):
        row = [Fraction(0)] * width
        row[2 * p + i] = row[2 * p + 2 * m + i] = row[-1] = Fraction(1)
        table.append(row)
    cost = [Fraction(0)] * width
    for i in range(m):
        cost[2 * p + i] = Fraction(-1)
    basis = list(range(2 * p + m, 2 * p + 3 * m))
    while True:
        enter = next((j for j in range(width - 1) if cost[j] < 0), None)
        if enter is None:
            break
        leave, best = -1, Fraction(0)
        for i, row in enumerate(table):
            if row[enter] > 0:
                ratio = row[-1] / row[enter]
                if leave < 0 or ratio < best or (ratio == best and basis[i] < basis[leave]):
                    leave, best = i, ratio
        pivot = table[leave][enter]
        table[leave] = [v / pivot if v else v for v in table[leave]]
        live = [(j, v) for j, v in enumerate(table[leave]) if v]
        for i in range(2 * m + 1):
            row = cost if i == 2 * m else table[i]
            factor = row[enter]
            if factor and i != leave:
                for j, v in live:
                    row[j] -= factor * v
        basis[leave] = enter
    x = [Fraction(0)] * width
    for i, j in enumerate(basis):
        x[j] = table[i][-1]
    theta = [u - v for u, v in zip(x[:p], x[p : 2 * p])]
    return theta, cost[2 * p + m : 2 * p + 2 * m]
