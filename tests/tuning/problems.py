"""Random problems for the paths: ties, equal rows, weights, separated and overlapping classes, all offsets and kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

import gapless


def random_problem(seed: int) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray | None]:
    random = np.random.default_rng(seed)
    n, d = int(random.integers(6, 45)), int(random.integers(1, 5))
    X = random.standard_normal((n, d))
    if seed % 3 == 1:
        X = np.round(2.0 * X)
    if seed % 5 == 2:
        X = np.concatenate([X, X[: n // 2]])
    y = np.where(
        X[:, 0] * random.choice([0.0, 1.0, 5.0]) + random.standard_normal(len(X)) > random.choice([0, 0.8]), 1, -1
    )
    y[:2] = 1, -1
    weight = None if seed % 2 else random.uniform(0.2, 2.0, len(X))
    models = (
        gapless.LinearSVC(loss="hinge"),
        gapless.SVC(gamma=0.5),
        gapless.SVC(kernel="linear", class_weight="balanced"),
        gapless.SVC(kernel="poly", degree=2, gamma=1.0, coef0=1.0),
        gapless.LinearSVC(loss="hinge", penalize_intercept=True),
    )
    return models[seed % len(models)], X, y, weight
