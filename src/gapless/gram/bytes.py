"""Tiles for long rows of whole steps: images, counts, ratings.  Where every number of X is a step times 0, 1, ... 255, the
squares and inner products that make up |x - z|^2 are whole numbers,

    |x - z|^2 = step^2 (|p|^2 + |q|^2 - 2 <p, q>),      <p, q> = <p, q - 128> + 128 sum(p)

and the machine has an instruction that multiplies and adds four such products in each lane: exact, and four times as fast as
single precision.  What is left of the exponent is one product, so that float32 and float64 values differ in nothing but e^t.

A row of the left is its numbers, four to a word, and |p|^2 - 256 sum(p) in the last word; a panel of the right has q - 128, and
|q|^2 in its last line.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from gapless._compile.jit import compiled
from gapless._runtime.threads import run_in_parts
from gapless.gram.float32_error import FLOAT32_UNIT, TERMS, ErrorRates
from gapless.gram.panels import bytes_are_fast
from gapless.gram.panels import fill as fill_panels
from gapless.gram.tiles import CHUNK, LONG_ROW_COLUMNS, RowTiles
from gapless.kernels.rbf import RBF
from gapless.rows.products import Tick


class ByteTiles(RowTiles):
    """Rows of bytes, for a Gaussian kernel; ``squares`` are |p|^2 of all rows."""

    def __init__(self, kernel: RBF, rows: np.ndarray, squares: np.ndarray, step: float, dtype: Any) -> None:
        super().__init__(kernel, rows)
        self.squares, self.step, self._dtype = squares, step, np.dtype(dtype)

    @classmethod
    def from_whole_steps(cls, kernel: Any, X: Any, dtype: Any, step: float | None = None) -> ByteTiles | None:
        """Tiles of X; None where rows are short, where their numbers are not whole steps, and where the processor has no such
        instruction."""
        n, d = X.shape
        suits = isinstance(kernel, RBF) and not sparse.issparse(X) and X.dtype in (np.float64, dtype) and n > 0
        widest = 8000  # numbers of a row: the sum of the products of more might not fit a word
        if not (suits and LONG_ROW_COLUMNS <= d <= widest and bytes_are_fast()):
            return None
        for own in [step] if step is not None else _possible_steps(X[:64], _tolerance(dtype)):
            words = -(-d // 4)
            tiles = cls(kernel, np.zeros((n, words + 1), np.uint32), np.empty(n, np.uint32), own, dtype)
            right = np.zeros(-(-n // CHUNK), bool)

            def fill(k: int, tiles: ByteTiles = tiles, right: np.ndarray = right) -> None:
                part = slice(k * CHUNK, (k + 1) * CHUNK)
                right[k] = tiles._lay_out(X[part], tiles.rows[part], tiles.squares[part])

            run_in_parts(fill, right.size)
            if right.all():
                return tiles
        return None

    def lay_out(self, X: Any, rows: np.ndarray) -> None:
        """X are rows that were laid out with the same step."""
        rows[:] = X

    def _lay_out(self, X: np.ndarray, rows: np.ndarray, squares: np.ndarray) -> bool:
        """Write rows of X; returns False where some number is not a whole number of steps."""
        rows[:] = 0
        X = np.ascontiguousarray(X, dtype=np.float64)  # of float32 the same numbers, and one kernel
        X = X if X.flags.writeable else X.copy()
        return bool(_lay_out(X, self.step, _tolerance(self.dtype), rows.view(np.uint8), rows, squares))

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def long(self) -> bool:
        return True

    def reorder(self, order: np.ndarray, dtype: Any) -> ByteTiles:
        return ByteTiles(self.kernel, self.rows[order], self.squares[order], self.step, dtype)

    def first(self, n: int) -> ByteTiles:
        return ByteTiles(self.kernel, self.rows[:n], self.squares[:n], self.step, self.dtype)

    @cached_property
    def rates(self) -> ErrorRates:
        """The whole number, the step and their product are rounded: t is off by 3 u |t|, and |t| <= 2 gamma (|x|^2 + |z|^2)."""
        if self.dtype != np.float32:
            return ErrorRates()
        sizes = 6.6 * FLOAT32_UNIT * self.kernel.gamma * self.step**2 * self.squares.astype(np.float64)
        return ErrorRates.from_sizes(sizes)

    @cached_property
    def _all(self) -> np.ndarray:
        return self.pack_right(np.arange(self.n))

    def fill_columns(self, columns: np.ndarray, out: np.ndarray, tick: Tick | None = None, start: int = 0) -> None:
        """out = K[start:, columns] transposed, from column ``start`` on: distances are symmetric to the last bit."""
        left, panels, some = self.rows[columns], self._all, CHUNK // TERMS
        first = start // TERMS

        def fill(k: int) -> None:
            a, b = first + k * some, min(panels.shape[0], first + (k + 1) * some)
            fill_panels(left, panels[a:b], *self.map, out[:, a * TERMS : b * TERMS])

        run_in_parts(fill, -(-(panels.shape[0] - first) // some), tick)

    @property
    def map(self) -> tuple[int, int | None, float]:
        """The Gaussian's number in compiled code, no degree, and the exponent of a squared step."""
        return 1, None, -self.kernel.gamma * self.step**2

    def pack_right(self, index: np.ndarray) -> np.ndarray:
        panels = np.empty((-(-index.size // TERMS), self.rows.shape[1], TERMS), np.uint32)
        some = CHUNK // TERMS

        def fill(k: int) -> None:
            _pack(self.rows, self.squares, index[k * CHUNK : (k + 1) * CHUNK], panels[k * some : (k + 1) * some])

        run_in_parts(fill, -(-panels.shape[0] // some))
        return panels


def _tolerance(dtype: Any) -> float:
    """The share of a number by which it may differ from its steps: that of a few rounded divisions in the precision ``dtype``."""
    return 2.0**-51 if np.dtype(dtype) == np.float64 else 2.0**-22


def _possible_steps(X: np.ndarray, close: float) -> list[float]:
    """The steps that some rows allow: 1, and a byte's step as a share of 1 or of the largest number."""
    X = np.asarray(X, np.float64)
    top = float(X.max(initial=0.0))
    if not (0.0 < top < np.inf and float(X.min()) >= 0.0):
        return []
    found = []
    for step in dict.fromkeys([1.0, 1.0 / 255.0, 1.0 / 256.0, top / 255.0]):
        whole = np.rint(X / step)
        if (np.abs(whole * step - X) <= close * X).all() and whole.max() <= 255.0:
            found.append(step)
    return found


@compiled
def _lay_out(X, step, close, numbers, rows, squares):
    n, d = X.shape
    last = rows.shape[1] - 1
    inverse = 1.0 / step
    for i in range(n):
        row, into = X[i], numbers[i]
        square = 0
        total = 0
        wrong = 0
        for j in range(d):
            x = float(row[j])
            whole = np.rint(x * inverse)
            ok = (whole >= 0.0) & (whole <= 255.0) & (abs(whole * step - x) <= close * x)
            wrong += 0 if ok else 1
            q = int(whole) if ok else 0
            into[j] = q
            square += q * q
            total += q
        if wrong:
            return False
        squares[i] = np.uint32(square)
        rows[i, last] = np.uint32((square - 256 * total) & 0xFFFFFFFF)
    return True


@compiled
def _pack(rows, squares, index, panels):
    """Panels of rows[index]; columns beyond the index repeat its last row, since words of zeros might overflow."""
    shifted = np.uint32(0x80808080)  # q - 128 in every byte of a word
    last = rows.shape[1] - 1
    for p in range(panels.shape[0]):
        panel = panels[p]
        for j in range(TERMS):
            at = index[min(index.size - 1, p * TERMS + j)]
            row = rows[at]
            for c in range(last):
                panel[c, j] = row[c] ^ shifted
            panel[last, j] = squares[at]
