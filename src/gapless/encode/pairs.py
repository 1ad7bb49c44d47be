"""More than two classes as one problem for each pair of them, and the way back: every pair votes for one of its classes."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np


def pairs_of_classes(K: int) -> list[tuple[int, int]]:
    """(positive, negative): classes 1 and 0, or each pair of more classes with the first one positive, as in scikit-learn."""
    return [(1, 0)] if K == 2 else list(combinations(range(K), 2))


def count_votes(scores: np.ndarray, K: int, *, ties_to_first: bool = False) -> np.ndarray:
    """(n, K): the votes for each of K > 2 classes from the scores of the pairs (n, pairs).

    A score of 0 is a vote for the second class of the pair, or for the first with ``ties_to_first``.
    """
    first, second = _ballots(K)
    wins, loses = (scores >= 0.0, scores < 0.0) if ties_to_first else (scores > 0.0, scores <= 0.0)
    return (wins @ first + loses @ second).astype(np.int64)


@cache
def sides_of_pairs(K: int) -> np.ndarray:
    """(2, pairs): the first classes of all pairs, and the second ones."""
    found = np.array(pairs_of_classes(K)).T
    found.flags.writeable = False
    return found


@cache
def _ballots(K: int) -> np.ndarray:
    """(2, pairs, K): 1 where a class is the first, and where it is the second, of a pair."""
    found: np.ndarray = np.eye(K)[sides_of_pairs(K)]
    found.flags.writeable = False
    return found


def confidences_of_pairs(scores: np.ndarray, K: int) -> np.ndarray:
    """(n, K): for each class the sum of its scores in its pairs, squashed below half a vote, as scikit-learn does."""
    sums = np.zeros((len(scores), K))
    for column, (first, second) in zip(scores.T, pairs_of_classes(K)):
        sums[:, first] += column
        sums[:, second] -= column
    return sums / (3.0 * (np.abs(sums) + 1.0))


def classes_by_sign(dual: np.ndarray, K: int) -> np.ndarray:
    """The class of every row that has a part in some pair: the sign of its u says which of the two."""
    found = np.zeros(dual.shape[1], dtype=np.int64)
    for u, (i, j) in zip(dual, pairs_of_classes(K)):
        found[u > 0.0], found[u < 0.0] = i, j
    return found
