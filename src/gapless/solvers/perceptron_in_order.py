"""Passes of the plain perceptron over few dense rows, in numpy and as a kernel: the same visits, the same bits.

    score of a row = x_1 theta_1 + ... + x_d theta_d + constant theta_(d+1)      each sum rounded, in this order

numpy needs no compiler, and a kernel is faster where numba is in the process already. Which of them runs must not be seen in the
weights: both add a score up in the one order above. BLAS adds in another, whose score of a row is off by at most

    room = 4 (d + 2) u R |theta|        R the length of the longest row, u the unit round-off

so that numpy asks BLAS for the scores of a block of rows at once, skips all that are right by more than that, and adds up anew
only the first that is not: most often a mistake.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from gapless._compile.jit import compiled
from gapless._compile.on_demand import awake
from gapless.numbers import UNIT
from gapless.rows.dense import DenseRows
from gapless.solvers.perceptron_thresholds import PERCEPTRON_THRESHOLDS
from gapless.solvers.perceptron_visits import PassSlice


class _Made:
    """What numpy did in this process."""

    mistakes = 0


def visit_few(part: PassSlice) -> tuple[int, float]:
    """Visit the rows of a slice of a pass; the mistakes, and their loss.

    A process without numba asks for it after so many mistakes by numpy: who makes more will make many more."""
    if awake() or _Made.mistakes > PERCEPTRON_THRESHOLDS.mistakes_by_numpy:
        return visit_by_kernel(part)
    mistakes, loss = visit_by_numpy(part)
    _Made.mistakes += mistakes
    return mistakes, loss


@compiled(allocates=False)
def visit_by_kernel(part):
    values, y, theta, steps = part.rows.values, part.y, part.theta, part.steps
    constant, d = part.rows.constant, part.rows.values.shape[1]
    mistakes, loss = 0, 0.0
    for p in range(part.first, part.last):
        i = part.visit[p]
        score = 0.0
        for j in range(d):
            score += values[i, j] * theta[j]
        score += constant * theta[d]
        margin = y[i] * score
        if not margin > 0.0:  # not a number counts as wrong
            step = part.rate * y[i]
            if steps.size:
                step *= steps[i]
            for j in range(d):
                theta[j] += step * values[i, j]
            theta[d] += step * constant
            part.updates[i] += 1
            mistakes += 1
            loss -= margin
    return mistakes, loss


def visit_by_numpy(part: PassSlice) -> tuple[int, float]:
    """The same in blocks that end with the next mistake."""
    rows, theta, visit = part.rows, part.theta, part.visit[part.first : part.last]
    signed = _signed(rows, part.y, visit)
    longest = math.sqrt(float(np.einsum("ij,ij->i", signed, signed).max(initial=0.0)))
    room = 4.0 * (theta.size + 1) * UNIT * longest
    step = np.full(visit.size, part.rate) if not part.steps.size else part.rate * part.steps[visit]
    block = 64  # rows that BLAS is asked for at a time: a look at them costs about what calling it does
    mistakes, loss, at, made = 0, 0.0, 0, []
    least = room * math.sqrt(theta @ theta)
    while at < visit.size:
        wrong = ~(signed[at : at + block] @ theta > least)
        first = int(wrong.argmax())
        if not wrong[first]:
            at += block
            continue
        at += first
        margin = float(np.add.accumulate(signed[at] * theta)[-1])
        if not margin > 0.0:
            theta += step[at] * signed[at]
            least = room * math.sqrt(theta @ theta)
            mistakes, loss = mistakes + 1, loss - margin
            made.append(at)
        at += 1
    np.add.at(part.updates, visit[made], 1)
    return mistakes, loss


def _signed(rows: DenseRows, y: np.ndarray, visit: np.ndarray) -> np.ndarray:
    """The rows (x, constant) times their labels, in the order of their visits: a sign changes no rounding."""
    signed = np.empty((visit.size, rows.values.shape[1] + 1))
    signed[:, :-1], signed[:, -1] = rows.values[visit], rows.constant
    signed *= y[visit][:, None]
    return signed


def shuffle_few(order: np.ndarray, seed: int) -> None:
    """What ``shuffle_visits`` makes of the order: each pass draws the same exchanges, which are one permutation."""
    order[:] = order[_permutation(order.size, seed)]


@lru_cache(maxsize=32)
def _permutation(n: int, seed: int) -> np.ndarray:
    places, x = list(range(n)), seed
    for i in range(n - 1):
        x ^= (x << 13) & 0xFFFFFFFF
        x ^= x >> 17
        x ^= (x << 5) & 0xFFFFFFFF
        j = i + (x & 0x7FFFFFFF) % (n - i)
        places[i], places[j] = places[j], places[i]
    return np.array(places)
