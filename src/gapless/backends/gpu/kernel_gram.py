"""The Gram matrix of rows that lie on the card, for everything that asks a `Gram`: numpy in, numpy out, the work on the card."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import sparse

from gapless.backends.gpu.device import device_name
from gapless.backends.gpu.hashes import row_hashes_on_card
from gapless.backends.gpu.tiles import Tiles, lay_out
from gapless.gram.blocks import Gram, SubGram
from gapless.rows.products import Tick

Tensor = Any


class CardGram(Gram):
    """K of rows on the card, in float64."""

    def __init__(self, kernel: Any, X: Any, cache_bytes: int) -> None:
        super().__init__(kernel, X.shape[0], cache_bytes)
        rows = to_card(X)
        self.row_hashes = row_hashes_on_card(rows)
        self.tiles_on_card, norms2 = lay_out(kernel, rows)
        self.norms2 = norms2.cpu().numpy()
        self._sizes: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        # Twice what numpy's products may be off by: rows are scaled, which rounds each number once more.
        sizes = X.shape[1], float(self.norms2.max(initial=0.0))
        self.error, self.relative_error = 2.0 * kernel.error(*sizes), 2.0 * kernel.relative_error(*sizes)

    @property
    def diagonal(self) -> np.ndarray:
        return np.asarray(self.kernel.diagonal(self.norms2))

    def values(self, rows: np.ndarray | slice, columns: np.ndarray | slice) -> np.ndarray:
        every = np.arange(self.n)
        found = self.tiles_on_card.values(self._numbers(every[rows]), self._numbers(every[columns]))
        return np.asarray(found.cpu().numpy())

    def block(self, rows: np.ndarray, columns: np.ndarray | None = None, tick: Tick | None = None) -> np.ndarray:
        return self.values(np.asarray(rows), slice(None) if columns is None else np.asarray(columns))

    def product(
        self, rows: np.ndarray, coefficients: np.ndarray, at: np.ndarray | None = None, tick: Tick | None = None
    ) -> np.ndarray:
        if np.ndim(coefficients) > 1:
            lines = [self.product(rows, line, at, tick) for line in np.asarray(coefficients).T]
            return np.stack(lines, axis=1) if lines else np.zeros((self.n if at is None else len(at), 0))
        rows, coefficients = np.asarray(rows), np.asarray(coefficients, dtype=np.float64)
        if not self.kernel.of_distances:
            return self.sums(rows, coefficients, at, False, tick)
        found = self.sums(rows, coefficients, at, True, tick)
        sizes = np.full(self.n, np.nan)
        sizes[slice(None) if at is None else np.asarray(at)] = found[:, 1]
        self.know_sizes(rows, coefficients, sizes)  # what a bound on rounding asks for next
        return np.ascontiguousarray(found[:, 0])

    def sums(
        self, rows: np.ndarray, v: np.ndarray, at: np.ndarray | None, sizes: bool, tick: Tick | None
    ) -> np.ndarray:
        """sum_j v_j K[at, rows_j]; ``sizes``: a second column has the sums of |v_j| K."""
        on_card = torch.from_numpy(np.array(v)).to(self.tiles_on_card.device)
        place = None if at is None else self._numbers(at)
        found = self.tiles_on_card.add(self._numbers(rows), on_card, place, sizes=sizes, tick=tick)
        return np.asarray(found.cpu().numpy())

    def know_sizes(self, rows: np.ndarray, coefficients: np.ndarray, sizes: np.ndarray) -> None:
        """Keep the sums of |u| K of all rows, or bounds on them; NaN where they are not known."""
        self._sizes = rows, np.abs(coefficients), sizes

    def sizes(self, rows: np.ndarray, weights: np.ndarray, at: np.ndarray) -> np.ndarray:
        if not self.kernel.of_distances:
            lengths = np.sqrt(self.norms2)
            return np.asarray(self.kernel.bound_sums(lengths[at], lengths[rows], weights))
        if self._sizes is not None:
            known_rows, known_weights, found = self._sizes
            if np.array_equal(known_rows, rows) and np.array_equal(known_weights, weights):
                own = found[at]
                if not np.isnan(own).any():
                    return own
        return self.product(rows, weights, at)

    def _numbers(self, rows: np.ndarray) -> Tensor:
        return torch.from_numpy(np.array(rows, dtype=np.int64)).to(self.tiles_on_card.device)


def to_card(X: Any) -> Tensor:
    """Rows as float64 on the card: they travel as they are."""
    rows = X.toarray() if sparse.issparse(X) else np.ascontiguousarray(X)
    rows = rows if rows.flags.writeable else rows.copy()
    return torch.from_numpy(rows).to(device_name()).to(torch.float64)


def tiles_of(gram: Gram) -> Tiles:
    """The tiles of a problem's rows: of all rows of a `CardGram`, or of some."""
    if isinstance(gram, SubGram):
        whole = gram.whole
        assert isinstance(whole, CardGram)
        return whole.tiles_on_card.reorder(whole._numbers(gram.index))
    assert isinstance(gram, CardGram)
    return gram.tiles_on_card
