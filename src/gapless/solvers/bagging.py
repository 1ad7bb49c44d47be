"""Bags: rows, and features, drawn at random for each of many learners. Only the seed of a bag is kept, never its rows.

With m draws out of n, with replacement, a row is in a bag with probability 1 - (1 - 1/n)^m: 1/n is the chance of one draw, and
for m = n the probability tends to 1 - 1/e = 0.632.  The learners without a row in their bags predict it as
a smaller ensemble predicts a new row: the out-of-bag error is an estimate, and no bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from sklearn.utils.random import sample_without_replacement

from gapless._compile.jit import compiled


def in_bag_probability(n: int, draws: int | None = None, *, replacement: bool = True) -> float:
    """The probability that one row of n is in a bag of ``draws`` draws (None: n draws)."""
    draws = n if draws is None else int(draws)
    if n < 1 or draws < 0 or (not replacement and draws > n):
        raise ValueError(f"{draws} draws {'with' if replacement else 'without'} replacement from {n} rows")
    if not replacement:
        return draws / n
    return 1.0 if n == 1 and draws else -math.expm1(draws * math.log1p(-1.0 / n)) if draws else 0.0


class Bags(NamedTuple):
    """How bags are drawn. A seed draws the rows that scikit-learn draws."""

    n_rows: int
    n_features: int
    draws: int
    features: int
    replacement: bool
    features_replacement: bool
    weights: np.ndarray | None  #: chances of the rows, up to their sum

    def draw(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """The features and the rows of a bag, each row as often as it was drawn."""
        random = np.random.RandomState(seed)
        features = self._draw_indices(random, self.features_replacement, self.n_features, self.features)
        if self.weights is None:
            return features, self._draw_indices(random, self.replacement, self.n_rows, self.draws)
        chances = self.weights / np.sum(self.weights)
        return features, random.choice(self.n_rows, self.draws, replace=self.replacement, p=chances)

    def count_draws(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """The features of a bag, and how often each row was drawn."""
        features, rows = self.draw(seed)
        return features, np.bincount(rows, minlength=self.n_rows)

    def share_in_bag(self, seeds: np.ndarray, counted: Mapping[int, int]) -> float:
        """The share of (row, bag) pairs in which the row is in the bag, over the first 200 bags.

        ``counted`` has the number of different rows of some bags, by their seeds."""
        seen = [
            counted[seed] if seed in counted else int(np.count_nonzero(self.count_draws(seed)[1]))
            for seed in seeds[:200].tolist()
        ]
        return float(np.mean(seen)) / self.n_rows

    @staticmethod
    def _draw_indices(random: np.random.RandomState, replacement: bool, population: int, draws: int) -> np.ndarray:
        if replacement:
            return random.randint(0, population, draws)
        return np.asarray(sample_without_replacement(population, draws, random_state=random))

    @property
    def all_features(self) -> bool:
        return self.features == self.n_features and not self.features_replacement

    @property
    def probability(self) -> float | None:
        """The probability that a row is in a bag; None with weights, where each row has its own."""
        if self.weights is not None:
            return None
        return in_bag_probability(self.n_rows, self.draws, replacement=self.replacement)


@compiled(allocates=False)
def add_leaf_values(value, at, total):
    """Add the value of its leaf to each row: total[i] += value[at[i]]."""
    for i in range(at.size):
        for j in range(value.shape[1]):
            total[i, j] += value[at[i], j]
