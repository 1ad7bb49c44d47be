"""Bounds without a test set on real data, beside the published ones of votes with Dirichlet weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gapless import SVC
from gapless.theory.compression import margin_violation
from tests.shared_data import folder, needs_data

#: C and gamma come from this lattice, fixed before anything was trained: delta is divided by its size.
LATTICE = [(C, g) for C in (1.0, 10.0, 100.0, 1000.0) for g in (0.25, 1.0, 4.0)]  # gamma = g / number of columns

# C, g, and the published bound (Zantedeschi et al. 2021, stumps, a randomised vote; ours is of the fixed classifier)
PUBLISHED = {
    "svmguide1": (100.0, 4.0, 0.114),
    "mushrooms": (100.0, 0.25, 0.048),
    "phishing": (1000.0, 1.0, 0.135),
    "cod-rna": (10.0, 4.0, 0.152),
}


def rows_of(name):
    """Rows in units that they did not choose: ranges of the test part, or of a twentieth that is then left out."""
    z = np.load(folder() / f"{name}.npz")
    if name == "mushrooms":
        parts = (z["X_data"].astype(float), z["X_indices"], z["X_indptr"])
        return sparse.csr_matrix(parts, shape=tuple(z["X_shape"])).toarray(), z["y"]
    if name == "phishing":
        return z["X"].astype(float) / 0.18257, z["y"]
    X, y = z["X_train"].astype(float), z["y_train"]
    if name == "svmguide1":
        other, keep = z["X_test"].astype(float), np.arange(len(y))
    else:
        order = np.random.default_rng(0).permutation(len(y))
        other, keep = X[order[: len(y) // 20]], order[len(y) // 20 :]
    low, high = other.min(axis=0), other.max(axis=0)
    return (2.0 * (X - low) / (high - low) - 1.0)[keep], y[keep]


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_below_the_published_bounds(name):
    C, g, published = PUBLISHED[name]
    assert (C, g) in LATTICE
    X, y = rows_of(name)
    model = SVC(C=C, gamma=g / X.shape[1], tol=1e-10).fit(X, y)
    found = margin_violation(model, X, y, delta=0.05, tried=len(LATTICE))
    assert found.high < published
