"""The voted perceptron (Freund and Schapire 1999): every weight vector votes, as often as it survived visits."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot


def share_votes(X: Any, voters: np.ndarray, votes: np.ndarray, counts: list[int]) -> np.ndarray:
    """(n, S): for each subproblem the votes for the positive class less those against it, over all votes.

    ``voters`` are weights (w, b), those of one subproblem after those of another; ``counts`` says how many each has."""
    out = np.zeros((X.shape[0], len(counts)))
    for k, end in enumerate(np.cumsum(counts).tolist()):
        first = end - counts[k]
        for at in range(first, end, 256):
            part = slice(at, min(at + 256, end))
            z = safe_sparse_dot(X, voters[part, :-1].T, dense_output=True) + voters[part, -1]
            out[:, k] += np.sign(z) @ votes[part]
        out[:, k] /= max(1, votes[first:end].sum())
    return out
