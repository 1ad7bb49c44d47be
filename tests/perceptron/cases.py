"""Random problems with a known margin, and problems that nothing separates."""

from __future__ import annotations

import numpy as np


def separable(rng, offset=True):
    """Rows on both sides of a hyperplane, none nearer than a margin of 1e-4 to 1; d from 1 to 50."""
    d, n = int(rng.integers(1, 51)), int(rng.integers(2, 100))
    w = rng.normal(size=d)
    w /= np.linalg.norm(w)
    b = 0.5 * rng.normal() if offset else 0.0
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1)
    y = np.where(X @ w + b > 0, 1, -1)
    y[:2] = 1, -1
    z = y * (X @ w + b)
    X += (np.maximum(10.0 ** rng.uniform(-4, 0) - z, 0.0) * y)[:, None] * w
    return X, y


def inseparable(rng, whole):
    """Two rows that stand with both labels among others; integers, eighths, or reals."""
    d = int(rng.integers(1, 21))
    n = int(rng.integers(d + 3, d + 60))
    X = rng.integers(-3, 4, size=(n, d)) / 8.0**whole if whole is not None else rng.normal(size=(n, d))
    w = rng.normal(size=d)
    y = np.where(X @ w + 3.0 * np.linalg.norm(w) * rng.normal(size=n) > 0, 1, -1)
    y[:2] = 1, -1
    return np.vstack([X, X[:2]]).astype(float), np.append(y, [-1, 1])


def rosenblatt(X, y, theta, rate=1, passes=1000, offset=True):
    """The algorithm as it stands in books, in whatever numbers it gets: weights, mistakes, passes, every theta after a visit."""
    rows = [[*x, 1] if offset else list(x) for x in X]
    theta, mistakes, seen, k, clean = list(theta), 0, [], 0, False
    while k < passes and not clean:
        k, clean = k + 1, True
        for x, label in zip(rows, y):
            if label * sum(a * b for a, b in zip(theta, x)) <= 0:
                theta = [a + rate * int(label) * b for a, b in zip(theta, x)]
                mistakes, clean = mistakes + 1, False
            seen.append(theta)
    return theta, mistakes, k, seen
