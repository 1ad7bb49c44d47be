"""The exact sign of a'theta for every row: float64 with its error bound first, integers where that leaves it open."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from gapless.problems.separation import TINY, Separation
from gapless.solvers.rational import Integers

#: Numbers of one block of Python integers.
BLOCK = 1 << 18


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
    # Entries of theta too small for a float, or products that may underflow: nothing is left to float64 there.
    lost = any(v != 0 and f == 0.0 for v, f in zip(theta.whole.ravel().tolist(), floats.ravel().tolist()))
    safe = not lost and _smallest(problem.X) * np.min(np.abs(floats[floats != 0]), initial=np.inf) > TINY
    open_ = ~(np.abs(value) > room) & ~(room == 0.0) if safe else np.ones(value.shape, dtype=bool)
    rows = np.flatnonzero(open_.any(axis=1))
    if rows.size:
        sign[rows] = [[(v > 0) - (v < 0) for v in line] for line in exact_values(problem, theta, rows)]
    return sign


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


def exact_values(problem: Separation, theta: Direction, rows: np.ndarray) -> list[list[Fraction]]:
    """a'theta of the pairs of some rows, theta being the integers ``theta.whole``."""
    d = problem.d
    live = np.flatnonzero((theta.whole[:, :d] != 0).any(axis=0))
    out: list[list[Fraction]] = []
    step = max(1, BLOCK // max(1, live.size))
    X = problem.X[:, live] if problem.is_sparse else problem.X
    for start in range(0, rows.size, step):
        part = rows[start : start + step]
        x = X[part].toarray() if problem.is_sparse else np.asarray(X[part])[:, live]
        x = np.asarray(x, dtype=np.float64)
        if problem.offset:
            x = np.hstack([x, np.ones((part.size, 1))])
        whole = Integers(x)
        columns = np.append(live, d) if problem.offset else live
        lowest = int(whole.exponents.min(initial=0))
        lines = [
            [v << (int(e) - lowest) for v, e in zip(line, whole.exponents)] for line in theta.whole[:, columns].tolist()
        ]
        z = np.zeros((part.size, problem.K), dtype=object)
        for k, line in enumerate(lines, 1):
            z[:, k] = _dot(whole.values, line)
        index = problem.index[part].astype(np.intp)
        own = np.take_along_axis(z, index[:, None], axis=1)
        others = np.arange(problem.K - 1)[None, :]
        others = others + (others >= index[:, None])
        difference = own - np.take_along_axis(z, others, axis=1)
        unit = Fraction(2) ** lowest
        out += [[v * unit for v in line] for line in difference.tolist()]
    return out


def _dot(values: np.ndarray, line: list[int]) -> np.ndarray:
    """values @ line in integers, in int64 where it cannot overflow."""
    most = max((abs(v) for v in line), default=0)
    if values.dtype != object:
        largest = int(np.abs(values).max(initial=0))
        if most * largest * max(1, len(line)) < 1 << 62:
            return (values @ np.array(line, dtype=np.int64)).astype(object)
        values = values.astype(object)
    return values @ np.array(line, dtype=object)
