"""The ranks of the distinct values of every column by numpy's sort: what `tree.codes` makes with kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Ranks(NamedTuple):
    """The fields of `codes.Columns` of finite numbers without bins."""

    codes: np.ndarray
    n_codes: np.ndarray
    offset: np.ndarray
    values: np.ndarray
    common: np.ndarray
    order: np.ndarray
    ordered: np.ndarray


def rank_by_numpy(X: np.ndarray, begins: np.uint32) -> Ranks:
    """Rank finite values; ``begins`` marks the first row of a code in the order."""
    n, d = X.shape
    lines = np.array(X.T, dtype=np.float32, order="C") + np.float32(0.0)  # -0 is 0
    rows = np.argsort(lines, axis=1, kind="stable")
    values = np.take_along_axis(lines, rows, axis=1)
    fresh = np.ones((d, n), dtype=np.bool_)
    fresh[:, 1:] = values[:, 1:] != values[:, :-1]
    ranks = np.cumsum(fresh, axis=1) - 1
    codes = np.empty((d, n), dtype=np.uint16)
    np.put_along_axis(codes, rows, ranks.astype(np.uint16), axis=1)
    n_codes = ranks[:, -1] + 1
    order = rows.astype(np.uint32) | np.where(fresh, begins, np.uint32(0))
    common, ordered = np.full(d, -1), np.full((d, 2), n)
    middle = ranks[:, n // 2]  # whatever fills more than half of a sorted list stands in its middle
    counts = np.count_nonzero(ranks == middle[:, None], axis=1)
    for j in np.flatnonzero(2 * counts > n).tolist():
        first = int(np.searchsorted(ranks[j], middle[j]))
        last = first + int(counts[j])
        order[j, first : n - last + first] = order[j, last:].copy()
        common[j], ordered[j] = middle[j], (n - counts[j], first)
    offset = np.concatenate([[0], np.cumsum(n_codes)[:-1]])
    return Ranks(codes, n_codes, offset, values[fresh], common, order, ordered)
