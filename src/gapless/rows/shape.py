"""A matrix as rows: how many, how long, and some of them, whatever their form in memory."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeGuard

import numpy as np

from gapless._runtime.threads import run_in_parts
from gapless.rows.copies.binary import BinaryRows
from gapless.rows.copies.two_value import TwoValueRows
from gapless.rows.copies.words import OrderedPackedRows, PackedRows
from gapless.rows.csr import CsrRows
from gapless.rows.dense import DenseRows
from gapless.rows.thresholds import ROW_THRESHOLDS

Rows = DenseRows | CsrRows
#: The rows, or a copy of them that some reader reads faster (`rows/copies`).
RowsOrCopy = Rows | PackedRows | OrderedPackedRows | TwoValueRows | BinaryRows


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
        return CsrRows(plain_memory(X.data), plain_memory(indices), plain_memory(indptr), X.shape[1], float(constant))
    return DenseRows(plain_memory(np.ascontiguousarray(X)), float(constant))


class _Writable:
    """Shows read-only memory as writable. Nobody writes to it."""

    def __init__(self, array: np.ndarray) -> None:
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface
        self.keep_alive = array


def plain_memory(array: np.ndarray) -> np.ndarray:
    """The same memory in C order as an ndarray that is not marked as read-only: kernels would be compiled once more for such."""
    array = np.require(array, requirements=["C", "A"])
    if type(array) is np.ndarray and array.flags.writeable:
        return array
    if array.size == 0:
        return np.array(array)
    return np.asarray(_Writable(np.asarray(array)))


def is_sparse(rows: RowsOrCopy) -> TypeGuard[CsrRows]:
    """Whether these are rows of a CSR matrix, and no copy."""
    return isinstance(rows, CsrRows)


def is_dense(rows: RowsOrCopy) -> TypeGuard[DenseRows]:
    """Whether these are rows of a C-ordered matrix, and no copy."""
    return isinstance(rows, DenseRows)


def is_binary(rows: RowsOrCopy) -> bool:
    """Whether these are the copy that keeps where the ones are."""
    return isinstance(rows, BinaryRows)


def n_rows(rows: RowsOrCopy) -> int:
    return rows.n_rows


def n_features(rows: RowsOrCopy) -> int:
    return rows.n_features


def n_stored(rows: RowsOrCopy) -> int:
    """Values in memory, zeros that fill a word up included."""
    return rows.n_stored


def longest_row(rows: Rows) -> int:
    """Values of the longest row."""
    return int(np.diff(rows.indptr).max(initial=0)) if isinstance(rows, CsrRows) else rows.n_features


def bytes_per_value(rows: Rows) -> int:
    """Bytes of a value and of its column number, where that is kept."""
    return rows.values.itemsize + (rows.indices.itemsize if isinstance(rows, CsrRows) else 0)


def base_length(rows: RowsOrCopy) -> float:
    """The length of the vector that a copy takes out of its rows and adds to sums again; 0 for all but two-value rows."""
    return rows.base_length if isinstance(rows, TwoValueRows) else 0.0


def to_copy_coordinates(rows: RowsOrCopy, theta: np.ndarray) -> np.ndarray:
    """theta as kernels find it beside these rows; theta itself where these are no copy."""
    return rows.to_copy_coordinates(theta) if isinstance(rows, TwoValueRows | OrderedPackedRows) else theta


def from_copy_coordinates(rows: RowsOrCopy, sums: np.ndarray) -> np.ndarray:
    """Sums of these rows in the user's coordinates; the sums themselves where these are no copy."""
    return rows.from_copy_coordinates(sums) if isinstance(rows, TwoValueRows | OrderedPackedRows) else sums


def slice_rows(rows: Rows, start: int, stop: int) -> Rows:
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


def take_rows(rows: Rows, index: np.ndarray) -> Rows:
    """A copy of the rows at ``index``."""
    if isinstance(rows, DenseRows):
        values = np.empty((index.size, rows.values.shape[1]), rows.values.dtype)
        some = max(1, ROW_THRESHOLDS.tile_bytes // max(1, values.itemsize * values.shape[1]))

        def copy(k: int) -> None:
            part = slice(k * some, (k + 1) * some)
            np.take(rows.values, index[part], axis=0, out=values[part], mode="wrap")  # "raise" would copy once more

        run_in_parts(copy, -(-index.size // some))
        return DenseRows(values, rows.constant)
    counts = np.diff(rows.indptr)[index]
    indptr = np.zeros(index.size + 1, rows.indptr.dtype)
    np.cumsum(counts, out=indptr[1:])
    keep = np.repeat(rows.indptr[:-1][index] - indptr[:-1], counts) + np.arange(indptr[-1])
    return CsrRows(rows.values[keep], rows.indices[keep], indptr, rows.n_features, rows.constant)


def take_dense(rows: Rows, index: np.ndarray) -> np.ndarray:
    """The rows at ``index`` as a matrix of float64, their constant feature in the last column."""
    part = take_rows(rows, index)
    X = np.zeros((index.size, rows.n_features + 1))
    if isinstance(part, CsrRows):
        X[np.repeat(np.arange(index.size), np.diff(part.indptr)), part.indices] = part.values
    else:
        X[:, :-1] = part.values
    X[:, -1] = rows.constant
    return X
