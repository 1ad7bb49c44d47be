"""Two protocols: the Gram matrix that a problem needs, and the tiles of it that a solver needs.

    Gram     the n x n matrix K of a problem's points, in float64, within a budget of memory: blocks and products
    Tiles    the same matrix in a solver's order and precision: products with few columns, and small squares

`blocks` has the Gram matrices of rows, of a given matrix and of a function, `dense` one that is held whole, `class_pairs`
those of two classes each; `tiles`, `bits` and `bytes` make kernel values and forget them, `cached_rows` keeps rows of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

Tick = Callable[[], None]


class Gram(Protocol):
    """K of n points. ``error``: no computed value is further than this from the exact one; ``relative_error``: the same
    as a share of the terms that `sizes` sums, where such a bound is known. ``single``: tiles in single precision that exist
    already."""

    n: int
    kernel: Any
    cache_bytes: int
    error: float
    relative_error: float | None
    single: Any

    @property
    def diagonal(self) -> np.ndarray: ...

    def values(self, rows: np.ndarray | slice, columns: np.ndarray | slice) -> np.ndarray:
        """K[rows, columns] in one piece."""
        ...

    def block(self, rows: np.ndarray, columns: np.ndarray | None = None, tick: Tick | None = None) -> np.ndarray:
        """K[rows, columns], all columns by default."""
        ...

    def product(
        self, rows: np.ndarray, coefficients: np.ndarray, at: np.ndarray | None = None, tick: Tick | None = None
    ) -> np.ndarray:
        """sum_j coefficients_j K[i, rows_j] for i in ``at``, all points by default."""
        ...

    def product_among(self, rows: np.ndarray, coefficients: np.ndarray, tick: Tick | None = None) -> np.ndarray:
        """product(rows, coefficients, rows), each kernel value made once."""
        ...

    def sizes(self, rows: np.ndarray, weights: np.ndarray, at: np.ndarray) -> np.ndarray:
        """A bound on sum_j weights_j |K[i, rows_j]| for i in ``at``; weights >= 0."""
        ...

    def tiles(self, order: np.ndarray, dtype: Any) -> Tiles:
        """The matrix of the points in this order, in this precision where that is faster."""
        ...


class Tiles(Protocol):
    """K of n points in an order of their own, in the precision ``dtype``."""

    @property
    def n(self) -> int: ...

    @property
    def dtype(self) -> Any: ...

    def add(
        self,
        out: np.ndarray,
        columns: np.ndarray,
        v: np.ndarray,
        at: np.ndarray | None = None,
        tick: Tick | None = None,
    ) -> None:
        """out += K[at, columns] v; ``out`` is float64, and as long as ``at``."""
        ...

    def square(self, index: np.ndarray, tick: Tick | None = None) -> np.ndarray:
        """K[index, index], with columns up to a whole number of tiles."""
        ...
