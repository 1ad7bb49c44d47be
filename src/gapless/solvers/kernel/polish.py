"""Active-set polish for kernel machines: from nearly optimal to machine precision.

At the optimum every variable of `KernelDual` is at 0 (h < 0), at c (h > 0) or free (h = 0).  With the sets known, the
conditions on the free variables F are linear: with nu = s beta,

    K_FF nu + b 1 (+ t s) = s tau - (scores of the variables at c),      1'nu = T0   (nu forms: and s'nu = T1)

solved as a correction of the nu at hand, in the least-norm sense where free rows are dependent.  Variables that leave their
box or sit on the wrong side of their kink change sets, and the system is solved again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError

from gapless.problems.kernel import KernelDual, evaluate_point
from gapless.solvers.kernel.thresholds import KERNEL_THRESHOLDS
from gapless.solvers.linear.active_set import solver_of
from gapless.solvers.loop import Loop


class PolishedPoint(NamedTuple):
    """The best point that a polish has seen."""

    beta: np.ndarray
    scores: np.ndarray
    gap: float
    settled: bool  #: the sets hold: this is the optimum up to rounding


def work_of_round(problem: KernelDual, free: int) -> float:
    """The multiplications of a round with so many free variables: the factor of their matrix, and its products with all points.

    They are counted in multiplications of kernel values, which are the fastest ones.
    """
    products = 6.0  # the step to the bounds, the three refinements, and the step of the repair
    limits = KERNEL_THRESHOLDS
    read = limits.read_price * products * problem.n_points
    return limits.round_multiplications + free * (limits.factor_price * free * free / 3.0 + read)


def polish(
    problem: KernelDual,
    loop: Loop,
    beta: np.ndarray,
    scores: np.ndarray,
    *,
    rounds: int = 30,
    work: float = np.inf,
) -> PolishedPoint:
    """The best point seen, the given one included. ``work`` caps the multiplications of all rounds."""
    noise_share = 1e-10  # of a box: closer to a bound than that a variable is at it
    largest_system = 2000  # free variables: the factorisation of a larger system takes longer than SMO's passes
    most_changed = 0.25  # as a share of the variables: where more change sets, the sets are no guess to go by
    beta = problem.repair(beta)
    best = PolishedPoint(beta, scores, evaluate_point(problem, beta, scores)[3], False)
    c = problem.c
    free = (beta > noise_share * c) & (beta < (1.0 - noise_share) * c)
    upper = beta >= (1.0 - noise_share) * c
    seen: set[bytes] = set()
    before = 0
    for _ in range(rounds):
        key = np.packbits(free).tobytes() + np.packbits(upper).tobytes()
        size = int(np.count_nonzero(free))
        work -= work_of_round(problem, size)
        if size > largest_system or key in seen or work < 0.0:
            return best
        seen.add(key)
        fixed = np.where(upper, c, np.where(free, beta, 0.0))
        scores = _scores_after_step(problem, loop, scores, fixed - beta)
        solved, scores = _solve_free(problem, loop, fixed, np.flatnonzero(free), scores)
        if solved is None:
            return best
        inside = problem.repair(solved)
        own = _scores_after_step(problem, loop, scores, inside - solved)
        scalars, primal, _, gap = evaluate_point(problem, inside, own)
        if gap < best.gap:
            best = PolishedPoint(inside, own, gap, False)
            loop.record(scalars, inside, primal, primal - gap, ends=False)
        h = problem.hinges(scalars, own)
        noise = 1e-9 * max(1.0, float(np.abs(own).max(initial=0.0)), float(np.abs(problem.tau).max(initial=0.0)))
        below, above = free & (solved < -noise_share * c), free & (solved > (1.0 + noise_share) * c)
        wrong = (~free & ~upper & (h > noise)) | (upper & (h < -noise))
        if not (below | above | wrong).any():
            # The sets are wrong where more rows are free than the kernel has directions, since not all can lie at their kinks,
            # and where no row is free and the equalities do not hold.
            kept = (np.abs(inside - solved) <= noise_share * c).all()
            return best._replace(settled=bool(kept and (np.abs(h[free]) <= noise).all()))
        changes = int(np.count_nonzero(below | above | wrong))
        if changes > max(most_changed * problem.n, 20) and changes >= before:
            return best
        before = changes
        # A variable that leaves its box is put at the bound it left by; a bounded variable on the wrong side becomes free.
        upper = (upper & ~wrong) | above
        free = (free & ~below & ~above) | wrong
        beta, scores = inside, own
    return best


def _scores_after_step(problem: KernelDual, loop: Loop, scores: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The scores of beta + step."""
    u = problem.u(step)
    rows = np.flatnonzero(u)
    return scores + problem.gram.product(rows, u[rows], tick=loop.tick) if rows.size else scores


def _solve_free(
    problem: KernelDual, loop: Loop, beta: np.ndarray, free: np.ndarray, scores: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray]:
    """Solve h = 0 for the free part of beta; returns beta, or None where the system cannot be solved, and its scores."""
    largest_dependent = (
        500  # dependent rows: least norms of 1,400 take 2 s, in which pairs of most problems reach the gap
    )
    if free.size == 0:
        return beta, scores
    s = problem.sign[free]
    at = free if problem.at is None else problem.at[free]
    K = problem.gram.block(at, at, tick=loop.tick)
    edge = np.stack([np.ones(free.size), s], axis=1) if problem.nu_form else np.ones((free.size, 1))
    if problem.nu_form and (s == s[0]).all():  # one side has no free variable: its scalar is an interval
        edge = edge[:, :1]
    m = edge.shape[1]
    system = np.zeros((free.size + m, free.size + m))
    system[: free.size, : free.size] = K
    system[: free.size, free.size :] = edge
    system[free.size :, : free.size] = edge.T
    scale = 1.0 / np.sqrt(np.maximum(np.diag(K), 1e-300))
    scale[np.diag(K) <= 0.0] = 1.0
    scale = np.append(scale, np.full(m, 1.0 / max(float(scale.max()), 1e-150)))
    scaled = system * scale[:, None] * scale[None, :]
    try:
        solve = solver_of(scaled, largest_dependent)
    except LinAlgError:
        return None, scores
    beta, shift = beta.copy(), np.zeros(m)
    for refinement in range(3):
        missing = _equality_residual(problem, beta, s, m)
        residual = s * problem.tau[free] - scores[at] - edge @ shift
        loop.tick()
        try:
            step = solve(np.append(residual, missing) * scale) * scale
        except LinAlgError:
            return None, scores
        if not np.all(np.isfinite(step)):
            return None, scores
        change = np.zeros(problem.n)
        change[free] = s * step[: free.size]
        beta += change
        shift += step[free.size :]
        scores = _scores_after_step(problem, loop, scores, change)
        if refinement and np.abs(step[: free.size]).max() <= 1e-14 * np.abs(beta[free]).max(initial=0.0):
            break
    return beta, scores


def _equality_residual(problem: KernelDual, beta: np.ndarray, s: np.ndarray, m: int) -> np.ndarray:
    """The amount by which the free variables must still move the equalities."""
    if not problem.nu_form:
        return np.array([problem.totals[0] - float(problem.sign @ beta)])
    plus, minus = problem.equality_residuals(beta)
    if m == 1:
        return np.array([plus if s[0] > 0 else -minus])
    return np.array([plus - minus, plus + minus])
