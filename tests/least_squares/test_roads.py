"""Which way least squares goes by shape, and that each finds the solution of least norm."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gapless import LinearRegression, Ridge, verify


def least_norm(X, y, weights):
    root = np.sqrt(weights)
    mean_x, mean_y = weights @ X / weights.sum(), weights @ y / weights.sum()
    return np.linalg.lstsq((X - mean_x) * root[:, None], (y - mean_y) * root, rcond=None)[0]


@pytest.mark.parametrize("shape", [(20, 50), (30, 30), (60, 8)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_independent_rows_or_columns_need_no_singular_values(shape, form):
    random = np.random.default_rng(1)
    X = random.normal(size=shape) * 10.0 ** random.uniform(-1.0, 1.0, shape[1]) + 3.0
    X[:, 2], y, weights = (
        0.0 if form is sparse.csr_matrix else 5.0,
        random.normal(size=shape[0]),
        random.uniform(0.5, 2.0, shape[0]),
    )
    model = LinearRegression().fit(form(X), y, weights)
    assert model.certificate_.solver == "cholesky"
    assert model.rank_ == min(shape[0] - 1, shape[1] - 1)
    np.testing.assert_allclose(model.coef_, least_norm(X, y, weights), rtol=1e-7, atol=1e-9)
    assert model.coef_[2] == 0.0
    assert verify(model, form(X), y, sample_weight=weights)


def test_equal_rows_go_by_singular_values():
    random = np.random.default_rng(2)
    X, y = random.normal(size=(10, 40)), random.normal(size=10)
    X[3] = X[7]
    model = LinearRegression().fit(X, y)
    assert model.certificate_.solver == "svd"
    assert model.rank_ == 8
    np.testing.assert_allclose(model.coef_, least_norm(X, y, np.ones(10)), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.singular_, np.linalg.svd(X - X.mean(axis=0), compute_uv=False), atol=1e-12)


def test_a_penalty_and_columns_of_zeros():
    random = np.random.default_rng(3)
    X = random.normal(size=(200, 40)) * (random.random((200, 40)) < 0.3)
    X[:, ::4] = 0.0
    y = random.normal(size=200)
    for rows in (X, sparse.csr_matrix(X)):
        model = Ridge(0.1).fit(rows, y)
        assert model.certificate_.solver == "cholesky"
        assert (model.coef_[::4] == 0.0).all()
        assert verify(model, rows, y, rigorous=True)
