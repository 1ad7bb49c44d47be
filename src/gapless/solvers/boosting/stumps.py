"""The stumps of a run, a feature, a threshold and a class on each side for every round: their answers and their votes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gapless._compile.jit import compiled
from gapless._runtime.threads import run_in_parts


@compiled(vectorise=True, inner=True)
def _weigh_both_sides(side, cut, w):
    left = 0.0
    right = 0.0
    for i in range(w.size):
        beyond = side[i] > cut
        right += w[i] if beyond else 0.0
        left += 0.0 if beyond else w[i]
    return left, right


def sum_sides(side, cut, starts, w):
    """The weight of each class on the left (line 0) and on the right (line 1)."""
    masses = np.empty((2, starts.size - 1))
    _weigh_classes(side, cut, starts, w, masses)
    return masses


@compiled(allocates=False)
def _weigh_classes(side, cut, starts, w, masses):
    for k in range(starts.size - 1):
        left, right = _weigh_both_sides(side[starts[k] : starts[k + 1]], cut, w[starts[k] : starts[k + 1]])
        masses[0, k] = left
        masses[1, k] = right


@compiled(allocates=False)
def write_answers(side, cut, left, right, out):
    """The class that a stump gives each row."""
    for i in range(side.size):
        out[i] = right if side[i] > cut else left


class Stumps(NamedTuple):
    """Round t: x[feature] <= threshold gives classes[t, 0], else classes[t, 1]; feature -1 where all rows go left."""

    feature: np.ndarray  #: (T,) int32
    threshold: np.ndarray  #: (T,)
    classes: np.ndarray  #: (T, 2) int32
    masses: np.ndarray  #: (T, 2, K) weight of each class on each side, in the round's weights
    counts: np.ndarray  #: (T, 2) rows on each side

    @classmethod
    def from_rounds(cls, rounds: list[Any], K: int) -> Stumps:
        """From (feature, threshold, classes, masses, counts) of each round."""
        T = len(rounds)
        return cls(
            np.array([r[0] for r in rounds], dtype=np.int32).reshape(T),
            np.array([r[1] for r in rounds], dtype=np.float64).reshape(T),
            np.array([r[2] for r in rounds], dtype=np.int32).reshape(T, 2),
            np.array([r[3] for r in rounds], dtype=np.float64).reshape(T, 2, K),
            np.array([r[4] for r in rounds], dtype=np.int64).reshape(T, 2),
        )

    def answer_round(self, t: int, X: Any) -> np.ndarray:
        """The class index that round t gives each row; ``X`` is dense or CSC."""
        j = int(self.feature[t])
        column = (X[:, [j]].toarray()[:, 0] if sparse.issparse(X) else X[:, j]).astype(np.float32)
        return np.where((column > self.threshold[t]) & (j >= 0), self.classes[t, 1], self.classes[t, 0])

    def find_useful_splits(self) -> np.ndarray:
        """Whether the split of each round lowers the Gini impurity by more than rounding."""
        side = self.masses.sum(axis=2)
        whole = self.masses.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            after = np.nansum((self.masses**2).sum(axis=2) / side, axis=1)
            before = (whole**2).sum(axis=1) / whole.sum(axis=1)
        return (self.feature >= 0) & (after > before * (1.0 + 1e-15))


def sum_votes(stumps: Stumps, alphas: np.ndarray, X: Any, K: int) -> np.ndarray:
    """The votes of ``solvers/boosting/rounds``, added in the order of the rounds: (n, 1) for two classes, else (n, K)."""
    n = X.shape[0]
    total = np.zeros((n, 1 if K == 2 else K))
    columns, feature = None, stumps.feature
    if sparse.issparse(X):
        used = np.unique(stumps.feature[stumps.feature >= 0])
        X = X.tocsr()
        columns = used if used.size else np.zeros(1, dtype=np.int64)
        feature = np.where(stumps.feature >= 0, np.searchsorted(columns, stumps.feature), -1).astype(np.int32)
    step = max(1, (1 << 20) // max(1, X.shape[1] if columns is None else columns.size))  # rows of 4 MB

    def part(k: int) -> None:
        block = X[k * step : (k + 1) * step]
        block = np.ascontiguousarray(block if columns is None else block[:, columns].toarray(), dtype=np.float32)
        _add_votes(block, feature, stumps.threshold, stumps.classes, alphas, total[k * step : (k + 1) * step])

    run_in_parts(part, -(-n // step))
    return total


@compiled
def _add_votes(X, feature, threshold, classes, alphas, total):
    T = feature.size
    if total.shape[1] == 1:
        left = np.empty(T)
        right = np.empty(T)
        for t in range(T):
            left[t] = alphas[t] if classes[t, 0] == 1 else -alphas[t]
            right[t] = alphas[t] if classes[t, 1] == 1 else -alphas[t]
        for i in range(X.shape[0]):
            f = total[i, 0]
            for t in range(T):
                beyond = feature[t] >= 0 and X[i, max(feature[t], 0)] > threshold[t]
                f += right[t] if beyond else left[t]
            total[i, 0] = f
    else:
        for i in range(X.shape[0]):
            for t in range(T):
                beyond = feature[t] >= 0 and X[i, max(feature[t], 0)] > threshold[t]
                total[i, classes[t, 1 if beyond else 0]] += alphas[t]
