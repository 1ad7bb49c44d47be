"""Least squares of sparse rows by conjugate gradients on the normal equations in their product form (CGLS)."""

from __future__ import annotations

import numpy as np

from gapless import rows as R
from gapless.problems.least_squares import LeastSquares
from gapless.solvers.least_squares.answer import Answer, Clock


def solve_by_conjugate_gradients(problem: LeastSquares, loop: Clock, tol: float, passes: int | None) -> Answer:
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
