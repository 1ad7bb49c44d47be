"""An interior point for `KernelDual`: a dozen to forty Newton steps, however near to each other the two classes are.

    minimise 1/2 beta'Q beta - tau'beta,   Q_jk = s_j s_k K(x_j, x_k),   0 <= beta <= c,   E beta = T

with the lines s', and 1' of the nu forms, in E.

Where a small part of the largest |w| is left at the optimum (nu-SVC whose hulls nearly meet, kernels of few directions), pairs
move hardly at all, and a guess of the active set is wrong in many places at once.  A point of

    Q beta - tau + E'y = zl - zu,    E beta = T,    beta zl = mu,    (c - beta) zu = mu

needs no guess.  Both equations hold from the start, where zl and zu are the two parts of the gradient and a common number, so
that beta'zl + (c - beta)'zu is the gap at every step (Mehrotra 1992, predictor and corrector; one length for both).

A step solves with Q + diag(d), d = zl / beta + zu / (c - beta): over the rows, K + diag(1/h), where h is the sum of 1/d over the
variables of a row.  Where K has few directions, K = L L' and the system is one of these: (1 + L'HL) q = L'w.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dpstrf

from gapless.problems.kernel import KernelDual, evaluate_point
from gapless.solvers.kernel.polish import PolishedPoint, polish
from gapless.solvers.loop import Loop


def solve_by_interior_point(problem: KernelDual, loop: Loop, wanted: float) -> PolishedPoint | None:
    """The best point on the way to a relative gap of ``wanted``; None where no step could be taken.

    Where little is wanted, a point inside is taken with the variables at their bounds that its gap allows. Else its sets are
    polished first; their guess is right nearly always at a gap of 1e-6.
    """
    rough, sure = 1e-3, 1e-6
    best: PolishedPoint | None = None
    if not _has_inside(problem):
        return None
    polishes = wanted < rough
    for inside in _central_points(problem, loop, min(0.3 * wanted, sure) if polishes else 0.3 * wanted):
        found = _leave_inside(problem, loop, inside, wanted, polishes)
        best = found if best is None or found.gap < best.gap or found.settled else best
        if best.settled or _is_enough(problem, best, wanted):
            break
    return best


def _has_inside(problem: KernelDual) -> bool:
    """Whether the equalities leave all variables room: at the largest nu that the classes allow, one is at its bounds."""
    full = 1.0 - 1e-6
    sided = problem.nu_form or problem.kind == "one_class"
    return not sided or all(total < full * float(problem.c[side].sum()) for side, total in problem.sides)


class InteriorPoint(NamedTuple):
    """beta strictly inside its box, and the multipliers of its two sides."""

    beta: np.ndarray
    low: np.ndarray
    high: np.ndarray


def _is_enough(problem: KernelDual, point: PolishedPoint, wanted: float) -> bool:
    dual = float(problem.tau @ point.beta) - 0.5 * problem.square(point.beta, point.scores)
    return point.gap <= max(problem.negligible_gap, wanted * max(abs(dual), abs(dual + point.gap)))


def _leave_inside(
    problem: KernelDual, loop: Loop, inside: InteriorPoint, wanted: float, polishes: bool
) -> PolishedPoint:
    """The sets of a point inside polished; or where that does not do, the point with as many bounds as its gap allows."""
    c, beta = problem.c, inside.beta
    scale = max(float(inside.low.max()), float(inside.high.max()), 1e-300)
    # Strictly complementary variables: of a multiplier and its distance to the bound the smaller one goes to 0.
    lower, upper = beta / c, (c - beta) / c
    guess = np.where(lower < inside.low / scale, 0.0, np.where(upper < inside.high / scale, c, beta))
    found = _evaluated(problem, loop, guess)
    gap = float(beta @ inside.low + (c - beta) @ inside.high)
    if polishes and gap > 2.0 * problem.negligible_gap:
        found = polish(problem, loop, found.beta, found.scores, rounds=6)
    for share in (1e-4, 1e-6, 1e-9, 0.0):  # of a bound: what is closer to it is at it
        if found.settled or _is_enough(problem, found, wanted):
            break
        other = _evaluated(problem, loop, np.where(lower < share, 0.0, np.where(upper < share, c, beta)))
        found = other if other.gap < found.gap else found
    return found


def _evaluated(problem: KernelDual, loop: Loop, beta: np.ndarray) -> PolishedPoint:
    beta = problem.repair(beta)
    scores = problem.scores(beta, loop.tick)
    return PolishedPoint(beta, scores, evaluate_point(problem, beta, scores).gap, False)


def _central_points(problem: KernelDual, loop: Loop, first: float) -> Iterator[InteriorPoint]:
    """Points inside whose relative gap is ``first``, then a thousand times smaller each, as far as rounding lets it fall.

    beta and K are scaled so that the largest bound is 1.
    """
    most_steps, idle = 80, 6  # steps without progress: rounding
    unit = float(problem.c.max())
    system = _system_of(problem, unit, loop)
    c, tau, E = problem.c / unit, problem.tau, _edges(problem)
    totals = np.array(problem.totals) / unit
    x = _start(problem, system) / unit
    y = problem.best_scalars(system.scores(x))
    g = system.gradient(x) - tau + E.T @ y
    both = max(float(np.abs(g).mean()), 1e-300)
    low, high = np.maximum(g, 0.0) + both, np.maximum(-g, 0.0) + both
    least, since, best = np.inf, 0, None
    negligible = problem.negligible_gap / unit
    for _ in range(most_steps):
        rest = np.maximum(c - x, 1e-300)
        gap = float(x @ low + rest @ high)
        seen = float(x @ np.maximum(g, 0.0) + rest @ np.maximum(-g, 0.0))  # what it is, whatever the multipliers are
        value = abs(0.5 * float(x @ (g + tau - E.T @ y)) - float(tau @ x))
        since = 0 if seen < 0.9 * least else since + 1
        if seen < least:
            least, best = seen, InteriorPoint(unit * x, low, high)
            if seen <= max(first * value, negligible):
                yield best
                first, best = 1e-3 * seen / max(value, 1e-300), None
        if since >= idle or not np.isfinite(seen) or seen <= negligible:
            break
        loop.tick()
        loop.advance()
        step = _newton_step(system, E, (x, rest, low, high), (g - low + high, E @ x - totals), gap)
        if step is None:
            break
        dx, dy, dl, du = step
        worst = max(_shrink(dx, x), _shrink(-dx, rest), _shrink(dl, low), _shrink(du, high), 1e-300)
        length = min(1.0, 0.995 / worst)
        x, y = np.maximum(x + length * dx, 1e-300), y + length * dy
        low, high = low + length * dl, high + length * du
        g = system.gradient(x) - tau + E.T @ y
    if best is not None:
        yield best


def _newton_step(
    system: _System, E: np.ndarray, at: tuple[np.ndarray, ...], residuals: tuple[np.ndarray, np.ndarray], gap: float
) -> tuple[np.ndarray, ...] | None:
    """The changes of beta, y and the multipliers, towards a gap that the pure Newton step says can be reached."""
    x, rest, low, high = at
    off, missing = residuals
    d = low / x + high / rest
    solve = system.factor(d)
    if solve is None:
        return None
    base = -off - low + high
    first = solve(np.column_stack([base, E.T]))
    columns = first[:, 1:]
    try:
        small = np.linalg.inv(E @ columns)
    except np.linalg.LinAlgError:  # equalities that rounding cannot tell apart: the points so far are what there is
        return None

    def along(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        dy = small @ (E @ v + missing)
        return v - columns @ dy, dy

    dx, _ = along(first[:, 0])
    dl, du = -low - low / x * dx, -high + high / rest * dx
    worst = max(_shrink(dx, x), _shrink(-dx, rest), _shrink(dl, low), _shrink(du, high), 1e-300)
    a = min(1.0, 1.0 / worst)
    ahead = float((x + a * dx) @ (low + a * dl) + (rest - a * dx) @ (high + a * du))
    mu = gap / (2.0 * x.size) * max(ahead / gap, 0.0) ** 3
    to_low, to_high = (mu - dx * dl) / x, (mu + dx * du) / rest
    right = base + to_low - to_high
    dx, dy = along(solve(right[:, None])[:, 0])
    if system.refines:
        left = right - system.gradient(dx) - d * dx - E.T @ dy
        missing = missing + E @ dx
        more, other = along(solve(left[:, None])[:, 0])
        dx, dy = dx + more, dy + other
    found = dx, dy, to_low - low - low / x * dx, to_high - high + high / rest * dx
    return found if all(np.isfinite(part).all() for part in found) else None


def _shrink(step: np.ndarray, value: np.ndarray) -> float:
    """1 / the largest length at which value + length * step is not below 0."""
    return float((-step / value).max())


def _edges(problem: KernelDual) -> np.ndarray:
    ones = np.ones(problem.n)
    return np.stack([problem.sign, ones]) if problem.nu_form else problem.sign[None, :]


def _start(problem: KernelDual, system: _System) -> np.ndarray:
    """A beta strictly inside that keeps the equalities: a share of each bound, the same for all variables of a side."""
    c, out = problem.c, np.empty(problem.n)
    if problem.nu_form or problem.kind == "one_class":
        for side, total in problem.sides:
            share = total / float(c[side].sum())
            out[side] = c[side] * share
        return out
    positive = problem.sign > 0.0
    masses = float(c[positive].sum()), float(c[~positive].sum())
    out = c * np.where(positive, min(masses) / masses[0], min(masses) / masses[1])
    # Of all multiples the best one, or one inside.
    unit = float(c.max())
    square = unit * float(out @ system.gradient(out / unit))
    best = float(problem.tau @ out) / square if square > 0.0 else 0.5
    return out * min(max(best, 1e-4), 0.5)


# ---------------------------------------------------------------------------------------------- the linear systems


class _System:
    """Products with Q and solutions with Q + diag(d); ``unit`` multiplies K."""

    refines = False  #: a solution leaves residuals of more than rounding

    def __init__(self, problem: KernelDual) -> None:
        self.sign, self.at, self.n_points = problem.sign, problem.at, problem.n_points

    def _to_points(self, v: np.ndarray) -> np.ndarray:
        """Sums over the variables of each row, for each column of v."""
        if self.at is None:
            return v
        return v[: self.n_points] + v[self.n_points :]  # a row's two variables stand n apart

    def _to_variables(self, v: np.ndarray) -> np.ndarray:
        return v if self.at is None else np.concatenate([v, v])

    def scores(self, x: np.ndarray) -> np.ndarray:
        return self.product(self._to_points(self.sign * x))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Q x"""
        return self.sign * self._to_variables(self.scores(x))

    def product(self, v: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def factor(self, d: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
        """A function that solves (Q + diag(d)) x = r for the columns of r; None where that is singular."""
        h = self._to_points(1.0 / d)
        step = self._factor_points(h)
        if step is None:
            return None
        s = self.sign[:, None]

        def solve(r: np.ndarray) -> np.ndarray:
            w = self._to_points(s * r / d[:, None])
            if self.at is None:
                return s * step(w)[0]
            return (r - s * self._to_variables(step(w)[1])) / d[:, None]

        return solve

    def _factor_points(self, h: np.ndarray) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] | None:
        """A function that gives v with v + H K v = w, and K v."""
        raise NotImplementedError


class _Whole(_System):
    """By K itself."""

    def __init__(self, problem: KernelDual, K: np.ndarray) -> None:
        super().__init__(problem)
        self.K = K

    def product(self, v: np.ndarray) -> np.ndarray:
        return np.asarray(self.K @ v)

    def _factor_points(self, h: np.ndarray) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] | None:
        inverse = 1.0 / h
        for room in (0.0, 1e-15, 1e-12):  # of the trace: rows that depend on each other may leave a pivot below 0
            M = self.K.copy(order="F")
            M.flat[:: self.n_points + 1] += inverse + room * float(np.trace(self.K))
            L, singular = dpotrf(M, lower=1, clean=0, overwrite_a=1)
            if not singular:
                break
        else:
            return None

        def step(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            v = dpotrs(L, w * inverse[:, None], lower=1)[0]
            return v, (w - v) * inverse[:, None]

        return step


class _Factored(_System):
    """By L with K = L L', up to rounding."""

    refines = True

    def __init__(self, problem: KernelDual, L: np.ndarray) -> None:
        super().__init__(problem)
        self.L = L

    def product(self, v: np.ndarray) -> np.ndarray:
        return np.asarray(self.L @ (self.L.T @ v))

    def _factor_points(self, h: np.ndarray) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] | None:
        root = np.sqrt(h)[:, None]
        scaled = self.L * root
        M = scaled.T @ scaled
        M.flat[:: M.shape[0] + 1] += 1.0
        R, singular = dpotrf(M, lower=1, clean=0, overwrite_a=1)
        if singular:
            return None

        def step(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            q = dpotrs(R, self.L.T @ w, lower=1)[0]
            f = self.L @ q
            v = w - h[:, None] * f
            # Once more for what rounding left, since h is large where rows are free.
            left = w - v - h[:, None] * (self.L @ (self.L.T @ v))
            f = self.L @ (q := dpotrs(R, self.L.T @ left, lower=1)[0])
            v = v + left - h[:, None] * f
            return v, self.L @ (self.L.T @ v)

        return step


def _system_of(problem: KernelDual, unit: float, loop: Loop) -> _System:
    """K, or its factor where it has few directions."""
    least, share = 200, 0.5  # rows from which a factor is tried, and its columns as a share of the rows
    every = np.arange(problem.n_points)
    K = unit * problem.gram.block(every, every, tick=loop.tick)
    if problem.n_points >= least:
        factor, order, rank, _ = dpstrf(K, lower=1)
        if 0 < rank <= share * problem.n_points:
            L = np.empty((problem.n_points, rank))
            L[order - 1] = np.tril(factor)[:, :rank]
            return _Factored(problem, L)
    return _Whole(problem, K)
