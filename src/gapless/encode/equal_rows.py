"""Merge equal rows with equal labels into one row of their summed cost, in an order that depends on the values alone.

Weights are repetitions, and the order of rows means nothing: with this, fits that differ only in these go the same way
to the last bit.  It also makes the problem smaller.  Rows are compared by their 128-bit hashes; should two different
rows ever share one, the certificate, which is computed from all rows, would show it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Up to 16,000 rows of a kernel machine are sorted to find equal ones; sorting more costs more than merging them saves.
MAX_SORTED_ROWS = 16_000


@dataclass(frozen=True, eq=False)
class EqualRows:
    """``first``: one row of each group; ``group``: the group of each row; ``share``: its part of the group's cost; ``value``: a
    number of each group's row, the same where rows are equal and labels are not."""

    first: np.ndarray
    group: np.ndarray
    share: np.ndarray
    c: np.ndarray
    value: np.ndarray

    def to_all_rows(self, u: np.ndarray) -> np.ndarray:
        """Spread the dual point of the groups over the rows: each gets its share, so that 0 <= alpha <= c still holds."""
        return u[self.group] * (self.share if u.ndim == 1 else self.share[:, None])

    def sort_by(self, labels: np.ndarray) -> EqualRows:
        """The same groups, those of the smallest label first; ``labels`` are of all rows."""
        order = np.argsort(labels[self.first], kind="stable")
        place = np.argsort(order)
        return EqualRows(self.first[order], place[self.group], self.share, self.c[order], self.value[order])

    def with_costs(self, c: np.ndarray) -> EqualRows:
        """The same groups for other costs."""
        total = np.bincount(self.group, c)
        return EqualRows(self.first, self.group, np.minimum(c / total[self.group], 1.0), total, self.value)

    def to_groups(self, u: np.ndarray) -> np.ndarray:
        """Add up the dual point of the rows into one of the groups."""
        if u.ndim == 2:
            return np.stack([self.to_groups(column) for column in u.T], axis=1)
        return np.bincount(self.group, u, minlength=self.first.size)


def find_distinct_rows(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first of each group of equal rows, in the order of their bytes, and the numbers of rows in the groups.

    np.unique(axis=0) compares records, and numpy turns whatever a signal's handler raises meanwhile into a TypeError that says
    that the records cannot be compared: a Ctrl-C would be lost.
    """
    groups: dict[bytes, list[int]] = {}
    for k, row in enumerate(np.ascontiguousarray(values)):
        groups.setdefault(row.tobytes(), []).append(k)
    members = [groups[row] for row in sorted(groups)]
    return np.array([m[0] for m in members]), np.array([len(m) for m in members])


def find_equal_rows(hashes: np.ndarray, labels: np.ndarray, c: np.ndarray) -> EqualRows:
    """Group rows of equal hash (n, 2) and label; groups come in the order of (hash, label)."""
    order = _sort(hashes, labels)
    h, k = hashes[order], labels[order]
    other, new = np.ones(order.size, bool), np.ones(order.size, bool)
    other[1:] = (h[1:] != h[:-1]).any(axis=1)
    new[1:] = other[1:] | (k[1:] != k[:-1])
    group = np.empty(order.size, np.int64)
    group[order] = np.cumsum(new) - 1
    total = np.bincount(group, c)
    share = np.minimum(c / total[group], 1.0)
    return EqualRows(order[new], group, share, total, (np.cumsum(other) - 1)[new])


def _sort(hashes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The stable order of (hash, label). Only rows whose hashes have equal first halves are sorted by more keys."""
    order = np.argsort(hashes[:, 0])
    first = hashes[order, 0]
    same = np.zeros(order.size + 1, bool)
    same[1:-1] = first[1:] == first[:-1]
    tied = same[1:] | same[:-1]  # like the row before it, or like the one after
    if tied.any():
        rows = np.sort(order[tied])
        order[tied] = rows[np.lexsort((labels[rows], hashes[rows, 1], hashes[rows, 0]))]
    return order
