"""Convexity decided exactly, where the second derivative can be: quadratics of any dimension, polynomials of one variable.

    x'Qx + c'x          convex if and only if Q has no negative direction: elimination in fractions finds only pivots >= 0, or a
                        v with v'Qv < 0
    p(z) on [a, b]      convex if and only if p'' >= 0 there: p'' changes its sign only at roots of odd multiplicity, which a
                        square-free factorisation (Yun) and Sturm's theorem count without computing them

Floats are taken for the exact numbers that they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless._runtime.written import written


@result
@dataclass(frozen=True, eq=False)
class Exact:
    """``convex``, with its proof: pivots (quadratic) or the number of sign changes (polynomial); else where it bends down.

    Attributes
    ----------
    what : "quadratic" or "polynomial"
    convex : whether it is convex, decided
    why : the proof in words
    pivots : pivots of the elimination, none negative
    direction : v with v'Qv < 0, or the point z with p''(z) < 0
    curvature : v'Qv, or p''(z): negative
    affine : whether it is affine
    """

    what: str
    convex: bool
    why: str
    pivots: tuple[Fraction, ...] = ()
    direction: tuple[Fraction, ...] | None = None
    curvature: Fraction | None = None
    affine: bool = False

    @property
    def verdict(self) -> str:
        """ "convex" or "not convex"."""
        return "convex" if self.convex else "not convex"

    def __str__(self) -> str:
        return f"the {self.what} is {self.verdict}: {self.why}"


def quadratic(Q: Any) -> Exact:
    """Whether x'Qx is convex. Q need not be symmetric: its symmetric part is what counts.

    Parameters
    ----------
    Q : square matrix, not necessarily symmetric
    """
    rows = np.asarray(Q)
    if rows.ndim != 2 or rows.shape[0] != rows.shape[1] or rows.shape[0] == 0:
        raise ValueError(f"Q must be a square matrix; got an array of shape {rows.shape}")
    n = len(rows)
    given = [[_exact(v) for v in row] for row in rows.tolist()]
    S = [[(given[i][j] + given[j][i]) / 2 for j in range(n)] for i in range(n)]
    rest = list(range(n))
    steps: list[tuple[int, dict[int, Fraction]]] = []  # pivot k: x_k = -sum_j ratio_j x_j minimises over x_k
    pivots: list[Fraction] = []
    while rest:
        low = next((i for i in rest if S[i][i] < 0), None)
        if low is not None:
            return _bent({low: Fraction(1)}, steps, given, pivots)
        k = next((i for i in rest if S[i][i] > 0), None)
        if k is None:
            pair = next(((i, j) for i in rest for j in rest if i < j and S[i][j] != 0), None)
            if pair is None:
                break
            i, j = pair
            return _bent({i: Fraction(1), j: Fraction(-1 if S[i][j] > 0 else 1)}, steps, given, pivots)
        rest.remove(k)
        ratio = {j: S[k][j] / S[k][k] for j in rest if S[k][j] != 0}
        for i in ratio:
            for j in ratio:
                S[i][j] -= ratio[i] * S[k][j]
        steps.append((k, ratio))
        pivots.append(S[k][k])
    why = f"elimination in fractions has {len(pivots)} positive pivots and leaves {n - len(pivots)} zeros"
    return Exact("quadratic", True, why, tuple(pivots), affine=not pivots)


def _bent(v: dict[int, Fraction], steps: Any, Q: list[list[Fraction]], pivots: list[Fraction]) -> Exact:
    """The negative direction of what is left, carried back through the eliminated coordinates."""
    for k, ratio in reversed(steps):
        v[k] = -sum((r * v.get(j, Fraction(0)) for j, r in ratio.items()), Fraction(0))
    full = tuple(v.get(i, Fraction(0)) for i in range(len(Q)))
    bend = sum((full[i] * Q[i][j] * full[j] for i in range(len(Q)) for j in range(len(Q))), Fraction(0))
    assert bend < 0
    shown = ", ".join(f"{float(u):.4g}" for u in full)
    return Exact("quadratic", False, f"v'Qv = {float(bend):.6g} for v = ({shown})", tuple(pivots), full, bend)


Poly = list[Fraction]  # coefficients, lowest first, the last one not 0; [] is 0


def polynomial(coefficients: Any, interval: tuple[Any, Any] = (-math.inf, math.inf)) -> Exact:
    """Whether c_0 + c_1 z + c_2 z^2 + ... is convex on an interval, by default on the whole line.

    Parameters
    ----------
    coefficients : c_0, c_1, c_2, ...
    interval : (a, b), by default the whole line
    """
    p = _trim([_exact(v) for v in np.asarray(coefficients).ravel().tolist()])
    a, b = interval
    if not a < b:
        raise ValueError(f"the interval must have a < b; got {written(interval)}")
    q = _derived(_derived(p))
    if not q:
        return Exact("polynomial", True, "it is affine", affine=True)
    # Beyond the largest root nothing changes: the line is as good as an interval that has them all inside (Cauchy).
    reach = 1 + max(abs(c) for c in q) / abs(q[-1])
    left = Fraction(-reach) if math.isinf(a) else _exact(a)
    right = Fraction(reach) if math.isinf(b) else _exact(b)
    left, right = min(left, right - 1) if math.isinf(a) else left, max(right, left + 1) if math.isinf(b) else right
    turning = [Fraction(1)]
    for factor, power in _square_free(q):
        if power % 2:
            turning = _times(turning, factor)
    chain = _sturm(turning)
    changes = _roots(chain, left, right)
    start = _inner(q, left, right)
    if changes == 0 and _at(q, start) > 0:
        why = f"p'' is never negative there: it has no change of sign, and p''({float(start):.4g}) > 0"
        return Exact("polynomial", True, why)
    z = _negative(q, chain, left, right)
    bend = _at(q, z)
    return Exact("polynomial", False, f"p''({float(z):.6g}) = {float(bend):.6g}", (), (z,), bend)


def _exact(value: Any) -> Fraction:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"numbers must be finite; got {written(value)}")
    try:
        return Fraction(value)
    except (TypeError, ValueError):
        raise ValueError(f"not a real number: {written(value)}") from None


def _trim(p: Poly) -> Poly:
    while p and p[-1] == 0:
        p.pop()
    return p


def _derived(p: Poly) -> Poly:
    return [k * c for k, c in enumerate(p)][1:]


def _at(p: Poly, z: Fraction) -> Fraction:
    total = Fraction(0)
    for c in reversed(p):
        total = total * z + c
    return total


def _times(p: Poly, q: Poly) -> Poly:
    out = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, u in enumerate(p):
        for j, v in enumerate(q):
            out[i + j] += u * v
    return out


def _divided(p: Poly, q: Poly) -> tuple[Poly, Poly]:
    """Quotient and remainder."""
    rest, quotient = list(p), [Fraction(0)] * max(0, len(p) - len(q) + 1)
    while len(rest) >= len(q):
        factor = rest[-1] / q[-1]
        shift = len(rest) - len(q)
        quotient[shift] = factor
        rest = _trim([c - (factor * q[k - shift] if k >= shift else 0) for k, c in enumerate(rest)][:-1])
    return quotient, rest


def _common(p: Poly, q: Poly) -> Poly:
    while q:
        p, q = q, _divided(p, q)[1]
    return [c / p[-1] for c in p]


def _square_free(p: Poly) -> list[tuple[Poly, int]]:
    """Factors without multiple roots, each with its power (Yun)."""
    slope = _derived(p)
    shared = _common(p, slope)
    rest, turn = _divided(p, shared)[0], _divided(slope, shared)[0]
    out, power = [], 1
    while len(rest) > 1:
        change = _derived(rest)
        turn = _trim([u - v for u, v in zip(turn + [Fraction(0)] * len(rest), change + [Fraction(0)] * len(turn))])
        factor = _common(rest, turn) if turn else [c / rest[-1] for c in rest]
        if len(factor) > 1:
            out.append((factor, power))
        rest = _divided(rest, factor)[0]
        turn = _divided(turn, factor)[0] if turn else []
        power += 1
    return out


def _sturm(p: Poly) -> list[Poly]:
    chain = [p, _derived(p)]
    while chain[-1]:
        chain.append([-c for c in _divided(chain[-2], chain[-1])[1]])
    return chain[:-1]


def _signs(chain: list[Poly], z: Fraction) -> int:
    values = [v for v in (_at(p, z) for p in chain) if v != 0]
    return sum((u > 0) != (v > 0) for u, v in pairwise(values))


def _roots(chain: list[Poly], a: Fraction, b: Fraction) -> int:
    """Real roots of chain[0], which has no multiple ones, strictly between a and b."""
    if len(chain[0]) <= 1:
        return 0
    return _signs(chain, a) - _signs(chain, b) - (_at(chain[0], b) == 0)


def _inner(q: Poly, a: Fraction, b: Fraction) -> Fraction:
    """A point between that is no root: one of more than there are roots."""
    return next(z for z in (a + (b - a) * Fraction(k, len(q) + 1) for k in range(1, len(q) + 1)) if _at(q, z) != 0)


def _negative(q: Poly, chain: list[Poly], a: Fraction, b: Fraction) -> Fraction:
    """A z in [a, b] with q(z) < 0: next to a change of sign, which bisection closes in on."""
    parts = [(a, b)]
    while True:
        halves = []
        for low, high in parts:
            middle = (low + high) / 2
            if _at(q, middle) < 0:
                return middle
            halves += [(low, middle), (middle, high)]
        # q < 0 on an open part of [a, b]; a half without a change of sign, and not negative in the middle, has none of it.
        parts = [h for h in halves if _roots(chain, *h) or _at(q, (h[0] + h[1]) / 2) <= 0]
