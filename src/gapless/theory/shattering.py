"""Whether points are shattered by halfspaces, with a proof either way.

    shattered       (x_1, 1) ... (x_n, 1) are linearly independent: for any labels y the system <w, x_i> + b = y_i has a solution
    not shattered   sum_i c_i (x_i, 1) = 0 with some c_i not 0.  No hyperplane gives the labels y_i = sign c_i, for then
                    0 = sum_i c_i (<w, x_i> + b) = sum_i |c_i| y_i (<w, x_i> + b) would be a sum of positive numbers (Radon)

So halfspaces of R^d shatter d + 1 points, some of them, and never d + 2: their VC dimension is d + 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from gapless.solvers.rational import solve
from gapless.theory._inputs import whole
from gapless.theory.dichotomies import Vector, _integers

__all__ = ["Shattering", "effective_dimension", "independent_points", "radon", "shatters"]


@dataclass(frozen=True, eq=False, repr=False)
class Shattering:
    """``shattered``, or ``labelling`` that no hyperplane gives, with ``multipliers`` > 0 on ``rows`` that prove it."""

    n: int
    d: int
    offset: bool
    shattered: bool
    rank: int
    labelling: np.ndarray | None
    rows: np.ndarray
    multipliers: list[Fraction]
    points: list[Vector] = field(repr=False)
    exponents: list[int] = field(repr=False)

    def hyperplane(self, labels: Any) -> tuple[list[Fraction], Fraction]:
        """Exact w and b with <w, x_i> + b = y_i, for shattered points."""
        if not self.shattered:
            raise ValueError("these points are not shattered: `labelling` is one that no hyperplane gives")
        y = np.asarray(labels)
        if y.shape != (self.n,) or not np.isin(y, (-1, 1)).all():
            raise ValueError(f"labels must be {self.n} numbers, each -1 or 1")
        columns = _independent_columns(self.points, self.rank)
        M = np.array([[a[j] for j in columns] for a in self.points], dtype=object)
        found = solve(M, y.astype(object))
        if found is None:
            raise ArithmeticError("the exact solution has too many digits")
        theta = [Fraction(0)] * len(self.exponents)
        for j, v in zip(columns, found[0]):
            theta[j] = Fraction(v, found[1]) * Fraction(2) ** -self.exponents[j]
        return (theta[:-1], theta[-1]) if self.offset else (theta, Fraction(0))

    def check(self) -> bool:
        """The proof again, in integers: every labelling for shattered points (up to 12 of them), the multipliers for others."""
        if self.shattered:
            if self.n > 12:
                return self.rank == self.n
            return all(self._gives([1 if k >> i & 1 else -1 for i in range(self.n)]) for k in range(1 << self.n))
        assert self.labelling is not None
        total = [Fraction(0)] * len(self.exponents)
        for i, c in zip(self.rows.tolist(), self.multipliers):
            if c <= 0:
                return False
            total = [t + c * int(self.labelling[i]) * v for t, v in zip(total, self.points[i])]
        return bool(self.rows.size) and not any(total)

    def _gives(self, labels: list[int]) -> bool:
        w, b = self.hyperplane(labels)
        theta = [*w, b] if self.offset else w
        values = (sum(t * v / Fraction(2) ** -e for t, v, e in zip(theta, a, self.exponents)) for a in self.points)
        return all(value == y for value, y in zip(values, labels))

    def __repr__(self) -> str:
        return f"Shattering(shattered={self.shattered}, n={self.n}, rank={self.rank})"

    def __str__(self) -> str:
        if self.shattered:
            return f"hyperplanes shatter these {self.n} points of R^{self.d}: all 2^{self.n} labellings occur"
        assert self.labelling is not None
        signs = "".join("+" if y > 0 else "-" for y in self.labelling)
        return f"no hyperplane labels these {self.n} points of R^{self.d} {signs}: multipliers of {self.rows.size} rows prove it"


def shatters(X: Any, offset: bool = True) -> Shattering:
    """Whether hyperplanes (through 0 where ``offset`` is false) give all 2^n labellings of the rows of X."""
    points, exponents, d = _integers(X, offset)
    relation = _relation(points)
    n = len(points)
    if relation is None:
        return Shattering(n, d, offset, True, n, None, np.zeros(0, dtype=np.int64), [], points, exponents)
    rank = _rank(points)
    labelling = np.array([-1 if c < 0 else 1 for c in relation], dtype=np.int8)
    rows = np.array([i for i, c in enumerate(relation) if c], dtype=np.int64)
    size = sum(abs(c) for c in relation)
    return Shattering(
        n, d, offset, False, rank, labelling, rows, [Fraction(abs(c), size) for c in relation if c], points, exponents
    )


def independent_points(d: Any) -> np.ndarray:
    """d + 1 points of R^d that are shattered: 0 and the d unit vectors."""
    d = whole(d, "d")
    return np.vstack([np.zeros(d), np.eye(d)])


def radon(X: Any) -> Shattering:
    """The labelling of d + 2 points (or more) of R^d that no hyperplane gives: the two sides have a point in common."""
    X = np.asarray(X)
    if X.ndim != 2 or X.shape[0] < X.shape[1] + 2:
        raise ValueError(f"this holds for any d + 2 points of R^d, or more; got an array of shape {X.shape}")
    return shatters(X)


def effective_dimension(X: Any, offset: bool = True) -> int:
    """The most rows of X that hyperplanes can shatter: the rank of (X, 1), which is the number of *effective* parameters.

    A column that depends on others adds a parameter and no dichotomy.
    """
    return _rank(_integers(X, offset)[0])


def _rank(points: list[Vector]) -> int:
    return len(_eliminate(points)[0])


def _independent_columns(points: list[Vector], rank: int) -> list[int]:
    return sorted(_eliminate(points)[1])


def _eliminate(points: list[Vector]) -> tuple[list[int], list[int]]:
    """Rows and columns of a largest regular minor, in integers."""
    rest = [list(a) for a in points]
    rows: list[int] = []
    columns: list[int] = []
    for i in range(len(rest)):
        j = next((j for j, v in enumerate(rest[i]) if v), None)
        if j is None:
            continue
        rows.append(i)
        columns.append(j)
        for k in range(i + 1, len(rest)):
            if rest[k][j]:
                rest[k] = _combined(rest[k], rest[i], rest[i][j], rest[k][j])
    return rows, columns


def _combined(a: list[int], b: list[int], p: int, q: int) -> list[int]:
    """p a - q b without its common factor."""
    out = [p * u - q * v for u, v in zip(a, b)]
    factor = math.gcd(*out)
    return [v // factor for v in out] if factor > 1 else out


def _relation(points: list[Vector]) -> list[int] | None:
    """Integers c, not all 0, with sum_i c_i a_i = 0, of the first rows that are dependent; None where none are."""
    n = len(points)
    known: list[tuple[list[int], int]] = []  # (row with its own combination behind it, pivot)
    for i, a in enumerate(points):
        row = [*a, *(int(k == i) for k in range(n))]
        for other, j in known:
            if row[j]:
                row = _combined(row, other, other[j], row[j])
        pivot = next((j for j in range(len(a)) if row[j]), None)
        if pivot is None:
            return row[len(a) :]
        known.append((row, pivot))
    return None
