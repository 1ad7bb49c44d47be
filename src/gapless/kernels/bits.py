"""Tiles for rows of 0 and 1: |x - z|^2 and <x, z> are counts of bits, and a kernel value is looked up.

64 features at a time by exclusive or (distances) or by and (inner products); the counts are exact, so that the values are as
good as the table, in single precision too.
"""

from __future__ import annotations

from typing import Any

import llvmlite.ir as ir
import numpy as np
from numba import types
from numba.extending import intrinsic
from scipy import sparse

from gapless._jit import compiled
from gapless._threads import share
from gapless.kernels.rbf import RBF
from gapless.kernels.tiles import CHUNK, COLUMNS, ROWS, Tick, Tiles, padded

#: Features up to which counting bits is the faster way.
WIDEST = 2048


class BitTiles(Tiles):
    def __init__(self, kernel: Any, rows: np.ndarray, table: np.ndarray) -> None:
        super().__init__(kernel, rows)
        self.table = table

    @classmethod
    def packed(cls, kernel: Any, X: Any, order: np.ndarray | None, dtype: Any) -> BitTiles:
        n, d = X.shape
        words = -(-d // 64)
        rows = np.zeros((n, words), np.uint64)

        def fill(k: int) -> None:
            a, b = k * CHUNK, min(n, (k + 1) * CHUNK)
            part = X[a:b] if order is None else X[order[a:b]]
            part = part.toarray() if sparse.issparse(part) else part
            bits = np.zeros((b - a, words * 64), bool)
            bits[:, :d] = part != 0
            rows[a:b] = np.packbits(bits, axis=1).view(np.uint64)

        share(fill, -(-n // CHUNK))
        counts = np.arange(d + 1, dtype=np.float64)[None, :]
        if isinstance(kernel, RBF):
            table = np.exp(-kernel.gamma * counts)
        else:
            table = kernel.of(counts, np.zeros(1), np.zeros(d + 1))
        return cls(kernel, rows, np.ascontiguousarray(table[0], dtype))

    @property
    def dtype(self) -> Any:
        return self.table.dtype

    def first(self, n: int) -> BitTiles:
        return BitTiles(self.kernel, self.rows[:n], self.table)

    def add(
        self, out: np.ndarray, columns: np.ndarray, v: np.ndarray, at: np.ndarray | None = None, tick: Tick | None = None
    ) -> None:
        right, w = self._right(columns), padded(v, self.dtype)
        n = self.n if at is None else at.size

        def fill(k: int) -> None:
            a, b = k * CHUNK, min(n, (k + 1) * CHUNK)
            if at is None:
                _add(self.rows[a:b], right, w, self.table, isinstance(self.kernel, RBF), out[a:b])
            else:
                part = np.zeros(b - a)
                _add(self.rows[at[a:b]], right, w, self.table, isinstance(self.kernel, RBF), part)
                out[at[a:b]] += part

        share(fill, -(-n // CHUNK), tick)

    def square(self, index: np.ndarray, tick: Tick | None = None) -> np.ndarray:
        right = self._right(index)
        rows = self.rows[index]
        out = np.empty((index.size, right.shape[0] * COLUMNS), self.dtype)
        ends = [*range(0, index.size, ROWS), index.size]
        apart = isinstance(self.kernel, RBF)
        share(lambda k: _fill(rows, right, self.table, apart, out, ends[k], ends[k + 1]), len(ends) - 1, tick)
        return out

    def _right(self, index: np.ndarray) -> np.ndarray:
        m, words = index.size, self.rows.shape[1]
        blocks = -(-m // COLUMNS)
        full = np.zeros((blocks * COLUMNS, words), np.uint64)
        full[:m] = self.rows[index]
        return np.ascontiguousarray(full.reshape(blocks, COLUMNS, words).transpose(0, 2, 1))


def zeros_and_ones(X: Any) -> bool:
    """Whether X holds nothing else, and is narrow enough for it to matter."""
    if X.shape[1] > WIDEST:
        return False
    values = X.data if sparse.issparse(X) else X
    some = values[:64]
    if not ((some == 0) | (some == 1)).all():
        return False
    return bool(((values == 0) | (values == 1)).all())


@intrinsic
def _ones(typingctx, word):
    """How many bits of a word are 1."""

    def build(context, builder, signature, arguments):
        i64 = ir.IntType(64)
        function = builder.module.declare_intrinsic("llvm.ctpop", [i64], fnty=ir.FunctionType(i64, [i64]))
        return builder.call(function, arguments)

    return types.int64(types.uint64), build


@compiled
def _count(row, block, apart, counts):
    for w in range(row.size):
        x, words = row[w], block[w]
        for j in range(COLUMNS):
            found = _ones(x ^ words[j]) if apart else _ones(x & words[j])
            counts[j] = found if w == 0 else counts[j] + found


@compiled(vectorise=True)
def _add(left, right, v, table, apart, out):
    counts = np.zeros(COLUMNS, np.int64)
    for block in range(right.shape[0]):
        w = v[block * COLUMNS : (block + 1) * COLUMNS]
        for i in range(left.shape[0]):
            _count(left[i], right[block], apart, counts)
            s = table.dtype.type(0.0)
            for j in range(COLUMNS):
                s += table[counts[j]] * w[j]
            out[i] += s


@compiled
def _fill(left, right, table, apart, out, start, stop):
    counts = np.zeros(COLUMNS, np.int64)
    for block in range(right.shape[0]):
        for i in range(start, stop):
            _count(left[i], right[block], apart, counts)
            into = out[i, block * COLUMNS : (block + 1) * COLUMNS]
            for j in range(COLUMNS):
                into[j] = table[counts[j]]
