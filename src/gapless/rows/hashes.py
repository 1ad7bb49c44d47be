"""Hashes of rows: the compiled twin of ``gapless.judge.fingerprint.row_hashes``, at memory speed.

The judge's version needs nothing but numpy; a fit uses this one.  Both give the same bits on everything: dense and
CSR, C and F order, float32 and float64, -0 and 0, explicit zeros, entries of the same place.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from gapless._compile.jit import compiled
from gapless._compile.on_demand import awake
from gapless._runtime.backend import choose_backend
from gapless._runtime.threads import run_in_parts
from gapless.judge.fingerprint import MIXERS, SHIFT_0, SHIFT_1, SHIFT_2, lane_multipliers
from gapless.judge.fingerprint import row_hashes as judges_row_hashes
from gapless.rows.shape import plain_memory

_MIXERS = tuple(np.uint64(m) for m in MIXERS)
_SHIFTS = tuple(np.uint64(s) for s in (SHIFT_0, SHIFT_1, SHIFT_2))
#: Values converted at a time where X is not float64 in C order: the tile stays in the cache.
VALUES_PER_TILE = 1 << 15


@lru_cache(maxsize=4)
def _multipliers(d: int) -> tuple[np.ndarray, np.ndarray]:
    return lane_multipliers(0, d), lane_multipliers(1, d)


def row_hashes(X: Any) -> np.ndarray:
    """The (n, 2) uint64 hashes of the rows of X."""
    if sparse.issparse(X):
        return _sparse_hashes(X)
    if not isinstance(X, np.ndarray):
        X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        return judges_row_hashes(X)  # says what is wrong, or converts objects
    if not awake() and choose_backend(*X.shape) == "numpy":
        return judges_row_hashes(X)  # the bits are the same, and numba need not be imported
    n, d = X.shape
    a0, a1 = _multipliers(d)
    out = np.zeros((n, 2), dtype=np.uint64)
    if X.dtype == np.float64 and X.dtype.isnative and X.flags.c_contiguous:
        bits = plain_memory(X).view(np.uint64).ravel()
        ends = _cut_rows(n, X.size)
        run_in_parts(lambda k: _hash(bits, None, None, ends[k], ends[k + 1], 0, a0, a1, out), len(ends) - 1)
        return out
    step = max(1, VALUES_PER_TILE // max(d, 1))

    def tiles(k: int) -> None:
        tile = np.empty((min(step, n), d))
        for start in range(ends[k], ends[k + 1], step):
            part = tile[: min(step, ends[k + 1] - start)]
            part[...] = X[start : start + part.shape[0]]
            _hash(
                part.view(np.uint64).ravel(),
                None,
                None,
                0,
                part.shape[0],
                0,
                a0,
                a1,
                out[start : start + part.shape[0]],
            )

    ends = _cut_rows(n, X.size)
    run_in_parts(tiles, len(ends) - 1)
    return out


def _cut_rows(n: int, values: int) -> list[int]:
    """Where to cut n rows among threads."""
    parts = max(1, min(n, 64, values // 200_000))
    return [n * k // parts for k in range(parts + 1)]


def _sparse_hashes(X: Any) -> np.ndarray:
    X = X if X.format == "csr" else X.tocsr()
    n, d = X.shape
    kinds = (np.int32, np.int64)
    if X.data.dtype.kind not in "fiub" or X.indices.dtype not in kinds or X.indptr.dtype not in kinds:
        return judges_row_hashes(X)
    a0, a1 = _multipliers(d)
    out = np.zeros((n, 2), dtype=np.uint64)
    kind = X.indices.dtype if X.indices.dtype == X.indptr.dtype else np.int64
    indices, indptr = plain_memory(X.indices.astype(kind, copy=False)), plain_memory(X.indptr.astype(kind, copy=False))
    if indices.size and (indices.min() < 0 or indices.max() >= d):
        return judges_row_hashes(X)  # raises
    fine = np.ones(65, dtype=bool)
    ends = _cut_rows(n, X.data.size)
    plain = X.data.dtype == np.float64 and X.data.dtype.isnative
    values = plain_memory(X.data)

    def part(k: int) -> None:
        fine[k] = _columns_rise(indices, indptr, ends[k], ends[k + 1])
        if plain:
            _hash(values.view(np.uint64), indices, indptr, ends[k], ends[k + 1], 0, a0, a1, out)
            return
        first = ends[k]
        while first < ends[k + 1]:
            last = int(np.searchsorted(indptr, indptr[first] + 8 * VALUES_PER_TILE, side="right")) - 1
            last = min(ends[k + 1], max(last, first + 1))
            start = int(indptr[first])
            bits = values[start : int(indptr[last])].astype(np.float64).view(np.uint64)
            _hash(bits, indices, indptr, first, last, start, a0, a1, out)
            first = last

    run_in_parts(part, len(ends) - 1)
    # Columns out of order, or one place given twice: the judge sorts and adds up, and both must do it alike.
    return out if fine.all() else judges_row_hashes(X)


@compiled
def _columns_rise(indices, indptr, first, last):
    """Whether the columns of each row rise strictly: if not, the same place may stand twice."""
    fine = True
    for i in range(first, last):
        for p in range(np.uint64(indptr[i] + 1), np.uint64(max(indptr[i + 1], indptr[i] + 1))):
            fine &= indices[p] > indices[p - np.uint64(1)]
    return fine


@compiled
def _hash(bits, indices, indptr, first, last, shift, a0, a1, out):
    """Rows first..last; their values begin at ``shift``. Dense rows have no indices."""
    zero, minus_zero = np.uint64(0), np.uint64(1 << 63)
    for i in range(first, last):
        s0 = zero
        s1 = zero
        if indices is None:
            start, stop = np.uint64(i * a0.size), np.uint64((i + 1) * a0.size)
        else:
            start, stop = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        for p in range(start, stop):
            if indices is None:
                j = p - start
            else:
                j = np.uint64(indices[p])
            b = bits[p - np.uint64(shift)]
            b = zero if b == minus_zero else b
            b ^= b >> _SHIFTS[0]
            t = b * a0[j]
            t ^= t >> _SHIFTS[1]
            t *= _MIXERS[0]
            t ^= t >> _SHIFTS[2]
            s0 += t
            t = b * a1[j]
            t ^= t >> _SHIFTS[1]
            t *= _MIXERS[1]
            t ^= t >> _SHIFTS[2]
            s1 += t
        out[i, 0] = s0
        out[i, 1] = s1
