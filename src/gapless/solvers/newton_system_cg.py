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

from gapless.problems.examples.protocol import Examples, Handle
from gapless.solvers.newton_system import FACTORED_COLUMNS, SINGLE_PRECISION_MASS


class NewtonSystemCG:
    """Solves one Newton system after the other; ``factor`` may come from a smaller copy of the problem."""

    def __init__(self, problem: Examples, tick: Callable[[], None] | None = None) -> None:
        self.problem, self.tick = problem, tick
        self.direct = problem.d + 1 <= FACTORED_COLUMNS
        self.precondition: Callable[[np.ndarray], np.ndarray] | None = None
        self.whole = False
        self.stale = True
        self.products = 0

    def solve(self, h: Handle, right: np.ndarray, offset_ridge: float, residual: float) -> np.ndarray:
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
        share = self.problem.count(h) / max(1, self.problem.n)
        self.stale = bool(iterations * share * self.problem.curve_cost > self.factor_cost)
        return step

    def _renew(self, h: Handle, ridge: np.ndarray) -> None:
        self.stale = False
        problem, d = self.problem, ridge.size
        if not self.direct:
            # The mean of the diagonal, less the penalty's 1: up to 0.01 the preconditioner is not worth a pass over the data.
            if not problem.free and problem.weigh_norms2(h) <= 0.01 * d:
                self.precondition = np.copy
            else:
                diagonal = problem.squares(h, self.tick) + ridge
                self.precondition = lambda v: v / diagonal
            self.factor_cost = 3.0 * problem.curve_cost  # a diagonal says less than a factor does, and changes less
            return
        n, mass = problem.n, problem.sum(h)
        size = max(8 * d, n // 8)
        size = n if self.whole else min(n, size)
        self.factor_cost = problem.gram_cost(size) + 0.02 * d**3
        single = mass * problem.R2 <= SINGLE_PRECISION_MASS
        if size < n:
            matrix, seen = problem.gram_of_sample(h, size, self.tick, single=single)
            matrix *= mass / seen if seen > 0.0 else 1.0
        else:
            matrix = problem.gram(h, None, self.tick, single=single)
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

    def _apply(self, h: Handle, ridge: np.ndarray, x: np.ndarray) -> np.ndarray:
        self.products += 1
        if self.products == 12:  # so many repay a copy of the rows in less memory
            self.problem.use_fast_copy()
        return ridge * x + self.problem.curve(h, x, self.tick)

    def _iterate(
        self, h: Handle, right: np.ndarray, ridge: np.ndarray, enough: float, most: int
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
