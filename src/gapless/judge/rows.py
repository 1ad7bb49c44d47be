"""The rows of X, dense or CSR, in blocks of float64. The only file that knows the difference.

Sparse matrices are recognised by their attributes (``tocsr``, ``indptr``, ``indices``, ``data``); nothing is
imported for them and their own products are not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .errors import CertificateError

#: Numbers in a dense block (2 MiB of float64), and the most rows a block has.
BLOCK_VALUES = 1 << 18
BLOCK_ROWS = 2048


@dataclass(frozen=True, eq=False)
class DenseBlock:
    """Some rows, C-ordered float64; ``start`` is the first one's number, ``step`` rows are combined at a time."""

    start: int
    values: np.ndarray
    step = 128

    @property
    def n(self) -> int:
        return self.values.shape[0]

    @property
    def depth(self) -> int:
        """The most products in one score."""
        return self.values.shape[1]

    @property
    def height(self) -> int:
        """The most products in one entry of a part of ``combine``."""
        return min(self.n, self.step)

    def scores(self, W: np.ndarray) -> np.ndarray:
        """X W^T, (rows, S)"""
        return self.values @ W.T

    def combine(self, U: np.ndarray) -> Iterator[np.ndarray]:
        """Parts (S, features) of U X, to be added up with care: a short sum has a small error bound."""
        for start in range(0, self.n, self.step):
            part = slice(start, start + self.step)
            yield U[:, part] @ self.values[part]

    def absolute(self) -> DenseBlock:
        return DenseBlock(self.start, np.abs(self.values))

    def squares(self) -> np.ndarray:
        """|x_i|^2"""
        return np.einsum("ij,ij->i", self.values, self.values)

    def take(self, rows: np.ndarray) -> DenseBlock:
        return DenseBlock(self.start, self.values[rows])

    def row(self, i: int) -> tuple[list[int], list[float]]:
        """Columns and values of one row, zeros left out."""
        columns = np.flatnonzero(self.values[i])
        return columns.tolist(), self.values[i, columns].tolist()


@dataclass(frozen=True, eq=False)
class SparseBlock:
    """Some rows in CSR: strictly increasing columns in each row, float64 values."""

    start: int
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray  # from 0
    n_features: int

    @property
    def n(self) -> int:
        return self.indptr.size - 1

    @property
    def depth(self) -> int:
        return int(np.diff(self.indptr).max(initial=0))

    @property
    def height(self) -> int:
        return int(np.bincount(self.indices, minlength=1).max(initial=0))

    def scores(self, W: np.ndarray) -> np.ndarray:
        out = np.empty((self.n, W.shape[0]))
        for s, w in enumerate(W):
            out[:, s] = row_sums(self.data * w[self.indices], self.indptr)
        return out

    def combine(self, U: np.ndarray) -> Iterator[np.ndarray]:
        counts = np.diff(self.indptr)
        out = np.empty((U.shape[0], self.n_features))
        for s, u in enumerate(U):
            products = self.data * np.repeat(u, counts)
            out[s] = np.bincount(self.indices, weights=products, minlength=self.n_features)
        yield out

    def absolute(self) -> SparseBlock:
        return SparseBlock(self.start, np.abs(self.data), self.indices, self.indptr, self.n_features)

    def squares(self) -> np.ndarray:
        return row_sums(self.data * self.data, self.indptr)

    def take(self, rows: np.ndarray) -> SparseBlock:
        keep = np.repeat(rows, np.diff(self.indptr))
        indptr = np.concatenate(([0], np.cumsum(np.diff(self.indptr)[rows])))
        return SparseBlock(self.start, self.data[keep], self.indices[keep], indptr, self.n_features)

    def row(self, i: int) -> tuple[list[int], list[float]]:
        part = slice(self.indptr[i], self.indptr[i + 1])
        return self.indices[part].tolist(), self.data[part].tolist()


Block = DenseBlock | SparseBlock


def filled(block: Block) -> np.ndarray:
    """The rows of a block, dense."""
    if isinstance(block, DenseBlock):
        return block.values
    out = np.zeros((block.n, block.n_features))
    out[np.repeat(np.arange(block.n), np.diff(block.indptr)), block.indices] = block.data
    return out


def row_sums(products: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Sums over the entries of each row; 0 for a row that has none."""
    out = np.zeros(indptr.size - 1, dtype=products.dtype)
    filled = np.flatnonzero(indptr[1:] > indptr[:-1])
    if filled.size:
        # reduceat sums from each start to the next one; rows without entries have no start of their own.
        out[filled] = np.add.reduceat(products, indptr[filled])
    return out


@dataclass(frozen=True, eq=False)
class DenseRows:
    values: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.values.shape
        return n, d

    def blocks(self, size: int = BLOCK_VALUES, most: int = BLOCK_ROWS) -> Iterator[DenseBlock]:
        n, d = self.shape
        step = max(1, min(most, size // max(d, 1)))
        for start in range(0, n, step):
            yield DenseBlock(start, np.ascontiguousarray(self.values[start : start + step], dtype=np.float64))


@dataclass(frozen=True, eq=False)
class SparseRows:
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    n_features: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.indptr.size - 1, self.n_features

    def blocks(self, size: int = BLOCK_VALUES, most: int = BLOCK_ROWS) -> Iterator[SparseBlock]:
        """Blocks of about ``size`` entries, more where the columns are many: each block costs a pass over them."""
        n, d = self.shape
        size = max(size // 4, 4 * d)
        start = 0
        while start < n:
            end = int(np.searchsorted(self.indptr, self.indptr[start] + size, side="right")) - 1
            end = min(n, max(start + 1, end), start + max(most, size))
            first, last = int(self.indptr[start]), int(self.indptr[end])
            yield SparseBlock(
                start,
                np.asarray(self.data[first:last], dtype=np.float64),
                self.indices[first:last],
                self.indptr[start : end + 1] - first,
                d,
            )
            start = end


@dataclass(frozen=True, eq=False)
class StreamedRows:
    """Rows that are not kept: ``walk`` gives them again, some at a time, each time that they are asked for."""

    walk: Callable[[], Iterator[Any]]
    shape: tuple[int, int]

    def parts(self) -> Iterator[tuple[int, DenseRows | SparseRows]]:
        """Some rows after the other, and the number of the first; CertificateError where there are other rows than before."""
        start, (n, d) = 0, self.shape
        for X in self.walk():
            rows = as_rows(X)
            if isinstance(rows, StreamedRows) or rows.shape[1] != d:
                break
            yield start, rows
            start += rows.shape[0]
        if start != n:
            raise CertificateError(f"the data changed while they were read: {n} rows of {d} columns before, now others")

    def blocks(self, size: int = BLOCK_VALUES, most: int = BLOCK_ROWS) -> Iterator[Block]:
        for start, rows in self.parts():
            for block in rows.blocks(size, most):
                yield replace(block, start=start + block.start)


Rows = DenseRows | SparseRows | StreamedRows


def place(block: Block) -> slice:
    """Where the rows of a block stand among all rows."""
    return slice(block.start, block.start + block.n)


def counted(rows: Rows, weights: np.ndarray, other: np.ndarray) -> Iterator[tuple[Block, np.ndarray, np.ndarray]]:
    """The rows with weight, block by block, with their weights and what another array (..., n) has of them."""
    for block in rows.blocks():
        w, own = weights[place(block)], other[..., place(block)]
        keep = w > 0
        if not keep.all():
            block, w, own = block.take(keep), w[keep], own[..., keep]
        if block.n:
            yield block, w, own


def as_rows(X: Any) -> Rows:
    """X as rows: arrays, nested lists, data frames, sparse matrices. CertificateError where it holds no numbers."""
    if isinstance(X, DenseRows | SparseRows | StreamedRows):
        return X
    if hasattr(X, "tocsr") or hasattr(X, "indptr"):
        return _sparse(X)
    try:
        values = np.asarray(X)
        if values.dtype.kind not in "fiub":
            if values.dtype.kind != "O":
                raise ValueError(f"dtype {values.dtype}")
            values = values.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise CertificateError(f"X does not hold numbers ({error}): the judge needs the matrix of the fit") from None
    if values.ndim != 2:
        raise CertificateError(f"X has {values.ndim} dimensions; the judge needs 2 (rows, features)")
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        values = values.astype(np.float64)
    return DenseRows(values)


def _sparse(X: Any) -> SparseRows:
    try:
        if hasattr(X, "tocsr"):
            X = X.tocsr()
        data, indices, indptr = np.asarray(X.data), np.asarray(X.indices), np.asarray(X.indptr)
        n, d = (int(side) for side in X.shape)
    except (AttributeError, TypeError, ValueError) as error:
        raise CertificateError(f"X looks sparse but cannot be read as CSR ({error})") from None
    good = (
        data.ndim == indices.ndim == indptr.ndim == 1
        and data.dtype.kind in "fiub"
        and indices.dtype.kind in "iu"
        and indptr.dtype.kind in "iu"
        and indptr.size == n + 1
        and d >= 0
    )
    if good:
        indptr = indptr.astype(np.int64)
        good = bool(indptr[0] == 0 and (np.diff(indptr) >= 0).all() and indptr[-1] <= min(data.size, indices.size))
    if good and indptr[-1]:
        data, indices = data[: indptr[-1]], indices[: indptr[-1]]
        good = bool(indices.min() >= 0 and indices.max() < d)
    if not good:
        raise CertificateError("X looks sparse but its data, indices and indptr do not fit together")
    data, indices = data[: indptr[-1]], indices[: indptr[-1]]
    return _canonical(data, indices, indptr, d)


def _canonical(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, d: int) -> SparseRows:
    """Sorted columns, entries of the same place added up, so that equal matrices have equal rows."""
    if indices.size > 1:
        rises = indices[1:] > indices[:-1]
        first = indptr[1:-1]
        first = first[(first > 0) & (first < indices.size)]
        rises[first - 1] = True  # from one row to the next anything goes
        if not rises.all():
            row = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
            order = np.lexsort((indices, row))
            row, indices, data = row[order], indices[order], data[order].astype(np.float64)
            new = np.concatenate(([True], (indices[1:] != indices[:-1]) | (row[1:] != row[:-1])))
            starts = np.flatnonzero(new)
            data = np.add.reduceat(data, starts)
            indices, row = indices[starts], row[starts]
            indptr = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=indptr.size - 1))))
    return SparseRows(data, indices, indptr, d)


def some(rows: Rows, index: np.ndarray) -> Rows:
    """These rows, in this order."""
    if isinstance(rows, StreamedRows):
        raise CertificateError("rows that are read in blocks cannot be taken in another order")
    if isinstance(rows, DenseRows):
        return DenseRows(rows.values[index])
    counts = np.diff(rows.indptr)[index]
    indptr = np.concatenate(([0], np.cumsum(counts)))
    place = np.repeat(rows.indptr[index] - indptr[:-1], counts) + np.arange(indptr[-1])
    return SparseRows(rows.data[place], rows.indices[place], indptr, rows.n_features)


def as_dense(rows: Rows) -> np.ndarray:
    """All rows in one array."""
    return np.concatenate([np.zeros((0, rows.shape[1])), *(filled(block) for block in rows.blocks())])


def single(rows: Rows) -> Rows:
    """The values as float32 has them."""
    if isinstance(rows, StreamedRows):
        return StreamedRows(lambda: (single(part) for _, part in rows.parts()), rows.shape)
    if isinstance(rows, DenseRows):
        return DenseRows(rows.values.astype(np.float32))
    return SparseRows(rows.data.astype(np.float32), rows.indices, rows.indptr, rows.n_features)


def in_float32(X: Any) -> bool:
    """Whether every value is a float32: else no fit of that type was made on them."""
    rows = as_rows(X)
    found = (block.data if isinstance(block, SparseBlock) else block.values for block in rows.blocks())
    return all(bool((part == part.astype(np.float32)).all()) for part in found)


def first_non_finite(rows: Rows) -> int | None:
    """The number of the first row with a value that is not finite."""
    if isinstance(rows, StreamedRows):
        found = ((start, first_non_finite(part)) for start, part in rows.parts())
        return next((start + bad for start, bad in found if bad is not None), None)
    if isinstance(rows, SparseRows):
        if rows.data.dtype.kind != "f" or np.isfinite(rows.data).all():
            return None
        entry = int(np.argmin(np.isfinite(rows.data)))
        return int(np.searchsorted(rows.indptr, entry, side="right")) - 1
    if rows.values.dtype.kind != "f":
        return None
    for block in rows.blocks():
        fine = np.isfinite(block.values)
        if not fine.all():
            return block.start + int(np.argmin(fine.all(axis=1)))
    return None
