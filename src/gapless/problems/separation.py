"""Can a hyperplane, or K scores, tell the classes apart?

Two classes: a_i = y_i (x_i, 1), without the 1 where there is no offset.  More: a row for each rival k of each example's own
class, a_ik = (e_own - e_k) x (x_i, 1), theta = K - 1 lines of coefficients, the first class having score 0.  With A the matrix of
these rows:

    complete   some theta has A theta > 0 in every row
    quasi      none has, but some has A theta >= 0 and not = 0
    overlap    A theta >= 0 only where A theta = 0: the maximum-likelihood estimate exists

What proves what:

    complete   theta itself
    not complete (Gordan)    multipliers alpha >= 0, not all 0, with sum alpha a = 0
    overlap (Stiemke)        alpha > 0 on a set S of rows with sum alpha a = 0 and rank A_S = rank A.  For A theta >= 0 gives
                             0 = sum alpha a'theta over S, so each a'theta is 0 on S, hence on the row space of A_S, hence on A
    quasi      a Gordan vector and a theta with A theta >= 0, > 0 in some row

Rows of weight 0 are no rows.  A weight, or any positive factor on a row, changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gapless.numbers import gamma


@dataclass(frozen=True, eq=False)
class Separation:
    """``X`` in any real type, dense or CSR; ``index`` the class of each row, 0 to K - 1."""

    X: Any
    index: np.ndarray
    K: int
    offset: bool

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        return int(self.X.shape[1])

    @property
    def width(self) -> int:
        return self.d + int(self.offset)

    @property
    def size(self) -> int:
        """Numbers in theta."""
        return (self.K - 1) * self.width

    @property
    def n_pairs(self) -> int:
        return self.n * (self.K - 1)

    @property
    def is_sparse(self) -> bool:
        return bool(sparse.issparse(self.X))

    def blocks(self) -> Iterator[tuple[int, Any]]:
        """(first row, float64 rows), a part of the memory of X at a time."""
        step = self.block_rows()
        for start in range(0, self.n, step):
            yield start, self.floats(slice(start, start + step))

    def block_rows(self) -> int:
        mean = self.X.nnz / max(1, self.n) if self.is_sparse else self.d
        return max(1, int((1 << 21) / max(1.0, mean, self.K)))  # 2 million numbers become float64 at a time

    def floats(self, rows: Any) -> Any:
        """Some rows of X in float64."""
        X = self.X[rows]
        if self.is_sparse:
            return X if X.dtype == np.float64 else X.astype(np.float64)
        return np.ascontiguousarray(X, dtype=np.float64)

    def pairs(self, rows: np.ndarray) -> np.ndarray:
        """The numbers of all pairs (row, rival) of these rows."""
        return (rows[:, None] * (self.K - 1) + np.arange(self.K - 1)).ravel()

    def split(self, pair: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(row, rival class) of pairs."""
        row, j = np.divmod(pair, self.K - 1)
        return row, j + (j >= self.index[row])

    def gather(self, pair: np.ndarray) -> Any:
        """The rows a of some pairs, (len(pair), size): dense, or CSR where X is."""
        row, rival = self.split(pair)
        x = self.floats(row)
        if self.offset:
            one = np.ones((row.size, 1))
            x = sparse.hstack([x, one], format="csr") if self.is_sparse else np.hstack([x, one])
        own = self.index[row]
        parts = []
        for k in range(1, self.K):
            sign = (own == k).astype(np.float64) - (rival == k)
            parts.append(sparse.diags_array(sign) @ x if self.is_sparse else x * sign[:, None])
        if self.is_sparse:
            return sparse.hstack(parts, format="csr")
        return parts[0] if len(parts) == 1 else np.hstack(parts)

    def values(self, theta: np.ndarray) -> np.ndarray:
        """a'theta of every pair, (n, K - 1), in float64."""
        out = np.empty((self.n, self.K - 1))
        for start, x in self.blocks():
            out[start : start + x.shape[0]] = self._of_scores(self._scores(x, theta), start)
        return out

    def _scores(self, x: Any, theta: np.ndarray) -> np.ndarray:
        z = np.zeros((x.shape[0], self.K))
        z[:, 1:] = x @ theta[:, : self.d].T
        if self.offset:
            z[:, 1:] += theta[:, self.d]
        return z

    def _of_scores(self, z: np.ndarray, start: int) -> np.ndarray:
        index = self.index[start : start + len(z)]
        if self.K == 2:
            return np.where(index == 1, z[:, 1], -z[:, 1])[:, None]
        own = np.take_along_axis(z, index[:, None].astype(np.intp), axis=1)
        others = np.arange(self.K - 1)[None, :]
        others = others + (others >= index[:, None])
        return own - np.take_along_axis(z, others, axis=1)

    def enclosed(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """a'theta of every pair and how far rounding can put it off; theta is good to one unit in the last place."""
        value, room = np.empty((self.n, self.K - 1)), np.empty((self.n, self.K - 1))
        size = np.abs(theta)
        off = gamma(self.d + 8)  # d products, an offset, a difference, the last digit of theta
        with np.errstate(all="ignore"):
            for start, x in self.blocks():
                part = slice(start, start + x.shape[0])
                value[part] = self._of_scores(self._scores(x, theta), start)
                z = self._scores(abs(x), size)
                index = self.index[part]
                own = np.take_along_axis(z, index[:, None].astype(np.intp), axis=1)
                others = np.arange(self.K - 1)[None, :]
                others = others + (others >= index[:, None])
                z = own + np.take_along_axis(z, others, axis=1)
                # All products exactly zero: the value is exactly zero. Underflow is ruled out by the caller.
                room[part] = np.where(z > 0.0, 2.0 * off * z, np.where(z == 0.0, 0.0, np.inf))
        return value, room
