"""The sets of the table, from the folder named by GAPLESS_DATA, as the draft of the GPU backend made them."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse


def _load(name: str) -> Any:
    return np.load(Path(os.environ["GAPLESS_DATA"]) / f"{name}.npz", allow_pickle=False)


def _matrix(z: Any, key: str) -> np.ndarray:
    if key in z.files:
        return np.ascontiguousarray(z[key], dtype=np.float32)
    parts = (z[f"{key}_data"].astype(np.float32), z[f"{key}_indices"], z[f"{key}_indptr"])
    return np.asarray(sparse.csr_matrix(parts, shape=tuple(z[f"{key}_shape"])).todense())


@lru_cache(maxsize=1)
def covtype() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Class 2 against the rest, columns scaled to [0, 1], 522,911 rows of a fixed split, the others for a test."""
    z = _load("covtype")
    X, y = _matrix(z, "X").astype(np.float64), np.where(z["y"].astype(int) == 2, 1, -1)
    low, high = X.min(0), X.max(0)
    X = ((X - low) / np.where(high > low, high - low, 1)).astype(np.float32)
    order = np.random.RandomState(0).permutation(len(y))
    first, rest = order[:522_911], order[522_911:]
    return X[first], y[first], X[rest], y[rest]


@lru_cache(maxsize=1)
def mnist() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    z = _load("mnist")
    return _matrix(z, "X_train"), z["y_train"].astype(int), _matrix(z, "X_test"), z["y_test"].astype(int)


def a9a() -> tuple[np.ndarray, np.ndarray]:
    z = _load("a9a")
    return _matrix(z, "X_train"), np.sign(z["y_train"].astype(int))
