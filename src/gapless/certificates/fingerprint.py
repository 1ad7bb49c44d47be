"""Which data a certificate speaks of: the compiled twin of ``gapless.judge.fingerprint``, at memory speed.

The judge's version needs nothing but numpy; this one is what a fit pays for. Both give the same bits on
everything: dense and CSR, C and F order, float32 and float64, -0 and 0, explicit zeros, entries of the same
place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from gapless._compile.jit import compiled
from gapless._runtime.threads import share
from gapless.judge.fingerprint import MIXERS, SHIFT_0, SHIFT_1, SHIFT_2, digest, lane_multipliers
from gapless.judge.fingerprint import row_hashes as judges_row_hashes
from gapless.rows.products import as_rows

__all__ = ["fingerprint", "row_hashes"]

_M0, _M1 = (np.uint64(m) for m in MIXERS)
_S0, _S1, _S2 = np.uint64(SHIFT_0), np.uint64(SHIFT_1), np.uint64(SHIFT_2)
_NOTHING = np.uint64(0)
_MINUS_ZERO = np.uint64(1 << 63)
#: Values converted at a time where X is not float64 in C order: the tile stays in the cache.
_TILE = 1 << 15
#: Rows whose hashes are held at a time where only their digest is wanted.
_SLICE = 1 << 17


@compiled
def _dense(bits, a0, a1, out, first, last):
    for i in range(first, last):
        s0 = _NOTHING
        s1 = _NOTHING
        for j in range(bits.shape[1]):
            b = bits[i, j]
            b = _NOTHING if b == _MINUS_ZERO else b
            b ^= b >> _S0
            t = b * a0[j]
            t ^= t >> _S1
            t *= _M0
            t ^= t >> _S2
            s0 += t
            t = b * a1[j]
            t ^= t >> _S1
            t *= _M1
            t ^= t >> _S2
            s1 += t
        out[i, 0] = s0
        out[i, 1] = s1


@compiled
def _rises(indices, indptr, first, last):
    """Whether the columns of each row rise strictly: if not, the same place may stand twice."""
    fine = True
    for i in range(first, last):
        for p in range(np.uint64(indptr[i] + 1), np.uint64(max(indptr[i + 1], indptr[i] + 1))):
            fine &= indices[p] > indices[p - np.uint64(1)]
    return fine


@compiled
def _csr(bits, indices, indptr, first, last, shift, a0, a1, out):
    """Rows first..last; their values begin at ``shift``."""
    for i in range(first, last):
        s0 = _NOTHING
        s1 = _NOTHING
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j = np.uint64(indices[p])
            b = bits[p - np.uint64(shift)]
            b = _NOTHING if b == _MINUS_ZERO else b
            b ^= b >> _S0
            t = b * a0[j]
            t ^= t >> _S1
            t *= _M0
            t ^= t >> _S2
            s0 += t
            t = b * a1[j]
            t ^= t >> _S1
            t *= _M1
            t ^= t >> _S2
            s1 += t
        out[i, 0] = s0
        out[i, 1] = s1


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
    n, d = X.shape
    a0, a1 = _multipliers(d)
    out = np.zeros((n, 2), dtype=np.uint64)
    if X.dtype == np.float64 and X.dtype.isnative and X.flags.c_contiguous:
        bits = _writable(X).view(np.uint64)
        ends = _ends(n, X.size)
        share(lambda k: _dense(bits, a0, a1, out, ends[k], ends[k + 1]), len(ends) - 1)
        return out
    step = max(1, _TILE // max(d, 1))

    def tiles(k: int) -> None:
        tile = np.empty((min(step, n), d))
        for start in range(ends[k], ends[k + 1], step):
            part = tile[: min(step, ends[k + 1] - start)]
            part[...] = X[start : start + part.shape[0]]
            _dense(part.view(np.uint64), a0, a1, out[start : start + part.shape[0]], 0, part.shape[0])

    ends = _ends(n, X.size)
    share(tiles, len(ends) - 1)
    return out


def _ends(n: int, values: int) -> list[int]:
    """Where to cut n rows among threads."""
    parts = max(1, min(n, 64, values // 200_000))
    return [n * k // parts for k in range(parts + 1)]


def _writable(array: np.ndarray) -> np.ndarray:
    """The same memory in one piece, not marked as read-only: kernels would be compiled once more for such arrays. Nobody writes
    to it."""
    return as_rows(array.reshape(1, -1), 1.0).values.reshape(array.shape)


def _sparse_hashes(X: Any) -> np.ndarray:
    X = X if X.format == "csr" else X.tocsr()
    n, d = X.shape
    kinds = (np.int32, np.int64)
    if X.data.dtype.kind not in "fiub" or X.indices.dtype not in kinds or X.indptr.dtype not in kinds:
        return judges_row_hashes(X)
    a0, a1 = _multipliers(d)
    out = np.zeros((n, 2), dtype=np.uint64)
    kind = X.indices.dtype if X.indices.dtype == X.indptr.dtype else np.int64
    indices, indptr = _writable(X.indices.astype(kind, copy=False)), _writable(X.indptr.astype(kind, copy=False))
    if indices.size and (indices.min() < 0 or indices.max() >= d):
        return judges_row_hashes(X)  # raises
    fine = np.ones(65, dtype=bool)
    ends = _ends(n, X.data.size)
    plain = X.data.dtype == np.float64 and X.data.dtype.isnative
    values = _writable(X.data)

    def part(k: int) -> None:
        fine[k] = _rises(indices, indptr, ends[k], ends[k + 1])
        if plain:
            _csr(values.view(np.uint64), indices, indptr, ends[k], ends[k + 1], 0, a0, a1, out)
            return
        first = ends[k]
        while first < ends[k + 1]:
            last = int(np.searchsorted(indptr, indptr[first] + 8 * _TILE, side="right")) - 1
            last = min(ends[k + 1], max(last, first + 1))
            start = int(indptr[first])
            bits = values[start : int(indptr[last])].astype(np.float64).view(np.uint64)
            _csr(bits, indices, indptr, first, last, start, a0, a1, out)
            first = last

    share(part, len(ends) - 1)
    # Columns out of order, or one place given twice: the judge sorts and adds up, and both must do it alike.
    return out if fine.all() else judges_row_hashes(X)


def digest_of_rows(X: Any) -> str:
    """The digest of ``row_hashes(X)``, which are not kept: they would take 16 bytes a row."""
    if sparse.issparse(X) or X.ndim != 2 or X.dtype.kind not in "fiub" or X.shape[0] <= _SLICE:
        return digest(row_hashes(X), "<u8")
    return _in_slices((row_hashes(X[at : at + _SLICE]) for at in range(0, X.shape[0], _SLICE)), "<u8")


def _in_slices(slices: Iterable[np.ndarray], dtype: str) -> str:
    """``digest`` of what the slices are together."""
    whole = hashlib.blake2b(digest_size=16)
    for values in slices:
        whole.update(np.ascontiguousarray(values, dtype=dtype).data)
    return whole.hexdigest()


@lru_cache(maxsize=4)
def digest_of_ones(n: int) -> str:
    ones = np.ones(min(n, _SLICE))
    return _in_slices((ones[: min(n - at, _SLICE)] for at in range(0, max(n, 1), _SLICE)), "<f8")


def fingerprint(
    X: Any, label_index: Any, sample_weight: Any = None, *, hashes: np.ndarray | None = None
) -> dict[str, Any]:
    """The "fingerprint" block of a certificate: sizes and digests of rows, class indices and sample weights.

    ``sample_weight`` of None is the same as ones. ``hashes`` may hold ``row_hashes(X)``, if they are known.
    """
    X = X if sparse.issparse(X) else np.asarray(X)
    n = X.shape[0]
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64) + 0.0
    labels = np.asarray(label_index)
    if labels.shape != (n,) or (weights is not None and weights.shape != (n,)):
        shape = None if weights is None else weights.shape
        raise ValueError(f"{n} rows, labels of shape {labels.shape}, weights of shape {shape}")
    return {
        "n_rows": n,
        "n_features": int(X.shape[1]),
        "rows": digest_of_rows(X) if hashes is None else digest(hashes, "<u8"),
        "labels": _in_slices((labels[at : at + _SLICE] for at in range(0, max(n, 1), _SLICE)), "<i8"),
        "weights": digest_of_ones(n) if weights is None else digest(weights, "<f8"),
    }
