"""The Newton step of softmax where examples are fewer than features: matrices of the examples' size, one for each class.

With u = -c l' the data act on the scores alone.  Let D_k = diag(c p_k) and L the Hessian of the loss in the scores; then

    L = D - D R (R'D R)^-1 R'D         R stacks K identities: the probabilities of an example sum to 1
    step = r - X'A,    A = (L^-1 + G)^-1 (X r),    G = X X',

and that inverse, which is there where L has none, comes of n x n matrices:

    E_k = D_k^1/2 (I + D_k^1/2 G D_k^1/2)^-1 D_k^1/2,      A_k = E_k (v_k - m),      (sum_k E_k) m = sum_k E_k v_k

(Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, section 3.5).  K n^3 multiplications take the place of
(K d)^3.  An offset t_k that is penalised by rho has the Schur complement  rho I + 1'(L^-1 + G)^-1 1  of K numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.blas import dsymm
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from gapless import rows as R
from gapless.problems.examples.protocol import Handle, SoftmaxExamples

Map = Callable[[np.ndarray], np.ndarray]


class ExamplesInverse:
    """The inverse of the Hessian at points of one problem; it holds K matrices of the examples' size."""

    def __init__(self, problem: SoftmaxExamples, ridge: np.ndarray, tick: Callable[[], None]) -> None:
        taken = problem.take(problem.c, None)
        self.problem, self.rows, self.tick, self.rho = problem, taken.rows, tick, float(ridge[-1])
        self.k = problem.constant
        self.G = R.row_products(taken.rows, np.arange(problem.n), tick)
        self.G -= self.k * self.k  # the offset has a way of its own

    def at(self, point: Handle) -> Map:
        """right (K, d + 1) -> the Newton step there."""
        shares, K, n = self.problem.shares(point), self.problem.K, self.problem.n
        total, parts, ones = np.zeros((n, n), order="F"), [], np.empty((n, K))
        for k in range(K):
            part = self._part(np.sqrt(shares[:, k]))
            parts.append(part)
            total += part
            ones[:, k] = _times(part, np.ones(n))
            self.tick()
        factor = _factor(total)
        between = dpotrs(factor, ones, lower=1)[0]
        schur = np.diag(ones.sum(axis=0)) - ones.T @ between
        schur = 0.5 * self.k * self.k * (schur + schur.T)
        schur[np.diag_indices(K)] += self.rho

        def solve_scores(V: np.ndarray) -> np.ndarray:
            sums = np.zeros(n)
            for k in range(K):
                sums += _times(parts[k], V[:, k])
            m = dpotrs(factor, sums, lower=1)[0]
            return np.column_stack([_times(parts[k], V[:, k] - m) for k in range(K)])

        def solve(right: np.ndarray) -> np.ndarray:
            own = right.copy()
            own[:, -1] = 0.0
            A = solve_scores(R.scores_many(self.rows, own, self.tick))
            if self.k == 0.0:
                step = own - R.combine_many(self.rows, A, self.tick)
                step[:, -1] = right[:, -1] / self.rho
                return step
            offsets = np.linalg.solve(schur, right[:, -1] - self.k * A.sum(axis=0))
            # A of the scores that the offsets add: X r + k t - ... is linear in t
            A += self.k * (ones * offsets - _mixed(parts, between, offsets))
            step = own - R.combine_many(self.rows, A, self.tick)
            step[:, -1] = offsets
            return step

        return solve

    def _part(self, root: np.ndarray) -> np.ndarray:
        """E_k; only its lower triangle counts."""
        B = self.G * root[:, None]
        B *= root[None, :]
        B[np.diag_indices_from(B)] += 1.0
        inverse, failed = dpotri(_factor(B.T), lower=1, overwrite_c=1)
        if failed:
            raise FloatingPointError("the system of the Newton step is not positive definite")
        inverse *= root[:, None]
        inverse *= root[None, :]
        return inverse


def _mixed(parts: list[np.ndarray], between: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """E_k m for the m that belongs to these offsets."""
    m = between @ offsets
    return np.column_stack([_times(part, m) for part in parts])


def _times(part: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A symmetric matrix, of which the lower triangle is there, times v."""
    return dsymm(1.0, part, v[:, None], side=0, lower=1)[:, 0]


def _factor(matrix: np.ndarray) -> np.ndarray:
    """Its Cholesky factor, below; where rounding has taken its last digits, of the matrix with a little more on the diagonal."""
    top = float(matrix.diagonal().max())
    for share in (0.0, 1e-15, 1e-13, 1e-11, 1e-9):
        shifted = matrix if share == 0.0 else matrix + share * top * np.eye(len(matrix))
        factor, failed = dpotrf(shifted, lower=1, clean=0)
        if not failed:
            return factor
    raise LinAlgError("not positive definite")
