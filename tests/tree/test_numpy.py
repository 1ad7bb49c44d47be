"""Small trees by numpy, in a process without numba: columns, splits, leaves and documents are those of the kernels to the bit."""

from __future__ import annotations

import numpy as np
import pytest

import gapless
from gapless import BaggingRegressor, DecisionTreeClassifier, DecisionTreeRegressor
from gapless.solvers.tree.codes import prepare_columns
from gapless.solvers.tree.numpy import choose


@pytest.fixture
def without_numba(monkeypatch):
    """A switch between both ways."""

    def switch(on: bool) -> None:
        for place in ("gapless.solvers.tree.numpy.choose.awake", "gapless.solvers.tree.tree.awake"):
            monkeypatch.setattr(place, lambda: not on)

    monkeypatch.setattr(choose._Grown, "nodes", -(10**9))
    return switch


def draw(seed: int):
    """Columns of every kind: distinct values, few values, a common value below, between or above the others, one value alone."""
    random = np.random.default_rng(seed)
    n, d = int(random.integers(2, 250)), int(random.integers(1, 14))
    X = random.normal(size=(n, d))
    for j in range(d):
        rare = random.random(n) < (0.4, 0.2, 0.1)[seed % 3]
        X[:, j] = {
            1: random.integers(-1, 3, n),
            2: np.where(rare, X[:, j], 0.0),
            3: np.where(rare, np.abs(X[:, j]), -0.0),
            4: np.where(rare, np.round(X[:, j]), 5.0),
            5: -np.where(rare, np.abs(X[:, j]), 0.0),
            6: np.full(n, 0.1),
        }.get((seed + j) % 7, X[:, j])
    z = X[:, 0] - X[:, -1] ** 2 + random.normal(size=n) * random.choice([0.0, 0.5, 3.0])
    weights = (None, random.exponential(size=n), random.integers(0, 3, n) + 0.0)[seed % 3]
    if weights is not None:
        weights[0] = 1.0
    limits = {
        "max_depth": (None, None, 3)[seed % 3],
        "min_samples_leaf": (1, 1, 3, 1)[seed % 4],
        "min_samples_split": (2, 2, 5)[seed % 3],
        "min_impurity_decrease": (0.0, 0.0, 0.0, 0.0, 1e-3)[seed % 5],
        "min_weight_fraction_leaf": (0.0, 0.0, 0.0, 0.02)[seed % 4],
    }
    if seed % 2:
        return X, np.round(z) if seed % 4 == 1 else 1e3 + z, weights, DecisionTreeRegressor(**limits)
    K = int(random.integers(2, 6))
    y = np.searchsorted(np.quantile(z, np.arange(1, K) / K), z)
    return X, y, weights, DecisionTreeClassifier(**limits)


def told(model, X):
    """All that a fit says, but for its seconds."""
    certificate = model.certificate_
    document = {**certificate.document()["certificate"], "seconds": 0, "compile_seconds": 0}
    arrays = {name: (each.dtype.str, each.shape, each.tobytes()) for name, each in certificate.arrays.items()}
    return document, arrays, model.predict(X).tobytes()


@pytest.mark.parametrize("seed", range(140))
def test_the_same_bits(seed, without_numba):
    X, y, weights, model = draw(seed)
    fits = []
    for cold in (True, False):
        without_numba(cold)
        fits.append(told(model.fit(X, y, sample_weight=weights), X))
        assert gapless.verify(model, X, y, sample_weight=weights)
    assert fits[0] == fits[1]


@pytest.mark.parametrize("seed", range(12))
def test_the_same_columns(seed, without_numba):
    X = draw(seed)[0].astype(np.float32)
    without_numba(True)
    ours = prepare_columns(X)
    without_numba(False)
    theirs = prepare_columns(X)
    for name in set(ours._fields) - {"order"}:
        one, other = getattr(ours, name), getattr(theirs, name)
        assert np.array_equal(one, other), name
        assert getattr(one, "dtype", None) == getattr(other, "dtype", None), name
    for j, length in enumerate(theirs.ordered[:, 0]):
        assert np.array_equal(ours.order[j, :length], theirs.order[j, :length])


def test_bags_have_the_same_bits(without_numba):
    X, _, _, _ = draw(3)
    y = X[:, 0] + np.arange(X.shape[0]) % 5
    found = []
    for cold in (True, False):
        without_numba(cold)
        model = BaggingRegressor(n_estimators=4, random_state=1).fit(X, y)
        found.append([told(each, X) for each in model.estimators_] + [model.predict(X).tobytes()])
    assert found[0] == found[1]


def test_where_numpy_grows(monkeypatch):
    monkeypatch.setattr(choose, "awake", lambda: False)
    monkeypatch.setattr(choose._Grown, "nodes", 0)
    assert choose.numpy_grows(569, 30)
    assert not choose.numpy_grows(20_000, 30)  # nodes of so many rows are the kernels'
    with gapless.config_context(backend="numba"):
        assert not choose.numpy_grows(569, 30)
    choose.count_nodes(10**6)
    assert not choose.numpy_grows(569, 30)  # whoever grows so many nodes gets the kernels
    monkeypatch.setattr(choose._Grown, "nodes", 0)
    monkeypatch.setattr(choose, "awake", lambda: True)
    assert not choose.numpy_grows(569, 30)
