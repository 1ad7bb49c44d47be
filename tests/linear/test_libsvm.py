"""The hinge on few rows: a point of LIBSVM's, certified by us; our own solvers where its gap is not small enough."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from gapless import ConvergenceWarning, LinearSVC, config_context, verify


def rows_of(seed, n, d, K):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) * (random.random((n, d)) < 0.5)
    return X, (X @ random.normal(size=(d, K)) + 0.7 * random.gumbel(size=(n, K))).argmax(axis=1)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("shape", [(120, 5, 2), (60, 200, 3)])
def test_its_gap_is_ours_and_the_judge_agrees(shape, form):
    X, y = rows_of(1, *shape)
    weights = np.random.default_rng(2).integers(0, 3, y.size)
    model = LinearSVC(loss="hinge", C=0.1).fit(form(X), y, weights)
    assert model.certificate_.solver == "libsvm"
    assert model.certificate_.relative_gap <= 1e-4
    assert verify(model, form(X), y, sample_weight=weights)
    assert verify(model, form(X), y, sample_weight=weights, rigorous=True)
    with config_context(backend="numba"):
        other = LinearSVC(loss="hinge", C=0.1).fit(form(X), y, weights)
    assert "libsvm" not in other.certificate_.solver
    assert abs(model.certificate_.primal - other.certificate_.primal) <= model.certificate_.gap + other.certificate_.gap


def test_a_smaller_tolerance_and_a_penalised_offset_are_our_own_solvers():
    X, y = rows_of(3, 100, 4, 2)
    for asked in ({"tol": 1e-8}, {"penalize_intercept": True}, {"max_iter": 0}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LinearSVC(loss="hinge", **asked).fit(X, y)
        assert "libsvm" not in model.certificate_.solver
        assert verify(model, X, y)


def test_the_order_of_rows_changes_nothing():
    X, y = rows_of(4, 90, 6, 3)
    order = np.random.default_rng(5).permutation(y.size)
    first, second = LinearSVC(loss="hinge").fit(X, y), LinearSVC(loss="hinge").fit(X[order], y[order])
    assert "libsvm" in first.certificate_.solver
    np.testing.assert_allclose(first.decision_function(X), second.decision_function(X), rtol=1e-7, atol=1e-7)
