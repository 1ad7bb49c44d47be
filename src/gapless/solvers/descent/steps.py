"""The steps of descent on J(theta) = lam/2 |w|^2 + 1/n sum_i p_i l(y_i, <x_i, theta>), compiled; they write the trace themselves.

One example i (m = 1) or a batch of m, at the rate r:

    w <- w - r (lam w + 1/m sum_i p_i l'(z_i) x_i),        b <- b - r/m sum_i p_i l'(z_i)     (a free offset has no penalty)

`singly` and `in_batches` keep w = s v, so that the factor 1 - r lam costs one product and a sparse row costs its entries.
`literally` takes the step of one example as it reads, entry by entry and in that order: slower, to be followed by hand.
`densely` forms the gradient of each batch, which momentum, Adam and full gradients need.

The sum of iterates that an average needs is S v - B:  after  v += a x  the sums  S = sum of s  of the steps before must not count
a x, so B += S a x.  The same sums for rows give u with w = sum u_i x_i (where the start is 0): a dual point that costs nothing.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import extending

from gapless._compile.jit import compiled
from gapless.losses.compiled.softmax import softmax_row
from gapless.losses.verbs import slope, value
from gapless.rows.copies.prefetch import prefetch
from gapless.rows.verbs import row_axpy, row_dot, row_fetch
from gapless.solvers.descent.vectors import copy, norm_of, product, stretch

#: Steps between asking for a row and using it, where the order is one that the memory cannot guess.
AHEAD = 8
#: A score beyond it is on its way to infinity.
HUGE = 1e100
#: v is multiplied out before s leaves the range in which nothing is lost.
LEAST_SCALE = 1e-9
#: Rows whose terms are added before they join the total.
BLOCK = 512
#: Where a kernel keeps its numbers between two calls.
SCALE, OFFSET, SUM, OFFSET_SUM, WEIGHTS, BROKEN_OFF, LAST, DUAL_SCALE = range(8)
#: Rules of `densely`.
GD, MOMENTUM, ADAM = range(3)
#: Endings of `densely`.
GOES_ON, SMALL_GRADIENT, ROSE = range(3)


class Softmax(NamedTuple):
    """Marks rows of K scores."""

    K: int


class Data(NamedTuple):
    """What the steps read. ``rows`` has no constant feature where the offset is free, ``whole`` always has it."""

    rows: Any
    whole: Any
    y: np.ndarray
    p: np.ndarray
    weighted: bool
    lam: float
    free: bool
    width: int  # entries of theta for one score; theta has one such part for each score of a row


class Book(NamedTuple):
    """What they write: a row of the trace at every ``every``-th step (0: none); when it is full, every second row goes."""

    step: np.ndarray
    rate: np.ndarray
    loss: np.ndarray
    norm: np.ndarray
    held: np.ndarray
    theta: np.ndarray
    direction: np.ndarray
    gradient: np.ndarray
    filled: np.ndarray
    every: np.ndarray


class Sums(NamedTuple):
    """What they sum on the way: B of the average, the rows' own u, and both or none of them."""

    B: np.ndarray
    u: np.ndarray
    average: int  # 0: none, 1: all steps alike, 2: step t counts t times
    begin: int
    keep: bool


def look(loss, data, theta, gradient):
    """J(theta), and its gradient; of one score a row or of K, as the loss says."""
    return (look_many if isinstance(loss, Softmax) else look_one)(loss, data, theta, gradient)


@extending.overload(look)
def _look(loss, data, theta, gradient):
    found = look_many if loss.instance_class is Softmax else look_one
    return lambda loss, data, theta, gradient: found(loss, data, theta, gradient)


def batch_gradient(loss, data, order, start, stop, theta, gradient, u, rate, u_scale, keep):
    """The sum of the gradients over a batch, without the penalty's part; u follows where it is kept."""
    if isinstance(loss, Softmax):
        return batch_many(loss, data, order, start, stop, theta, gradient)
    return batch_one(loss, data, order, start, stop, theta, gradient, u, rate, u_scale, keep)


@extending.overload(batch_gradient)
def _batch_gradient(loss, data, order, start, stop, theta, gradient, u, rate, u_scale, keep):
    if loss.instance_class is Softmax:
        return lambda loss, data, order, start, stop, theta, gradient, u, rate, u_scale, keep: batch_many(
            loss, data, order, start, stop, theta, gradient
        )
    return lambda loss, data, order, start, stop, theta, gradient, u, rate, u_scale, keep: batch_one(
        loss, data, order, start, stop, theta, gradient, u, rate, u_scale, keep
    )


@compiled(vectorise=True)
def look_one(loss, data, theta, gradient):
    rows, y, p = data.whole, data.y, data.p
    n = y.size
    for j in range(gradient.size):
        gradient[j] = 0.0
    total = 0.0
    for start in range(0, n, BLOCK):
        s = 0.0
        for i in range(start, min(n, start + BLOCK)):
            z = row_dot(rows, i, theta)
            q = p[i] if data.weighted else 1.0
            s += q * value(loss, z, y[i])
            g = q * slope(loss, z, y[i])
            if g != 0.0:
                row_axpy(rows, i, g, gradient)
        total += s
    return pulled(data, total / n, 1.0 / n, theta, gradient)


@compiled(vectorise=True)
def pulled(data, loss, scale, theta, gradient):
    """The penalty's part: J from the mean loss, and into ``gradient`` times ``scale``."""
    square = 0.0
    for start in range(0, theta.size, data.width):
        last = start + data.width - (1 if data.free else 0)
        for j in range(start, last):
            square += theta[j] * theta[j]
        for j in range(start, last):
            gradient[j] = gradient[j] * scale + data.lam * theta[j]
        if data.free:
            gradient[last] *= scale
    return loss + 0.5 * data.lam * square


@compiled
def next_due(every, step):
    """The next step, from this one on, whose row is to be written; -1: none is. Asked once a row, not once a step: passing a book
    costs more than a short step."""
    return -(-step // every) * every if every > 0 else -1


@compiled
def note(book, step, rate, loss, norm, theta):
    """One row of the trace; the gradient stands in the book already."""
    k = book.filled[0]
    if k == book.step.size:
        k = 0
        book.every[0] *= 2
        for old in range(book.step.size):
            if book.step[old] % book.every[0] == 0:
                book.step[k], book.rate[k], book.loss[k] = book.step[old], book.rate[old], book.loss[old]
                book.norm[k], book.held[k] = book.norm[old], book.held[old]
                if k != old:
                    copy(book.theta[old], book.theta[k])
                    copy(book.direction[old], book.direction[k])
                k += 1
    book.step[k], book.rate[k], book.loss[k], book.norm[k], book.held[k] = step, rate, loss, norm, np.nan
    copy(theta, book.theta[k])
    for j in range(theta.size):
        book.direction[k, j] = -book.gradient[j] / norm if norm > 0.0 else 0.0
    book.filled[0] = k + 1


@compiled(vectorise=True)
def multiply_out(v, sums, state):
    """s = 1 and the same w, sums and u."""
    s = state[SCALE]
    if sums.average:
        for j in range(v.size):
            sums.B[j] -= state[SUM] * v[j]
        state[SUM] = 0.0
    for j in range(v.size):
        v[j] *= s
    if sums.keep:
        for i in range(sums.u.size):
            sums.u[i] *= s
    state[SCALE] = 1.0


@compiled
def write_row(loss, data, v, sums, state, book, step, rate):
    """The trace's row of the point that s v stands for."""
    multiply_out(v, sums, state)
    if data.free:
        v[v.size - 1] = state[OFFSET]
    J = look(loss, data, v, book.gradient)
    note(book, step, rate, J, norm_of(book.gradient), v)
    if data.free:
        v[v.size - 1] = 0.0


@compiled(vectorise=True)
def singly(loss, data, order, rates, first, last, t, v, sums, state, book, far):
    """Steps t + first + 1 ... t + last, one example each: those of order[first:last]."""
    k = first
    while k < last and state[BROKEN_OFF] < 0.0:
        due = next_due(book.every[0], t + k) - t
        if k == due:
            write_row(loss, data, v, sums, state, book, t + k, rates[k])
            due = next_due(book.every[0], t + k + 1) - t
        stop = due if k < due < last else last
        _stretch(
            loss, data.rows, data.y, data.p, data.weighted, data.lam, data.free, order, rates, k, stop, t, v,
            sums.u, sums.keep, sums.B, sums.average, sums.begin, state, far,
        )  # fmt: skip
        k = stop


@compiled(vectorise=True)
def _stretch(
    loss, rows, y, p, weighted, lam, free, order, rates, first, last, t, v, u, keep, B, average, begin, state, far,
):  # fmt: skip
    """The steps themselves: no call in the loop, for it would count a reference to every array."""
    s, b = state[SCALE], state[OFFSET]
    for k in range(first, last):
        i, rate = order[k], rates[k]
        if (
            far and k + AHEAD < last and order[k + AHEAD] != order[k + AHEAD - 1] + 1
        ):  # else the memory follows by itself
            row_fetch(rows, order[k + AHEAD])
            prefetch(y, order[k + AHEAD])
        z = s * row_dot(rows, i, v) + b
        if not abs(z) < HUGE:
            state[BROKEN_OFF] = t + k
            break
        g = slope(loss, z, y[i])
        if weighted:
            g *= p[i]
        shrunk = s * (1.0 - rate * lam)
        if not abs(shrunk) > LEAST_SCALE:  # as in `multiply_out`, but no call
            for j in range(v.size):
                if average:
                    B[j] -= state[SUM] * v[j]
                v[j] *= shrunk
            if keep:
                for j in range(u.size):
                    u[j] *= shrunk
            state[SUM] = 0.0
            shrunk = 1.0
        s = shrunk
        if g != 0.0:
            a = -rate * g / s
            if average:
                row_axpy(rows, i, state[SUM] * a, B)
            row_axpy(rows, i, a, v)
            if keep:
                u[i] += a
            if free:
                b -= rate * g
        if average and t + k >= begin:
            weight = 1.0 if average == 1 else t + k + 1.0
            state[SUM] += weight * s
            state[OFFSET_SUM] += weight * b
            state[WEIGHTS] += weight
    state[SCALE], state[OFFSET] = s, b


@compiled(vectorise=True)
def in_batches(loss, data, order, size, rates, first, last, t, v, sums, state, book, far, slopes):
    """The same for batches: step t + k + 1 takes order[k size : (k + 1) size]."""
    rows, y, p, lam, free = data.rows, data.y, data.p, data.lam, data.free
    weighted, average, keep = data.weighted, sums.average, sums.keep
    # Taken out of their tuples once: inside the loop each would count a reference.
    u, B, begin = sums.u, sums.B, sums.begin
    s, b = state[SCALE], state[OFFSET]
    due = next_due(book.every[0], t + first)
    for k in range(first, last):
        rate = rates[k]
        if t + k == due:
            state[SCALE], state[OFFSET] = s, b
            write_row(loss, data, v, sums, state, book, t + k, rate)
            s = 1.0
            due = next_due(book.every[0], t + k + 1)
        start, stop = k * size, min(order.size, (k + 1) * size)
        widest = 0.0
        total = 0.0
        for q in range(start, stop):
            if far and q + AHEAD < order.size:
                row_fetch(rows, order[q + AHEAD])
            i = order[q]
            z = s * row_dot(rows, i, v) + b
            widest = z if not abs(z) < HUGE else widest
            g = slope(loss, z, y[i])
            if weighted:
                g *= p[i]
            slopes[q - start] = g
            total += g
        if widest != 0.0:
            state[BROKEN_OFF] = t + k
            break
        s *= 1.0 - rate * lam
        if not abs(s) > LEAST_SCALE:
            state[SCALE] = s
            multiply_out(v, sums, state)
            s = 1.0
        per = -rate / (s * (stop - start))
        for q in range(start, stop):
            if slopes[q - start] != 0.0:
                i = order[q]
                a = per * slopes[q - start]
                if average:
                    row_axpy(rows, i, state[SUM] * a, B)
                row_axpy(rows, i, a, v)
                if keep:
                    u[i] += a
        if free:
            b -= rate * total / (stop - start)
        if average and t + k >= begin:
            weight = 1.0 if average == 1 else t + k + 1.0
            state[SUM] += weight * s
            state[OFFSET_SUM] += weight * b
            state[WEIGHTS] += weight
    state[SCALE], state[OFFSET] = s, b


@compiled
def literally(loss, X, y, p, weighted, lam, free, rates, t, theta, average, begin, B, state):
    """One example a step, as it reads:  theta <- theta + r (x (-l')) - r lam theta,  theta_0 <- theta_0 + r (-l'),  all sums from
    the first entry to the last. Step t + k + 1 takes row k of X, which is dense and float64 whatever the rows are."""
    d = theta.size - 1 if free else theta.size
    for k in range(rates.size):
        x, rate = X[k], rates[k]
        z = 0.0
        for j in range(d):
            z += theta[j] * x[j]
        if free:
            z += theta[d]
        if not abs(z) < HUGE:
            state[BROKEN_OFF] = t + k
            break
        against = -slope(loss, z, y[k])
        if weighted:
            against *= p[k]
        if against != 0.0:
            for j in range(d):
                theta[j] = theta[j] + rate * (x[j] * against) - rate * lam * theta[j]
            if free:
                theta[d] = theta[d] + rate * against
        else:
            for j in range(d):
                theta[j] = theta[j] - rate * lam * theta[j]
        if average and t + k >= begin:
            weight = 1.0 if average == 1 else t + k + 1.0
            for j in range(theta.size):
                B[j] -= weight * theta[j]
            state[WEIGHTS] += weight


@compiled(vectorise=True)
def look_many(loss, data, theta, gradient):
    rows, y, p, K, width = data.whole, data.y, data.p, loss.K, data.width
    n = y.size
    for j in range(gradient.size):
        gradient[j] = 0.0
    z, share = np.empty(K), np.empty(K)
    total = 0.0
    for i in range(n):
        q = p[i] if data.weighted else 1.0
        total += q * _one_of_many(rows, i, y[i], p, data.weighted, theta, K, width, z, share, gradient)
    return pulled(data, total / n, 1.0 / n, theta, gradient)


@compiled(vectorise=True)
def _one_of_many(rows, i, y, p, weighted, theta, K, width, z, share, gradient):
    """The loss of a row, whose K gradients join the sum: (share_k - [k = y]) x."""
    for k in range(K):
        z[k] = row_dot(rows, i, theta[k * width : (k + 1) * width])
    found = softmax_row(z, y, share)
    q = p[i] if weighted else 1.0
    for k in range(K):
        g = q * (share[k] - (1.0 if k == y else 0.0))
        row_axpy(rows, i, g, gradient[k * width : (k + 1) * width])
    return found


@compiled(vectorise=True)
def batch_many(loss, data, order, start, stop, theta, gradient):
    for j in range(gradient.size):
        gradient[j] = 0.0
    z, share = np.empty(loss.K), np.empty(loss.K)
    for q in range(start, stop):
        i = order[q]
        _one_of_many(data.whole, i, data.y[i], data.p, data.weighted, theta, loss.K, data.width, z, share, gradient)


@compiled(vectorise=True)
def batch_one(loss, data, order, start, stop, theta, gradient, u, rate, u_scale, keep):
    rows, y, p = data.whole, data.y, data.p
    for j in range(gradient.size):
        gradient[j] = 0.0
    for q in range(start, stop):
        i = order[q]
        z = row_dot(rows, i, theta)
        g = slope(loss, z, y[i])
        if data.weighted:
            g *= p[i]
        if g != 0.0:
            row_axpy(rows, i, g, gradient)
            if keep:
                u[i] -= rate * g / (u_scale * (stop - start))


@compiled(vectorise=True)
def move(rule, rate, t, beta, beta2, epsilon, gradient, velocity, square, step):
    """``step`` of the rule; velocity and square are its memory."""
    if rule == GD:
        for j in range(step.size):
            step[j] = -rate * gradient[j]
    elif rule == MOMENTUM:
        for j in range(step.size):
            velocity[j] = beta * velocity[j] - rate * gradient[j]
            step[j] = velocity[j]
    else:
        one, two = 1.0 - beta**t, 1.0 - beta2**t
        for j in range(step.size):
            velocity[j] = beta * velocity[j] + (1.0 - beta) * gradient[j]
            square[j] = beta2 * square[j] + (1.0 - beta2) * gradient[j] * gradient[j]
            step[j] = -rate * (velocity[j] / one) / (math.sqrt(square[j] / two) + epsilon)


@compiled(vectorise=True)
def enough(before, promised, now):
    """f(theta + step) <= f(theta) + <gradient, step>/2, but for the rounding of the two values."""
    return now <= before + 0.5 * promised + 1e-14 * (abs(before) + abs(now))


class Memory(NamedTuple):
    """Vectors that `densely` works in; ``broke`` and ``broke_gradient`` are left where a step first decreased too little."""

    velocity: np.ndarray
    square: np.ndarray
    step: np.ndarray
    gradient: np.ndarray
    before: np.ndarray
    before_gradient: np.ndarray
    broke: np.ndarray
    broke_gradient: np.ndarray
    best: np.ndarray


class Watch(NamedTuple):
    """Figures of full gradients: the last value and what the last step promised, the best value and its step, the
    step and rate that broke, how it ended; and the limits."""

    figures: np.ndarray
    small: float
    limit: float


#: Places in Watch.figures.
VALUE, PROMISED, BEST, BEST_STEP, BROKE_STEP, BROKE_RATE, ENDING, LAST_RATE, NORM = range(9)


@compiled
def watched(J, norm, step_number, theta, memory, watch, book):
    """After a full gradient: was the last step's decrease sufficient, is this the best point, is it time to end?"""
    figures = watch.figures
    if step_number > 0 and not math.isnan(figures[PROMISED]):
        held = enough(figures[VALUE], figures[PROMISED], J)
        k = book.filled[0]
        if k > 0 and book.step[k - 1] == step_number - 1:
            book.held[k - 1] = 1.0 if held else 0.0
        if not held and figures[BROKE_STEP] < 0:
            figures[BROKE_STEP], figures[BROKE_RATE] = step_number - 1, figures[LAST_RATE]
            copy(memory.before, memory.broke)
            copy(memory.before_gradient, memory.broke_gradient)
    figures[VALUE], figures[NORM] = J, norm
    if J < figures[BEST]:
        figures[BEST], figures[BEST_STEP] = J, step_number
        copy(theta, memory.best)
    if not (J <= watch.limit and norm < math.inf):
        figures[ENDING] = ROSE
    elif norm <= watch.small:
        figures[ENDING] = SMALL_GRADIENT


@compiled
def densely(loss, data, order, size, rates, first, last, t, theta, sums, state, book, rule, betas, memory, watch):
    """Steps of any rule, of batches or (size = n) of full gradients, which are watched at every step."""
    n = data.y.size
    full = size >= n
    gradient = memory.gradient
    due = next_due(book.every[0], t + first)
    for k in range(first, last):
        rate = rates[k]
        start, stop = (0, n) if full else (k * size, min(order.size, (k + 1) * size))
        if full:
            J = look(loss, data, theta, gradient)
            norm = norm_of(gradient)
            watched(J, norm, t + k, theta, memory, watch, book)
            if watch.figures[ENDING] != GOES_ON:
                state[LAST] = t + k
                break
            if t + k == due:
                copy(gradient, book.gradient)
                note(book, t + k, rate, J, norm, theta)
                due = next_due(book.every[0], t + k + 1)
        elif t + k == due:
            J = look(loss, data, theta, book.gradient)
            note(book, t + k, rate, J, norm_of(book.gradient), theta)
            due = next_due(book.every[0], t + k + 1)
        if sums.keep:
            state[DUAL_SCALE] *= 1.0 - rate * data.lam
            if not abs(state[DUAL_SCALE]) > LEAST_SCALE:
                stretch(sums.u, state[DUAL_SCALE])
                state[DUAL_SCALE] = 1.0
        if not full or sums.keep:
            batch_gradient(
                loss, data, order, start, stop, theta, gradient, sums.u, rate, state[DUAL_SCALE], sums.keep
            )  # fmt: skip
            pulled(data, 0.0, 1.0 / (stop - start), theta, gradient)
        move(
            rule, rate, t + k + 1.0, betas[0], betas[1], betas[2], gradient, memory.velocity, memory.square, memory.step
        )
        if full:
            watch.figures[PROMISED] = product(gradient, memory.step)
            watch.figures[LAST_RATE] = rate
            copy(theta, memory.before)
            copy(gradient, memory.before_gradient)
        farthest = 0.0
        for j in range(theta.size):
            theta[j] += memory.step[j]
            farthest = theta[j] if not abs(theta[j]) < HUGE else farthest
        if farthest != 0.0:
            state[BROKEN_OFF] = t + k
            break
        if sums.average and t + k >= sums.begin:
            weight = 1.0 if sums.average == 1 else t + k + 1.0
            for j in range(theta.size):
                sums.B[j] -= weight * theta[j]
            state[WEIGHTS] += weight
