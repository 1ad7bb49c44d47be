"""Tiles that a Gram matrix itself gives: precomputed, callable, and sparse rows too wide to be laid out."""

from __future__ import annotations

import numpy as np

from gapless.kernels.bits import BitTiles, zeros_and_ones
from gapless.kernels.gram import Gram, _Points
from gapless.kernels.rbf import RBF
from gapless.kernels.tiles import COLUMNS, Tick, Tiles


class Pieces:
    """Pieces of the matrix in float64, whatever they cost."""

    def __init__(self, gram: Gram, order: np.ndarray) -> None:
        self.gram, self.order = gram, order

    dtype = np.dtype(np.float64)

    @property
    def n(self) -> int:
        return self.order.size

    def first(self, n: int) -> Pieces:
        return Pieces(self.gram, self.order[:n])

    def add(
        self, out: np.ndarray, columns: np.ndarray, v: np.ndarray, at: np.ndarray | None = None, tick: Tick | None = None
    ) -> None:
        place = self.order if at is None else self.order[at]
        found = self.gram.product(self.order[columns], v, place, tick)
        if at is None:
            out += found
        else:
            out[at] += found

    def square(self, index: np.ndarray, tick: Tick | None = None) -> np.ndarray:
        out = np.zeros((index.size, -(-index.size // COLUMNS) * COLUMNS))
        out[:, : index.size] = self.gram.block(self.order[index], self.order[index], tick)
        return out


def single_tiles(gram: Gram, order: np.ndarray) -> Tiles | Pieces:
    """In single precision where that is the faster way, in this order of the points."""
    if not isinstance(gram, _Points):
        return Pieces(gram, order)
    X, kernel = gram.X, gram.kernel
    if zeros_and_ones(X):
        return BitTiles.packed(kernel, X, order, np.float32)
    return Tiles.of(kernel, X, order, np.float32, None)


def exact_tiles(gram: Gram) -> Tiles | Pieces:
    """In double precision, in the order of the points."""
    return Pieces(gram, np.arange(gram.n))
