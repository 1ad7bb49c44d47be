"""Products of rows, dense and sparse, float32 and float64, against numpy on the written-out matrix."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from gapless import rows as R
from gapless._runtime.threads import thread_team
from gapless.losses import Hinge, Logistic
from gapless.problems.linear import LinearProblem
from gapless.rows.copies.binary import sort_by_length
from gapless.rows.copies.choose import best_copy
from gapless.rows.copies.two_value import TwoValueRows
from gapless.rows.copies.words import PackedRows
from gapless.rows.products import block_rows
from gapless.solvers.linear.solve import solve
from gapless.solvers.loop import Stop

FORMS = [("dense", None), ("csr", np.int32), ("csr", np.int64)]


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def dtype(request):
    return request.param


@pytest.mark.parametrize(("form", "index"), FORMS)
@pytest.mark.parametrize("density", [0.02, 0.6])
@pytest.mark.parametrize("constant", [0.0, 1.0, 2.5])
def test_products(form, index, density, constant, dtype):
    random = np.random.default_rng(0)
    n, d = 1500, 30
    X = (random.normal(size=(n, d)) * (random.random((n, d)) < density)).astype(dtype)
    given = X
    if form == "csr":
        given = sparse.csr_matrix(X)
        given.indices, given.indptr = given.indices.astype(index), given.indptr.astype(index)
    rows = R.as_rows(given, constant)
    full = np.c_[X.astype(float), np.full(n, constant)]
    theta, u = random.normal(size=d + 1), random.normal(size=n)
    u[random.random(n) < 0.5] = 0.0
    some = np.sort(random.choice(n, 200, replace=False))
    weights = random.random(n)
    np.testing.assert_allclose(R.scores(rows, theta), full @ theta, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(R.combine(rows, u), full.T @ u, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(R.norms2(rows), (full**2).sum(1), rtol=1e-12)
    expected = (full[some].T * weights[some]) @ full[some]
    np.testing.assert_allclose(R.gram(rows, weights, some), expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(R.row_products(rows, some), full[some] @ full[some].T, rtol=1e-11, atol=1e-11)
    part = R.take_rows(rows, some)
    np.testing.assert_allclose(R.scores(part, theta), full[some] @ theta, rtol=1e-12, atol=1e-12)
    assert R.n_rows(part) == 200
    assert R.n_features(part) == d


def test_read_only_memory_is_not_copied():
    X = np.random.default_rng(0).normal(size=(10, 3))
    X.flags.writeable = False
    rows = R.as_rows(X, 0.0)
    assert rows.values.ctypes.data == X.ctypes.data
    assert rows.values.flags.writeable  # one kernel for both; nobody writes


def test_duplicates_in_a_sparse_row_are_added():
    X = sparse.csr_matrix((np.array([1.0, 2.0, 5.0]), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 2))
    rows = R.as_rows(X, 0.0)
    assert list(R.combine(rows, np.ones(1))) == [5.0, 3.0, 0.0]
    assert X.nnz == 3  # the user's matrix is left as it was


@pytest.mark.parametrize("constant", [0.0, 2.5])
def test_rows_of_ones_without_their_values(constant, dtype):
    random = np.random.default_rng(0)
    n, d = 1500, 30
    X = (random.random((n, d)) < random.random((n, 1))).astype(dtype)
    rows = R.as_rows(sparse.csr_matrix(X), constant)
    short = best_copy(rows, "random", least_values=0)
    assert (R.n_rows(short), R.n_features(short), R.n_stored(short)) == (n, d, int(X.sum()))
    theta, u = random.normal(size=d + 1), random.normal(size=n)
    np.testing.assert_allclose(R.scores(short, theta), R.scores(rows, theta), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(R.combine(short, u), R.combine(rows, u), rtol=1e-12, atol=1e-11)
    order = random.permutation(n)
    wanted = order[np.argsort((X > 0).sum(1)[order], kind="stable")]
    np.testing.assert_array_equal(sort_by_length(short, order), wanted)
    np.testing.assert_array_equal(sort_by_length(rows, order), wanted)
    assert sort_by_length(R.as_rows(sparse.csr_matrix(np.eye(d)), 0.0), np.arange(d)) is None  # all of one length
    assert (
        best_copy(R.as_rows(sparse.csr_matrix(X + (np.arange(d) == d - 1)), 0.0), "random", least_values=0).values.size
        > 0
    )  # some are 2


@pytest.mark.parametrize("constant", [0.0, 2.5])
@pytest.mark.parametrize("d", [1, 15, 16, 33, 130])
def test_passes_over_rows_that_are_mostly_zeros(constant, d):
    """Zeros in long runs and alone, rows of nothing, -0.0: the same sums as of the whole matrix."""
    random = np.random.default_rng(d)
    n = 2100
    X = random.normal(size=(n, d)) * (random.random((n, d)) < 0.1)
    X[::7] = 0.0
    X[1::7, d // 2 :] = -0.0
    rows = R.as_rows(X, constant)
    short = best_copy(rows, "passes", least_values=0)
    assert isinstance(short, PackedRows)
    assert (R.n_rows(short), R.n_features(short)) == (n, d)
    theta, u, h = random.normal(size=d + 1), random.normal(size=n), random.random(n)
    np.testing.assert_allclose(R.scores(short, theta), X @ theta[:d] + constant * theta[d], atol=1e-12)
    np.testing.assert_allclose(R.combine(short, u), np.append(u @ X, constant * u.sum()), atol=1e-10)
    np.testing.assert_allclose(R.curved(short, h, theta), R.curved(rows, h, theta), atol=1e-10)
    assert best_copy(rows, "passes") is rows  # small
    thin = R.as_rows(
        X * (random.random((n, d)) < 0.02), constant
    )  # what is proved of sums over rows holds for its copy
    assert block_rows(best_copy(thin, "passes", least_values=0)) == block_rows(thin)
    assert (
        best_copy(R.as_rows(X.astype(np.float32), constant), "passes", least_values=0).values.dtype == np.float32
    )  # a copy would be as long
    assert best_copy(R.as_rows(X + 1.0, constant), "passes", least_values=0).values.shape == (n, d)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_products_of_single_precision_are_off_by_so_much(form):
    """What `solvers/newton_system.LIGHT` relies on, with rows of very different lengths and a common part."""
    random = np.random.default_rng(4)
    X = (random.normal(size=(6000, 150)) + 3.0 * random.normal(size=150)) * 10.0 ** random.uniform(-2, 2, (6000, 1))
    rows = R.as_rows(X if form == "dense" else sparse.csr_matrix(X), 0.0)
    weights, every = random.random(6000), np.arange(6000)
    exact = (X.T * weights) @ X
    off = R.gram(rows, weights, every, single=True)[:-1, :-1] - exact
    assert 1e-10 * np.trace(exact) < np.linalg.norm(off, 2) <= 3e-7 * np.trace(exact)
    assert np.linalg.norm(R.gram(rows, weights, every)[:-1, :-1] - exact, 2) <= 1e-13 * np.trace(exact)


def yes_or_no(n, d, random):
    """Columns of two values each, as scaling leaves them, some of one value, and three that vary; the last has a third value
    in a row that no sample has."""
    X = np.where(random.random((n, d)) < 0.06, random.normal(size=d), random.normal(size=d))
    X[:, 1], X[:, d // 2] = 0.25, 0.0
    X[:, [0, d // 3, d - 2]] = random.normal(size=(n, 3))
    rare = np.setdiff1d(np.arange(n), R.sample(n, min(1000, n)))[-1]
    X[rare, d - 1] = 17.0
    return X


@pytest.mark.parametrize("constant", [0.0, 2.5])
@pytest.mark.parametrize("d", [16, 33, 130])
def test_passes_over_columns_of_two_values(constant, d):
    random = np.random.default_rng(d)
    n = 5000
    X = yes_or_no(n, d, random)
    rows = R.as_rows(X, constant)
    short = best_copy(rows, "passes", least_values=0)
    assert isinstance(short, TwoValueRows)
    assert short.varying.tolist() == [0, d // 3, d - 2, d - 1]
    assert R.n_rows(short) == n
    assert R.n_stored(short) < 0.5 * X.size
    theta, u, h = random.normal(size=d + 1), random.normal(size=n), random.random(n)
    u[::3] = 0.0
    np.testing.assert_allclose(R.scores(short, theta), X @ theta[:d] + constant * theta[d], atol=1e-11)
    np.testing.assert_allclose(R.combine(short, u), np.append(u @ X, constant * u.sum()), atol=1e-9)
    np.testing.assert_allclose(R.curved(short, h, theta), R.curved(rows, h, theta), rtol=1e-10, atol=1e-8)
    # Many columns with a third value: no copy, and no wrong one.
    X[np.arange(d) + 1000, np.arange(d)] = 3.0
    X[np.arange(d) + 2000, np.arange(d)] = 4.0
    full = best_copy(R.as_rows(X, constant), "passes", least_values=0)
    np.testing.assert_allclose(R.scores(full, theta), X @ theta[:d] + constant * theta[d], atol=1e-11)
    assert best_copy(R.as_rows(random.normal(size=(n, d)), constant), "passes", least_values=0).values.shape == (n, d)


@pytest.mark.parametrize("threads", [1, 3])
def test_marks_have_the_same_bits_for_any_number_of_threads(threads):
    random = np.random.default_rng(2)
    rows = R.as_rows(yes_or_no(30_000, 20, random), 1.0)
    theta, u = random.normal(size=21), random.normal(size=30_000)
    alone = best_copy(rows, "passes", least_values=0)
    with thread_team(threads):
        other = best_copy(rows, "passes", least_values=0)
        for one, two in zip(alone, other):
            np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(R.scores(other, theta), R.scores(alone, theta))
        sums = R.combine(other, u)
    np.testing.assert_array_equal(R.combine(alone, u), sums)


@pytest.mark.parametrize("offset", ["none", "penalised"])
def test_rounding_of_sums_over_marks_is_bounded(offset):
    """Against exact fractions, where most of what is summed is taken away again."""
    random = np.random.default_rng(3)
    X = yes_or_no(1500, 24, random)
    X[:, 5] = np.where(random.random(1500) < 0.9, 1e6, 0.0)  # 1e6 less 1e6
    y = np.where(random.random(1500) < 0.5, np.int8(1), np.int8(-1))
    problem = LinearProblem.build(X, y, np.full(y.size, 0.1), Hinge(), offset)
    theta, u = random.normal(size=25), random.random(1500) * 0.1 * y
    theta[-1] *= offset != "none"
    plain = problem.rounding(theta, problem.scores(theta), u, problem.combine(u), problem.primal(theta))
    problem.use_fast_copy(0)
    assert isinstance(problem.pass_rows, TwoValueRows)
    z, combined = problem.scores(theta), problem.combine(u)
    primal = problem.primal(theta, z)
    gap = primal - problem.dual(u, primal, combined)
    bound = problem.rounding(theta, z, u, combined, primal)
    entries = [[Fraction(v) for v in (*x, problem.rows.constant)] for x in X.tolist()]
    w, heights, signs = [[Fraction(v) for v in part.tolist()] for part in (theta, u, y.astype(float))]
    tenth = Fraction(0.1)
    exact = sum(v * v for v in w) / 2
    for x, sign in zip(entries, signs):
        exact += tenth * max(Fraction(0), 1 - sign * sum(a * b for a, b in zip(x, w)))
    sums = [sum(h * x[j] for h, x in zip(heights, entries)) for j in range(25)]
    exact -= sum(h * sign for h, sign in zip(heights, signs)) - sum(v * v for v in sums) / 2
    assert abs(Fraction(gap) - exact) <= Fraction(bound)
    assert plain < bound < 20 * plain


@pytest.mark.parametrize("offset", ["none", "free"])
@pytest.mark.parametrize("loss", [Hinge(), Logistic()], ids=["hinge", "logistic"])
def test_fits_that_read_less_end_at_the_same_optimum(loss, offset):
    random = np.random.default_rng(5)
    X = random.normal(size=(3000, 40)) * (random.random((3000, 40)) < 0.15)
    y = np.where(X @ random.normal(size=40) + 0.5 * random.normal(size=3000) > 0.2, np.int8(1), np.int8(-1))
    found = []
    for large in (0, X.size + 1):
        problem = LinearProblem.build(X, y, np.full(3000, 0.1), loss, offset)
        problem.use_fast_copy(large)
        assert (problem.pass_rows is problem.rows) == (large > 0)
        found.append(solve(problem, Stop(1e-9, 500), solver="semismooth" if isinstance(loss, Hinge) else "newton"))
    whole = LinearProblem.build(X, y, np.full(3000, 0.1), loss, offset)
    for part in found:
        primal = whole.primal(part.theta)
        assert abs(primal - whole.dual(whole.repair(part.u), primal)) <= 1e-9 * primal
