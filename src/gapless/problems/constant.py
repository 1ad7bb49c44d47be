"""The best model without features: what a fit that was stopped too early returns where its own point is worse.

    one score a row:     min over v of  [1/2 v^2] + C+ l(+1, sv) + C- l(-1, sv)                C+, C- the sums of c in each class
    K scores a row:      min over v of  [1/2 |v|^2] + sum_k C_k (ln sum_j e^(s v_j) - s v_k)

s is the value of the constant feature; the square is there where the offset is penalised.  Both need the sums of c alone.

Of the kernel machines C-SVC, eps-SVR and nu-SVR have w = 0 at beta = 0, which is feasible (a nu-SVR's sum may be below T1), and
D(0) = 0.  The beta of a nu-SVC has a sum above 0, so that w cannot be 0: its constant keeps w and has an offset beyond R |w|,
the largest that <w, phi> can be.  A one-class machine has no classes, and no constant.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gapless.losses.verbs import slope, value
from gapless.problems.linear import LinearProblem
from gapless.problems.multinomial import Multinomial

if TYPE_CHECKING:  # the Gram matrices behind it take time to import, and linear fits do without
    from gapless.problems.kernel import KernelDual

KernelPoint = tuple[np.ndarray, np.ndarray, np.ndarray]  #: beta, scalars, scores


class Constant(NamedTuple):
    """theta = (0, v), and P there."""

    theta: np.ndarray
    primal: float


def best_constant(problem: LinearProblem) -> Constant | None:
    """The constant score with the least P; None where there is no offset."""
    s = float(problem.constant)
    if s == 0.0:
        return None
    theta = np.zeros(problem.d + 1)
    if not problem.loss.of_margin:
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
    for _ in range(10):  # beyond 2^10 no loss changes any more
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


def separate_equal_constants(problem: LinearProblem, theta: np.ndarray, share: float = 2.0**-40) -> np.ndarray:
    """Move the constant of one class against the rest, so that the constants of several classes differ.

    The hinge's constant is -1 for every class that has less than half of the weight, so that the first class would be predicted.
    Moved by ``share`` times the class's share of the weight, the largest class has the largest score, and P rises by at most
    ``share`` of P.
    """
    if problem.loss.smooth or theta[:-1].any() or theta[-1] == 0.0:
        return theta
    positive, negative = problem.masses
    moved = theta.copy()
    moved[-1] *= 1.0 - share * (1.0 - abs(positive - negative) / (positive + negative))
    return moved


def best_constants(problem: Multinomial, steps: int = 100) -> Constant | None:
    """The K constant scores with the least P, by Newton's method; None where there is no offset."""
    s, C, K = float(problem.constant), problem.class_weights, problem.K
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
            if not np.isfinite(bend).all() or np.linalg.cond(bend) >= 1e15:
                break  # weights so large that the penalty is rounding beside them: the point so far is one, too
            step = np.linalg.solve(bend, gradient)
            t, before = 1.0, primal(v)
            while t > 1e-9 and primal(v - t * step) > before:
                t *= 0.5
            v = v - t * step
            if float(np.abs(step).max()) * t <= 1e-14 * max(1.0, float(np.abs(v).max())):
                break
    theta[:, -1] = v
    return Constant(theta, primal(v))


def at_least_as_good_as_constant(problem: KernelDual, point: KernelPoint) -> KernelPoint:
    """The point, or the constant where that costs less on the training rows: by the weight of errors for classes, by the loss for
    numbers."""
    if problem.kind == "one_class":
        return point
    constant = _far_offset(problem, point) if problem.kind == "nu_svc" else _zero_weights(problem)
    return point if _training_cost(problem, point) <= _training_cost(problem, constant) else constant


def _zero_weights(problem: KernelDual) -> KernelPoint:
    scores = np.zeros(problem.n_points)
    return np.zeros(problem.n), problem.best_scalars(scores), scores


def _far_offset(problem: KernelDual, point: KernelPoint) -> KernelPoint:
    beta, _, scores = point
    side = 1.0 if _class_weight(problem, 1.0) >= _class_weight(problem, -1.0) else -1.0
    most = max(np.sqrt(problem.R2 * max(problem.square(beta, scores), 0.0)), float(np.abs(scores).max(initial=0.0)))
    offset = side * (1.0 + 1e-6) * (most if most > 0.0 else 1.0)
    # t is best where the slope T1 - sum of c over h > 0 changes sign: a quantile of the h without t.
    h = -problem.sign * (problem.to_variables(scores) + offset)
    order = np.argsort(-h, kind="stable")
    at = int(np.searchsorted(np.cumsum(problem.c[order]), problem.totals[1]))
    return beta, np.array([offset, float(h[order[min(at, h.size - 1)]])]), scores


def _class_weight(problem: KernelDual, sign: float) -> float:
    return float(problem.c[problem.sign == sign].sum())


def _training_cost(problem: KernelDual, point: KernelPoint) -> float:
    _, scalars, scores = point
    if problem.kind in ("c_svc", "nu_svc"):
        wrong = ~(problem.sign * (scores + scalars[0]) > 0.0)
        return float(problem.c[wrong].sum())
    return float(problem.c @ np.maximum(problem.hinges(scalars, scores), 0.0))
