"""P and D without rounding, as fractions, of a model with a sparse or signed penalty."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..arithmetic.exact_elementary import sqrt_fractions
from ..linear.recompute import Task
from ..linear.rigorous import ExactFigures, Pair, _Exact, integer_rows, integer_scores, largest_square, scaled
from .figures import Omega


def exact_sparse(task: Task, omega: Omega, W: np.ndarray, b: np.ndarray, U: np.ndarray) -> list[ExactFigures]:
    """P and D of each problem."""
    rows, out = integer_rows(task), []
    for s in range(len(W)):
        one = _ExactSparse(task, s, rows, np.asarray(W[s], np.float64), float(b[s]), np.asarray(U[s]))
        one.omega = omega
        primal = one.primal()
        dual, bound = one.dual(primal)
        out.append(ExactFigures(primal, dual, bound))
    return out


class _ExactSparse(_Exact):
    omega: Omega

    def penalty(self) -> Fraction:
        l1, l2 = Fraction(self.omega.l1), Fraction(self.omega.l2)
        weights = [scaled(m, self.weights.exponent) for m in self.weights.integers[:-1]]
        if self.task.offset == "penalised":
            weights.append(Fraction(self.b) / Fraction(self.task.offset_scale))
        return l1 * sum(map(abs, weights)) + l2 / 2 * sum(w * w for w in weights)

    def primal(self) -> Pair:
        low, high = self.loss_sum(integer_scores(self.matrix, self.x_exponent, self.weights))
        return self.penalty() + low, self.penalty() + high

    def combined(self) -> list[Fraction]:
        """v, the columns that are 0 in every row left out."""
        found: dict[int, int] = {}
        for (columns, values), m in zip(self.matrix, self.u.integers, strict=True):
            if m:
                for j, x in zip(columns, values, strict=True):
                    found[j] = found.get(j, 0) + m * x
        v = [scaled(each, self.u.exponent + self.x_exponent) for each in found.values()]
        if self.task.offset == "penalised":
            v.append(Fraction(self.task.offset_scale) * scaled(sum(self.u.integers), self.u.exponent))
        return v

    def dual(self, primal: Pair) -> tuple[Pair | None, Pair | None]:
        if not self.feasible:
            return None, None
        low, high = self.dual_terms()
        costs = self.costs(primal)
        if costs is None:
            return None, None
        low, high = low - costs[1], high - costs[0]
        r = abs(scaled(sum(self.u.integers), self.u.exponent))
        if self.task.offset != "free" or r == 0:
            return (low, high), None
        bound = self.sparse_offset_bound(primal)
        return (None, None) if bound is None else ((low - bound[1] * r, high - bound[0] * r), bound)

    def costs(self, primal: Pair) -> Pair | None:
        l1, l2 = Fraction(self.omega.l1), Fraction(self.omega.l2)
        v = self.combined()
        e = [max(Fraction(0), (each if self.omega.positive else abs(each)) - l1) for each in v]
        top = max(e, default=Fraction(0))
        if top == 0:
            return Fraction(0), Fraction(0)
        choices = []
        if l1 > 0:
            choices.append((top * primal[0] / l1, top * primal[1] / l1))
        if l2 > 0:
            squares = sum(each * each for each in e) / (2 * l2)
            choices.append((squares, squares))
        return (min(c[0] for c in choices), min(c[1] for c in choices)) if choices else None

    def sparse_offset_bound(self, primal: Pair) -> Pair | None:
        l1, l2, reaches = Fraction(self.omega.l1), Fraction(self.omega.l2), []
        if l1 > 0:
            top = scaled(max((abs(x) for _, values in self.matrix for x in values), default=0), self.x_exponent)
            reaches.append((top * primal[0] / l1, top * primal[1] / l1))
        if l2 > 0:
            square = largest_square(self.matrix, self.x_exponent) / l2
            reaches.append(sqrt_fractions(2 * primal[0] * square, 2 * primal[1] * square))
        start = super().offset_bound((Fraction(0), Fraction(0)))
        if not reaches or start is None:
            return None
        return start[0] + min(each[0] for each in reaches), start[1] + min(each[1] for each in reaches)
