"""Least squares in closed form, by the cheapest road that keeps the digits.

    cholesky    (X'SX + alpha I) w = X'Sy on centred, equilibrated columns, one pass over the data; each step of refinement
                solves for the gradient of the residuals.  Good to a condition of X of 1e7: one step where the reciprocal
                condition of the equilibrated matrix (LAPACK's dpocon) is at least 1e-13, two down to 1e-15.
    dual        n < d with a penalty: (XX' + alpha I) v = y, w = X'v, n x n.
    svd         else: singular values of the triangle of a QR (tile by tile), or of X itself where that is small or wide.
                Singular values at the level of rounding count as 0, and the solution of least norm is taken.
    cg          sparse X with many columns: conjugate gradients on the normal equations in their product form (CGLS,
                Hestenes and Stiefel 1952; Bjorck 1996, 7.4), centred without filling in.  From 0 it tends to the solution of
                least norm.  The gradient is computed anew from the data before it is believed.

Hastie, Tibshirani and Friedman, The Elements of Statistical Learning, 3.2 and 3.4; Higham 2002, chapters 10 and 20.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from gapless import rows as R
from gapless.problems.least_squares import CONSTANT, LeastSquares
from gapless.rows.second_moments import centre_of, columns_of, dense_tiles, moments, triangle
from gapless.solvers.loop import Ended, Loop

#: Cholesky is trusted down to this reciprocal condition of the equilibrated matrix.
SMALLEST_RCOND = 1e-15
#: Sparse rows with more columns than this go to conjugate gradients.
MOST_COLUMNS = 1500
#: Values of X up to which it is written out densely for a singular value decomposition.
SMALL = 1 << 21
#: A column is part of a dependence where the squared length of its projection on the null space is above this; rounding of
#: the projection is some 1e-15 for each column.
NULL_SHARE = 1e-10
#: Ratio of the lengths of columns from which a decomposition of all of them as they are would lose the short ones.
UNEQUAL = 1e6


@dataclass(frozen=True, eq=False)
class Answer:
    """W (d, K) and b (K,), and what was learned on the way.

    ``condition`` is that of the equilibrated columns, as far as their rank goes, NaN where it is not known; ``weak`` has
    the right singular vectors of the singular values below the largest one / ``trusted``. ``dependent`` has the columns that
    are combinations of each other to rounding, where a target without a penalty leaves its coefficients open;
    ``note`` is what a descent that diverged has to say.
    """

    W: np.ndarray
    b: np.ndarray
    method: str
    status: str
    n_iter: int
    rank: int | None
    condition: float
    singular: np.ndarray | None = None
    weak: np.ndarray | None = None
    dependent: np.ndarray | None = None
    note: str = ""


class Clock(Loop):
    """The loop's clock and interruption, and the best answer so far."""

    reached: Answer | None = None


def solve(problem: LeastSquares, loop: Clock, *, tol: float, trusted: float = 1e8, passes: int | None = None) -> Answer:
    """The best model; where time is over before there is one, the mean (W = 0), with status ``time_limit``."""
    W, b = np.zeros((problem.d, problem.K)), problem.mean_y if problem.offset else np.zeros(problem.K)
    start = Answer(W, b + 0.0, "mean", "time_limit", 0, None, np.nan)
    try:
        loop.tick()
        return _choose(problem, loop, tol, trusted, passes)
    except Ended:
        start = loop.reached or start
        return Answer(**{**start.__dict__, "status": loop.status or "time_limit"})


def _choose(problem: LeastSquares, loop: Clock, tol: float, trusted: float, passes: int | None) -> Answer:
    n, d = problem.n, problem.d
    sparse = R.is_sparse(problem.rows)
    small = n * d <= SMALL and n * d * min(n, d) <= 40_000_000
    if problem.look is not None and (small or n < d):
        problem.look()
    if sparse and d > MOST_COLUMNS and n * d > SMALL:
        return _cg(problem, loop, tol, passes)
    if not small and n < d:
        found = _dual(problem, loop, tol) if problem.alpha.min() > 0 else None
        return found or _svd(problem, loop, trusted, whole=True)
    if not small:
        found = _cholesky(problem, loop, tol)
        if found is not None:
            return found
    return _svd(problem, loop, trusted, whole=small or n < d)


# -- normal equations ------------------------------------------------------------------------------------------------


def _cholesky(problem: LeastSquares, loop: Clock, tol: float) -> Answer | None:
    d, K, mass = problem.d, problem.K, problem.mass
    centre = centre_of(problem.rows) if problem.offset else np.zeros(d)
    centre_y = problem.mean_y if problem.offset else np.zeros(K)
    M = moments(problem.rows, problem.s, problem.Y, centre, centre_y, problem.n_jobs, loop.tick)
    if problem.look is not None and not np.isfinite(M).all():
        problem.look()
    problem.__dict__["columns"] = columns_of(centre, M[:d, -1], M[:d, :d].diagonal().copy(), mass)
    G, cross = M[:d, :d].copy(), M[:d, d : d + K].copy()
    if problem.offset:
        G -= np.outer(M[:d, -1], M[:d, -1] / mass)
        cross -= np.outer(M[:d, -1], M[d : d + K, -1] / mass)
    size = problem.columns
    constant = problem.scales() <= CONSTANT * size.raw
    if constant.any() or not np.isfinite(G).all():
        return None  # a column without variation: the least norm is for the singular values to find
    alphas = np.unique(problem.alpha)
    factors: dict[float, Any] = {}
    worst = 1.0
    for alpha in alphas.tolist():
        A = G + alpha * np.eye(d)
        scale = 1.0 / np.sqrt(A.diagonal())
        A *= scale
        A *= scale[:, None]
        loop.tick()
        factor, info = linalg.lapack.dpotrf(A, lower=1, clean=1)
        if info != 0:
            return None
        rcond, _ = linalg.lapack.dpocon(factor, np.abs(A).sum(axis=0).max(), uplo="L")
        worst = min(worst, float(rcond))
        if rcond < SMALLEST_RCOND:
            return None
        factors[alpha] = (factor, scale)

    def correct(gradient: np.ndarray) -> np.ndarray:
        out = np.empty_like(gradient)
        for alpha, (factor, scale) in factors.items():
            mine = problem.alpha == alpha
            out[:, mine] = scale[:, None] * linalg.cho_solve((factor, True), scale[:, None] * gradient[:, mine])
        return out

    W = correct(cross)
    b = centre_y - (size.mean @ W) if problem.offset else np.zeros(K)
    if problem.offset:
        b = b + M[d : d + K, -1] / mass
    steps = 1 if worst >= 1e-13 else 2
    loop.reached = Answer(W, b, "cholesky", "converged", 1, d, worst**-0.5)
    W, b, fine = _refine(problem, loop, W, b, correct, steps, tol, worst**-0.5)
    if not fine:
        return None
    singular = None
    if not R.is_sparse(problem.rows) and d <= 500:
        singular = np.sqrt(np.maximum(np.linalg.eigvalsh(G)[::-1], 0.0))
    return Answer(W, b, "cholesky", "converged", 1, d, worst**-0.5, singular)


def _refine(
    problem: LeastSquares,
    loop: Clock,
    W: np.ndarray,
    b: np.ndarray,
    correct: Any,
    steps: int,
    tol: float,
    condition: float,
    *,
    centred: bool = False,
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Newton's step from the residuals as they are, while it helps; and whether the result is orthogonal to ``tol``.

    ``centred`` residuals have less rounding; the others are those that are certified, and need no second pass.
    """

    def best_offset(W: np.ndarray) -> np.ndarray:
        return problem.mean_y - problem.columns.mean @ W if problem.offset else np.zeros(problem.K)

    def measure(W: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if centred:
            left, gradient, error = problem.centred_residuals(W, loop.tick)
        else:
            left, gradient = problem.residuals(W, b, loop.tick)
            error = problem.residual_error(W, b)
        return problem.orthogonality(left, gradient), problem.orthogonality_error(left, error), gradient

    found, noise, gradient = measure(W, b)
    for _ in range(steps):
        if (found <= np.maximum(0.01 * noise, 1e-12 / condition)).all():
            break
        step = correct(gradient[:-1])
        shift = gradient[-1] / problem.mass - problem.columns.mean @ step if problem.offset else 0.0
        moved = best_offset(W + step) if centred else b + shift
        new = measure(W + step, moved)
        better = new[0] < found
        if not better.any():
            break
        W, b = np.where(better, W + step, W), np.where(better, moved, b)
        found, noise = np.where(better, new[0], found), np.where(better, new[1], noise)
        gradient = np.where(better, new[2], gradient)
    return W, b, bool((found <= min(tol, 1e-9) + noise).all())


# -- n < d -----------------------------------------------------------------------------------------------------------


def _dense(problem: LeastSquares) -> tuple[np.ndarray, np.ndarray]:
    """S^(1/2) (X - mean) and S^(1/2) (Y - mean), written out."""
    A = np.vstack([t for _, t in dense_tiles(problem.rows, max(1, R.BLOCK_ROWS))] or [np.zeros((0, problem.d))])
    B = problem.Y.astype(np.float64, copy=True)
    if problem.offset:
        # Through a typical value, which is exact for constant columns.
        centre = np.median(A[: A.shape[0] - 1 + A.shape[0] % 2], axis=0) if A.shape[0] else 0.0
        A -= centre
        s = np.ones(problem.n) if problem.s is None else problem.s
        A -= s @ A / problem.mass
        B -= problem.mean_y
    if problem.s is not None:
        root = np.sqrt(problem.s)[:, None]
        A *= root
        B *= root
    return A, B


def _dual(problem: LeastSquares, loop: Clock, tol: float) -> Answer | None:
    A, B = _dense(problem)
    loop.tick()
    K = A @ A.T
    top = float(np.abs(K).sum(axis=0).max())
    factors, worst = {}, 1.0
    for alpha in np.unique(problem.alpha).tolist():
        factor, info = linalg.lapack.dpotrf(K + alpha * np.eye(problem.n), lower=1, clean=1)
        if info != 0:
            return None
        rcond, _ = linalg.lapack.dpocon(factor, top + alpha, uplo="L")
        worst = min(worst, float(rcond))
        factors[alpha] = factor
    if worst < SMALLEST_RCOND:
        return None

    def correct(gradient: np.ndarray) -> np.ndarray:
        # (A'A + alpha I)^-1 g = (g - A'(AA' + alpha I)^-1 A g) / alpha
        out = np.empty_like(gradient)
        for alpha, factor in factors.items():
            g = gradient[:, problem.alpha == alpha]
            out[:, problem.alpha == alpha] = (g - A.T @ linalg.cho_solve((factor, True), A @ g)) / alpha
        return out

    W = np.empty((problem.d, problem.K))
    for alpha, factor in factors.items():
        mine = problem.alpha == alpha
        W[:, mine] = A.T @ linalg.cho_solve((factor, True), B[:, mine])
    b = problem.mean_y - problem.columns.mean @ W if problem.offset else np.zeros(problem.K)
    W, b, fine = _refine(problem, loop, W, b, correct, 2, tol, worst**-0.5)
    # The rank of X is not asked for: with a penalty the solution is unique.
    return Answer(W, b, "cholesky", "converged", 1, None, worst**-0.5) if fine else None


# -- singular values -------------------------------------------------------------------------------------------------


def _svd(problem: LeastSquares, loop: Clock, trusted: float, *, whole: bool) -> Answer:
    n, d = problem.n, problem.d
    size = problem.columns
    scale = problem.scales()
    constant = scale <= CONSTANT * size.raw if problem.offset else scale == 0.0
    scale = np.where(constant, 1.0, scale)
    if whole:
        A, B = _dense(problem)
        A /= scale
    else:
        centre = size.mean if problem.offset else None
        T = triangle(problem.rows, problem.s, problem.Y, centre, problem.mean_y * problem.offset, scale, loop.tick)
        A, B = T[:d, :d], T[:d, d:]
    A[:, constant] = 0.0
    loop.tick()
    try:
        U, sigma, Vt = linalg.svd(A, full_matrices=False, check_finite=False)
    except linalg.LinAlgError:
        U, sigma, Vt = linalg.svd(A, full_matrices=False, check_finite=False, lapack_driver="gesvd")
    kept = sigma > max(n, d) * np.finfo(float).eps * (sigma[0] if sigma.size else 0.0)
    kept[max(n - problem.offset, 0) :] = False  # centred rows add up to 0: one less can be independent
    rank = int(kept.sum())
    U, sigma, Vt = U[:, kept], sigma[kept], Vt[kept]
    Vt[:, constant] = 0.0  # exactly, not by rounding
    plain = problem.alpha == 0.0
    dependent = None
    # A constant column has the coefficient 0, whatever the others are; where rows are too few, no columns are to be named.
    if plain.any() and rank < d - int(constant.sum()) <= n - problem.offset:
        dependent = np.flatnonzero((1.0 - np.square(Vt).sum(axis=0) > NULL_SHARE) & ~constant)
    parts: list[tuple[np.ndarray, _Part]] = []
    if plain.any():
        parts.append((plain, _without_penalty(U, sigma, Vt, B[:, plain], scale, trusted)))
    if not plain.all():
        own = scale[~constant]
        if own.size and own.max() > UNEQUAL * own.min():
            parts += [
                (problem.alpha == a, _penalised_by_columns(A, B[:, problem.alpha == a], float(a), scale, constant))
                for a in np.unique(problem.alpha[~plain])
            ]
        else:
            spread = float(sigma[0] / sigma[-1]) if rank == d else np.inf
            parts.append(
                (~plain, _penalised(A * scale, B[:, ~plain], problem.alpha[~plain], constant, spread, trusted))
            )
    W = np.empty((d, problem.K))
    for mine, part in parts:
        W[:, mine] = part.W
    worst = max((part for _, part in parts), key=lambda part: part.condition)
    condition, weak = worst.condition, worst.weak

    def correct(gradient: np.ndarray) -> np.ndarray:
        out = np.empty_like(gradient)
        for mine, part in parts:
            out[:, mine] = part.correct(gradient[:, mine])
        return out

    b = problem.mean_y - size.mean @ W if problem.offset else np.zeros(problem.K)
    loop.reached = Answer(W, b, "svd", "converged", 1, rank, condition)
    W, b, _ = _refine(problem, loop, W, b, correct, 2, 1.0, condition, centred=True)
    singular = None
    if not R.is_sparse(problem.rows):
        singular = linalg.svdvals(A * scale, check_finite=False)
    return Answer(
        W, b, "svd", "converged", 1, rank, condition, singular, weak if condition > trusted else None, dependent
    )


class _Part(NamedTuple):
    """The solution of some targets, what solves for their gradient, and how far it can be trusted."""

    W: np.ndarray
    correct: Callable[[np.ndarray], np.ndarray]
    condition: float
    weak: np.ndarray | None


def _without_penalty(
    U: np.ndarray, sigma: np.ndarray, Vt: np.ndarray, B: np.ndarray, scale: np.ndarray, trusted: float
) -> _Part:
    """From the singular values of the scaled columns that count; of least norm where the columns are dependent."""
    deficient = len(sigma) < len(scale) and np.ptp(scale) > 0.0

    def least(W: np.ndarray) -> np.ndarray:
        return _least_norm(W, Vt, scale) if deficient else W

    def correct(gradient: np.ndarray) -> np.ndarray:
        return least(Vt.T @ ((Vt @ (gradient / scale[:, None])) / sigma[:, None] ** 2) / scale[:, None])

    W = least((Vt.T @ ((U.T @ B) / sigma[:, None])) / scale[:, None])
    if not len(sigma):
        return _Part(W, correct, 1.0, None)
    return _Part(W, correct, float(sigma[0] / sigma[-1]), Vt[sigma * trusted < sigma[0]])


def _penalised(
    A: np.ndarray, B: np.ndarray, alpha: np.ndarray, constant: np.ndarray, spread: float, trusted: float
) -> _Part:
    """The penalty is on w itself: from the singular values of the columns as they are."""
    U, own, Vt = linalg.svd(A, full_matrices=False, check_finite=False)
    Vt[:, constant] = 0.0
    below = own[:, None] ** 2 + alpha

    def correct(gradient: np.ndarray) -> np.ndarray:
        return Vt.T @ ((Vt @ gradient) / below)

    W = Vt.T @ (own[:, None] / below * (U.T @ B))
    least = float(alpha.min())
    low = float(own[-1]) ** 2 if own.size == A.shape[1] else 0.0
    top = float(own[0]) ** 2 if own.size else 0.0
    # A spread of scales is no trouble, neither is a penalty: what matters is the better of the two views.
    condition = min(((top + least) / (low + least)) ** 0.5, spread)
    return _Part(W, correct, condition, Vt[(own**2 + least) * trusted**2 < top + least])


def _penalised_by_columns(A: np.ndarray, B: np.ndarray, alpha: float, scale: np.ndarray, constant: np.ndarray) -> _Part:
    """Columns of very different length: the singular values of one would be the rounding of another.  A triangle of columns of
    length one, the penalty's rows below them, has them all."""
    below = np.diag(np.sqrt(alpha) / scale)
    Q, T = linalg.qr(np.concatenate([A, below]), mode="economic", check_finite=False)
    W = linalg.solve_triangular(T, Q[: A.shape[0]].T @ B, check_finite=False) / scale[:, None]
    W[constant] = 0.0

    def correct(gradient: np.ndarray) -> np.ndarray:
        half = linalg.solve_triangular(T, gradient / scale[:, None], trans="T", check_finite=False)
        step = linalg.solve_triangular(T, half, check_finite=False) / scale[:, None]
        step[constant] = 0.0
        return step

    values = linalg.svdvals(T, check_finite=False)
    return _Part(W, correct, float(values[0] / values[-1]), np.empty((0, A.shape[1])))


def _least_norm(W: np.ndarray, Vt: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """W less its part in the null space of X: its rows span what Vt diag(scale) spans."""
    basis = np.linalg.qr((Vt * scale).T)[0]
    return basis @ (basis.T @ W)


# -- conjugate gradients -----------------------------------------------------------------------------------------------


def _cg(problem: LeastSquares, loop: Clock, tol: float, passes: int | None) -> Answer:
    n, d, K = problem.n, problem.d, problem.K
    rows = problem.rows._replace(constant=0.0)
    mean = problem.columns.mean if problem.offset else np.zeros(d)
    s = np.ones(n) if problem.s is None else problem.s
    most = 10 * min(n, d) + 1000 if passes is None else passes
    W, b = np.zeros((d, K)), problem.mean_y if problem.offset else np.zeros(K)
    aim = min(tol * 1e-4, 1e-10)
    n_iter, status = 0, "converged"

    def forward(v: np.ndarray) -> np.ndarray:
        return R.scores(rows, np.append(v, 0.0), loop.tick) - mean @ v

    def backward(t: np.ndarray) -> np.ndarray:
        t = s * t
        return R.combine(rows, t, loop.tick)[:-1] - mean * t.sum()

    for k in range(K):
        alpha = float(problem.alpha[k])
        w, y = np.zeros(d), problem.Y[:, k] - b[k]
        length = problem.scales().max(initial=0.0)
        done = 0
        for _ in range(20):  # each round starts from the true residuals
            r = y - forward(w)
            g = backward(r) - alpha * w
            p, square = g.copy(), float(g @ g)
            goal = aim * length * float(np.sqrt(s @ (r * r)))
            if square**0.5 <= goal or done >= most:
                break
            begun = square
            while done < most:
                q = forward(p)
                below = float(s @ (q * q)) + alpha * float(p @ p)
                if below <= 0.0 or square == 0.0:
                    break
                step = square / below
                w = w + step * p
                r = r - step * q
                g = backward(r) - alpha * w
                done += 1
                new = float(g @ g)
                if new**0.5 <= 0.5 * goal:
                    break
                p = g + (new / square) * p
                square = new
            if float(g @ g) > 0.25 * begun:
                break  # rounding: no round will do better
            W[:, k] = w
            so_far = _offset(problem, W, mean)
            loop.reached = Answer(W, so_far, "sparse_cg", "converged", done, None, np.nan)
        W[:, k] = w
        status = "max_iter" if done >= most else status
        n_iter = max(n_iter, done)
    return Answer(W, _offset(problem, W, mean), "sparse_cg", status, max(n_iter, 1), None, np.nan)


def _offset(problem: LeastSquares, W: np.ndarray, mean: np.ndarray) -> np.ndarray:
    return problem.mean_y - mean @ W if problem.offset else np.zeros(problem.K)
