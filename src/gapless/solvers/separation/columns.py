"""Columns that are dependent but for rounding, told apart: from each the others' best combination is subtracted, exactly.

    given  rows (x, 1) whose columns are nearly dependent: redundant features, each rounded to float64
    find   an invertible T of dyadic fractions for which the columns of Z = (X, 1) T are of size 1 and well apart

A relation between rows of Z is one between the rows, and Z t is (X, 1) T t: what a linear program finds in these coordinates,
which hide nothing below its tolerance, goes back exactly.  A column that the others give (pivoted QR) loses their best
combination, is brought to size 1, and again, until none is given.  Each entry of Z is rounded once, from integers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from scipy import linalg, sparse

from gapless.problems.separation import Separation
from gapless.solvers.exact.rational import Integers, echelon
from gapless.solvers.separation.frame import Frame, Undecided
from gapless.solvers.separation.thresholds import SEPARATION_THRESHOLDS


class Sharp(Frame):
    """Coordinates z = (x, 1) T. `T` holds the columns that are no plain shift and scale, by their numbers."""

    mixed = True

    def __init__(self, problem: Separation, pairs: np.ndarray) -> None:
        most_columns = SEPARATION_THRESHOLDS.exact_columns
        if problem.width > most_columns:
            raise Undecided(f"columns are told apart up to {most_columns}")
        super().__init__(problem, pairs)
        rows = np.unique(problem.split(pairs)[0])
        whole = self._integers(rows)
        self.T: dict[int, list[Fraction]] = {}
        Z = self._numbers(whole, rows)
        # live: a largest set of exactly independent columns, the offset among them, which the shifts use. All other columns are
        # exact combinations of these and carry no information.
        live = problem.width - 1 - echelon(whole.values[:, ::-1])[1]
        for _ in range(6):  # each time resolves fifty bits more
            _, R, order = linalg.qr(Z[:, live], mode="economic", pivoting=True)
            size = np.abs(R.diagonal())
            # Below 1e-6 of the largest a column counts as given by the others: the tolerance of a program is 1e-7.
            rank = int((size > 1e-6 * size.max(initial=0.0)).sum())
            kept, given = live[order[:rank]], live[order[rank:]]
            if given.size == 0:
                break
            share = linalg.lstsq(Z[:, kept], Z[:, given])[0]
            fresh = {j: self._less(j, kept, share[:, k]) for k, j in enumerate(given.tolist())}
            for j, column in fresh.items():
                values, exponent = _times(whole, column)
                most = max(abs(v) for v in values.tolist())
                power = -(exponent + int(most).bit_length())
                self.T[j] = [v * Fraction(2) ** power for v in column]
                Z[:, j] = _floats(values, exponent + power)
        if not self.T:
            raise Undecided("no column is given by the others but for rounding")

    def _plain(self, j: int) -> list[Fraction]:
        """The shift and scale of `Frame` as a column of T."""
        column = [Fraction(0)] * self.problem.width
        column[j] = Fraction(1) if j == self.problem.d else Fraction(float(self.scale[j]))
        if j < self.problem.d and self.problem.offset:
            column[-1] = -column[j] * Fraction(float(self.shift[j]))
        return column

    def _column(self, j: int) -> list[Fraction]:
        return self.T.get(j) or self._plain(j)

    def _less(self, j: int, kept: np.ndarray, share: np.ndarray) -> list[Fraction]:
        """Column j of T less shares of the columns ``kept``."""
        out = list(self._column(j))
        for i, part in zip(kept.tolist(), share.tolist()):
            if part:
                for row, v in enumerate(self._column(i)):
                    if v:
                        out[row] -= Fraction(part) * v
        return out

    def _integers(self, rows: Any) -> Integers:
        x = self.problem.floats(rows)
        x = x.toarray() if sparse.issparse(x) else x
        return Integers(np.hstack([x, np.ones((len(x), 1))]) if self.problem.offset else x)

    def _numbers(self, whole: Integers, rows: Any) -> np.ndarray:
        """The rows of Z."""
        p = self.problem
        x = p.floats(rows)
        x = x.toarray() if sparse.issparse(x) else x
        Z = np.ones((len(x), p.width))
        Z[:, : p.d] = (x - self.shift) * self.scale
        for j, column in self.T.items():
            Z[:, j] = _floats(*_times(whole, column))
        return Z

    def _rows(self, rows: Any) -> np.ndarray:
        return self._numbers(self._integers(rows), rows)

    def _problem(self, Z: np.ndarray, rows: Any) -> Separation:
        return Separation(Z, self.problem.index[rows], self.problem.K, False)

    def plain(self, pairs: np.ndarray) -> Any:
        p = self.problem
        row = p.split(pairs)[0]
        return self._problem(self._rows(row), row).gather(np.arange(pairs.size) * (p.K - 1) + pairs % (p.K - 1))

    def values(self, theta: np.ndarray) -> np.ndarray:
        p = self.problem
        out = np.empty((p.n, p.K - 1))
        step = max(1, (1 << 18) // p.width)  # so many Python integers at a time
        for start in range(0, p.n, step):
            part = slice(start, min(start + step, p.n))
            moved = self._problem(self._rows(part), part)
            out[part] = (
                moved.values(theta) / np.maximum(1e-300, np.sqrt(np.einsum("ij,ij->i", moved.X, moved.X)))[:, None]
            )
        return out

    def whole(self, pairs: np.ndarray) -> Integers:
        p = self.problem
        row, rival = p.split(pairs)
        whole = self._integers(row)
        columns = [_times(whole, self._column(j)) for j in range(p.width)]
        values = np.array([v for v, _ in columns], dtype=object).reshape(p.width, row.size).T
        own = p.index[row]
        signs = [(own == k).astype(np.int64) - (rival == k) for k in range(1, p.K)]
        blocks = [values * sign.astype(object)[:, None] for sign in signs]
        return Integers.of(np.hstack(blocks), np.tile([e for _, e in columns], p.K - 1))

    def start(self, theta: np.ndarray) -> np.ndarray:
        return theta

    def home(self, entries: np.ndarray) -> np.ndarray:
        p = self.problem
        out = np.empty((p.K - 1, p.width), dtype=object)
        out[:] = Fraction(0)
        for j in range(p.width):
            for i, v in enumerate(self._column(j)):
                if v:
                    out[:, i] += entries[:, j] * v
        return out

    def exact(self, theta: np.ndarray) -> np.ndarray:
        entries = np.empty(theta.shape, dtype=object)
        entries[:] = [[Fraction(v) for v in line] for line in theta.tolist()]
        return self.home(entries)

    def back(self, theta: np.ndarray) -> np.ndarray:
        """The nearest floats, with a power of two taken out of all: a proof has to look whether they still do."""
        entries = self.exact(theta)
        most = max(map(abs, entries.ravel().tolist()), default=Fraction(0))
        unit = Fraction(2) ** (most.denominator.bit_length() - most.numerator.bit_length())
        return np.array([[float(v * unit) for v in line] for line in entries.tolist()])


def _times(whole: Integers, column: list[Fraction]) -> tuple[np.ndarray, int]:
    """Rows of integers times a column of dyadic fractions: integers and an exponent of two."""
    live = [i for i, v in enumerate(column) if v]
    scaled = [column[i] * Fraction(2) ** int(whole.exponents[i]) for i in live]
    denominator = max((v.denominator for v in scaled), default=1)
    weights = np.array([int(v * denominator) for v in scaled], dtype=object)
    if not live:
        return np.zeros(whole.shape[0], dtype=object), 0
    return whole.values[:, live].astype(object) @ weights, 1 - denominator.bit_length()


def _floats(values: np.ndarray, exponent: int) -> np.ndarray:
    """Each value 2^exponent, rounded once."""
    up, unit = max(0, exponent), 1 << max(0, -exponent)
    try:
        return np.array([(v << up) / unit for v in values.tolist()])
    except OverflowError:
        raise Undecided("a row lies too far out for columns that are told apart") from None
