"""The steps of descent on J(theta) = lam/2 |w|^2 + 1/n sum_i p_i l(y_i, <x_i, theta>), compiled; they write the trace themselves.

One example i (m = 1) or a batch of m, at the rate r:

    w <- w - r (lam w + 1/m sum_i p_i l'(z_i) x_i),        b <- b - r/m sum_i p_i l'(z_i)     (a free offset has no penalty)

`sgd_steps` and `minibatch_steps` keep w = s v, so that the factor 1 - r lam costs one product and a sparse row costs its
entries.  `sgd_steps_as_written` takes the step of one example as it reads, entry by entry and in that order: slower, to be
followed by hand.  `gradient_steps` forms the gradient of each batch, which momentum, Adam and full gradients need.
"""

from __future__ import annotations

import math

from gapless._compile.jit import compiled
from gapless.losses.verbs import slope
from gapless.rows.copies.prefetch import prefetch
from gapless.rows.verbs import row_axpy, row_dot, row_fetch
from gapless.solvers.descent.gradients import (
    add_batch_gradient,
    add_penalty,
    batch_bounds,
    copy,
    loss_and_gradient,
    norm_of,
    product,
    stretch,
)
from gapless.solvers.descent.trace_book import (
    multiply_out,
    next_due,
    watch_full_gradient,
    write_point,
    write_scaled_point,
)

#: A row is asked of the memory so many steps before its use; with 8 the loads of dense and sparse rows overlap.
FETCH_AHEAD_STEPS = 8
#: A score or a coefficient beyond 1e100 is on its way to infinity: the descent ends as diverged.
LARGEST_SCORE = 1e100
#: v is multiplied out before its scale s falls below 1e-9: v = w / s then keeps all digits of w.
SMALLEST_SCALE = 1e-9


@compiled(allocates=False, vectorise=True)
def sgd_steps(loss, data, steps, v, sums, state, book):
    """Steps t + first + 1 ... t + last, one example each: the examples order[first:last]."""
    t, k = steps.t, steps.first
    while k < steps.last and state.broken_off < 0.0:
        due = next_due(book.every[0], t + k) - t
        if k == due:
            write_scaled_point(loss, data, v, sums, state, book, t + k, steps.rates[k])
            due = next_due(book.every[0], t + k + 1) - t
        stop = due if k < due < steps.last else steps.last
        _sgd_steps_between_rows(loss, data, steps, k, stop, v, sums, state)
        k = stop


@compiled(allocates=False, vectorise=True)
def _sgd_steps_between_rows(loss, data, steps, first, last, v, sums, state):
    """The steps between two rows of the trace."""
    rows, y, p, lam, free = data.rows, data.y, data.p, data.lam, data.free
    weighted, average, keep = data.weighted, sums.average, sums.keep
    u, B, begin = sums.u, sums.B, sums.begin
    order, rates, t, far = steps.order, steps.rates, steps.t, steps.far
    s, b = state.scale, state.offset
    for k in range(first, last):
        i, rate = order[k], rates[k]
        ahead = k + FETCH_AHEAD_STEPS
        if far and ahead < last and order[ahead] != order[ahead - 1] + 1:  # else the memory follows by itself
            row_fetch(rows, order[ahead])
            prefetch(y, order[ahead])
        z = s * row_dot(rows, i, v) + b
        if not abs(z) < LARGEST_SCORE:
            state.broken_off = t + k
            break
        g = slope(loss, z, y[i])
        if weighted:
            g *= p[i]
        shrunk = s * (1.0 - rate * lam)
        if not abs(shrunk) > SMALLEST_SCALE:  # as in `multiply_out`, but no call
            for j in range(v.size):
                if average:
                    B[j] -= state.scale_sum * v[j]
                v[j] *= shrunk
            if keep:
                for j in range(u.size):
                    u[j] *= shrunk
            state.scale_sum = 0.0
            shrunk = 1.0
        s = shrunk
        if g != 0.0:
            a = -rate * g / s
            if average:
                row_axpy(rows, i, state.scale_sum * a, B)
            row_axpy(rows, i, a, v)
            if keep:
                u[i] += a
            if free:
                b -= rate * g
        if average and t + k >= begin:
            weight = 1.0 if average == 1 else t + k + 1.0
            state.scale_sum += weight * s
            state.offset_sum += weight * b
            state.weight_sum += weight
    state.scale, state.offset = s, b


@compiled(allocates=False, vectorise=True)
def minibatch_steps(loss, data, steps, v, sums, state, book, slopes):
    """Steps t + first + 1 ... t + last, a batch of ``size`` examples each; ``slopes`` has room for a batch."""
    rows, y, p, lam, free = data.rows, data.y, data.p, data.lam, data.free
    weighted, average, keep = data.weighted, sums.average, sums.keep
    u, B, begin = sums.u, sums.B, sums.begin
    order, size, t, far = steps.order, steps.size, steps.t, steps.far
    s, b = state.scale, state.offset
    due = next_due(book.every[0], t + steps.first)
    for k in range(steps.first, steps.last):
        rate = steps.rates[k]
        if t + k == due:
            state.scale, state.offset = s, b
            write_scaled_point(loss, data, v, sums, state, book, t + k, rate)
            s = 1.0
            due = next_due(book.every[0], t + k + 1)
        start, stop = k * size, min(order.size, (k + 1) * size)
        widest = 0.0
        total = 0.0
        for q in range(start, stop):
            if far and q + FETCH_AHEAD_STEPS < order.size:
                row_fetch(rows, order[q + FETCH_AHEAD_STEPS])
            i = order[q]
            z = s * row_dot(rows, i, v) + b
            widest = z if not abs(z) < LARGEST_SCORE else widest
            g = slope(loss, z, y[i])
            if weighted:
                g *= p[i]
            slopes[q - start] = g
            total += g
        if widest != 0.0:
            state.broken_off = t + k
            break
        s *= 1.0 - rate * lam
        if not abs(s) > SMALLEST_SCALE:
            state.scale = s
            multiply_out(v, sums, state)
            s = 1.0
        per = -rate / (s * (stop - start))
        for q in range(start, stop):
            if slopes[q - start] != 0.0:
                i = order[q]
                a = per * slopes[q - start]
                if average:
                    row_axpy(rows, i, state.scale_sum * a, B)
                row_axpy(rows, i, a, v)
                if keep:
                    u[i] += a
        if free:
            b -= rate * total / (stop - start)
        if average and t + k >= begin:
            weight = 1.0 if average == 1 else t + k + 1.0
            state.scale_sum += weight * s
            state.offset_sum += weight * b
            state.weight_sum += weight
    state.scale, state.offset = s, b


@compiled(allocates=False)
def sgd_steps_as_written(loss, data, steps, theta, sums, state):
    """One example a step, as it reads:  theta <- theta + r (x (-l')) - r lam theta,  theta_0 <- theta_0 + r (-l'),  all sums from
    the first entry to the last. Step t + k + 1 takes row k of data.rows, a dense float64 matrix whatever the rows are."""
    X, y, p, lam, free, t = data.rows, data.y, data.p, data.lam, data.free, steps.t
    d = theta.size - 1 if free else theta.size
    for k in range(steps.rates.size):
        x, rate = X[k], steps.rates[k]
        z = 0.0
        for j in range(d):
            z += theta[j] * x[j]
        if free:
            z += theta[d]
        if not abs(z) < LARGEST_SCORE:
            state.broken_off = t + k
            break
        against = -slope(loss, z, y[k])
        if data.weighted:
            against *= p[k]
        if against != 0.0:
            for j in range(d):
                theta[j] = theta[j] + rate * (x[j] * against) - rate * lam * theta[j]
            if free:
                theta[d] = theta[d] + rate * against
        else:
            for j in range(d):
                theta[j] = theta[j] - rate * lam * theta[j]
        if sums.average and t + k >= sums.begin:
            weight = 1.0 if sums.average == 1 else t + k + 1.0
            for j in range(theta.size):
                sums.B[j] -= weight * theta[j]
            state.weight_sum += weight


@compiled(allocates=False, vectorise=True)
def _form_step(rule, rate, t, vectors):
    """``vectors.step`` of the rule, from the gradient; velocity and square are its memory."""
    gradient, velocity, square, step = vectors.gradient, vectors.velocity, vectors.square, vectors.step
    beta, beta2 = rule.beta, rule.beta2
    if rule.adam:
        one, two = 1.0 - beta**t, 1.0 - beta2**t
        for j in range(step.size):
            velocity[j] = beta * velocity[j] + (1.0 - beta) * gradient[j]
            square[j] = beta2 * square[j] + (1.0 - beta2) * gradient[j] * gradient[j]
            step[j] = -rate * (velocity[j] / one) / (math.sqrt(square[j] / two) + rule.epsilon)
    elif rule.momentum:
        for j in range(step.size):
            velocity[j] = beta * velocity[j] - rate * gradient[j]
            step[j] = velocity[j]
    else:
        for j in range(step.size):
            step[j] = -rate * gradient[j]


@compiled(allocates=False)
def gradient_steps(loss, data, steps, theta, sums, state, book, rule, vectors):
    """Steps of any rule, of batches or (size = n) of full gradients, which are watched at every step."""
    n, t = data.y.size, steps.t
    full = steps.size >= n
    gradient = vectors.gradient
    due = next_due(book.every[0], t + steps.first)
    for k in range(steps.first, steps.last):
        rate = steps.rates[k]
        if full:
            J = loss_and_gradient(loss, data, data.scores, theta, gradient)
            norm = norm_of(gradient)
            watch_full_gradient(J, norm, t + k, theta, vectors, state, book)
            if state.rose or state.converged:
                state.last = t + k
                break
            if t + k == due:
                copy(gradient, book.gradient)
                write_point(book, t + k, rate, J, norm, theta)
                due = next_due(book.every[0], t + k + 1)
        elif t + k == due:
            J = loss_and_gradient(loss, data, data.scores, theta, book.gradient)
            write_point(book, t + k, rate, J, norm_of(book.gradient), theta)
            due = next_due(book.every[0], t + k + 1)
        if sums.keep:
            state.dual_scale *= 1.0 - rate * data.lam
            if not abs(state.dual_scale) > SMALLEST_SCALE:
                stretch(sums.u, state.dual_scale)
                state.dual_scale = 1.0
        if not full or sums.keep:
            add_batch_gradient(loss, data, data.scores, steps, k, theta, gradient, sums, state)
            start, stop = batch_bounds(steps, k)
            add_penalty(data, 0.0, 1.0 / (stop - start), theta, gradient)
        _form_step(rule, rate, t + k + 1.0, vectors)
        if full:
            state.promised = product(gradient, vectors.step)
            state.last_rate = rate
            copy(theta, vectors.before)
            copy(gradient, vectors.before_gradient)
        if _moves_too_far(theta, vectors.step):
            state.broken_off = t + k
            break
        if sums.average and t + k >= sums.begin:
            weight = 1.0 if sums.average == 1 else t + k + 1.0
            for j in range(theta.size):
                sums.B[j] -= weight * theta[j]
            state.weight_sum += weight


@compiled(allocates=False)
def _moves_too_far(theta, step):
    """Add the step to theta; whether a coefficient is now on its way to infinity."""
    farthest = 0.0
    for j in range(theta.size):
        theta[j] += step[j]
        farthest = theta[j] if not abs(theta[j]) < LARGEST_SCORE else farthest
    return farthest != 0.0
