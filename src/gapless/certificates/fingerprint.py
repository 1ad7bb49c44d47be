"""Which data a certificate speaks of: sizes and digests of rows, labels and weights, as in ``gapless.judge.fingerprint``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from gapless.judge.fingerprint import digest
from gapless.rows.hashes import row_hashes


def digest_of_rows(X: Any) -> str:
    """The digest of ``row_hashes(X)``, which are not kept: they would take 16 bytes a row."""
    if sparse.issparse(X) or X.ndim != 2 or X.dtype.kind not in "fiub":
        return digest(row_hashes(X), "<u8")
    return _in_slices((row_hashes(X[part]) for part in _slices(X.shape[0])), "<u8")


def _slices(n: int) -> Iterator[slice]:
    """The rows whose hashes are held at a time where only their digest is wanted; one empty slice of no rows."""
    rows = 1 << 17
    return (slice(at, min(n, at + rows)) for at in range(0, max(n, 1), rows))


def _in_slices(slices: Iterable[np.ndarray], dtype: str) -> str:
    """``digest`` of what the slices are together."""
    whole = hashlib.blake2b(digest_size=16)
    for values in slices:
        whole.update(np.ascontiguousarray(values, dtype=dtype).data)
    return whole.hexdigest()


@lru_cache(maxsize=4)
def digest_of_ones(n: int) -> str:
    return _in_slices((np.ones(part.stop - part.start) for part in _slices(n)), "<f8")


def fingerprint(
    X: Any, label_index: Any, sample_weight: Any = None, *, hashes: np.ndarray | None = None
) -> dict[str, Any]:
    """The "fingerprint" block of a certificate: sizes and digests of rows, class indices and sample weights.

    ``sample_weight`` of None is the same as ones. ``hashes`` may hold ``row_hashes(X)``, if they are known.
    """
    X = X if sparse.issparse(X) or hashes is not None else np.asarray(X)
    n = X.shape[0]
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64) + 0.0
    labels = np.asarray(label_index)
    if labels.shape != (n,) or (weights is not None and weights.shape != (n,)):
        shape = None if weights is None else weights.shape
        raise ValueError(f"{n} rows, labels of shape {labels.shape}, weights of shape {shape}")
    return {
        "n_rows": n,
        "n_features": int(X.shape[1]),
        "rows": digest_of_rows(X) if hashes is None else digest(hashes, "<u8"),
        "labels": _in_slices((labels[part] for part in _slices(n)), "<i8"),
        "weights": digest_of_ones(n) if weights is None else digest(weights, "<f8"),
    }
