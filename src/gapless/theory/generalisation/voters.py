"""The voters of an ensemble and the rows that they may be counted on.

A bagging's members count on the rows that are out of their bags.  AdaBoost chose its stumps by every row, out of all that there
are: they count where there are few of them, two for each cut of a ``pool`` (pairs of a feature and a threshold) that was
fixed without the rows, as for columns of 0 and 1, whose only cut is 1/2; and the two that answer always the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless.certificates.verify import as_matrix

__all__ = ["boosted", "out_of_bag", "stumps"]


def out_of_bag(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """``losses`` and ``counted`` of a BaggingClassifier, rows by members."""
    rows, index = as_matrix(X), np.searchsorted(model.classes_, np.asarray(y).ravel())
    n, m = rows.shape[0], len(model.estimators_)
    wrong, counted = np.zeros((n, m), dtype=bool), np.zeros((n, m), dtype=bool)
    bags = zip(model.estimators_, model.estimators_features_, model.estimators_samples_)
    for j, (member, features, bag) in enumerate(bags):
        out = np.ones(n, dtype=bool)
        out[bag] = False
        out = np.flatnonzero(out)
        if out.size == 0:
            raise ValueError("a bag holds every row: no row is left to count its member on")
        part = rows[out]
        part = part if np.array_equal(features, np.arange(rows.shape[1])) else part[:, features]
        found = np.asarray(member.predict(part), dtype=np.int64)  # members know classes by number
        counted[out, j], wrong[out, j] = True, found != index[out]
    return {"losses": wrong, "counted": counted}


def boosted(model: Any, X: Any, y: Any, pool: Any) -> dict[str, Any]:
    """``losses``, ``weights`` and ``among`` of the different stumps of an AdaBoostClassifier."""
    if pool is None:
        raise ValueError(
            "boosting trains on every row, so that none is left to count on: pool=[(feature, threshold), ...] names the cuts "
            "that its stumps could have, if these were fixed without the rows"
        )
    arrays = model.certificate_.arrays
    if "threshold" not in arrays or len(model.classes_) != 2:
        raise ValueError("this is for stumps and two classes")
    cuts = {(int(j), float(t)) for j, t in pool}
    weight: dict[tuple[int, float, int], float] = {}
    stumps = zip(arrays["feature"].tolist(), arrays["threshold"].tolist(), arrays["classes"].tolist())
    for (j, t, (left, right)), a in zip(stumps, arrays["stage_weights"].tolist()):
        if j >= 0 and (j, t) not in cuts:
            raise ValueError(f"the stump on feature {j} with threshold {t:g} is none of the pool: the rows chose it")
        key = (-1, 0.0, left) if j < 0 or left == right else (j, t, left)
        weight[key] = weight.get(key, 0.0) + a
    rows = as_matrix(X)
    index = np.searchsorted(model.classes_, np.asarray(y).ravel())
    wrong = np.empty((rows.shape[0], len(weight)), dtype=bool)
    for v, (j, t, left) in enumerate(weight):
        if j < 0:
            wrong[:, v] = index != left
            continue
        column = rows[:, [j]].toarray().ravel() if hasattr(rows, "toarray") else rows[:, j]
        wrong[:, v] = np.where(np.asarray(column, np.float32) > t, 1 - left, left) != index
    return {"losses": wrong, "weights": np.array(list(weight.values())), "among": 2 * len(cuts) + 2}


def stumps(X: Any, y: Any, pool: Any) -> np.ndarray:
    """Whether each stump of a pool is right on each row, for `pac_bayes.dirichlet_vote`; two classes.

    Two stumps for each (feature, threshold), one for each answer above it, then the two constants: all that there are, so
    that no row had a part in choosing them, if the pool was fixed without the rows.

    Parameters
    ----------
    X : rows that vote
    y : labels of the rows, -1 and 1
    pool : [(feature, threshold), ...], fixed without these rows
    """
    rows, (classes, index) = as_matrix(X), np.unique(np.asarray(y).ravel(), return_inverse=True)
    cuts = sorted({(int(j), float(t)) for j, t in pool})
    if classes.size != 2 or rows.shape[0] != index.size:
        raise ValueError(f"this is for two classes, and a label for each of {rows.shape[0]} rows")
    if not cuts or not all(0 <= j < rows.shape[1] for j, _ in cuts):
        raise ValueError(f"pool=[(feature, threshold), ...] names cuts of {rows.shape[1]} features")
    right = np.empty((index.size, 2 * len(cuts) + 2), dtype=bool)
    for v, (j, t) in enumerate(cuts):
        column = rows[:, [j]].toarray().ravel() if hasattr(rows, "toarray") else rows[:, j]
        right[:, 2 * v] = (np.asarray(column, np.float32) > t) == (index == 1)
    right[:, -2] = index == 1
    right[:, 1::2] = ~right[:, ::2]
    return right
