"""Coordinates in which float64 sees rows well, and the linear program in them: for finding only, no proof depends on them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from gapless.problems.separation import Separation
from gapless.solvers.exact.rational import Integers
from gapless.solvers.separation.thresholds import SEPARATION_THRESHOLDS


class Undecided(ArithmeticError):
    """float64 could not lead the way to an exact proof."""


def linear_program(cost: np.ndarray, matrix: Any, right: np.ndarray, bounds: Any) -> Any:
    """Minimise cost'x with matrix x = right and bounds, by HiGHS. Raises Undecided unless the optimum is found."""
    found = linprog(cost, A_eq=matrix, b_eq=right, bounds=bounds, method="highs")
    if found.status != 0:
        raise Undecided(f"HiGHS: {found.message}")
    return found


def columns_of(A: Any) -> Any:
    """A' in the layout that HiGHS reads."""
    return sparse.csc_matrix(A.T) if sparse.issparse(A) else np.ascontiguousarray(A.T)


class Frame:
    """Coordinates: columns are shifted (dense rows with an offset) and scaled by powers of two, rows scaled to length 1."""

    #: Whether a coordinate mixes several columns, and is not one column shifted and scaled.
    mixed = False

    def __init__(self, problem: Separation, pairs: np.ndarray, shifted: bool = True) -> None:
        self.problem = problem
        x = problem.floats(np.unique(problem.split(pairs)[0]))
        self.shift = np.zeros(problem.d)
        if shifted and not problem.is_sparse and problem.offset:
            self.shift = 0.5 * x.max(axis=0, initial=-np.inf) + 0.5 * x.min(axis=0, initial=np.inf)
            x = x - self.shift
        size: Any = abs(x).max(axis=0) if x.shape[0] else np.zeros(problem.d)
        size = np.asarray(size.toarray() if sparse.issparse(size) else size, dtype=np.float64).ravel()
        # Powers of two up to 1000 and their inverses are floats.
        power = np.clip(-np.frexp(np.where(size > 0, size, 1.0))[1], -1000, 1000)
        self.scale = np.where(size > 0, np.exp2(power.astype(np.float64)), 1.0)

    def moved(self, x: Any) -> Any:
        """Rows of X in these coordinates."""
        if self.problem.is_sparse:
            return sparse.csr_array(x @ sparse.diags_array(self.scale))
        return (x - self.shift) * self.scale

    def plain(self, pairs: np.ndarray) -> Any:
        """The rows a of pairs in these coordinates, at their own lengths."""
        p = self.problem
        row = p.split(pairs)[0]
        moved = Separation(self.moved(p.floats(row)), p.index[row], p.K, p.offset)
        return moved.gather(np.arange(pairs.size) * (p.K - 1) + pairs % (p.K - 1))

    def gather(self, pairs: np.ndarray) -> Any:
        """The rows a of pairs in these coordinates, scaled to lengths of about 1."""
        A = self.plain(pairs)
        length = lengths(A)
        return sparse.csr_array(sparse.diags_array(1.0 / length) @ A) if sparse.issparse(A) else A / length[:, None]

    def examples(self, rows: np.ndarray) -> Any:
        """(x, 1) of some rows, at lengths of about 1."""
        p = self.problem
        x = self.moved(p.floats(rows))
        if p.offset:
            one = np.ones((rows.size, 1))
            x = sparse.csr_array(sparse.hstack([x, one])) if p.is_sparse else np.hstack([x, one])
        length = lengths(x)
        if p.is_sparse:
            return sparse.csr_array(sparse.diags_array(1.0 / length) @ x)
        return np.ascontiguousarray(x / length[:, None])

    def values(self, theta: np.ndarray) -> np.ndarray:
        """a'theta over about |a| of every pair."""
        p = self.problem
        out = np.empty((p.n, p.K - 1))
        for start, x in p.blocks():
            part = slice(start, start + x.shape[0])
            moved = Separation(self.moved(x), p.index[part], p.K, p.offset)
            out[part] = moved.values(theta) / (lengths(moved.X) + p.offset)[:, None]
        return out

    def back(self, theta: np.ndarray) -> np.ndarray:
        """theta in the user's units."""
        out = theta.copy()
        d = self.problem.d
        out[:, :d] *= self.scale
        if self.problem.offset:
            out[:, d] -= out[:, :d] @ self.shift
        return out

    def exact(self, theta: np.ndarray) -> np.ndarray:
        """theta in the user's units, in fractions: the offset may be no float."""
        d = self.problem.d
        out = np.empty(theta.shape, dtype=object)
        for k, line in enumerate(theta.tolist()):
            w = [Fraction(v) * Fraction(float(s)) for v, s in zip(line[:d], self.scale)]
            out[k, :d] = w
            if self.problem.offset:
                out[k, d] = Fraction(line[d]) - sum(v * Fraction(float(s)) for v, s in zip(w, self.shift))
        return out

    def whole(self, pairs: np.ndarray) -> Integers:
        """The rows a of pairs in coordinates that are exact, as integers: here the user's."""
        return integers_of(self.problem, pairs)

    def start(self, theta: np.ndarray) -> np.ndarray:
        """theta in the coordinates of `whole`."""
        return self.back(theta)

    def home(self, entries: np.ndarray) -> np.ndarray:
        """Fractions in the coordinates of `whole`, in the user's units."""
        return entries


def integers_of(problem: Separation, pairs: np.ndarray) -> Integers:
    """The rows as integers; each column has a power of two as a factor, which changes no relation between rows."""
    A = problem.gather(pairs)
    return Integers(A.toarray() if sparse.issparse(A) else A)


def fewest_columns(problem: Separation, outside: Any, on_plane: Any = None) -> np.ndarray | None:
    """Find theta of least |w|_1 with a'theta >= 1 outside and 0 on the plane; then leave out columns one by one."""
    d, lines, size = problem.d, problem.K - 1, problem.size
    weight = np.tile(np.append(np.ones(d), np.zeros(int(problem.offset))), lines)
    above, equal = _both_signs(-outside), None if on_plane is None else _both_signs(on_plane)

    def least(dropped: set[int]) -> np.ndarray | None:
        bounds = np.zeros((2 * size, 2))
        bounds[:, 1] = np.inf
        for j in dropped:
            bounds[[k * problem.width + j + s for k in range(lines) for s in (0, size)], 1] = 0.0
        zeros = None if on_plane is None else np.zeros(on_plane.shape[0])
        cost = np.concatenate([weight, weight])
        found = linprog(cost, above, -np.ones(outside.shape[0]), equal, zeros, bounds, method="highs")
        return None if found.status != 0 else (found.x[:size] - found.x[size:]).reshape(lines, problem.width)

    dropped: set[int] = set()
    theta = least(dropped)
    if theta is None:
        return None
    if outside.shape[0] * size > SEPARATION_THRESHOLDS.spared_numbers:
        return theta
    sizes = np.abs(theta[:, :d]).max(axis=0)
    order = [j for j in np.argsort(sizes, kind="stable").tolist() if sizes[j] > 0]
    dropped = set(np.flatnonzero(sizes == 0).tolist())
    for j in order[: SEPARATION_THRESHOLDS.spared_columns]:
        without = least(dropped | {j})
        if without is not None:
            theta, dropped = without, dropped | {j}
    return theta


def _both_signs(A: Any) -> Any:
    return sparse.hstack([A, -A], format="csc") if sparse.issparse(A) else np.hstack([A, -A])


def lengths(A: Any) -> np.ndarray:
    """|a| to a power of two; 1 for a row of zeros."""
    square = np.asarray((A.multiply(A) if sparse.issparse(A) else A * A).sum(axis=1)).ravel()
    return np.where(square > 0, np.exp2(np.rint(0.5 * np.log2(np.where(square > 0, square, 1.0)))), 1.0)
