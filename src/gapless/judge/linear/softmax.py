"""Multinomial logistic regression: K >= 3 classes, K scores for a row, one problem.

    P(W, b) = 1/2 |W|^2 + sum_i c_i l_i,    l_i = ln sum_k e^(z_ik) - z_iy,    z_i = W x_i + b
    D(U)    = sum_i c_i H(p_i) - 1/2 |sum_i u_i x_i'|^2,    H(p) = -sum_k p_k ln p_k
              penalised offset of scale s: + 1/2 |b/s|^2 in P, - 1/2 |s r|^2 in D
              free offset: - B sum_k |r_k| in D,    r = sum_i u_i

y is the true class of row i.  A dual point gives u_ik = -c_i p_ik for k != y, and what it says of y counts for nothing:
u_iy is *defined* as the sum of the sizes of the others, t_i, so that the entries of a row sum to 0 exactly, and
p_iy = 1 - t_i / c_i.  It is feasible where u_ik <= 0 for k != y and t_i <= c_i, both decided without rounding (c_i = 0:
u_i = 0), and where the entry stored for y is t_i but for the rounding of a sum: |stored - t_i| <= 4 K u t_i.

Weak duality.  For p in the simplex ln sum_k e^(z_k) >= p.z + H(p) (Gibbs), so c l >= c H(p) - u.z, u = c (e_y - p).
Summed over the rows, with V = sum_i u_i x_i':

    P(W, b) >= sum c H + 1/2 |W|^2 - <W, V> - b.r = D(U) + 1/2 |W - V|^2 - b.r                            (1)

B, a free offset.  Where every class has weight, C_k = sum of c over its rows > 0, there is an optimal b*, and at it the
slopes in b are 0: sum_i c_i p_ik = C_k.  As p_ij = p_ik e^(<w_j - w_k, x_i> + b_j - b_k), with R = max |x_i|

    C_j = sum_i c_i p_ij <= C_k e^(b_j - b_k + R |w_j - w_k|),    so    b_k - b_j <= ln(C_k/C_j) + R |w_j - w_k|.

|w_j - w_k|^2 <= 2 |w_j|^2 + 2 |w_k|^2 <= 2 |W|^2 <= 4 P* <= 4 P.  P does not change with b + t, nor does b.r, as the
entries of r sum to 0; with the midrange of b* at 0 every |b*_k| is at most half of the range:

    B = 1/2 max_jk |ln(C_j/C_k)| + R sqrt(P),        P* >= D(U) - b*.r >= D(U) - B sum_k |r_k|.

Neither the logarithm nor the last term can be left out (tests/judge/test_softmax.py).  Where a class has no weight no b
is optimal, B is infinite and there is no bound unless r = 0.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ..arithmetic.elementary import EXP_END, exp_minus_bounds, log1p_bounds, log_bounds
from ..arithmetic.exact_elementary import log_fractions, log_sum_exp_fractions, shares_entropy_fractions, sqrt_fractions
from ..arithmetic.rounding import HALF, UNIT, ZERO, Interval, Sums, down, exactly, ratio_up, sum_pairs, two_sum, up
from ..rows import Block, place
from .losses import Bounds
from .offset import log_interval
from .recompute import Combination, Figures, Task, score_bounds, square_norms, square_sums
from .rigorous import (
    Dyadic,
    ExactFigures,
    Pair,
    combined_square,
    dyadic,
    integer_rows,
    integer_scores,
    largest_square,
    scaled,
    weighted_sum,
)


class Shares(NamedTuple):
    """What a dual point says of some rows."""

    feasible: np.ndarray  # (rows,)
    others: np.ndarray  # (K, rows): |u_k|, 0 for the true class
    total: tuple[np.ndarray, np.ndarray, np.ndarray]  # t as s + e to within a radius
    rest: Bounds  # c - t = c p_y


def true_class(y: np.ndarray, K: int) -> np.ndarray:
    """(K, rows): where a line is the row's own class."""
    return np.asarray(np.arange(K)[:, None] == y)


def shares(own: np.ndarray, c: np.ndarray, u: np.ndarray) -> Shares:
    """The sizes of the others, their sum t and c - t, all but exactly; and whether the row is feasible, exactly.

    |s + e - t| <= radius.  c - s = h + l exactly, so c - t is h + (l - e) up to the rounding of the two sums and
    radius.  Only where that leaves the sign of c - t open is it asked of fsum, which is correctly rounded: sums of
    floats are multiples of 2^-1074, so a sum that is not 0 does not round to 0.  (With -c first nothing overflows.)
    """
    K = len(u)
    others = np.where(own, 0.0, -u)
    s, e, radius = sum_pairs(np.ascontiguousarray(others.T))
    high, low = two_sum(c, -s)
    tail = low - e
    rest = high + tail
    reach = up(radius + 4.0 * UNIT * np.abs(tail))
    below, above = down(down(rest) - reach), up(up(rest) + reach)
    inside = below > 0
    for i in np.flatnonzero(~inside & (above >= 0)).tolist():  # not where something is not finite
        inside[i] = math.fsum([-float(c[i]), *others[:, i].tolist()]) <= 0.0
    # Adding up K sizes in any order is off by gamma_K of their sum at most.
    stored = np.where(own, u, 0.0).sum(axis=0)
    inside &= (others >= 0).all(axis=0) & (np.abs(stored - (s + e)) <= 4.0 * K * UNIT * s)
    return Shares(inside, others, (s, e, radius), (np.maximum(0.0, below), above))


def loss_bounds(own: np.ndarray, z_low: np.ndarray, z_high: np.ndarray) -> Bounds:
    """l for all scores within their bounds.

    l = ln(1 + sum_{k != y} e^(z_k - z_y)) grows with every z_k and falls with z_y, so its ends are at
    (low others, high own) and (high others, low own).
    """
    own_low, own_high = (np.where(own, z, 0.0).sum(axis=0) for z in (z_low, z_high))
    low = np.where(own, 0.0, down(z_low - own_high))
    high = np.where(own, 0.0, up(z_high - own_low))
    return _log_sum_exp(low, above=False), _log_sum_exp(high, above=True)


def _log_sum_exp(s: np.ndarray, above: bool) -> np.ndarray:
    """A float above (or below) ln sum_k e^(s_k) = t + ln(1 + rest), t the largest of the s_k, which is left out of rest.

    rest = sum of e^-(t - s_k) over the others, K - 1 terms of [0, 1], is computed to gamma_(K-1) whatever the order.
    The exponents are not negative and rounded outward; where rest <= 1 log1p keeps the digits of a small loss.
    """
    K, columns = len(s), np.arange(s.shape[1])
    top = s.argmax(axis=0)
    t = s[top, columns]
    below = t - s
    below[top, columns] = 2.0 * EXP_END  # leaves that term out
    if not above:
        rest = exp_minus_bounds(up(below))[0].sum(axis=0)
        rest = np.maximum(0.0, down(rest * (1.0 - ratio_up(K, K))))
        log = np.where(rest <= 1.0, log1p_bounds(np.minimum(rest, 1.0))[0], log_bounds(down(1.0 + rest))[0])
        return np.maximum(t, down(t + log))
    terms = np.minimum(1.0, exp_minus_bounds(np.maximum(0.0, down(below)))[1])
    terms[top, columns] = 0.0
    rest = up(terms.sum(axis=0) * (1.0 + ratio_up(K, 2 * K)))
    log = np.where(rest <= 1.0, log1p_bounds(np.minimum(rest, 1.0))[1], log_bounds(up(1.0 + rest))[1])
    return up(t + log)


def _log_ratio(c: np.ndarray, a: np.ndarray) -> Bounds:
    """ln(c/a) for 0 <= a <= c, c > 0; a = 0 stands for something positive that is not known.

    q = fl(c/a) is off by u relatively, ln q by less than 2u; q >= 1 does not underflow.
    """
    # Above ln(c/a) for all positive floats c and multiples a of the smallest: ln(2^1024 / 2^-1074) < 1455.
    log_end = 1500.0
    q = c / a
    fits = q < 1e308
    low, high = log_bounds(np.where(fits, q, 1e308))
    return np.maximum(0.0, down(low - 2.0 * UNIT)), np.where(fits, up(high + 2.0 * UNIT), log_end)


def entropy_bounds(c: np.ndarray, found: Shares) -> Bounds:
    """The terms of c H(p) of feasible rows, c > 0: (K + 1, rows), to be added up.

    With a = c p a term is a ln(c/a).  For k != y the float a is exact.  For y, a = c - t; where t <= c/2, ln(c/a) = -ln(1 - t/c),
    which keeps its digits.  If only a >= 0 is known, a is still 0 or at least 2^-1074, and ln(c/a) < 1500.
    """
    zero = found.others == 0.0
    low, high = _log_ratio(c, found.others)
    low = np.where(zero, 0.0, np.maximum(0.0, down(found.others * low)))
    high = np.where(zero, 0.0, up(found.others * high))
    s, e, radius = found.total
    t = s + e
    t_low, t_high = np.maximum(0.0, down(down(t) - radius)), up(up(t) + radius)
    rest_low, rest_high = found.rest
    near = t_high <= 0.5 * c
    x_low = np.minimum(0.5, np.maximum(0.0, down(t_low / c)))
    x_high = np.minimum(0.5, up(t_high / c))
    log_low = np.where(near, np.maximum(0.0, -log1p_bounds(-x_low)[1]), _log_ratio(c, rest_high)[0])
    log_high = np.where(near, -log1p_bounds(-x_high)[0], _log_ratio(c, rest_low)[1])
    own_low = np.maximum(0.0, down(rest_low * log_low))
    own_high = np.where(t == 0.0, 0.0, up(np.maximum(0.0, rest_high * log_high)))
    return np.vstack([low, own_low]), np.vstack([high, own_high])


def offset_bound(primal: Interval, square: Interval, weights: list[Interval]) -> Interval:
    """B as the formula has it, enclosed; ``weights`` are the C_k, ``square`` is R^2."""
    logs = [log_interval(weight) for weight in weights]
    largest = Interval(max(log.low for log in logs), max(log.up for log in logs))
    smallest = Interval(min(log.low for log in logs), min(log.up for log in logs))
    reach = (primal.positive() * square.positive()).positive().sqrt()
    return HALF * (largest - smallest).positive() + reach


class _Pass:
    """One walk over the rows: everything that P, D and B need."""

    def __init__(self, task: Task, W: np.ndarray, b: np.ndarray, U: np.ndarray) -> None:
        K = len(W)
        self.task, self.W, self.b, self.U = task, W, b, U
        self.loss_low, self.loss_up, self.term_low, self.term_up = (Sums(1) for _ in range(4))
        self.r, self.weights = Sums(K), Sums(K)
        self.combined = Combination(W.shape)
        self.feasible = True
        self.square = ZERO
        # For the textbook bound, in plain floats: sums of |u| |x| of each class; of c |x|, c H, |u|, c.
        self.lengths = np.zeros(K)
        self.rough = np.zeros(4)
        self.n = 0
        constant = {"none": 0.0, "penalised": task.offset_scale, "free": 1.0}[task.offset]
        self.constant2 = constant * constant
        for block in task.rows.blocks():
            self._block(block)

    def _block(self, block: Block) -> None:
        part = place(block)
        c, u = self.task.c[part], self.U[:, part]
        own = true_class(self.task.y[0, part], len(u))
        found = shares(own, c, u)
        self.feasible &= bool(found.feasible.all())
        keep = c > 0
        if not (keep & found.feasible).all():
            u = np.where(found.feasible, u, 0.0)[:, keep]
            block, c, own = block.take(keep), c[keep], own[:, keep]
            found = shares(own, c, u)
        if block.n == 0:
            return
        s, e, radius = found.total
        u = np.where(own, s + e, -found.others)
        magnitude = block.absolute()
        low, high = loss_bounds(own, *score_bounds(block, magnitude, self.W, self.b))
        self.loss_low.add(np.maximum(0.0, down(c * low))[None, :])
        self.loss_up.add(up(c * high)[None, :])
        terms_low, terms_up = entropy_bounds(c, found)
        self.term_low.add(terms_low.reshape(1, -1))
        self.term_up.add(terms_up.reshape(1, -1))
        self.combined.add(block, magnitude, u)
        self.r.add(np.where(own, s, -found.others))
        self.r.add(np.where(own, e, 0.0))
        missed = np.where(own, radius, 0.0).sum(axis=1)  # gamma of a block is below 1e-9
        self.r.radius = np.where(missed > 0, up(self.r.radius + up(missed * (1.0 + 1e-9))), self.r.radius)
        norm_low, norm_up = square_norms(block)
        self.square = Interval(max(self.square.low, float(norm_low.max())), max(self.square.up, float(norm_up.max())))
        if self.task.offset == "free":
            self.weights.add(np.where(own, c, 0.0))
        norms, size = np.sqrt(norm_up + self.constant2), np.abs(u)
        self.lengths += size @ norms
        self.rough += [c @ norms, terms_up.sum(), size.sum(), c.sum()]
        self.n += block.n

    def textbook(self, primal: float, combined: float, r: np.ndarray, bound: float) -> tuple[float, float]:
        """What P - D, and P by itself, may be off by in plain float64; as `recompute` has it, with K sums in place of one.

        The loss of a row changes by at most twice the change of its largest score.  However few the rows are, a
        claim may speak of blocks of up to 1024; and B may have been rounded up by 1e-11 of itself.
        """
        K, d = self.W.shape
        n, d = 1024 + self.n / 512 + 64, d + 64
        slopes, terms, sizes, weights = self.rough.tolist()
        combined += self.constant2 * float(r @ r)
        v2 = self.b**2 / self.constant2 if self.constant2 else np.zeros(K)
        theta = math.sqrt(float(((self.W**2).sum(axis=1) + v2).max()))
        own = 2.0 * d * slopes * theta + (n + d) * primal + 64.0 * K * weights
        total = own + (n + d) * (terms + sizes) + (n + K * d) * combined + (bound * n * sizes if sizes > 0.0 else 0.0)
        off = n * UNIT * float(np.linalg.norm(self.lengths))
        extra = 1e-11 * bound * float(r.sum()) if r.any() else 0.0
        return total * UNIT + off * (math.sqrt(combined) + off) + extra, own * UNIT


def evaluate_softmax(task: Task, W: np.ndarray, b: np.ndarray, U: np.ndarray) -> list[Figures]:
    """Enclosures of P(W, b) and of the certified dual at U: one problem, ``task.y`` (1, n) holds class indices.

    W (K, d), b (K,) and U (K, n) are finite.  A U outside the domain of the dual has D = -inf.
    """
    W, b, U = (np.asarray(a, dtype=np.float64) for a in (W, b, U))
    with np.errstate(all="ignore"):
        # What all free offsets have in common changes no loss, and is left out of its enclosure: one rounding, for which
        # `score_bounds` has room.
        done = _Pass(task, W, b - b[0] if task.offset == "free" else b, U)
        # s + e stands for t in the combination: it is off by less than 2u relatively (radius is of order u^2).
        done.combined.spread = 4.0 * UNIT * done.combined.size
        v, reach = done.combined.result()
        v2 = square_sums(v.reshape(1, -1), reach.reshape(1, -1))[0]
        sums = done.r.intervals()
        ends = (done.loss_low, done.loss_up, done.term_low, done.term_up)
        loss_low, loss_up, term_low, term_up = (each.intervals()[0] for each in ends)
        primal = HALF * square_sums(W.reshape(1, -1))[0] + Interval(loss_low.low, loss_up.up)
        dual = Interval(term_low.low, term_up.up) - HALF * v2
        scale = exactly(task.offset_scale)
        bound = 0.0
        if task.offset == "penalised":
            for value, r in zip(b.tolist(), sums, strict=True):
                primal = primal + HALF * (exactly(abs(value)) / scale).square()
                dual = dual - HALF * (scale * r).square()
        primal = primal.positive()
        if task.offset == "free":
            B = offset_bound(primal, done.square, done.weights.intervals())
            missed = [abs(r) for r in sums if r != ZERO]
            for size in missed:
                dual = dual - B * size
            bound = B.up if missed else 0.0
        if not done.feasible:
            dual = Interval(-math.inf, -math.inf)
        sizes = np.array([max(abs(r.low), abs(r.up)) for r in sums])
        return [Figures(primal, dual, done.feasible, *done.textbook(primal.up, v2.up, sizes, bound))]


def exact_softmax(task: Task, W: np.ndarray, b: np.ndarray, U: np.ndarray) -> list[ExactFigures]:
    """The same in integers and fractions; exp and log are enclosed to some 57 digits."""
    W, b, U = (np.asarray(a, dtype=np.float64) for a in (W, b, U))
    with np.errstate(all="ignore"):
        feasible = bool(shares(true_class(task.y[0], len(U)), task.c, U).feasible.all())
    keep, matrix, exponent = integer_rows(task)
    y, c = task.y[0][keep].tolist(), dyadic(task.c[keep])
    # -- primal
    penalty = sum((Fraction(v) * Fraction(v) for v in W.ravel().tolist()), Fraction(0)) / 2
    if task.offset == "penalised":
        parts = [Fraction(v) / Fraction(task.offset_scale) for v in b.tolist()]
        penalty += sum((v * v for v in parts), Fraction(0)) / 2
    weights = [dyadic(np.append(w, v)) for w, v in zip(W, b, strict=True)]
    scores = [integer_scores(matrix, exponent, each) for each in weights]

    def loss(i: int, k: int) -> Pair:
        own = scaled(scores[k].integers[i], scores[k].exponent)
        return log_sum_exp_fractions(scaled(z.integers[i], z.exponent) - own for j, z in enumerate(scores) if j != k)

    low, high = weighted_sum(c, (loss(i, k) for i, k in enumerate(y)))
    primal = penalty + low, penalty + high
    # -- dual
    square = largest_square(matrix, exponent)
    bound = _exact_offset_bound(primal, square, y, c, len(W)) if task.offset == "free" else None
    if not feasible:
        return [ExactFigures(primal, None, bound)]
    lines = [dyadic(u) for u in U[:, keep]]
    finest = min(line.exponent for line in lines)
    table = [[m << (line.exponent - finest) for m in line.integers] for line in lines]

    def entropy(i: int, k: int, size: Fraction) -> Pair:
        rest = [scaled(-line[i], finest) / size for j, line in enumerate(table) if j != k]
        return shares_entropy_fractions([*rest, 1 - sum(rest, Fraction(0))])

    for i, k in enumerate(y):
        table[k][i] = -sum(line[i] for j, line in enumerate(table) if j != k)  # as defined, not as stored
    sizes = (scaled(weight, c.exponent) for weight in c.integers)
    low, high = weighted_sum(c, (entropy(i, k, size) for i, (k, size) in enumerate(zip(y, sizes, strict=True))))
    quadratic = sum((combined_square(matrix, exponent, Dyadic(line, finest)) for line in table), Fraction(0)) / 2
    sums = [scaled(sum(line), finest) for line in table]
    if task.offset == "penalised":
        quadratic += sum((r * r for r in sums), Fraction(0)) * Fraction(task.offset_scale) ** 2 / 2
    ends = low - quadratic, high - quadratic
    missed = sum(map(abs, sums), Fraction(0))
    if task.offset == "free" and missed:
        if bound is None:
            return [ExactFigures(primal, None, None)]
        ends = ends[0] - bound[1] * missed, ends[1] - bound[0] * missed
    return [ExactFigures(primal, ends, bound)]


def _exact_offset_bound(primal: Pair, square: Fraction, y: list[int], c: Dyadic, K: int) -> Pair | None:
    totals = [0] * K
    for k, weight in zip(y, c.integers, strict=True):
        totals[k] += weight
    if not all(totals):
        return None
    low, high = sqrt_fractions(primal[0] * square, primal[1] * square)
    spread = log_fractions(Fraction(max(totals), min(totals)))
    return max(Fraction(0), spread[0]) / 2 + low, spread[1] / 2 + high
