"""Rows of a descent's trace, written by the compiled steps themselves."""

from __future__ import annotations

import math

import numpy as np

from gapless._compile.jit import compiled
from gapless.solvers.descent.gradients import copy, loss_and_gradient, norm_of


@compiled(allocates=False)
def next_due(every, step):
    """The next step, from this one on, whose row is to be written; -1: none is. Kernels ask once a row and not once a step,
    since passing a book costs more than a short step."""
    return -(-step // every) * every if every > 0 else -1


@compiled(allocates=False)
def write_point(book, step, rate, loss, norm, theta):
    """Write one row of the trace; the gradient stands in the book already."""
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


@compiled(allocates=False, vectorise=True)
def multiply_out(v, sums, state):
    """Make the scale s = 1, with the same w, sums and u."""
    s = state.scale
    if sums.average:
        for j in range(v.size):
            sums.B[j] -= state.scale_sum * v[j]
        state.scale_sum = 0.0
    for j in range(v.size):
        v[j] *= s
    if sums.keep:
        for i in range(sums.u.size):
            sums.u[i] *= s
    state.scale = 1.0


@compiled(allocates=False)
def write_scaled_point(loss, data, v, sums, state, book, step, rate):
    """Write the trace's row of the point that scale v stands for."""
    multiply_out(v, sums, state)
    if data.free:
        v[v.size - 1] = state.offset
    J = loss_and_gradient(loss, data, data.scores, v, book.gradient)
    write_point(book, step, rate, J, norm_of(book.gradient), v)
    if data.free:
        v[v.size - 1] = 0.0


@compiled(allocates=False, vectorise=True)
def decreases_enough(before, promised, now):
    """f(theta + step) <= f(theta) + <gradient, step>/2, but for the rounding of the two values."""
    return now <= before + 0.5 * promised + 1e-14 * (abs(before) + abs(now))


@compiled(allocates=False)
def watch_full_gradient(J, norm, step, theta, vectors, state, book):
    """After a full gradient: was the last step's decrease sufficient, is this the best point, is it time to end?"""
    if step > 0 and not math.isnan(state.promised):
        held = decreases_enough(state.value, state.promised, J)
        k = book.filled[0]
        if k > 0 and book.step[k - 1] == step - 1:
            book.held[k - 1] = 1.0 if held else 0.0
        if not held and state.broke_step < 0:
            state.broke_step, state.broke_rate = step - 1, state.last_rate
            copy(vectors.before, vectors.broke)
            copy(vectors.before_gradient, vectors.broke_gradient)
    state.value, state.norm = J, norm
    if J < state.best:
        state.best, state.best_step = J, step
        copy(theta, vectors.best)
    if not (J <= state.limit and norm < math.inf):
        state.rose = 1.0
    elif norm <= state.small:
        state.converged = 1.0
