"""The Newton system by conjugate gradients, preconditioned by the curvature of a sample of the rows.

    (R + X' diag(h) X) step = right        R = identity, but `offset_ridge` for the constant feature

The matrix is never written out.  A product with it reads the data once.  The preconditioner is the Cholesky factor of the
same matrix over every eighth row or so, weights scaled up: for m rows drawn at random the two differ by sqrt(d/m), so that an
iteration gains a digit or more, whatever the scale of the columns.  It is kept from step to step, since the curvature changes
slowly near the optimum, and drawn again where keeping it costs more than a new one.  Where there are too many columns for a
factor the diagonal stands in.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from gapless import rows as R
from gapless.problems.linear import LinearProblem
from gapless.rows.products import curved_cost
from gapless.rows.weighted_gram import gram_cost
from gapless.solvers.newton_system import FACTORED_COLUMNS, SINGLE_PRECISION_MASS


class NewtonSystemCG:
    """Solves one Newton system after the other; ``factor`` may come from a smaller copy of the problem."""

    def __init__(self, problem: LinearProblem, tick: Callable[[], None] | None = None) -> None:
        self.problem, self.tick = problem, tick
        self.direct = problem.d + 1 <= FACTORED_COLUMNS
        self.precondition: Callable[[np.ndarray], np.ndarray] | None = None
        self.whole = False
        self.stale = True
        self.products = 0

    def solve(self, h: np.ndarray, right: np.ndarray, offset_ridge: float, residual: float) -> np.ndarray:
        """The step, until the residual is shorter than ``residual``."""
        patience, most = 60, 500  # iterations, before the matrix of all rows is written out; and where it cannot be
        ridge = np.ones(right.size)
        ridge[-1] = offset_ridge
        fresh = self.precondition is None or self.stale
        if fresh:
            self._renew(h, ridge)
        step, left, iterations = self._iterate(h, right, ridge, residual, patience if self.direct else most)
        if left > residual and self.direct and not (fresh and self.whole):
            # The curvature has changed, or rows that the sample missed weigh too much: all of them, now.
            self.whole = fresh
            self._renew(h, ridge)
            rest, _, _ = self._iterate(h, right - self._apply(h, ridge, step), ridge, residual, most)
            step = step + rest
        share = float(np.count_nonzero(h)) / max(1, h.size)
        self.stale = bool(iterations * share * curved_cost(self.problem.rows) > self.factor_cost)
        return step

    def _renew(self, h: np.ndarray, ridge: np.ndarray) -> None:
        self.stale = False
        rows, d = self.problem.rows, ridge.size
        if not self.direct:
            # The mean of the diagonal, less the penalty's 1: up to 0.01 the preconditioner is not worth a pass over the data.
            if not self.problem.free and float(h @ self.problem.norms2) <= 0.01 * d:
                self.precondition = np.copy
            else:
                diagonal = R.squares(rows, h, self.tick) + ridge
                self.precondition = lambda v: v / diagonal
            self.factor_cost = 3.0 * curved_cost(rows)  # a diagonal says less than a factor does, and changes less
            return
        size, grown = max(8 * d, h.size // 8), 1.0
        # A copy: kernels are compiled for arrays that may be written to.
        part = R.sample(h.size, size).copy() if size < h.size and not self.whole else np.arange(h.size)
        seen = float(h[part].sum())
        if seen > 0.0:
            grown = float(h.sum()) / seen
        self.factor_cost = gram_cost(rows, part.size) + 0.02 * d**3
        single = float(h.sum()) * self.problem.R2 <= SINGLE_PRECISION_MASS
        matrix = R.gram(rows, h, part, self.tick, single)
        matrix *= grown
        matrix[np.diag_indices(d)] += ridge
        scale = 1.0 / np.sqrt(np.diag(matrix))
        matrix *= scale[:, None] * scale[None, :]
        shift = 0.0
        for _ in range(12):
            matrix[np.diag_indices(d)] += shift
            factor, failed = dpotrf(matrix, lower=1, clean=0)
            if not failed:
                break
            shift = max(1e-15, 10.0 * shift)
        else:
            raise FloatingPointError("the system of the Newton step is not positive definite")
        self.precondition = lambda v: dpotrs(factor, v * scale, lower=1)[0] * scale

    def _apply(self, h: np.ndarray, ridge: np.ndarray, x: np.ndarray) -> np.ndarray:
        self.products += 1
        if self.products == 12:  # so many repay a copy of the rows in less memory
            self.problem.use_fast_copy()
        return ridge * x + R.curved(self.problem.pass_rows, h, x, self.tick)

    def _iterate(
        self, h: np.ndarray, right: np.ndarray, ridge: np.ndarray, enough: float, most: int
    ) -> tuple[np.ndarray, float, int]:
        """The solution so far, the length of its residual, and the number of products."""
        assert self.precondition is not None
        x = np.zeros_like(right)
        residual = right.copy()
        z = self.precondition(residual)
        p = z.copy()
        rho = float(residual @ z)
        for k in range(most):
            q = self._apply(h, ridge, p)
            curvature = float(p @ q)
            if not curvature > 0.0:
                return x, 0.0, k  # rounding is all that is left
            a = rho / curvature
            x += a * p
            residual -= a * q
            left = float(np.linalg.norm(residual))
            if left <= enough:
                return x, left, k + 1
            z = self.precondition(residual)
            rho, old = float(residual @ z), rho
            p = z + (rho / old) * p
        return x, left, most
