"""No bound is violated on any real data set at hand, at any learning rate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import gapless
from gapless import AdaBoostClassifier
from tests.shared_data import folder, needs_data

MOST_ROWS = 20_000


def names():
    return sorted(file.stem for file in folder().glob("*.npz")) if folder() is not None else []


def read(name):
    z = np.load(folder() / f"{name}.npz", allow_pickle=False)
    part = "" if "y" in z.files else "_train"
    y = z[f"y{part}"]
    if f"X{part}" in z.files:
        X = z[f"X{part}"].astype(np.float32)
    else:
        arrays = [z[f"X{part}_{key}"] for key in ("data", "indices", "indptr")]
        X = sparse.csr_matrix((arrays[0].astype(np.float32), *arrays[1:]), shape=tuple(z[f"X{part}_shape"]))
    chosen = np.sort(np.random.default_rng(0).permutation(len(y))[:MOST_ROWS])
    return X[chosen], y[chosen]


@needs_data
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", names())
def test_no_bound_is_violated(name):
    X, y = read(name)
    if len(np.unique(y)) < 2:
        pytest.skip("one class")
    for rate in (0.1, 0.5, 1.0, 2.0):
        model = AdaBoostClassifier(n_estimators=30, learning_rate=rate, n_jobs=2).fit(X, y)
        c = model.certificate_
        assert abs(c.bound / c.loss - 1.0) < 1e-12
        assert (c.training <= c.bounds * (1.0 + 1e-12)).all()
        K, e = model.n_classes_, c.errors
        if rate == 1.0 and (e > 0).all():
            assert np.allclose(c.factors, K * np.sqrt(e * (1 - e) / (K - 1)), rtol=1e-10)
        if c.bracket is not None:
            assert c.bracket[0] <= c.bracket[1] + 1e-12
            assert (1.0 - 2.0 * e <= c.arrays["edges"] + 1e-12).all()
        if c.enough is not None and len(e) >= c.enough:
            assert c.mistakes == 0
    if X.shape[0] * X.shape[1] < 3e6:
        assert gapless.verify(model, X, y)
