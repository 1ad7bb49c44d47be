"""Tiles for rows of 0 and 1: |x - z|^2 and <x, z> are counts of bits, and a kernel value is looked up.

64 features at a time by exclusive or (distances) or by and (inner products); the counts are exact, so that the values are as
good as the table, in single precision too.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from gapless._compile.jit import compiled, instruction
from gapless._compile.on_demand import ir, types
from gapless.gram.float32_error import TERMS, ErrorRates
from gapless.gram.tiles import COLUMNS, RowTiles


class BitTiles(RowTiles):
    """Rows as words of 64 bits; ``table`` has the kernel value of each count."""

    def __init__(self, kernel: Any, rows: np.ndarray, table: np.ndarray) -> None:
        super().__init__(kernel, rows)
        self.table = table

    @classmethod
    def from_binary_rows(cls, kernel: Any, X: Any, dtype: Any) -> BitTiles:
        n, d = X.shape
        counts = np.arange(d + 1, dtype=np.float64)[None, :]
        if kernel.of_distances:
            table = kernel.from_distances(counts)
        else:
            table = kernel.from_products(counts, np.zeros(1), np.zeros(d + 1))
        tiles = cls(kernel, np.empty((n, -(-d // 64)), np.uint64), np.ascontiguousarray(table[0], dtype))
        tiles.lay_out_all(X)
        return tiles

    def lay_out(self, X: Any, rows: np.ndarray) -> None:
        bits = np.zeros((X.shape[0], rows.shape[1] * 64), bool)
        bits[:, : X.shape[1]] = (X.toarray() if sparse.issparse(X) else X) != 0
        rows[:] = np.packbits(bits, axis=1).view(np.uint64)

    @property
    def dtype(self) -> Any:
        return self.table.dtype

    def reorder(self, order: np.ndarray, dtype: Any) -> BitTiles:
        return BitTiles(self.kernel, self.rows[order], self.table.astype(dtype))

    def first(self, n: int) -> BitTiles:
        return BitTiles(self.kernel, self.rows[:n], self.table)

    @property
    def apart(self) -> bool:
        """Whether bits that differ are counted, as distances need; else common bits are counted."""
        return bool(self.kernel.of_distances)

    @cached_property
    def rates(self) -> ErrorRates:
        single = self.dtype == np.float32 and float(self.table.min(initial=0.0)) >= 0.0
        return ErrorRates(np.zeros(self.n) if single else None)

    def _add(
        self,
        left: np.ndarray,
        right: np.ndarray,
        w: np.ndarray,
        rates: np.ndarray | None,
        mixed: int,
        out: np.ndarray,
        off: np.ndarray,
    ) -> None:
        _add(left, right, w, rates, mixed, self.table, self.apart, out, off)

    def _add_both(
        self, left: np.ndarray, right: np.ndarray, w: np.ndarray, v: np.ndarray, out: np.ndarray, across: np.ndarray
    ) -> None:
        _add_both(left, right, w, v, self.table, self.apart, out, across)

    def fill(self, left: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
        _fill(left, right, self.table, self.apart, out)

    def padded_width(self, right: np.ndarray) -> int:
        return right.shape[0] * COLUMNS

    def pack_right(self, index: np.ndarray) -> np.ndarray:
        """Rows as blocks of columns."""
        m, words = index.size, self.rows.shape[1]
        blocks = -(-m // COLUMNS)
        full = np.zeros((blocks * COLUMNS, words), np.uint64)
        full[:m] = self.rows[index]
        return np.ascontiguousarray(full.reshape(blocks, COLUMNS, words).transpose(0, 2, 1))


def is_binary(X: Any) -> bool:
    """Whether X holds 0 and 1 only, and has at most 2,048 columns; beyond these a product of floats is faster."""
    if X.shape[1] > 2048:
        return False
    values = X.data if sparse.issparse(X) else X
    some = values[:64]
    if not ((some == 0) | (some == 1)).all():
        return False
    return bool(((values == 0) | (values == 1)).all())


@instruction(lambda word: int(word).bit_count())
def _ones(typingctx, word):
    """The number of bits of a word that are 1."""

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
def _add(left, right, v, rates, mixed, table, apart, out, off):
    counts = np.zeros(COLUMNS, np.int64)
    for block in range(right.shape[0]):
        for i in range(left.shape[0]):
            _count(left[i], right[block], apart, counts)
            total = 0.0
            bound = 0.0
            for first in range(0, COLUMNS, TERMS):
                w = v[block * COLUMNS + first : block * COLUMNS + first + TERMS]
                found = counts[first : first + TERMS]
                s = table.dtype.type(0.0)
                for j in range(TERMS):
                    s += table[found[j]] * w[j]
                total += s
                if block * COLUMNS + first == mixed * TERMS:
                    s = table.dtype.type(0.0)
                    for j in range(TERMS):
                        s += table[found[j]] * abs(w[j])
                bound += abs(s)
            out[i] += total
            # Counts are exact: all rates are the same, and the second sum is not needed.
            if rates is not None and rates.size:
                off[i, 0] += rates[0] * bound


@compiled(vectorise=True)
def _add_both(left, right, w, v, table, apart, out, across):
    """out += K w and across += K'v."""
    counts = np.zeros(COLUMNS, np.int64)
    for block in range(right.shape[0]):
        u, down = w[block * COLUMNS : (block + 1) * COLUMNS], across[block * COLUMNS : (block + 1) * COLUMNS]
        for i in range(left.shape[0]):
            _count(left[i], right[block], apart, counts)
            own = v[i]
            s = table.dtype.type(0.0)
            for j in range(COLUMNS):
                value = table[counts[j]]
                s += value * u[j]
                down[j] += value * own
            out[i] += s


@compiled
def _fill(left, right, table, apart, out):
    counts = np.zeros(COLUMNS, np.int64)
    for block in range(right.shape[0]):
        for i in range(left.shape[0]):
            _count(left[i], right[block], apart, counts)
            into = out[i, block * COLUMNS : (block + 1) * COLUMNS]
            for j in range(into.size):
                into[j] = table[counts[j]]
