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
from gapless.problems.examples.protocol import Examples, Handle

#: Columns (or rows) of a matrix up to which it is written out and factored: 72 MB.
FACTORED_COLUMNS = 3000
#: Bound on sum d_i |x_i|^2 up to which the Gram matrix is summed in float32. Measured: it is off by at most 3e-7 of this sum
#: in any direction, small against R = I. It only affects the direction of steps, never the certificate.
SINGLE_PRECISION_MASS = 2.5e5


class NewtonSystem:
    """Factored once, solved for several right-hand sides."""

    def __init__(
        self,
        examples: Examples,
        weights: Handle,
        inside: Handle | None,
        offset_ridge: float,
        *,
        tick: Callable[[], None] | None = None,
        inner: np.ndarray | None = None,
        tolerance: float = 1e-10,
        scale: float = 1.0,
        single: bool = False,
    ) -> None:
        """``inner`` may hold X X' of all examples, the constant feature included, if it is known; d_i is scale x weights.

        ``inside`` is True for the examples of M; None: all are.
        ``single``: the matrix is summed in float32 (see `SINGLE_PRECISION_MASS`).
        """
        d, m = examples.d + 1, examples.n if inside is None else examples.count(inside)
        self.ridge = np.ones(d)
        self.ridge[-1] = offset_ridge
        self.tick, self.tolerance, self.scale = tick, tolerance, scale
        if m < d and m <= FACTORED_COLUMNS:
            self.way = "woodbury"
            self._few = examples.take(weights, inside)
            self._factor_inner(inner)
        elif d <= FACTORED_COLUMNS:
            self.way = "cholesky"
            matrix = examples.gram(weights, inside, tick, single=single)
            matrix *= scale
            np.einsum("ii->i", matrix)[...] += self.ridge
            self._factor(matrix)  # which keeps nothing of the data
        else:
            self.way = "conjugate gradients"
            self._examples, self._masked = examples, examples.masked(weights, inside, scale)
            self._diagonal = examples.squares(self._masked, tick) + self.ridge

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
        part, weights, numbers = self._few
        if numbers.size == 0:
            return
        k = part.constant
        if inner is None:
            gram = R.row_products(part, np.arange(numbers.size), self.tick)
        else:
            gram = inner[np.ix_(numbers, numbers)]
        if k != 0.0:
            gram -= k * k
        np.einsum("ii->i", gram)[...] += 1.0 / (self.scale * weights)
        self._factor(gram)
        t = self._backsolve(np.full(numbers.size, k))
        self._border = R.combine(part, t)[:-1]
        self._schur = k * float(t.sum()) + self.ridge[-1]

    def solve(self, right: np.ndarray) -> np.ndarray:
        if self.way == "cholesky":
            return self._backsolve(right)
        if self.way == "woodbury":
            return self._solve_inner(right)
        return conjugate_gradients(self.apply, lambda v: v / self._diagonal, right, self.tolerance, most=2000)

    def _solve_inner(self, right: np.ndarray) -> np.ndarray:
        part = self._few.rows
        if self._few.numbers.size == 0:
            return right / self.ridge
        x = right.copy()
        x[-1] = 0.0
        x[:-1] -= R.combine(part, self._backsolve(R.scores(part, x)))[:-1]
        x[-1] = (right[-1] - float(self._border @ right[:-1])) / self._schur
        x[:-1] -= self._border * x[-1]
        return x

    def apply(self, x: np.ndarray) -> np.ndarray:
        return self.ridge * x + self._examples.curve(self._masked, x, self.tick)


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
