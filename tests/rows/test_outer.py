"""Gram matrices in registers, against whole numbers, where every sum is exact."""

from __future__ import annotations

import numpy as np
import pytest

from gapless import rows as R
from gapless._runtime.threads import thread_team
from gapless.rows.outer import TILE_ROWS, add_outer, mirror_triangle, tile_width
from gapless.rows.second_moments import moments, sized_residuals
from gapless.rows.thresholds import ROW_THRESHOLDS


@pytest.mark.parametrize("count", [0, 1, TILE_ROWS - 1, TILE_ROWS])
@pytest.mark.parametrize("columns", [1, 3, 4, 5, 8, 9, 16, 23, 31, 33, 52, 64, 101, ROW_THRESHOLDS.narrow_columns])
def test_every_width_is_exact(columns, count):
    random = np.random.default_rng(columns)
    tile = random.integers(-99, 99, size=(TILE_ROWS, tile_width(columns))).astype(float)
    tile[:, columns:] = 1e300  # what lies beyond the columns must not come in
    before = random.integers(-99, 99, size=(tile_width(columns), tile_width(columns))).astype(float)
    out = before.copy()
    add_outer(tile, columns, count, out)
    whole = tile[:count, :columns].astype(np.int64)
    expected = mirror_triangle(before, columns).astype(np.int64) + whole.T @ whole
    assert (mirror_triangle(out, columns) == expected).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "d"),
    [(1, 1), (33, 7), (3000, 52), (500, ROW_THRESHOLDS.narrow_columns - 1), (300, ROW_THRESHOLDS.narrow_columns)],
)
def test_gram_of_whole_numbers(n, d, dtype):
    random = np.random.default_rng(1)
    X = random.integers(-50, 50, size=(n, d)).astype(dtype)
    weights = np.array([0.0, 1.0, 4.0, 9.0])[random.integers(0, 4, size=n)]  # whole roots
    some = np.flatnonzero(random.random(n) < 0.7)
    full = np.c_[X, np.full(n, 2)].astype(np.int64)[some]
    found = R.gram(R.as_rows(X, 2.0), weights, some)
    assert (found == (full.T * weights[some].astype(np.int64)) @ full).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "d", "K"), [(1, 1, 1), (700, 9, 1), (90_000, 50, 1), (5000, 20, 3), (400, 130, 2)])
def test_moments_of_whole_numbers(n, d, K, weighted, dtype):
    random = np.random.default_rng(2)
    X = random.integers(-20, 20, size=(n, d)).astype(dtype)
    Y = random.integers(-20, 20, size=(n, K)).astype(float)
    s = np.array([1.0, 4.0])[random.integers(0, 2, size=n)] if weighted else None
    centre, centre_y = random.integers(-5, 5, size=d).astype(float), random.integers(-5, 5, size=K).astype(float)
    t = np.c_[X - centre, Y - centre_y, np.ones(n)]
    expected = (t.T * (1.0 if s is None else s)) @ t  # whole numbers below 2^53: exact in any order
    for threads in (1, 2, 3):
        with thread_team(threads):
            assert (moments(R.as_rows(X, 1.0), s, Y, centre, centre_y, threads) == expected).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("constant", [0.0, 1.0])
def test_residuals_of_whole_numbers(constant, weighted):
    random = np.random.default_rng(3)
    n, d = 90_000, 50
    X, y = random.integers(-9, 9, size=(n, d)), random.integers(-9, 9, size=n)
    s = np.array([1.0, 4.0])[random.integers(0, 2, size=n)] if weighted else None
    theta, centre = random.integers(-3, 3, size=d + 1), random.integers(-3, 3, size=d)
    r = y - X @ theta[:-1] - int(constant) * theta[-1]
    sr = r if s is None else r * s.astype(np.int64)
    rows = R.as_rows(X.astype(float), constant)
    with thread_team(2):
        found, gradient, sizes = sized_residuals(rows, s, y.astype(float), theta.astype(float), centre.astype(float))
    assert (found == r).all()
    assert (gradient[:-1] == (X - centre).T @ sr).all()
    assert gradient[-1] == sr.sum()
    norms2, weights = (X * X).sum(axis=1) + int(constant), np.ones(n) if s is None else s
    assert sizes.rss == (sr * r).sum()
    assert sizes.residuals == np.abs(sr).sum()
    assert sizes.squares == weights @ norms2
    assert sizes.top == norms2.max()
    assert sizes.products == pytest.approx(np.abs(sr) @ np.sqrt(norms2), rel=1e-13)
    assert sizes.lengths == pytest.approx(weights @ np.sqrt(norms2), rel=1e-13)
