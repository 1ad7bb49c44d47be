"""J(theta) = lam/2 |w|^2 + 1/n sum_i p_i l(y_i, <x_i, theta>) and its gradient, compiled; of one score a row, or of K.

Below them the functions of vectors that all kernels of descent call.
"""

from __future__ import annotations

import math

from gapless._compile.jit import compiled
from gapless.losses.compiled.softmax import softmax_row
from gapless.losses.verbs import slope, value
from gapless.rows.verbs import row_axpy, row_dot


@compiled(allocates=False)
def loss_and_gradient(loss, data, scores, theta, gradient):
    """J(theta), and its gradient. Of ``loss`` and ``scores`` (data.scores) one is None: numba leaves its branch out."""
    J = 0.0
    if loss is not None:
        J = _loss_and_gradient(loss, data, theta, gradient)
    if scores is not None:
        J = _softmax_and_gradient(data, scores, theta, gradient)
    return J


@compiled(allocates=False)
def add_batch_gradient(loss, data, scores, steps, k, theta, gradient, sums, state):
    """The sum of the gradients over the batch of step t + k + 1, without the penalty's part; u follows where it is kept."""
    if loss is not None:
        _add_batch(loss, data, steps, k, theta, gradient, sums, state)
    if scores is not None:
        _add_softmax_batch(data, scores, steps, k, theta, gradient)


@compiled(allocates=False)
def batch_bounds(steps, k):
    """The places in ``steps.order`` of the examples of step t + k + 1; all of them in each step of a full gradient."""
    n = steps.order.size
    if steps.size >= n:
        return 0, n
    return k * steps.size, min(n, (k + 1) * steps.size)


@compiled(allocates=False, vectorise=True)
def add_penalty(data, loss, scale, theta, gradient):
    """J from the mean ``loss``, and the gradient of J from ``scale`` times the gradient of the losses."""
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


@compiled(allocates=False, vectorise=True)
def _loss_and_gradient(loss, data, theta, gradient):
    rows, y, p = data.whole, data.y, data.p
    n = y.size
    block = 512  # rows whose losses are added before they join the total: rounding grows with n / block + block
    for j in range(gradient.size):
        gradient[j] = 0.0
    total = 0.0
    for start in range(0, n, block):
        s = 0.0
        for i in range(start, min(n, start + block)):
            z = row_dot(rows, i, theta)
            q = p[i] if data.weighted else 1.0
            s += q * value(loss, z, y[i])
            g = q * slope(loss, z, y[i])
            if g != 0.0:
                row_axpy(rows, i, g, gradient)
        total += s
    return add_penalty(data, total / n, 1.0 / n, theta, gradient)


@compiled(allocates=False, vectorise=True)
def _add_batch(loss, data, steps, k, theta, gradient, sums, state):
    rows, y, p, rate = data.whole, data.y, data.p, steps.rates[k]
    start, stop = batch_bounds(steps, k)
    for j in range(gradient.size):
        gradient[j] = 0.0
    for q in range(start, stop):
        i = steps.order[q]
        z = row_dot(rows, i, theta)
        g = slope(loss, z, y[i])
        if data.weighted:
            g *= p[i]
        if g != 0.0:
            row_axpy(rows, i, g, gradient)
            if sums.keep:
                sums.u[i] -= rate * g / (state.dual_scale * (stop - start))


@compiled(allocates=False, vectorise=True)
def _softmax_and_gradient(data, scores, theta, gradient):
    n = data.y.size
    for j in range(gradient.size):
        gradient[j] = 0.0
    total = 0.0
    for i in range(n):
        q = data.p[i] if data.weighted else 1.0
        total += q * _add_softmax_row(data, scores, i, theta, gradient)
    return add_penalty(data, total / n, 1.0 / n, theta, gradient)


@compiled(allocates=False, vectorise=True)
def _add_softmax_batch(data, scores, steps, k, theta, gradient):
    start, stop = batch_bounds(steps, k)
    for j in range(gradient.size):
        gradient[j] = 0.0
    for q in range(start, stop):
        _add_softmax_row(data, scores, steps.order[q], theta, gradient)


@compiled(allocates=False, vectorise=True)
def _add_softmax_row(data, scores, i, theta, gradient):
    """The loss of a row, whose K gradients join the sum: (share_k - [k = y]) x."""
    rows, y, width, z, share = data.whole, data.y[i], data.width, scores.z, scores.share
    for k in range(z.size):
        z[k] = row_dot(rows, i, theta[k * width : (k + 1) * width])
    found = softmax_row(z, y, share)
    q = data.p[i] if data.weighted else 1.0
    for k in range(z.size):
        g = q * (share[k] - (1.0 if k == y else 0.0))
        row_axpy(rows, i, g, gradient[k * width : (k + 1) * width])
    return found


@compiled(allocates=False)
def copy(values, into):
    """``into[:] = values`` would have numba compile its message for lengths that differ: 40 functions."""
    for j in range(into.size):
        into[j] = values[j]


@compiled(allocates=False)
def stretch(values, factor):
    for j in range(values.size):
        values[j] *= factor


@compiled(allocates=False, vectorise=True)
def norm_of(gradient):
    s = 0.0
    for j in range(gradient.size):
        s += gradient[j] * gradient[j]
    return math.sqrt(s)


@compiled(allocates=False, vectorise=True)
def product(a, b):
    s = 0.0
    for j in range(a.size):
        s += a[j] * b[j]
    return s
