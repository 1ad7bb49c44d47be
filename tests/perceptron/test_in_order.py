"""Few dense rows: numpy and a kernel make the same visits, to the bit, and those of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import Perceptron as SkPerceptron

import gapless
from gapless import Perceptron
from gapless.rows import as_rows
from gapless.solvers import perceptron as solver
from gapless.solvers.perceptron_in_order import shuffle_few, visit_by_kernel, visit_by_numpy
from gapless.solvers.perceptron_visits import PassSlice, shuffle_visits


def draw(seed: int):
    """Rows of any kind: rounded (scores of exactly 0), far from 0, nearly equal, huge or tiny, float32; weights or none."""
    random = np.random.default_rng(seed)
    n, d = int(random.integers(1, 200)), int(random.integers(1, 40))
    X = random.normal(size=(n, d)) * 10.0 ** random.integers(-3, 4, d)
    if seed % 3 == 0:
        X = np.round(X)
    if seed % 5 == 0:
        X = X[random.integers(0, max(1, n // 4), n)] + 1e-13 * random.normal(size=(n, d)) * (seed % 2)
    X *= (1.0, 1e-150, 1e140)[seed % 7 % 3]
    y = np.where(X @ random.normal(size=d) + random.normal(size=n) * X.std() > 0, 1, -1).astype(np.int8)
    steps = random.exponential(size=n) if seed % 2 else np.empty(0)
    return X.astype(np.float32) if seed % 4 == 1 and seed % 7 % 3 == 0 else X, y, steps


def visited(visit, X, y, steps, constant: float):
    """Weights, corrections of each row, mistakes and loss after some passes."""
    theta, updates, order = (
        np.zeros(X.shape[1] + 1),
        np.zeros(y.size, dtype=np.int32),
        np.arange(y.size, dtype=np.int32),
    )
    rows, told = as_rows(np.ascontiguousarray(X), constant), []
    for _ in range(6):
        told.append(visit(PassSlice(rows, y, order[::-1].copy(), 0, y.size, theta, 0.7, steps, updates)))
    return theta.tobytes(), updates.tobytes(), told


@pytest.mark.parametrize("seed", range(60))
def test_numpy_and_the_kernel_give_the_same_bits(seed):
    X, y, steps = draw(seed)
    with np.errstate(all="ignore"):
        for constant in (0.0, 1.0):
            by_numpy, by_kernel = (visited(each, X, y, steps, constant) for each in (visit_by_numpy, visit_by_kernel))
            assert by_numpy == by_kernel


@pytest.mark.parametrize("n", [1, 2, 57, 300])
def test_a_shuffle_is_the_same_permutation(n):
    one, other, random = np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32), np.array([12345], dtype=np.uint64)
    for _ in range(3):
        shuffle_few(one, 12345)
        shuffle_visits(other, random)
        assert np.array_equal(one, other)


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
@pytest.mark.parametrize("scaled", [False, True])
def test_a_fit_is_the_same_with_and_without_numba_and_scikit_learns(load, scaled, monkeypatch):
    X, y = load(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0) if scaled else X
    monkeypatch.setattr("gapless.solvers.perceptron_in_order._Made.mistakes", -(10**9))
    fits = []
    for here in (True, False):
        monkeypatch.setattr(solver, "awake", lambda here=here: here)
        monkeypatch.setattr("gapless.solvers.perceptron_in_order.awake", lambda here=here: here)
        fits.append(Perceptron().fit(X, y))
    warm, cold = fits
    assert warm.certificate_.backend == cold.certificate_.backend == "cpu numpy"
    parts = [{**fit.certificate_.document()["certificate"], "seconds": 0, "compile_seconds": 0} for fit in fits]
    assert parts[0] == parts[1]
    for name, array in warm.certificate_.arrays.items():
        assert array.tobytes() == cold.certificate_.arrays[name].tobytes(), name
    theirs = SkPerceptron().fit(X, y)
    np.testing.assert_allclose(cold.coef_, theirs.coef_, rtol=1e-9, atol=1e-9)
    assert gapless.verify(cold, X, y)
    assert gapless.verify(cold, X, y, rigorous=True)


def test_many_mistakes_by_numpy_ask_for_the_kernel(monkeypatch):
    X, y = load_iris(return_X_y=True)
    ran = []
    monkeypatch.setattr("gapless.solvers.perceptron_in_order.awake", lambda: False)
    for made, name in ((0, "visit_by_numpy"), (10**6, "visit_by_kernel")):
        monkeypatch.setattr("gapless.solvers.perceptron_in_order._Made.mistakes", made)
        monkeypatch.setattr(
            f"gapless.solvers.perceptron_in_order.{name}", lambda part, name=name: ran.append(name) or (0, 0.0)
        )
        Perceptron(tol=1e-3).fit(X, y)
    assert set(ran) == {"visit_by_numpy", "visit_by_kernel"}


def test_settings_and_other_ways_choose_the_kernels():
    X, y = load_iris(return_X_y=True)
    for parameters in ({"variant": "averaged"}, {"penalty": "l2"}, {"certify": True}, {"tol": None}):
        assert Perceptron(max_iter=50, **parameters).fit(X[:100], y[:100]).certificate_.backend != "cpu numpy"
    with gapless.config_context(backend="numba"):
        forced = Perceptron().fit(X, y)
    assert forced.certificate_.backend != "cpu numpy"
    np.testing.assert_allclose(forced.coef_, Perceptron().fit(X, y).coef_, rtol=1e-9, atol=1e-9)
