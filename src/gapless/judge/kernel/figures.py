"""P, D and the gap of one problem of a kernel machine, enclosed.

    P = 1/2 |w|^2 + T0 b + T1 t + sum_j c_j [h_j]+,    h_j = tau_j - s_j (f_j + b) - t,    f = K u,  |w|^2 = u'Ku
    D = tau'beta - 1/2 |w|^2 - (price of the equalities that are missed)
    P - D = sum_j ((c_j - beta_j) [h_j]+ + beta_j [-h_j]+) + b (T0 - s'beta) + t (T1 - 1'beta) + price

s, tau, T of each kind: C-SVC s = y, tau = 1, T0 = 0; eps-SVR each row twice, tau = s y - eps; one-class s = 1, tau = 0, T0 = nu
sum c; nu-SVC s = y, tau = 0, T1 = nu sum c; nu-SVR each row twice, tau = s y, T1 = nu sum c.  The price is B times what is
missed, for each sign of s by itself where there is a t; some best scalar lies at a kink, so B = max|tau| + R |w*|, with
|w*| <= sqrt(2P), or R sum(beta) for one-class and nu-SVC, whose P can be below 0.
nu-SVR has eps* >= 0: there a sum of beta below T1 has no price.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..arithmetic.rounding import HALF, UNIT, ZERO, Interval, down, exactly, less, sum_between, sum_of, up


class Posed(NamedTuple):
    """One problem: for each variable its row, sign, tau and bound; ``nu`` is 0 where no total depends on it."""

    kind: str
    at: np.ndarray
    sign: np.ndarray
    tau_low: np.ndarray
    tau_high: np.ndarray
    c: np.ndarray
    nu: float

    @property
    def two(self) -> bool:
        return self.kind in ("nu_svc", "nu_svr")


class Found(NamedTuple):
    primal: Interval
    dual: Interval
    gap: Interval
    violation: Interval
    feasible: bool
    textbook: float
    #: The largest term of P - D, which sums of terms that cancel are small beside.
    largest: float = 0.0
    #: The largest score or target, which a violation is a difference of.
    wobble: float = 0.0


def posed(kind: str, c: np.ndarray, y: np.ndarray, nu: float, epsilon: float) -> Posed:
    """y: signs of the rows (classifiers), or targets; c of the rows."""
    n = c.size
    one = np.arange(n)
    if kind == "c_svc":
        return Posed(kind, one, y, np.ones(n), np.ones(n), c, 0.0)
    if kind in ("nu_svc", "one_class"):
        return Posed(kind, one, y if kind == "nu_svc" else np.ones(n), np.zeros(n), np.zeros(n), c, nu)
    sign = np.repeat([1.0, -1.0], n)
    tau = sign * np.tile(y, 2)
    low = high = tau
    if kind == "epsilon_svr" and epsilon != 0.0:
        low, high = less(tau, epsilon)
    return Posed(kind, np.tile(one, 2), sign, low, high, np.tile(c, 2), nu if kind == "nu_svr" else 0.0)


def _product(c: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """c times something between low and high, none below 0."""
    return np.maximum(0.0, down(c * low)), np.where(high > 0.0, up(c * high), 0.0)


def _hinges(problem: Posed, low_f: np.ndarray, high_f: np.ndarray, b: float, t: float) -> tuple[np.ndarray, np.ndarray]:
    """h of every variable between two arrays: tau - s (f + b) - t, or tau - s b - t - s f where that is sharper."""
    s, low_f, high_f = problem.sign, low_f[problem.at], high_f[problem.at]
    sf_low, sf_high = np.where(s > 0, low_f, -high_f), np.where(s > 0, high_f, -low_f)
    z_low, z_high = less(sf_low, -s * b)[0], less(sf_high, -s * b)[1]
    low, high = less(less(problem.tau_low, z_high)[0], t)[0], less(less(problem.tau_high, z_low)[1], t)[1]
    own_low, own_high = less(less(problem.tau_low, s * b)[0], t)[0], less(less(problem.tau_high, s * b)[1], t)[1]
    return np.maximum(low, less(own_low, sf_high)[0]), np.minimum(high, less(own_high, sf_low)[1])


def _unused_weight(c: np.ndarray, beta: np.ndarray, h_low: np.ndarray, h_high: np.ndarray) -> Interval:
    """sum (c - beta) [h]+ + beta [-h]+"""
    rest_low, rest_high = np.maximum(0.0, down(c - beta)), np.maximum(0.0, up(c - beta))
    over = np.maximum(0.0, down(rest_low * np.maximum(h_low, 0.0))), up(rest_high * np.maximum(h_high, 0.0))
    over = over[0], np.where((h_high > 0.0) & (rest_high > 0.0), over[1], 0.0)
    under = _product(beta, np.maximum(-h_high, 0.0), np.maximum(-h_low, 0.0))
    return sum_between(*over) + sum_between(*under)


def evaluate(
    problem: Posed,
    u: np.ndarray,
    scalars: np.ndarray,
    f: np.ndarray,
    off: np.ndarray,
    R2: Interval,
    mercer: bool = True,
    spread2: float = 0.0,
    rough: float = 0.0,
) -> Found:
    """u, f (within off) of the rows of the problem; ``R2`` has the largest K(x, x) between its ends: of a price that could be
    smaller than the fit's a dual point that misses an equality would be excused. ``rough`` bounds off coarsely; ``spread2`` is
    the largest |phi_i - phi_0|^2."""
    own, s, c = u[problem.at], problem.sign, problem.c
    beta = np.maximum(s * own, 0.0)
    twice = problem.at.size > u.size
    feasible = bool((beta <= c).all()) and (twice or bool((s * own >= 0.0).all()))
    b, t = float(scalars[0]), float(scalars[1]) if problem.two else 0.0
    low_f, high_f = less(f, off)[0], less(f, -off)[1]
    square = sum_between(*_signed(u, low_f, high_f))
    square = square.positive() if mercer else square
    h_low, h_high = _hinges(problem, low_f, high_f, b, t)
    loss = sum_between(*_product(c, np.maximum(h_low, 0.0), np.maximum(h_high, 0.0)))
    # equalities; of nu-SVR c stands twice
    T = exactly(problem.nu) * sum_of(c) if problem.nu else ZERO
    T = HALF * T if problem.kind == "nu_svr" else T
    plus, minus = sum_of(np.where(s > 0, beta, 0.0)), sum_of(np.where(s < 0, beta, 0.0))
    # sum s beta and sum beta against what they should be
    skew, short = minus - plus, T - plus - minus
    skew = short if problem.kind == "one_class" else skew
    moved = skew * exactly(b) + (short * exactly(t) if problem.two else ZERO)
    primal = HALF * square + T * exactly(t if problem.two else b) + loss
    top = exactly(float(np.maximum(np.abs(problem.tau_low), np.abs(problem.tau_high)).max(initial=0.0)))
    radius = R2.sqrt()
    by_mass = problem.kind in ("one_class", "nu_svc")
    bound = top + radius * (radius * T if by_mass else (exactly(2.0) * primal.positive()).sqrt())
    missed = abs(skew)
    if problem.kind == "nu_svr":  # eps* >= 0: only a sum above T1 has a price
        missed = missed + (ZERO - short).positive()
    elif problem.two:
        missed = abs(HALF * T - plus) + abs(HALF * T - minus)
    price = bound * missed
    dual = sum_between(*_signed(beta, problem.tau_low, problem.tau_high)) - HALF * square - price
    gap = _unused_weight(c, beta, h_low, h_high) + moved + price
    if not feasible:
        dual, gap = Interval(-math.inf, -math.inf), Interval(math.inf, math.inf)
    sizes = abs(primal.up) + float(np.abs(problem.tau_high) @ beta) + abs(square).up + loss.up
    wobble = float(np.maximum(np.abs(low_f), np.abs(high_f)).max(initial=0.0) + top.up)
    rough = max(rough, float(off.max(initial=0.0))) + 2.0 * UNIT * (wobble + abs(b) + abs(t))
    rough *= float(np.abs(u).sum()) + float(c.sum())
    textbook = rough + (400.0 + 2.0 * math.sqrt(c.size)) * UNIT * sizes
    textbook += bound.up * (c.size + 64) * UNIT * (float(beta.sum()) + T.up) + 1e-11 * price.up
    # A fit may know its kernel values 8 times less well: rows far away are centred in more than one way. A bound by |K| <= R^2
    # alone may be wide of these sums; it does no harm as this share of |P| + |D|, a small one where sharper sums cost little.
    harmless = 5e-10 if np.count_nonzero(u) * c.size <= 2e7 else 5e-7
    textbook = max(8.0 * textbook, harmless * sum(abs(end) for end in (primal.up, dual.low) if math.isfinite(end)))
    # Where w = 0 is optimal P is 0, and what it is small beside is |w|^2 of a feasible u: that does not change with a common
    # shift of the rows, but for one class, which looks at the origin.
    largest = sizes + (R2.up if problem.kind == "one_class" else spread2 if problem.two else 0.0) * T.up * T.up
    return Found(primal, dual, gap, _violation(problem, beta, low_f, high_f), feasible, textbook, largest, wobble)


def evaluate_hard(
    y: np.ndarray, u: np.ndarray, b: float, f: np.ndarray, off: np.ndarray, R2: Interval, rough: float = 0.0
) -> tuple[Found, bool]:
    """C = inf: P = 1/2 u'Ku where every y f >= 1 for certain, against the best multiple of u; whether they are kept."""
    feasible = bool((y * u >= 0.0).all())
    low_f, high_f = down(f - off), up(f + off)
    low, high = down(low_f + b), up(high_f + b)
    worst = float(np.where(y > 0, low, -high).min(initial=math.inf))
    slack = float(np.maximum(0.0, 1.0 - np.where(y > 0, high, -low)).max(initial=0.0))
    most = float(np.maximum(0.0, 1.0 - np.where(y > 0, low, -high)).max(initial=0.0))
    square = sum_between(*_signed(u, low_f, high_f)).positive()
    mass, missed = sum_of(np.abs(u)), abs(sum_of(u))
    primal = HALF * square
    bound = exactly(1.0) + R2.sqrt() * square.sqrt()
    dual = (HALF * mass - bound * missed) * (mass / square)
    if worst < 1.0:
        primal = Interval(primal.low, math.inf)
    if not feasible:
        dual = Interval(-math.inf, -math.inf)
    ratio = (mass / square).up
    textbook = mass.up * max(rough, float(off.max(initial=0.0))) * (1.0 + ratio * ratio)
    textbook += (u.size + 400.0) * UNIT * (square.up + mass.up * ratio * (1.0 + bound.up))
    return Found(primal, dual, primal - dual, Interval(slack, most), feasible, textbook), worst >= 1.0


def _signed(a: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """a times something between low and high, a of any sign."""
    return down(np.where(a > 0, a * low, a * high)), up(np.where(a > 0, a * high, a * low))


def _violation(problem: Posed, beta: np.ndarray, low: np.ndarray, high: np.ndarray) -> Interval:
    """The largest pair of kinks s tau - f in the wrong order, enclosed; 0 at the optimum."""
    s, c = problem.sign, problem.c
    k_low = down(np.where(s > 0, problem.tau_low, -problem.tau_high) - high[problem.at])
    k_high = up(np.where(s > 0, problem.tau_high, -problem.tau_low) - low[problem.at])
    rising = np.where(s > 0, beta < c, beta > 0.0)
    falling = np.where(s > 0, beta > 0.0, beta < c)
    found = ZERO
    for side in (s > 0, s < 0) if problem.two else (s != 0,):
        up_, low_ = side & rising, side & falling
        if up_.any() and low_.any():
            least = float(k_low[up_].max() - k_high[low_].min())
            most = float(k_high[up_].max() - k_low[low_].min())
            found = Interval(max(found.low, least), max(found.up, float(np.nextafter(most, np.inf))))
    return found
