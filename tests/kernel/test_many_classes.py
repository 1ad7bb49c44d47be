"""Many pairs of classes: what they share is made once, and each pair's answer is that of the two classes alone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler

import gapless
from gapless.gram.tiles import RowTiles
from gapless.solvers.kernel.free_set import _shift


def scaled(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
def test_a_pair_is_the_problem_of_its_two_classes(name, kernel):
    """With rows that stand twice, in both orders of their weights, and rows of no weight."""
    X, y = scaled(load_wine)
    random = np.random.default_rng(0)
    twice = random.permutation(np.concatenate([np.arange(len(y)), np.arange(0, len(y), 3)]))
    X, y = X[twice], y[twice]
    weights = random.choice([0.0, 0.5, 1.0, 2.0], len(y), p=[0.1, 0.3, 0.3, 0.3])
    parameters = {"kernel": kernel, "gamma": 0.05, "tol": 1e-11} | ({"nu": 0.2} if name == "NuSVC" else {"C": 0.3})
    estimator = getattr(gapless, name)
    whole = estimator(decision_function_shape="ovo", **parameters).fit(X, y, weights)
    assert gapless.verify(whole, X, y, weights)
    for column, (i, j) in enumerate(itertools.combinations(range(3), 2)):
        own = (y == i) | (y == j)
        alone = estimator(**parameters).fit(X[own], y[own], weights[own])
        assert -whole.decision_function(X)[:, column] == pytest.approx(alone.decision_function(X), abs=1e-6)


def test_the_matrix_is_made_once_for_all_pairs(monkeypatch):
    made = []
    square = RowTiles.square
    monkeypatch.setattr(
        RowTiles, "square", lambda self, index, *rest, **by: made.append(index.size) or square(self, index, *rest, **by)
    )
    X, y = scaled(load_digits)
    with gapless.config_context(backend="numba"):
        model = gapless.SVC().fit(X, y)
    assert made == [len(y)]
    assert gapless.verify(model, X, y)


def test_any_number_of_threads_takes_parts_of_it():
    X, y = scaled(load_digits)
    models = [gapless.SVC(n_jobs=n).fit(X, y) for n in (1, 3)]
    assert len({model.dual_coef_.tobytes() + model.intercept_.tobytes() for model in models}) == 1


def test_the_shift_that_keeps_a_sum_in_a_box():
    """Against bisection, which needs sixty sums: the sum of clip(e - shift, a, b) falls as the shift grows."""
    random = np.random.default_rng(0)
    for _ in range(300):
        n = int(random.integers(1, 12))
        a = -random.random(n) * random.integers(0, 2, n)
        b = a + random.random(n)
        u = a + (b - a) * random.random(n)
        e, total = u + random.normal(size=n) * random.choice([0.0, 0.1, 3.0]), float(u.sum())
        below, above = -100.0, 100.0
        for _ in range(80):
            middle = 0.5 * (below + above)
            below, above = (middle, above) if np.clip(e - middle, a, b).sum() > total else (below, middle)
        found = np.clip(e - _shift(e, a, b, total), a, b)
        assert found.sum() == pytest.approx(total, abs=1e-12)
        assert found == pytest.approx(np.clip(e - below, a, b), abs=1e-9)


def test_few_pairs_are_tried_before_the_rows_of_a_linear_kernel():
    """Where pairs reach the gap the linear solver is not asked; where they do not, they cost little and it is."""
    X, y = scaled(load_digits)
    with gapless.config_context(backend="numba"):
        easy = gapless.SVC(kernel="linear").fit(X, y)
    assert {sub.solver for sub in easy.certificate_.subproblems} == {"smo"}
    assert gapless.verify(easy, X, y)
    random = np.random.default_rng(0)
    rows = random.normal(size=(300, 100))
    noise = (rows[:, 0] + random.normal(size=300) > 0.0).astype(int)
    with gapless.config_context(backend="numba"):
        hard = gapless.SVC(kernel="linear", C=100.0).fit(rows, noise)
    assert "interior_point" in hard.certificate_.solver
    assert hard.certificate_.converged
