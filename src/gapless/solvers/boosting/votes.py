"""The votes of boosted classifiers: sums of stage weights a_t, and scikit-learn's scores and probabilities of them.

Two classes have one column of votes, +a_t for class 1 and -a_t for class 0; K > 2 classes have a column each.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def empty_votes(n: int, K: int) -> np.ndarray:
    """No votes yet, for n rows."""
    return np.zeros((n, 1 if K == 2 else K))


def add_votes(total: np.ndarray, answer: np.ndarray, alpha: float) -> None:
    """Add the vote of one classifier; an answer that is no class adds nothing."""
    if total.shape[1] == 1:
        total[:, 0] += np.where(answer == 1, alpha, -alpha)
        return
    rows = np.arange(answer.size)
    known = answer < total.shape[1]
    total[rows[known], answer[known]] += alpha


def compute_scores(total: np.ndarray, mass: float, K: int) -> np.ndarray:
    """scikit-learn's decision function of votes: in [-2, 2] for two classes, in [-1/(K - 1), 1] a class for more."""
    if K == 2:
        return 2.0 * (total[:, 0] / mass)
    return (K * (total / mass) - 1.0) / (K - 1.0)  # all votes give exactly 1


def compute_probabilities(scores: np.ndarray, K: int) -> np.ndarray:
    """scikit-learn's softmax of scores, halved or over K - 1. It estimates no probability."""
    z = np.column_stack((-scores, scores)) / 2.0 if K == 2 else scores / (K - 1.0)
    z = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(z / z.sum(axis=1, keepdims=True))


def find_class_index(predicted: Any, classes: np.ndarray) -> np.ndarray:
    """The index of each prediction in ``classes``; K for a prediction that is no class, which is always wrong."""
    predicted = np.asarray(predicted)
    if classes.dtype == object:
        number = {value: k for k, value in enumerate(classes.tolist())}
        at = np.array([number.get(value, 0) for value in predicted.tolist()], dtype=np.intp)
    else:
        at = np.searchsorted(classes, predicted)
    at = np.minimum(at, classes.size - 1)
    return np.where(classes[at] == predicted, at, classes.size)
