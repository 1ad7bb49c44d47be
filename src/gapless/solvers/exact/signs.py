"""The exact sign of a'theta for every row: float64 with its error bound first, integers where that leaves it open."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from gapless.problems.separation import Separation
from gapless.solvers.exact.rational import Integers


class Direction:
    """theta, exactly: integers times a common positive factor that does not matter."""

    def __init__(self, entries: np.ndarray) -> None:
        """``entries``: Fractions, integers or floats (taken as they are), in the shape of theta."""
        flat = [Fraction(v) for v in np.asarray(entries, dtype=object).ravel().tolist()]
        denominator = math.lcm(*(v.denominator for v in flat))
        whole = [v.numerator * (denominator // v.denominator) for v in flat]
        common = math.gcd(*whole) or 1
        self.whole = np.array([v // common for v in whole], dtype=object).reshape(np.shape(entries))
        self.factor = Fraction(common, denominator)

    @property
    def floats(self) -> np.ndarray:
        """The nearest float64 of whole / 2^k, with one k for all."""
        shift = max((abs(v).bit_length() for v in self.whole.ravel().tolist()), default=0) - 60
        out = [float(Fraction(v, 1 << shift)) if shift > 0 else float(v) for v in self.whole.ravel().tolist()]
        return np.array(out).reshape(self.whole.shape)


def exact_signs(problem: Separation, theta: Direction) -> np.ndarray:
    """-1, 0 or 1 for each pair, (n, K - 1)."""
    floats = theta.floats
    value, room = problem.enclosed(floats)
    sign = np.sign(value).astype(np.int8)
    safe = bounds_hold(problem, theta)
    open_ = ~(np.abs(value) > room) & ~(room == 0.0) if safe else np.ones(value.shape, dtype=bool)
    rows = np.flatnonzero(open_.any(axis=1))
    if rows.size:
        for part, own, j, value, _ in _in_integers(problem, theta, rows):
            sign[part[own], j] = (value > 0).astype(np.int8) - (value < 0)
    return sign


def bounds_hold(problem: Separation, theta: Direction) -> bool:
    """Whether `enclosed` is to be trusted: no entry of theta is too small for a float, and no product may underflow."""
    floats = theta.floats
    lost = any(v != 0 and f == 0.0 for v, f in zip(theta.whole.ravel().tolist(), floats.ravel().tolist()))
    # A product of two doubles below 2^-1020 may lose digits that no relative bound covers.
    return not lost and _smallest(problem.X) * np.min(np.abs(floats[floats != 0]), initial=np.inf) > 2.0**-1020


def _smallest(X: Any) -> float:
    """The smallest absolute value of an entry that is not 0."""
    data = X.data if hasattr(X, "indptr") else X
    if data.dtype.kind in "iub":
        return 1.0
    least = np.inf
    step = max(1, (1 << 20) // max(1, data.shape[1] if data.ndim == 2 else 1))
    for start in range(0, len(data), step):
        part = np.abs(data[start : start + step])
        least = min(least, float(np.min(part, where=part > 0, initial=np.inf)))
    return min(least, 1.0)


def exact_values(problem: Separation, theta: Direction, rows: np.ndarray) -> np.ndarray:
    """a'theta of the pairs of some rows as Fractions, (rows, K - 1), theta being the integers ``theta.whole``."""
    place = np.empty(problem.n, dtype=np.int64)
    place[rows] = np.arange(rows.size)
    out = np.empty((rows.size, problem.K - 1), dtype=object)
    for part, own, j, value, exponent in _in_integers(problem, theta, rows):
        out[place[part[own]], j] = [int(v) * Fraction(2) ** exponent for v in value.tolist()]
    return out


def _in_integers(problem: Separation, theta: Direction, rows: np.ndarray) -> Iterator[tuple]:
    """(some rows, those of one class among them, number of the rival, integers, e): a'theta = integer 2^e."""
    d, K = problem.d, problem.K
    lines = [[0] * problem.width, *theta.whole.tolist()]
    live = np.flatnonzero((theta.whole[:, :d] != 0).any(axis=0))
    columns = np.append(live, d).tolist() if problem.offset else live.tolist()
    step = max(1, (1 << 18) // max(1, live.size))  # so many Python integers at a time
    X = problem.X[:, live] if problem.is_sparse else problem.X
    for start in range(0, rows.size, step):
        part = rows[start : start + step]
        x = X[part].toarray() if problem.is_sparse else np.asarray(X[part])[:, live]
        x = np.asarray(x, dtype=np.float64)
        if problem.offset:
            x = np.hstack([x, np.ones((part.size, 1))])
        whole = Integers(x)
        lowest = int(whole.exponents.min(initial=0))
        shifts = [int(e) - lowest for e in whole.exponents]
        index = problem.index[part]
        for own in np.unique(index).tolist():
            chosen = np.flatnonzero(index == own)
            for j in range(K - 1):
                rival = j + (j >= own)
                weights = [(lines[own][c] - lines[rival][c]) << s for c, s in zip(columns, shifts)]
                yield part, chosen, j, _dot(whole.values[chosen], weights), lowest


def _dot(values: np.ndarray, line: list[int]) -> np.ndarray:
    """values @ line in integers, in int64 where it cannot overflow."""
    most = max((abs(v) for v in line), default=0)
    if values.dtype != object:
        largest = int(np.abs(values).max(initial=0))
        if most * largest * max(1, len(line)) < 1 << 62:
            return values @ np.array(line, dtype=np.int64)
        values = values.astype(object)
    return values @ np.array(line, dtype=object)
