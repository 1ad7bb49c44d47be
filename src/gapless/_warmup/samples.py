"""The small data that the steps compute with: each kernel is compiled by one short call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse


class Samples:
    """Sixty rows of each kind, with labels of -1 and 1.

    ``dense`` has 4 columns. ``thin`` has one value other than 0 a row: it is wide enough (40) for the sparse Gram matrix, and
    narrow enough for a Cholesky factor. ``two_value`` adds 30 columns of two values to the dense ones.
    """

    def __init__(self) -> None:
        self.random = random = np.random.default_rng(0)
        self.dense = random.normal(size=(60, 4))
        self.thin = np.zeros((60, 40))
        self.thin[np.arange(60), np.arange(60) % 40] = random.normal(size=60)
        self.two_value = np.hstack((self.dense, np.where(random.random((60, 30)) < 0.1, 2.0, -0.5)))
        self.y = np.where(random.normal(size=60) + self.dense[:, 0] > 0, np.int8(1), np.int8(-1))

    @property
    def ones(self) -> np.ndarray:
        """Rows of 0 and 1."""
        return (self.thin != 0.0).astype(np.float64)

    def variants(self) -> Iterator[tuple[str, Any]]:
        """(form and precision, rows) for the four variants that every kernel of rows is compiled for."""
        for dtype in (np.float64, np.float32):
            yield f"dense {np.dtype(dtype).name}", self.dense.astype(dtype)
            yield f"CSR {np.dtype(dtype).name}", sparse.csr_matrix(self.thin.astype(dtype))

    def signs(self, n: int) -> np.ndarray:
        """Random labels of -1 and 1."""
        return np.where(self.random.normal(size=n) > 0, np.int8(1), np.int8(-1))


def to_form(name: str, X: np.ndarray) -> Any:
    """Rows in the form and the precision of a variant's name."""
    form, dtype = name.split()
    return sparse.csr_matrix(X.astype(dtype)) if form == "CSR" else X.astype(dtype)
