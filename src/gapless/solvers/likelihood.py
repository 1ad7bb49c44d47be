"""Newton's method for logistic regression without a penalty, two classes or K, with or without an offset.

    minimise  F(W, b) = sum_i c_i l_i                 (`problems/likelihood`)

Each step solves H step = -g in coordinates in which the columns are orthonormal under the weights (so that neither units nor
collinear columns matter: what they leave undetermined is not among the coordinates) and walks to where the slope along it
is nearly zero.  It ends as

    converged    the bound on F - F* that the gradient proves is at most tol F
    infeasible   every row is on its right side and the loss is down to tol of its start: the classes are separated, F tends to 0
                 along this very model and has no minimum
    stalled      the decrement is down to rounding without such a proof: what is left falls by a constant factor a step, as it
                 does where some rows are separated from the others (quasi-separation) or the overlap is too small to see
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from gapless.problems.likelihood import Likelihood, bound
from gapless.solvers.line_search import find_step_length
from gapless.solvers.loop import SMALL_FIT_VALUES, Loop, Stop, Watch
from gapless.solvers.newton_system import FACTORED_COLUMNS
from gapless.solvers.solution import Solution, Status


class _Reached:
    """The best model so far: the lowest loss or, where losses differ by rounding only, the smallest decrement."""

    def __init__(self, theta: np.ndarray) -> None:
        self.theta, self.loss, self.lam2 = theta, np.inf, np.inf

    def offer(self, theta: np.ndarray, loss: float, lam2: float) -> None:
        room = 1e-13 * abs(loss)
        if loss < self.loss - room or (loss <= self.loss + room and lam2 < self.lam2):
            self.theta, self.loss, self.lam2 = theta, loss, lam2


def solve_likelihood(
    problem: Likelihood, stop: Stop, *, start: np.ndarray | None = None, watch: Watch = Watch()
) -> Solution:
    """``start`` is a theta in the coordinates of the basis. The solution has no dual point: its u is empty."""
    loop = Loop(stop, watch)
    reached = _Reached(problem.start() if start is None else start)
    with np.errstate(all="ignore"), loop.catch_end():
        newton_likelihood(problem, loop, reached)
    status: Status = loop.status or "stalled"
    return Solution(reached.theta, np.zeros(0), status, loop.n_iter, loop.seconds, "newton", loop.history)


def too_large(problem: Likelihood) -> bool:
    """Whether the Hessian is beyond what is factored."""
    return problem.S * problem.basis.width > FACTORED_COLUMNS


def newton_likelihood(problem: Likelihood, loop: Loop, reached: _Reached) -> None:
    """Step until the loop ends; ``reached`` holds the best point."""
    proof_share = 1e-10  # lam^2 / F from which a proof is tried, however small tol is
    floor = 1e-12  # lam^2, over the loss or the largest weight of a row, below which a decrement gets no proof
    sharp = 1e-26  # lam^2 / F below which a proved decrement cannot be improved
    fine = 1e-6  # lam^2 at which a large fit stops: coefficients are within a thousandth of their standard errors
    tol, theta = loop.stop.relative_gap, reached.theta
    empty = float(problem.c.sum()) * float(np.log(problem.K))
    heaviest = float(problem.c.max())
    small = problem.n * (problem.d + 1) <= SMALL_FIT_VALUES
    before = np.inf
    while True:
        Z = problem.scores(theta, loop.tick)
        look = problem.look(Z, loop.tick)
        loop.record(theta, np.zeros(0), look.loss, -np.inf, ends=False)
        if not (np.isfinite(look.loss) and np.isfinite(look.hessian).all()):
            loop.end("not_finite")
        L = _factor(look.hessian)
        half = linalg.solve_triangular(L, look.gradient, lower=True, check_finite=False)
        lam2 = float(half @ half)
        reached.offer(theta, look.loss, lam2)
        if look.margin > 0.0 and look.loss <= min(tol, 0.1) * empty:
            loop.end("infeasible")
        if lam2 <= max(tol, proof_share) * look.loss:
            inverse = linalg.solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False)
            reach = problem.widest(inverse, loop.tick) * lam2**0.5
            if reach < 1.0:
                enough = bound(lam2**0.5, reach, look.loss) <= tol * look.loss
                # From a reach of 0.1 on a step leaves a tenth of the decrement at most, but for rounding.
                stuck = (reach < 0.1 and lam2 > 0.25 * before) or lam2 <= sharp * look.loss
                if stuck or (enough and not small and lam2 <= fine):
                    loop.end("converged" if enough else "stalled")
                before = lam2
            elif lam2 <= floor * min(look.loss, heaviest):
                loop.end("infeasible" if look.margin > 0.0 else "stalled")
        if loop.n_iter >= loop.stop.passes:
            loop.end("max_iter")
        step = -linalg.solve_triangular(L.T, half, lower=False, check_finite=False).reshape(theta.shape)
        along = problem.scores(step, loop.tick)
        t = find_step_length(_slope_and_bend(problem, Z, along))
        if t == 0.0:
            loop.end("stalled")
        theta = theta + t * step
        loop.advance()


def _factor(H: np.ndarray) -> np.ndarray:
    """The Cholesky factor; where rounding makes H indefinite, of H with a little more on its diagonal."""
    lift = 0.0
    for _ in range(6):
        try:
            return np.asarray(np.linalg.cholesky(H + lift * np.eye(len(H)) if lift else H))
        except np.linalg.LinAlgError:
            lift = max(100.0 * lift, 1e-15 * float(np.trace(H)))
    raise FloatingPointError("the Hessian is not positive definite")


def _slope_and_bend(problem: Likelihood, Z: np.ndarray, along: np.ndarray) -> Callable[[float], tuple[float, float]]:
    rows_at_once = 1 << 16

    def at(t: float) -> tuple[float, float]:
        slope = bend = 0.0
        for i in range(0, problem.n, rows_at_once):
            part = slice(i, i + rows_at_once)
            v = along[part]
            moved = Z[part] + t * v
            slope += float(np.sum(problem.slopes(moved, part) * v))
            for a, b, w in problem.bends(moved, part):
                bend += (2.0 if a != b else 1.0) * float(w @ (v[:, a] * v[:, b]))
        return slope, bend

    return at
