"""Rows and labels of the snapshot, from seeds; each is made once and kept."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

#: name -> rows, columns, classes, noise of the scores
SHAPES = {
    "two": (300, 6, 2, 0.7),
    "three": (300, 6, 3, 0.7),
    "apart": (200, 5, 2, 0.0),
    "wide": (60, 300, 2, 0.5),
    "medium": (3000, 12, 2, 0.8),
    "machine": (4000, 8, 2, 0.5),
    "long": (20_000, 50, 2, 1.0),
    "tall": (70_000, 4, 2, 1.0),
}


@cache
def table(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows in float64, classes, and numbers to be predicted."""
    if name in SHAPES:
        n, d, classes, noise = SHAPES[name]
        random = np.random.default_rng(sum(map(ord, name)))
        X = random.normal(size=(n, d))
    elif name == "text":
        n, d, classes, noise = 5000, 2000, 2, 0.5
        random = np.random.default_rng(7)
        X = sparse.random(n, d, density=0.01, random_state=np.random.RandomState(7), format="csr").toarray()
    elif name == "marks":  # columns of two values beside numbers
        n, classes, noise = 2500, 2, 0.7
        random = np.random.default_rng(8)
        marks = (random.random((n, 40)) < 0.15).astype(float)
        X = np.hstack((random.normal(size=(n, 3)), (marks - marks.mean(axis=0)) / marks.std(axis=0)))
    elif name == "bits":
        n, classes, noise = 1500, 2, 0.7
        random = np.random.default_rng(9)
        X = (random.random((n, 40)) < 0.3).astype(float)
    elif name == "whole":
        n, classes, noise = 400, 2, 0.7
        random = np.random.default_rng(10)
        X = random.integers(0, 4, size=(n, 6)).astype(float)
    elif name == "equal":  # each row several times, with both labels
        n, classes, noise = 400, 2, 0.7
        random = np.random.default_rng(11)
        X = np.repeat(random.normal(size=(80, 5)), 5, axis=0)
    else:
        raise KeyError(name)
    scores = X @ random.normal(size=(X.shape[1], classes))
    scores += noise * scores.std() * random.normal(size=scores.shape)
    if name == "apart":  # a strip without rows between the classes
        scores = X @ np.arange(1.0, 6.0)
        X += np.sign(scores)[:, None] * 0.2 * np.arange(1.0, 6.0)
        scores = np.column_stack((-scores, scores))
    numbers = X[:, 0] - 2.0 * X[:, 1] + 0.3 * X[:, 2] ** 2 + 0.4 * random.normal(size=n)
    return X, scores.argmax(axis=1), numbers


def shaped(X: np.ndarray, form: str) -> Any:
    """The same table as "dense64", "dense32", "csr64", "csr32" or "fortran"."""
    if form == "fortran":
        return np.asfortranarray(X)
    rows = X.astype(np.float32 if form.endswith("32") else np.float64)
    return sparse.csr_matrix(rows) if form.startswith("csr") else rows


def rows_of(name: str, form: str = "dense64") -> Any:
    return shaped(table(name)[0], form)


def classes_of(name: str) -> np.ndarray:
    return table(name)[1]


def numbers_of(name: str) -> np.ndarray:
    return table(name)[2]


def weights_of(name: str) -> np.ndarray:
    """Weights of rows, every seventh of them 0."""
    n = table(name)[0].shape[0]
    weights = np.random.default_rng(12).uniform(0.2, 3.0, size=n)
    weights[::7] = 0.0
    return weights


def with_categories(missing: bool = True) -> tuple[np.ndarray, list[int]]:
    """The rows of "two" with two columns of categories and, where asked, missing values; and the places of the categories."""
    X = table("two")[0].copy()
    random = np.random.default_rng(13)
    X = np.column_stack((X, random.integers(0, 7, size=len(X)), random.integers(0, 3, size=len(X))))
    if missing:
        X[random.random(X.shape) < 0.05] = np.nan
    return X, [6, 7]
