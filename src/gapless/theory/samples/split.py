"""The step that makes the recursion B(N, k) <= B(N - 1, k) + B(N - 1, k - 1): dichotomies split by their last point.

    given    dichotomies of x_1 ... x_N of which no k points are shattered
    S1       those whose labels of x_1 ... x_(N-1) occur with one label of x_N only: alpha of them
    S2+ S2-  those whose labels of x_1 ... x_(N-1) occur with both: beta pairs, one of each pair in S2+ and one in S2-

    total = alpha + 2 beta
    alpha + beta <= B(N - 1, k)         the labels of x_1 ... x_(N-1), each once: still no k points are shattered
    beta <= B(N - 1, k - 1)             were k - 1 points shattered by the pairs, x_N and they would be k shattered points

Both inequalities are counted here on dichotomies of the user's own, and `Split.check` runs their proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless.encode.equal_rows import find_distinct_rows
from gapless.theory.generalisation.dichotomies import Dichotomies, dichotomies
from gapless.theory.inputs import as_whole

__all__ = ["Split", "recursion", "split"]


@result
@dataclass(frozen=True, eq=False)
class Split:
    """Dichotomies of N points, sorted by what the last point does, with the bounds of the recursion.

    Attributes
    ----------
    n : N, the number of points
    k : the smallest break point of these dichotomies: no k of the points are shattered, and some k - 1 are
    alpha : dichotomies of S1
    beta : pairs of S2
    s1 : (alpha, N): labels -1 and 1
    s2_plus : (beta, N): the last label is 1
    s2_minus : (beta, N): the same labels but the last, which is -1
    bound : B(N, k), which alpha + 2 beta cannot exceed
    bound_without_last : B(N - 1, k), which alpha + beta cannot exceed
    bound_of_pairs : B(N - 1, k - 1), which beta cannot exceed
    """

    n: int
    k: int
    alpha: int
    beta: int
    s1: np.ndarray
    s2_plus: np.ndarray
    s2_minus: np.ndarray
    bound: int
    bound_without_last: int
    bound_of_pairs: int

    @property
    def total(self) -> int:
        """alpha + 2 beta, the number of dichotomies."""
        return self.alpha + 2 * self.beta

    def check(self) -> bool:
        """Both steps again: what is left of the N - 1 points has no k shattered, the pairs have no k - 1 shattered."""
        rest = np.vstack([self.s1[:, :-1], self.s2_plus[:, :-1]])
        return (
            len({row.tobytes() for row in rest}) == self.alpha + self.beta <= self.bound_without_last
            and np.array_equal(self.s2_plus[:, :-1], self.s2_minus[:, :-1])
            and smallest_break_point(rest) <= self.k
            and smallest_break_point(self.s2_plus[:, :-1]) <= self.k - 1
            and self.beta <= self.bound_of_pairs
            and self.total <= self.bound == self.bound_without_last + self.bound_of_pairs
        )

    def __str__(self) -> str:
        without, pairs = f"B({self.n - 1}, {self.k})", f"B({self.n - 1}, {self.k - 1})"
        return (
            f"{self.total:,} dichotomies of {self.n} points, break point {self.k}: alpha = {self.alpha:,} with one label of the "
            f"last point, beta = {self.beta:,} with both; alpha + beta = {self.alpha + self.beta:,} <= {without} = "
            f"{self.bound_without_last:,}, beta <= {pairs} = {self.bound_of_pairs:,}, and so {self.total:,} <= "
            f"B({self.n}, {self.k}) = {self.bound:,}"
        )


def split(X: Any = None, *, labels: Any = None, offset: bool = True) -> Split:
    """Split dichotomies into S1, S2+ and S2- by their last point.

    Parameters
    ----------
    X : points, a row each: the dichotomies that hyperplanes give them; or what `dichotomies` returned
    labels : in place of X, -1 and 1, a row for each dichotomy, of any class of hypotheses
    offset : whether hyperplanes have an offset, or go through 0; for points alone
    """
    if (X is None) == (labels is None):
        raise ValueError("give points X, or the labels of their dichotomies")
    if labels is None:
        labels = (X if isinstance(X, Dichotomies) else dichotomies(X, offset)).labels
    labels = _checked(labels)
    labels = labels[np.lexsort(labels.T[::-1])]  # rows that agree but for the last point stand together, -1 first
    n = labels.shape[1]
    if n < 2:
        raise ValueError("one point has nothing left when it is taken away: give two or more")
    same = (labels[1:, :-1] == labels[:-1, :-1]).all(axis=1)
    first, second = np.append(same, False), np.insert(same, 0, False)
    k = smallest_break_point(labels)
    bound = recursion(n, k)
    return Split(
        n, k, int((~(first | second)).sum()), int(first.sum()), labels[~(first | second)], labels[second], labels[first],
        int(bound[n - 1, k - 1]), int(bound[n - 2, k - 1]), int(bound[n - 2, k - 2]) if k > 1 else 0,
    )  # fmt: skip


def recursion(n: Any, k: Any) -> np.ndarray:
    """The table of B: entry (i - 1, j - 1) is B(i, j) = B(i - 1, j) + B(i - 1, j - 1), integers of any size.

    Parameters
    ----------
    n : most points, the number of rows
    k : largest break point, the number of columns
    """
    n, k = as_whole(n), as_whole(k, "k")
    table = np.empty((n, k), dtype=object)
    table[0] = [1] + [2] * (k - 1)  # B(n, 1) = 1; one point has two labels: B(1, k) = 2 for k > 1
    for i in range(1, n):
        table[i, 0] = 1
        table[i, 1:] = table[i - 1, 1:] + table[i - 1, :-1]
    return table


def smallest_break_point(labels: np.ndarray) -> int:
    """The smallest k of which no points are shattered. Sets of points are tried whose parts are all shattered."""
    held: list[tuple[int, ...]] = [()] if len(labels) else []
    k = 0
    while held:
        k += 1
        known = set(held)
        held = [
            points
            for points in _larger(held, labels.shape[1])
            if all(part in known for part in combinations(points, k - 1)) and _shattered(labels[:, points])
        ]
    return k


def _larger(sets: list[tuple[int, ...]], n: int) -> list[tuple[int, ...]]:
    """Every set with one point more, beyond its last."""
    return [(*points, j) for points in sets for j in range(points[-1] + 1 if points else 0, n)]


def _shattered(labels: np.ndarray) -> bool:
    codes = (labels > 0) @ (1 << np.arange(labels.shape[1]))
    return np.unique(codes).size == 1 << labels.shape[1]


def _checked(labels: Any) -> np.ndarray:
    """A matrix of -1 and 1, each dichotomy once."""
    given = np.asarray(labels)
    if given.ndim != 2 or not given.size or not np.isin(given, (-1, 1)).all():
        raise ValueError("labels must be -1 and 1, a row for each dichotomy")
    if len(find_distinct_rows(given)[0]) < len(given):
        raise ValueError("a dichotomy stands twice among the labels: give each once")
    return given.astype(np.int8)
