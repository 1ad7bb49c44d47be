"""Least squares without rounding: F, its gradient, F* itself, in integers over powers of two.

With M = A'A + alpha I (exact, positive semidefinite; the offset is a column of ones without penalty) and g half of minus the
gradient, F - F* = g'M^-1 g.  Bareiss's elimination of the bordered matrix [[M, g], [g', 0]] keeps integers: after the pivots
of M, the corner over the last pivot is -g'M^-1 g.  A pivot that is 0 means a zero row (M is semidefinite), hence a direction
in which g, that lies in the range of M, has nothing either: it is left out.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ..arithmetic.exact_elementary import sqrt_fractions
from ..linear.recompute import Task
from ..linear.rigorous import dyadic, float_interval, integer_rows, integer_scores, scaled
from .data import SquaresData


class ExactTarget(NamedTuple):
    """Figures correctly rounded; objective, and its distance from the optimum (None: too many columns)."""

    rss: float
    tss: float
    cosine: float
    objective: Fraction
    excess: Fraction | None

    @property
    def bounds(self) -> tuple[float, float, float]:
        """(F from above, F* from below, F - F* from above)"""
        excess = self.objective if self.excess is None else self.excess
        best = self.objective - excess
        high, low, gap = (float_interval((x, x)) for x in (self.objective, best, excess))
        return high.up, low.low, gap.up


def exact_targets(case: SquaresData) -> list[ExactTarget]:
    """Every target of a document of kind "orthogonality"."""
    keep, sparse, exponent = integer_rows(Task(case.rows, case.Y, case.s, "squared", "none"))
    d, width = case.d, case.d + case.free
    # The columns, then ones; an integer t stands for t 2^exponent.
    table = np.zeros((len(keep), width), dtype=object)
    for i, (columns, values) in enumerate(sparse):
        table[i, columns] = values
    if case.free:
        table[:, d] = 1 << -exponent
    s = dyadic(case.s[keep])
    weights = np.array(s.integers, dtype=object)
    weighted = table * weights[:, None]
    mass = sum(s.integers)
    # Over 2^(2 exponent + s.exponent), as are all moments.
    square = (table[:, :d] * weighted[:, :d]).sum(axis=0).tolist()
    total = weighted[:, :d].sum(axis=0).tolist()
    unit, means, lengths = Fraction(2) ** (2 * exponent + s.exponent), [Fraction(0)] * d, [Fraction(v) for v in square]
    if case.free:  # columns about their means; of a constant one 2^-88 of its square counts (as in `figures`)
        means = [Fraction(v, mass) * Fraction(2) ** exponent for v in total]
        lengths = [max(L - Fraction(v * v, mass), L / (1 << 88)) for L, v in zip(lengths, total, strict=True)]
    # F* of so many columns: integers of some hundred bits a column, in cubic time.
    gram = table.T @ weighted if width <= 100 else None
    out = []
    for k in range(case.S):
        y = dyadic(case.Y[k][keep])
        model = dyadic(np.append(case.W[k], case.b[k] if case.free else 0.0))
        z = integer_scores(sparse, exponent, model)
        low = min(y.exponent, z.exponent)
        pairs = zip(y.integers, z.integers, strict=True)
        r = np.array([(a << (y.exponent - low)) - (v << (z.exponent - low)) for a, v in pairs], dtype=object)
        about = np.array(y.integers, dtype=object)
        sum_y, square_y = int((weights * about).sum()), int((weights * about * about).sum())
        rss = scaled(int((weights * r * r).sum()), 2 * low + s.exponent)
        tss = (square_y - Fraction(sum_y * sum_y, mass)) * Fraction(2) ** (2 * y.exponent + s.exponent)
        step = Fraction(2) ** (exponent + low + s.exponent)
        slope = int((weights * r).sum())
        gradient = [Fraction(int(v)) * step for v in weighted[:, :d].T @ r]
        alpha = Fraction(float(case.alpha[k]))
        gradient = [g - alpha * Fraction(w) for g, w in zip(gradient, case.W[k].tolist(), strict=True)]
        offset = scaled(slope, low + s.exponent)
        # The largest |g_j| / (|x_j| |r|), squared.
        terms = zip(gradient, means, lengths, strict=True)
        cosines2 = [(g - mean * offset) ** 2 / (L * unit * rss) for g, mean, L in terms if L and rss]
        cosines2 += [offset**2 / (scaled(mass, s.exponent) * rss)] if case.free and rss else []
        largest = max(cosines2, default=Fraction(0))
        cosine = _near(sqrt_fractions(largest, largest)[0])
        objective = rss + alpha * sum((Fraction(w) ** 2 for w in case.W[k].tolist()), Fraction(0))
        border = [*gradient, offset] if case.free else gradient
        excess = None
        if gram is not None:
            excess = _excess(gram, 2 * exponent + s.exponent, alpha, border, d)
        out.append(ExactTarget(_near(rss), _near(tss), cosine, objective, excess))
    return out


def _excess(gram: np.ndarray, exponent: int, alpha: Fraction, g: list[Fraction], d: int) -> Fraction:
    """g'M^-1 g, M = gram 2^exponent with alpha added to its first d diagonal entries: both brought to integers first."""
    width = len(g)
    low = min(exponent, _exponent(alpha))
    M = [[int(v) << (exponent - low) for v in row] for row in gram.tolist()]
    for j in range(d):
        M[j][j] += int(alpha / Fraction(2) ** low)
    finest = min((_exponent(x) for x in g), default=0)
    whole = [int(x / Fraction(2) ** finest) for x in g]
    for row, value in zip(M, whole, strict=True):
        row.append(value)
    M.append([*whole, 0])
    last = 1
    for p in range(width):
        pivot = M[p][p]
        if pivot == 0:
            continue
        for i in range(p + 1, width + 1):
            lead = M[i][p]
            for j in range(i, width + 1):
                M[i][j] = (M[i][j] * pivot - lead * M[p][j]) // last
            for j in range(p + 1, i):
                M[i][j] = M[j][i]
        last = pivot
    return Fraction(-M[width][width], last) * Fraction(2) ** (2 * finest - low)


def _exponent(x: Fraction) -> int:
    """The e of a dyadic fraction m 2^e, m odd; 0 for 0."""
    if x == 0:
        return 0
    return (x.numerator & -x.numerator).bit_length() - x.denominator.bit_length()


def _near(x: Fraction) -> float:
    try:
        return x.numerator / x.denominator
    except OverflowError:
        return math.inf
