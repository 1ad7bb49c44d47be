"""Tiles against kernel values written out, in both precisions, for any rows, columns and number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from gapless._runtime.threads import one_blas_thread, thread_team
from gapless.gram.bits import BitTiles, is_binary
from gapless.gram.blocks import build_gram
from gapless.gram.bytes import ByteTiles
from gapless.gram.cached_rows import CachedRowTiles
from gapless.gram.dense import DenseGram
from gapless.gram.panels import bytes_are_fast
from gapless.gram.tiles import RowTiles
from gapless.kernels import RBF, Linear, Polynomial, Sigmoid

KERNELS = [RBF(0.07), Polynomial(3, 0.2, 1.0), Polynomial(1, 0.5, 0.0), Sigmoid(0.1, 0.3), Linear()]


def values(kernel, X, Z):
    """By the definitions."""
    inner = X @ Z.T
    if isinstance(kernel, RBF):
        if X.dtype == np.float64:
            return np.exp(-kernel.gamma * cdist(X, Z, "sqeuclidean"))
        return np.exp(-kernel.gamma * ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2))
    if isinstance(kernel, Polynomial):
        return (kernel.gamma * inner + kernel.coef0) ** kernel.degree
    if isinstance(kernel, Sigmoid):
        return np.tanh(kernel.gamma * inner + kernel.coef0)
    return inner


def real(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def binary(n, d, seed=0):
    return (np.random.default_rng(seed).random((n, d)) < 0.3).astype(float)


def counted(n, d, seed=0):
    random = np.random.default_rng(seed)
    return random.integers(0, 256, (n, d)) * (random.random((n, d)) < 0.3).astype(float)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
@pytest.mark.parametrize(("dtype", "close"), [(np.float64, 1e-13), (np.float32, 2e-5)])
@pytest.mark.parametrize("make", [real, binary])
def test_sums_and_squares(kernel, dtype, close, make):
    X = make(1300, 9)
    random = np.random.default_rng(1)
    if make is binary:
        assert is_binary(X)
        tiles = BitTiles.from_binary_rows(kernel, X, dtype)
    else:
        tiles = RowTiles.from_rows(kernel, X, dtype, X.mean(axis=0) if isinstance(kernel, RBF) else None)
    columns, at = random.choice(1300, 300, replace=False), random.choice(1300, 77, replace=False)
    v = random.normal(size=300)
    K = values(kernel, X, X[columns])
    scale = np.abs(K).max() * np.abs(v).sum()
    out = np.ones(1300)
    tiles.add(out, columns, v)
    np.testing.assert_allclose(out, 1.0 + K @ v, atol=close * scale)
    some = np.zeros(77)
    tiles.add(some, columns, v, at)
    np.testing.assert_allclose(some, K[at] @ v, atol=close * scale)
    square = tiles.square(columns)
    assert square.dtype == dtype
    np.testing.assert_allclose(square[:, :300], K[columns], atol=close * np.abs(K).max())
    order = random.permutation(1300)
    other = np.zeros(1300)
    tiles.reorder(order, dtype).add(other, np.argsort(order)[columns], v)
    np.testing.assert_allclose(other, (K @ v)[order], atol=close * scale)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
@pytest.mark.parametrize("make", [real, binary])
def test_the_gram_matrix_is_within_its_error(kernel, make):
    """The bound that certificates add, against values by the definition in higher precision."""
    X = make(90, 30, seed=3)
    K = build_gram(kernel, X)
    exact = values(kernel, X.astype(np.longdouble), X.astype(np.longdouble))
    every = np.arange(90)
    unit = np.zeros(90)
    for j in range(0, 90, 17):
        unit[:] = 0.0
        unit[j] = 1.0
        off = np.abs(K.product(every, unit).astype(np.longdouble) - exact[:, j])
        assert off.max() <= K.error
    assert np.abs(K.block(every, every) - exact).max() <= K.error


@pytest.mark.parametrize("make", [real, binary])
def test_the_same_bits_for_any_number_of_threads(make):
    X, v = make(5000, 12), np.random.default_rng(0).normal(size=600)
    found = set()
    for threads in (1, 2, 3):
        with one_blas_thread(), thread_team(threads):
            found.add(build_gram(RBF(0.1), X).product(np.arange(600), v).tobytes())
    assert len(found) == 1


def test_sparse_rows_narrow_and_wide():
    """Laid out where that is cheap, else by a sparse product: the same sums."""
    X = sparse.random(400, 3000, density=0.004, format="csr", random_state=0)
    v = np.random.default_rng(0).normal(size=400)
    laid_out, by_product = build_gram(RBF(0.5), X, 1 << 30), build_gram(RBF(0.5), X, 0)
    assert laid_out.laid_out is not None
    assert by_product.laid_out is None
    every = np.arange(400)
    np.testing.assert_allclose(laid_out.product(every, v), by_product.product(every, v), atol=1e-12)


def test_what_is_not_zero_or_one():
    assert not is_binary(np.array([[0.0, 1.0], [1.0, 0.5]]))
    assert not is_binary(np.array([[0.0, np.nan]]))
    assert not is_binary(sparse.csr_matrix([[0.0, 2.0]]))
    assert is_binary(sparse.csr_matrix([[0.0, 1.0]]))


def test_kept_rows_are_the_same_rows():
    """With room for all, for some and for none."""
    random = np.random.default_rng(5)
    X = random.normal(size=(1500, 210))
    tiles = RowTiles.from_rows(RBF(0.002), X, np.float32)
    K = values(RBF(0.002), X, X[:700])
    v = random.normal(size=700)
    smaller = CachedRowTiles(tiles.first(600), 1 << 30)
    smaller.add(np.zeros(600), np.arange(200, 500), v[200:500])
    for room, begun in ((1500, None), (400, None), (0, None), (2000, smaller)):
        kept = CachedRowTiles(tiles, room * 1500 * 4, begun)
        for columns, at in ((np.arange(300), None), (np.arange(700), None), (np.arange(100, 700), np.arange(40, 90))):
            out = np.zeros(1500 if at is None else at.size)
            kept.add(out, columns, v[columns], at)
            wanted = K[:, columns] @ v[columns]
            np.testing.assert_allclose(out, wanted if at is None else wanted[at], atol=2e-4)
        index = np.sort(random.choice(700, 300, replace=False))
        np.testing.assert_allclose(kept.square(index)[:, :300], K[index][:, index], atol=3e-6)
        assert kept.used == min(room, 700)
        kept.forget()


@pytest.mark.parametrize("make", [real, binary])
def test_the_whole_matrix_gives_the_same(make):
    X = make(1200, 12)
    plain = build_gram(RBF(0.1), X)
    whole = DenseGram(plain, plain.laid_out)
    K = values(RBF(0.1), X, X)
    made = whole.K[:, :1200]
    assert (made == made.T).all()
    np.testing.assert_allclose(made, K, atol=1e-13)
    random = np.random.default_rng(3)
    rows, at, v = random.choice(1200, 90), random.choice(1200, 70, replace=False), random.normal(size=90)
    np.testing.assert_allclose(whole.product(rows, v, at), K[at][:, rows] @ v, atol=1e-12)
    np.testing.assert_allclose(whole.product(rows, v), K[:, rows] @ v, atol=1e-12)
    held = whole.tiles(at, np.float32)
    out = np.zeros(70)
    held.add(out, np.arange(5, 40), v[:35])
    np.testing.assert_allclose(out, K[at][:, at[5:40]] @ v[:35], atol=1e-5)
    np.testing.assert_allclose(held.square(np.arange(9, 60))[:, :51], K[at[9:60]][:, at[9:60]], atol=1e-6)
    assert whole.tiles(np.arange(1200), np.float64).K is whole.K


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
@pytest.mark.parametrize(("make", "d"), [(real, 9), (real, 230), (binary, 70)])
def test_a_product_among_rows(kernel, make, d):
    """Each value is made once, whatever the number of rows."""
    X, random = make(1900, d), np.random.default_rng(3)
    plain = build_gram(kernel, X)
    for m in (1, 130, 1500):
        rows = random.choice(1900, m, replace=False)
        v = random.normal(size=m)
        K = values(kernel, X[rows], X[rows])
        scale = np.abs(K).max() * np.abs(v).sum()
        np.testing.assert_allclose(plain.product_among(rows, v), K @ v, atol=1e-13 * scale)


@pytest.mark.parametrize(
    ("width", "d", "spread", "make"),
    [
        (0.2, 5, 1.0, real),
        (0.02, 54, 1.0, real),
        (0.01, 230, 1.0, real),
        (3.0, 8, 1.0, real),
        (0.05, 60, 1.0, binary),
        (0.02, 240, 1.0 / 255.0, counted),
    ],
)
def test_single_precision_is_within_its_bound(width, d, spread, make):
    """Scores made by several updates, some divided on the way, against float64; the bounds are not idle either."""
    X, random = spread * make(1700, d), np.random.default_rng(4)
    plain = build_gram(RBF(width), X)
    tiles = plain.tiles(np.arange(1700), np.float32)
    kept = CachedRowTiles(tiles, 1 << 30)
    for rows in (tiles,) if make is binary else (tiles, kept):
        assert rows.rates.known
        scores, exact, off, moved = np.zeros(1700), np.zeros(1700), np.zeros((1700, 2)), 0.0
        for turn in range(3):
            columns = random.choice(1700, 700, replace=False)
            v = random.normal(size=700) * 10.0 ** random.integers(-3, 2, 700)
            rows.add(scores, columns, v, None, None, off)
            exact += plain.product(columns, v)
            moved += np.abs(v).sum()
            if turn == 1:
                scores, exact, off = scores / 4.0, exact / 4.0, off / 4.0
        bound = rows.rates.bound(off, moved)
        assert (np.abs(scores - exact) <= bound).all()
        assert (bound <= 1e-3 * plain.product(np.arange(1700), np.full(1700, 1.0)).max() * np.abs(v).max()).all()


def test_no_bound_where_none_is_small():
    """Rows far from their mean: exponents are differences of large numbers."""
    X = 300.0 * real(100, 40)
    for cache_bytes in (0, 200 << 20):  # values from inner products; from differences, in float64
        assert not build_gram(RBF(1.0), X, cache_bytes).tiles(np.arange(100), np.float32).rates.known
    assert not build_gram(RBF(1e-3), real(100, 40)).tiles(np.arange(100), np.float64).rates.known


@pytest.mark.skipif(not bytes_are_fast(), reason="this machine has no such instruction")
@pytest.mark.parametrize(("d", "step"), [(200, 1.0), (203, 1.0 / 255.0), (785, 0.25), (8000, 1.0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_whole_steps(d, step, dtype):
    """Sums, mirrored sums, squares, columns and other rows, against values written out: exact but for e^t."""
    X = step * counted(700, d)
    X[0], X[1], X[2] = 255.0 * step, 0.0, X[3]  # the furthest, the nearest
    kernel = RBF(1.0 / (step**2 * 255.0 * 255.0 * 0.2 * d))
    tiles = ByteTiles.from_whole_steps(kernel, X, dtype)
    assert tiles is not None
    assert tiles.step == pytest.approx(step, rel=1e-14)
    random = np.random.default_rng(1)
    columns, at, v = random.choice(700, 301, replace=False), random.choice(700, 77), random.normal(size=301)
    K = values(kernel, X, X)
    close = (1e-14 if dtype == np.float64 else 4e-6) * np.abs(v).sum()
    out = np.zeros(77)
    tiles.add(out, columns, v, at)
    np.testing.assert_allclose(out, K[at][:, columns] @ v, atol=close)
    among = np.zeros(301)
    tiles.add_among(among, columns, v)
    np.testing.assert_allclose(among, K[columns][:, columns] @ v, atol=close)
    np.testing.assert_allclose(tiles.square(columns)[:, :301], K[columns][:, columns], atol=close)
    across = np.zeros((301, 700), dtype)
    tiles.fill_columns(columns, across, None)
    np.testing.assert_allclose(across, K[columns], atol=close)
    new, several = np.zeros((50, 2)), random.normal(size=(600, 2))
    tiles.first(600).add_predictions(
        new[None], ByteTiles.from_whole_steps(kernel, X[-50:], dtype, tiles.step).rows, several, [slice(0, 600)]
    )
    np.testing.assert_allclose(new, K[-50:, :600] @ several, atol=4.0 * close)


@pytest.mark.skipif(not bytes_are_fast(), reason="this machine has no such instruction")
def test_what_is_no_whole_step():
    X = counted(70, 210) / 255.0
    for bad in (-1.0 / 255.0, 256.0, 0.5 / 255.0, 1.0 / 255.0 + 1e-15, np.nan, np.inf):
        other = X.copy()
        other[69, 209] = bad
        assert ByteTiles.from_whole_steps(RBF(1.0), other, np.float64) is None
    assert ByteTiles.from_whole_steps(RBF(1.0), X[:, :100], np.float64) is None
    assert ByteTiles.from_whole_steps(Linear(), X, np.float64) is None
    assert ByteTiles.from_whole_steps(RBF(1.0), sparse.csr_matrix(X), np.float64) is None
    assert ByteTiles.from_whole_steps(RBF(1.0), X, np.float64) is not None
    single = X.astype(np.float32)
    assert (
        ByteTiles.from_whole_steps(RBF(1.0), single, np.float64) is None
    )  # what was rounded on the way is not what was meant
    assert (
        ByteTiles.from_whole_steps(RBF(1.0), single, np.float32) is not None
    )  # scores in float32 are no closer themselves
