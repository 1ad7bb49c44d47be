"""From scores to probabilities: sigmoid, beta and isotonic maps for two classes, a temperature for more, fitted by likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from sklearn.isotonic import isotonic_regression


def _smoothed_labels(positive: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Platt's smoothed labels (low, high) for a sample of this size."""
    up, down = float(weights[positive].sum()), float(weights[~positive].sum())
    return 1.0 / (down + 2.0), (up + 1.0) / (up + 2.0)


def log_odds(p: np.ndarray) -> np.ndarray:
    """ln(p / (1 - p)), kept finite at 0 and 1."""
    q = np.clip(p, 1e-300, None)
    rest = np.clip(1.0 - p, 1e-17, None)
    return np.log(q) - np.log(rest)


def logistic(t: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-t)), without overflow."""
    e = np.exp(-np.abs(t))
    return np.where(t >= 0.0, 1.0, e) / (1.0 + e)


def _maximise_likelihood(F: np.ndarray, t: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float]:
    """theta that minimises sum_i w_i (ln(1 + exp(z_i)) - t_i z_i), z = F theta, and the value: Newton with halved steps."""
    theta = np.zeros(F.shape[1])

    def value(at: np.ndarray) -> float:
        z = F @ at
        return float(weights @ (np.logaddexp(0.0, z) - t * z))

    best = value(theta)
    for _ in range(200):
        p = logistic(F @ theta)
        gradient = F.T @ (weights * (p - t))
        curve = (F * (weights * p * (1.0 - p))[:, None]).T @ F
        step = np.linalg.lstsq(curve, -gradient, rcond=None)[0]
        slope = float(gradient @ step)
        if slope > -1e-14 * max(1.0, abs(best)):
            break
        length = 1.0
        while length > 1e-12 and value(theta + length * step) > best + 1e-4 * length * slope:
            length *= 0.5
        if length <= 1e-12:
            break
        theta = theta + length * step
        best = value(theta)
    return theta, best


def _fit_slopes(columns: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Slopes >= 0 and the offset of the most likely map: the best over all choices of which slopes are 0."""
    low, high = _smoothed_labels(positive, weights)
    t = np.where(positive, high, low)
    n, d = columns.shape
    scale = np.maximum(np.abs(columns).max(axis=0), 1e-300)
    found = None
    for size in range(d, -1, -1):
        for kept in combinations(range(d), size):
            F = np.column_stack([*(columns[:, j] / scale[j] for j in kept), np.ones(n)])
            theta, worth = _maximise_likelihood(F, t, weights)
            if (theta[:-1] < 0.0).any():
                continue
            if found is None or worth < found[0]:
                slopes = np.zeros(d)
                slopes[list(kept)] = theta[:-1] / scale[list(kept)]
                found = worth, slopes, float(theta[-1])
    assert found is not None
    return found[1], found[2]


@dataclass(frozen=True, eq=False)
class Sigmoid:
    """p = 1 / (1 + exp(-(slope s + offset)))."""

    slope: float
    offset: float

    @classmethod
    def fit(cls, s: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> Sigmoid:
        slopes, offset = _fit_slopes(s[:, None], positive, weights)
        return cls(float(slopes[0]), offset)

    def odds(self, s: np.ndarray) -> np.ndarray:
        """The log-odds of the second class."""
        return self.slope * s + self.offset


@dataclass(frozen=True, eq=False)
class Beta:
    """p = 1 / (1 + exp(-(up ln sigma(s) - down ln(1 - sigma(s)) + offset)))."""

    up: float
    down: float
    offset: float

    @classmethod
    def fit(cls, s: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> Beta:
        columns = np.column_stack([-np.logaddexp(0.0, -s), np.logaddexp(0.0, s)])
        slopes, offset = _fit_slopes(columns, positive, weights)
        return cls(float(slopes[0]), float(slopes[1]), offset)

    def odds(self, s: np.ndarray) -> np.ndarray:
        return -self.up * np.logaddexp(0.0, -s) + self.down * np.logaddexp(0.0, s) + self.offset


@dataclass(frozen=True, eq=False)
class Steps:
    """p is ``values[k]`` from ``edges[k - 1]`` to ``edges[k]``; within a step the log-odds still rise, by next to nothing."""

    edges: np.ndarray
    values: np.ndarray

    @classmethod
    def fit(cls, s: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> Steps:
        low, high = _smoothed_labels(positive, weights)
        some = weights > 0.0
        points, place = np.unique(s[some], return_inverse=True)
        mass = np.bincount(place, weights[some])
        share = np.bincount(place, weights[some] * positive[some]) / mass
        p = np.clip(isotonic_regression(share, sample_weight=mass), min(low, high), max(low, high))
        ends = np.flatnonzero(np.diff(p) > 0.0)
        edges = 0.5 * (points[ends] + points[ends + 1])
        return cls(edges, p[np.append(ends, p.size - 1)])

    def odds(self, s: np.ndarray) -> np.ndarray:
        levels = log_odds(self.values)
        apart = np.concatenate([np.diff(levels), np.abs(levels[levels != 0.0]), [1.0]])
        # At most the level, and less below it than a quarter of the smallest distance of levels: the order of the scores stays,
        # and so does the side of one half.
        within = 0.25 * float(apart.min()) * 0.5 * (s / (1.0 + np.abs(s)) - 1.0)
        return levels[np.searchsorted(self.edges, s, side="right")] + within


@dataclass(frozen=True, eq=False)
class Temperature:
    """p = softmax(t f)."""

    t: float

    def probabilities(self, f: np.ndarray) -> np.ndarray:
        z = self.t * (f - f.max(axis=1, keepdims=True))
        p = np.exp(z)
        return p / p.sum(axis=1, keepdims=True)

    @classmethod
    def fit(cls, f: np.ndarray, index: np.ndarray, weights: np.ndarray) -> Temperature:
        """The t >= 0 of the most likely softmax(t f): the loss is convex in t, its slope is bisected."""
        own = f[np.arange(len(f)), index]

        def slope(t: float) -> float:
            z = t * (f - f.max(axis=1, keepdims=True))
            p = np.exp(z)
            p /= p.sum(axis=1, keepdims=True)
            return float(weights @ ((p * f).sum(axis=1) - own))

        high = 1.0
        while slope(high) < 0.0 and high < 1e6:
            high *= 2.0
        low = 0.0
        if slope(low) >= 0.0:
            return cls(0.0)
        for _ in range(200):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if slope(middle) < 0.0 else (low, middle)
        return cls(0.5 * (low + high))
