"""The Gram matrix of small data as a whole, by BLAS and ufuncs: made once for the distinct rows, read by every subproblem.

Rows that are equal share their values, and the rows of a pair of classes are one or two runs of the matrix: neither copies it.
BLAS runs on one thread in a fit, so that the bits are the same for any number of threads.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from gapless._runtime.cached import lazy
from gapless.encode.equal_rows import EqualRows
from gapless.gram.blocks import Gram
from gapless.kernels.linear import Linear
from gapless.kernels.rbf import squared_distances
from gapless.kernels.sigmoid import Sigmoid
from gapless.rows.products import Tick


class HeldGram(Gram):
    """The rows ``index`` of a matrix that is held whole, a row perhaps several times; all of them where ``index`` is None."""

    def __init__(
        self, kernel: Any, K: np.ndarray, error: float, relative_error: float | None, norms2: np.ndarray,
        index: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        super().__init__(kernel, K.shape[0] if index is None else index.size, K.nbytes)
        self.K, self.index, self.norms2 = K, index, norms2
        self.error, self.relative_error = error, relative_error

    def part(self, rows: np.ndarray) -> HeldGram:
        """The same matrix for some of these rows, in another order."""
        index: np.ndarray | None = rows if self.index is None else self.index[rows]
        assert index is not None
        if index.size == len(self.K) and (index == np.arange(index.size)).all():
            index = None
        return HeldGram(self.kernel, self.K, self.error, self.relative_error, self.norms2, index)

    @property
    def diagonal(self) -> np.ndarray:
        return self._own(self.K.diagonal())

    def _own(self, values: np.ndarray) -> np.ndarray:
        return values if self.index is None else values[self.index]

    def _place(self, rows: np.ndarray) -> np.ndarray:
        return rows if self.index is None else self.index[rows]

    @property
    def whole(self) -> np.ndarray:
        """The values of all rows, to be read only."""
        return self.K if self.index is None else self.K[np.ix_(self.index, self.index)]

    def values(self, rows: np.ndarray | slice, columns: np.ndarray | slice) -> np.ndarray:
        every = np.arange(self.n)
        return self.K[np.ix_(self._place(every[rows]), self._place(every[columns]))]

    def block(self, rows: np.ndarray, columns: np.ndarray | None = None, tick: Tick | None = None) -> np.ndarray:
        return self.values(rows, slice(None) if columns is None else columns)

    def product(
        self, rows: np.ndarray, coefficients: np.ndarray, at: np.ndarray | None = None, tick: Tick | None = None
    ) -> np.ndarray:
        own = self._place(np.asarray(rows))
        if at is not None:
            return self.K[np.ix_(self._place(np.asarray(at)), own)] @ coefficients
        if self._runs is not None:
            return np.concatenate([self.K[:, run][own].T @ coefficients for run in self._runs])
        if 3 * len(own) > len(self.K) and np.ndim(coefficients) == 1:  # to read all rows costs less than to copy these
            return self._own(self.K @ np.bincount(own, coefficients, minlength=len(self.K)))
        # Whole rows lie side by side in memory: numbers that nobody asked for cost less than picking the others out.
        return self._own(self.K[own].T @ coefficients)

    @lazy
    def _runs(self) -> list[slice] | None:
        """The rows as one or two runs of the matrix: those of a pair of classes; None where they are not."""
        if self.index is None or not self.index.size:
            return None
        cuts = [0, *(np.flatnonzero(np.diff(self.index) != 1) + 1), self.index.size]
        if len(cuts) > 3:
            return None
        return [slice(int(self.index[a]), int(self.index[b - 1]) + 1) for a, b in pairwise(cuts)]

    def sizes(self, rows: np.ndarray, weights: np.ndarray, at: np.ndarray) -> np.ndarray:
        if self.norms2.size == 0 or self.kernel.of_distances:
            return np.abs(self.K[np.ix_(self._place(at), self._place(rows))]) @ weights
        lengths = self._own(np.sqrt(self.norms2))
        return np.asarray(self.kernel.bound_sums(lengths[at], lengths[rows], weights))


def hold_rows(kernel: Any, X: np.ndarray, centre: np.ndarray | None = None) -> HeldGram:
    """The matrix of the rows of X; ``centre`` is taken from the rows before distances are computed."""
    loose_error = (
        1e-9  # relative: values that may be off by more are made from differences of rows, which cost d passes
    )
    n, d = X.shape
    given = X.astype(np.float64, copy=False)
    X = given - (given.mean(axis=0) if centre is None else centre) if kernel.of_distances else given
    norms2 = np.einsum("ij,ij->i", X, X)
    largest = float(norms2.max(initial=0.0))
    relative = None if isinstance(kernel, Sigmoid) else float(kernel.relative_error(d, largest))
    loose = kernel.of_distances and kernel.relative_error(d, largest) > loose_error
    if loose and np.isfinite(norms2).all():
        K = kernel.from_distances(squared_distances(given, given))
        off = 2.0**-49 + 745.0 * (d + 4) * 2.0**-53  # beyond e^-745 a value is 0
        return HeldGram(kernel, K, off, off, norms2)
    K = X @ X.T
    if not isinstance(kernel, Linear):
        rows = 128  # of a strip: its values stay in the cache from the product to the map
        for start in range(0, n, rows):
            end = min(n, start + rows)
            strip = kernel.from_products(K[start:end, start:].copy(), norms2[start:end], norms2[start:])
            K[start:end, start:] = strip
            K[end:, start:end] = strip[:, end - start :].T
    np.fill_diagonal(K, kernel.diagonal(norms2))
    return HeldGram(kernel, K, kernel.error(d, largest), relative, norms2)


def hold_distinct(kernel: Any, X: np.ndarray, groups: EqualRows | None, centre: np.ndarray | None) -> HeldGram:
    """The matrix of the distinct rows, for all rows."""
    if groups is None:
        return hold_rows(kernel, X, centre)
    return hold_rows(kernel, X[groups.first], centre).part(groups.group)


def hold_matrix(kernel: Any, K: np.ndarray) -> HeldGram:
    """A matrix that is given, plus the kernel's shift on its diagonal."""
    largest = float(np.abs(K).max(initial=0.0))
    if kernel.shift:
        K = K + kernel.shift * np.eye(K.shape[0])
    return HeldGram(kernel, K, 2.0**-52 * largest, 2.0**-51, np.zeros(0))
