"""The data: training parts as float64, labels -1 and +1. Nothing is downloaded.

The folder holds one NAME.npz for each set: dense X (or X_train), or the parts X_data, X_indices, X_indptr, X_shape of
a CSR matrix; y (or y_train). It is the one given, or $GAPLESS_DATA, or ../shared/data beside the repository.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

REPOSITORY = Path(__file__).resolve().parents[2]
GENERATED = (1_000_000, 50)


def find_folder(given: str | None = None) -> Path | None:
    """The data folder, None where there is none."""
    named = given or os.environ.get("GAPLESS_DATA")
    folder = Path(named) if named else REPOSITORY.parent / "shared" / "data"
    if named and not folder.is_dir():
        raise SystemExit(f"{folder} is no folder.")
    return folder if folder.is_dir() else None


def read(folder: Path, name: str) -> tuple[Any, np.ndarray]:
    with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
        part = "_train" if "y_train" in file.files else ""
        y = file["y_train_bin"] if name == "news20" else file[f"y{part}"]
        key = f"X{part}"
        if key in file.files:
            return np.ascontiguousarray(file[key], dtype=np.float64), y
        parts = (file[f"{key}_data"].astype(np.float64), file[f"{key}_indices"], file[f"{key}_indptr"])
        return sparse.csr_matrix(parts, shape=tuple(file[f"{key}_shape"])), y


def _standardised(X: np.ndarray) -> np.ndarray:
    deviation = X.std(axis=0)
    X -= X.mean(axis=0)
    X /= np.where(deviation > 0.0, deviation, 1.0)
    return X


def _tf_idf(X: sparse.csr_matrix) -> sparse.csr_matrix:
    """Counts times ln(N / df) + 1, rows of length 1."""
    document_frequency = np.bincount(X.indices, minlength=X.shape[1])
    X = (X @ sparse.diags(np.log(X.shape[0] / np.maximum(document_frequency, 1)) + 1.0)).tocsr()
    length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return (sparse.diags(1.0 / np.where(length > 0.0, length, 1.0)) @ X).tocsr()


def _covtype(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
    return _standardised(X), y == 2


def _ijcnn1(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
    return _standardised(X), y > 0


def _mnist(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
    X /= 255.0
    return X, y % 2 == 0


def _plain(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
    return X, y > 0


def _news20(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
    return _tf_idf(X), y > 0


SETS: dict[str, tuple[str, Callable[[Any, np.ndarray], tuple[Any, np.ndarray]]]] = {
    "covtype": ("class 2 against the rest, standardised", _covtype),
    "ijcnn1": ("standardised", _ijcnn1),
    "mnist": ("even against odd, / 255", _mnist),
    "a9a": ("as it comes", _plain),
    "w8a": ("as it comes", _plain),
    "news20": ("two groups, tf-idf", _news20),
    "reuters_moneyfx": ("as it comes", _plain),
}
SETS_OF = {"hinge": tuple(SETS)[:6], "logistic": tuple(SETS)}


def load(name: str, folder: Path) -> tuple[Any, np.ndarray]:
    """X float64, dense C-contiguous or CSR with sorted indices and 32-bit indices; y int64 of -1 and +1."""
    X, positive = SETS[name][1](*read(folder, name))
    if sparse.issparse(X):
        X.sum_duplicates()
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, np.where(positive, 1, -1).astype(np.int64)


def generated_regression(shape: tuple[int, int] = GENERATED, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A linear target with noise of the same size as the signal."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal(shape)
    w = rng.standard_normal(shape[1])
    return X, X @ w + np.sqrt(shape[1]) * rng.standard_normal(shape[0])
