"""The products that drivers ask of rows: X theta, X'u, norms, and weighted Gram matrices in tiles."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from threading import get_ident
from typing import Any

import numpy as np

from gapless._compile.jit import compiled
from gapless._runtime.threads import share
from gapless.rows.copies.packed import PackedRows
from gapless.rows.copies.two_value import MarkedRows
from gapless.rows.csr import CsrRows
from gapless.rows.dense import DenseRows
from gapless.rows.outer import NARROW, TALL, add_outer, both_triangles, width_of
from gapless.rows.verbs import row_axpy, row_dot, row_fill, row_norm2, row_squares

Rows = DenseRows | CsrRows
#: What passes read: rows, or a copy of them that is read faster (`compact`).
Passed = Rows | PackedRows | MarkedRows
Tick = Callable[[], None]

#: Values touched between two looks at the clock: about 50 ms of one core.
CHUNK = 40_000_000
#: Rows that are summed before they join the total.
BLOCK = 512
#: Values that are worth a thread of their own, of dense rows and of sparse ones: some 0.05 ms of one core.
PART, SPARSE_PART = 100_000, 50_000
#: Bytes that the sums of the parts may take.
MOST_SUMS = 64_000_000
#: Rows and columns of a tile of `inner`.
SIDE = 256
#: Bytes of a dense tile of weighted rows: it should stay in the second-level cache.
TILE = 1 << 20


def as_rows(X: Any, constant: float) -> Rows:
    """Wrap a dense C-ordered or CSR matrix (float32 or float64) without copying its values.

    64-bit indices become 32-bit ones where they fit: half the memory to read, and no kernel is compiled for both.
    """
    if hasattr(X, "indptr"):
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        fits = max(X.nnz, *X.shape) < 2**31
        indices = X.indices.astype(np.int32, copy=False) if fits else X.indices
        indptr = X.indptr.astype(indices.dtype, copy=False)
        return CsrRows(_plain(X.data), _plain(indices), _plain(indptr), X.shape[1], float(constant))
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


def n_rows(rows: Passed) -> int:
    return rows.values.shape[0] if isinstance(rows, DenseRows) else rows.indptr.size - 1


def n_features(rows: Passed) -> int:
    return rows.values.shape[1] if isinstance(rows, DenseRows) else rows.n_features


def n_stored(rows: Passed) -> int:
    if isinstance(rows, PackedRows):
        return rows.values.size // 5 * 4
    if isinstance(rows, MarkedRows):
        return rows.values.size + rows.marks.size
    return rows.values.size if isinstance(rows, DenseRows) else rows.indices.size


def longest(rows: Rows) -> int:
    """Values of the longest row."""
    return int(np.diff(rows.indptr).max(initial=0)) if isinstance(rows, CsrRows) else rows.values.shape[1]


def part(rows: Rows, start: int, stop: int) -> Rows:
    """Rows start..stop, without a copy."""
    if isinstance(rows, CsrRows):
        return rows._replace(indptr=rows.indptr[start : stop + 1])
    return rows._replace(values=rows.values[start:stop])


@lru_cache(maxsize=8)
def sample(n: int, size: int) -> np.ndarray:
    """About ``size`` of n rows, rising: one drawn at random from each of as many stretches; the same at every call."""
    ends = np.arange(size + 1) * n // size
    chosen = ends[:-1] + (np.random.default_rng(0).random(size) * np.diff(ends)).astype(np.int64)
    chosen.flags.writeable = False
    return chosen


def take(rows: Rows, index: np.ndarray) -> Rows:
    """A copy of the rows at ``index``."""
    if isinstance(rows, DenseRows):
        values = np.empty((index.size, rows.values.shape[1]), rows.values.dtype)
        some = max(1, TILE // max(1, values.itemsize * values.shape[1]))

        def copy(k: int) -> None:
            part = slice(k * some, (k + 1) * some)
            np.take(rows.values, index[part], axis=0, out=values[part], mode="wrap")  # "raise" would copy once more

        share(copy, -(-index.size // some))
        return DenseRows(values, rows.constant)
    counts = np.diff(rows.indptr)[index]
    indptr = np.zeros(index.size + 1, rows.indptr.dtype)
    np.cumsum(counts, out=indptr[1:])
    keep = np.repeat(rows.indptr[:-1][index] - indptr[:-1], counts) + np.arange(indptr[-1])
    return CsrRows(rows.values[keep], rows.indices[keep], indptr, rows.n_features, rows.constant)


def scores(rows: Passed, theta: np.ndarray, tick: Tick | None = None, out: np.ndarray | None = None) -> np.ndarray:
    """X theta"""
    n = n_rows(rows)
    out = np.empty(n) if out is None else out
    ends = _cuts(rows, n)
    dots = _scores_packed if isinstance(rows, PackedRows) else _scores
    theta = inward(rows, theta)
    share(lambda k: dots(rows, theta, out, ends[k], ends[k + 1]), len(ends) - 1, tick)
    return out


def combine(rows: Passed, u: np.ndarray, tick: Tick | None = None) -> np.ndarray:
    """X'u. Rows with u = 0 are not read."""
    ends, sums, block = _sums(rows)
    share(lambda k: _combine(rows, u, sums[k], ends[k], ends[k + 1], block), len(ends) - 1, tick)
    return added(rows, sums)


def curved(rows: Passed, weights: np.ndarray, p: np.ndarray, tick: Tick | None = None) -> np.ndarray:
    """X' diag(weights) X p, the data read once. Rows of weight 0 are not read."""
    ends, sums, block = _sums(rows)
    p = inward(rows, p)
    share(lambda k: _curved(rows, weights, p, sums[k], ends[k], ends[k + 1], block), len(ends) - 1, tick)
    return added(rows, sums)


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
    n = n_rows(rows)
    out = np.empty(n)
    ends = _cuts(rows, n)
    share(lambda k: _norms2(rows, out, ends[k], ends[k + 1]), len(ends) - 1)
    return out


def _numbers(index: np.ndarray | range) -> np.ndarray:
    return np.arange(index.start, index.stop) if isinstance(index, range) else index


def gram(
    rows: Rows, weights: np.ndarray, index: np.ndarray | range, tick: Tick | None = None, single: bool = False
) -> np.ndarray:
    """sum over i in index of weights_i x_i x_i', the constant feature included: one (d + 1) x (d + 1) matrix.

    ``single``: products may be of single precision, tile by tile, which takes half the time.
    """
    d, m = n_features(rows) + 1, len(index)
    per_row = n_stored(rows) / max(n_rows(rows), 1) + 1.0
    scattered = isinstance(rows, CsrRows) and 8.0 * per_row**2 < d * d
    narrow = isinstance(rows, DenseRows) and d <= NARROW
    # Tiles tall enough that adding a product to its sum is nothing beside the product; a sum for every group of tiles.
    step = max(1, int(CHUNK / 8 / per_row**2)) if scattered else max(64, TILE // (8 * d), 2 * d)
    if narrow:
        step = max(TALL, min(CHUNK // (d * d), -(-m // 8)))
    cost = m * (per_row**2 if scattered else float(d * d) / 8)
    # Two sums pay early; more of them, which are fresh memory each, where a tile is full.
    pay = max(-(-m // step), 1 if scattered or narrow else min(2, -(-4 * m // (3 * d))))
    groups = max(1, min(8, int(cost / PART), pay, int(MOST_SUMS / (8.0 * d * d))))
    ends = [m * k // groups for k in range(groups + 1)]
    across = width_of(d) if narrow else d
    sums = np.zeros((groups, across, across)) if scattered or narrow or m == 0 else np.empty((groups, d, d))

    caller = get_ident()

    def look() -> None:
        if tick is not None and get_ident() == caller:  # its exception must rise where the fit is
            tick()

    def add(k: int) -> None:
        if scattered or narrow:
            add_rows = _sparse_gram if scattered else _narrow_gram
            for start in range(ends[k], ends[k + 1], step):
                add_rows(rows, weights, _numbers(index[start : min(ends[k + 1], start + step)]), sums[k])
                look()
            return
        tile = np.empty((min(step, ends[k + 1] - ends[k]), d), np.float32 if single else np.float64)
        for start in range(ends[k], ends[k + 1], step):
            part = _numbers(index[start : min(ends[k + 1], start + step)])
            block = tile[: part.size]
            _fill(rows, weights, part, block)
            if start == ends[k] and not single:
                np.matmul(block.T, block, out=sums[k])
            elif start == ends[k]:
                sums[k] = block.T @ block
            else:
                sums[k] += block.T @ block
            look()

    share(add, groups)
    total = _add_up(sums)
    return both_triangles(total, d) if scattered or narrow else total


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
    block, ones = np.empty((m, d)), np.ones(n_rows(rows))
    starts = range(0, m, SIDE)
    share(
        lambda k: _fill(rows, ones, index[starts[k] : starts[k] + SIDE], block[starts[k] : starts[k] + SIDE]),
        len(starts),
    )
    out = np.empty((m, m))
    tiles = [(top, left) for top in starts for left in range(0, top + 1, SIDE)]

    def fill(k: int) -> None:
        down, across = (slice(start, start + SIDE) for start in tiles[k])
        np.matmul(block[down], block[across].T, out=out[down, across])
        if tiles[k][0] > tiles[k][1]:
            out[across, down] = out[down, across].T

    share(fill, len(tiles), tick)
    return out


def squares(rows: Rows, weights: np.ndarray, tick: Tick | None = None) -> np.ndarray:
    """The diagonal of `gram` over all rows: sum of weights_i x_ij^2."""
    ends, sums, block = _sums(rows)
    share(lambda k: _squares(rows, weights, sums[k], ends[k], ends[k + 1], block), len(ends) - 1, tick)
    return _add_up(sums)


def _cuts(rows: Passed, n: int, most: int = 64) -> list[int]:
    """Where to cut n rows into parts of some `PART` values, by shape alone."""
    parts = max(1, min(most, n, int(n_stored(rows) / (PART if isinstance(rows, DenseRows) else SPARSE_PART))))
    parts = max(parts, -(-n_stored(rows) // CHUNK))
    return [n * k // parts for k in range(parts + 1)]


def _sums(rows: Passed) -> tuple[list[int], np.ndarray, int]:
    """Parts of the rows, a sum of d + 1 entries for each, and how many rows are added up before they join a sum.

    Clearing and adding a sum must cost little beside the rows in it, so wide sparse data has longer blocks, and fewer.
    """
    n, d = n_rows(rows), n_features(rows) + 1
    most = max(1, min(16, int(n_stored(rows) / (3.0 * d)), int(MOST_SUMS / (8.0 * d))))
    ends = _cuts(rows, n, most)
    return ends, np.zeros((len(ends) - 1, d)), block_rows(rows)


def twice_read(rows: Passed) -> tuple[list[int], np.ndarray, int]:
    """`_sums` for a pass that reads every block twice: a dense one then has to stay in the second-level cache."""
    ends, sums, block = _sums(rows)
    if isinstance(rows, DenseRows):
        block = max(16, min(block, TILE // (16 * max(1, n_features(rows)))))
    return ends, sums, block


def read_alike(rows: Passed) -> bool:
    """Whether such a pass adds up as `combine` does, so that `sum_length` holds for its sums, too."""
    return not isinstance(rows, DenseRows) or 16 * BLOCK * n_features(rows) <= TILE


def inward(rows: Passed, theta: np.ndarray) -> np.ndarray:
    """theta in the coordinates that a kernel finds in these rows."""
    return rows.inward(theta) if isinstance(rows, MarkedRows) else theta


def added(rows: Passed, sums: np.ndarray) -> np.ndarray:
    """The sums of the parts added up, in the order of the parts and in our coordinates again."""
    total = _add_up(sums)
    return rows.outward(total) if isinstance(rows, MarkedRows) else total


def block_rows(rows: Passed) -> int:
    """Rows that are summed before they join the total: the rounding error of a sum grows with this and with n / this."""
    # A packed copy adds up as its rows do: `sum_length` of these holds for it.
    if isinstance(rows, DenseRows | PackedRows | MarkedRows):
        return BLOCK
    return max(BLOCK, int(2.0 * rows.n_features * n_rows(rows) / max(1, n_stored(rows))))


def sum_length(rows: Rows) -> float:
    """`combine` adds at most so many terms one after the other."""
    block = block_rows(rows)
    return block + n_rows(rows) / block + max(16, -(-n_stored(rows) // CHUNK)) + 4.0


def _add_up(sums: np.ndarray) -> np.ndarray:
    """In the order of the parts."""
    total = sums[0]
    for part in sums[1:]:
        total += part
    return total


@compiled(vectorise=True)
def _scores(rows, theta, out, start, stop):
    for i in range(start, stop):
        out[i] = row_dot(rows, i, theta)


@compiled
def _scores_packed(rows, theta, out, start, stop):
    """The same, without vectors: gathering them would take four times as long."""
    for i in range(start, stop):
        out[i] = row_dot(rows, i, theta)


@compiled(vectorise=True)
def _combine(rows, u, out, start, stop, rows_in_block):
    # By blocks: the rounding error of an entry grows with the block and the number of blocks and not with n.
    block = np.empty(out.size)
    for first in range(start, stop, rows_in_block):
        for j in range(block.size):
            block[j] = 0.0
        for i in range(first, min(stop, first + rows_in_block)):
            if u[i] != 0.0:
                row_axpy(rows, i, u[i], block)
        for j in range(out.size):
            out[j] += block[j]


@compiled(vectorise=True)
def _curved(rows, weights, p, out, start, stop, rows_in_block):
    block = np.empty(out.size)
    for first in range(start, stop, rows_in_block):
        for j in range(block.size):
            block[j] = 0.0
        for i in range(first, min(stop, first + rows_in_block)):
            if weights[i] != 0.0:
                row_axpy(rows, i, weights[i] * row_dot(rows, i, p), block)
        for j in range(out.size):
            out[j] += block[j]


@compiled(vectorise=True)
def _squares(rows, weights, out, start, stop, rows_in_block):
    block = np.empty(out.size)
    for first in range(start, stop, rows_in_block):
        for j in range(block.size):
            block[j] = 0.0
        for i in range(first, min(stop, first + rows_in_block)):
            if weights[i] != 0.0:
                row_squares(rows, i, weights[i], block)
        for j in range(out.size):
            out[j] += block[j]


@compiled(vectorise=True)
def _norms2(rows, out, start, stop):
    for i in range(start, stop):
        out[i] = row_norm2(rows, i)


@compiled(vectorise=True)
def _fill(rows, weights, index, out):
    for k in range(index.size):
        row_fill(rows, index[k], np.sqrt(weights[index[k]]), out[k])


@compiled
def _narrow_gram(rows, weights, index, out):
    columns = rows.values.shape[1] + 1
    tile = np.zeros((TALL, out.shape[1]))
    for start in range(0, index.size, TALL):
        count = min(TALL, index.size - start)
        for k in range(count):
            i = index[start + k]
            row_fill(rows, i, np.sqrt(weights[i]), tile[k])
        add_outer(tile, columns, count, out)


@compiled
def _sparse_gram(rows, weights, index, out):
    # Lower triangle only: indices are sorted within a row, the constant feature comes last.
    values, indices = rows.values, rows.indices
    last = out[out.shape[0] - 1]
    for i in index:
        start, stop = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])
        for k in range(start, stop):
            j = np.uint64(indices[k])
            line = out[j]
            a = weights[i] * values[k]
            for m in range(start, k + np.uint64(1)):
                line[np.uint64(indices[m])] += a * values[m]
            last[j] += a * rows.constant
        last[last.size - 1] += weights[i] * rows.constant * rows.constant


def gram_cost(rows: Rows, m: int) -> float:
    """What `gram` of m rows costs, in ns of one core: by shape, so that choices made from it are the same everywhere."""
    d = n_features(rows) + 1.0
    if isinstance(rows, DenseRows):
        return 0.04 * m * d * d
    per_row = n_stored(rows) / max(n_rows(rows), 1) + 1.0
    return m * min(0.04 * d * d, 0.5 * per_row * per_row)


def curved_cost(rows: Rows) -> float:
    """The same for `curved`."""
    return n_stored(rows) * (0.5 if isinstance(rows, DenseRows) else 1.3)
