"""Real data sets beside the checkout, for the tests that can use them: GAPLESS_DATA, or ../shared/data.

Without the folder these tests skip; everything else needs nothing but the repository.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

ROOT = Path(__file__).resolve().parents[1]


def folder() -> Path | None:
    for place in (os.environ.get("GAPLESS_DATA"), ROOT.parent / "shared" / "data"):
        if place and (Path(place) / "a9a.npz").exists():
            return Path(place)
    return None


needs_data = pytest.mark.skipif(folder() is None, reason="no data sets: set GAPLESS_DATA to their folder")


@lru_cache(maxsize=4)
def load(name: str):
    """X (float32 dense or CSR, or float64 of a reference set) and y as -1 / +1 of the training part."""
    place = folder()
    assert place is not None
    file = place / f"{name}.npz"
    z = np.load(file if file.exists() else place / "reference" / f"{name}.npz", allow_pickle=False)
    part = "" if "y" in z.files else "_train"
    if f"X{part}" in z.files:
        X = z[f"X{part}"]
        X = X if X.dtype == np.float64 else X.astype(np.float32)
    else:
        arrays = [z[f"X{part}_{key}"] for key in ("data", "indices", "indptr")]
        X = sparse.csr_matrix((arrays[0].astype(np.float32), *arrays[1:]), shape=tuple(z[f"X{part}_shape"]))
    return X, np.sign(z[f"y{part}"].astype(int))


def decimals(X):
    """The decimals of the published file as float64, from their float32 neighbours (at most 7 digits)."""
    return X.astype(str).astype(np.float64)
