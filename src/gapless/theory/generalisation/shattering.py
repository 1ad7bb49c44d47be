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

from gapless._runtime.results import result
from gapless.solvers.exact.rational import solve
from gapless.theory.generalisation.dichotomies import Vector, _integers
from gapless.theory.inputs import as_dense, as_nonnegative, as_whole

__all__ = ["EffectiveDimension", "Shattering", "effective_dimension", "independent_points", "radon", "shatters"]


@result
@dataclass(frozen=True, eq=False, repr=False)
class Shattering:
    """``shattered``, or ``labelling`` that no hyperplane gives, with ``multipliers`` > 0 on ``rows`` that prove it.

    Attributes
    ----------
    n : points
    d : coordinates of a point
    offset : whether hyperplanes have an offset, or go through 0
    shattered : whether every labelling is given by a hyperplane
    rank : rank of the rows (x, 1)
    labelling : labels that no hyperplane gives, None where all are given
    rows : numbers of the points of the proof
    multipliers : positive multipliers that prove it
    points : (x, 1) in integers
    exponents : power of two that each column was divided by
    """

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
        """Exact w and b with <w, x_i> + b = y_i, for shattered points. ``labels`` are the y_i."""
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
    """Whether hyperplanes (through 0 where ``offset`` is false) give all 2^n labellings of the rows of X.

    Parameters
    ----------
    X : a point in each row
    offset : whether hyperplanes have an offset, or go through 0
    """
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
    """d + 1 points of R^d that are shattered: 0 and the d unit vectors.

    Parameters
    ----------
    d : dimension of the space
    """
    d = as_whole(d, "d")
    return np.vstack([np.zeros(d), np.eye(d)])


def radon(X: Any) -> Shattering:
    """The labelling of d + 2 points (or more) of R^d that no hyperplane gives: the two sides have a point in common.

    Parameters
    ----------
    X : at least d + 2 points, a row each
    """
    X = as_dense(X)
    if X.ndim != 2 or X.shape[0] < X.shape[1] + 2:
        raise ValueError(f"this holds for any d + 2 points of R^d, or more; got an array of shape {X.shape}")
    return shatters(X)


@result
class EffectiveDimension(int):
    """A rank, which is a whole number like any other, and how it was decided.

    Attributes
    ----------
    parameters : int
        Columns of X, and the offset.
    tolerance : float
        Singular values above this share of the largest count; 0 where the rank is that of exact arithmetic.
    smallest_counted, largest_dropped : float or None
        Singular values over the largest of them, on either side of the tolerance.
    """

    parameters: int
    tolerance: float
    smallest_counted: float | None
    largest_dropped: float | None

    def __new__(
        cls, rank: int, parameters: int, tolerance: float, counted: float | None = None, dropped: float | None = None
    ) -> EffectiveDimension:
        self = super().__new__(cls, rank)
        self.parameters, self.tolerance = parameters, tolerance
        self.smallest_counted, self.largest_dropped = counted, dropped
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:  # type: ignore[override]
        return int(self), self.parameters, self.tolerance, self.smallest_counted, self.largest_dropped

    def __str__(self) -> str:
        head = f"{int(self)} effective of {self.parameters} parameters"
        if self.tolerance == 0.0:
            return f"{head} (exact arithmetic: every float is taken as it stands)"
        sides = [("smallest counted", self.smallest_counted), ("largest left out", self.largest_dropped)]
        told = ", ".join(f"{name} {value:.2g}" for name, value in sides if value is not None)
        return f"{head} (singular values above {self.tolerance:.2g} of the largest count{'; ' * bool(told)}{told})"


def effective_dimension(X: Any, offset: bool = True, tol: float | None = None) -> EffectiveDimension:
    """The most rows of X that hyperplanes can shatter: the rank of (X, 1), which is the number of *effective* parameters.

    A column that depends on others adds a parameter and no dichotomy. A column of floats such as x0 + x1 depends on the others
    but for its rounding, so that the rank is the numerical one: the singular values of (X, 1), its columns scaled to length 1,
    that are above ``tol`` times the largest.

    Parameters
    ----------
    X : array of rows
    offset : whether hyperplanes have an offset
    tol : float, optional
        By default max(n, parameters) times the rounding unit of X's numbers (float64: 2.2e-16, float32: 1.2e-7), told by the
        result. 0: the rank in exact arithmetic, where a column that is off by one rounding is one of its own.
    """
    X = given = as_dense(X)
    if given.ndim != 2 or 0 in given.shape:
        raise ValueError(f"X must be a matrix with rows and columns; got shape {given.shape}")
    if tol is not None:
        tol = as_nonnegative(tol, "tol")
    if tol == 0.0:
        return EffectiveDimension(_rank(_integers(X, offset)[0]), given.shape[1] + offset, 0.0)
    A = np.asarray(given, np.float64)
    if not np.isfinite(A).all():
        raise ValueError("X must be finite")
    A = np.column_stack([A, np.ones(len(A))]) if offset else A
    unit = float(np.finfo(given.dtype if given.dtype.kind == "f" else np.float64).eps)
    tolerance = max(A.shape) * unit if tol is None else tol
    size = np.abs(A).max(axis=0)  # first, so that no square is beyond a float
    A = A / np.where(size > 0.0, size, 1.0)
    length = np.sqrt(np.square(A).sum(axis=0))
    values = np.linalg.svd(A / np.where(length > 0.0, length, 1.0), compute_uv=False)
    share = values / values[0] if values[0] > 0.0 else values
    rank = int((share > tolerance).sum())
    return EffectiveDimension(
        rank, A.shape[1], tolerance, float(share[rank - 1]) if rank else None,
        float(share[rank]) if rank < share.size else None,
    )  # fmt: skip


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
