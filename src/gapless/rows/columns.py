"""A matrix column by column: some of its columns, and products with all of them. Sums are float64, whatever X is.

Sparse penalties ask for few columns at a time; the rows of `rows/dense` and `rows/csr` are the wrong way round for that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gapless._runtime.threads import run_in_parts


class DenseColumns:
    """Columns of an array in C or Fortran order, float32 or float64."""

    dense = True
    #: Values that are turned to float64, or squared, at a time: 1 MB.
    piece = 1 << 17

    def __init__(self, X: np.ndarray) -> None:
        self.X = X
        self.n, self.d = X.shape
        self.by_columns = X.flags.f_contiguous and not X.flags.c_contiguous

    @property
    def stored(self) -> int:
        """Values in memory."""
        return self.X.size

    def parts(self) -> list[slice]:
        """Stretches of columns (Fortran order) or of rows (C order), about a megabyte each, whatever the threads are."""
        length, across = (self.d, self.n) if self.by_columns else (self.n, self.d)
        step = max(1, self.piece // max(1, across))
        return [slice(k, min(k + step, length)) for k in range(0, length, step)]

    def _sums(self, weigh: np.ndarray, squared: bool) -> np.ndarray:
        """X'u, or (X*X)'u."""
        parts, X = self.parts(), self.X
        if self.by_columns:
            out = np.empty(self.d)

            def columns(k: int) -> None:
                block = np.asarray(X[:, parts[k]], dtype=np.float64)
                out[parts[k]] = weigh @ (block * block if squared else block)

            run_in_parts(columns, len(parts))
            return out
        found = np.empty((len(parts), self.d))

        def rows(k: int) -> None:
            block = np.asarray(X[parts[k]], dtype=np.float64)
            found[k] = weigh[parts[k]] @ (block * block if squared else block)

        run_in_parts(rows, len(parts))
        return found.sum(axis=0)

    def combine(self, u: np.ndarray) -> np.ndarray:
        """X'u"""
        return self._sums(u, squared=False)

    def squares(self, c: np.ndarray) -> np.ndarray:
        """The sums of c x_ij^2 over the rows, of each column."""
        return self._sums(c, squared=True)

    def _stretches(self, width: int) -> list[slice]:
        """Stretches of rows of which ``width`` columns take some megabytes."""
        step = max(256, 8 * self.piece // max(1, width))
        return [slice(k, min(k + step, self.n)) for k in range(0, self.n, step)]

    def _some(self, rows: slice, index: np.ndarray) -> np.ndarray:
        """Some columns of a stretch of rows, as rows of float64."""
        return np.asarray(self.X[rows][:, index].T, dtype=np.float64)

    def scores(self, index: np.ndarray, w: np.ndarray) -> np.ndarray:
        """X w, where w is 0 but at ``index``."""
        out = np.zeros(self.n)
        for rows in self._stretches(index.size) if index.size else ():
            out[rows] = w @ self._some(rows, index)
        return out

    def sizes(self, index: np.ndarray, w: np.ndarray) -> np.ndarray:
        """|X| |w|, where w is 0 but at ``index``."""
        out, size = np.zeros(self.n), np.abs(w)
        for rows in self._stretches(index.size) if index.size else ():
            out[rows] = size @ np.abs(self._some(rows, index))
        return out

    def take(self, index: np.ndarray) -> np.ndarray:
        """Some columns as the rows of a C-ordered array of float64."""
        return np.ascontiguousarray(self.X[:, index].T, dtype=np.float64)

    def gram(self, index: np.ndarray, other: np.ndarray, h: np.ndarray) -> np.ndarray:
        """X_index' diag(h) X_other"""
        out = np.zeros((index.size, other.size))
        for rows in self._stretches(index.size + other.size):
            A = self._some(rows, index)
            out += (A * h[rows]) @ (A if other is index else self._some(rows, other)).T
        return out

    def combine_some(self, index: np.ndarray, u: np.ndarray) -> np.ndarray:
        """X'u of some columns."""
        out = np.zeros(index.size)
        for rows in self._stretches(index.size):
            out += self._some(rows, index) @ u[rows]
        return out

    def compressed(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Some columns as values, row numbers and their ends, as a CSC matrix has them."""
        m = index.size
        return self.take(index).ravel(), np.tile(np.arange(self.n, dtype=np.int32), m), np.arange(m + 1) * self.n

    def largest(self) -> float:
        """The largest |x_ij|."""
        parts, X = self.parts(), self.X
        cut = (lambda part: X[:, part]) if self.by_columns else (lambda part: X[part])
        return max((float(max(cut(part).max(), -cut(part).min())) for part in parts), default=0.0)

    def row_squares(self) -> float:
        """The largest |x_i|^2."""
        if self.by_columns:
            total = np.zeros(self.n)
            for part in self.parts():
                block = np.asarray(self.X[:, part], dtype=np.float64)
                total += (block * block).sum(axis=1)
            return float(total.max(initial=0.0))
        blocks = (np.asarray(self.X[part], dtype=np.float64) for part in self.parts())
        return max((float((block * block).sum(axis=1).max()) for block in blocks), default=0.0)


class SparseColumns:
    """Columns of a sparse matrix, values in float64."""

    dense = False

    def __init__(self, X: Any) -> None:
        self.X = sparse.csc_matrix(X, dtype=np.float64)
        self.X.sum_duplicates()
        self.n, self.d = X.shape

    @property
    def stored(self) -> int:
        """Values in memory."""
        return int(self.X.nnz)

    def combine(self, u: np.ndarray) -> np.ndarray:
        """X'u"""
        return np.asarray(self.X.T @ u)

    def squares(self, c: np.ndarray) -> np.ndarray:
        """The sums of c x_ij^2 over the rows, of each column."""
        squared = sparse.csc_matrix((self.X.data * self.X.data, self.X.indices, self.X.indptr), shape=self.X.shape)
        return np.asarray(squared.T @ c)

    def scores(self, index: np.ndarray, w: np.ndarray) -> np.ndarray:
        """X w, where w is 0 but at ``index``."""
        return np.asarray(self.X[:, index] @ w) if index.size else np.zeros(self.n)

    def sizes(self, index: np.ndarray, w: np.ndarray) -> np.ndarray:
        """|X| |w|, where w is 0 but at ``index``."""
        return np.asarray(abs(self.X[:, index]) @ np.abs(w)) if index.size else np.zeros(self.n)

    def take(self, index: np.ndarray) -> np.ndarray:
        """Some columns as the rows of a C-ordered array."""
        return np.ascontiguousarray(self.X[:, index].T.toarray())

    def gram(self, index: np.ndarray, other: np.ndarray, h: np.ndarray) -> np.ndarray:
        """X_index' diag(h) X_other"""
        A = self.X[:, index]
        B = A if other is index else self.X[:, other]
        return np.asarray(((sparse.diags(h) @ A).T @ B).toarray())

    def combine_some(self, index: np.ndarray, u: np.ndarray) -> np.ndarray:
        """X'u of some columns."""
        return np.asarray(self.X[:, index].T @ u)

    def compressed(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Some columns as values, row numbers and their ends."""
        part = self.X[:, index]
        return part.data, part.indices, part.indptr

    def largest(self) -> float:
        """The largest |x_ij|."""
        return float(np.abs(self.X.data).max(initial=0.0))

    def row_squares(self) -> float:
        """The largest |x_i|^2."""
        total = np.bincount(self.X.indices, weights=self.X.data * self.X.data, minlength=self.n)
        return float(total.max(initial=0.0))


Columns = DenseColumns | SparseColumns


def as_columns(X: Any) -> Columns:
    """The columns of a dense or CSR matrix."""
    return SparseColumns(X) if sparse.issparse(X) else DenseColumns(np.asarray(X))
