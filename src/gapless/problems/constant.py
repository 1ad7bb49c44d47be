"""The best model without features: what a fit that was stopped at once returns.

    one score a row:     min over v of  [1/2 v^2] + C+ l(+1, sv) + C- l(-1, sv)                C+, C- the sums of c in each class
    K scores a row:      min over v of  [1/2 |v|^2] + sum_k C_k (ln sum_j e^(s v_j) - s v_k)

s is the value of the constant feature; the square is there where the offset is penalised.  Both need the sums of c alone.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gapless.losses import Hinge, Squared
from gapless.losses._protocol import slope, value
from gapless.problems.linear import LinearERM
from gapless.problems.multinomial import Multinomial

#: Doublings of the bracket of v: beyond 2^10 no loss changes any more.
DOUBLINGS = 10
#: By what share the constants of several hinge problems are moved apart.
APART = 2.0**-40


class Constant(NamedTuple):
    """theta = (0, v), and P there."""

    theta: np.ndarray
    primal: float


def best_constant(problem: LinearERM) -> Constant | None:
    """The constant score with the least P; None where there is no offset."""
    s = float(problem.rows.constant)
    if s == 0.0:
        return None
    theta = np.zeros(problem.d + 1)
    if isinstance(problem.loss, Squared):
        mass, moment = float(problem.c.sum()), float(problem.c @ problem.y)
        theta[-1] = moment / mass if problem.free else s * moment / (1.0 + s * s * mass)
        return Constant(theta, problem.penalty(theta) + problem.loss_sum(np.full(problem.n, s * theta[-1])))
    positive, negative = problem.masses
    v = _offset(problem.loss, positive, negative, s, penalised=not problem.free)
    theta[-1] = v
    loss = positive * value(problem.loss, s * v, 1.0) + negative * value(problem.loss, s * v, -1.0)
    return Constant(theta, problem.penalty(theta) + loss)


def _offset(loss: Any, positive: float, negative: float, s: float, *, penalised: bool) -> float:
    """v by halving: P is convex in v, so its slope rises."""

    def rise(v: float) -> float:
        data = s * (positive * slope(loss, s * v, 1.0) + negative * slope(loss, s * v, -1.0))
        return data + v if penalised else data

    low, high = -1.0 / s, 1.0 / s
    for _ in range(DOUBLINGS):
        low = low if rise(low) <= 0.0 else 2.0 * low
        high = high if rise(high) >= 0.0 else 2.0 * high
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        at_middle = rise(middle)
        if at_middle == 0.0:
            return middle
        low, high = (middle, high) if at_middle < 0.0 else (low, middle)
    return low if abs(rise(low)) < abs(rise(high)) else high


def moved_apart(problem: LinearERM, theta: np.ndarray) -> np.ndarray:
    """The constant of one class against the rest, one of several such problems.

    The hinge's is -1 for every class that has less than half of the weight, so that the first class would be predicted.  Moved
    by APART of the class's share of the weight, the largest class has the largest score, and P rises by at most APART of P.
    """
    if not isinstance(problem.loss, Hinge) or theta[:-1].any() or theta[-1] == 0.0:
        return theta
    positive, negative = problem.masses
    moved = theta.copy()
    moved[-1] *= 1.0 - APART * (1.0 - abs(positive - negative) / (positive + negative))
    return moved


def best_constants(problem: Multinomial, steps: int = 100) -> Constant | None:
    """The K constant scores with the least P, by Newton's method; None where there is no offset."""
    s, C, K = float(problem.rows.constant), problem.class_weights, problem.K
    if s == 0.0:
        return None
    total = float(C.sum())
    theta = np.zeros((K, problem.d + 1))

    def primal(v: np.ndarray) -> float:
        top = float(v.max())
        square = 0.0 if problem.free else 0.5 * float(v @ v)
        return square + total * (s * top + math.log(float(np.exp(s * (v - top)).sum()))) - s * float(C @ v)

    if problem.free:
        if not (C > 0.0).all():  # log-odds of minus infinity
            return None
        v = np.log(C / total)
        v -= v.mean()
    else:
        v = np.zeros(K)
        for _ in range(steps):
            p = np.exp(s * (v - v.max()))
            p /= p.sum()
            gradient = v + s * (total * p - C)
            bend = np.eye(K) + s * s * total * (np.diag(p) - np.outer(p, p))
            step = np.linalg.solve(bend, gradient)
            t, before = 1.0, primal(v)
            while t > 1e-9 and primal(v - t * step) > before:
                t *= 0.5
            v = v - t * step
            if float(np.abs(step).max()) * t <= 1e-14 * max(1.0, float(np.abs(v).max())):
                break
    theta[:, -1] = v
    return Constant(theta, primal(v))
