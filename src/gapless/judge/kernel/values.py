"""Kernel values of the rows of a document, enclosed, and sums of them.

<x, z> by BLAS has Higham's error gamma_d |x||z|, for any order of summation.  RBF: rows are centred first (a distance does
not change but by the rounding of x - m, which is at most u|x - m| in length for each of two rows), and

    | |x|^2 + |z|^2 - 2<x, z>  -  |x - z|^2 |  <=  (d + 12) u (|x| + |z|)^2  =:  E,     K between exp(-g(D +- E)).

A polynomial of base b = g<x, z> + c with |b| <= B = g|x||z| + |c| is off by at most deg (d + 8) u B^deg.  exp is that of
`elementary` where bounds are to be proved, else numpy's, taken to be within 4 units in the last place; tanh is numpy's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arithmetic.elementary import EXP_ERROR, _exp_minus
from ..arithmetic.rounding import TINY, UNIT, Interval, ratio_up, total_of, up
from ..form.entries import number
from ..rows import DenseRows, Rows, SparseRows, filled


class Values:
    """K of the rows that count: ``sums`` gives what scores are made of."""

    #: Numbers of a dense tile of rows: 32 MB of float64.
    most = 4_000_000

    def __init__(self, rows: Rows, kernel: dict[str, Any], keep: np.ndarray, proved: bool) -> None:
        self.name, self.degree = kernel["name"], int(kernel["degree"])
        self.gamma, self.coef0, self.shift = (number(kernel[key]) for key in ("gamma", "coef0", "shift"))
        self.keep, self.proved = keep, proved
        self.matrix: np.ndarray | None = None
        self.X: np.ndarray | None = None
        self.rows = rows
        self.d = rows.shape[1]
        self.tall = max(16, min(512, self.most // max(1, self.d)))
        self.wide = max(16, min(1024, self.most // max(1, self.d)))
        if self.name in ("precomputed", "callable"):
            self.matrix = given_matrix(rows, keep)
            self.norms = np.sqrt(np.maximum(np.diagonal(self.matrix) + self.shift, 0.0))
            self.top = float(np.abs(self.matrix).max(initial=0.0)) + abs(self.shift)
            self.loose = 0.0
            return
        centre: Any = 0.0
        if self.name == "rbf" and isinstance(rows, DenseRows):
            first = np.asarray(rows.values[:1], dtype=np.float64).sum(axis=0)  # equal rows are their mean, exactly
            centre = first + sum((b.values - first).sum(axis=0) for b in rows.blocks()) / max(1, rows.shape[0])
        elif self.name == "rbf" and isinstance(rows, SparseRows):
            centre = np.bincount(rows.indices, rows.data, self.d) / max(1, rows.shape[0])
        self.centre = centre
        parts = [np.einsum("ij,ij->i", part, part) for part in self._tiles()]
        squares = np.concatenate(parts) if parts else np.zeros(0)
        self.lengths = np.sqrt(squares) * (1.0 + ratio_up(self.d + 4, self.d + 8))
        self.norms2 = squares
        longest = float(self.lengths.max(initial=0.0))
        if self.name == "rbf":
            self.norms = np.ones(keep.size)
            self.top, self.loose = 1.0, 0.0
        else:
            base = self._base(longest * longest)
            self.top = 1.0 if self.name == "sigmoid" else base ** max(self.degree if self.name == "poly" else 1, 1)
            own = np.abs(self._of(self.norms2)) if self.name != "sigmoid" else np.ones(keep.size)
            self.loose = self._off(longest)  # what is in the squares of the norms beside K(x, x)
            self.norms = np.sqrt(own + self.loose)

    def _base(self, square: Any) -> Any:
        """Floats of numpy's, whose powers overflow to infinity."""
        square = np.asarray(square)[()]
        if self.name == "linear":
            return square
        return self.gamma * square + abs(self.coef0)

    def _of(self, inner: np.ndarray) -> np.ndarray:
        """linear, poly and sigmoid from inner products"""
        if self.name == "linear":
            return inner
        base = self.gamma * inner + self.coef0
        if self.name == "sigmoid":
            return np.tanh(base)
        return _power(base, self.degree)

    def _off(self, longest: float) -> float:
        """What a value of linear, poly or sigmoid is off by at most, absolutely."""
        base = self._base(longest * longest)
        if self.name == "sigmoid":
            return (self.d + 8) * UNIT * base + 2.0**-49
        degree = self.degree if self.name == "poly" else 1
        return degree * (self.d + 8) * UNIT * 1.01 * base**degree

    def _tiles(self) -> Any:
        """The rows that count, centred, some at a time."""
        for start in range(0, self.keep.size, self.tall):
            yield self._take(self.keep[start : start + self.tall])

    def _take(self, index: np.ndarray, centre: Any = None) -> np.ndarray:
        centre = self.centre if centre is None else centre
        if isinstance(self.rows, DenseRows):
            return np.asarray(self.rows.values[index], dtype=np.float64) - centre
        assert isinstance(self.rows, SparseRows)
        out = np.zeros((index.size, self.d))
        for line, i in enumerate(index.tolist()):
            part = slice(self.rows.indptr[i], self.rows.indptr[i + 1])
            out[line, self.rows.indices[part]] = self.rows.data[part]
        return out - centre

    def sums(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """f_i = sum_j u_j K_ij of every row that counts, and what each can be off by. u is of these rows."""
        support = np.flatnonzero(u)
        out, reach = np.zeros(u.size), np.zeros(u.size)
        weights = u[support]
        sizes = np.abs(weights)
        m = support.size
        steps = ratio_up(m + m // self.wide + 8, 2 * m + 64)
        if m == 0:
            return out, reach
        if self.matrix is not None:
            for start in range(0, u.size, 512):
                part = slice(start, start + 512)
                K = self.matrix[part][:, support]
                out[part] = K @ weights
                reach[part] = (steps + 2.0 * UNIT) * (np.abs(K) @ sizes)
            out += self.shift * u
            reach += 4.0 * UNIT * np.abs(self.shift * u) + 2.0 * UNIT * np.abs(out)
            return out, up(reach * (1.0 + 1e-9) + m * TINY)
        longest, degree = float(self.lengths.max(initial=0.0)), self.degree if self.name == "poly" else 1
        kept: dict[int, np.ndarray] = {}
        for start in range(0, u.size, self.tall):
            part = slice(start, start + self.tall)
            left = self._take(self.keep[part])
            for a in range(0, m, self.wide):
                some = slice(a, a + self.wide)
                right = kept[a] if a in kept else self._take(self.keep[support[some]])
                if m * self.d <= 4 * self.most:
                    kept[a] = right
                inner = left @ right.T
                if self.name == "rbf":
                    K, relative = self._gauss(inner, part, support[some])
                    out[part] += K @ weights[some]
                    reach[part] += (steps + relative) * (K @ sizes[some])
                else:
                    out[part] += self._of(inner) @ weights[some]
                    if self.name == "sigmoid":  # far from 0 the slope of tanh, 4 exp(-2|b|) at most, is nothing
                        off = (self.d + 8) * UNIT * self._base(longest * longest)
                        flat = np.abs(self.gamma * inner + self.coef0) - off
                        slope = np.minimum(1.0, 4.0 * np.exp(-2.0 * np.maximum(flat, 0.0)))
                        reach[part] += 1.01 * (off * slope + 2.0**-49 + steps) @ sizes[some]
                    else:
                        base = self._base(np.outer(self.lengths[part], self.lengths[support[some]]))
                        off = 1.01 * degree * (self.d + 8) * UNIT + steps
                        reach[part] += off * (_power(base, degree) @ sizes[some])
        return out, up(reach * (1.0 + 1e-9) + (m + 8 + float(sizes.sum())) * TINY)

    def rough(self, u: np.ndarray) -> float:
        """What a score is off by where only the largest |K| is known: a fit may admit so much."""
        mass, m = float(np.abs(u).sum()), int(np.count_nonzero(u))
        if self.name == "rbf":
            longest = 2.0 * float(self.lengths.max(initial=0.0))
            off = math.expm1(min(50.0, self.gamma * (self.d + 12) * UNIT * longest * longest)) + 2.0**-49
        else:
            off = 4.0 * UNIT * self.top if self.matrix is not None else self._off(float(self.lengths.max(initial=0.0)))
        return mass * (off + ratio_up(m + 8, m + 64) * self.top)

    def radius2(self) -> Interval:
        """The largest K(x, x), as fits have it in floats of their own; of a sigmoid, whose P has no D, at most 1."""
        top = float(self.norms.max(initial=0.0)) ** 2
        least = 0.0 if self.name == "sigmoid" else max(0.0, top * (1.0 - 1e-9) - 2.0 * self.loose)
        return Interval(least, top * (1.0 + 1e-9))

    def spread2(self) -> float:
        """The largest |phi_i - phi_0|^2, about: a scale that a common shift of the rows does not change."""
        first = np.zeros(self.keep.size)
        first[0] = 1.0
        own = self.norms * self.norms
        return float(np.maximum(own + own[0] - 2.0 * self.sums(first)[0], 0.0).max(initial=0.0))

    def _gauss(self, inner: np.ndarray, rows: slice, columns: np.ndarray) -> tuple[np.ndarray, float]:
        """exp(-g D), and the relative error that a tile can have; D by differences where cancellation would be felt."""
        nothing = 760.0  # beyond it a power of e is 0; exponents that may be off by more than 1e-11 come of differences
        both = self.lengths[rows][:, None] + self.lengths[columns][None, :]
        square = self.norms2[rows][:, None] + self.norms2[columns][None, :] - 2.0 * inner
        reach = self.gamma * (self.d + 12) * UNIT * 1.01 * both * both
        exponent = self.gamma * np.maximum(square, 0.0)
        felt = ~(reach <= 1e-11) & ~(exponent - reach > nothing)
        if felt.any():
            exponent[felt] = self.gamma * self._distances(rows, columns, *np.nonzero(felt))
            reach[felt] = (self.d + 12) * UNIT * exponent[felt]
        off = float(np.where(exponent > nothing, 0.0, reach + 2.0 * UNIT * exponent).max(initial=0.0))
        if self.proved:
            K, own = _exp_minus(np.minimum(exponent, 745.0)), 2.0 * EXP_ERROR
        else:
            K, own = np.exp(-exponent), 2.0**-49
        # Beyond e^-700 a value counts for nothing: it is TINY beside the sum, and its error is no larger than itself.
        return K, math.expm1(min(off, 50.0)) * (1.0 + 1e-9) + own

    def _distances(self, rows: slice, columns: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """|x_i - x_j|^2 of pairs of rows, from the values as they are."""
        left, right, found = self.keep[rows][i], self.keep[columns][j], np.empty(i.size)
        many = max(1, self.most // max(1, self.d))
        for start in range(0, i.size, many):
            part = slice(start, start + many)
            apart = self._take(left[part], 0.0) - self._take(right[part], 0.0)
            found[part] = np.einsum("ij,ij->i", apart, apart)
        return found


def given_matrix(rows: Rows, keep: np.ndarray) -> np.ndarray:
    """The given matrix of some rows, made symmetric."""
    assert isinstance(rows, DenseRows)
    K = np.asarray(rows.values, dtype=np.float64)[np.ix_(keep, keep)]
    return K if np.array_equal(K, K.T) else 0.5 * (K + K.T)


def _power(base: np.ndarray, degree: int) -> np.ndarray:
    """By repeated squaring: products only."""
    out = np.ones_like(base)
    while degree:
        if degree & 1:
            out = out * base
        base = base * base
        degree >>= 1
    return out


def proved_positive(K: np.ndarray, shift: float) -> bool:
    """Whether K + shift I is positive semidefinite for certain (Rump 2006, by a Cholesky factorisation)."""
    n = K.shape[0]
    trace = float(np.abs(np.diagonal(K)).sum()) + n * abs(shift)
    largest = abs(shift) + float(np.abs(np.diagonal(K)).max(initial=0.0))
    margin = (n + 4) * UNIT * trace * 1.01 + 1e-300 + 4.0 * UNIT * largest
    moved = K.copy()
    moved[np.diag_indices(n)] += shift - margin
    try:
        np.linalg.cholesky(moved)
    except np.linalg.LinAlgError:
        return False
    return True


def gamma_of_scale(rows: Rows, weights: np.ndarray) -> float:
    """1 / (columns times the weighted variance of all values); 1 where that is 0.

    Values are taken from the first of them: of equal ones nothing is left, not the rounding of their mean."""
    d = rows.shape[1]
    total = total_of(weights) * d
    if not 0.0 < total < math.inf:
        return 1.0
    first = next((row[0] for w, row in _each(rows, weights) if w > 0.0), 0.0)
    sums = [w * total_of(np.array(row) - first) for w, row in _each(rows, weights)]
    mean = total_of(np.array(sums)) / total
    off = []
    for w, row in _each(rows, weights):
        values = (np.asarray(row) - first) - mean
        off.append(w * float(values @ values))
    variance = total_of(np.array(off)) / total
    found = 1.0 / (d * variance) if variance > 0.0 else 1.0
    return found if 0.0 < found < math.inf else 1.0


def _each(rows: Rows, weights: np.ndarray) -> Any:
    for block in rows.blocks():
        values = filled(block)
        for k in range(block.n):
            yield float(weights[block.start + k]), values[k].tolist()
