"""Passes of the perceptron over its rows, compiled: plain or averaged, with a pocket, with a penalty, to the next mistake."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gapless._compile.jit import compiled
from gapless.rows.verbs import row_axpy, row_dot, row_fetch, row_truncate


class PassSlice(NamedTuple):
    """Visits first ... last - 1 of a pass, and the arrays that a correction changes; for kernels."""

    rows: Any
    y: np.ndarray
    visit: np.ndarray
    first: int
    last: int
    theta: np.ndarray
    rate: float
    steps: np.ndarray
    updates: np.ndarray


class Pocket(NamedTuple):
    """The weights with the fewest errors, that number, and the right answers in a row: now, and the most so far."""

    theta: np.ndarray
    fewest: np.ndarray
    run: np.ndarray


@compiled
def shuffle_visits(order, random):
    # Fisher and Yates, by xorshift of 32 bits (Marsaglia 2003), from the same seed in each pass: scikit-learn's order of visits.
    x = random[0]
    for i in range(order.size - 1):
        x ^= (x << np.uint64(13)) & np.uint64(0xFFFFFFFF)
        x ^= x >> np.uint64(17)
        x ^= (x << np.uint64(5)) & np.uint64(0xFFFFFFFF)
        j = i + np.int64((x & np.uint64(0x7FFFFFFF)) % np.uint64(order.size - i))
        order[i], order[j] = order[j], order[i]


def _visit(part, lag, before):
    rows, y, visit, theta, rate, steps, updates = (
        part.rows, part.y, part.visit, part.theta, part.rate, part.steps, part.updates,
    )  # fmt: skip
    ahead = 8  # rows: so early is a row asked of the memory
    mistakes, loss = 0, 0.0
    for p in range(part.first, part.last):
        if p + ahead < part.last:
            row_fetch(rows, visit[p + ahead])
        i = visit[p]
        margin = y[i] * row_dot(rows, i, theta)
        if not margin > 0.0:  # not a number counts as wrong
            step = rate * y[i]
            if steps.size:
                step *= steps[i]
            row_axpy(rows, i, step, theta)
            if lag.size:
                row_axpy(rows, i, (before + p) * step, lag)
            updates[i] += 1
            mistakes += 1
            loss -= margin
    return mistakes, loss


# Sums over a dense row are to be reordered; over a sparse one that would make gathers of them, which are slower (rows/csr.py).
# Each kind of rows goes to one of the two alone: on disk they have the same name.
visit_dense = compiled(_visit, vectorise=True, allocates=False)
visit_sparse = compiled(_visit, allocates=False)


@compiled(vectorise=True, allocates=False)
def visit_pocket(part, pocket):
    rows, y, visit, theta, steps = part.rows, part.y, part.visit, part.theta, part.steps
    ahead = 8  # rows: so early is a row asked of the memory
    mistakes, loss = 0, 0.0
    for p in range(part.first, part.last):
        if p + ahead < part.last:
            row_fetch(rows, visit[p + ahead])
        i = visit[p]
        margin = y[i] * row_dot(rows, i, theta)
        if margin > 0.0:
            pocket.run[0] += 1
            continue
        fill_pocket(part, pocket)
        pocket.run[0] = 0
        step = part.rate * y[i]
        if steps.size:
            step *= steps[i]
        row_axpy(rows, i, step, theta)
        part.updates[i] += 1
        mistakes += 1
        loss -= margin
    return mistakes, loss


@compiled(vectorise=True, allocates=False)
def fill_pocket(part, pocket):
    """Keep theta if its run is the longest so far and its errors are fewer; counting ends where they are not."""
    rows, y, visit, theta, steps, run = part.rows, part.y, part.visit, part.theta, part.steps, pocket.run
    if run[0] <= run[1]:
        return
    if run[1] > -2:
        run[1] = run[0]
    errors = 0.0
    for p in range(visit.size):
        i = visit[p]
        if not y[i] * row_dot(rows, i, theta) > 0.0:
            errors += steps[i] if steps.size else 1.0
            if errors >= pocket.fewest[0]:
                return
    pocket.fewest[0] = errors
    for j in range(theta.size):
        pocket.theta[j] = theta[j]


@compiled(vectorise=True, allocates=False)
def visit_penalised(part, constant, shrink, draw, pulled, drawn):
    # theta = (scale v, b): the whole of w is shrunk by one product.
    rows, y, visit, theta, steps = part.rows, part.y, part.visit, part.theta, part.steps
    mistakes, loss, scale = 0, 0.0, 1.0
    d = theta.size - 1
    for p in range(part.first, part.last):
        i = visit[p]
        margin = y[i] * (scale * row_dot(rows, i, theta) + constant * theta[d])
        step = 0.0
        if not margin > 0.0:
            step = part.rate * y[i]
            if steps.size:
                step *= steps[i]
            part.updates[i] += 1
            mistakes += 1
            loss -= margin
        scale *= shrink
        if scale < 1e-9:
            for j in range(d):
                theta[j] *= scale
            scale = 1.0
        if step != 0.0:
            row_axpy(rows, i, step / scale, theta)
            theta[d] += step * constant
        if pulled.size:
            drawn[0] += draw
            row_truncate(rows, i, drawn[0], scale, theta, pulled)
    for j in range(d):
        theta[j] *= scale
    return mistakes, loss


@compiled(vectorise=True)
def find_mistake(rows, y, visit, first, last, theta):
    for p in range(first, last):
        z = row_dot(rows, visit[p], theta)
        if not y[visit[p]] * z > 0.0:
            return p, z
    return last, 0.0


@compiled(vectorise=True)
def add_row(rows, i, step, theta):
    row_axpy(rows, i, step, theta)
