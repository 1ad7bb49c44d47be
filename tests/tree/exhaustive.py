"""The best cut of a node by trying all of them, in fractions: what the trees are compared with."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np


class Cut(NamedTuple):
    gain: Fraction  #: W * (impurity - weighted mean of the children's); Gini or squared error
    feature: int
    threshold: float
    missing_left: bool | None  #: None where the column has no missing value here


def spread(Y: list[list[Fraction]], w: list[Fraction]) -> Fraction:
    """sum w * (sum over targets of the variance): of 0/1 columns of classes it is W times Gini."""
    W = sum(w, Fraction(0))
    if W == 0:
        return Fraction(0)
    total = Fraction(0)
    for k in range(len(Y[0])):
        S = sum((wi * yi[k] for wi, yi in zip(w, Y)), Fraction(0))
        total += sum((wi * yi[k] * yi[k] for wi, yi in zip(w, Y)), Fraction(0)) - S * S / W
    return total


def fractions(values: Any) -> list[list[Fraction]]:
    return [[Fraction(float(v)) for v in np.atleast_1d(row)] for row in values]


def all_cuts(X: np.ndarray, Y: np.ndarray, weight: np.ndarray, min_leaf: int = 1) -> list[Cut]:
    """Every cut, in the order in which ties are decided: columns, then missing values right, then thresholds."""
    there = weight > 0
    X, rows, w = X[there].astype(np.float32), fractions(Y[there]), [Fraction(float(v)) for v in weight[there]]
    whole = spread(rows, w)
    cuts = []
    for j in range(X.shape[1]):
        none = np.isnan(X[:, j])
        levels = np.unique(X[~none, j])
        for missing_left in [False, True] if none.any() else [None]:
            stops = len(levels) if missing_left is False else len(levels) - 1
            for g in range(stops):
                left = X[:, j] <= levels[g]
                left = left | none if missing_left else left & ~none
                if min(left.sum(), (~left).sum()) < min_leaf:
                    continue
                parts = [[q for q in range(len(w)) if left[q] == side] for side in (True, False)]
                gain = whole - sum(
                    (spread([rows[q] for q in part], [w[q] for q in part]) for part in parts), Fraction(0)
                )
                at = float(levels[g]) / 2 + float(levels[g + 1]) / 2 if g + 1 < len(levels) else np.inf
                cuts.append(Cut(gain, j, at, missing_left))
    return cuts


def best_cut(X: np.ndarray, Y: np.ndarray, weight: np.ndarray, min_leaf: int = 1) -> Cut | None:
    cuts = all_cuts(X, Y, weight, min_leaf)
    if not cuts:
        return None
    most = max(cut.gain for cut in cuts)
    return next(cut for cut in cuts if cut.gain == most)
