"""The products that drivers ask of rows: X theta, X'u, norms, and weighted Gram matrices in tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gapless._jit import compiled
from gapless.rows._protocol import row_axpy, row_dot, row_fill, row_norm2
from gapless.rows.csr import CsrRows
from gapless.rows.dense import DenseRows

Rows = DenseRows | CsrRows
Tick = Callable[[], None]

#: Values touched between two looks at the clock: about 50 ms of one core.
CHUNK = 40_000_000
#: Rows that are summed before they join the total.
BLOCK = 512
#: Bytes of a dense tile of weighted rows: it should stay in the second-level cache.
TILE = 1 << 20


def as_rows(X: Any, constant: float) -> Rows:
    """Wrap a dense C-ordered or CSR matrix (float32 or float64) without copying it."""
    if hasattr(X, "indptr"):
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        indptr = X.indptr.astype(X.indices.dtype, copy=False)
        return CsrRows(_plain(X.data), _plain(X.indices), _plain(indptr), X.shape[1], float(constant))
    return DenseRows(_plain(np.ascontiguousarray(X)), float(constant))


class _Writable:
    """Shows read-only memory as writable, so that it does not need a second compilation. Nobody writes to it."""

    def __init__(self, array: np.ndarray) -> None:
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface
        self.keep_alive = array


def _plain(array: np.ndarray) -> np.ndarray:
    array = np.require(array, requirements=["C", "A"])
    if type(array) is np.ndarray and array.flags.writeable:
        return array
    if array.size == 0:
        return np.array(array)
    return np.asarray(_Writable(np.asarray(array)))


def n_rows(rows: Rows) -> int:
    return rows.indptr.size - 1 if isinstance(rows, CsrRows) else rows.values.shape[0]


def n_features(rows: Rows) -> int:
    return rows.n_features if isinstance(rows, CsrRows) else rows.values.shape[1]


def n_stored(rows: Rows) -> int:
    return rows.values.size


def take(rows: Rows, index: np.ndarray) -> Rows:
    """A copy of the rows at ``index``."""
    if isinstance(rows, DenseRows):
        return DenseRows(rows.values[index], rows.constant)
    counts = np.diff(rows.indptr)[index]
    indptr = np.zeros(index.size + 1, rows.indptr.dtype)
    np.cumsum(counts, out=indptr[1:])
    keep = np.repeat(rows.indptr[:-1][index] - indptr[:-1], counts) + np.arange(indptr[-1])
    return CsrRows(rows.values[keep], rows.indices[keep], indptr, rows.n_features, rows.constant)


def scores(rows: Rows, theta: np.ndarray, tick: Tick | None = None) -> np.ndarray:
    """X theta"""
    n = n_rows(rows)
    out = np.empty(n)
    for start, stop in _chunks(rows, n):
        _scores(rows, theta, out, start, stop)
        if tick:
            tick()
    return out


def combine(rows: Rows, u: np.ndarray, tick: Tick | None = None) -> np.ndarray:
    """X'u. Rows with u = 0 are not read."""
    n = n_rows(rows)
    out = np.zeros(n_features(rows) + 1)
    for start, stop in _chunks(rows, n):
        _combine(rows, u, out, start, stop)
        if tick:
            tick()
    return out


def scores_many(rows: Rows, thetas: np.ndarray, tick: Tick | None = None) -> np.ndarray:
    """X thetas' for several vectors (K, d + 1): one column each."""
    n, d = n_rows(rows), n_features(rows)
    out = np.empty((n, thetas.shape[0]))
    if isinstance(rows, CsrRows):
        out[:] = _scipy(rows) @ thetas[:, :d].T
    else:
        right = np.ascontiguousarray(thetas[:, :d].T)
        for start in range(0, n, _tile_rows(d)):
            part = slice(start, min(n, start + _tile_rows(d)))
            np.matmul(rows.values[part].astype(np.float64, copy=False), right, out=out[part])
            if tick:
                tick()
    out += rows.constant * thetas[:, d]
    return out


def combine_many(rows: Rows, U: np.ndarray, tick: Tick | None = None) -> np.ndarray:
    """U'X for several weightings (n, K) of the rows: one line (d + 1) each. By blocks of rows, as `combine`."""
    n, d = n_rows(rows), n_features(rows)
    out = np.zeros((U.shape[1], d + 1))
    if isinstance(rows, CsrRows):
        for k in range(U.shape[1]):
            out[k] = combine(rows, np.ascontiguousarray(U[:, k]), tick)
        return out
    for start in range(0, n, BLOCK):
        part = slice(start, min(n, start + BLOCK))
        out[:, :d] += U[part].T @ rows.values[part].astype(np.float64, copy=False)
        if tick:
            tick()
    out[:, d] = rows.constant * U.sum(axis=0)
    return out


def _tile_rows(d: int) -> int:
    return max(64, TILE // (8 * max(1, d)))


def _scipy(rows: CsrRows) -> Any:
    from scipy.sparse import csr_array

    return csr_array((rows.values, rows.indices, rows.indptr), shape=(n_rows(rows), rows.n_features))


def norms2(rows: Rows) -> np.ndarray:
    """|x_i|^2 of every row, the constant feature included."""
    out = np.empty(n_rows(rows))
    _norms2(rows, out)
    return out


def gram(rows: Rows, weights: np.ndarray, index: np.ndarray, tick: Tick | None = None) -> np.ndarray:
    """sum over i in index of weights_i x_i x_i', the constant feature included: one (d + 1) x (d + 1) matrix."""
    d = n_features(rows) + 1
    out = np.zeros((d, d))
    if isinstance(rows, CsrRows) and 8.0 * (rows.values.size / max(n_rows(rows), 1) + 1.0) ** 2 < d * d:
        step = max(1, int(CHUNK / 8 / (rows.values.size / max(n_rows(rows), 1) + 1.0) ** 2))
        for start in range(0, index.size, step):
            _sparse_gram(rows, weights, index[start : start + step], out)
            if tick:
                tick()
        out += np.tril(out, -1).T
        return out
    step = max(64, TILE // (8 * d))
    tile = np.empty((step, d))
    for start in range(0, index.size, step):
        part = index[start : start + step]
        block = tile[: part.size]
        _fill(rows, weights, part, block)
        out += block.T @ block
        if tick:
            tick()
    return out


def inner(rows: Rows, index: np.ndarray, tick: Tick | None = None) -> np.ndarray:
    """X_M X_M' for the rows in index, the constant feature included."""
    m = index.size
    d = n_features(rows) + 1
    if isinstance(rows, CsrRows):
        out = np.empty((m, m))
        step = max(1, TILE // (8 * d))
        dense = np.empty((step, d))
        ones = np.ones(n_rows(rows))
        part = take(rows, index)
        for start in range(0, m, step):
            piece = index[start : start + step]
            block = dense[: piece.size]
            _fill(rows, ones, piece, block)
            for k in range(piece.size):
                _scores(part, block[k], out[start + k], 0, m)
            if tick:
                tick()
        return 0.5 * (out + out.T)
    block = np.empty((m, d))
    _fill(rows, np.ones(n_rows(rows)), index, block)
    out = np.empty((m, m))
    step = max(16, int(1e9 / max(1, m * d)))  # a product of at most 2 GFLOP between two looks at the clock
    for start in range(0, m, step):
        stop = min(m, start + step)
        np.matmul(block[start:stop], block[:stop].T, out=out[start:stop, :stop])
        out[:start, start:stop] = out[start:stop, :start].T
        if tick:
            tick()
    return out


def squares(rows: Rows, weights: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The diagonal of `gram` alone: sum over i in index of weights_i x_ij^2."""
    d = n_features(rows)
    out = np.zeros(d + 1)
    if isinstance(rows, CsrRows):
        of_row = np.zeros(n_rows(rows))
        of_row[index] = weights[index]
        per_value = np.repeat(of_row, np.diff(rows.indptr))
        out[:d] = np.bincount(rows.indices, per_value * rows.values.astype(float) ** 2, minlength=d)
    else:
        step = max(1, (1 << 22) // max(1, d))
        for start in range(0, index.size, step):
            part = index[start : start + step]
            out[:d] += weights[part] @ rows.values[part].astype(float) ** 2
    out[d] = rows.constant**2 * float(weights[index].sum())
    return out


def _chunks(rows: Rows, n: int) -> list[tuple[int, int]]:
    step = max(1, int(CHUNK / max(1.0, n_stored(rows) / max(n, 1))))
    return [(start, min(n, start + step)) for start in range(0, n, step)] or [(0, 0)]


@compiled(vectorise=True)
def _scores(rows, theta, out, start, stop):
    for i in range(start, stop):
        out[i] = row_dot(rows, i, theta)


@compiled(vectorise=True)
def _combine(rows, u, out, start, stop):
    # By blocks: the rounding error of an entry grows with BLOCK + n / BLOCK and not with n.
    block = np.empty(out.size)
    for first in range(start, stop, BLOCK):
        block[:] = 0.0
        for i in range(first, min(stop, first + BLOCK)):
            if u[i] != 0.0:
                row_axpy(rows, i, u[i], block)
        for j in range(out.size):
            out[j] += block[j]


@compiled(vectorise=True)
def _norms2(rows, out):
    for i in range(out.size):
        out[i] = row_norm2(rows, i)


@compiled(vectorise=True)
def _fill(rows, weights, index, out):
    for k in range(index.size):
        row_fill(rows, index[k], np.sqrt(weights[index[k]]), out[k])


@compiled
def _sparse_gram(rows, weights, index, out):
    # Lower triangle only: indices are sorted within a row, the constant feature comes last.
    last = out.shape[0] - 1
    for i in index:
        start, stop = rows.indptr[i], rows.indptr[i + 1]
        for k in range(start, stop):
            j = rows.indices[k]
            a = weights[i] * rows.values[k]
            for m in range(start, k + 1):
                out[j, rows.indices[m]] += a * rows.values[m]
            out[last, j] += a * rows.constant
        out[last, last] += weights[i] * rows.constant * rows.constant
