"""The compiled passes of coordinate descent: steps along one u_i after the other, and the bookkeeping of shrinking."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gapless._compile.jit import compiled
from gapless.losses.verbs import dual_slope, dual_step
from gapless.rows.copies.prefetch import prefetch
from gapless.rows.verbs import row_ahead, row_axpy, row_dot


class Coordinates(NamedTuple):
    """What a step along u_i reads of example i: its target, its weight, q = |x_i|^2, and the largest uy of its box."""

    loss: Any
    y: np.ndarray
    c: np.ndarray
    q: np.ndarray
    top: np.ndarray


class Shrinking(NamedTuple):
    """An example at uy = 0 is left out if its slope of -D is above ``above``; one at the top, if it is below ``below``."""

    above: float = np.inf
    below: float = -np.inf


@compiled
def shuffle(items, random, together):
    """Put stretches of ``together`` items into random order; the rest that fills no stretch stays at the end."""
    state = random[0]
    for i in range(items.size // together - 1, 0, -1):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        j = np.int64(state % np.uint64(i + 1))
        for k in range(together):
            a, b = i * together + k, j * together + k
            items[a], items[b] = items[b], items[a]
    random[0] = state


@compiled
def keep_staying(items, stays):
    """Move the items that stay to the front; returns their number."""
    size = 0
    for k in range(stays.size):
        items[size] = items[k]
        size += stays[k]
    return size


@compiled(allocates=False)
def find_inside(items, stays, u, c, found):
    """Write the items that stay and are strictly inside their box into ``found``; returns their number."""
    size = 0
    for k in range(items.size):
        i = items[k]
        found[size] = i
        size += stays[k] and 0.0 < abs(u[i]) < c[i]
    return size


@compiled(vectorise=True)
def sweep(coordinates, rows, u, theta, b0, active, stays, shrinking, bounded, slopes):
    """One pass over the active examples; ``stays`` becomes False for examples to leave out.

    ``slopes`` keeps the largest and the smallest slope of -D in alpha that a step inside the box could still use.  Where the box
    has no ends it keeps sum q (change of u)^2, the size of the steps.
    """
    loss, y, c, q, top = coordinates
    above, below = shrinking
    ahead = 8  # steps from asking the memory for a row to using it
    high, low = slopes[0], slopes[1]
    gained = 0.0
    for k in range(active.size):
        if k + ahead < active.size:
            row_ahead(rows, active[k + ahead])
            prefetch(u, active[k + ahead])
            prefetch(q, active[k + ahead])
            prefetch(y, active[k + ahead])
        i = active[k]
        z = row_dot(rows, i, theta) + b0
        old = u[i]
        if bounded:
            alpha = old * y[i]
            slope = dual_slope(loss, old, z, c[i], y[i]) * y[i]
            usable = slope
            if alpha <= 0.0:
                if slope > above:
                    stays[k] = False
                    continue
                usable = min(slope, 0.0)
            elif alpha >= top[i]:
                if slope < below:
                    stays[k] = False
                    continue
                usable = max(slope, 0.0)
            high = max(high, usable)
            low = min(low, usable)
            if usable == 0.0:
                continue
        new = dual_step(loss, old, z, q[i], c[i], y[i])
        gained += (new - old) * (new - old) * q[i]
        if new != old:
            u[i] = new
            row_axpy(rows, i, new - old, theta)
    slopes[0], slopes[1] = (high, low) if bounded else (max(high, 0.0) + gained, 0.0)


@compiled(vectorise=True)
def sweep_logistic(coordinates, rows, u, logits, theta, b0, active, slopes):
    """The same for the logistic loss, with alpha = c expit(t) and t kept: on short rows a logarithm is a large part of a step."""
    _, y, c, q, _ = coordinates
    ahead = 8  # as in `sweep`
    gained = 0.0
    for k in range(active.size):
        if k + ahead < active.size:
            row_ahead(rows, active[k + ahead])
            prefetch(u, active[k + ahead])
            prefetch(logits, active[k + ahead])
            prefetch(q, active[k + ahead])
        i = active[k]
        z = row_dot(rows, i, theta) + b0
        old, qc, sign = u[i], q[i] * c[i], y[i]
        a = old * sign / c[i]
        # t + qc (expit(t) - a_old) + yz = 0, the left side rising with a slope of at least 1: Newton in a bracket, as in
        # `losses/compiled/logistic`, but stopped at a step of 0.02 in t: the error is then below half the square of that.
        base = sign * z - qc * a
        low, high = -base - qc, -base
        t = logits[i]
        if not low <= t <= high:
            t = 0.5 * (low + high)
            e = math.exp(-abs(t))
            a = (1.0 if t >= 0.0 else e) / (1.0 + e)
        last = high - low
        for _ in range(200):
            f = t + qc * a + base
            if f > 0.0:
                high = t
            else:
                low = t
            new = t - f / (1.0 + qc * a * (1.0 - a))
            enough = 0.02
            if not (low <= new <= high) or abs(new - t) > 0.5 * last:
                new, enough = 0.5 * (low + high), 1e-15
            last = abs(new - t)
            t = new
            e = math.exp(-abs(t))
            a = (1.0 if t >= 0.0 else e) / (1.0 + e)
            if last <= max(enough, 1e-15 * abs(t)):
                break
        logits[i] = t
        change = sign * c[i] * a - old
        gained += change * change * q[i]
        if change != 0.0:
            u[i] = sign * c[i] * a
            row_axpy(rows, i, change, theta)
    slopes[0], slopes[1] = max(slopes[0], 0.0) + gained, 0.0


@compiled
def find_worth_visiting(coordinates, z, u, shrinking, keep):
    """Whether each example, by its score z, would stay in a sweep."""
    loss, y, c, _, top = coordinates
    above, below = shrinking
    for i in range(z.size):
        alpha = u[i] * y[i]
        slope = dual_slope(loss, u[i], z[i], c[i], y[i]) * y[i]
        keep[i] = not ((alpha <= 0.0 and slope > above) or (alpha >= top[i] and slope < below))
