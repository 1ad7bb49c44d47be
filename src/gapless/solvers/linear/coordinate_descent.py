"""Dual coordinate descent: one example at a time, shrinking, any loss, any offset.

    maximise  D(u) = - sum_i c_i l*(y_i, -u_i/c_i) - 1/2 |theta|^2,      theta = sum_i u_i (x_i, s)

A step solves D exactly along one u_i and keeps theta up to date (Hsieh et al., 2008).  Examples that sit at a bound
with a slope that keeps them there are left out (shrinking) and all come back before the gap is computed.  A pass
visits the examples in random order; each row is asked for some steps ahead, so that the memory has time to bring it.
Neighbours are read faster than strangers, so that the first pass, which brings much in whatever order, visits stretches
of a few rows, and passes over long rows do so ever after.  For the hinge rows of zeros and ones are read without their values,
and where they are of many lengths stretches are of one.

A free offset has the constraint sum u = 0.  It is met by the method of multipliers: the constant feature s penalises
(b - b0)^2/(2 s^2) instead of b^2, and after each round b0 moves to the b found.  With sum u = r that is
b = b0 + s^2 r, so b0 settles exactly when the constraint holds.  It closes linearly: good to 1e-4 or so, where other
solvers take over.  The hinge at a good offset has most rows of the heavier class just beyond their margin: they stay in every
pass and move in none, so that each pass is followed by some over the few that are strictly inside their box.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gapless import rows as R
from gapless._compile.jit import compiled
from gapless.losses import Hinge, Logistic, SquaredHinge
from gapless.losses.verbs import dual_slope, dual_step
from gapless.problems.linear import LinearProblem
from gapless.rows.copies.binary import sort_by_length
from gapless.rows.copies.choose import best_copy
from gapless.rows.copies.prefetch import prefetch
from gapless.rows.products import VALUES_PER_TICK
from gapless.rows.shape import is_binary, n_stored
from gapless.rows.verbs import row_ahead, row_axpy, row_dot
from gapless.solvers.loop import Loop


def coordinate_descent(
    problem: LinearProblem,
    loop: Loop,
    start: np.ndarray | None = None,
    *,
    seed: int = 0,
    order: np.ndarray | None = None,
    give_up: int | None = None,
    affordable: float = np.inf,
) -> None:
    """Records its points in ``loop``.

    ``order`` is a first order of the examples.  It returns after ``give_up`` passes that did not halve the gap, or as soon as
    the speed of the last passes says that more than ``affordable`` are needed in all.
    """
    n = problem.n
    q = problem.norms2
    rows: Any = problem.rows
    if isinstance(problem.loss, Hinge) and R.is_sparse(rows):
        rows = best_copy(rows, "random")
    s = rows.constant
    b0 = 0.0
    if problem.free:
        # A shorter constant feature makes b slow, a longer one makes the steps small; those of the logistic loss are small
        # anyway where c is, by its own curvature.  Measured on text and on a9a, w8a: these need the fewest passes.
        length = max(float(np.mean(q - 1.0)), 1e-6)
        smooth = isinstance(problem.loss, Logistic)
        s = float(np.sqrt(length + 0.1 / np.mean(problem.c))) if smooth else 0.5 * float(np.sqrt(length))
        rows = rows._replace(constant=s)
        q = q - 1.0 + s * s
        if isinstance(problem.loss, Hinge):
            # At w = 0 the best offset is the sign of the heavier class; where neither is much heavier, w decides.
            positive, negative = problem.masses
            b0 = min(1.0, max(-1.0, 2.0 * (positive - negative) / (positive + negative)))
    bounded = isinstance(problem.loss, Hinge | SquaredHinge)
    theta: np.ndarray | None = None
    if start is not None:
        u = problem.repair(start)
    elif not isinstance(problem.loss, Logistic):
        u = np.zeros(n)
    elif min(problem.masses) <= 0.0:
        # Most examples end near 0; 0 itself is where the slope is infinite.
        u = problem.repair(START * problem.c * problem.y)
    elif problem.free:
        u, theta, b0 = _balanced_start(problem)
    else:
        u, theta = _even_start(problem)
    if theta is None:
        theta = _combined(rows, problem, u) if u.any() else np.zeros(problem.d + 1)
    if problem.free and start is not None:
        b0 = problem.primal_from_dual(u)[-1] - s * theta[-1]
    top = np.full(n, np.inf) if isinstance(problem.loss, SquaredHinge) else problem.c
    logits = _logits(u, problem.y, problem.c) if isinstance(problem.loss, Logistic) else None

    random = np.array([seed * 2 + 1], np.uint64)
    equal = False
    if order is None and is_binary(rows):
        order = sort_by_length(rows, _shuffled(n, random))
        equal = order is not None
    everybody = np.arange(n) if order is None else order
    active = everybody.copy()
    size, above, below = n, np.inf, -np.inf
    work, looked, enough, last = 0.0, 0.0, 0.0, n
    next_look, passes, gap_then, then = 2, 0, np.inf, 0
    scratch = np.empty(n) if problem.free else None
    gaps, aim = [(0.0, loop.best_primal - loop.best_dual)], 0.0
    # A logistic step solves an equation: some 1 µs each, against a few ns for a product.
    per_row = n_stored(rows) / max(1, n) / 10.0 + 1.0 if bounded else 40.0
    step = max(1, int(VALUES_PER_TICK / 20.0 / per_row))
    # Rows that stand together may be alike, and then slow the progress down; long rows gain more than they lose.
    long = n_stored(rows) > LONG * n and not problem.free
    together = STRETCH if long or equal else 1
    while True:
        _shuffle(active[:size], random, STRETCH if passes == 0 else together)
        stays = np.ones(size, dtype=bool)
        slopes = np.array([-np.inf, np.inf])
        for first in range(0, size, step):
            chosen = active[first : min(size, first + step)]
            if logits is not None:
                _sweep_logistic(rows, problem.y, problem.c, q, u, logits, theta, b0, chosen, slopes)
            else:
                _sweep(
                    problem.loss, rows, problem.y, problem.c, q, top, u, theta, b0,
                    chosen, stays[first : first + step], above, below, bounded, slopes,
                )  # fmt: skip
            loop.tick()
        spread_high, spread_low = slopes.tolist()
        work += size / n
        if problem.free and isinstance(problem.loss, Hinge) and size * FEW * FEW > n:
            inside = np.empty_like(active[:size])
            inside = inside[: _inside(active[:size], stays, u, problem.c, inside)].copy()
            if inside.size * FEW < size:
                everyone = np.ones(inside.size, dtype=bool), np.inf, -np.inf, bounded, np.zeros(2)
                for _ in range(AGAIN):
                    _shuffle(inside, random, 1)
                    _sweep(problem.loss, rows, problem.y, problem.c, q, top, u, theta, b0, inside, *everyone)
                work += AGAIN * inside.size / n
                loop.tick()
        passes += 1
        loop.n_iter = max(loop.n_iter, int(np.ceil(work)))
        size = _keep(active, stays)
        spread = spread_high - spread_low
        # How far b0 is to move says as much about what is left as the slopes do, and where it says more, it is time to move.
        ahead_of_b0 = abs(s * theta[-1]) if problem.free and bounded else 0.0
        done = max(spread, ahead_of_b0) <= aim or size == 0
        due = done or not bounded or passes == 1 or passes % 3 == 0 or ahead_of_b0 > 0.2 * spread
        if problem.free and due:
            b0 += s * theta[-1]
        above = spread_high if spread_high > 0 else np.inf
        below = spread_low if spread_low < 0 else -np.inf
        if done or (passes >= next_look and work >= enough) or passes >= last or loop.n_iter >= loop.stop.passes:
            gap, z, best = _look(problem, loop, rows, u, theta, b0 + s * theta[-1], scratch)
            looked += FREE_LOOK if problem.free and bounded else 0.0
            left = _work_left(loop, gaps, work + looked, gap)
            if done and (spread if bounded else np.sqrt(spread)) < 1e-17 * float(np.abs(u) @ q + 1.0):
                return
            if done and not (problem.free and bounded and size > 0):
                # The slopes of those that are left are small and the gap is not: look at everybody.
                size, active, above, below = n, everybody.copy(), np.inf, -np.inf
            elif bounded:
                # All scores are at hand: whoever was left out by mistake comes back.
                keep = np.empty(n, dtype=bool)
                if problem.free:
                    z = np.add(z, b0 + s * theta[-1] - best, out=scratch)  # at the offset that the steps see
                _worth_visiting(problem.loss, z, problem.y, problem.c, top, u, above, below, keep)
                active = np.flatnonzero(keep) if order is None else everybody[keep[everybody]]
                size = active.size
            # The spread costs nothing, and falls about as the gap does: the next look where it says enough.
            target = loop.stop.relative_gap * max(abs(loop.best_primal), abs(loop.best_dual))
            aim = min(0.5 * spread, spread * target / gap) if gap > 0.0 else 0.0
            next_look = passes + max(1, min(passes // 2 if bounded else 2 * passes, MOST_BETWEEN))
            enough, last = work + (FREE_LOOK if problem.free else LOOK), passes + 2 * MOST_BETWEEN
            if gap < 0.5 * gap_then:
                gap_then, then = gap, passes
            elif give_up is not None and passes - then > give_up:
                return
            if work + looked + left > affordable:
                return
            if give_up is not None and loop.n_iter > loop.stop.passes // 2:
                return  # somebody is waiting to take over, and needs passes too


def _work_left(loop: Loop, gaps: list[tuple[float, float]], work: float, gap: float) -> float:
    """How many more passes if each gains as much as those of the second half did."""
    then, before = next(seen for seen in reversed(gaps) if seen[0] <= 0.5 * work)
    gaps.append((work, gap))
    target = loop.stop.relative_gap * max(abs(loop.best_primal), abs(loop.best_dual))
    if not 0.0 < gap < before or target <= 0.0:
        return np.inf
    return max(0.0, float(np.log(gap / target))) * (work - then) / float(np.log(before / gap))


def _logits(u: np.ndarray, y: np.ndarray, c: np.ndarray) -> np.ndarray:
    """t with alpha = c expit(t); far out where alpha is at a bound, so that the first step starts inside its bracket."""
    share = u * y / c
    with np.errstate(divide="ignore"):
        return np.log(share) - np.log1p(-share)


def _even_start(problem: LinearProblem) -> tuple[np.ndarray, np.ndarray]:
    """u and its theta for the logistic loss: alpha = s c for one class, t c for the other, with the s and t of the highest D.

    With the sums p and m of c y x over the classes D(s, t) = C+ H(s) + C- H(t) - 1/2 |s p + t m|^2, H the entropy: Newton's
    steps, halved until they stay inside and D does not fall.  A few per cent near is near enough.
    """
    positive = problem.y > 0
    p = problem.combine(np.where(positive, problem.c, 0.0))
    m = problem.combine(np.where(positive, 0.0, -problem.c))
    (up, down), pp, pm, mm = problem.masses, float(p @ p), float(p @ m), float(m @ m)

    def value(s: float, t: float) -> float:
        bend = 0.5 * (pp * s * s + 2.0 * pm * s * t + mm * t * t)
        return (
            -up * (s * math.log(s) + (1 - s) * math.log1p(-s))
            - down * (t * math.log(t) + (1 - t) * math.log1p(-t))
            - bend
        )

    s = t = START
    best = value(s, t)
    for _ in range(30):
        rise_s = up * math.log((1 - s) / s) - pp * s - pm * t
        rise_t = down * math.log((1 - t) / t) - pm * s - mm * t
        bend_s, bend_t = up / (s * (1 - s)) + pp, down / (t * (1 - t)) + mm
        area = bend_s * bend_t - pm * pm
        if not area > 0.0:  # lost to rounding
            break
        ds, dt = (bend_t * rise_s - pm * rise_t) / area, (bend_s * rise_t - pm * rise_s) / area
        for halved in range(12):
            near_s, near_t = s + 0.5**halved * ds, t + 0.5**halved * dt
            inside = 0.1 * s < near_s < 1 - 0.1 * (1 - s) and 0.1 * t < near_t < 1 - 0.1 * (1 - t)
            if inside and (found := value(near_s, near_t)) >= best:
                break
        else:
            break
        small = abs(near_s - s) < 0.03 * s and abs(near_t - t) < 0.03 * t
        s, t, best = near_s, near_t, found
        if small:
            break
    return np.where(positive, s * problem.c, -t * problem.c), s * p + t * m


def _balanced_start(problem: LinearProblem) -> tuple[np.ndarray, np.ndarray, float]:
    """The same with a free offset, where s C+ = t C- leaves one number to find, and the offset that goes with it.

    With M = s C+ = t C- and the difference of the means v = p/C+ + m/C- D(M) = C+ H(s) + C- H(t) - 1/2 M^2 |v|^2.  Its slope
    log((1-s)/s) + log((1-t)/t) - M |v|^2 falls: its zero is found by halves.  The multiplier of s C+ = t C- is the offset at
    which both classes have, on the average, the margins that belong to their alpha: log((1-s)/s) = <p/C+, theta> + b.
    """
    positive = problem.y > 0
    up, down = problem.masses
    p = problem.combine(np.where(positive, problem.c / up, 0.0))
    v = p + problem.combine(np.where(positive, 0.0, -problem.c / down))
    square = float(v[:-1] @ v[:-1])
    low, high = 0.0, min(up, down)
    total = 0.5 * high
    for _ in range(60):
        s, t = total / up, total / down
        if math.log((1 - s) / s) + math.log((1 - t) / t) > total * square:
            low = total
        else:
            high = total
        total = 0.5 * (low + high)
        if high - low < 0.01 * high:
            break
    s, t = total / up, total / down
    theta = total * v
    theta[-1] = 0.0
    b = math.log((1 - s) / s) - float(p[:-1] @ theta[:-1])
    return np.where(positive, s * problem.c, -t * problem.c), theta, b


def _shuffled(n: int, random: np.ndarray) -> np.ndarray:
    everybody = np.arange(n)
    _shuffle(everybody, random, 1)
    return everybody


def _combined(rows: Any, problem: LinearProblem, u: np.ndarray) -> np.ndarray:
    theta = problem.combine(u)
    theta[-1] = rows.constant * float(u.sum())
    return theta


def _look(
    problem: LinearProblem,
    loop: Loop,
    rows: Any,
    u: np.ndarray,
    combined: np.ndarray,
    near: float,
    scratch: np.ndarray | None,
) -> tuple[float, np.ndarray, float]:
    """Record u and its theta; the gap, the scores (by ``rows``), and the offset in them, which is ``near``.

    Theta is at hand: it is the sum that the steps kept, but for the few examples that give way to a free offset's sum u = 0.
    """
    theta = combined.copy()
    if problem.free:
        moved = problem.repair(u, out=scratch)
        theta[-1] = float(moved.sum())
        gave = np.flatnonzero(moved != u)
        if gave.size * 8 < problem.n:
            theta[:-1] += R.combine(R.take_rows(problem.rows, gave), moved[gave] - u[gave], loop.tick)[:-1]
        else:
            theta[:-1] += problem.combine(moved - u, loop.tick)[:-1]
        u, combined = moved, theta.copy()
        theta[-1] = 0.0
    z = R.scores(rows, theta, loop.tick)
    if problem.free:
        theta[-1] = problem.best_offset(z, near)
        z += theta[-1]
    primal = problem.primal(theta, z)
    dual = problem.dual(u, primal, combined)
    loop.record(theta, u, primal, dual, scores=z)
    return primal - dual, z, float(theta[-1])


#: Passes between two looks at the gap, at most, and twice as many where they are over few rows.
MOST_BETWEEN = 50
#: What a look costs, in passes over everybody; with a free offset, whose best value it has to find.
LOOK, FREE_LOOK = 0.4, 1.0
#: Rows that are visited one after the other, and the values a row has from which all passes do so.
STRETCH, LONG = 8, 32
#: Rows inside their box are visited again where they are at most one in so many of a pass, and so many times; a pass over one
#: row in that many squared is short as it is.
FEW, AGAIN = 5, 3
#: Steps between asking for a row and using it.
AHEAD = 8
#: A step of Newton's in t after which it is near enough.
NEAR = 0.02
#: alpha / c of every example at the start, for the logistic loss with a free offset (half of c is where w = 0 would have them).
START = 0.1


@compiled
def _shuffle(items, random, together):
    """Stretches of so many items into random order; what is left over stays at the end."""
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
def _keep(items, stays):
    """Those that stay, moved to the front; how many."""
    size = 0
    for k in range(stays.size):
        items[size] = items[k]
        size += stays[k]
    return size


@compiled(allocates=False)
def _inside(items, stays, u, c, found):
    """Find those that stay and are strictly inside their box; how many."""
    size = 0
    for k in range(items.size):
        i = items[k]
        found[size] = i
        size += stays[k] and 0.0 < abs(u[i]) < c[i]
    return size


@compiled(vectorise=True)
def _sweep(loss, rows, y, c, q, top, u, theta, b0, active, stays, above, below, bounded, slopes):
    """One pass over those active; ``stays`` becomes False for those to leave out.  ``slopes`` keeps the largest and
    smallest slope of -D in alpha that a step inside the box could still use; of a smooth loss, what the steps gained."""
    high, low = slopes[0], slopes[1]
    gained = 0.0
    for k in range(active.size):
        if k + AHEAD < active.size:
            row_ahead(rows, active[k + AHEAD])
            prefetch(u, active[k + AHEAD])
            prefetch(q, active[k + AHEAD])
            prefetch(y, active[k + AHEAD])
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
def _sweep_logistic(rows, y, c, q, u, logits, theta, b0, active, slopes):
    """The same for the logistic loss, with alpha = c expit(t) and t kept: on rows this short a logarithm is no small part."""
    gained = 0.0
    for k in range(active.size):
        if k + AHEAD < active.size:
            row_ahead(rows, active[k + AHEAD])
            prefetch(u, active[k + AHEAD])
            prefetch(logits, active[k + AHEAD])
            prefetch(q, active[k + AHEAD])
        i = active[k]
        z = row_dot(rows, i, theta) + b0
        old, qc, sign = u[i], q[i] * c[i], y[i]
        a = old * sign / c[i]
        # t + qc (expit(t) - a_old) + yz = 0, the left side rising with a slope of at least 1: Newton in a bracket, as in
        # `losses/logistic`, but near enough is enough: what is left is below half the square of the last step.
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
            enough = NEAR
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
def _worth_visiting(loss, z, y, c, top, u, above, below, keep):
    for i in range(z.size):
        alpha = u[i] * y[i]
        slope = dual_slope(loss, u[i], z[i], c[i], y[i]) * y[i]
        keep[i] = not ((alpha <= 0.0 and slope > above) or (alpha >= top[i] and slope < below))
