"""Small problems whose answers are known by enumeration, and the data of the published experiments."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np


def small(seed: int):
    """Features from few values, labels of 2 to 4 classes, integer weights."""
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 5))
    n, d = int(rng.integers(K, 14)), int(rng.integers(1, 4))
    X = rng.integers(-2, 3, size=(n, d)).astype(float)
    y = np.concatenate((np.arange(K), rng.integers(0, K, n - K)))
    rng.shuffle(y)
    return X, y, rng.integers(1, 9, size=n), K


def split_value(X, y, w, K, feature, threshold):
    """sum_k a_k^2 / a + sum_k b_k^2 / b in fractions, and |sum w y h| of the stump there (two classes); None where a side is
    empty.
    """
    sides = [[Fraction(0)] * K, [Fraction(0)] * K]
    for x, label, weight in zip(X, y, w, strict=True):
        sides[int(x[feature] > threshold)][label] += int(weight)
    a, b = sum(sides[0]), sum(sides[1])
    if a == 0 or b == 0:
        return None
    value = sum(v * v for v in sides[0]) / a + sum(v * v for v in sides[1]) / b
    return value, abs((sides[0][1] - sides[0][0]) - (sides[1][1] - sides[1][0]))


def best_by_enumeration(X, y, w, K):
    """The largest value over all features and midpoints (None where there is no split), and the largest edge, constants
    included.
    """
    best, edge = None, abs(sum(int(v) * (1 if label == 1 else -1) for v, label in zip(w, y, strict=True)))
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])
        for low, high in itertools.pairwise(values):
            found, reach = split_value(X, y, w, K, j, (low + high) / 2)
            best = found if best is None or found > best else best
            edge = max(edge, reach)
    return best, Fraction(edge) / int(w.sum())


def blobs(n: int, K: int, seed: int, d: int = 4, noise: float = 1.2):
    """Classes that overlap."""
    rng = np.random.default_rng(seed)
    y = np.concatenate((np.arange(K), rng.integers(0, K, n - K)))
    return rng.normal(size=(K, d))[y] + noise * rng.normal(size=(n, d)), y


def nested_spheres(n: int, rng):
    """y = 1 where the sum of ten squared normals is above its median, 9.34."""
    X = rng.normal(size=(n, 10))
    return X, np.where((X**2).sum(axis=1) > 9.34, 1, -1)


def waveform(n: int, rng):
    """Breiman's three classes: random mixtures of two of three triangular waves, and noise; 21 features."""
    at = np.arange(1, 22)
    waves = np.array([np.maximum(6.0 - np.abs(at - centre), 0.0) for centre in (7, 15, 11)])
    pairs = ((0, 1), (0, 2), (1, 2))
    y = rng.integers(0, 3, n)
    u = rng.random(n)[:, None]
    first, second = waves[[pairs[k][0] for k in y]], waves[[pairs[k][1] for k in y]]
    return u * first + (1.0 - u) * second + rng.normal(size=(n, 21)), y
