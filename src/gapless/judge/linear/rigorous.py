"""Tier T3: P and D without rounding. Floats are fractions whose denominator is a power of two, so scores,
slacks and sums are integers over a common power of two; what is no such number (quotients by c, logarithms,
square roots) is enclosed to some 57 digits.  Meant for up to about ten thousand rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ..arithmetic.exact_elementary import BITS, entropy_fractions, log_fractions, softplus_fractions, sqrt_fractions
from ..arithmetic.rounding import Interval
from .losses import HARD, feasible, refuse_unknown
from .recompute import Task

Pair = tuple[Fraction, Fraction]


class ExactFigures(NamedTuple):
    """Fractions below and above P(w, b) and the certified dual; None where u is not feasible."""

    primal: Pair
    dual: Pair | None
    offset_bound: Pair | None  # B, enclosed; None: no free offset, or no bound
    kept: bool = True  # False: a hard margin is not, and the primal is infinite, whatever stands there

    def floats(self) -> tuple[Interval, Interval, Interval] | None:
        """P, the dual and P less the dual between floats; None where they are not finite."""
        if self.dual is None or not self.kept:
            return None
        gap = self.primal[0] - self.dual[1], self.primal[1] - self.dual[0]
        return float_interval(self.primal), float_interval(self.dual), float_interval(gap)


class Dyadic(NamedTuple):
    """Integers over a common power of two: value = integer * 2^exponent."""

    integers: list[int]
    exponent: int


def scaled(integer: int, exponent: int) -> Fraction:
    """integer * 2^exponent"""
    return Fraction(integer << exponent) if exponent >= 0 else Fraction(integer, 1 << -exponent)


def dyadic(values: np.ndarray) -> Dyadic:
    """Finite floats as integers over one power of two, at most 2^0."""
    mantissa, exponent = np.frexp(np.asarray(values, dtype=np.float64).ravel())
    integers = np.ldexp(mantissa, 53).astype(np.int64)
    shift = np.where(integers == 0, 0, exponent.astype(np.int64) - 53)
    common = min(0, int(shift.min(initial=0)))
    return Dyadic([m << e for m, e in zip(integers.tolist(), (shift - common).tolist(), strict=True)], common)


def float_interval(pair: Pair) -> Interval:
    """Two floats around two fractions."""
    return Interval(_float(pair[0], -math.inf), _float(pair[1], math.inf))


def _float(x: Fraction, towards: float) -> float:
    try:
        value = x.numerator / x.denominator  # correctly rounded
    except OverflowError:
        value = math.inf if x > 0 else -math.inf
        return value if value == towards else math.nextafter(value, towards)
    exact = Fraction(value)
    beyond = exact < x if towards > 0 else exact > x
    return math.nextafter(value, towards) if beyond else value


Matrix = list[tuple[list[int], list[int]]]  # columns and integers of each row


def integer_rows(task: Task) -> tuple[list[int], Matrix, int]:
    """The rows that count (c > 0): their numbers, their columns and integers, and the exponent of these."""
    rows = [block.row(i) for block in task.rows.blocks() for i in range(block.n)]
    keep = [i for i, c in enumerate(task.c.tolist()) if c > 0]
    flat = dyadic(np.array([v for i in keep for v in rows[i][1]]))
    matrix, start = [], 0
    for i in keep:
        columns = rows[i][0]
        matrix.append((columns, flat.integers[start : start + len(columns)]))
        start += len(columns)
    return keep, matrix, flat.exponent


def integer_scores(matrix: Matrix, x_exponent: int, weights: Dyadic) -> Dyadic:
    """<w, x_i> + b, where ``weights`` is w and then b."""
    w = weights.integers
    offset = w[-1] << -x_exponent
    return Dyadic(
        [sum([x * w[j] for j, x in zip(columns, values, strict=True)], offset) for columns, values in matrix],
        x_exponent + weights.exponent,
    )


def combined_square(matrix: Matrix, x_exponent: int, u: Dyadic) -> Fraction:
    """|sum_i u_i x_i|^2"""
    combined: dict[int, int] = {}
    for (columns, values), m in zip(matrix, u.integers, strict=True):
        if m:
            for j, x in zip(columns, values, strict=True):
                combined[j] = combined.get(j, 0) + m * x
    return scaled(sum(v * v for v in combined.values()), 2 * (u.exponent + x_exponent))


def largest_square(matrix: Matrix, x_exponent: int) -> Fraction:
    """max |x_i|^2"""
    return scaled(max((sum(x * x for x in values) for _, values in matrix), default=0), 2 * x_exponent)


def exact_figures(task: Task, W: np.ndarray, b: np.ndarray, U: np.ndarray) -> list[ExactFigures]:
    """P and D of each problem of the task, to the last bit or enclosed far beyond it."""
    rows, out = integer_rows(task), []
    for s in range(len(W)):
        one = _Exact(task, s, rows, np.asarray(W[s], np.float64), float(b[s]), np.asarray(U[s]))
        primal = one.primal()
        dual, bound = one.dual(primal)
        out.append(ExactFigures(primal, dual, bound, one.kept()))
    return out


class _Exact:
    """One problem in integers. ``matrix`` holds the rows that count: columns and integers over 2^x_exponent."""

    def __init__(
        self, task: Task, s: int, rows: tuple[list[int], Matrix, int], w: np.ndarray, b: float, u: np.ndarray
    ) -> None:
        keep, self.matrix, self.x_exponent = rows
        self.task, self.w, self.b = task, w, b
        target = np.asarray(task.y[s], dtype=np.float64)
        self.feasible = bool(feasible(task.loss, target, task.c, u).all())
        self.signs = target[keep]
        self.y = dyadic(target[keep])
        self.c = dyadic(task.c[keep])
        self.u = dyadic(u[keep])
        self.weights = dyadic(np.append(w, b))

    def primal(self) -> Pair:
        penalty = Fraction(sum(m * m for m in self.weights.integers[:-1])) * scaled(1, 2 * self.weights.exponent) / 2
        if self.task.offset == "penalised":
            penalty += (Fraction(self.b) / Fraction(self.task.offset_scale)) ** 2 / 2
        if self.task.loss == HARD:
            return penalty, penalty
        low, high = self.loss_sum(integer_scores(self.matrix, self.x_exponent, self.weights))
        return penalty + low, penalty + high

    def kept(self) -> bool:
        """A hard margin: y f >= 1 for every row, without rounding."""
        if self.task.loss != HARD:
            return True
        z = integer_scores(self.matrix, self.x_exponent, self.weights)
        one = scaled(1, -z.exponent)
        signed = (score if sign > 0 else -score for sign, score in zip(self.signs.tolist(), z.integers, strict=True))
        return all(score >= one for score in signed)

    def loss_sum(self, z: Dyadic) -> Pair:
        loss, c = self.task.loss, self.c
        if loss == "logistic":
            signed = (-m if sign > 0 else m for sign, m in zip(self.signs.tolist(), z.integers, strict=True))
            return weighted_sum(c, (softplus_fractions(scaled(m, z.exponent)) for m in signed))
        refuse_unknown(loss, "squared", "hinge", "squared_hinge", HARD)
        exponent = min(z.exponent, self.y.exponent)
        lift = z.exponent - exponent
        targets = [y << (self.y.exponent - exponent) for y in self.y.integers]
        one = 1 << -exponent
        total = 0
        for sign, target, score, weight in zip(self.signs.tolist(), targets, z.integers, c.integers, strict=True):
            score <<= lift
            if loss == "squared":
                total += weight * (target - score) ** 2
            else:
                slack = max(0, one - score if sign > 0 else one + score)
                total += weight * (slack if loss == "hinge" else slack * slack)
        power = exponent if loss == "hinge" else 2 * exponent
        value = scaled(total, power + c.exponent)
        value = value / 2 if loss == "squared" else value
        return value, value

    def dual(self, primal: Pair) -> tuple[Pair | None, Pair | None]:
        bound = self.offset_bound(primal) if self.task.offset == "free" else None
        if not self.feasible:
            return None, bound
        low, high = self.dual_terms()
        quadratic = combined_square(self.matrix, self.x_exponent, self.u) / 2
        r = scaled(sum(self.u.integers), self.u.exponent)
        if self.task.offset == "penalised":
            quadratic += (Fraction(self.task.offset_scale) * r) ** 2 / 2
        low, high = low - quadratic, high - quadratic
        if self.task.offset == "free" and r != 0:
            if bound is None:
                return None, None
            low, high = low - bound[1] * abs(r), high - bound[0] * abs(r)
        return (low, high), bound

    def dual_terms(self) -> Pair:
        loss, c, u = self.task.loss, self.c, self.u
        if loss in ("hinge", HARD):
            total = sum(m if sign > 0 else -m for sign, m in zip(self.signs.tolist(), u.integers, strict=True))
            value = scaled(total, u.exponent)
            return value, value
        if loss == "logistic":  # c h(alpha / c)
            pairs = zip(u.integers, c.integers, strict=True)
            shares = (scaled(abs(m), u.exponent) / scaled(weight, c.exponent) for m, weight in pairs)
            return weighted_sum(c, map(entropy_fractions, shares))
        refuse_unknown(loss, "squared_hinge", "squared")
        low_sum = high_sum = 0
        # sum u y - factor * sum u^2 / c, the quotients rounded on a grid that is fine for the largest c
        factor = Fraction(1, 4) if loss == "squared_hinge" else Fraction(1, 2)
        linear = scaled(
            sum(m * y for m, y in zip(u.integers, self.y.integers, strict=True)), u.exponent + self.y.exponent
        )
        extra = BITS + max((weight.bit_length() for weight in c.integers), default=0)
        for m, weight in zip(u.integers, c.integers, strict=True):
            square = m * m << extra
            low_sum += square // weight
            high_sum -= -square // weight
        power = factor * scaled(1, 2 * u.exponent - c.exponent - extra)
        return linear - high_sum * power, linear - low_sum * power

    def offset_bound(self, primal: Pair) -> Pair | None:
        """B of `offset`, enclosed."""
        square = largest_square(self.matrix, self.x_exponent)
        low, high = sqrt_fractions(2 * primal[0] * square, 2 * primal[1] * square)
        loss = self.task.loss
        if loss in ("hinge", "squared_hinge", HARD):
            return 1 + low, 1 + high
        if loss == "squared":
            top = scaled(max(map(abs, self.y.integers), default=0), self.y.exponent)
            return top + low, top + high
        plus = sum(m for sign, m in zip(self.signs.tolist(), self.c.integers, strict=True) if sign > 0)
        minus = sum(self.c.integers) - plus
        if not (plus and minus):
            return None
        ends = log_fractions(Fraction(max(plus, minus), min(plus, minus)))  # |ln(C+/C-)|
        return max(Fraction(0), ends[0]) + low, ends[1] + high


def weighted_sum(c: Dyadic, values: Iterable[Pair]) -> Pair:
    """sum c_i v_i of enclosed v_i, each brought to integers over 2^BITS, rounded outward: so sums keep one denominator."""
    low = high = 0
    for weight, (below, above) in zip(c.integers, values, strict=True):
        low += weight * ((below.numerator << BITS) // below.denominator)
        high -= weight * (-(above.numerator << BITS) // above.denominator)
    return scaled(low, c.exponent - BITS), scaled(high, c.exponent - BITS)
