"""The linear system of every second-order step here.

    (R + sum over i in M of d_i x_i x_i') step = right        R = identity, but `offset_ridge` for the constant feature

Three ways: a (d + 1) x (d + 1) Cholesky factor; one of size |M| through Woodbury's identity where |M| < d; conjugate
gradients where both are large.  Scaling by the diagonal changes nothing but the rounding, and is always on.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from gapless import rows as R

#: Columns (or rows) of a matrix up to which it is written out and factored: 72 MB.
FACTORED_COLUMNS = 3000
#: Bound on sum d_i |x_i|^2 up to which the Gram matrix is summed in float32. Measured: it is off by at most 3e-7 of this sum
#: in any direction, small against R = I. It only affects the direction of steps, never the certificate.
SINGLE_PRECISION_MASS = 2.5e5


class NewtonSystem:
    """Factored once, solved for several right-hand sides."""

    slice_rows = 1 << 20  #: rows that are numbered at a time: 8 MB

    def __init__(
        self,
        rows: R.Rows,
        weights: np.ndarray,
        index: np.ndarray,
        offset_ridge: float,
        *,
        tick: Callable[[], None] | None = None,
        inner: np.ndarray | None = None,
        tolerance: float = 1e-10,
        scale: float = 1.0,
        single: bool = False,
    ) -> None:
        """``inner`` may hold X X' of all rows, the constant feature included, if it is known; d_i is scale x weights.

        ``index`` has the numbers of the rows of M, or is True for them: then many are numbered slice by slice, in less memory.
        ``single``: the matrix is summed in float32 (see `SINGLE_PRECISION_MASS`).
        """
        d, m = R.n_features(rows) + 1, int(np.count_nonzero(index)) if index.dtype == bool else index.size
        self.ridge = np.ones(d)
        self.ridge[-1] = offset_ridge
        self.rows, self.weights = rows, weights
        self.tick, self.tolerance, self.scale = tick, tolerance, scale
        sliced = index.dtype == bool and index.size > self.slice_rows and d <= FACTORED_COLUMNS <= m
        every = m == index.size and index.dtype == bool and d <= FACTORED_COLUMNS <= m
        self.index = np.flatnonzero(index) if index.dtype == bool and not sliced and not every else index
        if m < d and m <= FACTORED_COLUMNS:
            self.way = "woodbury"
            self._factor_inner(inner)
        elif d <= FACTORED_COLUMNS:
            self.way = "cholesky"
            # no list of all, which would be fresh memory
            numbers: np.ndarray | range = range(m) if every else self.index
            if sliced:
                matrix = np.zeros((d, d))
                for start in range(0, index.size, self.slice_rows):
                    numbers = range(start, min(m, start + self.slice_rows))
                    if not every:
                        numbers = np.flatnonzero(index[start : start + self.slice_rows]) + start
                    matrix += R.gram(rows, weights, numbers, tick, single)
            else:
                matrix = R.gram(rows, weights, numbers, tick, single)
            matrix *= scale
            np.einsum("ii->i", matrix)[...] += self.ridge
            self._factor(matrix)
            del self.rows, self.weights, self.index  # a factor that is kept must not keep the data
        else:
            self.way = "conjugate gradients"
            self._masked = np.zeros(R.n_rows(rows))
            self._masked[self.index] = scale * weights[self.index]
            self._diagonal = R.squares(rows, self._masked, tick) + self.ridge

    def _factor(self, matrix: np.ndarray) -> None:
        """Factor the matrix, scaled in place: new memory takes longer to get than to fill."""
        scale = 1.0 / np.sqrt(np.maximum(matrix.diagonal(), 1e-300))
        matrix *= scale[None, :]
        matrix *= scale[:, None]
        shift = 0.0
        for attempt in range(12):
            shifted = matrix if shift == 0.0 else matrix + shift * np.eye(matrix.shape[0])
            # symmetric, and so read in the order it lies in
            self._cholesky, failed = dpotrf(shifted.T, lower=1, clean=0)
            if not failed:
                break
            shift = 1e-15 if attempt == 0 else shift * 10.0
        else:
            raise FloatingPointError("the system of the Newton step is not positive definite")
        self._matrix, self._scale, self._shift = matrix, scale, shift

    def _backsolve(self, right: np.ndarray) -> np.ndarray:
        """Solve with the factor, then refine against the unshifted matrix."""
        right = right * self._scale
        x, _ = dpotrs(self._cholesky, right, lower=1)
        for _ in range(3 if self._shift else 1):
            more, _ = dpotrs(self._cholesky, right - self._matrix @ x, lower=1)
            x = x + more
        return x * self._scale

    def _factor_inner(self, inner: np.ndarray | None) -> None:
        """With F = D^-1 + XX' (no constant feature) and A = I + X'DX:  A^-1 = I - X'F^-1 X  and  A^-1 X'D 1 = X'F^-1 1.

        The offset is the Schur complement  1'(D - DXA^-1X'D)1 = 1'F^-1 1, a sum of one sign: nothing cancels.
        """
        if self.index.size == 0:
            return
        self._part = R.take_rows(self.rows, self.index)
        k = self._part.constant
        if inner is None:
            gram = R.row_products(self._part, np.arange(self.index.size), self.tick)
        else:
            gram = inner[np.ix_(self.index, self.index)]
        if k != 0.0:
            gram -= k * k
        np.einsum("ii->i", gram)[...] += 1.0 / (self.scale * self.weights[self.index])
        self._factor(gram)
        t = self._backsolve(np.full(self.index.size, k))
        self._border = R.combine(self._part, t)[:-1]
        self._schur = k * float(t.sum()) + self.ridge[-1]

    def solve(self, right: np.ndarray) -> np.ndarray:
        if self.way == "cholesky":
            return self._backsolve(right)
        if self.way == "woodbury":
            return self._solve_inner(right)
        return conjugate_gradients(self.apply, lambda v: v / self._diagonal, right, self.tolerance, most=2000)

    def _solve_inner(self, right: np.ndarray) -> np.ndarray:
        if self.index.size == 0:
            return right / self.ridge
        x = right.copy()
        x[-1] = 0.0
        x[:-1] -= R.combine(self._part, self._backsolve(R.scores(self._part, x)))[:-1]
        x[-1] = (right[-1] - float(self._border @ right[:-1])) / self._schur
        x[:-1] -= self._border * x[-1]
        return x

    def apply(self, x: np.ndarray) -> np.ndarray:
        return self.ridge * x + R.curved(self.rows, self._masked, x, self.tick)


def conjugate_gradients(
    apply: Callable[[np.ndarray], np.ndarray],
    precondition: Callable[[np.ndarray], np.ndarray],
    right: np.ndarray,
    tolerance: float,
    *,
    most: int,
    product: Callable[[np.ndarray, np.ndarray], float] = lambda a, b: float(a @ b),
) -> np.ndarray:
    """Solve until the residual is ``tolerance`` of its start in the norm of the preconditioner, or for ``most`` products."""
    x = np.zeros_like(right)
    residual = right.copy()
    z = precondition(residual)
    p = z.copy()
    rho = product(residual, z)
    target = rho * tolerance**2
    for _ in range(most):
        if rho <= target or rho <= 0.0:
            break
        q = apply(p)
        a = rho / product(p, q)
        x += a * p
        residual -= a * q
        z = precondition(residual)
        rho, old = product(residual, z), rho
        p = z + (rho / old) * p
    return x
