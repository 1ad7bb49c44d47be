"""Data that are too large for memory: rows with their labels and weights, which are read block by block, as often as is asked.

Labels and weights are kept, a few bytes a row; X is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .classes import as_array
from .errors import CertificateError
from .rows import StreamedRows, as_rows


class Walked:
    """``walk()`` gives ``(X, y, weights or None)`` of each block, from the first one, each time that it is called."""

    def __init__(self, walk: Callable[[], Iterable[tuple[Any, Any, Any]]]) -> None:
        self._walk = walk
        columns: set[int] = set()
        n, answers, weights = 0, [], []
        for X, y, weight in walk():
            rows = as_rows(X).shape
            y = as_array(y, "other labels: y cannot be read as a list of labels")
            if y.shape[:1] != (rows[0],):
                raise CertificateError(f"other labels: a block has {rows[0]} rows, and its y the shape {y.shape}")
            n += rows[0]
            columns.add(rows[1])
            answers.append(np.array(y))
            given = None if weight is None else np.array(as_array(weight, "other weights"), dtype=np.float64)
            if given is not None and given.shape != (rows[0],):
                raise CertificateError(f"other weights: a block has {rows[0]} rows, and weights of {given.shape}")
            weights.append(given)
        if len(columns) != 1:
            raise CertificateError(f"other data: blocks of {sorted(columns) or 'no'} columns")
        self.rows = StreamedRows(self._rows, (n, columns.pop()))
        self.answers = np.concatenate(answers)
        self.weights: np.ndarray | None = None
        if any(w is not None for w in weights):
            self.weights = np.concatenate([np.ones(len(y)) if w is None else w for y, w in zip(answers, weights)])

    def _rows(self) -> Iterator[Any]:
        return (X for X, _, _ in self._walk())


__all__ = ["Walked"]
