"""Every labelling of given points that a hyperplane can give, exactly.

    given   x_1 ... x_n, any position: on a line, on a circle, twice the same
    find    all y in {-1, 1}^n with y_i (<w, x_i> + b) > 0 for some (w, b), and such a (w, b) for each

With a_i = (x_i, 1) they are the cells of the arrangement of the hyperplanes {theta : <a_i, theta> = 0}.  One more
hyperplane H cuts exactly those cells that meet it, and these are the cells of the arrangement *within* H, one dimension
lower.  So

    cells(a_1 ... a_n) = cells(a_1 ... a_(n-1)) + cells(a_1 ... a_(n-1) restricted to a_n = 0)

(deletion and restriction, Zaslavsky 1975; Cover 1965 for general position).  A point theta of a cell within H gives both
halves of the cell that it cuts: theta + and - a little of a_n.  Everything is done in integers: no tolerance takes part in
it, and the time is that of the cells which are found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless.solvers.exact.rational import Integers
from gapless.theory.inputs import as_dense

Vector = tuple[int, ...]


@result
@dataclass(frozen=True, eq=False, repr=False)
class Dichotomies:
    """``count`` labellings of n points; ``labels`` has a row of -1 and 1 for each, ``hyperplane(i)`` the (w, b) that gives it.

    Attributes
    ----------
    n : points
    d : coordinates of a point
    count : labellings that a hyperplane gives
    most : what points in general position would have
    offset : whether hyperplanes have an offset, or go through 0
    labels : (count, n): -1 and 1
    points : (x, 1) in integers
    theta : (w, b) of each labelling, in scaled integers
    exponents : power of two that each column was divided by
    """

    n: int
    d: int
    count: int
    most: int
    offset: bool
    labels: np.ndarray
    points: list[Vector] = field(repr=False)
    theta: list[Vector] = field(repr=False)
    exponents: list[int] = field(repr=False)

    @property
    def general_position(self) -> bool:
        """Whether no d + 1 points lie on a hyperplane (and no others where they need not)."""
        return self.count == self.most

    @property
    def shattered(self) -> bool:
        """Whether all 2^n labellings occur."""
        return self.count == 1 << self.n

    def hyperplane(self, i: int) -> tuple[list[Fraction], Fraction]:
        """(w, b) of row i of ``labels``, exactly."""
        scaled = [Fraction(v) * Fraction(2) ** -e for v, e in zip(self.theta[i], self.exponents)]
        return (scaled[:-1], scaled[-1]) if self.offset else (scaled, Fraction(0))

    def check(self) -> bool:
        """Every witness again, in integers: each gives its own row of labels, and no row stands twice."""
        for row, theta in zip(self.labels.tolist(), self.theta):
            if any(y * _dot(a, theta) <= 0 for y, a in zip(row, self.points)):
                return False
        return len({row.tobytes() for row in self.labels}) == self.count

    def __repr__(self) -> str:
        return f"Dichotomies(count={self.count}, n={self.n}, d={self.d})"

    def __str__(self) -> str:
        how = (
            "as many as points in general position have"
            if self.general_position
            else f"general position would have {self.most:,}"
        )
        share = "all of them: the points are shattered" if self.shattered else how
        return f"hyperplanes give {self.count:,} of the 2^{self.n} labellings of these {self.n} points in R^{self.d}, {share}"


def dichotomies(X: Any, offset: bool = True, most: int = 200_000) -> Dichotomies:
    """All labellings of the rows of X by hyperplanes, with a witness each.

    Without ``offset`` hyperplanes go through 0.  Points count strictly on one side; with an offset that changes nothing,
    because a hyperplane through some points can be moved a little.  More than ``most`` are refused: `count_dichotomies`
    counts them.

    Parameters
    ----------
    X : a point in each row
    offset : whether hyperplanes have an offset, or go through 0
    most : more dichotomies than this are refused
    """
    points, exponents, d = _integers(X, offset)
    count = _count(points)
    if count > most:
        raise ValueError(
            f"there are {count:,} dichotomies; listing more than most={most:,} is asked for by most={count}"
        )
    cells = _cells(points, len(exponents))
    masks = sorted(cells)
    n = len(points)
    labels = np.empty((len(masks), n), dtype=np.int8)
    for i, mask in enumerate(masks):
        labels[i] = [1 if mask >> j & 1 else -1 for j in range(n)]
    return Dichotomies(
        n, d, len(masks), cover(n, d, offset), offset, labels, points, [cells[m] for m in masks], exponents
    )


def count_dichotomies(X: Any, offset: bool = True) -> int:
    """Their number alone.

    Parameters
    ----------
    X : a point in each row
    offset : whether hyperplanes have an offset, or go through 0
    """
    return _count(_integers(X, offset)[0])


def cover(n: int, d: int, offset: bool = True) -> int:
    """2 sum_(k <= d) C(n - 1, k): n points in general position (Cover 1965)."""
    return 2 * sum(math.comb(n - 1, k) for k in range(min(n, d + 1 if offset else d)))


def _integers(X: Any, offset: bool) -> tuple[list[Vector], list[int], int]:
    """(x, 1) as integers, and for each column the power of two that they were divided by."""
    X = as_dense(X)
    if X.ndim != 2 or X.shape[0] == 0:
        raise ValueError(f"points must be the rows of a matrix; got an array of shape {X.shape}")
    if X.dtype.kind not in "biuf" or not np.isfinite(X).all():
        raise ValueError("points must be finite real numbers")
    A = np.column_stack([X, np.ones(len(X))]) if offset else X
    if A.shape[1] == 0:
        raise ValueError("points without coordinates, and no offset: there is no hyperplane")
    whole = Integers(A)
    points = [tuple(int(v) for v in row) for row in whole.values.tolist()]
    for i, a in enumerate(points):
        if not any(a):
            raise ValueError(f"row {i} is 0: a hyperplane through 0 has it on neither side")
    return points, whole.exponents.tolist(), X.shape[1]


def _dot(a: Vector, b: Vector) -> int:
    return sum(u * v for u, v in zip(a, b))


def _primitive(a: list[int] | Vector) -> Vector:
    factor = math.gcd(*a)
    return tuple(v // factor for v in a) if factor > 1 else tuple(a)


def _line(a: Vector) -> Vector:
    """The same for a and every multiple of it: divided by its factors, first number positive."""
    a = _primitive(a)
    return a if next(v for v in a if v) > 0 else tuple(-v for v in a)


def _pivot(a: Vector) -> int:
    """The smallest number that is not 0: it keeps the integers short."""
    return min((j for j, v in enumerate(a) if v), key=lambda j: abs(a[j]))


def _restrict(a: Vector, onto: Vector, j: int) -> Vector:
    """a on the hyperplane <onto, theta> = 0, in all coordinates but j; the sign is kept."""
    p, q = onto[j], a[j]
    if p < 0:
        p, q = -p, -q
    return tuple(p * a[k] - q * onto[k] for k in range(len(a)) if k != j)


def _lift(theta: Vector, onto: Vector, j: int) -> Vector:
    """The point of that hyperplane with the other coordinates theta, times |onto_j|."""
    p = onto[j]
    rest = sum(u * v for u, v in zip(theta, onto[:j] + onto[j + 1 :]))
    scaled = [abs(p) * v for v in theta]
    return (*scaled[:j], -rest if p > 0 else rest, *scaled[j:])


def _count(points: list[Vector]) -> int:
    """How many cells: only the different hyperplanes count."""
    return _regions(list(dict.fromkeys(_line(a) for a in points if any(a))))


def _regions(lines: list[Vector]) -> int:
    if not lines:
        return 1
    if len(lines[0]) == 1:
        return 2
    if len(lines[0]) == 2:
        return 2 * len(lines)
    total = 1
    for i, a in enumerate(lines):
        j = _pivot(a)
        total += _regions(list(dict.fromkeys(_line(_restrict(b, a, j)) for b in lines[:i])))
    return total


def _cells(points: list[Vector], p: int) -> dict[int, Vector]:
    """Sign pattern (bit i is set where <a_i, theta> > 0) -> theta, an integer point inside the cell."""
    cells: dict[int, Vector] = {0: (0,) * p}
    known: dict[Vector, tuple[int, bool]] = {}
    for i, a in enumerate(points):
        if not any(a):
            continue
        line = _line(a)
        same = line == _primitive(a)
        if line in known:
            # The same hyperplane again: every cell keeps its witness.
            j, turned = known[line]
            cells = {mask | (((mask >> j & 1) ^ (turned != same)) << i): theta for mask, theta in cells.items()}
            continue
        known[line] = (i, same)
        cells = _cut(cells, points[:i], a, i, p)
    return cells


def _cut(cells: dict[int, Vector], before: list[Vector], a: Vector, i: int, p: int) -> dict[int, Vector]:
    """The cells after one more hyperplane."""
    j = _pivot(a)
    within = _cells([_restrict(b, a, j) for b in before], p - 1) if p > 1 else {0: ()}
    out: dict[int, Vector] = {}
    cut = set()
    for theta in within.values():
        middle = _lift(theta, a, j)
        values = [_dot(b, middle) for b in before]
        slopes = [_dot(b, a) for b in before]
        mask = sum(1 << k for k, v in enumerate(values) if v > 0)
        # s middle +- a keeps every sign if s |value| > |slope| wherever there is a sign to keep.
        s = 1 + max((abs(u) // abs(v) for u, v in zip(slopes, values) if v), default=0)
        cut.add(mask)
        out[mask | 1 << i] = _primitive([s * m + v for m, v in zip(middle, a)])
        out[mask] = _primitive([s * m - v for m, v in zip(middle, a)])
    for mask, theta in cells.items():
        if mask not in cut:
            out[mask | (1 << i if _dot(a, theta) > 0 else 0)] = theta
    return out
