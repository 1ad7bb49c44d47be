"""What is kept of a working set: its columns, and the matrix of its quadratic model.

For the squared loss the matrix is that of the weights c and grows with the working set; for other losses it is made anew at
each point.  A free offset is eliminated: columns stand about their weighted means.
"""

from __future__ import annotations

import numpy as np

from gapless.problems.sparse.problem import SparseProblem


class WorkingSet:
    """Columns ``index``, in the order in which they came."""

    def __init__(self, problem: SparseProblem) -> None:
        self.problem = problem
        self.index = np.zeros(0, np.int64)
        self.inside = np.zeros(problem.d, dtype=bool)
        self._gram: np.ndarray | None = None

    @property
    def m(self) -> int:
        return int(self.index.size)

    def add(self, columns: np.ndarray) -> None:
        """Take up columns that are not yet there."""
        new = columns[~self.inside[columns]]
        self.inside[new] = True
        before, self.index = self.index, np.concatenate((self.index, new))
        if self._gram is not None and new.size:
            problem = self.problem
            side = self._centred(problem.columns.gram(self.index, new, problem.c), self.index, new)
            k = before.size
            grown = np.empty((self.m, self.m))
            grown[:k, :k], grown[:, k:], grown[k:, :k] = self._gram, side, side[:k].T
            self._gram = grown

    def _centred(self, G: np.ndarray, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        problem = self.problem
        return G - problem.mass * np.outer(problem.means[rows], problem.means[others]) if problem.free else G

    def gram(self) -> np.ndarray:
        """X' diag(c) X of the working set, about the means."""
        if self._gram is None:
            self._gram = self._centred(
                self.problem.columns.gram(self.index, self.index, self.problem.c), self.index, self.index
            )
        return self._gram

    def curved_gram(self, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """X' diag(h) X of the working set about the means weighted by h, and these means."""
        G = self.problem.columns.gram(self.index, self.index, h)
        mass = float(h.sum())
        if not self.problem.free or not mass > 0.0:
            return G, np.zeros(self.m)
        means = self.problem.columns.combine_some(self.index, h) / mass
        return G - mass * np.outer(means, means), means
