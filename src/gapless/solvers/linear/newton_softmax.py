"""Newton's method for multinomial logistic regression, any offset.

    minimise  P(W, b) = 1/2 |W|^2 + sum_i c_i [ln sum_k e^(z_ik) - z_iy_i]

The Hessian couples the classes: its block (k, l) is  sum_i c_i (p_ik [k = l] - p_ik p_il) x_i x_i',  plus the penalty.  Where
K(d + 1) is small it is written out and factored; beyond, conjugate gradients need only two products with the data a step,
preconditioned by the diagonal blocks.  With a free offset P does not change along b + t: that direction gets a small
ridge, and the b returned sums to 0.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from gapless import rows as R
from gapless.problems.multinomial import Multinomial
from gapless.solvers.line_search import find_step_length
from gapless.solvers.linear.newton_point import NewtonProgress, is_worth_a_step
from gapless.solvers.linear.thresholds import LINEAR_THRESHOLDS
from gapless.solvers.loop import Loop
from gapless.solvers.newton_system import FACTORED_COLUMNS, conjugate_gradients


def newton_softmax(problem: Multinomial, loop: Loop, start: np.ndarray | None = None) -> None:
    """Record points in ``loop``; go on beyond the tolerance while steps still pay."""
    theta = np.zeros((problem.K, problem.d + 1)) if start is None else start.copy()
    progress, first = NewtonProgress(), None
    while True:
        Z = problem.scores(theta, loop.tick)
        P, loss = problem.probabilities(Z)
        primal = problem.penalty(theta) + loss
        U = problem.dual_of(P)
        combined = problem.combine(U, loop.tick)
        gradient = problem.gradient(theta, -combined)
        dual = problem.dual(U, primal, combined)
        price = problem.offset_bound(primal) * float(np.abs(U.sum(axis=0)).sum()) if problem.free else 0.0
        if price > 0.1 * (primal - dual):
            # Where sum u is not 0 its price hides the gap: balance the offsets first, for the dual point only.
            balanced = problem.dual_from_primal(theta, Z)
            lifted = problem.dual(balanced, primal)
            if lifted > dual:
                U, dual = balanced, lifted
        gap = primal - dual
        loop.record(theta, U, primal, dual, ends=False)
        if not is_worth_a_step(problem, loop, gap, progress.gap) or progress.has_stalled(gap, primal):
            return
        size = float(np.linalg.norm(gradient))
        first = size if first is None else first
        step = _solve(problem, loop, P, -gradient, min(0.1, np.sqrt(size / first)) if first > 0 else 0.1)
        if problem.rows.constant == 0.0:
            step[:, -1] = 0.0
        t = _search(problem, theta, step, Z, problem.scores(step, loop.tick))
        if t == 0.0:
            return
        theta = theta + t * step
        if problem.free:
            theta[:, -1] -= theta[:, -1].mean()
        loop.advance()


def _solve(problem: Multinomial, loop: Loop, P: np.ndarray, right: np.ndarray, tolerance: float) -> np.ndarray:
    K, m = problem.K, problem.d + 1
    ridge = np.ones(m)
    if problem.free:
        ridge[-1] = 1e-9 * float(problem.c.sum()) / K  # P does not change along b + t
    if K * m <= FACTORED_COLUMNS and 0.5 * problem.n * float(K * m) ** 2 <= LINEAR_THRESHOLDS.softmax_multiplications:
        H = _hessian(problem, loop, P)
        H[np.diag_indices(K * m)] += np.tile(ridge, K)
        scale = 1.0 / np.sqrt(np.diag(H))
        H *= scale[:, None]
        H *= scale[None, :]
        flat = right.ravel() * scale
        for shift in (0.0, 1e-14, 1e-12, 1e-10):
            try:
                factor = cho_factor(H + shift * np.eye(K * m) if shift else H, lower=True, check_finite=False)
            except LinAlgError:
                continue
            x = cho_solve(factor, flat, check_finite=False)
            x += cho_solve(factor, flat - H @ x, check_finite=False)
            return (x * scale).reshape(K, m)
        raise FloatingPointError("the Hessian is not positive definite")
    return _solve_by_products(problem, loop, P, right, ridge, tolerance)


def _hessian(problem: Multinomial, loop: Loop, P: np.ndarray) -> np.ndarray:
    K, m = problem.K, problem.d + 1
    every = np.arange(problem.n)
    H = np.empty((K * m, K * m))
    for k in range(K):
        weighted = problem.c * P[:, k]
        for j in range(k + 1):
            if j == k:
                block = R.gram(problem.rows, weighted * (1.0 - P[:, k]), every, loop.tick)
            else:
                block = -R.gram(problem.rows, weighted * P[:, j], every, loop.tick)
            H[k * m : (k + 1) * m, j * m : (j + 1) * m] = block
            H[j * m : (j + 1) * m, k * m : (k + 1) * m] = block.T
    return H


def _solve_by_products(
    problem: Multinomial, loop: Loop, P: np.ndarray, right: np.ndarray, ridge: np.ndarray, tolerance: float
) -> np.ndarray:
    precondition = _preconditioner(problem, loop, P, ridge)

    def apply(V: np.ndarray) -> np.ndarray:
        S = problem.scores(V, loop.tick)
        PS = P * S
        T = (PS - P * PS.sum(axis=1, keepdims=True)) * problem.c[:, None]
        return ridge * V + problem.combine(T, loop.tick)

    return conjugate_gradients(
        apply, precondition, right, tolerance, most=500, product=lambda a, b: float(np.sum(a * b))
    )


def _preconditioner(problem: Multinomial, loop: Loop, P: np.ndarray, ridge: np.ndarray):
    K, m = problem.K, problem.d + 1
    every = np.arange(problem.n)
    if (
        m <= LINEAR_THRESHOLDS.softmax_block_columns
        and problem.n * float(m) ** 2 * K <= LINEAR_THRESHOLDS.softmax_multiplications
    ):
        factors = []
        for k in range(K):
            block = R.gram(problem.rows, problem.c * P[:, k] * (1.0 - P[:, k]), every, loop.tick)
            block[np.diag_indices(m)] += ridge + 1e-12 * np.diag(block).max()
            factors.append(cho_factor(block, lower=True, check_finite=False))
        return lambda V: np.stack([cho_solve(f, v, check_finite=False) for f, v in zip(factors, V)])
    diagonal = np.stack([R.squares(problem.rows, problem.c * P[:, k] * (1.0 - P[:, k])) + ridge for k in range(K)])
    return lambda V: V / diagonal


def _search(problem: Multinomial, theta: np.ndarray, step: np.ndarray, Z: np.ndarray, along: np.ndarray) -> float:
    """The t near 1 at which dP/dt has lost at least half of its size."""
    linear, square = problem.penalty_along(theta, step)
    own = along[np.arange(problem.n), problem.y]

    def slope_and_curvature(t: float) -> tuple[float, float]:
        P, _ = problem.probabilities(Z + t * along)
        mean = np.sum(P * along, axis=1)
        spread = np.sum(P * along * along, axis=1) - mean * mean
        return linear + t * square + float(problem.c @ (mean - own)), square + float(problem.c @ spread)

    return find_step_length(slope_and_curvature)
